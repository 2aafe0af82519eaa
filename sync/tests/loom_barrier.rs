//! The epoch barrier under every interleaving: wake-ups, epochs, and who sees what.
#![cfg(loom)]

mod explore;

use explore::explore;
use loom::thread;
use warpshard_sync::{EpochBarrier, Party, Role, WaitPolicy};

/// Falls asleep at once.
const SLEEP: WaitPolicy = WaitPolicy { spins: 0, yields: 0 };
/// Looks once before it falls asleep, so that it can be released both ways.
const LOOK: WaitPolicy = WaitPolicy { spins: 1, yields: 0 };

/// Runs `work` for every party, that of party 0 on the calling thread.
fn on_threads<L, G, R>(parties: Vec<Party<L, G>>, work: fn(Party<L, G>) -> R) -> Vec<R>
where
    L: Send + 'static,
    G: Send + Sync + 'static,
    R: Send + 'static,
{
    let mut parties = parties.into_iter();
    let first = parties.next().expect("a barrier has a party");
    let others: Vec<_> = parties.map(|party| thread::spawn(move || work(party))).collect();
    let mut results = vec![work(first)];
    results.extend(others.into_iter().map(|thread| thread.join().expect("no party panics")));
    results
}

#[test]
fn no_wake_up_is_lost() {
    explore(|| {
        on_threads(EpochBarrier::new(vec![(); 2], (), SLEEP), |mut party| {
            for _ in 0..2 {
                party.wait(|(), _| ()).expect("nobody poisons");
            }
            party.finish();
        });
    });
}

#[test]
fn no_wake_up_is_lost_with_two_sleepers() {
    explore(|| {
        on_threads(EpochBarrier::new(vec![(); 3], (), SLEEP), |mut party| {
            party.wait(|(), _| ()).expect("nobody poisons");
            party.finish();
        });
    });
}

#[test]
fn no_epoch_is_overtaken() {
    explore(|| {
        on_threads(EpochBarrier::new(vec![0_u64; 2], (), LOOK), |mut party| {
            for epoch in 0..2 {
                *party.local() += 1;
                let control = |(): &mut (), locals: &mut warpshard_sync::Locals<'_, u64>| {
                    assert!(locals.iter_mut().all(|local| *local == epoch + 1), "somebody is in another epoch");
                };
                party.wait(control).expect("nobody poisons");
            }
            party.finish();
        });
    });
}

#[test]
fn the_last_arriver_sees_all_local_states() {
    explore(|| {
        let roles = on_threads(EpochBarrier::new(vec![0_u64; 3], 0, SLEEP), |mut party| {
            *party.local() = 1 << party.index();
            let role = party.wait(|sum, locals| *sum = locals.iter_mut().map(|local| *local).sum());
            assert_eq!(*party.shared(), 0b111);
            party.finish();
            role.expect("nobody poisons")
        });
        assert_eq!(roles.iter().filter(|role| **role == Role::Last).count(), 1, "the control step runs once");
    });
}

#[test]
fn everybody_sees_what_the_last_arriver_wrote() {
    explore(|| {
        on_threads(EpochBarrier::new(vec![0_u64; 2], 0_u64, LOOK), |mut party| {
            for epoch in 1..=2 {
                let control = |shared: &mut u64, locals: &mut warpshard_sync::Locals<'_, u64>| {
                    *shared += 1;
                    locals.iter_mut().for_each(|local| *local += 10);
                };
                party.wait(control).expect("nobody poisons");
                let (local, shared) = party.both();
                assert_eq!((*local, *shared), (10 * epoch, epoch));
            }
            party.finish();
        });
    });
}

#[test]
fn the_last_to_finish_gets_all_states_and_nobody_else_does() {
    explore(|| {
        let ends = on_threads(EpochBarrier::new(vec![0, 0], 7, SLEEP), |mut party| {
            *party.local() = party.index() + 1;
            party.finish()
        });
        let got: Vec<_> = ends.into_iter().flatten().collect();
        assert_eq!(got, [(vec![1, 2], 7)]);
    });
}
