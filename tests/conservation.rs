//! Conservation, as an observer sees it who has the messages on the links and trusts no counter.

mod common;
#[path = "conservation/counts.rs"]
mod counts;
#[path = "conservation/record.rs"]
mod record;
#[path = "conservation/rules.rs"]
mod rules;
#[path = "conservation/tampered.rs"]
mod tampered;

use common::{Case, built_in, cases, machine};
use record::Record;
use rules::{End, answers, credits, ctas, delivery, passage};
use warpshard::engine::{RunOptions, RunResult, simulate};
use warpshard::stats::EndedBy;

/// A case whose queues are so short that senders wait for credits.
fn crowded() -> Case {
    let short = [
        ("noc.input_queue", "3"),
        ("noc.output_queue", "2"),
        ("mem.queues.in_queue", "1"),
        ("mem.queues.out_queue", "1"),
        ("mem.rop_latency", "2"),
        ("gpu.sm.lsu.ejection_queue", "1"),
    ];
    let gather = built_in("gather", &[("cta_count", "24"), ("table", "65536"), ("rounds", "3")]);
    Case { name: "gather on tiny with short queues".into(), machine: machine("tiny", &short), workload: gather, policy: None }
}

/// A case whose L1 keeps what is written, so that lines are written back.
fn written_back() -> Case {
    let machine = machine("tiny", &[("gpu.sm.l1.cache.write", "back")]);
    let workload = built_in("vecadd", &[]);
    Case { name: "vecadd on tiny with a write-back L1".into(), machine, workload, policy: None }
}

fn observed(case: &Case, options: RunOptions) -> RunResult {
    let options = RunOptions { log: true, controllers: case.controllers(), ..options };
    simulate(&case.machine, &case.workload, options).unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

fn end_of(result: &RunResult) -> End {
    End { core_cycle: result.outcome.counted_until, completed: result.outcome.ended_by == EndedBy::Completed }
}

fn recorded(case: &Case, result: &RunResult) -> Record {
    Record::of(&case.machine, &result.link_names, &result.log).unwrap_or_else(|problem| panic!("{}: {problem}", case.name))
}

#[test]
fn in_completed_runs_nothing_is_lost_made_up_or_miscounted() {
    for case in cases().into_iter().chain([crowded()]) {
        let result = observed(&case, RunOptions::default());
        let end = end_of(&result);
        assert!(end.completed, "{}", case.name);
        let record = recorded(&case, &result);
        let verdict = delivery(&case.machine, &result.link_names, &result.log, end)
            .and_then(|()| passage(&case.machine, &record))
            .and_then(|()| answers(&record, false))
            .and_then(|()| credits(&record, true).map(|_| ()))
            .and_then(|()| ctas(&case.workload, &record, true));
        verdict.unwrap_or_else(|problem| panic!("{}: {problem}", case.name));
        counts::instructions(&case.name, &case.workload, &result.outcome);
        counts::stalls(&case.name, &case.machine, &result.outcome);
        counts::traffic(&case.name, &case.machine, &result, &record);
    }
}

#[test]
fn senders_use_every_credit_and_none_that_they_do_not_have() {
    let case = crowded();
    let result = observed(&case, RunOptions::default());
    assert_eq!(credits(&recorded(&case, &result), true), Ok(100), "some queue is full at some time");
}

#[test]
fn a_write_back_l1_loses_nothing() {
    let case = written_back();
    let result = observed(&case, RunOptions::default());
    let record = recorded(&case, &result);
    passage(&case.machine, &record).unwrap();
    answers(&record, true).unwrap();
    ctas(&case.workload, &record, true).unwrap();
    counts::instructions(&case.name, &case.workload, &result.outcome);
}

#[test]
fn a_run_that_is_cut_short_has_lost_nothing_either() {
    for case in cases().into_iter().take(4) {
        let whole = observed(&case, RunOptions::default()).outcome.cycles;
        for limit in [1, whole / 3 + 1, whole / 2, whole - 1] {
            let result = observed(&case, RunOptions { max_cycles: Some(limit), interval: Some(777), ..RunOptions::default() });
            let end = end_of(&result);
            assert_eq!((end.core_cycle, end.completed), (limit, false), "{}", case.name);
            let record = recorded(&case, &result);
            let verdict = delivery(&case.machine, &result.link_names, &result.log, end)
                .and_then(|()| credits(&record, false).map(|_| ()))
                .and_then(|()| ctas(&case.workload, &record, false));
            verdict.unwrap_or_else(|problem| panic!("{} cut at {limit}: {problem}", case.name));
            counts::stalls(&case.name, &case.machine, &result.outcome);
            counts::intervals(&case.name, 777, &result.outcome);
        }
    }
}

#[test]
fn intervals_add_up_to_the_totals() {
    for case in cases() {
        let result = observed(&case, RunOptions { interval: Some(500), threads: 2, ..RunOptions::default() });
        counts::intervals(&case.name, 500, &result.outcome);
        counts::stalls(&case.name, &case.machine, &result.outcome);
    }
}
