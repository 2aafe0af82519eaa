//! What each launch of a workload executes, without timing it: its signature.

use crate::base::{CtaIndex, KernelIndex};
use crate::frontend::{Dim3, Kernel, LaunchCounts, Workload};

/// The code and the resources of a launch: launches of one group have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Code {
    /// The kernel's name.
    pub(super) name: String,
    block: [u32; 3],
    shared_bytes: u32,
    registers: u32,
}

/// A launch with its signature.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Launch {
    pub(super) index: KernelIndex,
    pub(super) code: Code,
    /// CTAs of the grid.
    pub(super) ctas: u32,
    /// Warp instructions of the launch; at least 1.
    pub(super) warp_instructions: u64,
    /// Sectors of its accesses of device memory, where they are known.
    pub(super) sectors: Option<u64>,
}

/// The launches of a workload in their order.
///
/// # Errors
/// What is wrong with a trace or program, where that is found while counting.
pub(super) fn launches(workload: &Workload) -> Result<Vec<Launch>, String> {
    let one = |(index, kernel): (usize, &Kernel)| {
        let counts = counts(kernel)?;
        let Dim3 { x, y, z } = kernel.info.block;
        Ok(Launch {
            index: KernelIndex(index as u16),
            code: Code {
                name: kernel.info.name.clone(),
                block: [x, y, z],
                shared_bytes: kernel.info.shared_bytes,
                registers: kernel.info.registers,
            },
            ctas: kernel.info.ctas(),
            warp_instructions: counts.warp_instructions.max(1),
            sectors: counts.sectors,
        })
    };
    workload.kernels.iter().enumerate().map(one).collect()
}

fn counts(kernel: &Kernel) -> Result<LaunchCounts, String> {
    let known = kernel.source.counts();
    let counts = known.unwrap_or_else(|| {
        // Every CTA is made once to be counted, and once more where it is simulated.
        let of_cta = |cta| kernel.source.cta(CtaIndex(cta)).warps.iter().map(|warp| u64::from(warp.len())).sum::<u64>();
        LaunchCounts { warp_instructions: (0..kernel.info.ctas()).map(of_cta).sum(), sectors: None }
    });
    kernel.source.failure().map_or(Ok(counts), Err)
}
