//! The engine on a toy machine: a ring of nodes with different clocks that forward tokens, with every invariance that real machines rely
//! on.

mod ring;

use warpshard::engine::{EngineError, Scaling, Settings, StopReason};

use ring::{Ring, RingDirector, Snapshot};

fn engine_settings() -> Settings {
    Settings::default()
}

fn base_snapshot() -> Snapshot {
    Ring::default().run(&engine_settings()).expect("the ring runs")
}

#[test]
fn the_ring_ends_after_all_rounds_of_all_tokens() {
    let seen = base_snapshot();
    assert_eq!(seen.reason, StopReason::Ended);
    assert_eq!(seen.nodes.iter().map(|node| node.hops).sum::<u64>(), Ring::default().expected_hops());
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let one = base_snapshot();
    for threads in [2, 3, 5, 8] {
        assert_eq!(Ring::default().run(&Settings { threads, ..engine_settings() }).unwrap(), one, "{threads} threads");
    }
}

/// Returns schedules in which the number of active workers changes every few epochs.
fn changing_worker_counts() -> impl Iterator<Item = Settings> {
    let ways = [(2, None, true), (3, Some(1), true), (5, Some(7), false), (8, None, true)];
    ways.into_iter().zip(1..).map(|((threads, epoch, skip), seed)| Settings {
        threads,
        scaling: Scaling::Random(seed),
        epoch,
        skip,
        ..Settings::default()
    })
}

#[test]
fn retiring_and_returning_workers_change_nothing() {
    for react in [false, true] {
        let ring = Ring { interval: Some(97), react, ..Ring::default() };
        let one = ring.run(&engine_settings()).unwrap();
        for settings in changing_worker_counts() {
            assert_eq!(ring.run(&settings).unwrap(), one, "{settings:?}");
            let changes = ring.worker_changes(&settings);
            assert!(changes > 10, "{changes} changes with {settings:?}");
        }
    }
}

#[test]
fn retiring_and_returning_workers_lose_no_message() {
    for settings in changing_worker_counts() {
        let (sent, delivered) = Ring::default().message_log(&Settings { log: true, ..settings });
        assert!(!sent.is_empty());
        assert_eq!(sent, delivered);
    }
}

#[test]
fn a_deadlock_and_a_panic_end_a_run_with_retired_workers() {
    for settings in changing_worker_counts() {
        let error = Ring { lose_token_at: Some(25), ..Ring::default() }.run(&settings).unwrap_err();
        assert!(matches!(&error, EngineError::Deadlock(text) if text.contains("node0: waits for 1 tokens")), "{error:?}");
        let error = Ring { panic_at: Some(25), ..Ring::default() }.run(&settings).unwrap_err();
        assert!(matches!(&error, EngineError::Panic(text) if text.contains("node 3 broke")), "{error:?}");
    }
}

#[test]
fn threads_beyond_the_shards_are_not_started() {
    let facts = Ring { nodes_per_shard: 4, ..Ring::default() }.engine_facts(&Settings { threads: 50, ..engine_settings() });
    assert_eq!(facts.workers.len() as u16, Ring::default().nodes.div_ceil(4));
}

#[test]
fn shorter_epochs_mean_more_epochs() {
    let epochs = |epoch| Ring::default().epochs(&Settings { epoch: Some(epoch), ..engine_settings() });
    assert!(epochs(1) > 4 * epochs(Ring::default().lookahead()));
}

#[test]
fn the_length_of_epochs_changes_nothing() {
    let auto = base_snapshot();
    for epoch in [1, 2, 7, Ring::default().lookahead()] {
        assert_eq!(Ring::default().run(&Settings { epoch: Some(epoch), threads: 2, ..engine_settings() }).unwrap(), auto, "epoch {epoch}");
    }
}

#[test]
fn the_cut_into_shards_changes_nothing() {
    let single = base_snapshot();
    for nodes_per_shard in [2, 3, 12] {
        assert_eq!(Ring { nodes_per_shard, ..Ring::default() }.run(&Settings { threads: 2, ..engine_settings() }).unwrap(), single);
    }
}

#[test]
fn stepping_every_cycle_changes_nothing() {
    assert_eq!(Ring::default().run(&Settings { skip: false, threads: 2, ..engine_settings() }).unwrap(), base_snapshot());
}

#[test]
fn cuts_at_intervals_see_the_same_for_every_thread_count_and_epoch() {
    let ring = Ring { interval: Some(97), ..Ring::default() };
    let one = ring.run(&engine_settings()).unwrap();
    assert!(one.cuts.len() > 5);
    for (threads, epoch) in [(1, Some(1)), (2, None), (3, Some(7)), (5, None)] {
        assert_eq!(ring.run(&Settings { threads, epoch, ..engine_settings() }).unwrap(), one);
    }
    assert_eq!(one.nodes, base_snapshot().nodes, "looking at the machine does not change it");
}

#[test]
fn a_controller_that_acts_on_events_acts_at_the_same_cycle() {
    let ring = Ring { react: true, ..Ring::default() };
    let one = ring.run(&engine_settings()).unwrap();
    assert!(!one.cuts.is_empty());
    assert_ne!(one.nodes, base_snapshot().nodes, "the reaction has an effect");
    for (threads, epoch, skip) in [(2, None, true), (3, Some(1), true), (8, Some(7), true), (2, None, false)] {
        assert_eq!(ring.run(&Settings { threads, epoch, skip, ..engine_settings() }).unwrap(), one);
    }
}

#[test]
fn a_cycle_limit_cuts_at_its_cycle() {
    for limit in [1, 13, 77, 500, 1003] {
        let limited =
            |threads, epoch| Ring::default().run(&Settings { max_cycles: Some(limit), threads, epoch, ..engine_settings() }).unwrap();
        let one = limited(1, None);
        assert_eq!((one.at, one.reason), (limit, StopReason::MaxCycles));
        assert!(one.nodes.iter().all(|node| node.busy + node.idle == node.cycles));
        assert_eq!(limited(3, Some(5)), one);
    }
}

#[test]
fn an_interrupted_run_equals_one_limited_to_the_same_cycle() {
    for after in [1, 40, 333] {
        let stop = warpshard::sync::StopFlag::new();
        let ring = Ring { interval: Some(1), stop_after: Some((after, stop.clone())), ..Ring::default() };
        let stopped = ring.run(&Settings { threads: 2, stop, ..engine_settings() }).unwrap();
        assert_eq!(stopped.reason, StopReason::Interrupted);
        let limited =
            Ring { interval: Some(1), ..Ring::default() }.run(&Settings { max_cycles: Some(stopped.at), ..engine_settings() }).unwrap();
        assert_eq!(limited.nodes, stopped.nodes);
    }
}

#[test]
fn an_epoch_beyond_the_lookahead_is_refused_with_the_loop_that_limits_it() {
    let epoch = Some(Ring::default().lookahead() + 1);
    let error = Ring::default().run(&Settings { epoch, ..engine_settings() }).unwrap_err();
    let EngineError::Plan(text) = error else { panic!("{error:?}") };
    assert!(text.contains("longer than the lookahead") && text.contains("node0 -> node1"), "{text}");
}

#[test]
fn a_relaxed_run_counts_late_messages_and_is_the_same_for_every_thread_count() {
    let run = |threads| Ring::default().run(&Settings { epoch: Some(200), relaxed: true, threads, ..engine_settings() }).unwrap();
    let one = run(1);
    assert!(one.late > 0);
    assert_eq!(run(3), one);
}

#[test]
fn a_link_without_latency_is_refused_by_name() {
    let error = Ring { latency: 0, ..Ring::default() }.run(&engine_settings()).unwrap_err();
    let EngineError::Plan(text) = error else { panic!("{error:?}") };
    assert!(text.contains("node0 -> node1 has no latency"), "{text}");
}

#[test]
fn a_deadlock_is_reported_immediately_with_the_waiting_units() {
    let error = Ring { lose_token_at: Some(5), ..Ring::default() }.run(&Settings { threads: 2, ..engine_settings() }).unwrap_err();
    let EngineError::Deadlock(text) = error else { panic!("{error:?}") };
    assert!(text.contains("node0: waits for 1 tokens"), "{text}");
}

#[test]
fn a_panic_in_a_worker_ends_the_run_with_its_message() {
    let error = Ring { panic_at: Some(5), ..Ring::default() }.run(&Settings { threads: 3, ..engine_settings() }).unwrap_err();
    let EngineError::Panic(text) = error else { panic!("{error:?}") };
    assert!(text.contains("node 3 broke"), "{text}");
}

#[test]
fn a_message_into_the_past_names_both_ends() {
    let error = Ring { send_into_past: true, ..Ring::default() }.run(&engine_settings()).unwrap_err();
    let EngineError::Panic(text) = error else { panic!("{error:?}") };
    assert!(text.contains("a message into the past: node3 sent") && text.contains("to node4"), "{text}");
}

#[test]
fn a_log_has_every_sent_message_as_delivered() {
    let (sent, delivered) = Ring::default().message_log(&Settings { threads: 3, log: true, ..engine_settings() });
    assert!(!sent.is_empty());
    assert_eq!(sent, delivered);
}

#[test]
fn a_director_sees_samples_of_every_unit_in_order() {
    let director = RingDirector::default();
    assert!(director.seen_cuts().is_empty());
    let seen = Ring { interval: Some(100), ..Ring::default() }.run(&engine_settings()).unwrap();
    assert!(seen.cuts.iter().all(|(_, samples)| samples.len() == Ring::default().nodes as usize));
}
