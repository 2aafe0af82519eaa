//! Verdicts: a kernel with two faults is limited by the one whose removal gains more.

use std::num::NonZeroU64;

use warpshard::chip::{RunOptions, simulate};
use warpshard::model::Model;
use warpshard::report::RunFacts;
use warpshard::report::verdict::{Limiter, Verdict};

use super::common::machine;

/// A kernel model whose parameters are faults.
const PLANTED: &str = include_str!("../data/planted.toml");

/// Keys of the machine, and parameters of the model with the prefix `workload.`.
type Settings = &'static [(&'static str, &'static str)];

/// A fault: its limiter, and the settings that remove it.
type Fault = (Limiter, Settings);

/// Cycles of the planted kernel, and the verdict on it.
fn run(settings: &[Settings]) -> (u64, Verdict) {
    let all = || settings.iter().copied().flatten().copied();
    let (of_model, of_machine): (Vec<_>, Vec<_>) = all().partition(|(key, _)| key.starts_with("workload."));
    // Of two values the later one holds, in an override as in a parameter.
    let mut parameters: Vec<(String, String)> = Vec::new();
    for (key, value) in of_model {
        let key = key.trim_start_matches("workload.");
        parameters.retain(|(other, _)| other != key);
        parameters.push((key.to_owned(), value.to_owned()));
    }
    let machine = machine("tiny", &of_machine);
    let workload = Model::from_text("planted.toml", PLANTED, 1, &parameters).unwrap_or_else(|error| panic!("{error}")).workload();
    let facts = RunFacts { launches: warpshard::chip::launches(&machine, &workload), ..RunFacts::of(&machine, "planted", 1) };
    let options = RunOptions { max_cycles: NonZeroU64::new(2_000_000).map(NonZeroU64::get), ..RunOptions::default() };
    let outcome = simulate(&machine, &std::sync::Arc::new(workload), options).unwrap_or_else(|error| panic!("{error}")).outcome;
    let kernel = &outcome.kernels[0];
    (kernel.ended.unwrap() - kernel.started.unwrap(), Verdict::of(&facts, &outcome, kernel).expect("a kernel that ran"))
}

/// Runs the kernel with both faults and without each; the first is the larger one.
fn larger(name: &str, both: Settings, [larger, smaller]: [Fault; 2]) {
    let (cycles, verdict) = run(&[both]);
    let [without_larger, without_smaller] = [larger.1, smaller.1].map(|removed| run(&[both, removed]).0);
    let charges: Vec<(Limiter, f64)> = verdict.charges.iter().map(|charge| (charge.limiter, charge.share)).collect();
    let found = format!("{name}: {cycles} cycles, {without_larger} without {:?}, {without_smaller} without {:?}; {charges:?} {:?}", larger.0, smaller.0, verdict.roofs);
    assert!(without_larger < without_smaller && without_larger < cycles, "the larger fault is not the one that was planted: {found}");
    assert_eq!(verdict.limiter, larger.0, "{found}");
    let lines = verdict.lines("planted");
    assert!(lines.len() <= 6 && lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
}
