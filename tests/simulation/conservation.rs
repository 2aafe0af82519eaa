//! Conservation of messages, checked by an observer that sees the messages on the links and trusts no counter.

mod any;
mod counts;
mod record;
mod rules;
mod tampered;

use warpshard::chip::{RunOptions, RunResult, simulate};
use warpshard::config::machine::WritePolicy;
use warpshard::stats::EndedBy;

use crate::common::{OUTPUT_QUEUED_CROSSBAR, SimulationCase, VC_CROSSBAR, built_in, cases, machine};
use record::RunRecord;
use rules::{End, check_credits, check_ctas, check_delivery, check_network_transit, check_replies};

/// Returns a case with queues so short that senders wait for credits.
fn crowded_case() -> SimulationCase {
    let short = [
        ("noc.input_queue", "3"),
        ("noc.output_queue", "2"),
        ("mem.queues.in_queue", "1"),
        ("mem.queues.out_queue", "1"),
        ("mem.rop_latency", "2"),
        ("gpu.sm.lsu.ejection_queue", "1"),
    ];
    let gather = built_in("gather", &[("cta_count", "24"), ("table", "65536"), ("rounds", "3")]);
    SimulationCase { name: "gather on tiny with short queues".into(), machine: machine("tiny", &short), workload: gather, policy: None }
}

/// Returns the case of `crowded_case` with the other kinds of crossbars.
fn crowded_crossbars() -> [SimulationCase; 2] {
    [OUTPUT_QUEUED_CROSSBAR, VC_CROSSBAR].map(|kind| {
        let crossbar = machine("tiny", kind).noc;
        let mut case = crowded_case();
        case.name = format!("{}, {:?}", case.name, crossbar.crossbar);
        (case.machine.noc.crossbar, case.machine.noc.vc) = (crossbar.crossbar, crossbar.vc);
        case
    })
}

fn run_observed(case: &SimulationCase, options: RunOptions) -> RunResult {
    let options = RunOptions { log: true, controllers: case.controllers(), ..options };
    simulate(&case.machine, &case.workload, options).unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

fn end_of(result: &RunResult) -> End {
    End { core_cycle: result.outcome.counted_until, completed: result.outcome.ended_by == EndedBy::Completed }
}

fn record_of_run(case: &SimulationCase, result: &RunResult) -> RunRecord {
    RunRecord::from_log(&case.machine, &result.link_names, &result.log).unwrap_or_else(|problem| panic!("{}: {problem}", case.name))
}

#[test]
fn completed_runs_lose_invent_or_miscount_no_message() {
    for case in cases().into_iter().chain([crowded_case()]).chain(crowded_crossbars()) {
        let result = run_observed(&case, RunOptions::default());
        let end = end_of(&result);
        assert!(end.completed, "{}", case.name);
        let record = record_of_run(&case, &result);
        let verdict = check_delivery(&case.machine, &result.link_names, &result.log, end)
            .and_then(|()| check_network_transit(&case.machine, &record, true))
            .and_then(|()| check_replies(&record, false))
            .and_then(|()| check_credits(&record, true).map(|_| ()))
            .and_then(|()| check_ctas(&case.workload, &record, true));
        verdict.unwrap_or_else(|problem| panic!("{}: {problem}", case.name));
        counts::check_instructions(&case.name, &case.workload, &result.outcome);
        counts::check_stalls(&case.name, &case.machine, &result.outcome);
        counts::check_traffic(&case.name, &case.machine, &result, &record);
    }
}

#[test]
fn senders_use_all_of_their_credits_and_no_more() {
    for case in crowded_crossbars().into_iter().chain([crowded_case()]) {
        let result = run_observed(&case, RunOptions::default());
        assert_eq!(check_credits(&record_of_run(&case, &result), true), Ok(100), "{}: some queue is full at some time", case.name);
    }
}

#[test]
fn machines_of_any_kind_lose_no_message() {
    let (mut runs, mut written_back, mut driven) = (0, 0, 0);
    for case in (0..100).filter_map(any::case) {
        runs += 1;
        driven += u32::from(case.machine.mem.dram.control.is_some());
        let result = run_observed(&case, RunOptions::default());
        assert_eq!(result.outcome.ended_by, EndedBy::Completed, "{}", case.name);
        // No warp waits for write-backs of an L1, and neither does the end of the run.
        let write_back = case.machine.gpu.sm.l1.cache.is_some_and(|cache| cache.write != WritePolicy::Through);
        written_back += u32::from(write_back);
        let record = record_of_run(&case, &result);
        let end = End { completed: !write_back, ..end_of(&result) };
        let verdict = check_delivery(&case.machine, &result.link_names, &result.log, end)
            .and_then(|()| check_network_transit(&case.machine, &record, end.completed))
            .and_then(|()| check_replies(&record, write_back))
            .and_then(|()| check_credits(&record, end.completed).map(|_| ()))
            .and_then(|()| check_ctas(&case.workload, &record, true));
        verdict.unwrap_or_else(|problem| panic!("{}: {problem}", case.name));
        counts::check_instructions(&case.name, &case.workload, &result.outcome);
        counts::check_stalls(&case.name, &case.machine, &result.outcome);
        if !write_back {
            counts::check_traffic(&case.name, &case.machine, &result, &record);
        }
    }
    assert!(runs >= 40 && written_back >= 15 && driven >= 10, "{runs} machines, {written_back} with write-backs, {driven} with commands");
}

#[test]
fn a_run_that_is_cut_short_loses_no_message() {
    for case in cases().into_iter().take(4) {
        let whole = run_observed(&case, RunOptions::default()).outcome.cycles;
        for limit in [1, whole / 3 + 1, whole / 2, whole - 1] {
            let result = run_observed(&case, RunOptions { max_cycles: Some(limit), interval: Some(777), ..RunOptions::default() });
            let end = end_of(&result);
            assert_eq!((end.core_cycle, end.completed), (limit, false), "{}", case.name);
            let record = record_of_run(&case, &result);
            let verdict = check_delivery(&case.machine, &result.link_names, &result.log, end)
                .and_then(|()| check_credits(&record, false).map(|_| ()))
                .and_then(|()| check_ctas(&case.workload, &record, false));
            verdict.unwrap_or_else(|problem| panic!("{} cut at {limit}: {problem}", case.name));
            counts::check_stalls(&case.name, &case.machine, &result.outcome);
            counts::check_intervals(&case.name, 777, &result.outcome);
        }
    }
}

#[test]
fn intervals_add_up_to_the_totals() {
    for case in cases() {
        let result = run_observed(&case, RunOptions { interval: Some(500), threads: 2, ..RunOptions::default() });
        counts::check_intervals(&case.name, 500, &result.outcome);
        counts::check_stalls(&case.name, &case.machine, &result.outcome);
    }
}
