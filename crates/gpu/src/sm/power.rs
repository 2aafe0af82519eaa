//! The power states of an SM: active, paused, draining, power-gated.
//!
//! In: decisions at cuts, and the state of the SM. Out: permission for warps to issue and for CTAs to start, the event that a paused SM has
//! drained, and the cycles spent paused and gated.
//!
//! A paused SM issues nothing and starts no CTA, but keeps its state; when the instructions in flight have completed, it sends an event. An
//! SM that is to be gated first finishes its resident and bound CTAs, and is off from the cycle after the end of the last one. A CTA that
//! was bound before the grid scheduler received the decision wakes the SM after the wake latency, and so does a decision to activate it.

use warpshard_base::Cycle;
use warpshard_protocol::{EventKind, Outbox, PowerState};

use super::core::Core;
use super::starts::CtaStage;

#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum State {
    Active,
    Paused,
    Draining,
    Gated,
}

/// The power state of an SM, with the cycle of its start.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct SmPower {
    state: State,
    /// The first cycle of the state that is not counted.
    since: Cycle,
    /// Cycles with a resident CTA when the state was entered or last counted.
    resident_cycles: u64,
    /// The cycle from which a gated SM drains again, because a CTA was bound to it.
    woken: Option<Cycle>,
    /// True if an event is to be sent when nothing is in flight.
    event_pending: bool,
}

impl SmPower {
    pub(super) fn new() -> Self {
        Self { state: State::Active, since: Cycle(0), resident_cycles: 0, woken: None, event_pending: false }
    }

    /// Returns true if an event is to be sent when the SM has drained.
    #[inline]
    pub(super) fn is_event_pending(self) -> bool {
        self.event_pending
    }

    /// Counts the cycles of the state up to `at`.
    pub(super) fn count(&mut self, at: Cycle, core: &mut Core) {
        let (resident, counters) = (core.active_cycle(), &mut core.counters.sm);
        if let Some(woken) = self.woken.take_if(|woken| *woken <= at) {
            counters.gated_cycles += woken.0 - self.since.0;
            (self.state, self.since) = (State::Draining, woken);
        }
        let cycles = at.0 - self.since.0;
        match self.state {
            State::Paused => {
                counters.paused_cycles += cycles;
                counters.paused_resident_cycles += resident - self.resident_cycles;
            }
            State::Gated => counters.gated_cycles += cycles,
            State::Active | State::Draining => {}
        }
        (self.since, self.resident_cycles) = (at, resident);
    }

    fn enter(&mut self, state: State, at: Cycle, core: &mut Core) {
        self.count(at, core);
        self.state = state;
        self.woken = None;
    }

    /// Applies a decision at cycle `at`, the present; returns true if warps may not issue from now on.
    pub(super) fn apply_decision(&mut self, at: Cycle, wanted: PowerState, core: &mut Core, starts: &mut CtaStage) -> bool {
        self.count(at, core);
        let was_gated = self.state == State::Gated && self.woken.is_none();
        let empty = core.ctas.resident_count() == 0 && starts.is_empty();
        let state = match wanted {
            PowerState::Active => State::Active,
            PowerState::Paused => State::Paused,
            PowerState::Gated if empty => State::Gated,
            PowerState::Gated => State::Draining,
        };
        self.enter(state, at, core);
        let paused = state == State::Paused;
        self.event_pending = paused;
        if was_gated && state != State::Gated {
            starts.delay_until(at.after(u64::from(core.spec.wake_latency)));
        }
        starts.set_held(paused);
        paused
    }

    /// Handles the end of the last CTA in this cycle: a draining SM is off from the next cycle on, unless another CTA is bound.
    pub(super) fn handle_drained(&mut self, core: &mut Core, starts: &CtaStage) {
        let draining = self.state == State::Draining || self.woken.is_some_and(|woken| woken <= core.now);
        if draining && core.ctas.resident_count() == 0 && starts.is_empty() {
            self.enter(State::Gated, core.now.after(1), core);
        }
    }

    /// Handles a CTA bound at `at`: a gated SM turns on for it.
    pub(super) fn cta_bound(&mut self, at: Cycle, core: &Core, starts: &mut CtaStage) {
        if self.state == State::Gated && self.woken.is_none() {
            self.woken = Some(at.max(self.since));
            starts.delay_until(at.after(u64::from(core.spec.wake_latency)));
        }
    }

    /// Sends the event that a paused SM has no operation in flight.
    pub(super) fn report_quiet(&mut self, core: &Core, out: &mut Outbox) {
        if core.is_quiet(u64::MAX) {
            self.event_pending = false;
            out.event(core.now, EventKind::SmQuiet(core.id));
        }
    }
}
