//! Controllers of "Workload-aware scheduling techniques for general purpose applications on graphics processing units"
//! (Awatramani's thesis).

mod perf_sat;

pub use perf_sat::PerfSat;
