//! Why a scheduler issues nothing, for which kernel, and spans in which that stays so.
//!
//! A reason depends only on the masks of the warps, so it holds until one of them changes: it is counted when it ends, not every cycle. It is
//! counted for one kernel: that of the oldest warp for which it holds.
//!
//! Invariant: in every cycle from `since[s]` up to the present, scheduler s did `doing[s]`, and none of it is counted.

use warpshard_base::Cycle;

use super::super::MAX_SCHEDULERS;
use super::super::core::{Core, Warps, bits};
use super::super::kinds::UnitKind;
use super::super::stall::{StallCounts, StallReason};

/// In place of a kernel: the scheduler has no warps.
const NOBODY: u16 = u16::MAX;

/// Why the scheduler of the warp slots `supervised` issues nothing in the present state, and the warps for which that holds.
#[inline]
pub(super) fn stall_reason(warps: &Warps, supervised: u64) -> (StallReason, u64) {
    let mine = warps.live & supervised;
    if mine == 0 {
        return (StallReason::NoWarps, 0);
    }
    let decoded = warps.valid & mine;
    let candidates = decoded & !warps.waiting() & warps.allowed;
    let ready = candidates & !warps.hazard;
    if ready != 0 {
        let memory = ready & warps.of_kind[UnitKind::Mem as usize];
        return if memory != 0 { (StallReason::MemoryPipelineFull, memory) } else { (StallReason::PipelineFull, ready) };
    }
    if candidates != 0 {
        let memory = candidates & warps.hazard_memory;
        return if memory != 0 { (StallReason::ScoreboardMemory, memory) } else { (StallReason::ScoreboardAlu, candidates) };
    }
    let fenced = mine & (warps.at_fence | warps.at_atomic);
    let (at_barrier, unfinished) = (mine & warps.at_barrier, mine & !warps.finished);
    if fenced != 0 {
        (StallReason::Fence, fenced)
    } else if at_barrier != 0 {
        (StallReason::Barrier, at_barrier)
    } else if decoded != 0 {
        (StallReason::Throttled, decoded)
    } else if unfinished != 0 {
        (StallReason::InstructionBufferEmpty, unfinished)
    } else {
        (StallReason::Draining, mine)
    }
}

/// For whom a scheduler does what it does: the kernel of the oldest of `warps`, or [`NOBODY`] where there are none.
#[inline]
pub(super) fn on_behalf_of(core: &Core, warps: u64) -> u16 {
    match core.ctas.only_kernel() {
        _ if warps == 0 => NOBODY,
        Some(kernel) => kernel.0,
        None => kernel_of_oldest(core, warps),
    }
}

#[cold]
fn kernel_of_oldest(core: &Core, warps: u64) -> u16 {
    let oldest = bits(warps).min_by_key(|&warp| core.warps.age[warp]);
    oldest.map_or(NOBODY, |warp| core.kernel_of(warp).0)
}

/// What each scheduler does for which kernel, and since which cycle that is not counted.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct Spans {
    doing: [StallReason; MAX_SCHEDULERS],
    /// The kernel, or [`NOBODY`].
    kernel: [u16; MAX_SCHEDULERS],
    since: [Cycle; MAX_SCHEDULERS],
}

impl Spans {
    pub(super) fn new() -> Self {
        let (doing, since) = ([StallReason::NoWarps; MAX_SCHEDULERS], [Cycle(0); MAX_SCHEDULERS]);
        Self { doing, kernel: [NOBODY; MAX_SCHEDULERS], since }
    }

    /// A scheduler does something else from cycle `now` on, for `kernel` or [`NOBODY`]. The last of `counts` are nobody's.
    #[inline]
    pub(super) fn begin(&mut self, scheduler: usize, (reason, kernel): (StallReason, u16), now: Cycle, counts: &mut [StallCounts]) {
        let since = std::mem::replace(&mut self.since[scheduler], now);
        let before = std::mem::replace(&mut self.doing[scheduler], reason);
        let whose = std::mem::replace(&mut self.kernel[scheduler], kernel);
        let nobody = counts.len() - 1;
        counts[usize::from(whose).min(nobody)][before as usize] += now.0 - since.0;
    }

    /// Counts all spans up to cycle `now`.
    pub(super) fn close(&mut self, schedulers: usize, now: Cycle, counts: &mut [StallCounts]) {
        for scheduler in 0..schedulers {
            self.begin(scheduler, (self.doing[scheduler], self.kernel[scheduler]), now, counts);
        }
    }
}
