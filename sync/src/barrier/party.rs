//! The guarded state of the barrier, and the handle through which a worker accesses it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crossbeam_utils::CachePadded;

use super::gate::{Arrival, Gate, Spinning};
use super::locals::{LocalCell, Locals, content};
use super::poisoned::panic_text;
use super::{Poisoned, WaitPolicy};
use crate::mutant;
use crate::primitive::{Arc, AtomicUsize, Ordering, UnsafeCell};

/// A barrier with one local state per party and one shared state. The last arriver gets exclusive access to all states.
///
/// Between two barriers each [`Party`] owns its local state and reads the shared state. At the barrier the last arriver alone runs a
/// closure on the shared state and all local states; then all parties continue. This type is only the common state: [`EpochBarrier::new`]
/// returns the parties.
///
/// # Memory ordering
/// An arrival is a read-modify-write with `AcqRel` on one counter: it publishes the party's writes to its local state. The last arriver's
/// arrival is the end of this chain, so it acquires the writes of all parties. The release is a `Release` swap of one word that every
/// waiter polls with `Acquire`: it publishes the coordinator's writes. So there is a happens-before edge from everything before any party's
/// `wait` to the coordinator, and from the coordinator to everything after every party's `wait`. Poison uses the same word; a lock protects
/// its reason.
///
/// # Why the coordinator is alone
/// It runs only when the counter shows that every party has arrived in this epoch, and a party arrives at most once per epoch. An arrived
/// party is inside `wait(&mut self)`, so no reference to a state obtained through it is alive, and it leaves only when released or
/// poisoned. There are two sources of poison. The first is a party that has not arrived and never will (it called `poison`, was dropped,
/// finished, or found a finished party); then the count never becomes full and no coordinator runs any more. The second is the last arriver
/// itself after its coordinator has ended.
///
/// # Active and retired parties
/// The coordinator sets the number of active parties for the following epochs ([`Locals::set_active`]); the active parties are the first
/// ones. A retired party sleeps inside the `wait` in which it was retired and costs the others nothing; that `wait` returns when the party
/// is active again. The barrier counts the arrivals of active parties only, and a party inside `wait` holds no reference to a state, so the
/// coordinator is still alone. The retired party's last arrival published its last writes to its local state, and every release since then
/// happened after that arrival. The release that makes the party active again publishes the writes of every coordinator call in between.
pub struct EpochBarrier<L, G> {
    gate: Gate,
    /// Number of parties that have not left; the party that decrements it to zero owns the states.
    present: AtomicUsize,
    shared: CachePadded<UnsafeCell<Option<G>>>,
    locals: Box<[LocalCell<L>]>,
}

// SAFETY: the barrier lends out only the local states, each to one thread at a time (hence `L: Send`), and the shared state (hence `G: Send
// + Sync`): to all threads at the same time between barriers, and mutably to one thread at a time at barriers. All other fields are `Sync`.
// "Why the coordinator is alone" shows that no two of these loans conflict.
unsafe impl<L: Send, G: Send + Sync> Sync for EpochBarrier<L, G> {}
// SAFETY: moving the barrier moves the states it owns, which are `Send`.
unsafe impl<L: Send, G: Send + Sync> Send for EpochBarrier<L, G> {}

/// The role of a party at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The party arrived last and ran the coordinator.
    Last,
    /// The party arrived earlier; its coordinator closure was dropped unused.
    Waited,
    /// The party arrived, as the last or earlier, and was retired for at least one epoch before it continued.
    Retired,
}

/// A worker's exclusive handle of an [`EpochBarrier`]; it can be sent to a thread but not cloned.
///
/// A party that is dropped before all parties have finished poisons the barrier, with or without a panic, so that no party waits for it
/// forever. Only `mem::forget` can make the others hang.
pub struct Party<L: Send, G: Send + Sync> {
    barrier: Arc<EpochBarrier<L, G>>,
    index: usize,
    /// Present epoch of this party.
    epoch: u64,
    spinning: Spinning,
    finished: bool,
}

impl<L: Send, G: Send + Sync> EpochBarrier<L, G> {
    /// Creates one party per element of `locals`, in the same order.
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

    /// Decrements the number of present parties; returns true for the last party, which then has exclusive access to the states.
    fn depart(&self) -> bool {
        // `AcqRel`: every party's accesses to the states happen before the last party's accesses.
        self.present.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

impl<L: Send, G: Send + Sync> Party<L, G> {
    fn new(barrier: &Arc<EpochBarrier<L, G>>, index: usize) -> Self {
        Self { barrier: Arc::clone(barrier), index, epoch: 0, spinning: Spinning::default(), finished: false }
    }

    /// Returns the party's index in the list given to [`EpochBarrier::new`].
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the number of parties, including parties that have left.
    pub fn parties(&self) -> usize {
        self.barrier.gate.parties()
    }

    /// Returns the party's local state; the party has exclusive access until it calls [`Party::wait`].
    #[inline]
    pub fn local(&mut self) -> &mut L {
        self.local_and_shared().0
    }

    /// Returns the shared state, which does not change while any party is between barriers.
    #[inline]
    pub fn shared(&self) -> &G {
        // SAFETY: only the coordinator and the last `finish` write the shared state. This party is in neither while the reference lives,
        // since both borrow the party mutably or consume it, and neither happens without this party.
        let shared = self.barrier.shared.with(|shared| unsafe { &*shared });
        shared.as_ref().expect("the shared state stays in its cell until the last party has left")
    }

    /// Returns the local and the shared state together.
    #[inline]
    pub fn local_and_shared(&mut self) -> (&mut L, &G) {
        // SAFETY: only this party and the coordinator access this cell, the coordinator only while this party is inside `wait`. `&mut self`
        // excludes both `wait` and a second reference from this method.
        let local = self.barrier.locals[self.index].with_mut(|local| unsafe { content(local) });
        (local, self.shared())
    }

    /// Arrives at the barrier and returns after all active parties have arrived. The last arriver runs `control` first, with exclusive
    /// access to the shared state and to all local states. For a party that `control` retires, the call returns when the party is active
    /// again. Allocates nothing.
    ///
    /// # Errors
    /// [`Poisoned`] if some party has failed and the barrier will not open again; `control` has not run then.
    ///
    /// # Panics
    /// If `control` panics; the other parties are poisoned first.
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

    /// Returns the number of waits that slept instead of only spinning. Waking costs much more than spinning, especially in virtual
    /// machines.
    pub fn sleeps(&self) -> u64 {
        self.spinning.sleeps()
    }

    /// Stops all parties: every unfinished wait returns [`Poisoned`] with this party and `message`, unless another party poisoned the
    /// barrier first.
    pub fn poison(&self, message: String) {
        self.barrier.gate.poison(Poisoned { party: self.index, message });
    }

    /// Runs `work`; if it panics, poisons the barrier with the panic's text before the panic continues.
    ///
    /// A party that is only dropped by a panic reports no text, since a destructor cannot read it.
    pub fn guarded<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(result) => result,
            Err(payload) => {
                self.poison(panic_text(payload.as_ref()).to_owned());
                resume_unwind(payload)
            }
        }
    }

    /// Leaves the barrier regularly. The last party to leave gets all local states, in the order of their parties, and the shared state;
    /// after a poisoning the states may be from the middle of a step.
    ///
    /// A party that finishes while another party waits, or will wait, for it poisons that party.
    pub fn finish(mut self) -> Option<(Vec<L>, G)> {
        self.finished = true;
        self.barrier.gate.leave(self.index);
        if !self.barrier.depart() {
            return None;
        }
        // SAFETY: every party has departed or is this one, and `depart` ordered their accesses before this access.
        let shared = self.barrier.shared.with_mut(|shared| unsafe { (*shared).take() });
        let taken = |cell: &LocalCell<L>| {
            // SAFETY: as for `shared`.
            cell.with_mut(|local| unsafe { (*local).take() }).expect("only the last party takes the states")
        };
        let locals = self.barrier.locals.iter().map(taken).collect();
        Some((locals, shared.expect("only the last party takes the states")))
    }

    /// Runs the last arriver's coordinator; returns the number of active parties afterwards.
    #[inline]
    fn control(&mut self, control: impl FnOnce(&mut G, &mut Locals<'_, L>)) -> usize {
        let barrier = &*self.barrier;
        let active = barrier.gate.active();
        let step = AssertUnwindSafe(|| {
            // SAFETY: this party arrived last in this epoch, so all others are inside `wait` and stay there until the release or the
            // poison, both of which come after this closure; see "Why the coordinator is alone".
            let (shared, mut locals) = unsafe { (barrier.shared.with_mut(|shared| content(shared)), Locals::new(&barrier.locals, active)) };
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
