//! Kernels of the same name, summed over all their launches in a run.

use std::collections::BTreeMap;

use serde_json::Value;

use warpshard_report::text::demangled;

use super::super::RunFolder;
use super::super::folder::at;
use super::super::series::L1_COUNTERS;
use super::metrics::quotient;
use super::{KernelRow, Quantity, Row};

/// Sums over the launches of a kernel in one run.
#[derive(Clone, Debug, Default)]
struct KernelSum {
    launches: usize,
    cycles: u64,
    instructions: u64,
    /// L1 hits, and all L1 accesses.
    l1: [Option<u64>; 2],
}

impl KernelSum {
    fn add(&mut self, kernel: &Value) {
        let number = |path: &[&str]| at(kernel, path).and_then(Value::as_u64);
        let counter = |name: &str| number(&["counters", name]);
        self.launches += 1;
        // Result folders of older versions store the active cycles as `cycles`.
        self.cycles += number(&["cycles_active"]).or_else(|| number(&["cycles"])).unwrap_or(0);
        self.instructions += number(&["thread_instructions"]).unwrap_or(0);
        let sum = |names: &[&str]| names.iter().filter_map(|name| counter(name)).reduce(|a, b| a + b);
        let add = |to: &mut Option<u64>, more: Option<u64>| *to = more.map(|more| to.unwrap_or(0) + more).or(*to);
        add(&mut self.l1[0], sum(&L1_COUNTERS[..2]));
        add(&mut self.l1[1], sum(&L1_COUNTERS));
    }
}

/// Returns the kernels by name, with the largest differences in cycles first.
pub(super) fn by_name(runs: &[RunFolder]) -> Vec<KernelRow> {
    let mut order: Vec<&str> = Vec::new();
    let mut sums: BTreeMap<&str, Vec<KernelSum>> = BTreeMap::new();
    for (i, run) in runs.iter().enumerate() {
        for kernel in run.stats.kernels() {
            let name = kernel.get("name").and_then(Value::as_str).unwrap_or_default();
            let of_name = sums.entry(name).or_insert_with(|| {
                order.push(name);
                vec![KernelSum::default(); runs.len()]
            });
            of_name[i].add(kernel);
        }
    }
    let mut rows: Vec<KernelRow> = order.into_iter().map(|name| kernel_row(name, &sums[name])).collect();
    rows.sort_by(|a, b| b.largest_difference().total_cmp(&a.largest_difference()));
    rows
}

fn kernel_row(name: &str, sums: &[KernelSum]) -> KernelRow {
    let row = |what: &str, quantity, value: &dyn Fn(&KernelSum) -> Option<f64>| {
        let values = sums.iter().map(|sum| if sum.launches > 0 { value(sum) } else { None }).collect();
        Row::new(what, quantity, values)
    };
    let rows = vec![
        row("active cycles", Quantity::Amount, &|sum| Some(sum.cycles as f64)),
        row("IPC", Quantity::Ratio, &|sum| quotient(Some(sum.instructions), Some(sum.cycles))),
        row("L1 hit rate", Quantity::Share, &|sum| quotient(sum.l1[0], sum.l1[1])),
    ];
    KernelRow { name: demangled(name).into_owned(), launches: sums.iter().map(|sum| sum.launches).collect(), rows }
}
