//! The inputs of phase-aware schedulers for each warp: the distance of its next instruction from the end of its phase, and the
//! length of that phase.
//!
//! In: the phases of the workload's kernels, and each new next instruction. Out: two numbers per warp slot.

use std::sync::Arc;

use warpshard_base::KernelIndex;
use warpshard_workload::phases::Phases;

use super::core::MAX_WARPS;

/// Phase distance and phase length by warp slot, as of the slot's front instruction.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct PhaseView {
    #[state(fixed)]
    kernels: Arc<[Phases]>,
    distance: [u16; MAX_WARPS],
    length: [u16; MAX_WARPS],
}

impl PhaseView {
    pub(super) fn new(kernels: Arc<[Phases]>) -> Self {
        Self { kernels, distance: [0; MAX_WARPS], length: [0; MAX_WARPS] }
    }

    /// Static instruction `index` of `kernel` is at the front of a warp.
    #[inline]
    pub(super) fn look(&mut self, warp: usize, kernel: KernelIndex, index: u32) {
        let phases = &self.kernels[kernel.index()];
        self.distance[warp] = phases.distance(index);
        self.length[warp] = phases.length(index);
    }

    /// Summed latencies to the ends of the phases.
    #[inline]
    pub(super) fn distance(&self) -> &[u16; MAX_WARPS] {
        &self.distance
    }

    /// Lengths of the phases.
    #[inline]
    pub(super) fn length(&self) -> &[u16; MAX_WARPS] {
        &self.length
    }
}

/// For schedulers that know nothing of phases.
pub(super) static NO_PHASES: [u16; MAX_WARPS] = [0; MAX_WARPS];
