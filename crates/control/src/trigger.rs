//! Triggers: conditions under which a controller is called.

use warpshard_base::{AppId, Cycle, KernelIndex, SmId};
use warpshard_protocol::EventKind;

/// A kind of event, or one event of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSelector {
    /// The first CTA of a kernel started; of any kernel when `None`.
    KernelStarted(Option<KernelIndex>),
    /// The last CTA of a kernel ended; of any kernel when `None`.
    KernelEnded(Option<KernelIndex>),
    /// A kernel arrived, so that its CTAs may be bound; of any kernel when `None`.
    KernelReady(Option<KernelIndex>),
    /// The last CTA of a kernel was bound to an SM; of any kernel when `None`.
    KernelDispatched(Option<KernelIndex>),
    /// An application ended, or ended again if it is restarted; any when `None`.
    ApplicationEnded(Option<AppId>),
    /// A CTA ended on an SM; on any SM when `None`.
    CtaEnded(Option<SmId>),
    /// A paused SM has nothing left in flight.
    SmQuiet,
}

impl EventSelector {
    /// Returns `true` if the event is selected.
    pub fn selects(self, event: EventKind) -> bool {
        match (self, event) {
            (Self::KernelStarted(wanted), EventKind::KernelStarted(kernel)) => wanted.is_none_or(|wanted| wanted == kernel),
            (Self::KernelEnded(wanted), EventKind::KernelEnded(kernel)) => wanted.is_none_or(|wanted| wanted == kernel),
            (Self::KernelReady(wanted), EventKind::KernelReady(kernel)) => wanted.is_none_or(|wanted| wanted == kernel),
            (Self::KernelDispatched(wanted), EventKind::KernelDispatched(kernel)) => wanted.is_none_or(|wanted| wanted == kernel),
            (Self::ApplicationEnded(wanted), EventKind::ApplicationEnded(app)) => wanted.is_none_or(|wanted| wanted == app),
            (Self::CtaEnded(wanted), EventKind::CtaEnded(sm, _)) => wanted.is_none_or(|wanted| wanted == sm),
            (Self::SmQuiet, EventKind::SmQuiet(_)) => true,
            (_, _) => false,
        }
    }
}

/// A condition under which a controller is called, at a cut at an exact cycle that depends only on the simulated machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Once, at cycle 0, before the first simulated cycle.
    Start,
    /// At every multiple of this number of core cycles, except 0. The number is at least 1.
    Every(u64),
    /// When a selected event takes effect.
    On(EventSelector),
}

impl Trigger {
    /// Returns the first cycle after `now` at which the trigger is due without an event; [`Cycle::NEVER`] for event triggers.
    pub fn next_after(self, now: Cycle) -> Cycle {
        match self {
            Self::Every(cycles) => Cycle((now.0 / cycles + 1).saturating_mul(cycles)),
            Self::Start | Self::On(_) => Cycle::NEVER,
        }
    }

    /// Returns `true` if the trigger is due at a cut at `now`, given the events `taking_effect` at the cut.
    pub fn is_due(self, now: Cycle, mut taking_effect: impl Iterator<Item = EventKind>) -> bool {
        match self {
            Self::Start => now == Cycle(0),
            Self::Every(cycles) => now > Cycle(0) && now.0.is_multiple_of(cycles),
            Self::On(selector) => taking_effect.any(|event| selector.selects(event)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_end_at_multiples_of_their_length() {
        let every = Trigger::Every(1024);
        assert_eq!(every.next_after(Cycle(0)), Cycle(1024));
        assert_eq!(every.next_after(Cycle(1024)), Cycle(2048));
        let due = |cycle| every.is_due(Cycle(cycle), std::iter::empty());
        assert_eq!([due(0), due(1023), due(1024)], [false, false, true]);
    }

    #[test]
    fn a_selector_selects_its_kind_and_the_one_named() {
        let ended = EventKind::CtaEnded(SmId(3), KernelIndex(0));
        assert!(EventSelector::CtaEnded(None).selects(ended));
        assert!(EventSelector::CtaEnded(Some(SmId(3))).selects(ended));
        assert!(!EventSelector::CtaEnded(Some(SmId(4))).selects(ended));
        assert!(!EventSelector::KernelEnded(None).selects(ended));
        assert!(Trigger::On(EventSelector::CtaEnded(None)).is_due(Cycle(7), [EventKind::RunEnded, ended].into_iter()));
    }

    #[test]
    fn the_start_comes_once() {
        assert!(Trigger::Start.is_due(Cycle(0), std::iter::empty()));
        assert!(!Trigger::Start.is_due(Cycle(1), std::iter::empty()));
        assert_eq!(Trigger::Start.next_after(Cycle(0)), Cycle::NEVER);
    }
}
