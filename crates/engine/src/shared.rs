//! State that the workers and the coordinator share: the state of an epoch, and a unit with its schedule.
//!
//! The coordinator writes it while all workers wait at the barrier; workers only read it.

use std::sync::{Mutex, PoisonError};

use warpshard_base::{ClockDomain, Cycle, Tick, UnitId};
use warpshard_sync::Stealer;

use super::Unit;
use super::plan::PlannedLink;

/// The next action of every worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerStep {
    /// Step units to the bounds.
    Run,
    /// Deliver messages, so that units can move to other workers.
    Deliver,
    /// Settle at the cut and read counters.
    Settle,
    /// Collect the wait reasons of the units of a deadlocked machine.
    CollectWaitReasons,
    /// End the run.
    Stop,
}

/// The reason why a run ended at its last cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The director declared the run over.
    Ended,
    /// The cycle limit was reached.
    MaxCycles,
    /// The user interrupted the run.
    Interrupted,
}

/// A unit and its schedule, owned by a worker.
#[derive(Debug)]
pub(super) struct UnitSlot<U> {
    pub(super) id: UnitId,
    pub(super) unit: U,
    /// Index into the bounds of the epoch: units of equal clock, offset and group have equal bounds.
    pub(super) class: u16,
    /// True if a step takes as long as several steps of other units, so that workers step this unit first.
    pub(super) long: bool,
    /// The unit's next event, including delivered messages.
    pub(super) next: Cycle,
    /// Host nanoseconds measured in sampled epochs since the last load-balance check, with decaying weight of older epochs.
    pub(super) nanos: u64,
    /// Host nanoseconds that decay has removed from `nanos`.
    pub(super) decayed_nanos: u64,
    /// True if a worker other than the owner made the last measured step.
    pub(super) taken: bool,
}

/// A clock, an offset and a group that several units share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeClass {
    pub(super) clock: ClockDomain,
    pub(super) offset: u64,
    /// The group of units that the engine steps together.
    pub(super) group: u8,
}

impl TimeClass {
    /// Converts a local cycle to a global tick.
    #[inline]
    pub(super) fn global(self, cycle: Cycle) -> Tick {
        // `tick` saturates; a cycle beyond the last tick is never reached.
        if cycle == Cycle::NEVER { Tick::NEVER } else { Tick(self.clock.tick(cycle).0.saturating_add(self.offset)) }
    }
}

/// Decisions with the units that they apply to.
pub(super) type Decisions<U> = Vec<(UnitId, <U as Unit>::Decision)>;

/// State that all workers read in an epoch. `C` is the coordinator's private state, which workers do not access.
pub(super) struct SharedState<U: Unit, C> {
    pub(super) step: WorkerStep,
    pub(super) epoch: u64,
    /// Cycle that the units of each class have reached.
    pub(super) presents: Vec<Cycle>,
    /// Cycle to which the epoch steps the units of each class, and the same time as a global tick.
    pub(super) bounds: Vec<Cycle>,
    pub(super) limits: Vec<Tick>,
    pub(super) classes: Vec<TimeClass>,
    /// Number of workers that take part in this epoch: the first `active` workers. The other workers are retired and hold no units.
    pub(super) active: usize,
    /// Handles for stealing units from each worker.
    pub(super) stealers: Vec<Stealer<UnitSlot<U>>>,
    /// True if the host time of single units is measured in this epoch.
    pub(super) measured: bool,
    /// True if workers visit their units from the last to the first. This holds in every other round, so that units whose state is still in
    /// the host's caches come first. Has no effect on simulated behaviour.
    pub(super) backwards: bool,
    /// True if workers sum the costs of their units, so that the coordinator can check the load balance after this epoch.
    pub(super) sums_costs: bool,
    /// True if workers halve the weight of the costs measured so far.
    pub(super) halves_costs: bool,
    /// True if the director reads the counters at the cut.
    pub(super) reads_counters: bool,
    /// True if the director reads the progress of the units' tasks at the cut.
    pub(super) reads_tasks: bool,
    pub(super) reference: ClockDomain,
    pub(super) last_cut: Cycle,
    /// Decisions that take effect at the beginning of this epoch.
    pub(super) decisions: Decisions<U>,
    pub(super) skip: bool,
    pub(super) relaxed: bool,
    pub(super) links: Vec<PlannedLink>,
    pub(super) names: Vec<String>,
    /// Messages of the last epoch from each rank to units of this rank.
    pub(super) from_ranks: Vec<Vec<u8>>,
    /// The coordinator's state. The lock is never contended, since the coordinator has exclusive access, but the shared structure requires
    /// it.
    pub(super) coordinator: Mutex<C>,
}

impl<U: Unit, C> SharedState<U, C> {
    /// Returns the coordinator's state without locking.
    pub(super) fn coordinator(&mut self) -> &mut C {
        self.coordinator.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
