//! Why a scheduler issues nothing, and spans in which that stays so.
//!
//! A reason depends only on the masks of the warps, so it holds until one of them changes: it is counted when it ends, not every cycle.
//!
//! Invariant: in every cycle from `since[s]` up to the present, scheduler s did `doing[s]`, and none of it is counted.

use crate::base::Cycle;

use super::super::MAX_SCHEDULERS;
use super::super::core::Warps;
use super::super::kinds::UnitKind;
use super::super::stall::{StallCounts, StallReason};

/// Why the scheduler of the warp slots `supervised` issues nothing in the present state.
#[inline]
pub(super) fn stall_reason(warps: &Warps, supervised: u64) -> StallReason {
    let mine = warps.live & supervised;
    if mine == 0 {
        return StallReason::NoWarps;
    }
    let decoded = warps.valid & mine;
    let candidates = decoded & !warps.waiting() & warps.allowed;
    let ready = candidates & !warps.hazard;
    if ready != 0 {
        let memory = ready & warps.of_kind[UnitKind::Mem as usize] != 0;
        return if memory { StallReason::MemoryPipelineFull } else { StallReason::PipelineFull };
    }
    if candidates != 0 {
        let memory = candidates & warps.hazard_memory != 0;
        return if memory { StallReason::ScoreboardMemory } else { StallReason::ScoreboardAlu };
    }
    if mine & (warps.at_fence | warps.at_atomic) != 0 {
        StallReason::Fence
    } else if mine & warps.at_barrier != 0 {
        StallReason::Barrier
    } else if decoded != 0 {
        StallReason::Throttled
    } else if mine & !warps.finished != 0 {
        StallReason::InstructionBufferEmpty
    } else {
        StallReason::Draining
    }
}

/// What each scheduler does, and since which cycle that is not counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spans {
    doing: [StallReason; MAX_SCHEDULERS],
    since: [Cycle; MAX_SCHEDULERS],
}

impl Spans {
    pub(super) fn new() -> Self {
        Self { doing: [StallReason::NoWarps; MAX_SCHEDULERS], since: [Cycle(0); MAX_SCHEDULERS] }
    }

    /// A scheduler does something else from cycle `now` on.
    #[inline]
    pub(super) fn begin(&mut self, scheduler: usize, reason: StallReason, now: Cycle, counts: &mut StallCounts) {
        let since = std::mem::replace(&mut self.since[scheduler], now);
        let before = std::mem::replace(&mut self.doing[scheduler], reason);
        counts[before as usize] += now.0 - since.0;
    }

    /// Counts all spans up to cycle `now`.
    pub(super) fn close(&mut self, schedulers: usize, now: Cycle, counts: &mut StallCounts) {
        for scheduler in 0..schedulers {
            self.begin(scheduler, self.doing[scheduler], now, counts);
        }
    }
}
