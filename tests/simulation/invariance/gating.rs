//! Runs with paused and gated cores, alone and with a CTA limit: the same bytes for every way of running.

use std::sync::Arc;

use warpshard::chip::RunOptions;
use warpshard::control::Controller;

use super::files::{ResultFiles, run};
use super::in_rotation;
use crate::common::{SimulationCase, built_in, machine};

/// Controllers of a run: names and parameter tables.
type Policies = &'static [(&'static str, &'static str)];

const CORE_SEARCHES: [Policies; 4] = [
    &[("onac", "waves = 1\nthreshold = 0.7")],
    &[("seq_det", "waves = 1\nthreshold = 0.8\nwarm = 1")],
    &[("onac", "waves = 1\nthreshold = 0.7"), ("static_limit", "ctas = 1")],
    &[("onac", "waves = 1\nthreshold = 0.7"), ("perf_sat", "period = 0.25")],
];

/// Returns a kernel that saturates the test machine's DRAM, so that some of its four cores can be turned off.
fn core_search_case() -> SimulationCase {
    let slow = machine("tiny", &[("clocks.dram", "250 MHz")]);
    SimulationCase { name: "stream".into(), machine: slow, workload: built_in("stream", &[("cta_count", "120")]), policy: None }
}

fn controllers(policies: Policies) -> Vec<Box<dyn Controller>> {
    let make = |(name, table): &(&str, &str)| {
        (warpshard::catalogue().policies().find(name).unwrap().build)(toml::from_str(table).unwrap()).unwrap()
    };
    policies.iter().map(make).collect()
}

fn files(case: &SimulationCase, policies: Policies, options: RunOptions) -> ResultFiles {
    let case =
        SimulationCase { name: case.name.clone(), machine: case.machine.clone(), workload: Arc::clone(&case.workload), policy: None };
    run(&case, RunOptions { controllers: controllers(policies), ..options })
}

/// Returns the total of a counter from the results.
fn counter_total(files: &ResultFiles, kind: &str, name: &str) -> u64 {
    let stats: serde_json::Value = serde_json::from_str(&files.stats).unwrap();
    stats["components"][kind]["total"][name].as_u64().unwrap()
}

#[test]
fn cores_that_are_turned_off_change_nothing_over_threads_epochs_and_intervals() {
    let case = core_search_case();
    for (number, policies) in CORE_SEARCHES.into_iter().enumerate() {
        let base = files(&case, policies, RunOptions::default());
        assert!(counter_total(&base, "sm", "gated_cycles") > 10_000, "{policies:?}: no core was turned off");
        assert!(counter_total(&base, "sm", "paused_cycles") > 0, "{policies:?}");
        for &interval in in_rotation(&[997, 4096], number) {
            let looked = files(&case, policies, RunOptions { interval: Some(interval), ..RunOptions::default() });
            let of_interval = format!("{policies:?} with intervals of {interval}");
            assert_eq!((&looked.stats, &looked.timeline), (&base.stats, &base.timeline), "{of_interval}");
            for &(threads, epoch, skip) in in_rotation(&[(2, None, true), (3, Some(8), true), (1, Some(5), false)], number) {
                let other = files(&case, policies, RunOptions { threads, epoch, skip, interval: Some(interval), ..RunOptions::default() });
                assert_eq!(other, looked, "{of_interval}, {threads} threads, epochs of {epoch:?}");
            }
        }
    }
}

#[test]
fn a_core_search_works_with_a_cta_limit() {
    let case = core_search_case();
    let alone = files(&case, CORE_SEARCHES[0], RunOptions::default());
    for (policies, limiter) in [(CORE_SEARCHES[2], "static_limit"), (CORE_SEARCHES[3], "perf_sat")] {
        let both = files(&case, policies, RunOptions::default());
        let lines = |who: &str, knob: &str| both.timeline.lines().filter(|line| line.contains(who) && line.contains(knob)).count();
        assert!(lines("onac", ",power,") > 0 && lines("onac", ",found_cores,") == 1, "{policies:?}");
        assert!(lines(limiter, ",cta_limit,") > 0, "{policies:?}");
        // The executed work is the same under every limit.
        for counter in ["ctas_ended", "ended_cta_instructions"] {
            assert_eq!(counter_total(&both, "sm", counter), counter_total(&alone, "sm", counter), "{policies:?}: {counter}");
        }
    }
    // The limit reduces the resident CTAs, also on cores that were paused and resumed.
    let mean = |files: &ResultFiles| counter_total(files, "sm", "resident_warp_cycles") / counter_total(files, "sm", "active_cycles");
    assert!(mean(&files(&case, CORE_SEARCHES[2], RunOptions::default())) < mean(&alone));
}
