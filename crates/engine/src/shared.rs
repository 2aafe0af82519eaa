//! What the workers and the coordinator share: the state of an epoch, and a unit with its schedule.
//!
//! The coordinator writes it while all workers wait at the barrier; workers only read it.

use std::sync::{Mutex, PoisonError};

use warpshard_base::{ClockDomain, Cycle, Tick, UnitId};
use warpshard_sync::Stealer;

use super::Unit;
use super::plan::PlannedLink;

/// What every worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Step units to the bounds.
    Run,
    /// Take messages in, so that units can be moved to other workers.
    Deliver,
    /// Settle at the cut and read counters.
    Settle,
    /// Collect what units wait for: the machine is deadlocked.
    Explain,
    /// Leave.
    Stop,
}

/// Why a run ended at its last cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The director declared the run over.
    Ended,
    /// The cycle limit was reached.
    MaxCycles,
    /// The user interrupted the run.
    Interrupted,
}

/// A unit at its worker.
#[derive(Debug)]
pub(super) struct Slot<U> {
    pub(super) id: UnitId,
    pub(super) unit: U,
    /// Index into the epoch's bounds: units of equal clock and offset have equal bounds.
    pub(super) class: u16,
    /// Whether it takes as long as several others, so that workers begin with it.
    pub(super) long: bool,
    /// The unit's next event, delivered messages included.
    pub(super) next: Cycle,
    /// Host nanoseconds measured in sampled epochs since the shards were last balanced, older ones with less weight.
    pub(super) nanos: u64,
    /// Host nanoseconds measured before that.
    pub(super) all_nanos: u64,
    /// Whether another worker than its owner made the last step whose host time was measured.
    pub(super) taken: bool,
}

/// A clock, an offset and a group that several units share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeClass {
    pub(super) clock: ClockDomain,
    pub(super) offset: u64,
    /// The group of units that are stepped together.
    pub(super) group: u8,
}

impl TimeClass {
    /// The global tick of a local cycle.
    #[inline]
    pub(super) fn global(self, cycle: Cycle) -> Tick {
        // `tick` saturates, and a cycle beyond the last tick never comes.
        if cycle == Cycle::NEVER { Tick::NEVER } else { Tick(self.clock.tick(cycle).0.saturating_add(self.offset)) }
    }
}

/// Decisions with the units that they are for.
pub(super) type Decisions<U> = Vec<(UnitId, <U as Unit>::Decision)>;

/// What all workers read in an epoch. `C` is the coordinator's own state, which no worker looks at.
pub(super) struct Shared<U: Unit, C> {
    pub(super) step: Step,
    pub(super) epoch: u64,
    /// The cycle that the units of each class have reached.
    pub(super) presents: Vec<Cycle>,
    /// The cycle to which the epoch takes them, and the same as a global tick.
    pub(super) bounds: Vec<Cycle>,
    pub(super) limits: Vec<Tick>,
    pub(super) classes: Vec<TimeClass>,
    /// Workers that take part in this epoch: the first ones. The others are retired and hold no units.
    pub(super) active: usize,
    /// Where each worker offers its units to the others.
    pub(super) stealers: Vec<Stealer<Slot<U>>>,
    /// Whether the host time of single units is measured in this epoch.
    pub(super) measured: bool,
    /// Whether workers visit their units from the last to the first: in every other round, so that units whose state the host's
    /// caches still hold come first. Has no effect on anything simulated.
    pub(super) backwards: bool,
    /// Whether workers sum up what their units have cost, for the coordinator to look at their balance after this epoch.
    pub(super) weighs: bool,
    /// Whether they give that half of its weight from now on.
    pub(super) forgets: bool,
    /// Whether the director reads the counters at the cut.
    pub(super) sampled: bool,
    /// Whether it reads how far the tasks of units are.
    pub(super) sees_tasks: bool,
    pub(super) reference: ClockDomain,
    pub(super) last_cut: Cycle,
    /// The decisions that take effect at the beginning of this epoch.
    pub(super) decisions: Decisions<U>,
    pub(super) skip: bool,
    pub(super) relaxed: bool,
    pub(super) links: Vec<PlannedLink>,
    pub(super) names: Vec<String>,
    /// Messages of the last epoch from each rank to units of this one.
    pub(super) from_ranks: Vec<Vec<u8>>,
    /// Never contended: the coordinator has exclusive access. The lock is there because workers share the whole structure.
    pub(super) coordinator: Mutex<C>,
}

impl<U: Unit, C> Shared<U, C> {
    /// The coordinator's own state, without locking.
    pub(super) fn coordinator(&mut self) -> &mut C {
        self.coordinator.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
