//! The power states of an SM: active, paused, draining, power-gated.
//!
//! In: decisions at cuts, and the state of the SM. Out: whether warps may issue and CTAs may start, the event that a paused
//! SM has drained, and the cycles spent paused and gated.
//!
//! A paused SM issues nothing and starts no CTA, but keeps its state; when the instructions in flight have completed, it sends an
//! event. An SM that is to be gated first finishes its resident and bound CTAs, and is off from the cycle after the last one
//! ended. A CTA that was bound before the grid scheduler received the decision wakes the SM, and so does a decision to make
//! it active, after the wake latency.

use crate::base::Cycle;
use crate::protocol::{EventKind, Outbox, PowerState};

use super::warps::bits;
use super::{Sm, SmCounters};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Paused,
    Draining,
    Gated,
}

/// An SM's state, and since when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Power {
    state: State,
    /// From when on the state's cycles are not counted yet.
    since: Cycle,
    /// Cycles with a CTA resident when the state was entered or last counted.
    resident: u64,
    /// From when on a gated SM drains again, because a CTA was bound to it.
    woken: Option<Cycle>,
    /// Somebody waits for word that nothing is in flight.
    asked: bool,
}

impl Power {
    pub(super) fn new() -> Self {
        Self { state: State::Active, since: Cycle(0), resident: 0, woken: None, asked: false }
    }

    /// Whether warps may not issue and CTAs may not start.
    #[inline]
    pub(super) fn is_paused(self) -> bool {
        self.state == State::Paused
    }

    /// Whether an event is to be sent when the SM has drained.
    #[inline]
    pub(super) fn is_asked(self) -> bool {
        self.asked
    }

    /// Counts the state's cycles up to `at`, `resident` cycles before which a CTA was resident.
    fn count(&mut self, at: Cycle, resident: u64, counters: &mut SmCounters) {
        if let Some(woken) = self.woken.take_if(|woken| *woken <= at) {
            counters.gated_cycles += woken.0 - self.since.0;
            (self.state, self.since) = (State::Draining, woken);
        }
        let cycles = at.0 - self.since.0;
        match self.state {
            State::Paused => {
                counters.paused_cycles += cycles;
                counters.paused_resident_cycles += resident - self.resident;
            }
            State::Gated => counters.gated_cycles += cycles,
            State::Active | State::Draining => {}
        }
        (self.since, self.resident) = (at, resident);
    }
}

impl Sm {
    /// Counts the cycles of the power state up to `at`, the present.
    pub(super) fn count_power(&mut self, at: Cycle) {
        self.power.count(at, self.active_cycle(), &mut self.counters.sm);
    }

    fn enter(&mut self, state: State, at: Cycle) {
        self.count_power(at);
        self.power.state = state;
        self.power.woken = None;
    }

    /// Carries out a decision on the power state at cycle `at`, the present.
    pub(super) fn set_power(&mut self, at: Cycle, wanted: PowerState) {
        self.count_power(at);
        let was_gated = self.power.state == State::Gated && self.power.woken.is_none();
        let empty = self.ctas.is_empty();
        let state = match wanted {
            PowerState::Active => State::Active,
            PowerState::Paused => State::Paused,
            PowerState::Gated if empty => State::Gated,
            PowerState::Gated => State::Draining,
        };
        self.enter(state, at);
        self.power.asked = state == State::Paused;
        if was_gated && state != State::Gated {
            self.ctas.not_before(at.after(u64::from(self.spec.wake_latency)));
        }
        self.ctas.hold(state == State::Paused);
        self.limit_warps();
    }

    /// The last CTA ended in this cycle, or there is none: an SM that was draining is off from the next cycle on.
    pub(super) fn drained(&mut self) {
        let draining = self.power.state == State::Draining || self.power.woken.is_some_and(|woken| woken <= self.now);
        if draining && self.ctas.is_empty() {
            self.enter(State::Gated, self.now.after(1));
        }
    }

    /// A CTA was bound, seen at `at`: a gated SM turns on for it.
    pub(super) fn woken(&mut self, at: Cycle) {
        if self.power.state == State::Gated && self.power.woken.is_none() {
            self.power.woken = Some(at.max(self.power.since));
            self.ctas.not_before(at.after(u64::from(self.spec.wake_latency)));
        }
    }

    /// Tells who paused the SM when nothing is in flight any more.
    pub(super) fn tell_quiet(&mut self, out: &mut Outbox) {
        let quiet = bits(self.warps.live).all(|warp| self.warps.is_quiet(warp) && self.scoreboard.is_clear(warp));
        if quiet {
            self.power.asked = false;
            out.event(self.now, EventKind::SmQuiet(self.id));
        }
    }
}
