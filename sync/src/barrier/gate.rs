//! The protocol of the barrier without the state it guards: who has arrived, who sleeps, who broke off.
//!
//! Inputs: each party's count of the epochs it has passed. Outputs: whether an arriver is the last, when the others may
//! go on, and the poison. Safe code only: what the answers permit is said, and used, in `party`.
//!
//! Two words carry everything. `arrivals` counts arrivals since the beginning and never goes back, so there is nothing to
//! reset; its top bit says that somebody has finished. `word` holds the number of epochs released, a bit for "somebody
//! sleeps" and a bit for "poisoned". Every change of either is one read-modify-write, so each word has one history that
//! all parties agree on. The proof that no wake-up is lost stands in the crate's README.

use crossbeam_utils::CachePadded;

use super::{Poisoned, WaitPolicy};
use crate::mutant;
use crate::primitive::{AtomicU64, Condvar, Mutex, Ordering, lock, spin_loop, wait_on, yield_now};

/// In `word`: no epoch will be released any more.
const POISONED: u64 = 1;
/// In `word`: somebody sleeps and must be woken by whoever changes the word.
const SLEEPING: u64 = 2;
/// In `word`: the lowest bit of the number of released epochs.
const EPOCH_SHIFT: u32 = 2;
/// In `arrivals`: some party has finished and will never arrive again.
const LEFT: u64 = 1 << 63;

/// What an arriver has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// All others have arrived: run the control step, then [`Gate::release`].
    Last,
    /// Call [`Gate::wait`].
    Early,
}

/// What the lock guards: the reasons, which are texts and do not fit into a word.
#[derive(Debug, Default)]
struct Reasons {
    poisoned: Option<Poisoned>,
    left: Option<usize>,
}

/// Arrival counter, release word and bed of one barrier.
#[derive(Debug)]
pub(super) struct Gate {
    /// Written by every arriver; apart from `word`, so that arrivals do not disturb those who spin.
    arrivals: CachePadded<AtomicU64>,
    /// Written once per epoch by the last arriver, read by all who wait.
    word: CachePadded<AtomicU64>,
    reasons: Mutex<Reasons>,
    bell: Condvar,
    parties: u64,
    policy: WaitPolicy,
}

impl Gate {
    pub(super) fn new(parties: usize, policy: WaitPolicy) -> Self {
        Self {
            arrivals: CachePadded::new(AtomicU64::new(0)),
            word: CachePadded::new(AtomicU64::new(0)),
            reasons: Mutex::new(Reasons::default()),
            bell: Condvar::new(),
            parties: parties as u64,
            policy,
        }
    }

    pub(super) fn parties(&self) -> usize {
        self.parties as usize
    }

    /// Arrives at the end of epoch `epoch`; an error means that the caller does not count as waiting.
    #[inline]
    pub(super) fn arrive(&self, epoch: u64) -> Result<Arrival, Poisoned> {
        if self.word.load(Ordering::Acquire) & POISONED != 0 {
            return Err(self.reason());
        }
        let before = self.arrivals.fetch_add(1, mutant::order(mutant::BARRIER_RELAXED_ARRIVAL, Ordering::AcqRel));
        if before & LEFT != 0 {
            return Err(self.refuse());
        }
        let all = (epoch + 1) * self.parties - u64::from(mutant::BARRIER_EARLY);
        if before + 1 >= all { Ok(Arrival::Last) } else { Ok(Arrival::Early) }
    }

    /// Ends epoch `epoch`; only for the last arriver, after its control step.
    #[inline]
    pub(super) fn release(&self, epoch: u64) {
        let next = (epoch + 1) << EPOCH_SHIFT;
        let before = self.word.swap(next, mutant::order(mutant::BARRIER_RELAXED_RELEASE, Ordering::Release));
        debug_assert_eq!(before & POISONED, 0, "epoch {epoch} was poisoned after everybody had arrived");
        if before & SLEEPING != 0 && !mutant::BARRIER_NO_NOTIFY {
            self.ring();
        }
    }

    /// Waits until epoch `epoch` is released.
    #[inline]
    pub(super) fn wait(&self, epoch: u64) -> Result<(), Poisoned> {
        for _ in 0..self.policy.spins {
            if let Some(verdict) = self.verdict(self.word.load(Ordering::Acquire), epoch) {
                return verdict;
            }
            spin_loop();
        }
        for _ in 0..self.policy.yields {
            if let Some(verdict) = self.verdict(self.word.load(Ordering::Acquire), epoch) {
                return verdict;
            }
            yield_now();
        }
        if self.sleep(epoch) { Ok(()) } else { Err(self.reason()) }
    }

    /// Poisons the gate; the first reason stays.
    #[cold]
    pub(super) fn poison(&self, poisoned: Poisoned) {
        let mut reasons = lock(&self.reasons);
        reasons.poisoned.get_or_insert(poisoned);
        self.word.fetch_or(POISONED, Ordering::AcqRel);
        if !mutant::POISON_NO_WAKE {
            self.bell.notify_all();
        }
    }

    /// Notes that `party`, which has passed `epoch` epochs, will not arrive again.
    ///
    /// If others wait for it already, or arrive later, they are poisoned: their wait could not be fulfilled.
    #[cold]
    pub(super) fn leave(&self, party: usize, epoch: u64) {
        lock(&self.reasons).left.get_or_insert(party);
        let before = self.arrivals.fetch_or(LEFT, Ordering::AcqRel);
        if before & !LEFT != epoch * self.parties && !mutant::LEAVE_UNNOTICED {
            self.poison(finished(party));
        }
    }

    /// Whether a waiter of `epoch` that saw `word` is done, and how; the release counts before the poison, since a
    /// poison seen together with it came later.
    #[inline]
    fn verdict(&self, word: u64, epoch: u64) -> Option<Result<(), Poisoned>> {
        if word >> EPOCH_SHIFT != epoch {
            Some(Ok(()))
        } else if word & POISONED != 0 {
            Some(Err(self.reason()))
        } else {
            None
        }
    }

    /// Sleeps until `epoch` is released (true) or the gate is poisoned (false).
    ///
    /// The sleeping bit is set with the lock held and the lock is given up only by falling asleep; whoever finds the bit
    /// takes the lock before ringing, so it rings when the sleeper listens.
    #[cold]
    fn sleep(&self, epoch: u64) -> bool {
        let mut reasons = lock(&self.reasons);
        loop {
            let seen = self.word.load(Ordering::Acquire);
            if seen >> EPOCH_SHIFT != epoch {
                return true;
            }
            if seen & POISONED != 0 {
                return false;
            }
            let marked =
                seen & SLEEPING != 0 || self.word.compare_exchange(seen, seen | SLEEPING, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if marked {
                reasons = wait_on(&self.bell, reasons);
            }
        }
    }

    /// Wakes all sleepers.
    #[cold]
    fn ring(&self) {
        if !mutant::BARRIER_NOTIFY_UNLOCKED {
            drop(lock(&self.reasons));
        }
        self.bell.notify_all();
    }

    #[cold]
    fn reason(&self) -> Poisoned {
        lock(&self.reasons).poisoned.clone().expect("the reason is written before the poison bit")
    }

    /// An arriver found that somebody has finished: nobody who arrives from now on can ever be released.
    #[cold]
    fn refuse(&self) -> Poisoned {
        let left = lock(&self.reasons).left.expect("the leaver is written before the bit that says so");
        self.poison(finished(left));
        self.reason()
    }
}

fn finished(party: usize) -> Poisoned {
    Poisoned { party, message: "finished while others still wait for it".to_owned() }
}
