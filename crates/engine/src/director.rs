//! The director: the interface between the engine, which steps units, and the code that chooses cuts and observes units at them.

use warpshard_base::{Cycle, UnitId};
use warpshard_state::State;

use super::{Unit, Work};

/// An event at the cut where it takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CutEvent<E> {
    /// The unit that reported the event.
    pub unit: UnitId,
    /// Reference cycle of the event, which precedes its effect.
    pub at: Cycle,
    /// The kind of event.
    pub kind: E,
}

/// The settled state of all units at one cycle.
#[derive(Debug)]
pub struct Cut<'a, E> {
    /// Reference cycle of the cut.
    pub at: Cycle,
    /// Values of the counters of each unit, in the order of [`Unit::visit_counters`]; empty unless
    /// [`Director::reads_counters`] returns true.
    pub counters: &'a [Vec<u64>],
    /// Values from [`Unit::visit_tasks`] of each unit; empty unless [`Director::reads_tasks`] returns true.
    pub tasks: &'a [Vec<u64>],
    /// Events that take effect at or before this cut and after the previous one, sorted by cycle, then by unit.
    pub events: &'a [CutEvent<E>],
    /// True if the run ends at this cut.
    pub last: bool,
}

/// A view of the units between cuts, for display only. Each unit is at the cycle that it has reached.
#[derive(Debug)]
pub struct View<'a> {
    /// Reference cycle that the foremost unit has reached.
    pub now: Cycle,
    /// Work done so far.
    pub work: Work,
    /// Values of the counters of each unit, without time spans that are still open.
    pub counters: &'a [Vec<u64>],
    /// Wait reasons of each unit, if [`Director::shows_waiting`] returns true.
    pub waiting: Option<&'a [(UnitId, Vec<String>)]>,
}

/// Decides on cuts. Only the coordinator calls it. Its [`State`] goes into checkpoints.
pub trait Director<U: Unit>: State + Send + 'static {
    /// Returns true if the director reads the counters at the next cut; if false, [`Cut::counters`] is empty, which saves host time.
    fn reads_counters(&self) -> bool {
        true
    }

    /// Returns true if the director reads the progress of tasks at the next cut; if false, [`Cut::tasks`] is empty.
    fn reads_tasks(&self) -> bool {
        false
    }

    /// Returns the next cycle after `now` at which a cut is due regardless of events.
    fn next_cut(&self, now: Cycle) -> Option<Cycle>;

    /// Returns true if the run starts with a cut at cycle 0, before any unit is stepped.
    fn starts_with_cut(&self) -> bool {
        false
    }

    /// Returns true if an event of this kind causes a cut when it takes effect.
    fn causes_cut(&self, kind: U::Event) -> bool;

    /// Processes a cut; returns decisions for units, which take effect after the decision latency.
    fn at_cut(&mut self, cut: &Cut<'_, U::Event>) -> Vec<(UnitId, U::Decision)>;

    /// Returns true if the run is over, given the events of this cut; called at every cut before [`Director::at_cut`].
    fn is_over(&mut self, events: &[CutEvent<U::Event>]) -> bool;

    /// Returns true if a cut at a regular time could give an idle machine new work.
    fn can_wake_idle(&self) -> bool {
        false
    }

    /// Returns a message for the user if the input has a fatal error, such as a trace that is corrupt at a later line.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Reports the progress of the run; called periodically in host time.
    fn progress(&mut self, _now: Cycle, _work: Work) {}

    /// Returns true if an observer watches the units; the engine then calls [`Director::view`] periodically in host time.
    fn is_watched(&self) -> bool {
        false
    }

    /// Returns true if the next view is to include the wait reasons of the units.
    fn shows_waiting(&self) -> bool {
        false
    }

    /// Shows the units to an observer. Returns true if the run is to pause; the engine then calls it again after a short time. Has no
    /// effect on simulated behaviour.
    fn view(&mut self, _view: &View<'_>) -> bool {
        false
    }
}
