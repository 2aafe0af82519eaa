//! Studies of "Workload-aware scheduling techniques": the kernels `wa_sched/*` beside what the thesis publishes about them.

pub mod characterise;
mod kernels;
pub mod onac;
pub mod perf_sat;
pub mod phase_aware;
mod published;
mod stated;
mod steady;
mod tail;
