//! Who decides where cuts lie and what happens there: the interface between stepping units and watching them.

use warpshard_base::{Cycle, UnitId};
use warpshard_state::State;

use super::{Unit, Work};

/// An event at the cut where it takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct SeenEvent<E> {
    /// Who reported it.
    pub unit: UnitId,
    /// The reference cycle in which it happened, before it took effect.
    pub at: Cycle,
    /// What happened.
    pub kind: E,
}

/// All units at the same cycle, settled.
#[derive(Debug)]
pub struct Cut<'a, E> {
    /// The cycle of the reference clock.
    pub at: Cycle,
    /// The values of each unit's counters, in the order of [`Unit::visit_counters`], if the director
    /// [wants](Director::wants_counters) them.
    pub counters: &'a [Vec<u64>],
    /// What each unit wrote in [`Unit::visit_tasks`], if the director [wants](Director::wants_tasks) it.
    pub tasks: &'a [Vec<u64>],
    /// Events that take effect at or before this cut and were not shown before, by cycle, then unit.
    pub events: &'a [SeenEvent<E>],
    /// Whether the run ends here.
    pub last: bool,
}

/// The units between cuts, each at whatever cycle it has reached, for a display alone.
#[derive(Debug)]
pub struct View<'a> {
    /// The cycle of the reference clock that the foremost unit has reached.
    pub now: Cycle,
    /// Work done so far.
    pub work: Work,
    /// The values of each unit's counters, without spans that are not over.
    pub counters: &'a [Vec<u64>],
    /// What each unit waits for, where the director [wants](Director::wants_waiting) it.
    pub waiting: Option<&'a [(UnitId, Vec<String>)]>,
}

/// Decides on cuts. Called by the coordinator alone. Its [`State`] is what it knows of the run, for a checkpoint.
pub trait Director<U: Unit>: State + Send + 'static {
    /// Whether it reads the counters at the next cut, which take time to gather; if not, [`Cut::counters`] is empty.
    fn wants_counters(&self) -> bool {
        true
    }

    /// Whether it reads how far the tasks of units are at the next cut; if not, [`Cut::tasks`] is empty.
    fn wants_tasks(&self) -> bool {
        false
    }

    /// The next cycle after `now` at which it wants a cut, whatever happens.
    fn next_cut(&self, now: Cycle) -> Option<Cycle>;

    /// Whether it wants a cut at cycle 0, before anything is simulated.
    fn wants_start(&self) -> bool {
        false
    }

    /// Whether this kind of event causes a cut when it takes effect.
    fn wants(&self, kind: U::Event) -> bool;

    /// Sees a cut; returns decisions per unit, which hold from this very cycle on.
    fn at_cut(&mut self, cut: &Cut<'_, U::Event>) -> Vec<(UnitId, U::Decision)>;

    /// Whether the run is over, the events of this cut included; asked at every cut before [`Director::at_cut`].
    fn is_over(&mut self, events: &[SeenEvent<U::Event>]) -> bool;

    /// Whether a cut at a regular time could give an idle machine work again.
    fn may_wake(&self) -> bool {
        false
    }

    /// A failure of the input that simulation cannot recover from (a trace that is broken further on), for the user.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Reports how far the run is; called now and then, at the pace of the host.
    fn progress(&mut self, _now: Cycle, _work: Work) {}

    /// Whether somebody watches the units; [`Director::view`] is then called now and then, at the pace of the host.
    fn is_watched(&self) -> bool {
        false
    }

    /// Whether the next view has what units wait for.
    fn wants_waiting(&self) -> bool {
        false
    }

    /// Shows the units to whoever watches; returns whether the run is to stand still, in which case it is soon called again. Has no effect on
    /// anything simulated.
    fn view(&mut self, _view: &View<'_>) -> bool {
        false
    }
}
