//! Stall reasons of the schedulers, the kernels to which they are charged, and spans of constant reason.
//!
//! A reason depends on the masks of the warps and, if a pipeline is full, on the owners of the collectors; a change of either wakes the
//! scheduler. A reason therefore holds until one of them changes, and is counted when it ends, not every cycle. It is charged to the kernel
//! of the oldest warp to which it applies. Cycles in which no scheduler of the SM issues and all schedulers with warps are stalled are also
//! counted.
//!
//! Invariant: in every cycle from `since[s]` up to the present, scheduler s did `doing[s]`, and none of these cycles is counted.

use warpshard_base::Cycle;

use super::super::MAX_SCHEDULERS;
use super::super::core::{Core, Warps, bits};
use super::super::counters::SmStats;
use super::super::kinds::UnitKind;
use super::super::stall::StallReason;

/// The row of schedulers without warps, before the rows of the kernels.
const NO_WARPS_ROW: u32 = 0;

/// Returns the reason why the scheduler of the warp slots `supervised_warps` issues nothing in the present state, and the warps to which it
/// applies. `blocked_by_memory` are the kinds that wait for collectors of memory instructions, from [`super::OperandCollectors::blocked_by_memory`]: the stall is
/// charged to the owners of the collectors.
#[inline]
pub(super) fn stall_reason(warps: &Warps, supervised: u64, blocked_by_memory: u16) -> (StallReason, u64) {
    let mine = warps.live & supervised;
    if mine == 0 {
        return (StallReason::NoWarps, 0);
    }
    let decoded = warps.valid & mine;
    let candidates = decoded & !warps.waiting() & warps.allowed;
    let ready = candidates & !warps.hazard;
    if ready != 0 {
        let memory = ready & warps.of_kind[UnitKind::Mem as usize];
        let held_up = ready & warps.of_kinds(blocked_by_memory);
        return match (memory, held_up) {
            (1.., _) => (StallReason::MemoryPipelineFull, memory),
            (0, 1..) => (StallReason::MemoryHoldsCollectors, held_up),
            (0, 0) => (StallReason::PipelineFull, ready),
        };
    }
    if candidates != 0 {
        let memory = candidates & warps.hazard_memory;
        return if memory != 0 { (StallReason::ScoreboardMemory, memory) } else { (StallReason::ScoreboardAlu, candidates) };
    }
    let fenced = mine & (warps.at_fence | warps.at_atomic);
    let (at_barrier, unfinished) = (mine & warps.at_barrier, mine & !warps.finished);
    if fenced != 0 {
        let copies = fenced & warps.at_copies;
        if copies != 0 { (StallReason::ScoreboardMemory, copies) } else { (StallReason::Fence, fenced) }
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

/// Returns the row in which a scheduler is counted: the row of the kernel of the oldest of `warps`, or [`NO_WARPS_ROW`] if there are none.
#[inline]
pub(super) fn row_of(core: &Core, warps: u64) -> u32 {
    if warps == 0 {
        return NO_WARPS_ROW;
    }
    core.ctas.only_kernel().map_or_else(|| row_of_oldest(core, warps), |kernel| kernel.0 + 1)
}

#[cold]
fn row_of_oldest(core: &Core, warps: u64) -> u32 {
    let oldest = bits(warps).min_by_key(|&warp| core.warps.age[warp]);
    oldest.map_or(NO_WARPS_ROW, |warp| core.kernel_of(warp).0 + 1)
}

/// Reason of each scheduler, with the first cycle that is not counted.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct StallSpans {
    reasons: [StallReason; MAX_SCHEDULERS],
    /// The row in which each scheduler is counted.
    row: [u32; MAX_SCHEDULERS],
    counted_until: [Cycle; MAX_SCHEDULERS],
    /// The cycle up to which `stalled_core_cycles` is counted.
    core_since: Cycle,
}

/// Reasons, a bit for each, with which a scheduler issues, or its warps are throttled or wait for instructions.
const BUSY_REASONS: u32 =
    1 << StallReason::Issued as u32 | 1 << StallReason::Throttled as u32 | 1 << StallReason::InstructionBufferEmpty as u32;
/// Reasons with which the warps of a scheduler are stalled.
const STALLED_REASONS: u32 = !(BUSY_REASONS | 1 << StallReason::NoWarps as u32);

const _: () = assert!(StallReason::COUNT <= 32);

impl StallSpans {
    pub(super) fn new() -> Self {
        let (doing, since) = ([StallReason::NoWarps; MAX_SCHEDULERS], [Cycle(0); MAX_SCHEDULERS]);
        Self { reasons: doing, row: [NO_WARPS_ROW; MAX_SCHEDULERS], counted_until: since, core_since: Cycle(0) }
    }

    /// Returns the reason of a scheduler.
    #[inline]
    pub(super) fn reason(&self, scheduler: usize) -> StallReason {
        self.reasons[scheduler]
    }

    /// Begins another reason of a scheduler in cycle `now`, which is counted in `row` of the counts by reason. [`StallSpans::count_core`] counts
    /// the previous cycles of all schedulers for the SM.
    // There are two callers; one is on the hottest path of an SM.
    #[inline(always)]
    pub(super) fn begin(&mut self, scheduler: usize, (reason, row): (StallReason, u32), now: Cycle, counters: &mut SmStats) {
        debug_assert!(self.core_since == now, "the activity of a scheduler changes before the cycles of the SM are counted");
        let since = std::mem::replace(&mut self.counted_until[scheduler], now);
        let before = std::mem::replace(&mut self.reasons[scheduler], reason);
        let of_before = std::mem::replace(&mut self.row[scheduler], row);
        counters.stalls.at(of_before as usize)[before as usize] += now.0 - since.0;
    }

    /// Counts the cycles before `now` in which the whole SM is stalled.
    #[inline]
    pub(super) fn count_core(&mut self, now: Cycle, counters: &mut SmStats) {
        let since = std::mem::replace(&mut self.core_since, now);
        // Schedulers that the machine does not have are counted as schedulers without warps.
        let reasons = self.reasons.iter().fold(0, |reasons, doing| reasons | 1 << *doing as u32);
        let stalled = (reasons & BUSY_REASONS == 0) & (reasons & STALLED_REASONS != 0);
        counters.sm.stalled_core_cycles += (now.0 - since.0) * u64::from(stalled);
    }

    /// Counts all spans up to cycle `now`.
    pub(super) fn close(&mut self, schedulers: usize, now: Cycle, counters: &mut SmStats) {
        self.count_core(now, counters);
        for scheduler in 0..schedulers {
            self.begin(scheduler, (self.reasons[scheduler], self.row[scheduler]), now, counters);
        }
    }
}
