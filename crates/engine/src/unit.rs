//! The contract between the engine and what it steps.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use warpshard_base::{Cycle, LinkId};
use warpshard_state::State;
use warpshard_stats::CounterVisitor;

use super::outbox::{Outbox, Sent};

/// A piece of the machine that one worker steps alone.
///
/// A unit owns its state and sees nothing else: messages reach it through [`Unit::deliver`] and leave it through the [`Outbox`]. All
/// cycles are edges of the unit's own clock in its own local time: the engine may simulate units skewed against each other, and no
/// unit can observe it.
///
/// Its [`State`] is all of it that does not follow from how it was built: a unit that was built alike and loaded goes on as this one.
pub trait Unit: State + Send + 'static {
    /// What crosses links; plain data, since the two ends may be in different processes.
    type Payload: State + Copy + Send + fmt::Debug + 'static;
    /// What units report to the director: that the run ended, that a phase began.
    type Event: State + Copy + Send + fmt::Debug + Serialize + DeserializeOwned + 'static;
    /// What the director may ask of the unit; [`Infallible`](std::convert::Infallible) for nothing.
    type Decision: State + Clone + Send + Sync + 'static;

    /// Takes a message that becomes visible at cycle `at`, which lies at or after the unit's present.
    ///
    /// Called between calls of [`Unit::run`]. Messages of one link come in the order in which they were sent, with
    /// arrivals that never decrease; messages of different links come in any order, so the unit keeps them apart by link
    /// and lets its own arbiter choose among those of one cycle.
    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Self::Payload);

    /// Takes several messages, each as [`Unit::deliver`] takes it, at the cycle that `arrival` returns for it. A type that
    /// stands for several kinds of units finds out its kind once for all of them.
    #[inline(always)]
    fn deliver_all(&mut self, messages: &[Sent<Self::Payload>], mut arrival: impl FnMut(&Sent<Self::Payload>) -> Cycle) {
        for sent in messages {
            let at = arrival(sent);
            self.deliver(sent.link, at, &sent.payload);
        }
    }

    /// Simulates every cycle from the present up to and without `until`.
    ///
    /// The results must not depend on how a span is split into calls. With `skip` the unit may jump over cycles in which
    /// nothing happens; without, it visits each.
    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox<Self::Payload, Self::Event>);

    /// Prefetches into the host's caches what [`Unit::run`] touches first; the unit will be run soon. Called first with `deep` false,
    /// when it may follow no pointer inside the unit, and then with `deep` true, when the unit's own lines should have arrived.
    fn prefetch(&self, _deep: bool) {}

    /// The first cycle, at or after the present, in which `run` would change anything but span counters, provided that
    /// nothing more is delivered; [`Cycle::NEVER`] when the unit waits for a message.
    ///
    /// A span that the engine skips because of this is handed over in the next `run` or `settle`.
    fn next_event(&self) -> Cycle;

    /// Brings all counters up to cycle `at`: open spans are split there. Called at cuts, after `run` up to `at`.
    fn settle(&mut self, at: Cycle);

    /// Shows all counters of the components inside the unit, always in the same order; they are exact right after `settle`.
    fn visit_counters(&self, visitor: &mut dyn CounterVisitor);

    /// How far the tasks are that the unit works on, as numbers in an order of its own; called at cuts, after `settle`, where the director wants
    /// them.
    fn visit_tasks(&self, _values: &mut Vec<u64>) {}

    /// Applies a decision that takes effect at cycle `at`, the unit's present.
    fn apply(&mut self, _at: Cycle, _decision: &Self::Decision) {
        unreachable!("a unit whose decisions have values applies them");
    }

    /// Whether the unit ever reports an event ([`Outbox::event`]); a unit that returns false must not.
    fn sends_events(&self) -> bool {
        true
    }

    /// Work done so far, for a progress display alone.
    fn progress(&self) -> Work {
        Work::default()
    }

    /// What the unit waits for, in the terms of the machine and with cycles, when it has work left and cannot continue. Lines do not name the
    /// unit; who shows them does.
    fn waiting(&self) -> Vec<String>;
}

/// Work that a unit did, for a progress display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Work {
    /// Instructions issued.
    pub instructions: u64,
    /// Parts of the workload completed (CTAs).
    pub tasks: u64,
}
