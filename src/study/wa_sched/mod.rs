//! Studies of "Workload-aware scheduling techniques": the kernels `wa_sched/*` beside what the thesis publishes about them.

pub mod characterise;
mod published;
mod steady;
