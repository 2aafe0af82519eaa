//! Tests of a failing party: all parties stop, the reason is reported, and no party hangs.
#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use warpshard_sync::{EpochBarrier, Party, Poisoned, WaitPolicy};

type Worker = Party<u64, u64>;

/// Runs `work` on one worker per party; returns the poison that the surviving workers got, or fails if any worker hangs.
fn survivors(threads: usize, work: impl Fn(Worker) -> Poisoned + Send + Clone + 'static) -> Vec<Poisoned> {
    let (report, reports) = mpsc::channel();
    let parties = EpochBarrier::new(vec![0; threads], 0, WaitPolicy::for_threads(threads, 2));
    for party in parties {
        let (report, work) = (report.clone(), work.clone());
        thread::spawn(move || {
            let end = catch_unwind(AssertUnwindSafe(|| work(party)));
            report.send(end.ok()).expect("the test waits for every worker");
        });
    }
    let end = || reports.recv_timeout(Duration::from_secs(60)).expect("a worker hangs");
    (0..threads).map(|_| end()).collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Passes barriers until a wait fails; `before` runs at the beginning of each epoch.
fn until_poisoned(party: &mut Worker, before: impl Fn(&mut Worker, u64)) -> Poisoned {
    for epoch in 0.. {
        before(party, epoch);
        if let Err(poisoned) = party.wait(|shared, _| *shared += 1) {
            return poisoned;
        }
    }
    unreachable!("the loop has no end but the return")
}

#[test]
fn a_panicking_worker_stops_the_others() {
    let ends =
        survivors(8, |mut party| until_poisoned(&mut party, |party, epoch| assert!(epoch < 500 || party.index() != 3, "worker 3 fails")));
    assert_eq!(ends.len(), 7);
    assert!(ends.iter().all(|end| end.party == 3 && end.message == "its thread panicked"), "{ends:?}");
}

#[test]
fn a_guarded_worker_reports_the_text_of_its_panic() {
    let ends = survivors(4, |mut party| {
        party
            .guarded(|party| until_poisoned(party, |party, epoch| assert!(epoch < 50 || party.index() != 1, "sm{} is lost", party.index())))
    });
    assert_eq!(ends.len(), 3);
    assert!(ends.iter().all(|end| end.party == 1 && end.message == "sm1 is lost"), "{ends:?}");
}

#[test]
fn a_panicking_control_step_stops_the_others_with_its_text() {
    let ends = survivors(4, |mut party| {
        let role = party.wait(|_, _| panic!("no work left at cycle 7"));
        role.expect_err("the coordinator panicked")
    });
    assert_eq!(ends.len(), 3);
    assert!(ends.iter().all(|end| end.message == "no work left at cycle 7"), "{ends:?}");
}

#[test]
fn a_dropped_party_stops_the_others() {
    let ends = survivors(4, |mut party| {
        if party.index() == 2 {
            party.wait(|_, _| ()).expect("the first epoch is whole");
            return Poisoned { party: 2, message: "left by itself".to_owned() };
        }
        until_poisoned(&mut party, |_, _| ())
    });
    assert_eq!(ends.len(), 4);
    let told = ends.iter().filter(|end| end.message == "it was dropped before it finished");
    assert_eq!(told.inspect(|end| assert_eq!(end.party, 2)).count(), 3);
}

#[test]
fn a_party_that_finishes_too_early_stops_waiting_parties() {
    let ends = survivors(3, |mut party| {
        if party.index() == 0 {
            assert!(party.finish().is_none());
            return Poisoned { party: 0, message: String::new() };
        }
        until_poisoned(&mut party, |_, _| ())
    });
    assert!(ends.iter().all(|end| end.party == 0), "{ends:?}");
    assert_eq!(ends.iter().filter(|end| end.message.contains("finished")).count(), 2);
}

#[test]
fn the_first_reason_stays_and_every_later_wait_fails_with_it() {
    let mut parties = EpochBarrier::new(vec![1, 2], 0, WaitPolicy::default());
    parties[1].poison("first".to_owned());
    parties[0].poison("second".to_owned());
    for _ in 0..3 {
        for party in &mut parties {
            let refused = party.wait(|_, _| panic!("no coordinator runs after a poisoning")).expect_err("poisoned");
            assert_eq!(refused, Poisoned { party: 1, message: "first".to_owned() });
            assert_eq!(refused.to_string(), "party 1 broke off: first");
        }
    }
    assert_eq!(*parties[0].local(), 1, "the states stay readable");
}

#[test]
fn a_poisoned_barrier_returns_its_states_to_the_last_party() {
    let mut parties = EpochBarrier::new(vec![1, 2], 9, WaitPolicy::default());
    parties[0].poison("stop".to_owned());
    drop(parties.remove(0));
    assert_eq!(parties.remove(0).finish(), Some((vec![1, 2], 9)));
}
