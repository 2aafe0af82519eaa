//! The interface between the engine and the units that it steps.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use warpshard_base::{Cycle, LinkId};
use warpshard_state::State;
use warpshard_stats::CounterVisitor;

use super::outbox::{Outbox, SentMessage};

/// A part of the machine that one worker steps alone.
///
/// A unit owns its state and accesses nothing else: messages reach it through [`Unit::deliver`] and leave it through the [`Outbox`]. All
/// cycles are edges of the unit's clock in its local time: the engine may skew units in simulated time against each other, and no
/// unit can observe the skew.
///
/// Its [`State`] holds everything that does not follow from its construction: a unit of the same construction that loads the state
/// behaves as the original unit.
pub trait Unit: State + Send + 'static {
    /// Payload of messages on links; plain data, since the two ends of a link may be in different processes.
    type Payload: State + Copy + Send + fmt::Debug + 'static;
    /// Events that units report to the director, such as the end of the run or the start of a phase.
    type Event: State + Copy + Send + fmt::Debug + Serialize + DeserializeOwned + 'static;
    /// Decisions of the director about the unit; [`Infallible`](std::convert::Infallible) if there are none.
    type Decision: State + Clone + Send + Sync + 'static;

    /// Accepts a message that becomes visible at cycle `at`, at or after the unit's present cycle.
    ///
    /// Called between calls of [`Unit::run`]. Messages of one link come in the order of sending, with non-decreasing arrival cycles;
    /// messages of different links come in any order, so the unit queues them by link and its arbiter chooses among the messages of a
    /// cycle.
    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Self::Payload);

    /// Accepts several messages as [`Unit::deliver`] does, each at the cycle that `arrival` returns. A type with several kinds of units can
    /// override it to test the kind once for all messages.
    #[inline(always)]
    fn deliver_all(&mut self, messages: &[SentMessage<Self::Payload>], mut arrival: impl FnMut(&SentMessage<Self::Payload>) -> Cycle) {
        for sent in messages {
            let at = arrival(sent);
            self.deliver(sent.link, at, &sent.payload);
        }
    }

    /// Simulates every cycle from the present cycle up to, but not including, `until`.
    ///
    /// The results must not depend on how a span is split into calls. If `skip` is true, the unit may skip cycles in which
    /// nothing happens; if false, it visits each cycle.
    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox<Self::Payload, Self::Event>);

    /// Prefetches the data that [`Unit::run`] uses first into the host's caches, shortly before the unit is run. The first call has `deep`
    /// false and may follow no pointer inside the unit. A second call has `deep` true, when the unit's own cache lines should have arrived.
    fn prefetch(&self, _deep: bool) {}

    /// Returns the first cycle, at or after the present cycle, in which `run` would change anything but span counters if no further message
    /// is delivered; [`Cycle::NEVER`] if the unit waits for a message.
    ///
    /// The next call of `run` or `settle` covers the cycles that the engine skips because of this.
    fn next_event(&self) -> Cycle;

    /// Updates all counters to cycle `at` by splitting open spans there. Called at cuts, after `run` up to `at`.
    fn settle(&mut self, at: Cycle);

    /// Passes all counters of the components inside the unit to `visitor`, always in the same order; the values are exact right after
    /// `settle`.
    fn visit_counters(&self, visitor: &mut dyn CounterVisitor);

    /// Appends the progress of the unit's tasks as numbers, in a fixed order per type of unit. Called at cuts, after `settle`, if
    /// [`Director::reads_tasks`](super::Director::reads_tasks) returns true.
    fn visit_tasks(&self, _values: &mut Vec<u64>) {}

    /// Applies a decision that takes effect at cycle `at`, the unit's present cycle.
    fn apply(&mut self, _at: Cycle, _decision: &Self::Decision) {
        unreachable!("a unit whose decisions have values applies them");
    }

    /// Returns true if the unit may report events ([`Outbox::event`]).
    fn sends_events(&self) -> bool {
        true
    }

    /// Returns the work done so far, for progress displays only.
    fn progress(&self) -> Work {
        Work::default()
    }

    /// Returns the wait reasons of a unit that has work left and cannot proceed, in the terms of the machine and with cycles. The caller
    /// adds the name of the unit to each line.
    fn waiting(&self) -> Vec<String>;
}

/// Work of a unit, for progress displays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Work {
    /// Instructions issued.
    pub instructions: u64,
    /// Completed parts of the workload (CTAs).
    pub tasks: u64,
}
