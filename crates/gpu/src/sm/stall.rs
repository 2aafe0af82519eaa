//! Stall reasons of schedulers: one reason per scheduler and cycle, from a fixed list with a priority.
//!
//! The reasons of a run sum to schedulers x cycles.

/// The activity of a scheduler in a cycle. If several reasons apply to its warps, the first one of this list counts: reasons are ordered by
/// distance from issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
#[repr(u8)]
pub enum StallReason {
    /// The scheduler issued an instruction.
    Issued,
    /// A memory instruction could issue, but the register before the collectors of the load/store unit is full.
    MemoryPipelineFull,
    /// Another instruction could issue, but the register before the collectors of its unit is full, and the oldest instruction in it finds
    /// no collector: memory instructions occupy at least half of the collectors of its sub-core.
    MemoryHoldsCollectors,
    /// Another instruction could issue, but the register before the collectors of its unit is full.
    PipelineFull,
    /// A warp waits for a register that a memory instruction writes.
    ScoreboardMemory,
    /// A warp waits for a register that a fixed-latency unit writes.
    ScoreboardAlu,
    /// A warp waits at a memory fence or for an atomic.
    Fence,
    /// A warp waits at a barrier of its CTA or cluster, or for the end of the preceding launch (griddepcontrol.wait).
    Barrier,
    /// A warp has an instruction but exceeds the limit of warps.
    Throttled,
    /// The instruction buffer of a warp is empty.
    InstructionBufferEmpty,
    /// All warps have issued their last instruction, and at least one is not finished.
    Draining,
    /// The scheduler has no warps.
    NoWarps,
}

impl StallReason {
    /// Number of reasons.
    pub const COUNT: usize = 12;
    /// All reasons, by priority.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Issued,
        Self::MemoryPipelineFull,
        Self::MemoryHoldsCollectors,
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

    /// Returns true if a warp could issue except for a full register before the collectors.
    #[inline]
    pub(super) fn waits_for_collectors(self) -> bool {
        matches!(self, Self::MemoryPipelineFull | Self::MemoryHoldsCollectors | Self::PipelineFull)
    }
}

/// Scheduler cycles by reason, indexed by `StallReason as usize`.
pub type StallCounts = [u64; StallReason::COUNT];
