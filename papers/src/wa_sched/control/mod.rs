//! Controllers of "Workload-aware scheduling techniques for general purpose applications on graphics processing units"
//! (Awatramani's thesis).

mod cores;
mod lcs;
mod perf_sat;

pub use cores::{CoreGating, CoreSearch};
pub use lcs::Lcs;
pub use perf_sat::PerfSat;
