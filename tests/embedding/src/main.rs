//! Runs a machine with the program's own policies, controller and workload: without interruption, on several threads, and through
//! checkpoints. The program fails if two of the results differ.

mod controller;
mod policies;
mod workload;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use warpshard::chip::{Checkpoints, RunOptions, simulate};
use warpshard::config::{Machine, Override};
use warpshard::report::{RunFacts, json};

/// Machine keys that select this program's policies.
const OWN_POLICY_KEYS: [(&str, &str); 9] = [
    ("gpu.sm.order", "own"),
    ("gpu.sm.l1.cache.replacement", "own"),
    ("gpu.sm.l1.prefetch", "own"),
    ("gpu.sm.l1.prefetch_degree", "4"),
    ("mem.llc.replacement", "own"),
    ("mem.llc.prefetch", "own"),
    ("mem.llc.prefetch_degree", "2"),
    ("mem.dram.scheduler", "own"),
    ("noc.arbiter", "own"),
];

/// Returns the statistics of a run, as the text of `stats.json`, and the number of CTAs that the workload reports as handed out.
fn run(machine: &Machine, threads: usize, checkpoints: Checkpoints) -> Result<(String, u64), String> {
    let workload = workload::walk_workload();
    let options =
        RunOptions { threads, controllers: vec![Box::new(controller::MemoryWaitLimiter::default())], checkpoints, ..RunOptions::default() };
    let outcome = simulate(machine, &workload, options).map_err(|error| error.to_string())?.outcome;
    let handed_out = workload.kernels[0].source.notes().iter().map(|(_, count)| count).sum();
    Ok((json::stats(&RunFacts::of(machine, &workload.name, 1), &outcome), handed_out))
}

fn check() -> Result<(), String> {
    let overrides = OWN_POLICY_KEYS.map(|(key, value)| Override::new(key, value));
    let catalogue = warpshard::catalogue().with_policies(policies::own_policies());
    let machine = catalogue.machine("tiny", &overrides).map_err(|error| error.to_string())?.machine;
    let whole = run(&machine, 1, Checkpoints::default())?;
    if run(&machine, 3, Checkpoints::default())? != whole {
        return Err("three threads give other results than one".to_owned());
    }
    let kept = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&kept);
    let store = move |at, state| {
        to.lock().expect("nothing panics").push((at, state));
        Ok(())
    };
    run(&machine, 1, Checkpoints { every: Some(4000), store: Some(Box::new(store)), resume: None })?;
    let kept = std::mem::take(&mut *kept.lock().expect("nothing panics"));
    if kept.is_empty() {
        return Err("the run ends before its first checkpoint".to_owned());
    }
    for (at, state) in kept {
        if run(&machine, 2, Checkpoints { resume: Some(state), ..Checkpoints::default() })? != whole {
            return Err(format!("a run that goes on from {at} has other results"));
        }
    }
    println!("{} CTAs handed out", whole.1);
    Ok(())
}

fn main() -> ExitCode {
    match check() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}
