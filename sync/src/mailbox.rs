//! The mailbox that carries a batch of messages from one worker to another, from one epoch to the next.
//!
//! Inputs: at most one batch per epoch from one sender. Outputs: each batch, whole and in order, to one receiver in the next epoch.
//! Invariants: no batch is visible in the epoch in which it was sent; nothing is lost, duplicated or reordered; neither side ever waits. In
//! the steady state nothing is allocated: batches and buffers are swapped.

use std::fmt;

use crossbeam_utils::CachePadded;

use crate::mutant;
use crate::primitive::{Arc, AtomicU64, Ordering, UnsafeCell};

/// The stamp of a slot that belongs to the sender. Any other stamp is the epoch of the batch plus one, and the slot belongs to the
/// receiver.
const SENDER_STAMP: u64 = 0;

/// A buffer of a mailbox with its stamp.
struct Slot<T> {
    stamp: AtomicU64,
    batch: UnsafeCell<Vec<T>>,
}

/// The two buffers of a mailbox, on separate cache lines because both sides write, each in a different buffer.
struct Slots<T>([CachePadded<Slot<T>>; 2]);

// SAFETY: only the sender accesses a slot's batch while its stamp is `SENDER_STAMP`, and only the receiver otherwise; each side hands the slot
// over with a `Release` store of the stamp and receives it with an `Acquire` load. There is one sender and one receiver, both used through
// `&mut`, so messages only move between threads: `T: Send` is enough.
unsafe impl<T: Send> Sync for Slots<T> {}
// SAFETY: moving the slots moves the messages in them, which are `Send`.
unsafe impl<T: Send> Send for Slots<T> {}

impl<T> Slots<T> {
    /// Returns the slot for a batch that is sent in `epoch`.
    fn of(&self, epoch: u64) -> &Slot<T> {
        &self.0[if mutant::MAILBOX_PARITY_IGNORED { 0 } else { (epoch & 1) as usize }]
    }
}

/// Creates a lock-free mailbox with one sender and one receiver, double-buffered by the epoch's parity.
///
/// A batch that is sent in epoch e is received in epoch e+1. Sender and receiver must stay within one epoch of each other, which an epoch
/// barrier guarantees. The mailbox checks it: each slot carries a stamp, so a sender that runs ahead panics, and a receiver never sees a
/// batch that is not due.
///
/// # Memory ordering
/// Each slot belongs to one side at a time, as its stamp shows. The sender fills an empty slot and stores the stamp with `Release`. The
/// receiver loads the stamp with `Acquire`, empties the slot and stores `SENDER_STAMP` with `Release`. The sender loads it with `Acquire` before
/// it fills the slot again, and so sees the vector that the receiver left there.
pub fn mailbox<T: Send>() -> (Sender<T>, Receiver<T>) {
    let slot = || CachePadded::new(Slot { stamp: AtomicU64::new(SENDER_STAMP), batch: UnsafeCell::new(Vec::new()) });
    let slots = Arc::new(Slots([slot(), slot()]));
    (Sender { slots: Arc::clone(&slots) }, Receiver { slots })
}

/// The sending end of a [`mailbox()`].
pub struct Sender<T: Send> {
    slots: Arc<Slots<T>>,
}

/// The receiving end of a [`mailbox()`].
pub struct Receiver<T: Send> {
    slots: Arc<Slots<T>>,
}

impl<T: Send> Sender<T> {
    /// Sends everything in `batch`, to be received in epoch `epoch + 1`, and leaves an empty vector with the capacity of an earlier batch.
    /// An empty batch changes nothing. At most one batch per epoch is allowed.
    ///
    /// # Panics
    /// If the slot still holds a batch: a batch of this epoch, or a batch that the receiver has not taken (epoch overtaken).
    #[inline]
    pub fn send(&mut self, epoch: u64, batch: &mut Vec<T>) {
        if !batch.is_empty() {
            self.fill(epoch, |held| std::mem::swap(held, batch));
        }
    }

    /// Sends the vector that `put` fills, to be received in epoch `epoch + 1`; `put` gets the vector that the receiver left. For messages
    /// that are containers themselves, so that their allocations return to the sender. At most one call per epoch is allowed.
    ///
    /// # Panics
    /// In the same cases as [`Sender::send`].
    #[inline]
    pub fn fill(&mut self, epoch: u64, put: impl FnOnce(&mut Vec<T>)) {
        let slot = self.slots.of(epoch);
        let stamp = slot.stamp.load(Ordering::Acquire);
        if stamp != SENDER_STAMP && !mutant::MAILBOX_OVERTAKE_UNCHECKED {
            overtaken(epoch, stamp - 1);
        }
        // SAFETY: the stamp was `SENDER_STAMP`, so the slot is the sender's, and this is the only sender.
        slot.batch.with_mut(|held| put(unsafe { &mut *held }));
        slot.stamp.store(epoch + 1, mutant::order(mutant::MAILBOX_RELAXED_FILL, Ordering::Release));
    }
}

impl<T: Send> Receiver<T> {
    /// Takes the batch that was sent in epoch `epoch - 1`, in the order of sending; to be called during `epoch`.
    ///
    /// If `take` panics, the rest of the batch is dropped.
    ///
    /// # Panics
    /// If the slot holds a batch of an earlier epoch, which the receiver should have taken earlier (epoch overtaken).
    #[inline]
    pub fn receive(&mut self, epoch: u64, take: impl FnMut(&T)) {
        self.empty(epoch, |held| held.drain(..).as_slice().iter().for_each(take));
    }

    /// Lends the vector that was sent in epoch `epoch - 1`, if any, to `take`; its remaining content returns to the sender, for
    /// [`Sender::fill`]. To be called during `epoch`.
    ///
    /// # Panics
    /// In the same cases as [`Receiver::receive`].
    #[inline]
    pub fn empty(&mut self, epoch: u64, take: impl FnOnce(&mut Vec<T>)) {
        if !self.pending(epoch) {
            return;
        }
        let slot = self.slots.of(epoch.wrapping_sub(1));
        slot.batch.with_mut(|held| {
            // SAFETY: `pending` found a stamp that is not `SENDER_STAMP` and acquired it, so the slot is the receiver's, and this is the only
            // receiver.
            let held = unsafe { &mut *held };
            if mutant::MAILBOX_REVERSED {
                held.reverse();
            }
            take(held);
        });
        if !mutant::MAILBOX_NOT_EMPTIED {
            slot.stamp.store(SENDER_STAMP, mutant::order(mutant::MAILBOX_RELAXED_EMPTY, Ordering::Release));
        }
    }

    /// Returns true if a batch of epoch `epoch - 1` is pending.
    ///
    /// # Panics
    /// In the same cases as [`Receiver::receive`].
    #[inline]
    pub fn pending(&self, epoch: u64) -> bool {
        // The stamp of a batch is the epoch in which the batch is due. A slot with a later stamp holds a batch that is not due yet; a slot
        // with an earlier stamp holds a batch that the receiver missed.
        let stamp = self.slots.of(epoch.wrapping_sub(1)).stamp.load(Ordering::Acquire);
        if stamp != SENDER_STAMP && stamp < epoch {
            missed_batch(epoch, stamp - 1);
        }
        stamp != SENDER_STAMP && (stamp == epoch || mutant::MAILBOX_STAMP_IGNORED)
    }
}

#[cold]
fn overtaken(epoch: u64, held: u64) -> ! {
    if held == epoch {
        panic!("mailbox: a second batch was sent in epoch {epoch}");
    }
    panic!("mailbox: epoch overtaken: the batch of epoch {held} was not taken when that of epoch {epoch} was sent");
}

#[cold]
fn missed_batch(epoch: u64, held: u64) -> ! {
    panic!("mailbox: epoch overtaken: the batch of epoch {held} was not taken before epoch {epoch}");
}

impl<T: Send> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T: Send> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
