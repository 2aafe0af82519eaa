//! The same bytes for every way of running: threads, epochs, shards, skipping, limits, interruptions.
//!
//! Compared is every simulated file as it would be written: `stats.json`, `intervals.csv`, `timeline.csv`.

mod checkpoints;
mod crossbars;
mod files;
mod gating;
mod hetero;
mod ranks;
mod relaxed;
mod seams;
mod sharing;
use crate::common::systems as small_systems;
mod standard_set;
mod systems;

use crate::common::{Case, cases};
use files::{Files, run, run_stopped};
use warpshard::chip::{RunOptions, ShardCut};
use warpshard::engine::Scaling;

fn same(case: &Case, base: &Files, options: RunOptions, what: &str) {
    let other = run(case, options);
    assert_eq!(other.stats, base.stats, "{}: stats.json with {what}", case.name);
    assert_eq!(other.intervals, base.intervals, "{}: intervals.csv with {what}", case.name);
    assert_eq!(other.timeline, base.timeline, "{}: timeline.csv with {what}", case.name);
}

fn interval(case: &Case) -> RunOptions {
    RunOptions { interval: Some(1000), controllers: case.controllers(), ..RunOptions::default() }
}

#[test]
fn threads_change_nothing() {
    for case in cases() {
        let base = run(&case, interval(&case));
        for threads in [2, 3, 5, 8] {
            same(&case, &base, RunOptions { threads, ..interval(&case) }, &format!("{threads} threads"));
        }
    }
}

#[test]
fn workers_that_leave_and_come_back_change_nothing() {
    for (case, seed) in cases().into_iter().zip(1..) {
        let base = run(&case, interval(&case));
        for (threads, epoch) in [(2, None), (3, Some(7)), (8, None)] {
            let options = RunOptions { threads, epoch, scaling: Scaling::Random(seed), ..interval(&case) };
            same(&case, &base, options, &format!("a changing number of {threads} threads"));
        }
        same(&case, &base, RunOptions { threads: 2, scaling: Scaling::Adaptive, ..interval(&case) }, "as many threads as pay");
    }
}

#[test]
fn epochs_change_nothing() {
    for case in cases() {
        let base = run(&case, interval(&case));
        for epoch in [1, 7] {
            same(&case, &base, RunOptions { epoch: Some(epoch), threads: 2, ..interval(&case) }, &format!("epochs of {epoch}"));
        }
    }
}

#[test]
fn the_cut_into_shards_changes_nothing() {
    for case in cases() {
        let base = run(&case, interval(&case));
        for cut in [ShardCut { sms: 4, partitions: 1 }, ShardCut { sms: 1, partitions: 3 }, ShardCut { sms: 4, partitions: 2 }] {
            same(&case, &base, RunOptions { cut, threads: 2, ..interval(&case) }, &format!("{cut:?}"));
        }
    }
}

#[test]
fn stepping_every_cycle_changes_nothing() {
    for case in cases() {
        let base = run(&case, interval(&case));
        same(&case, &base, RunOptions { skip: false, threads: 2, ..interval(&case) }, "every cycle stepped");
    }
}

#[test]
fn looking_at_intervals_changes_nothing_but_the_series() {
    for case in cases().into_iter().filter(|case| case.policy.is_none()) {
        let base = run(&case, RunOptions::default());
        let looked = run(&case, interval(&case));
        assert_eq!(looked.stats, base.stats, "{}", case.name);
        assert!(base.intervals.lines().count() <= 1 && looked.intervals.lines().count() > 1, "{}", case.name);
    }
}

#[test]
fn a_cycle_limit_gives_the_same_for_every_way_of_running() {
    let case = &cases()[0];
    let whole = run(case, RunOptions::default());
    for step in 0..20 {
        let limit = 1 + whole.cycles * step / 19 / 2 * 2;
        let limited = |threads, epoch| RunOptions { max_cycles: Some(limit), threads, epoch, ..interval(case) };
        let base = run(case, limited(1, None));
        same(case, &base, limited(3, Some(7)), &format!("a limit of {limit}"));
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
