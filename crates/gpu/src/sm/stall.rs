//! Stall reasons: why a scheduler issued nothing, one reason per scheduler and cycle, from a closed list with a priority.
//!
//! The reasons of a run sum to schedulers x cycles.

/// What a scheduler did in a cycle. Of several reasons that hold for its warps, the first of this list counts: the nearer a
/// warp was to issuing, the earlier its reason stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
#[repr(u8)]
pub enum StallReason {
    /// It issued.
    Issued,
    /// A memory instruction could issue, but the register before the load/store unit's collectors is taken.
    MemoryPipelineFull,
    /// Another instruction could issue, but the register before its unit's collectors is taken, and the oldest instruction in it finds no collector:
    /// memory instructions hold at least half of those of its sub-core.
    MemoryHoldsCollectors,
    /// Another instruction could issue, but the register before its unit's collectors is taken.
    PipelineFull,
    /// A warp waits for a register that a memory instruction will write.
    ScoreboardMemory,
    /// A warp waits for a register that a fixed-latency unit will write.
    ScoreboardAlu,
    /// A warp waits at a memory fence or for an atomic.
    Fence,
    /// A warp waits at a barrier of its CTA or cluster, or for the end of the launch before its own (griddepcontrol.wait).
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

    /// Whether a warp could issue but for a register before the collectors.
    #[inline]
    pub(super) fn waits_for_collectors(self) -> bool {
        matches!(self, Self::MemoryPipelineFull | Self::MemoryHoldsCollectors | Self::PipelineFull)
    }
}

/// Scheduler cycles by reason, indexed by `StallReason as usize`.
pub type StallCounts = [u64; StallReason::COUNT];
