//! The barrier protocol without the guarded state: arrivals, sleeping parties, retired parties and poison.
//!
//! Inputs: each party's index and its present epoch. Outputs: whether an arriver is the last, the release of the other parties, and the
//! poison. Safe code only: `party` documents and uses the guarantees of this protocol.
//!
//! Three words hold the whole protocol. `arrivals` counts all arrivals of the run and never decreases, so that nothing needs a reset; its
//! top bit means that some party has finished. `word` holds the number of released epochs, the number of active parties, a bit for "some
//! party sleeps" and a bit for "poisoned". `quorum` is the number of arrivals that completes the present epoch; only the last arriver
//! writes it, before it releases the next epoch. Every change of `arrivals` and `word` is one read-modify-write, so each word has one
//! history that all parties agree on. The crate's README proves that no wake-up is lost.

use crossbeam_utils::CachePadded;

use super::{Poisoned, WaitPolicy};
use crate::mutant;
use crate::primitive::{AtomicU64, Condvar, Mutex, Ordering, Stopwatch, lock, spin_loop, wait_on};

/// In `word`: the barrier releases no further epoch.
const POISONED: u64 = 1;
/// In `word`: some party sleeps, and the party that changes the word must wake it.
const SLEEPING: u64 = 2;
/// In `word`: the lowest bit of the number of active parties, and the maximum of that number.
const ACTIVE_SHIFT: u32 = 2;
const ACTIVE_MAX: u64 = (1 << 14) - 1;
/// In `word`: the lowest bit of the number of released epochs.
const EPOCH_SHIFT: u32 = 16;
/// In `arrivals`: some party has finished and will never arrive again.
const FINISHED: u64 = 1 << 63;

/// Polls of the word between two reads of the clock.
const POLLS_PER_CLOCK_READ: u32 = if cfg!(loom) { 1 } else { 32 };
/// Maximum of consecutive failed spins that counts. After `n` consecutive failed spins a party does not spin in its next 2^n - 1 waits.
const MAX_FAILED_SPINS: u32 = 6;

/// The next step of an arriver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// All other parties have arrived: run the coordinator, then call [`Gate::release`].
    Last,
    /// Other parties have not arrived yet: call [`Gate::wait`].
    Early,
}

/// The meaning of `word` for a party that has arrived in an epoch.
enum WordState {
    /// The next epoch is not released yet.
    Waiting,
    /// A later epoch runs without this party.
    Retired,
    /// The party takes part in this epoch.
    Released(u64),
    Poisoned,
}

/// Success statistics of a party's spinning, which decide whether its next wait spins first.
#[derive(Debug, Default)]
pub(super) struct Spinning {
    /// Consecutive spins that ended without a release.
    failures: u32,
    /// Waits without spinning until the next attempt.
    skipped_waits: u32,
    /// Total number of waits that slept.
    sleeps: u64,
}

/// State under the lock: the reasons of the poison, which are texts and do not fit into a word.
#[derive(Debug, Default)]
struct PoisonReasons {
    poisoned: Option<Poisoned>,
    finished_party: Option<usize>,
}

/// Arrival counter, release word and condition variables of a barrier.
#[derive(Debug)]
pub(super) struct Gate {
    /// Arrival counter. Every arriver writes it; it has a cache line of its own, so that arrivals do not disturb spinning parties.
    arrivals: CachePadded<AtomicU64>,
    /// Release word and quorum; the last arriver writes them once per epoch, and all waiting parties read them.
    release: CachePadded<Release>,
    reasons: Mutex<PoisonReasons>,
    /// Condition on which active parties sleep until the next epoch is released.
    released: Condvar,
    /// Condition on which retired parties sleep until they are active again.
    reactivated: Condvar,
    parties: u64,
    policy: WaitPolicy,
}

/// The words that the last arriver writes.
#[derive(Debug)]
struct Release {
    word: AtomicU64,
    quorum: AtomicU64,
}

fn epoch_of(word: u64) -> u64 {
    word >> EPOCH_SHIFT
}

fn active_of(word: u64) -> u64 {
    word >> ACTIVE_SHIFT & ACTIVE_MAX
}

fn word_of(epoch: u64, active: u64) -> u64 {
    epoch << EPOCH_SHIFT | active << ACTIVE_SHIFT
}

impl Gate {
    /// Creates a gate for `parties` parties, all of them active.
    ///
    /// # Panics
    /// If there are more than 16383 parties, the maximum that the word can hold.
    pub(super) fn new(parties: usize, policy: WaitPolicy) -> Self {
        assert!(parties as u64 <= ACTIVE_MAX, "{parties} parties at one barrier, at most {ACTIVE_MAX}");
        let parties = parties as u64;
        let release = Release { word: AtomicU64::new(word_of(0, parties)), quorum: AtomicU64::new(parties) };
        Self {
            arrivals: CachePadded::new(AtomicU64::new(0)),
            release: CachePadded::new(release),
            reasons: Mutex::new(PoisonReasons::default()),
            released: Condvar::new(),
            reactivated: Condvar::new(),
            parties,
            policy,
        }
    }

    pub(super) fn parties(&self) -> usize {
        self.parties as usize
    }

    /// Returns the number of active parties in the present epoch. The number is stable if the caller is an active party that has not
    /// arrived, or the last arriver before its release.
    pub(super) fn active(&self) -> usize {
        active_of(self.release.word.load(Ordering::Acquire)) as usize
    }

    /// Arrives at the end of the present epoch. After an error the caller does not count as waiting.
    #[inline]
    pub(super) fn arrive(&self) -> Result<Arrival, Poisoned> {
        if self.release.word.load(Ordering::Acquire) & POISONED != 0 {
            return Err(self.reason());
        }
        // No party writes the quorum before this party has arrived, and this load sees the last arriver's write before the release.
        let quorum = self.release.quorum.load(Ordering::Relaxed) - u64::from(mutant::BARRIER_EARLY);
        let before = self.arrivals.fetch_add(1, mutant::order(mutant::BARRIER_RELAXED_ARRIVAL, Ordering::AcqRel));
        if before & FINISHED != 0 {
            return Err(self.reject_arrival());
        }
        if before + 1 >= quorum { Ok(Arrival::Last) } else { Ok(Arrival::Early) }
    }

    /// Ends epoch `epoch`; the first `active` parties take part in the next. Only the last arriver calls this, after its control step.
    #[inline]
    pub(super) fn release(&self, epoch: u64, active: usize) {
        let Release { word, quorum } = &*self.release;
        let active = active as u64;
        // All arrivals that completed this epoch, plus one arrival per active party in the next epoch.
        quorum.store(quorum.load(Ordering::Relaxed) + active, Ordering::Relaxed);
        let next = word_of(epoch + 1, active);
        let before = word.swap(next, mutant::order(mutant::BARRIER_RELAXED_RELEASE, Ordering::Release));
        debug_assert_eq!(before & POISONED, 0, "epoch {epoch} was poisoned after everybody had arrived");
        if before & SLEEPING != 0 && !mutant::BARRIER_NO_NOTIFY {
            self.wake(&self.released, mutant::BARRIER_NOTIFY_UNLOCKED);
        }
        if active > active_of(before) && !mutant::BARRIER_NO_REACTIVATION {
            self.wake(&self.reactivated, mutant::BARRIER_REACTIVATE_UNLOCKED);
        }
    }

    /// Waits, after the end of epoch `epoch`, until party `party` takes part in an epoch again; returns the number of that epoch.
    #[inline]
    pub(super) fn wait(&self, party: usize, epoch: u64, spinning: &mut Spinning) -> Result<u64, Poisoned> {
        if spinning.spins_next() {
            let released = self.spin(party, epoch);
            spinning.record(released.is_some());
            if let Some(next) = released {
                return Ok(next);
            }
        }
        spinning.sleeps += 1;
        self.sleep(party, epoch).ok_or_else(|| self.reason())
    }

    /// Poisons the gate and keeps the first reason.
    #[cold]
    pub(super) fn poison(&self, poisoned: Poisoned) {
        let mut reasons = lock(&self.reasons);
        reasons.poisoned.get_or_insert(poisoned);
        self.release.word.fetch_or(POISONED, Ordering::AcqRel);
        if !mutant::POISON_NO_WAKE {
            self.released.notify_all();
        }
        if !mutant::POISON_RETIRED_NO_WAKE {
            self.reactivated.notify_all();
        }
    }

    /// Records that `party`, which is active and has not arrived in the present epoch, will not arrive again.
    ///
    /// Poisons parties that already wait for it, that arrive later or that are retired, since their wait could not end.
    #[cold]
    pub(super) fn leave(&self, party: usize) {
        lock(&self.reasons).finished_party.get_or_insert(party);
        let active = self.active() as u64;
        let arrived_before = self.release.quorum.load(Ordering::Relaxed) - active;
        let before = self.arrivals.fetch_or(FINISHED, Ordering::AcqRel);
        let arrived = before & !FINISHED != arrived_before && !mutant::LEAVE_UNNOTICED;
        let retired = active != self.parties && !mutant::LEAVE_RETIRED_UNNOTICED;
        if arrived || retired {
            self.poison(finished(party));
        }
    }

    /// Returns the meaning of `word` for `party`, which has arrived in `epoch`. A release takes precedence over poison, since a poison bit
    /// in the same word came later.
    #[inline]
    fn state(word: u64, party: usize, epoch: u64) -> WordState {
        let (now, active) = (epoch_of(word), active_of(word));
        if now != epoch && ((party as u64) < active || mutant::BARRIER_RETIRED_GOES_ON) {
            WordState::Released(now)
        } else if word & POISONED != 0 {
            WordState::Poisoned
        } else if now != epoch {
            WordState::Retired
        } else {
            WordState::Waiting
        }
    }

    /// Polls the word for as long as the policy allows; returns the next epoch of `party` if it is released in this time.
    #[inline]
    fn spin(&self, party: usize, epoch: u64) -> Option<u64> {
        if self.policy.spin.is_zero() {
            return None;
        }
        let watch = Stopwatch::start();
        loop {
            for _ in 0..POLLS_PER_CLOCK_READ {
                match Self::state(self.release.word.load(Ordering::Acquire), party, epoch) {
                    WordState::Released(next) => return Some(next),
                    WordState::Retired | WordState::Poisoned => return None,
                    WordState::Waiting => spin_loop(),
                }
            }
            if watch.elapsed() >= self.policy.spin {
                return None;
            }
        }
    }

    /// Sleeps until `party`, which has arrived in `epoch`, takes part in an epoch again, and returns the number of that epoch; `None` if
    /// the gate is poisoned.
    ///
    /// The party sets the sleeping bit while it holds the lock, and releases the lock only by falling asleep. The last arriver takes the
    /// lock before it notifies, so it notifies when the sleeper already waits on the condition.
    #[cold]
    fn sleep(&self, party: usize, epoch: u64) -> Option<u64> {
        let word = &self.release.word;
        let mut reasons = lock(&self.reasons);
        loop {
            let seen = word.load(Ordering::Acquire);
            match Self::state(seen, party, epoch) {
                WordState::Released(next) => return Some(next),
                WordState::Poisoned => return None,
                WordState::Retired => reasons = wait_on(&self.reactivated, reasons),
                WordState::Waiting => {
                    let marked =
                        seen & SLEEPING != 0 || word.compare_exchange(seen, seen | SLEEPING, Ordering::Acquire, Ordering::Relaxed).is_ok();
                    if marked {
                        reasons = wait_on(&self.released, reasons);
                    }
                }
            }
        }
    }

    /// Wakes all parties that sleep on `condition`.
    #[cold]
    fn wake(&self, condition: &Condvar, unlocked: bool) {
        if !unlocked {
            drop(lock(&self.reasons));
        }
        condition.notify_all();
    }

    #[cold]
    fn reason(&self) -> Poisoned {
        lock(&self.reasons).poisoned.clone().expect("the reason is written before the poison bit")
    }

    /// Poisons the gate for an arriver that found a finished party: no further arriver can be released.
    #[cold]
    fn reject_arrival(&self) -> Poisoned {
        let left = lock(&self.reasons).finished_party.expect("the leaver is written before the bit that announces it");
        self.poison(finished(left));
        self.reason()
    }
}

impl Spinning {
    /// Returns the number of waits that slept.
    pub(super) fn sleeps(&self) -> u64 {
        self.sleeps
    }

    /// Returns true if the next wait spins first.
    #[inline]
    fn spins_next(&mut self) -> bool {
        if self.skipped_waits == 0 {
            return true;
        }
        self.skipped_waits -= 1;
        false
    }

    /// Records whether spinning ended with a release.
    #[inline]
    fn record(&mut self, released: bool) {
        if released {
            self.failures = 0;
        } else {
            self.failures = (self.failures + 1).min(MAX_FAILED_SPINS);
            self.skipped_waits = (1 << self.failures) - 1;
        }
    }
}

fn finished(party: usize) -> Poisoned {
    Poisoned { party, message: "finished while others still wait for it".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_holds_epoch_and_active_parties_apart() {
        let word = word_of(7_000_000_000_000, ACTIVE_MAX);
        assert_eq!((epoch_of(word), active_of(word), word & (POISONED | SLEEPING)), (7_000_000_000_000, ACTIVE_MAX, 0));
    }

    #[test]
    fn spinning_that_fails_becomes_rare_and_one_success_restores_it() {
        let mut spinning = Spinning::default();
        let mut attempts = 0;
        for _ in 0..1000 {
            if spinning.spins_next() {
                attempts += 1;
                spinning.record(false);
            }
        }
        assert!((10..=25).contains(&attempts), "{attempts} attempts in 1000 waits");
        while !spinning.spins_next() {}
        spinning.record(true);
        assert!((0..100).all(|_| spinning.spins_next()));
    }
}
