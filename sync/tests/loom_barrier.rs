//! Tests of the epoch barrier under every interleaving: wake-ups, epochs, and visibility of writes.
#![cfg(loom)]

mod explore;

use std::time::Duration;

use loom::thread;

use warpshard_sync::{EpochBarrier, Locals, Party, Role, WaitPolicy};

use explore::{explore, explore_at_most};

/// A policy that sleeps immediately.
const SLEEPING_POLICY: WaitPolicy = WaitPolicy::sleeping();
/// A policy that polls once before it sleeps, so that a release can reach a polling or a sleeping party; no time passes in a model.
const POLL_ONCE_POLICY: WaitPolicy = WaitPolicy { spin: Duration::from_nanos(1) };

/// Runs `work` for every party; party 0 runs on the calling thread.
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
        on_threads(EpochBarrier::new(vec![(); 2], (), SLEEPING_POLICY), |mut party| {
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
        on_threads(EpochBarrier::new(vec![(); 3], (), SLEEPING_POLICY), |mut party| {
            party.wait(|(), _| ()).expect("nobody poisons");
            party.finish();
        });
    });
}

#[test]
fn no_epoch_is_overtaken() {
    explore(|| {
        on_threads(EpochBarrier::new(vec![0_u64; 2], (), POLL_ONCE_POLICY), |mut party| {
            for epoch in 0..2 {
                *party.local() += 1;
                let control = |(): &mut (), locals: &mut Locals<'_, u64>| {
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
        let roles = on_threads(EpochBarrier::new(vec![0_u64; 3], 0, SLEEPING_POLICY), |mut party| {
            *party.local() = 1 << party.index();
            let role = party.wait(|sum, locals| *sum = locals.iter_mut().map(|local| *local).sum());
            assert_eq!(*party.shared(), 0b111);
            party.finish();
            role.expect("nobody poisons")
        });
        assert_eq!(roles.iter().filter(|role| **role == Role::Last).count(), 1, "the coordinator runs once");
    });
}

#[test]
fn all_parties_see_the_last_arrivers_writes() {
    explore(|| {
        on_threads(EpochBarrier::new(vec![0_u64; 2], 0_u64, POLL_ONCE_POLICY), |mut party| {
            for epoch in 1..=2 {
                let control = |shared: &mut u64, locals: &mut Locals<'_, u64>| {
                    *shared += 1;
                    locals.iter_mut().for_each(|local| *local += 10);
                };
                party.wait(control).expect("nobody poisons");
                let (local, shared) = party.local_and_shared();
                assert_eq!((*local, *shared), (10 * epoch, epoch));
            }
            party.finish();
        });
    });
}

#[test]
fn only_the_last_party_to_finish_gets_the_states() {
    explore(|| {
        let ends = on_threads(EpochBarrier::new(vec![0, 0], 7, SLEEPING_POLICY), |mut party| {
            *party.local() = party.index() + 1;
            party.finish()
        });
        let got: Vec<_> = ends.into_iter().flatten().collect();
        assert_eq!(got, [(vec![1, 2], 7)]);
    });
}

/// Passes `epochs` epochs; after epoch e, counted from 1, `active[e - 1]` parties are active.
///
/// Each party counts its epochs in its local state. The coordinator checks and changes all counts, including the counts of retired parties,
/// so that an access of a retired party to its count is a data race.
fn take_part(mut party: Party<u64, usize>, active: &'static [usize]) {
    let mut passed = 0;
    while *party.shared() < active.len() {
        let epoch = *party.shared();
        assert!(epoch >= passed, "an epoch came back");
        assert!(epoch == 0 || party.index() < active[epoch - 1], "a retired party goes on");
        passed = epoch + 1;
        *party.local() += 1;
        let control = |epochs: &mut usize, locals: &mut Locals<'_, u64>| {
            let taking_part = if *epochs == 0 { locals.len() } else { active[*epochs - 1] };
            assert_eq!(locals.active(), taking_part);
            for (index, local) in locals.iter_mut().enumerate() {
                assert_eq!(*local, u64::from(index < taking_part), "party {index} in epoch {epochs}");
                *local = 0;
            }
            locals.set_active(active[*epochs]);
            *epochs += 1;
        };
        party.wait(control).expect("no party fails");
    }
    party.finish();
}

#[test]
fn a_retired_party_delays_no_epoch_and_is_reactivated() {
    explore(|| {
        on_threads(EpochBarrier::new(vec![0; 2], 0, SLEEPING_POLICY), |party| take_part(party, &[1, 1, 2]));
    });
}

#[test]
fn a_polling_party_may_be_retired_and_reactivated() {
    explore(|| {
        on_threads(EpochBarrier::new(vec![0; 2], 0, POLL_ONCE_POLICY), |party| take_part(party, &[1, 2, 2]));
    });
}

#[test]
fn the_others_sleep_and_wake_while_one_party_is_retired() {
    explore_at_most(2, || {
        on_threads(EpochBarrier::new(vec![0; 3], 0, SLEEPING_POLICY), |party| take_part(party, &[2, 3]));
    });
}

#[test]
fn two_retired_parties_are_reactivated_together() {
    explore_at_most(2, || {
        on_threads(EpochBarrier::new(vec![0; 3], 0, SLEEPING_POLICY), |party| take_part(party, &[1, 3]));
    });
}
