//! Counters, interval series and the outcome of a run, as plain data. This package neither derives metrics nor prints.
#![forbid(unsafe_code)]

pub mod activity;
pub mod components;
mod counters;
mod intervals;
mod latency;
mod launch;
mod launch_counters;
mod numbers;
mod outcome;
mod per_kernel;
mod relaxed;
mod sampled;

pub use counters::{CounterInfo, CounterValue, CounterVisitor, Counters};
pub use intervals::{IntervalColumn, IntervalRow, IntervalSeries, IntervalValues};
pub use latency::LatencyCounts;
pub use launch::Launch;
pub use launch_counters::{EncodedValues, LaunchCounters};
pub use outcome::{
    ApplicationStats, ComponentStats, EndedBy, GpuStats, HostFacts, KernelStats, Outcome, RankFacts, StandaloneResult, SystemStats,
    TimelineEntry, WorkerFacts,
};
pub use per_kernel::{PerKernel, Tally};
pub use relaxed::{LATENESS_CLASSES, LateMessages, RelaxedDeviations};
pub use sampled::{Estimate, ResultBasis, SampledStratum, SamplingData};
