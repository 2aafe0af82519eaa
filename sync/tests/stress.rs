//! Random schedules on real threads, for parts that loom does not see: arc-swap's pointer, the real lock and condition variable, and the
//! hardware's memory order. The tests are small enough for miri, which also checks the unsafe code: `cargo +nightly miri test -p
//! warpshard-sync --test stress`.
#![cfg(not(loom))]

use std::thread;
use std::time::Duration;

use warpshard_sync::{EpochBarrier, Published, WaitPolicy, mailbox};

/// Returns `full` rounds, or a few rounds under miri, which is some thousand times slower.
const fn rounds(full: u64) -> u64 {
    if cfg!(miri) { 20 } else { full }
}

#[test]
fn two_mailboxes_alone_keep_two_threads_in_step() {
    let (mut there, mut arrives) = mailbox();
    let (mut back, mut returns) = mailbox();
    let last = rounds(20_000);
    let wait = |receiver: &mut warpshard_sync::Receiver<Vec<u64>>, epoch| {
        while !receiver.pending(epoch) {
            thread::yield_now();
        }
        let mut all = Vec::new();
        receiver.receive(epoch, |message| all.push(message.clone()));
        all
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            for epoch in 0..last {
                let mut batch = wait(&mut arrives, epoch + 1);
                back.send(epoch, &mut batch);
            }
        });
        for epoch in 0..last {
            there.send(epoch, &mut vec![vec![epoch], vec![epoch; 2]]);
            assert_eq!(wait(&mut returns, epoch + 1), [vec![epoch], vec![epoch; 2]]);
        }
    });
}

#[test]
fn published_values_are_read_whole_and_never_go_back() {
    let published = Published::new();
    published.publish(vec![0; 6]);
    let last = rounds(50_000);
    thread::scope(|scope| {
        for reader in [published.clone(), published.clone()] {
            scope.spawn(move || {
                let mut newest = 0;
                while newest < last {
                    let values = reader.newest().expect("something was published");
                    assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
                    assert!(values[0] >= newest);
                    newest = values[0];
                    thread::yield_now();
                }
            });
        }
        (1..=last).for_each(|count| published.publish(vec![count; 6]));
    });
}

#[test]
fn poisoning_at_any_time_hangs_no_party_and_reports_one_reason() {
    for round in 0..rounds(300) {
        let parties = EpochBarrier::new(vec![0_u64; 4], 0_u64, WaitPolicy { spin: Duration::from_micros(round % 3) });
        let ends: Vec<_> = thread::scope(|scope| {
            let run = |mut party: warpshard_sync::Party<u64, u64>| {
                for epoch in 0.. {
                    if party.index() as u64 == round % 4 && epoch == round % 7 {
                        party.poison(format!("round {round}"));
                    }
                    *party.local() += 1;
                    match party.wait(|total, locals| *total += locals.iter_mut().map(|local| *local).sum::<u64>()) {
                        Ok(_) => assert_eq!(*party.shared(), (epoch + 1) * (epoch + 2) / 2 * 4),
                        Err(poisoned) => return (poisoned.message, party.finish()),
                    }
                }
                unreachable!("the loop has no end but the return")
            };
            let threads: Vec<_> = parties.into_iter().map(|party| scope.spawn(move || run(party))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no worker panics")).collect()
        });
        assert!(ends.iter().all(|(message, _)| *message == format!("round {round}")));
        assert_eq!(ends.iter().filter(|(_, states)| states.is_some()).count(), 1);
    }
}
