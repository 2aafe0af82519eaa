//! The state that the barrier guards, and the handle through which one worker reaches it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crossbeam_utils::CachePadded;

use super::gate::{Arrival, Gate, Spinning};
use super::locals::{LocalCell, Locals, full};
use super::poisoned::panic_text;
use super::{Poisoned, WaitPolicy};
use crate::mutant;
use crate::primitive::{Arc, AtomicUsize, Ordering, UnsafeCell};

/// A barrier with one local state per party and one shared state, all handed to the last arriver.
///
/// Between two barriers each [`Party`] owns its local state and reads the shared one. At the barrier the last arriver
/// runs a closure on the shared state and all local states, alone; then all go on. The type itself is only the meeting
/// point: [`EpochBarrier::new`] returns the parties.
///
/// # Memory ordering
/// An arrival is a read-modify-write with `AcqRel` on one counter: it publishes what the party wrote to its local state,
/// and the last arriver, whose own arrival is the end of that chain, acquires it from everybody. The release is a
/// `Release` swap of one word that every waiter polls with `Acquire`: it publishes what the coordinator wrote. So there
/// is a happens-before edge from everything before anybody's `wait` to the coordinator, and from there to everything
/// after everybody's `wait`. Poison travels over the same word and carries its reason under a lock.
///
/// # Why the coordinator is alone
/// It runs only when the counter says that every party has arrived in this epoch, and a party arrives at most once per
/// epoch. An arrived party is inside `wait(&mut self)`, so no reference to a state obtained through it is alive, and it
/// leaves only when released or poisoned. Poison is set only by a party that has not arrived and never will (it called
/// `poison`, was dropped, finished, or met one that had finished), in which case the count never becomes full and no
/// coordinator runs any more, or by the last arriver itself when its coordinator has returned.
///
/// # Active and retired parties
/// The coordinator sets how many parties are active in the following epochs ([`Locals::set_active`]): the first ones. A retired
/// party stays inside the `wait` in which it was retired and sleeps there, and costs the others nothing; that `wait` returns when
/// the party is active again. The barrier counts the arrivals of active parties only, and a party that is inside `wait` holds no
/// reference to a state, so the coordinator is alone all the same. Its last writes to its local state were published by its last
/// arrival, and every release since then happened after that one; the release that makes it active again publishes the writes of
/// every call of the coordinator in between.
pub struct EpochBarrier<L, G> {
    gate: Gate,
    /// Parties that have not left; the one that brings it to zero owns the states.
    present: AtomicUsize,
    shared: CachePadded<UnsafeCell<Option<G>>>,
    locals: Box<[LocalCell<L>]>,
}

// SAFETY: the only data that the barrier lends out are the local states, each to one thread at a time (hence `L: Send`),
// and the shared state, to all threads at once between barriers and to one thread at a time, mutably, at them (hence
// `G: Send + Sync`). Everything else in it is `Sync` by itself. "Why the coordinator is alone" shows that no two of
// these loans conflict.
unsafe impl<L: Send, G: Send + Sync> Sync for EpochBarrier<L, G> {}
// SAFETY: moving the barrier moves the states it owns, which are `Send`.
unsafe impl<L: Send, G: Send + Sync> Send for EpochBarrier<L, G> {}

/// What a party was at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It arrived last and ran the coordinator.
    Last,
    /// It arrived earlier; its coordinator was dropped unused.
    Waited,
    /// It arrived, as the last or earlier, and was retired for an epoch or more before it went on.
    Retired,
}

/// One worker's place at an [`EpochBarrier`]; exclusive, so it can be sent to a thread but not be cloned.
///
/// A party that is dropped before all have finished poisons the barrier, with or without a panic, so that nobody waits
/// for it for ever. Only `mem::forget` can make the others hang.
pub struct Party<L: Send, G: Send + Sync> {
    barrier: Arc<EpochBarrier<L, G>>,
    index: usize,
    /// The epoch that this party is in.
    epoch: u64,
    spinning: Spinning,
    finished: bool,
}

impl<L: Send, G: Send + Sync> EpochBarrier<L, G> {
    /// Makes one party per element of `locals`, in that order.
    #[expect(clippy::new_ret_no_self, reason = "a barrier is used through its parties only")]
    pub fn new(locals: Vec<L>, shared: G, wait: WaitPolicy) -> Vec<Party<L, G>> {
        let parties = locals.len();
        let barrier = Arc::new(Self {
            gate: Gate::new(parties, wait),
            present: AtomicUsize::new(parties),
            shared: CachePadded::new(UnsafeCell::new(Some(shared))),
            locals: locals.into_iter().map(|local| CachePadded::new(UnsafeCell::new(Some(local)))).collect(),
        });
        (0..parties).map(|index| Party::new(&barrier, index)).collect()
    }

    /// One party less; true for the last one, which then is alone with the states.
    fn depart(&self) -> bool {
        // `AcqRel`: what every party did with the states happens before what the last one does with them.
        self.present.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

impl<L: Send, G: Send + Sync> Party<L, G> {
    fn new(barrier: &Arc<EpochBarrier<L, G>>, index: usize) -> Self {
        Self { barrier: Arc::clone(barrier), index, epoch: 0, spinning: Spinning::default(), finished: false }
    }

    /// The party's place in the list given to [`EpochBarrier::new`].
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of parties, those that have left included.
    pub fn parties(&self) -> usize {
        self.barrier.gate.parties()
    }

    /// The party's own state, for it alone until it calls [`Party::wait`].
    #[inline]
    pub fn local(&mut self) -> &mut L {
        self.both().0
    }

    /// The shared state, which nobody changes while anybody is between barriers.
    #[inline]
    pub fn shared(&self) -> &G {
        // SAFETY: the shared state is written only by the coordinator and by the last `finish`. This party is in neither
        // while the reference lives, since both take it mutably or whole, and neither happens without this party.
        let shared = self.barrier.shared.with(|shared| unsafe { &*shared });
        shared.as_ref().expect("the shared state stays in its cell until the last party has left")
    }

    /// Both of the above, side by side.
    #[inline]
    pub fn both(&mut self) -> (&mut L, &G) {
        // SAFETY: only this party and the coordinator access this cell, the coordinator only while this party is
        // inside `wait`, and `&mut self` excludes both that and a second reference from here.
        let local = self.barrier.locals[self.index].with_mut(|local| unsafe { full(local) });
        (local, self.shared())
    }

    /// Arrives at the barrier and returns when all active parties have; the last arriver runs `control` first, with exclusive
    /// access to the shared state and to all local states. A party that `control` retires returns when it is active again.
    /// Allocates nothing.
    ///
    /// # Errors
    /// [`Poisoned`] when some party has broken off and the barrier will not open again; `control` has not run then.
    ///
    /// # Panics
    /// With `control`'s panic, after having poisoned the others.
    #[inline]
    pub fn wait(&mut self, control: impl FnOnce(&mut G, &mut Locals<'_, L>)) -> Result<Role, Poisoned> {
        let role = match self.barrier.gate.arrive()? {
            Arrival::Last => {
                let active = self.control(control);
                self.barrier.gate.release(self.epoch, active);
                if self.index < active {
                    self.epoch += 1;
                    return Ok(Role::Last);
                }
                Role::Last
            }
            Arrival::Early => Role::Waited,
        };
        let next = self.barrier.gate.wait(self.index, self.epoch, &mut self.spinning)?;
        let at_once = next == self.epoch + 1;
        self.epoch = next;
        Ok(if at_once { role } else { Role::Retired })
    }

    /// How many waits slept instead of spinning to their end. Waking costs much more than spinning does, above all in virtual machines.
    pub fn sleeps(&self) -> u64 {
        self.spinning.sleeps()
    }

    /// Stops everybody: every wait that is not fulfilled yet returns [`Poisoned`] with this party and `message`, unless
    /// somebody else was first.
    pub fn poison(&self, message: String) {
        self.barrier.gate.poison(Poisoned { party: self.index, message });
    }

    /// Runs `work`; if it panics, the others are told the panic's text before the panic goes on.
    ///
    /// A party that is merely dropped by a panic tells only that there was one: a destructor cannot see the text.
    pub fn guarded<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(result) => result,
            Err(payload) => {
                self.poison(panic_text(payload.as_ref()).to_owned());
                resume_unwind(payload)
            }
        }
    }

    /// Leaves in good order. The last party to leave gets all local states, in the order of their parties, and the shared
    /// state, as they are: after a poisoning that may be the middle of a step.
    ///
    /// A party that finishes while another one waits, or will wait, for it poisons that one.
    pub fn finish(mut self) -> Option<(Vec<L>, G)> {
        self.finished = true;
        self.barrier.gate.leave(self.index);
        if !self.barrier.depart() {
            return None;
        }
        // SAFETY: every party has departed or is this one, and `depart` ordered their accesses before this one.
        let shared = self.barrier.shared.with_mut(|shared| unsafe { (*shared).take() });
        let taken = |cell: &LocalCell<L>| {
            // SAFETY: as above.
            cell.with_mut(|local| unsafe { (*local).take() }).expect("only the last party takes the states")
        };
        let locals = self.barrier.locals.iter().map(taken).collect();
        Some((locals, shared.expect("only the last party takes the states")))
    }

    /// Runs the coordinator of the last arriver; returns how many parties are active afterwards.
    #[inline]
    fn control(&mut self, control: impl FnOnce(&mut G, &mut Locals<'_, L>)) -> usize {
        let barrier = &*self.barrier;
        let active = barrier.gate.active();
        let step = AssertUnwindSafe(|| {
            // SAFETY: this party arrived last in this epoch, so all others are inside `wait` and stay there until the
            // release or the poison, both of which come after this closure; see "Why the coordinator is alone".
            let (shared, mut locals) = unsafe { (barrier.shared.with_mut(|shared| full(shared)), Locals::new(&barrier.locals, active)) };
            control(shared, &mut locals);
            locals.active()
        });
        match catch_unwind(step) {
            Ok(active) => active,
            Err(payload) => {
                if !mutant::POISON_CONTROL_UNNOTICED {
                    self.poison(panic_text(payload.as_ref()).to_owned());
                }
                resume_unwind(payload)
            }
        }
    }
}

impl<L: Send, G: Send + Sync> Drop for Party<L, G> {
    fn drop(&mut self) {
        if !self.finished {
            let how = if std::thread::panicking() { "its thread panicked" } else { "it was dropped before it finished" };
            self.poison(how.to_owned());
            self.barrier.depart();
        }
    }
}

impl<L, G> fmt::Debug for EpochBarrier<L, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpochBarrier").field("gate", &self.gate).finish_non_exhaustive()
    }
}

impl<L: Send, G: Send + Sync> fmt::Debug for Party<L, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Party").field("index", &self.index).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}
