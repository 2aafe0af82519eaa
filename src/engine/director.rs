//! Who decides where cuts lie and what happens there; the seam between stepping and what is stepped.

use crate::base::{Cycle, UnitId};
use crate::protocol::EventKind;

use super::{Unit, Work};

/// An event whose effect has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenEvent {
    /// Who saw it.
    pub unit: UnitId,
    /// The reference cycle in which it was seen, before it took effect.
    pub at: Cycle,
    /// What.
    pub kind: EventKind,
}

/// All units at the same cycle, settled.
#[derive(Debug)]
pub struct Cut<'a, S> {
    /// The cycle of the reference clock.
    pub at: Cycle,
    /// Samples by unit, if the director [wants](Director::wants_samples) them.
    pub samples: &'a [S],
    /// Events that take effect at or before this cut and were not shown before, by cycle, then unit.
    pub events: &'a [SeenEvent],
    /// Whether the run ends here.
    pub last: bool,
}

/// Decides on cuts. Called by the control step alone.
pub trait Director<U: Unit>: Send + 'static {
    /// Whether it looks at the samples of the next cut, which take time to gather; without, [`Cut::samples`] is empty.
    fn wants_samples(&self) -> bool {
        true
    }

    /// The next cycle after `now` at which it wants a cut, whatever happens.
    fn next_cut(&self, now: Cycle) -> Option<Cycle>;

    /// Whether it wants a cut at cycle 0, before anything is simulated.
    fn wants_start(&self) -> bool {
        false
    }

    /// Whether this kind of event causes a cut when it takes effect.
    fn wants(&self, kind: EventKind) -> bool;

    /// Sees a cut; answers with decisions per unit, which hold from this very cycle on.
    fn at_cut(&mut self, cut: &Cut<'_, U::Sample>) -> Vec<(UnitId, U::Decision)>;

    /// Whether the run is over, the events of this cut included; asked at every cut before [`Director::at_cut`].
    fn is_over(&mut self, events: &[SeenEvent]) -> bool {
        events.iter().any(|event| event.kind == EventKind::RunEnded)
    }

    /// Whether a cut at a regular time could set an idle machine going again.
    fn may_wake(&self) -> bool {
        false
    }

    /// What went wrong that no simulation can mend (a trace that is broken further on), for the user.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Shows how far the run is: now and then, at the pace of the host.
    fn progress(&mut self, _now: Cycle, _work: Work) {}
}
