//! What an SM can hold, and what CTAs need of it.

use warpshard_base::KernelIndex;
use warpshard_config::machine::Sm;
use warpshard_workload::Workload;

use crate::occupancy::CtaNeeds;

/// Amounts of the resources that CTAs occupy: threads, warps, bytes of shared memory, registers, CTA slots.
pub(super) type Resources = [u32; 5];

/// The resources of an SM and the needs of CTAs.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Capacity {
    /// Resources of an SM.
    pub(super) whole: Resources,
    /// The needs of a CTA of each kernel.
    pub(super) needs: Box<[Resources]>,
    /// CTAs of each kernel that fit on an SM.
    pub(super) resident: Box<[u32]>,
}

impl Capacity {
    /// Resources of an SM and needs of the workload's kernels.
    pub(super) fn of(spec: &Sm, workload: &Workload, resident: Vec<u32>) -> Self {
        let whole = [spec.max_threads, spec.warps, spec.shared_bytes, spec.registers, spec.max_ctas];
        let needs = workload.kernels.iter().map(|kernel| {
            let needs = CtaNeeds::of(spec, &kernel.info);
            [needs.threads, needs.warps, needs.shared_bytes, needs.registers, 1]
        });
        Self { whole, needs: needs.collect(), resident: resident.into() }
    }

    /// Whether another CTA of `kernel` fits in addition to what is `used`, given extra room for `ahead` CTAs of it.
    #[inline]
    pub(super) fn fits(&self, used: &Resources, kernel: KernelIndex, ahead: u32) -> bool {
        let needs = &self.needs[kernel.index()];
        used.iter().zip(needs).zip(&self.whole).all(|((used, needs), whole)| used + needs <= whole + ahead * needs)
    }
}
