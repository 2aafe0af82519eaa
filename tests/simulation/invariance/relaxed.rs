//! Relaxed runs: the same bytes for every number of threads and every repetition, exact if epochs are short enough, and with correct counts
//! of late messages.

use std::sync::Arc;

use warpshard::chip::{CpuApplication, CpuEnd, CpuLoad, RunError, RunOptions, simulate};
use warpshard::report::{RunFacts, csv, json};
use warpshard::stats::{EndedBy, Outcome, RelaxedDeviations};

use super::in_rotation;
use crate::common::{SimulationCase, built_in, machine, shared, trace};

/// Returns two machines, each with two models and a recorded trace.
fn cases() -> Vec<SimulationCase> {
    let gather = built_in("gather", &[("cta_count", "40"), ("table", "65536"), ("rounds", "2")]);
    let gemm = built_in("gemm_tiled", &[("n", "128"), ("k", "32")]);
    let mut workloads = vec![("gather", gather), ("gemm_tiled", gemm)];
    if let Some(pow) = shared("sass/pytorch-pow-f32-hdrfix") {
        workloads.push(("pow", trace(&pow)));
    }
    let mut cases = Vec::new();
    for name in ["tiny", "v100"] {
        for (workload, loaded) in &workloads {
            let name_of_case = format!("{workload} on {name}");
            cases.push(SimulationCase { name: name_of_case, machine: machine(name, &[]), workload: Arc::clone(loaded), policy: None });
        }
    }
    cases
}

fn relaxed_options(epoch: u64, threads: usize) -> RunOptions {
    RunOptions { epoch: Some(epoch), relaxed: true, threads, interval: Some(500), ..RunOptions::default() }
}

fn lookahead(case: &SimulationCase) -> u64 {
    simulate(&case.machine, &case.workload, RunOptions { max_cycles: Some(1), ..RunOptions::default() }).unwrap().host.lookahead_cycles
}

fn run(case: &SimulationCase, options: RunOptions) -> Outcome {
    simulate(&case.machine, &case.workload, options).unwrap_or_else(|error| panic!("{}: {error}", case.name)).outcome
}

/// Returns the simulated files of an outcome.
fn simulated_files(case: &SimulationCase, outcome: &Outcome) -> (String, String) {
    (json::stats(&RunFacts::of(&case.machine, &case.workload.name, 1), outcome), csv::intervals(&outcome.intervals))
}

fn late_messages(outcome: &Outcome) -> RelaxedDeviations {
    outcome.relaxed.expect("a relaxed run says that it is one")
}

#[test]
fn threads_and_repetitions_change_nothing() {
    for (number, case) in cases().into_iter().enumerate() {
        let epoch = 4 * lookahead(&case);
        let base = run(&case, relaxed_options(epoch, 1));
        assert_eq!(base.ended_by, EndedBy::Completed, "{}", case.name);
        let RelaxedDeviations { epoch_cycles, messages, late, .. } = late_messages(&base);
        assert_eq!(epoch_cycles, epoch);
        assert!(late.count > 0 && late.count <= messages, "{}: {late:?}", case.name);
        assert!(late.worst <= epoch && late.cycles <= late.count * late.worst, "{}: {late:?}", case.name);
        assert_eq!(late.classes.iter().sum::<u64>(), late.count);
        for &threads in if number == 0 { &[1, 2, 3, 5] } else { in_rotation(&[2, 5, 3, 1], number) } {
            let other = run(&case, relaxed_options(epoch, threads));
            assert_eq!(simulated_files(&case, &other), simulated_files(&case, &base), "{}: {threads} threads", case.name);
        }
    }
}

#[test]
fn epochs_within_the_lookahead_give_the_bytes_of_an_exact_run() {
    for case in cases() {
        let lookahead = lookahead(&case);
        let exact = run(&case, RunOptions { interval: Some(500), ..RunOptions::default() });
        assert_eq!(exact.relaxed, None);
        for epoch in [lookahead, lookahead.div_ceil(3)] {
            let other = run(&case, relaxed_options(epoch, 2));
            let RelaxedDeviations { messages, late, .. } = late_messages(&other);
            assert!(messages > 0);
            assert_eq!((late.count, late.cycles, late.worst), (0, 0, 0), "{}: epochs of {epoch}", case.name);
            let bare = Outcome { relaxed: None, ..other.clone() };
            assert_eq!(simulated_files(&case, &bare), simulated_files(&case, &exact), "{}: epochs of {epoch}", case.name);
            assert!(simulated_files(&case, &other).0.contains("\"relaxed\""));
        }
    }
}

#[test]
fn relaxed_results_are_approximate_but_complete() {
    let case = &cases()[3];
    let exact = run(case, RunOptions::default());
    let other = run(case, relaxed_options(8 * lookahead(case), 2));
    let instructions = |outcome: &Outcome| outcome.kernels[0].counters.iter().find(|c| c.info.name == "warp_instructions").unwrap().value;
    assert_eq!(instructions(&other), instructions(&exact), "every instruction is executed once");
    assert_eq!(other.kernels[0].ctas_done, exact.kernels[0].ctas_done);
    assert!(other.cycles > exact.cycles, "late messages take time: {} against {}", other.cycles, exact.cycles);
}

#[test]
fn cycle_limits_and_controllers_cut_relaxed_runs_at_the_same_cycle_for_every_number_of_threads() {
    let case = SimulationCase { policy: Some(("alternate", "low = 1\nhigh = 3\nctas = 4")), ..cases().remove(0) };
    let epoch = 5 * lookahead(&case);
    for limit in [None, Some(1), Some(777), Some(1500)] {
        let options = |threads| RunOptions { max_cycles: limit, controllers: case.controllers(), ..relaxed_options(epoch, threads) };
        let base = run(&case, options(1));
        assert!(limit.is_none_or(|limit| base.counted_until == limit), "{limit:?}");
        assert_eq!(simulated_files(&case, &run(&case, options(3))), simulated_files(&case, &base), "a limit of {limit:?}");
    }
}

#[test]
fn cpu_cores_on_a_mesh_run_relaxed_on_any_number_of_threads() {
    let workload = built_in("gather", &[("cta_count", "8"), ("table", "65536"), ("rounds", "2")]);
    let case = SimulationCase { name: "gather with mcf".into(), machine: machine("hetero-small", &[]), workload, policy: None };
    let applications = ["mcf", "lbm"].map(|name| CpuApplication::named(name).unwrap()).into();
    let load = CpuLoad { applications, warm: 500, measure: 2000, gpu_waits: true, end: CpuEnd::Both, seed: 1 };
    let options = |threads| RunOptions { cpu: Some(load.clone()), ..relaxed_options(3 * lookahead(&case), threads) };
    let base = run(&case, options(1));
    assert!(late_messages(&base).late.count > 0);
    assert_eq!(simulated_files(&case, &run(&case, options(3))), simulated_files(&case, &base));
}

#[test]
fn a_long_epoch_without_the_flag_is_refused_with_the_flag_s_name() {
    let case = &cases()[0];
    let options = RunOptions { epoch: Some(lookahead(case) + 1), ..RunOptions::default() };
    let error = simulate(&case.machine, &case.workload, options).unwrap_err();
    let RunError::Config(text) = &error else { panic!("{error:?}") };
    assert!(text.contains("--relaxed") && text.contains("lookahead"), "{text}");
}
