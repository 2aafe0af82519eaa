//! The same bytes for every way of running: threads, epochs, shards, skipping, limits, interruptions.
//!
//! The tests compare every simulated file as it would be written: `stats.json`, `intervals.csv`, `timeline.csv`.

mod checkpoints;
mod crossbars;
mod files;
mod gating;
mod hetero;
mod ranks;
mod recorded;
mod relaxed;
mod seams;
mod sharing;
use crate::common::systems as small_systems;
mod standard_set;
mod systems;

use std::sync::LazyLock;

use crate::common::{SimulationCase, at_length, cases};
use files::{ResultFiles, run, run_stopped};
use warpshard::chip::{RunOptions, ShardCut};
use warpshard::engine::Scaling;

fn assert_same_files(case: &SimulationCase, base: &ResultFiles, options: RunOptions, what: &str) {
    let other = run(case, options);
    assert_eq!(other.stats, base.stats, "{}: stats.json with {what}", case.name);
    assert_eq!(other.intervals, base.intervals, "{}: intervals.csv with {what}", case.name);
    assert_eq!(other.timeline, base.timeline, "{}: timeline.csv with {what}", case.name);
}

fn with_interval(case: &SimulationCase) -> RunOptions {
    RunOptions { interval: Some(1000), controllers: case.controllers(), ..RunOptions::default() }
}

/// Iterates over [`cases`], each with the files of its run on one thread.
fn cases_run() -> impl Iterator<Item = (SimulationCase, &'static ResultFiles)> {
    static BASE_RUNS: LazyLock<Vec<ResultFiles>> = LazyLock::new(|| cases().iter().map(|case| run(case, with_interval(case))).collect());
    cases().into_iter().zip(&*BASE_RUNS)
}

/// Selects one of `ways` per case, in rotation; tests at length use all of them.
fn in_rotation<T>(ways: &[T], case: usize) -> &[T] {
    let one = case % ways.len();
    if at_length() { ways } else { &ways[one..=one] }
}

#[test]
fn threads_and_epochs_change_nothing() {
    for (number, (case, base)) in cases_run().enumerate() {
        // The first case tests all combinations.
        let (threads, epochs): (&[usize], &[u64]) = match number {
            _ if at_length() => (&[1, 2, 3, 5, 8], &[1, 7]),
            0 => (&[1, 2, 5], &[1, 7]),
            _ => (&[5], in_rotation(&[7, 1], number)),
        };
        for (&threads, &epoch) in threads.iter().flat_map(|threads| epochs.iter().map(move |epoch| (threads, epoch))) {
            let options = RunOptions { threads, epoch: Some(epoch), ..with_interval(&case) };
            assert_same_files(&case, base, options, &format!("{threads} threads and epochs of {epoch}"));
        }
        for &threads in in_rotation(&[2, 3, 5, 8], number) {
            assert_same_files(&case, base, RunOptions { threads, ..with_interval(&case) }, &format!("{threads} threads"));
        }
    }
}

#[test]
fn retiring_and_returning_workers_change_nothing() {
    for (number, (case, base)) in cases_run().enumerate() {
        let seed = number as u64 + 1;
        let random = Scaling::Random(seed);
        let ways = [(3, Some(7), random), (2, None, random), (2, None, Scaling::Adaptive), (8, None, random)];
        for &(threads, epoch, scaling) in in_rotation(&ways, number) {
            let options = RunOptions { threads, epoch, scaling, ..with_interval(&case) };
            assert_same_files(&case, base, options, &format!("a changing number of {threads} threads, {scaling:?}"));
        }
    }
}

#[test]
fn the_cut_into_shards_changes_nothing() {
    for (number, (case, base)) in cases_run().enumerate() {
        let cuts = [ShardCut { sms: 4, partitions: 1 }, ShardCut { sms: 1, partitions: 3 }, ShardCut { sms: 4, partitions: 2 }];
        for &cut in in_rotation(&cuts, number) {
            assert_same_files(&case, base, RunOptions { cut, threads: 2, ..with_interval(&case) }, &format!("{cut:?}"));
        }
    }
}

#[test]
fn stepping_every_cycle_changes_nothing() {
    for (case, base) in cases_run() {
        assert_same_files(&case, base, RunOptions { skip: false, threads: 2, ..with_interval(&case) }, "every cycle stepped");
    }
}

#[test]
fn interval_sampling_changes_only_the_series() {
    for (case, looked) in cases_run().filter(|(case, _)| case.policy.is_none()) {
        let base = run(&case, RunOptions::default());
        assert_eq!(looked.stats, base.stats, "{}", case.name);
        assert!(base.intervals.lines().count() <= 1 && looked.intervals.lines().count() > 1, "{}", case.name);
    }
}

#[test]
fn a_cycle_limit_gives_the_same_for_every_way_of_running() {
    let case = &cases()[0];
    let whole = run(case, RunOptions::default());
    let last = if at_length() { 19 } else { 5 };
    for step in 0..=last {
        let limit = 1 + whole.cycles * step / last / 2 * 2;
        let limited = |threads, epoch| RunOptions { max_cycles: Some(limit), threads, epoch, ..with_interval(case) };
        let base = run(case, limited(1, None));
        assert_same_files(case, &base, limited(3, Some(7)), &format!("a limit of {limit}"));
    }
}

#[test]
fn an_interrupted_run_equals_one_limited_to_its_last_cycle() {
    for case in cases().into_iter().take(2) {
        for milliseconds in [1, 5, 20] {
            let stopped = run_stopped(&case, std::time::Duration::from_millis(milliseconds));
            let options = RunOptions { max_cycles: Some(stopped.counted_until), threads: 1, ..RunOptions::default() };
            let limited = run(&case, options);
            let neutral = |text: &str| text.replace("\"interrupted\"", "\"-\"").replace("\"max_cycles\"", "\"-\"");
            assert_eq!(neutral(&stopped.stats), neutral(&limited.stats), "{} stopped at {}", case.name, stopped.counted_until);
        }
    }
}
