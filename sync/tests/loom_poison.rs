//! Tests of poisoning under every interleaving: all parties are woken with the reason, and the states stay exclusive.
#![cfg(loom)]

mod explore;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use loom::thread;

use warpshard_sync::{EpochBarrier, Party, Poisoned, WaitPolicy};

use explore::explore;

const SLEEPING_POLICY: WaitPolicy = WaitPolicy::sleeping();

/// Waits once on a separate thread; returns the expected poison and the party.
fn poisoned_waiter(mut party: Party<u64, u64>) -> thread::JoinHandle<(Poisoned, Party<u64, u64>)> {
    thread::spawn(move || {
        let poisoned = party.wait(|_, _| unreachable!("the coordinator needs everybody")).expect_err("one is missing");
        (poisoned, party)
    })
}

#[test]
fn poisoning_wakes_all_parties() {
    explore(|| {
        let mut parties = EpochBarrier::new(vec![0; 3], 0, SLEEPING_POLICY);
        let breaker = parties.remove(0);
        let waiters: Vec<_> = parties.into_iter().map(poisoned_waiter).collect();
        breaker.poison("broken".to_owned());
        for waiter in waiters {
            let (poisoned, mut party) = waiter.join().expect("a waiter does not panic");
            assert_eq!(poisoned, Poisoned { party: 0, message: "broken".to_owned() });
            assert_eq!(party.wait(|_, _| ()), Err(poisoned), "every later wait fails too");
        }
    });
}

#[test]
fn dropping_a_party_wakes_all_parties() {
    explore(|| {
        let mut parties = EpochBarrier::new(vec![0; 2], 0, SLEEPING_POLICY);
        let dropped = parties.remove(0);
        let waiter = poisoned_waiter(parties.remove(0));
        drop(dropped);
        let (poisoned, _) = waiter.join().expect("a waiter does not panic");
        assert_eq!(poisoned.message, "it was dropped before it finished");
    });
}

#[test]
fn finishing_wakes_parties_that_wait_for_the_leaver() {
    explore(|| {
        let mut parties = EpochBarrier::new(vec![0; 2], 0, SLEEPING_POLICY);
        let leaver = parties.remove(0);
        let waiter = poisoned_waiter(parties.remove(0));
        assert_eq!(leaver.finish(), None);
        let (poisoned, _) = waiter.join().expect("a waiter does not panic");
        assert_eq!(poisoned.party, 0);
    });
}

#[test]
fn a_panicking_control_step_poisons_all_parties() {
    explore(|| {
        let mut parties = EpochBarrier::new(vec![0; 2], 0, SLEEPING_POLICY);
        // `resume_unwind` panics without a message from the panic hook in each of the thousands of interleavings.
        let arrive = |mut party: Party<u64, u64>| {
            let waited = catch_unwind(AssertUnwindSafe(|| party.wait(|_, _| resume_unwind(Box::new("bad step")))));
            (waited.ok(), party)
        };
        let second = parties.remove(1);
        let other = thread::spawn(move || arrive(second));
        let (here, _party) = arrive(parties.remove(0));
        let (there, _party) = other.join().expect("the panic is caught");
        let told: Vec<Poisoned> = [here, there].into_iter().flatten().map(|wait| wait.expect_err("poisoned")).collect();
        assert_eq!(told.len(), 1, "one ran the coordinator, the other was poisoned");
        assert_eq!(told[0].message, "bad step");
    });
}

#[test]
fn the_states_stay_exclusive_after_a_poisoning() {
    explore(|| {
        let mut parties = EpochBarrier::new(vec![0; 2], 5, SLEEPING_POLICY);
        let mut breaker = parties.remove(0);
        let waiter = poisoned_waiter(parties.remove(0));
        breaker.poison("broken".to_owned());
        *breaker.local() += 1;
        let first = breaker.finish();
        let (_, mut party) = waiter.join().expect("a waiter does not panic");
        *party.local() += 2;
        assert_eq!((first, party.finish()), (None, Some((vec![1, 2], 5))));
    });
}

/// Creates a party that its first wait retires, on a separate thread, and that gets the poison of party 0; returns party 0 after that wait
/// and the thread.
fn with_a_retired_party() -> (Party<u64, u64>, thread::JoinHandle<Poisoned>) {
    let mut parties = EpochBarrier::new(vec![0; 2], 0, SLEEPING_POLICY);
    let mut second = parties.remove(1);
    let retired = thread::spawn(move || second.wait(|_, locals| locals.set_active(1)).expect_err("it never comes back"));
    let mut first = parties.remove(0);
    first.wait(|_, locals| locals.set_active(1)).expect("no party has failed yet");
    (first, retired)
}

#[test]
fn poisoning_wakes_retired_parties() {
    explore(|| {
        let (first, retired) = with_a_retired_party();
        first.poison("broken".to_owned());
        let poisoned = retired.join().expect("a retired party does not panic");
        assert_eq!(poisoned, Poisoned { party: 0, message: "broken".to_owned() });
    });
}

#[test]
fn finishing_wakes_retired_parties() {
    explore(|| {
        let (first, retired) = with_a_retired_party();
        first.finish();
        assert_eq!(retired.join().expect("a retired party does not panic").party, 0);
    });
}
