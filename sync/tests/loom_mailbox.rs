//! Tests of the mailbox under every interleaving: no batch is lost, duplicated, reordered, early or overtaken.
#![cfg(loom)]

mod explore;
mod pair;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use loom::thread;

use warpshard_sync::{EpochBarrier, Receiver, WaitPolicy, mailbox};

use explore::explore;
use pair::pair;

/// Returns the numbers that `receiver` receives in `epoch`.
fn receive_all(receiver: &mut Receiver<u64>, epoch: u64) -> Vec<u64> {
    let mut all = Vec::new();
    receiver.receive(epoch, |message| all.push(*message));
    all
}

#[test]
fn no_message_is_lost_duplicated_or_reordered() {
    explore(|| {
        let (mut sender, mut receiver) = mailbox();
        let sending = move || {
            sender.send(0, &mut vec![1, 2]);
            sender.send(1, &mut vec![3]);
        };
        let receiving = move || {
            for (epoch, expected) in [(1, vec![1, 2]), (2, vec![3])] {
                // There is no barrier here, so the mailbox itself must publish the batch.
                while !receiver.pending(epoch) {
                    thread::yield_now();
                }
                assert_eq!(receive_all(&mut receiver, epoch), expected);
                assert_eq!(receive_all(&mut receiver, epoch), [], "a second look finds nothing");
            }
        };
        pair(sending, receiving);
    });
}

#[test]
fn every_batch_arrives_in_the_next_epoch_with_a_barrier() {
    explore(|| {
        let (mut sender, mut receiver) = mailbox();
        let mut parties = EpochBarrier::new(vec![(); 2], (), WaitPolicy { spin: std::time::Duration::ZERO });
        let (mut first, mut second) = (parties.remove(0), parties.remove(0));
        let sending = move || {
            let mut batch = Vec::new();
            for epoch in 0..3 {
                batch.push(epoch);
                sender.send(epoch, &mut batch);
                assert!(batch.is_empty());
                first.wait(|(), _| ()).expect("nobody poisons");
            }
            first.finish();
        };
        let receiving = move || {
            for epoch in 0..3_u64 {
                let expected: Vec<u64> = epoch.checked_sub(1).into_iter().collect();
                assert_eq!(receive_all(&mut receiver, epoch), expected);
                second.wait(|(), _| ()).expect("nobody poisons");
            }
            assert_eq!(receive_all(&mut receiver, 3), [2]);
            second.finish();
        };
        pair(sending, receiving);
    });
}

#[test]
fn nothing_is_visible_before_the_next_epoch() {
    explore(|| {
        let (mut sender, mut receiver) = mailbox();
        let sending = move || {
            sender.send(1, &mut vec![1]);
            sender.send(2, &mut vec![2]);
        };
        let receiving = move || {
            assert_eq!(receive_all(&mut receiver, 0), [], "epoch 0 comes before everything");
            assert_eq!(receive_all(&mut receiver, 1), [], "what is sent in epochs 1 and 2 is not due in epoch 1");
            let second = receive_all(&mut receiver, 2);
            assert!(second.is_empty() || second == [1], "epoch 2 sees what was sent in epoch 1, not {second:?}");
        };
        pair(sending, receiving);
    });
}

#[test]
fn no_epoch_is_overtaken() {
    explore(|| {
        let (mut sender, mut receiver) = mailbox();
        let sending = move || {
            sender.send(0, &mut vec![0]);
            // The sender runs unsynchronised, so it may find its own batch of epoch 0 in the slot of epoch 2.
            match catch_unwind(AssertUnwindSafe(|| sender.send(2, &mut vec![2]))) {
                Ok(()) => true,
                Err(panic) if panic.downcast_ref::<String>().is_some_and(|text| text.contains("epoch overtaken")) => false,
                Err(other) => resume_unwind(other),
            }
        };
        let receiving = move || (receive_all(&mut receiver, 1) == [0], receiver);
        let (sent, (in_time, mut receiver)) = pair(sending, receiving);
        assert!(in_time || !sent, "the batch of epoch 2 took the place of one that was not received");
        if sent {
            assert_eq!(receive_all(&mut receiver, 3), [2]);
        } else if !in_time {
            assert_eq!(receive_all(&mut receiver, 1), [0], "the batch that stood in the way is whole");
        }
    });
}

#[test]
fn vectors_return_from_the_receiver_to_the_sender() {
    explore(|| {
        let (mut sender, mut receiver) = mailbox();
        sender.send(0, &mut vec![1, 2]);
        let sending = move || {
            // The sender runs unsynchronised, so the slot may still hold the batch of epoch 0.
            let mut left = Vec::new();
            let filled = catch_unwind(AssertUnwindSafe(|| {
                sender.fill(2, |held| {
                    left.clone_from(held);
                    held.push(4);
                });
            }));
            filled.is_ok().then_some(left)
        };
        let receiving = move || {
            receiver.empty(1, |held| {
                held.truncate(1);
                held[0] += 2;
            });
            receiver
        };
        let (left, mut receiver) = pair(sending, receiving);
        if let Some(left) = left {
            assert_eq!(left, [3]);
            assert_eq!(receive_all(&mut receiver, 3), [3, 4]);
        }
    });
}
