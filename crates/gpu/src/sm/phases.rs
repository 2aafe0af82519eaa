//! Per-warp inputs of phase-aware schedulers: the distance of the next instruction from the end of its phase, and the length of this phase.
//!
//! In: the phases of the kernels of the workload, and each new front instruction. Out: two numbers per warp slot.

use std::sync::Arc;

use warpshard_base::KernelIndex;
use warpshard_workload::phases::Phases;

use super::core::MAX_WARPS;

/// Phase distance and phase length of the front instruction, by warp slot.
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

    /// Sets the front instruction of a warp to static instruction `index` of `kernel`.
    #[inline]
    pub(super) fn set_front(&mut self, warp: usize, kernel: KernelIndex, index: u32) {
        let phases = &self.kernels[kernel.index()];
        self.distance[warp] = phases.distance(index);
        self.length[warp] = phases.length(index);
    }

    /// Returns the summed latencies to the ends of the phases.
    #[inline]
    pub(super) fn distance(&self) -> &[u16; MAX_WARPS] {
        &self.distance
    }

    /// Returns the lengths of the phases.
    #[inline]
    pub(super) fn length(&self) -> &[u16; MAX_WARPS] {
        &self.length
    }
}

/// Distances and lengths for schedulers without phases.
pub(super) static NO_PHASES: [u16; MAX_WARPS] = [0; MAX_WARPS];
