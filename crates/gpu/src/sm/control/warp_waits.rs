//! Wait conditions of the warps of a sub-core at the last examination.

use super::super::stall::StallReason;

/// Conditions that keep a warp from issuing, ordered by distance from issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum WaitClass {
    /// The warp can issue.
    Eligible,
    /// The queue of memory instructions is full.
    QueueFull,
    /// The pipe or the control stage is busy.
    PipeBusy,
    /// The warp waits for the result of a memory instruction.
    Memory,
    /// The warp waits for the result of an arithmetic instruction, or for the stall count of its last instruction.
    Arithmetic,
    /// The warp waits at a fence or an atomic.
    Fence,
    /// The warp waits at a barrier, or for the end of the preceding launch.
    Barrier,
    /// A limit on warps excludes the warp.
    Throttled,
    /// The next instruction of the warp has not arrived.
    NoInstruction,
}

impl WaitClass {
    const COUNT: usize = 9;

    /// Stall reasons of a cycle without issue, by the least `WaitClass` of the warps.
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

/// The unfinished warps of a sub-core by wait condition, as sets of slots.
///
/// A warp keeps its condition until an event affects it or its time comes (`WarpControl::retry_at`). Resources of the sub-core are checked
/// at every examination, because other warps change them.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct WarpWaits {
    pub(super) sets: [u64; WaitClass::COUNT],
    /// The next cycle in which a warp of the sub-core may become eligible without an event.
    pub(super) retry_at: u64,
}

impl WarpWaits {
    /// Returns the warps that may issue.
    #[inline]
    pub(super) fn eligible(&self) -> u64 {
        self.sets[WaitClass::Eligible as usize]
    }

    /// Returns the warps that wait for nothing, or only for resources of their sub-core, which other warps occupy and release.
    #[inline]
    pub(super) fn ready(&self) -> u64 {
        self.eligible() | self.sets[WaitClass::QueueFull as usize] | self.sets[WaitClass::PipeBusy as usize]
    }

    /// Returns the stall reason and the warps to which it applies; `live` are the warps of the sub-core, finished ones included.
    pub(super) fn reason(&self, live: u64) -> (StallReason, u64) {
        let all = WaitClass::REASONS.into_iter().zip(self.sets).skip(1);
        all.chain([(StallReason::Draining, live)]).find(|(_, warps)| *warps != 0).unwrap_or((StallReason::NoWarps, 0))
    }
}
