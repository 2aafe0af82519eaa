//! Controllers of "Managing GPU Concurrency in Heterogeneous Architectures" (Kayiran et al., MICRO 2014).

mod cm_bal;
mod cm_cpu;
mod congestion;
mod level;

pub use cm_bal::CmBal;
pub use cm_cpu::CmCpu;
