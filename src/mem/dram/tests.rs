//! Commands cycle by cycle, the rate of the data bus, and legality of every schedule.
