//! Barriers in shared memory (mbarriers) of the CTAs of an SM, and the warps that wait at them.
//!
//! In: operations that leave the load/store unit, and bytes that bulk copies deliver. Out: completed waits. A wait for an incomplete phase
//! stays here until the phase ends, as the hardware suspends a warp in `try_wait`.

use warpshard_stats::activity::AsyncEventKind;
use warpshard_workload::{BarrierAccess, BarrierOp, Mbarrier};

use super::super::super::core::Core;
use super::super::SharedResult;

/// A barrier and the slot of its CTA.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct PlacedBarrier {
    cta: u8,
    address: u32,
    state: Mbarrier,
}

/// A waiting warp and the incomplete phases for which it waits.
#[derive(Clone, Debug, warpshard_state::State)]
struct WaitingWarp {
    cta: u8,
    phases: Vec<(u32, bool)>,
    result: SharedResult,
}

/// The barriers of an SM.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct Barriers {
    placed_barriers: Vec<PlacedBarrier>,
    waiting_warps: Vec<WaitingWarp>,
}

/// Returns the address within the shared memory of a CTA, without the rank of the CTA in its cluster.
pub(super) fn address_in_cta(address: u32) -> u32 {
    address & 0x00ff_ffff
}

impl Barriers {
    fn find(&mut self, cta: u8, address: u32) -> Option<&mut Mbarrier> {
        self.placed_barriers.iter_mut().find(|placed| (placed.cta, placed.address) == (cta, address)).map(|placed| &mut placed.state)
    }

    /// Applies an operation other than a wait; returns true if a phase ended.
    pub(super) fn apply(&mut self, cta: u8, access: BarrierAccess) -> bool {
        let address = address_in_cta(access.address);
        match (access.op, self.find(cta, address)) {
            (BarrierOp::Write(word), Some(state)) => *state = Mbarrier::of(word),
            (BarrierOp::Write(word), None) => self.placed_barriers.push(PlacedBarrier { cta, address, state: Mbarrier::of(word) }),
            (BarrierOp::Arrive { arrivals, bytes, drops }, Some(state)) => {
                if drops {
                    state.arrivals = state.arrivals.saturating_sub(arrivals.into());
                }
                return state.arrive(arrivals.into(), bytes.into());
            }
            (BarrierOp::AfterCopies { arrivals, bytes }, Some(state)) => return state.arrive(arrivals.into(), bytes.into()),
            // A barrier that no operation initialised, as before Hopper, is not tracked.
            (BarrierOp::Arrive { .. } | BarrierOp::AfterCopies { .. }, None) | (BarrierOp::Wait(_) | BarrierOp::Look, _) => {}
        }
        false
    }

    /// Records that a phase of a barrier has just ended, if a recording needs it.
    pub(super) fn note_end(&self, cta: u8, address: u32, core: &mut Core) {
        let address = address_in_cta(address);
        let state = || self.placed_barriers.iter().find(|placed| (placed.cta, placed.address) == (cta, address));
        core.record_async(cta, || AsyncEventKind::PhaseEnds { address, parity: state().is_some_and(|placed| !placed.state.phase) });
    }

    /// Adds the delivered bytes of a copy; returns true if a phase ended.
    pub(super) fn complete(&mut self, cta: u8, address: u32, bytes: u32) -> bool {
        self.find(cta, address_in_cta(address)).is_some_and(|state| state.arrive(0, -i64::from(bytes)))
    }

    /// Returns the phases among `accesses` for which a warp of a CTA has to wait.
    pub(super) fn incomplete_phases(&mut self, cta: u8, accesses: &[BarrierAccess]) -> Vec<(u32, bool)> {
        let mut phases = Vec::new();
        for access in accesses {
            if let BarrierOp::Wait(parity) = access.op
                && self.find(cta, address_in_cta(access.address)).is_some_and(|state| state.phase == parity)
            {
                phases.push((address_in_cta(access.address), parity));
            }
        }
        phases
    }

    /// Adds a warp that waits for phases; `result` completes its instruction.
    pub(super) fn wait(&mut self, cta: u8, phases: Vec<(u32, bool)>, result: SharedResult) {
        self.waiting_warps.push(WaitingWarp { cta, phases, result });
    }

    /// Removes and returns the next completed wait; called after the end of a phase until none remains.
    pub(super) fn next_over(&mut self) -> Option<SharedResult> {
        let Self { placed_barriers: all, waiting_warps: waiting } = self;
        let incomplete = |cta: u8, (address, parity): (u32, bool)| {
            all.iter().any(|placed| (placed.cta, placed.address) == (cta, address) && placed.state.phase == parity)
        };
        let at = waiting.iter().position(|wait| !wait.phases.iter().any(|phase| incomplete(wait.cta, *phase)))?;
        Some(waiting.remove(at).result)
    }

    /// Returns true if a warp of `warps` waits.
    pub(super) fn holds(&self, warps: u64) -> bool {
        self.waiting_warps.iter().any(|wait| warps >> wait.result.warp & 1 != 0)
    }

    /// Discards the waits of `warps`.
    pub(super) fn squash(&mut self, warps: u64) {
        self.waiting_warps.retain(|wait| warps >> wait.result.warp & 1 == 0);
    }

    /// Adds a description of each waiting warp to `lines`, for the deadlock report.
    pub(super) fn describe(&self, lines: &mut Vec<String>) {
        for wait in &self.waiting_warps {
            for (address, parity) in &wait.phases {
                let state = self.placed_barriers.iter().find(|placed| (placed.cta, placed.address) == (wait.cta, *address));
                let lacks = state.map_or_else(String::new, |placed| {
                    format!(", which lacks {} arrivals and {} bytes", placed.state.missing, placed.state.bytes)
                });
                lines.push(format!(
                    "warp {} waits for phase {} of the barrier at {address:#x} of shared memory{lacks}",
                    wait.result.warp,
                    u8::from(*parity)
                ));
            }
        }
    }
}
