//! Why a scheduler issued nothing: one reason per scheduler and cycle, from a closed list with a priority.
//!
//! The reasons of a run sum to schedulers x cycles. A reason follows from the masks of the warps alone, so it holds for a
//! whole span in which nothing happens.

use super::Sm;
use super::units::UnitKind;

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

    /// Counts a span of `cycles` in which nothing happens.
    pub(super) fn count_span(&mut self, cycles: u64) {
        for scheduler in 0..self.spec.schedulers as usize {
            let reason = self.stall_reason(scheduler);
            self.counters.stalls[reason as usize] += cycles;
        }
        self.counters.sm.cycles += cycles;
        self.counters.sm.resident_warp_cycles += cycles * u64::from(self.warps.live.count_ones());
        if self.ctas.resident() > 0 {
            self.counters.sm.active_cycles += cycles;
        }
    }
}
