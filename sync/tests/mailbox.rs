//! Tests of the mailbox on real threads.
#![cfg(not(loom))]

use std::thread;

use warpshard_sync::{EpochBarrier, Receiver, WaitPolicy, mailbox};

fn receive_all<T: Send + Clone>(receiver: &mut Receiver<T>, epoch: u64) -> Vec<T> {
    let mut all = Vec::new();
    receiver.receive(epoch, |message| all.push(message.clone()));
    all
}

#[test]
fn a_batch_is_received_in_order_in_the_next_epoch_only() {
    let (mut sender, mut receiver) = mailbox();
    sender.send(4, &mut vec!["a", "b"]);
    assert!(!receiver.pending(4));
    assert_eq!(receive_all(&mut receiver, 4), [""; 0]);
    assert!(receiver.pending(5));
    assert_eq!(receive_all(&mut receiver, 5), ["a", "b"]);
    assert!(!receiver.pending(5));
    assert_eq!(receive_all(&mut receiver, 5), [""; 0]);
}

#[test]
fn an_empty_batch_changes_nothing() {
    let (mut sender, mut receiver) = mailbox::<u8>();
    sender.send(0, &mut vec![]);
    assert!(!receiver.pending(1));
    sender.send(0, &mut vec![1]);
    assert_eq!(receive_all(&mut receiver, 1), [1]);
}

#[test]
fn batches_of_neighbouring_epochs_use_separate_slots() {
    let (mut sender, mut receiver) = mailbox();
    sender.send(0, &mut vec![0]);
    sender.send(1, &mut vec![1]);
    assert_eq!(receive_all(&mut receiver, 1), [0]);
    sender.send(2, &mut vec![2]);
    assert_eq!(receive_all(&mut receiver, 2), [1]);
    assert_eq!(receive_all(&mut receiver, 3), [2]);
}

#[test]
fn buffers_are_swapped_so_that_the_steady_state_does_not_allocate() {
    let (mut sender, mut receiver) = mailbox();
    let mut batch = Vec::with_capacity(100);
    let mut buffers = Vec::new();
    for epoch in 0..12 {
        assert_eq!(receive_all(&mut receiver, epoch).len(), usize::from(epoch > 0));
        batch.push(epoch);
        if epoch >= 3 {
            buffers.push(batch.as_ptr());
        }
        sender.send(epoch, &mut batch);
        assert!(batch.is_empty());
    }
    let fresh = buffers.split_off(3);
    assert!(fresh.iter().all(|buffer| buffers.contains(buffer)), "three buffers go round");
}

#[test]
#[should_panic(expected = "epoch overtaken: the batch of epoch 1 was not taken when that of epoch 3 was sent")]
fn a_sender_that_runs_ahead_is_stopped() {
    let (mut sender, _receiver) = mailbox();
    sender.send(1, &mut vec![()]);
    sender.send(3, &mut vec![()]);
}

#[test]
#[should_panic(expected = "epoch overtaken: the batch of epoch 1 was not taken before epoch 4")]
fn a_receiver_that_forgot_a_batch_is_stopped() {
    let (mut sender, receiver) = mailbox();
    sender.send(1, &mut vec![()]);
    receiver.pending(4);
}

#[test]
#[should_panic(expected = "a second batch was sent in epoch 6")]
fn a_second_batch_in_one_epoch_is_refused() {
    let (mut sender, _receiver) = mailbox();
    sender.send(6, &mut vec![()]);
    sender.send(6, &mut vec![()]);
}

#[test]
fn untaken_messages_are_dropped_once() {
    let counted = std::sync::Arc::new(());
    let (mut sender, mut receiver) = mailbox();
    sender.send(0, &mut vec![counted.clone(), counted.clone()]);
    sender.send(1, &mut vec![counted.clone()]);
    assert_eq!(receive_all(&mut receiver, 1).len(), 2);
    drop((sender, receiver));
    assert_eq!(std::sync::Arc::strong_count(&counted), 1);
}

#[test]
fn a_ring_of_workers_passes_every_message_once_and_in_order() {
    const WORKERS: u64 = 4;
    const EPOCHS: u64 = 3000;
    let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..WORKERS).map(|_| mailbox::<(u64, u64)>()).unzip();
    receivers.rotate_right(1);
    let locals = senders.into_iter().zip(receivers).collect();
    let parties = EpochBarrier::new(locals, (), WaitPolicy::for_threads(WORKERS as usize, 2));
    thread::scope(|scope| {
        for mut party in parties {
            scope.spawn(move || {
                let from = (party.index() as u64 + WORKERS - 1) % WORKERS;
                let mut batch = Vec::new();
                for epoch in 0..EPOCHS {
                    let index = party.index() as u64;
                    let (sender, receiver) = party.local();
                    let sent_before = epoch.checked_sub(1).map_or(0, |sent| sent % 5);
                    let expected: Vec<_> = (0..sent_before).map(|n| (from, epoch * 10 + n)).collect();
                    assert_eq!(receive_all(receiver, epoch), expected);
                    batch.extend((0..epoch % 5).map(|n| (index, (epoch + 1) * 10 + n)));
                    sender.send(epoch, &mut batch);
                    party.wait(|(), _| ()).expect("nobody poisons");
                }
                party.finish();
            });
        }
    });
}
