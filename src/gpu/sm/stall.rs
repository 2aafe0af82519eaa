//! Stall reasons: why a scheduler issued nothing, one reason per scheduler and cycle, from a closed list with a priority.
//!
//! The reasons of a run sum to schedulers x cycles. A reason depends only on the masks of the warps, so it holds until
//! one of them changes: it is counted when it ends, not every cycle, and so are resident warps.
//!
//! Invariant: in every cycle from `doing_since[s]` up to the present, scheduler s did `doing[s]`, and none of it is counted.

use super::Sm;
use super::units::UnitKind;
use crate::base::Cycle;

/// What a scheduler did in a cycle. Of several reasons that hold for its warps, the first of this list counts: the nearer a
/// warp was to issuing, the earlier its reason stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum StallReason {
    /// It issued.
    Issued,
    /// A memory instruction could issue, but the register before the load/store unit's collectors is taken.
    MemoryPipelineFull,
    /// Another instruction could issue, but the register before its unit's collectors is taken.
    PipelineFull,
    /// A warp waits for a register that a memory instruction will write.
    ScoreboardMemory,
    /// A warp waits for a register that a fixed-latency unit will write.
    ScoreboardAlu,
    /// A warp waits at a memory fence or for an atomic.
    Fence,
    /// A warp waits at a CTA barrier.
    Barrier,
    /// A warp has an instruction but is beyond the limit of warps.
    Throttled,
    /// A warp's instruction buffer is empty.
    InstructionBufferEmpty,
    /// All warps issued their last instruction; some is not finished.
    Draining,
    /// The scheduler has no warps.
    NoWarps,
}

impl StallReason {
    /// How many reasons there are.
    pub const COUNT: usize = 11;
    /// All reasons, by priority.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Issued,
        Self::MemoryPipelineFull,
        Self::PipelineFull,
        Self::ScoreboardMemory,
        Self::ScoreboardAlu,
        Self::Fence,
        Self::Barrier,
        Self::Throttled,
        Self::InstructionBufferEmpty,
        Self::Draining,
        Self::NoWarps,
    ];

    /// Whether a warp could issue but for a register before the collectors.
    #[inline]
    pub(super) fn waits_for_collectors(self) -> bool {
        matches!(self, Self::MemoryPipelineFull | Self::PipelineFull)
    }
}

/// Scheduler cycles by reason, indexed by `StallReason as usize`.
pub type StallCounts = [u64; StallReason::COUNT];

impl Sm {
    /// Why the scheduler issues nothing in the present state.
    #[inline]
    pub(super) fn stall_reason(&self, scheduler: usize) -> StallReason {
        let warps = &self.warps;
        let mine = warps.live & self.supervised[scheduler];
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

    /// A scheduler does something else from the present cycle on.
    #[inline]
    pub(super) fn begin_span(&mut self, scheduler: usize, reason: StallReason) {
        let since = std::mem::replace(&mut self.doing_since[scheduler], self.now);
        let before = std::mem::replace(&mut self.doing[scheduler], reason);
        self.counters.stalls[before as usize] += self.now.0 - since.0;
    }

    /// Counts the resident warps of every cycle before `until` that they were not counted for yet.
    pub(super) fn count_residency(&mut self, until: Cycle) {
        self.counters.sm.resident_warp_cycles += u64::from(self.warps.live.count_ones()) * (until.0 - self.live_since.0);
        self.live_since = until;
    }

    /// Counts all spans up to the present.
    pub(super) fn close_spans(&mut self) {
        for scheduler in 0..self.spec.schedulers as usize {
            self.begin_span(scheduler, self.doing[scheduler]);
        }
        self.count_residency(self.now);
        self.counters.sm.cycles = self.now.0;
        self.counters.sm.active_cycles = self.active_cycle();
    }
}
