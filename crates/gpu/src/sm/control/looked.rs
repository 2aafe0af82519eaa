//! What each warp of a sub-core waited for at the last look.

use super::super::stall::StallReason;

/// What keeps a warp from issuing; the nearer it is to issuing, the earlier it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Standing {
    /// Nothing.
    Eligible,
    /// The queue of memory instructions.
    QueueFull,
    /// The pipe, or the control stage.
    PipeBusy,
    /// The result of a memory instruction.
    Memory,
    /// The result of an arithmetic instruction, or the stall count of its last instruction.
    Arithmetic,
    /// A fence, or an atomic.
    Fence,
    /// A barrier, or the end of the launch before its own.
    Barrier,
    /// A limit of warps.
    Throttled,
    /// Its instruction is not there.
    NoInstruction,
}

impl Standing {
    const COUNT: usize = 9;

    /// The reason of a cycle in which no warp issues, by the standing of the warp that is nearest to it.
    const REASONS: [StallReason; Self::COUNT] = [
        StallReason::Issued,
        StallReason::MemoryPipelineFull,
        StallReason::PipelineFull,
        StallReason::ScoreboardMemory,
        StallReason::ScoreboardAlu,
        StallReason::Fence,
        StallReason::Barrier,
        StallReason::Throttled,
        StallReason::InstructionBufferEmpty,
    ];
}

/// The unfinished warps of a sub-core by what they wait for, as sets of slots.
///
/// A warp keeps its place until an event touches it or its time comes (`WarpControl::again_at`). Room in the sub-core is checked in every look, because
/// other warps change it.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct Looked {
    pub(super) sets: [u64; Standing::COUNT],
    /// The next cycle in which a warp of the sub-core may become eligible, unless an event changes one before.
    pub(super) again_at: u64,
}

impl Looked {
    /// The warps that may issue.
    #[inline]
    pub(super) fn eligible(&self) -> u64 {
        self.sets[Standing::Eligible as usize]
    }

    /// The warps that wait for nothing, or for room in their sub-core: what other warps do changes that.
    #[inline]
    pub(super) fn ready(&self) -> u64 {
        self.eligible() | self.sets[Standing::QueueFull as usize] | self.sets[Standing::PipeBusy as usize]
    }

    /// Why nothing issues, and the warps for which that holds; `live` are the warps of the sub-core, with those that finished.
    pub(super) fn reason(&self, live: u64) -> (StallReason, u64) {
        let all = Standing::REASONS.into_iter().zip(self.sets).skip(1);
        all.chain([(StallReason::Draining, live)]).find(|(_, warps)| *warps != 0).unwrap_or((StallReason::NoWarps, 0))
    }
}
