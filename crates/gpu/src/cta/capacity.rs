//! Capacity of an SM and the needs of CTAs.

use warpshard_base::KernelIndex;
use warpshard_config::machine::Sm;
use warpshard_workload::Workload;

use crate::occupancy::CtaNeeds;

/// Amounts of the resources that CTAs occupy: threads, warps, bytes of shared memory, registers, CTA slots.
pub(super) type ResourceAmounts = [u32; 5];

/// The resources of an SM, and the needs and occupancy of each kernel.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Capacity {
    /// Resources of an SM.
    pub(super) sm_resources: ResourceAmounts,
    /// The needs of a CTA, by kernel.
    pub(super) needs: Box<[ResourceAmounts]>,
    /// CTAs that fit on an SM, by kernel.
    pub(super) resident: Box<[u32]>,
}

impl Capacity {
    /// Creates the capacity from the resources of an SM and the needs of the kernels of the workload.
    pub(super) fn of(spec: &Sm, workload: &Workload, resident: Vec<u32>) -> Self {
        let sm_resources = [spec.max_threads, spec.warps, spec.shared_bytes, spec.registers, spec.max_ctas];
        let needs = workload.kernels.iter().map(|kernel| {
            let needs = CtaNeeds::of(spec, &kernel.info);
            [needs.threads, needs.warps, needs.shared_bytes, needs.registers, 1]
        });
        Self { sm_resources, needs: needs.collect(), resident: resident.into() }
    }

    /// Returns true if a CTA of `kernel` fits in addition to the `used` resources, with extra capacity for `ahead` CTAs of the kernel.
    #[inline]
    pub(super) fn fits(&self, used: &ResourceAmounts, kernel: KernelIndex, ahead: u32) -> bool {
        let needs = &self.needs[kernel.index()];
        used.iter().zip(needs).zip(&self.sm_resources).all(|((used, needs), whole)| used + needs <= whole + ahead * needs)
    }
}
