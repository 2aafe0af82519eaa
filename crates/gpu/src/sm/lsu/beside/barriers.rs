//! Barriers in shared memory (mbarriers) of the CTAs of an SM, and the warps that wait at them.
//!
//! In: operations that leave the load/store unit, bytes that bulk copies bring. Out: waits that are over. A wait for a phase that is not complete
//! stays here until the phase ends, as the hardware suspends a warp in `try_wait`.

use warpshard_stats::activity::BesideChange;
use warpshard_workload::{BarrierAccess, BarrierOp, Mbarrier};

use super::super::super::core::Core;
use super::super::SharedAnswer;

/// A barrier of the CTA in a slot.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Placed {
    cta: u8,
    address: u32,
    state: Mbarrier,
}

/// A warp that waits, with the phases that are not complete.
#[derive(Clone, Debug, warpshard_state::State)]
struct Waiting {
    cta: u8,
    phases: Vec<(u32, bool)>,
    answer: SharedAnswer,
}

/// The barriers of an SM.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct Barriers {
    all: Vec<Placed>,
    waiting: Vec<Waiting>,
}

/// The byte of the shared memory of a CTA: without the number of the CTA in its cluster.
pub(super) fn within(address: u32) -> u32 {
    address & 0x00ff_ffff
}

impl Barriers {
    fn find(&mut self, cta: u8, address: u32) -> Option<&mut Mbarrier> {
        self.all.iter_mut().find(|placed| (placed.cta, placed.address) == (cta, address)).map(|placed| &mut placed.state)
    }

    /// Applies an operation that is no wait; returns whether a phase ended.
    pub(super) fn apply(&mut self, cta: u8, access: BarrierAccess) -> bool {
        let address = within(access.address);
        match (access.op, self.find(cta, address)) {
            (BarrierOp::Write(word), Some(state)) => *state = Mbarrier::of(word),
            (BarrierOp::Write(word), None) => self.all.push(Placed { cta, address, state: Mbarrier::of(word) }),
            (BarrierOp::Arrive { arrivals, bytes, drops }, Some(state)) => {
                if drops {
                    state.arrivals = state.arrivals.saturating_sub(arrivals.into());
                }
                return state.arrive(arrivals.into(), bytes.into());
            }
            (BarrierOp::AfterCopies { arrivals, bytes }, Some(state)) => return state.arrive(arrivals.into(), bytes.into()),
            // One that nobody initialised by an operation of its own, as before Hopper, is not followed.
            (BarrierOp::Arrive { .. } | BarrierOp::AfterCopies { .. }, None) | (BarrierOp::Wait(_) | BarrierOp::Look, _) => {}
        }
        false
    }

    /// A phase of a barrier has just ended: recorded where a recording wants it.
    pub(super) fn note_end(&self, cta: u8, address: u32, core: &mut Core) {
        let address = within(address);
        let state = || self.all.iter().find(|placed| (placed.cta, placed.address) == (cta, address));
        core.note_beside(cta, || BesideChange::PhaseEnds { address, parity: state().is_some_and(|placed| !placed.state.phase) });
    }

    /// Bytes of a copy have come; returns whether a phase ended.
    pub(super) fn complete(&mut self, cta: u8, address: u32, bytes: u32) -> bool {
        self.find(cta, within(address)).is_some_and(|state| state.arrive(0, -i64::from(bytes)))
    }

    /// The phases among `accesses` that a warp of a CTA has to wait for.
    pub(super) fn incomplete(&mut self, cta: u8, accesses: &[BarrierAccess]) -> Vec<(u32, bool)> {
        let mut phases = Vec::new();
        for access in accesses {
            if let BarrierOp::Wait(parity) = access.op
                && self.find(cta, within(access.address)).is_some_and(|state| state.phase == parity)
            {
                phases.push((within(access.address), parity));
            }
        }
        phases
    }

    /// A warp waits for phases; `answer` ends its instruction.
    pub(super) fn wait(&mut self, cta: u8, phases: Vec<(u32, bool)>, answer: SharedAnswer) {
        self.waiting.push(Waiting { cta, phases, answer });
    }

    /// Takes out the next wait that is over; asked for after a phase ended until there is none.
    pub(super) fn next_over(&mut self) -> Option<SharedAnswer> {
        let Self { all, waiting } = self;
        let incomplete = |cta: u8, (address, parity): (u32, bool)| {
            all.iter().any(|placed| (placed.cta, placed.address) == (cta, address) && placed.state.phase == parity)
        };
        let at = waiting.iter().position(|wait| !wait.phases.iter().any(|phase| incomplete(wait.cta, *phase)))?;
        Some(waiting.remove(at).answer)
    }

    /// Whether a warp of `warps` waits.
    pub(super) fn holds(&self, warps: u64) -> bool {
        self.waiting.iter().any(|wait| warps >> wait.answer.warp & 1 != 0)
    }

    /// Nothing of `warps` waits any more.
    pub(super) fn squash(&mut self, warps: u64) {
        self.waiting.retain(|wait| warps >> wait.answer.warp & 1 == 0);
    }

    /// Who waits for what, for reports of a standstill.
    pub(super) fn describe(&self, lines: &mut Vec<String>) {
        for wait in &self.waiting {
            for (address, parity) in &wait.phases {
                let state = self.all.iter().find(|placed| (placed.cta, placed.address) == (wait.cta, *address));
                let lacks = state.map_or_else(String::new, |placed| {
                    format!(", which lacks {} arrivals and {} bytes", placed.state.missing, placed.state.bytes)
                });
                lines.push(format!(
                    "warp {} waits for phase {} of the barrier at {address:#x} of shared memory{lacks}",
                    wait.answer.warp,
                    u8::from(*parity)
                ));
            }
        }
    }
}
