//! How far simulated launches were from measured ones of the same class, as a measure of the confidence in a verdict.

use super::terms::{Trust, Use, rounded};
use crate::facts::RunFacts;
use crate::measurements::Measurements;

/// Launches of fewer cycles are short: identical ones differ by 2 to 5 % at 5,000 cycles.
const SHORT: u64 = 10_000;
/// A resource at this share of its roof bounds a measured launch.
const BOUND: f64 = 0.5;

impl Trust {
    /// For a kernel of `cycles` that uses resources so much, with its requests to the LLC as a share of those that it can take; `None` where nothing
    /// measured is known.
    pub(super) fn of(facts: &RunFacts, cycles: u64, uses: &[Use], llc: f64) -> Option<Self> {
        let Measurements { machine, launches } = facts.measured;
        if launches.is_empty() {
            return None;
        }
        let share = |name: &str| uses.iter().find(|one| one.name == name).map_or(0.0, |one| one.share);
        let bounds = [("compute", share("issue").max(share("tensor"))), ("LLC", llc), ("DRAM", share("DRAM"))];
        let highest = bounds.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share >= BOUND);
        let class = if cycles < SHORT { "short" } else { highest.map_or("latency", |(class, _)| class) };
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
