//! Why a scheduler issues nothing, for which kernel, and spans in which that stays so.
//!
//! A reason depends on the masks of the warps and, where a pipeline is full, on who holds the collectors, a change of which wakes the scheduler. So it
//! holds until one of them changes: it is counted when it ends, not every cycle. It is counted for one kernel: that of the oldest warp for which it holds.
//! Cycles in which no scheduler of the SM issues and all that have warps are stalled are counted, too.
//!
//! Invariant: in every cycle from `since[s]` up to the present, scheduler s did `doing[s]`, and none of it is counted.

use warpshard_base::Cycle;

use super::super::MAX_SCHEDULERS;
use super::super::core::{Core, Warps, bits};
use super::super::counters::SmStats;
use super::super::kinds::UnitKind;
use super::super::stall::StallReason;

/// The row of counts of schedulers without warps; those of kernels follow.
const NOBODYS: u32 = 0;

/// Why the scheduler of the warp slots `supervised` issues nothing in the present state, and the warps for which that holds. `kept_out` are the kinds
/// that wait for collectors of memory instructions, from [`super::Operands::kept_out`]: the stall is charged to what holds the collectors.
#[inline]
pub(super) fn stall_reason(warps: &Warps, supervised: u64, kept_out: u16) -> (StallReason, u64) {
    let mine = warps.live & supervised;
    if mine == 0 {
        return (StallReason::NoWarps, 0);
    }
    let decoded = warps.valid & mine;
    let candidates = decoded & !warps.waiting() & warps.allowed;
    let ready = candidates & !warps.hazard;
    if ready != 0 {
        let memory = ready & warps.of_kind[UnitKind::Mem as usize];
        let held_up = ready & warps.of_kinds(kept_out);
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

/// Where it is counted what a scheduler does: the row of the kernel of the oldest of `warps`, or [`NOBODYS`] where there are none.
#[inline]
pub(super) fn row_of(core: &Core, warps: u64) -> u32 {
    if warps == 0 {
        return NOBODYS;
    }
    core.ctas.only_kernel().map_or_else(|| row_of_oldest(core, warps), |kernel| kernel.0 + 1)
}

#[cold]
fn row_of_oldest(core: &Core, warps: u64) -> u32 {
    let oldest = bits(warps).min_by_key(|&warp| core.warps.age[warp]);
    oldest.map_or(NOBODYS, |warp| core.kernel_of(warp).0 + 1)
}

/// What each scheduler does for which kernel, and since which cycle that is not counted.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct Spans {
    doing: [StallReason; MAX_SCHEDULERS],
    /// The row in which that is counted.
    row: [u32; MAX_SCHEDULERS],
    since: [Cycle; MAX_SCHEDULERS],
    /// `stalled_core_cycles` is counted up to this cycle.
    core_since: Cycle,
}

/// Sets of reasons, a bit for each. With these a scheduler issues, or its warps are throttled or wait for instructions.
const BUSY: u32 = 1 << StallReason::Issued as u32 | 1 << StallReason::Throttled as u32 | 1 << StallReason::InstructionBufferEmpty as u32;
/// With these its warps are stalled.
const STALLED: u32 = !(BUSY | 1 << StallReason::NoWarps as u32);

const _: () = assert!(StallReason::COUNT <= 32);

impl Spans {
    pub(super) fn new() -> Self {
        let (doing, since) = ([StallReason::NoWarps; MAX_SCHEDULERS], [Cycle(0); MAX_SCHEDULERS]);
        Self { doing, row: [NOBODYS; MAX_SCHEDULERS], since, core_since: Cycle(0) }
    }

    /// What a scheduler does.
    #[inline]
    pub(super) fn reason(&self, scheduler: usize) -> StallReason {
        self.doing[scheduler]
    }

    /// A scheduler does something else from cycle `now` on, which is counted in `row` of the counts by reason. What all of them did before is
    /// counted for the SM: [`Spans::count_core`].
    // Called from two places, of which one is the hottest of an SM.
    #[inline(always)]
    pub(super) fn begin(&mut self, scheduler: usize, (reason, row): (StallReason, u32), now: Cycle, counters: &mut SmStats) {
        debug_assert!(self.core_since == now, "a scheduler does something else before the cycles of the SM are counted");
        let since = std::mem::replace(&mut self.since[scheduler], now);
        let before = std::mem::replace(&mut self.doing[scheduler], reason);
        let of_before = std::mem::replace(&mut self.row[scheduler], row);
        counters.stalls.at(of_before as usize)[before as usize] += now.0 - since.0;
    }

    /// Counts the cycles before `now` in which all of the SM is stalled.
    #[inline]
    pub(super) fn count_core(&mut self, now: Cycle, counters: &mut SmStats) {
        let since = std::mem::replace(&mut self.core_since, now);
        // Schedulers that the machine has not got have no warps.
        let reasons = self.doing.iter().fold(0, |reasons, doing| reasons | 1 << *doing as u32);
        let stalled = (reasons & BUSY == 0) & (reasons & STALLED != 0);
        counters.sm.stalled_core_cycles += (now.0 - since.0) * u64::from(stalled);
    }

    /// Counts all spans up to cycle `now`.
    pub(super) fn close(&mut self, schedulers: usize, now: Cycle, counters: &mut SmStats) {
        self.count_core(now, counters);
        for scheduler in 0..schedulers {
            self.begin(scheduler, (self.doing[scheduler], self.row[scheduler]), now, counters);
        }
    }
}
