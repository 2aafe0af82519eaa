//! Counters, interval series and the outcome of a run, as plain data. Nothing here divides or prints.

mod counters;
mod latency;
mod outcome;
mod relaxed;

pub(crate) use counters::counters;
pub use counters::{CounterInfo, CounterVisitor, Counters};
pub use latency::Latencies;
pub use outcome::{
    Alone, ApplicationStats, ComponentStats, Counted, EndedBy, HostFacts, IntervalRow, KernelStats, Outcome, TimelineEntry, WorkerFacts,
};
pub use relaxed::{LATENESS_CLASSES, LateMessages, Relaxed};
