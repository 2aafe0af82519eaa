//! Random schedules on real threads, for what loom does not see: arc-swap's pointer, the real lock and condition
//! variable, and the hardware's memory order. Small enough for miri, which also checks the unsafe code:
//! `cargo +nightly miri test -p warpshard-sync --test stress`.
#![cfg(not(loom))]

use std::thread;
use std::time::Duration;

use warpshard_sync::{Board, EpochBarrier, StopFlag, WaitPolicy, mailbox, progress_cell};

/// `full` rounds, or a few under miri, which is some thousand times slower.
const fn rounds(full: u64) -> u64 {
    if cfg!(miri) { 20 } else { full }
}

#[test]
fn readers_of_the_real_board_see_the_decision_of_their_epoch_while_the_next_is_published() {
    let board = Board::new();
    board.publish(0, vec![0_u64; 3]);
    let parties = EpochBarrier::new(vec![(); 4], board, WaitPolicy::for_threads(4, 2));
    thread::scope(|scope| {
        for mut party in parties {
            scope.spawn(move || {
                for epoch in 0..rounds(2000) {
                    if party.index() == 0 {
                        party.shared().publish(epoch + 1, vec![epoch + 1; 3]);
                    }
                    for _ in 0..20 {
                        let due = party.shared().read(epoch).expect("something was due from the start");
                        assert_eq!(due.value, vec![epoch; 3]);
                        let latest = party.shared().latest().expect("something was published");
                        assert!(latest.stamp == epoch || latest.stamp == epoch + 1);
                        assert_eq!(latest.value, vec![latest.stamp; 3]);
                    }
                    party.wait(|_, _| ()).expect("nobody poisons");
                }
                party.finish();
            });
        }
    });
}

#[test]
fn publishers_of_the_real_board_do_not_lose_or_reorder_each_others_values() {
    let (board, done) = (Board::new(), StopFlag::new());
    board.publish(0, (0_usize, 0));
    let last = rounds(20_000);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut newest = [0; 2];
            while !done.requested() {
                let (publisher, count) = board.latest().expect("something was published").value;
                assert!(count >= newest[publisher], "publisher {publisher} went back from {}", newest[publisher]);
                newest[publisher] = count;
            }
        });
        let publishers = [0, 1].map(|publisher| {
            let board = &board;
            scope.spawn(move || (1..=last).for_each(|count| board.publish(0, (publisher, count))))
        });
        for publisher in publishers {
            publisher.join().expect("equal stamps are in order");
        }
        done.request();
    });
    assert_eq!(board.latest().expect("something was published").value.1, last);
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
fn progress_is_read_whole_and_never_goes_back() {
    let (mut writer, reader) = progress_cell::<6>();
    let last = rounds(200_000);
    thread::scope(|scope| {
        for reader in [reader.clone(), reader] {
            scope.spawn(move || {
                let mut newest = 0;
                while newest < last {
                    let values = reader.read();
                    assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
                    assert!(values[0] >= newest);
                    newest = values[0];
                    thread::yield_now();
                }
            });
        }
        (1..=last).for_each(|count| writer.publish([count; 6]));
    });
}

#[test]
fn poisoning_at_any_moment_lets_nobody_hang_and_gives_all_the_same_reason() {
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
