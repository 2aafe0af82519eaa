//! The confidence in a verdict: errors of simulated launches of the same class against measurements.

use super::terms::{Confidence, Utilisation, rounded};
use crate::facts::RunFacts;
use crate::measurements::Measurements;

/// Launches of fewer cycles are short: the cycles of identical launches differ by 2 to 5 % at 5,000 cycles.
const SHORT_LAUNCH_CYCLES: u64 = 10_000;
/// Utilisation from which a resource bounds a measured launch.
const BOUND_UTILISATION: f64 = 0.5;

impl Confidence {
    /// Returns the confidence for a kernel of `cycles` with the utilisations `uses`; `llc` is the share of the peak request rate of the
    /// LLC. Returns `None` without measured launches.
    pub(super) fn of(facts: &RunFacts, cycles: u64, uses: &[Utilisation], llc: f64) -> Option<Self> {
        let Measurements { machine, launches } = facts.measurements;
        if launches.is_empty() {
            return None;
        }
        let share = |name: &str| uses.iter().find(|one| one.name == name).map_or(0.0, |one| one.share);
        let bounds = [("compute", share("issue").max(share("tensor"))), ("LLC", llc), ("DRAM", share("DRAM"))];
        let highest = bounds.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share >= BOUND_UTILISATION);
        let class = if cycles < SHORT_LAUNCH_CYCLES { "short" } else { highest.map_or("latency", |(class, _)| class) };
        let same = launches.iter().filter(|launch| facts.machine == machine && launch.class == class);
        let errors: Vec<f64> = same.map(|launch| launch.error_percent.abs()).collect();
        let worst = errors.iter().copied().reduce(f64::max);
        let mean = (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64);
        Some(Self {
            class: class.to_owned(),
            machine: machine.to_owned(),
            launches: errors.len() as u32,
            error_percent: mean.map(rounded),
            worst_percent: worst.map(rounded),
        })
    }
}
