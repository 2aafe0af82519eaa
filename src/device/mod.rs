//! DRAM devices as data: standards with their timing, and the notation that lays addresses out over a device.
//!
//! Machines name them, controllers drive them, the test stand runs them alone; nothing here knows any of those.

pub mod mapping;
pub mod standard;
