//! The contract between the engine and what it steps.

use std::fmt;

use crate::base::{Cycle, LinkId};
use crate::protocol::{Outbox, Sent};

/// A piece of the machine that one worker steps alone.
///
/// A unit owns its state and sees nothing else: what reaches it comes through [`Unit::deliver`], what leaves it goes
/// through the [`Outbox`]. All cycles are edges of the unit's own clock in its own local time: the engine may simulate
/// units skewed against each other, and no unit can tell.
pub trait Unit: Send + 'static {
    /// What crosses links.
    type Payload: Copy + Send + fmt::Debug + 'static;
    /// What a controller may see of the unit at a cut.
    type Sample: Clone + Send + Sync + 'static;
    /// What a controller may ask of the unit.
    type Decision: Clone + Send + Sync + 'static;

    /// Takes a message that becomes visible at cycle `at`, which lies at or after the unit's present.
    ///
    /// Called between calls of [`Unit::run`]. Messages of one link come in the order in which they were sent, with
    /// arrivals that never decrease; messages of different links come in any order, so the unit keeps them apart by link
    /// and lets its own arbiter choose among those of one cycle.
    fn deliver(&mut self, link: LinkId, at: Cycle, payload: Self::Payload);

    /// Takes several messages, as [`Unit::deliver`] takes each, at the cycle that `seen` says. Where units are of several kinds,
    /// the kind is chosen once for all.
    fn deliver_all(&mut self, messages: &[Sent<Self::Payload>], mut seen: impl FnMut(&Sent<Self::Payload>) -> Cycle) {
        messages.iter().for_each(|sent| self.deliver(sent.link, seen(sent), sent.payload));
    }

    /// Simulates every cycle from the present up to and without `until`.
    ///
    /// The results must not depend on how a span is cut into calls. With `skip` the unit may jump over cycles in which
    /// nothing happens; without, it visits each.
    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox<Self::Payload>);

    /// The unit will be run soon: asks the host's caches for what a run begins with. Called first with `near` false, which
    /// may follow no pointer inside the unit, and with `near` true when those lines should be there.
    fn prefetch(&self, _deep: bool) {}

    /// The first cycle, at or after the present, in which `run` would change anything but span counters, provided that
    /// nothing more is delivered; [`Cycle::NEVER`] when the unit waits for a message.
    ///
    /// A span that the engine skips on this word is handed over in the next `run` or `settle`.
    fn next_event(&self) -> Cycle;

    /// Brings all counters up to cycle `at`: open spans are split there. Called at cuts, after `run` up to `at`.
    fn settle(&mut self, at: Cycle);

    /// What a controller sees; called right after `settle`.
    fn sample(&self) -> Self::Sample;

    /// Carries out a decision that takes effect at cycle `at`, the unit's present.
    fn apply(&mut self, at: Cycle, decision: &Self::Decision);

    /// Whether the unit ever tells the control step of an event ([`Outbox::event`]); one that says no must not.
    fn tells(&self) -> bool {
        true
    }

    /// Work done so far, for a progress display alone.
    fn progress(&self) -> Work {
        Work::default()
    }

    /// What the unit waits for, in the words of the machine and with cycles, when it has work left and cannot go on.
    fn waiting(&self) -> Vec<String>;
}

/// Work that a unit did, for a progress display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Instructions issued.
    pub instructions: u64,
    /// Pieces of the workload completed (CTAs).
    pub tasks: u64,
}
