//! Tests of the observer: each rule fails on a log with one change.

use warpshard::base::LinkId;
use warpshard::chip::{RunOptions, RunResult};
use warpshard::engine::{LoggedMessage, MessageLog};
use warpshard::protocol::Payload;

use super::record::{RunRecord, packet_link};
use super::rules::{End, check_credits, check_ctas, check_delivery, check_network_transit, check_replies};
use super::{end_of, run_observed};
use crate::common::{SimulationCase, built_in, machine};

fn sample_run() -> (SimulationCase, RunResult) {
    let workload = built_in("gather", &[("cta_count", "8"), ("table", "4096"), ("rounds", "2")]);
    let case = SimulationCase { name: "gather on tiny".into(), machine: machine("tiny", &[]), workload, policy: None };
    let result = run_observed(&case, RunOptions::default());
    (case, result)
}

/// Applies all rules to a log, as the tests of whole runs do.
fn apply_rules(case: &SimulationCase, names: &[String], log: &MessageLog<Payload>, end: End) -> Result<(), String> {
    check_delivery(&case.machine, names, log, end)?;
    let record = RunRecord::from_log(&case.machine, names, log)?;
    check_network_transit(&case.machine, &record, end.completed)?;
    check_replies(&record, false)?;
    check_credits(&record, true)?;
    check_ctas(&case.workload, &record, true)
}

/// Changes the logs at both ends of a link in the same way, so that `delivery` does not fail.
fn change_both_ends(log: &mut MessageLog<Payload>, link: LinkId, change: impl Fn(&mut Vec<LoggedMessage<Payload>>, usize)) {
    for side in [&mut log.sent, &mut log.delivered] {
        let at: Vec<usize> = (0..side.len()).filter(|i| side[*i].link == link).collect();
        change(side, at[at.len() / 2]);
    }
}

fn assert_noticed(change: impl Fn(&mut MessageLog<Payload>, &[String]), expected: &str) {
    let (case, result) = sample_run();
    let end = end_of(&result);
    apply_rules(&case, &result.link_names, &result.log, end).unwrap();
    let mut log = result.log.clone();
    change(&mut log, &result.link_names);
    let problem = apply_rules(&case, &result.link_names, &log, end).expect_err(expected);
    assert!(problem.contains(expected), "expected \"{expected}\", but: {problem}");
}

#[test]
fn a_message_that_is_not_delivered_is_noticed() {
    let last = |log: &MessageLog<Payload>, link| log.delivered.iter().rposition(|m| m.link == link).unwrap();
    assert_noticed(
        |log, names| {
            let link = packet_link(log, names, "sm", "request");
            let at = last(log, link);
            log.delivered.remove(at);
        },
        "was never delivered",
    );
}

#[test]
fn a_message_that_is_delivered_twice_is_noticed() {
    assert_noticed(
        |log, names| {
            let link = packet_link(log, names, "partition", "reply");
            let at = log.delivered.iter().rposition(|m| m.link == link).unwrap();
            log.delivered.push(log.delivered[at]);
        },
        "were delivered",
    );
}

#[test]
fn a_message_that_is_delivered_late_is_noticed() {
    assert_noticed(
        |log, names| {
            let link = packet_link(log, names, "reply", "sm");
            log.delivered.iter_mut().find(|m| m.link == link).unwrap().at += 1;
        },
        "and delivered as",
    );
}

#[test]
fn a_message_in_flight_after_the_end_is_noticed() {
    assert_noticed(
        |log, names| {
            let link = packet_link(log, names, "sm", "grid");
            for side in [&mut log.sent, &mut log.delivered] {
                side.iter_mut().rfind(|m| m.link == link).unwrap().at += 1_000_000;
            }
        },
        "is under way after the end",
    );
}

#[test]
fn a_packet_lost_in_a_network_is_noticed() {
    for (from, to) in [("request", "partition"), ("reply", "sm")] {
        assert_noticed(
            |log, names| {
                change_both_ends(log, packet_link(log, names, from, to), |side, at| {
                    side.remove(at);
                })
            },
            "sm",
        );
    }
}

#[test]
fn a_packet_changed_in_a_network_is_noticed() {
    let change = |side: &mut Vec<LoggedMessage<Payload>>, at: usize| {
        if let Payload::Mem(packet) = &mut side[at].payload {
            packet.token ^= 1;
        }
    };
    assert_noticed(|log, names| change_both_ends(log, packet_link(log, names, "request", "partition"), change), "became another");
}

#[test]
fn a_request_for_a_slice_that_does_not_own_the_address_is_noticed() {
    let change = |side: &mut Vec<LoggedMessage<Payload>>, at: usize| {
        if let Payload::Mem(packet) = &mut side[at].payload {
            packet.addr.0 ^= 256;
        }
    };
    assert_noticed(|log, names| change_both_ends(log, packet_link(log, names, "sm", "request"), change), "goes to another slice");
}

#[test]
fn a_sector_without_a_reply_is_noticed() {
    let lose = |case: &SimulationCase, result: &RunResult| {
        let mut record = RunRecord::from_log(&case.machine, &result.link_names, &result.log).unwrap();
        let hop = record.hops.iter_mut().rfind(|hop| hop.way == super::record::HopKind::SliceToNet).unwrap();
        hop.packets.pop();
        record
    };
    let (case, result) = sample_run();
    let problem = check_replies(&lose(&case, &result), false).unwrap_err();
    assert!(problem.contains("never answered"), "{problem}");
}

#[test]
fn a_reply_without_a_request_is_noticed() {
    let (case, result) = sample_run();
    let record = RunRecord::from_log(&case.machine, &result.link_names, &result.log).unwrap();
    let tampered = |change: fn(&mut (u64, warpshard::protocol::MemPacket))| {
        let mut record = record.clone();
        change(record.hops.iter_mut().rfind(|hop| hop.way == super::record::HopKind::SliceToNet).unwrap().packets.first_mut().unwrap());
        check_replies(&record, false).unwrap_err()
    };
    for problem in [
        tampered(|(_, packet)| packet.token ^= 1),
        tampered(|(_, packet)| packet.port.0 ^= 1),
        tampered(|(_, packet)| packet.addr.0 += 1 << 20),
        tampered(|(at, _)| *at = 0),
    ] {
        assert!(problem.contains("what nobody asked"), "{problem}");
    }
}

#[test]
fn a_credit_lost_doubled_or_too_early_is_noticed() {
    let credit = |log: &MessageLog<Payload>| log.sent.iter().find(|m| matches!(m.payload, Payload::Credit(_))).unwrap().link;
    assert_noticed(
        |log, _| {
            change_both_ends(log, credit(log), |side, at| {
                side.remove(at);
            })
        },
        "credits in the end",
    );
    assert_noticed(|log, _| change_both_ends(log, credit(log), |side, at| side.insert(at, side[at])), "credits");
    let early = |side: &mut Vec<LoggedMessage<Payload>>, at: usize| {
        let link = side[at].link;
        side.iter_mut().filter(|m| m.link == link).for_each(|m| m.at = 0);
    };
    assert_noticed(|log, _| change_both_ends(log, credit(log), early), "credits at");
}

#[test]
fn a_sender_with_more_packets_than_credits_is_noticed() {
    let (case, result) = sample_run();
    let mut record = RunRecord::from_log(&case.machine, &result.link_names, &result.log).unwrap();
    for hop in &mut record.hops {
        hop.credits.clear();
    }
    let problem = check_credits(&record, false).unwrap_err();
    assert!(problem.contains("packets outstanding"), "{problem}");
}

#[test]
fn a_cta_lost_repeated_or_moved_is_noticed() {
    let on = |word: fn(&Payload) -> bool, side: &[LoggedMessage<Payload>]| side.iter().position(|m| word(&m.payload)).unwrap();
    let started: fn(&Payload) -> bool = |payload| matches!(payload, Payload::CtaStarted(_));
    let launch: fn(&Payload) -> bool = |payload| matches!(payload, Payload::Launch(_));
    let done: fn(&Payload) -> bool = |payload| matches!(payload, Payload::CtaDone(_));
    let remove = |word, log: &mut MessageLog<Payload>| {
        for side in [&mut log.sent, &mut log.delivered] {
            let at = on(word, side);
            side.remove(at);
        }
    };
    assert_noticed(|log, _| remove(launch, log), "without Launch");
    assert_noticed(|log, _| remove(started, log), "without Started");
    assert_noticed(|log, _| remove(done, log), "was not carried out");
    let again = |log: &mut MessageLog<Payload>| {
        for side in [&mut log.sent, &mut log.delivered] {
            let at = on(started, side);
            side.insert(at, side[at]);
        }
    };
    assert_noticed(|log, _| again(log), "twice");
}
