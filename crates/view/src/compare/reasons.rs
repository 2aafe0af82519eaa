//! Explanations for the difference in speed of two runs: the limiter of each kernel in each run, and the counters with the largest changes.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use warpshard_report::metrics::SCHEDULER_CYCLES;
use warpshard_report::text::demangled;
use warpshard_report::verdict::Verdict;

use super::super::RunFolder;
use super::super::folder::at;
use super::{Quantity, Row};

/// Maximum number of explained kernels: the kernels whose cycles differ most.
const MAX_KERNELS: usize = 4;
/// Maximum number of counters of scheduler cycles per kernel, and of other counters.
const MAX_STALLS: usize = 2;
const MAX_OTHERS: usize = 3;
/// Share of the warp instructions below which a counter does not explain a difference in cycles.
const MIN_SHARE: f64 = 0.01;

/// An explanation for the difference in a kernel's cycles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// Name of the kernel.
    pub kernel: String,
    /// Active cycles of all launches of the kernel, in every run.
    pub cycles: Row,
    /// Limiter of the kernel's longest launch in every run, with its share of the scheduler cycles; `None` if a run has no verdict on the
    /// kernel.
    pub limiters: Vec<Option<(String, f64)>>,
    /// The counters with the largest changes: scheduler cycles by their amount, other counters by their ratio.
    pub moved: Vec<Row>,
}

/// The launches of a kernel in one run.
#[derive(Default)]
struct LaunchSums {
    cycles: Option<u64>,
    counters: BTreeMap<String, f64>,
    longest: Option<(u64, Verdict)>,
}

impl LaunchSums {
    fn add(&mut self, kernel: &Value) {
        let cycles = kernel.get("cycles_active").and_then(Value::as_u64).unwrap_or(0);
        self.cycles = Some(self.cycles.unwrap_or(0) + cycles);
        for (name, value) in at(kernel, &["counters"]).and_then(Value::as_object).into_iter().flatten() {
            *self.counters.entry(name.clone()).or_default() += value.as_f64().unwrap_or(0.0);
        }
        if self.longest.as_ref().is_none_or(|(longest, _)| cycles > *longest)
            && let Some(verdict) = kernel.get("verdict").and_then(|verdict| serde_json::from_value(verdict.clone()).ok())
        {
            self.longest = Some((cycles, verdict));
        }
    }
}

/// Returns explanations for the kernels whose cycles differ most.
pub(super) fn reasons(runs: &[RunFolder]) -> Vec<Reason> {
    let mut kernels: BTreeMap<&str, Vec<LaunchSums>> = BTreeMap::new();
    for (i, run) in runs.iter().enumerate() {
        for kernel in run.stats.kernels() {
            let name = kernel.get("name").and_then(Value::as_str).unwrap_or_default();
            kernels.entry(name).or_insert_with(|| runs.iter().map(|_| LaunchSums::default()).collect())[i].add(kernel);
        }
    }
    let stalls: Vec<&str> = runs.iter().flat_map(stall_names).collect();
    let mut reasons: Vec<Reason> = kernels.iter().map(|(name, launches)| reason(name, launches, &stalls)).collect();
    let difference = |reason: &Reason| {
        let base = reason.cycles.values[0].unwrap_or(0.0);
        reason.cycles.values.iter().map(|value| (value.unwrap_or(0.0) - base).abs()).fold(0.0, f64::max)
    };
    reasons.retain(|reason| difference(reason) > 0.0 && reason.limiters.iter().any(Option::is_some));
    reasons.sort_by(|a, b| difference(b).total_cmp(&difference(a)));
    reasons.truncate(MAX_KERNELS);
    reasons
}

/// Returns the names of the kernel counters whose unit is scheduler cycles.
fn stall_names(run: &RunFolder) -> impl Iterator<Item = &str> {
    let help = run.stats.object(&["counters", "kernel"]).into_iter().flatten();
    help.filter(|(_, about)| about.get("unit").and_then(Value::as_str) == Some(SCHEDULER_CYCLES)).map(|(name, _)| name.as_str())
}

fn reason(name: &str, launches: &[LaunchSums], stalls: &[&str]) -> Reason {
    let cycles = Row::new("active cycles", Quantity::Amount, launches.iter().map(|one| one.cycles.map(|cycles| cycles as f64)).collect());
    let limiters = launches.iter().map(|one| {
        let (_, verdict) = one.longest.as_ref()?;
        Some((verdict.label(), verdict.charges.first().map_or(0.0, |charge| charge.share)))
    });
    let mut names: Vec<&String> = launches.iter().flat_map(|one| one.counters.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let rare = MIN_SHARE * launches.iter().filter_map(|one| one.counters.get("warp_instructions")).copied().fold(0.0, f64::max);
    let row = |name: &&String| {
        let row = Row::new(name.as_str(), Quantity::Amount, launches.iter().map(|one| one.counters.get(*name).copied()).collect());
        (!row.is_equal() && row.values.iter().flatten().any(|value| *value > rare)).then_some(row)
    };
    let (mut waits, mut others): (Vec<Row>, Vec<Row>) = names.iter().filter_map(row).partition(|row| stalls.contains(&row.name.as_str()));
    let amount = |row: &Row| {
        let base = row.values[0].unwrap_or(0.0);
        row.values.iter().flatten().map(|value| (value - base).abs()).fold(0.0, f64::max)
    };
    waits.sort_by(|a, b| amount(b).total_cmp(&amount(a)));
    others.sort_by(|a, b| b.largest_change().total_cmp(&a.largest_change()));
    let moved = waits.into_iter().take(MAX_STALLS).chain(others.into_iter().take(MAX_OTHERS)).collect();
    Reason { kernel: demangled(name).into_owned(), cycles, limiters: limiters.collect(), moved }
}
