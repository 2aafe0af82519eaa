//! Tests of the epoch barrier on real threads.
#![cfg(not(loom))]

use std::thread;
use std::time::Duration;

use warpshard_sync::{EpochBarrier, Party, Role, WaitPolicy};

/// Runs `work` on one thread per party; returns the results.
fn on_threads<L: Send, G: Send + Sync, R: Send>(parties: Vec<Party<L, G>>, work: impl Fn(Party<L, G>) -> R + Sync) -> Vec<R> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = parties.into_iter().map(|party| scope.spawn(move || work(party))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no worker panics here")).collect()
    })
}

/// Each party adds its index plus one, and the coordinator sums the values; returns the sum and how often each party was last.
fn sum_up(threads: usize, epochs: u64, policy: WaitPolicy) -> (u64, Vec<u64>) {
    let parties = EpochBarrier::new(vec![0_u64; threads], (0_u64, 0_u64), policy);
    let lasts = on_threads(parties, |mut party| {
        let mut last = 0;
        let mine = party.index() as u64 + 1;
        for epoch in 0..epochs {
            let (local, shared) = party.local_and_shared();
            assert_eq!(shared.1, epoch, "a party saw another epoch's shared state");
            assert_eq!(*local, 0, "the coordinator's writes to a local state were not seen");
            *local = mine;
            let role = party.wait(|shared, locals| {
                for local in locals.iter_mut() {
                    shared.0 += std::mem::take(local);
                }
                shared.1 += 1;
            });
            last += u64::from(role.expect("nobody poisons") == Role::Last);
        }
        (last, party.finish())
    });
    let sums: Vec<u64> = lasts.iter().filter_map(|(_, end)| end.as_ref().map(|(_, shared)| shared.0)).collect();
    assert_eq!(sums.len(), 1, "exactly one party gets the states");
    (sums[0], lasts.iter().map(|(last, _)| *last).collect())
}

#[test]
fn one_party_passes_without_waiting_and_runs_every_control_step() {
    assert_eq!(sum_up(1, 1000, WaitPolicy::default()), (1000, vec![1000]));
}

#[test]
fn every_epoch_has_one_last_arriver_that_sees_all_local_states() {
    let (sum, lasts) = sum_up(2, 20_000, WaitPolicy::default());
    assert_eq!(sum, 20_000 * 3);
    assert_eq!(lasts.iter().sum::<u64>(), 20_000);
}

#[test]
fn more_threads_than_cores_finish_thousands_of_epochs_under_every_policy() {
    let few_cores = WaitPolicy::for_threads(16, 2);
    assert_eq!(few_cores, WaitPolicy::sleeping(), "polling would take the core from the one that is waited for");
    for policy in [few_cores, WaitPolicy { spin: Duration::from_nanos(1) }, WaitPolicy::default()] {
        let (sum, lasts) = sum_up(16, 3000, policy);
        assert_eq!(sum, 3000 * (16 * 17 / 2));
        assert_eq!(lasts.iter().sum::<u64>(), 3000);
    }
}

#[test]
fn as_many_threads_as_cores_poll() {
    assert_eq!(WaitPolicy::for_threads(2, 2), WaitPolicy::default());
    assert!(!WaitPolicy::default().spin.is_zero());
}

#[test]
fn the_last_party_to_finish_gets_the_local_states_in_order() {
    let mut parties = EpochBarrier::new(vec!["a", "b", "c"], 7, WaitPolicy::default());
    assert_eq!(parties[1].index(), 1);
    assert_eq!(parties[1].parties(), 3);
    *parties[2].local() = "z";
    let first = parties.remove(0);
    assert_eq!(first.finish(), None);
    assert_eq!(parties.remove(1).finish(), None);
    assert_eq!(parties.remove(0).finish(), Some((vec!["a", "b", "z"], 7)));
}

#[test]
fn the_control_step_reaches_local_states_by_index_and_side_by_side() {
    let mut parties = EpochBarrier::new(vec![5], (), WaitPolicy::default());
    let party = &mut parties[0];
    let role = party.wait(|(), locals| {
        assert_eq!(locals.len(), 1);
        *locals.get_mut(0) += 1;
        let all: Vec<&mut i32> = locals.iter_mut().collect();
        assert_eq!(all, [&6]);
    });
    assert_eq!(role, Ok(Role::Last));
    assert_eq!(*party.local(), 6);
}

#[test]
fn untaken_states_are_dropped_once() {
    let counted = std::sync::Arc::new(());
    let locals = vec![counted.clone(), counted.clone()];
    drop(EpochBarrier::new(locals, counted.clone(), WaitPolicy::default()));
    assert_eq!(std::sync::Arc::strong_count(&counted), 1);
}

#[test]
fn retired_and_reactivated_parties_miss_no_epoch_that_counts_them() {
    for policy in [WaitPolicy::sleeping(), WaitPolicy::default()] {
        let threads = 6;
        let epochs = 4000_u64;
        // A pseudorandom number of active parties for the next epoch.
        let active_after = move |epoch: u64| if epoch + 1 == epochs { threads } else { (epoch * 7 + epoch / 5 * 3) as usize % threads + 1 };
        let taken_part = |index: usize| 1 + (0..epochs - 1).filter(|&epoch| index < active_after(epoch)).count() as u64;
        let parties = EpochBarrier::new(vec![0_u64; threads], 0_u64, policy);
        let counts = on_threads(parties, |mut party| {
            while *party.shared() < epochs {
                *party.local() += 1;
                let control = |epoch: &mut u64, locals: &mut warpshard_sync::Locals<'_, u64>| {
                    locals.set_active(active_after(*epoch));
                    *epoch += 1;
                };
                party.wait(control).expect("no party fails");
            }
            party.finish()
        });
        let (counts, _) = counts.into_iter().flatten().next().expect("the last to finish has the states");
        assert_eq!(counts, (0..threads).map(taken_part).collect::<Vec<_>>());
    }
}

#[test]
#[should_panic(expected = "0 active parties of 1")]
fn at_least_one_party_is_active() {
    let _ = EpochBarrier::new(vec![()], (), WaitPolicy::default())[0].wait(|(), locals| locals.set_active(0));
}
