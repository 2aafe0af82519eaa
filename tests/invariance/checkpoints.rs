//! A run that is stopped at a checkpoint and taken up again, by other threads, has the bytes of one that was never stopped.

use std::sync::{Arc, Mutex};

use super::common::{Case, cases};
use super::files::{Files, run};
use super::{interval, systems};
use warpshard::base::{Cycle, Rng};
use warpshard::chip::{Checkpoints, RunOptions};

/// What a run kept: cycles and states.
pub(crate) type Kept = Arc<Mutex<Vec<(Cycle, Vec<u8>)>>>;

/// Checkpoints every so many cycles, and where they go.
pub(crate) fn every(cycles: u64) -> (Checkpoints, Kept) {
    let kept = Kept::default();
    let to = Arc::clone(&kept);
    let keep = move |at, state| {
        to.lock().unwrap().push((at, state));
        Ok(())
    };
    (Checkpoints { every: Some(cycles), keep: Some(Box::new(keep)), resume: None }, kept)
}

fn same(case: &Case, base: &Files, other: &Files, what: &str) {
    assert_eq!(other.stats, base.stats, "{}: stats.json {what}", case.name);
    assert_eq!(other.intervals, base.intervals, "{}: intervals.csv {what}", case.name);
    assert_eq!(other.timeline, base.timeline, "{}: timeline.csv {what}", case.name);
}

/// Stops `case` at random cuts and goes on with another number of threads.
fn stopped_and_resumed(case: &Case, options: &dyn Fn() -> RunOptions, seed: u64) {
    let base = run(case, options());
    let mut random = Rng::keyed(seed, &[]);
    for round in 0..3 {
        let cycles = 1 + random.below(base.counted_until.max(2) - 1);
        let (checkpoints, kept) = every(cycles.max(base.counted_until / 5));
        let threads = 1 + round % 3;
        let through = run(case, RunOptions { threads, checkpoints, ..options() });
        same(case, &base, &through, &format!("with a checkpoint every {cycles} cycles"));
        let kept = std::mem::take(&mut *kept.lock().unwrap());
        for (number, (at, state)) in kept.into_iter().enumerate() {
            let threads = 1 + (round + number + 1) % 3;
            let checkpoints = Checkpoints { resume: Some(state), ..Checkpoints::default() };
            let resumed = run(case, RunOptions { threads, checkpoints, ..options() });
            same(case, &base, &resumed, &format!("resumed at {at} on {threads} threads"));
        }
    }
}

#[test]
fn runs_go_on_from_checkpoints() {
    for (case, seed) in cases().into_iter().zip(1..) {
        stopped_and_resumed(&case, &|| interval(&case), seed);
    }
}

#[test]
fn runs_of_systems_go_on_from_checkpoints() {
    for (case, seed) in systems::cases().into_iter().zip(100..) {
        stopped_and_resumed(&case, &|| interval(&case), seed);
    }
}
