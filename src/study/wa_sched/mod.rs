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

/// The count after which no increase gives `step` more, be it of one CTA or of several; `rates` begins with one CTA.
pub(super) fn optimum(rates: &[f64], step: f64) -> u32 {
    let enough = |(i, rate): (usize, &f64)| rates[i..].iter().all(|more| *more < rate * (1.0 + step));
    1 + rates.iter().enumerate().position(enough).unwrap_or(0) as u32
}
