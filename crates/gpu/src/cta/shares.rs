//! Interleaved kernels: the maximum number of CTAs of each kernel per SM ("Workload-aware scheduling techniques", Section 5.4).
//!
//! In: starts and ends of kernels, and maxima that controllers set. Out: a maximum for each kernel, the same on every SM for which
//! controllers set no separate maximum. Kernels with unassigned CTAs divide an SM by their dominant resource: the next CTA goes to the
//! kernel with the least share of its dominant resource, as long as the CTA fits (Wang et al., "Simultaneous multikernel GPU", HPCA 2016,
//! Section 4.1). When a kernel has no unassigned CTA left, the other kernels divide the SM again; bound CTAs stay until they end.

use std::collections::BTreeMap;

use warpshard_base::{Cycle, KernelIndex, SmId};

use super::capacity::{Capacity, ResourceAmounts};
use super::streams::KernelStreams;

/// The maximum of a kernel without a limit: only the resources of the SM limit its CTAs.
pub(super) const NO_SHARE: u16 = u16::MAX;

/// The maxima of kernels, and the numbers of bound CTAs.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct CtaShares {
    /// Maxima by slot.
    maxima: Vec<u16>,
    /// Maxima by SM and slot for SMs for which controllers set maxima; empty for other SMs.
    sm_maxima: Box<[Vec<u16>]>,
    /// Bound CTAs by SM and slot.
    bound: Box<[Vec<u16>]>,
    /// Maxima for all SMs that controllers set.
    limits: BTreeMap<KernelIndex, u16>,
    /// Maxima for single SMs that controllers set, by SM.
    sm_limits: Box<[BTreeMap<KernelIndex, u16>]>,
}

impl CtaShares {
    pub(super) fn new(sms: usize) -> Self {
        let (sm_maxima, bound, sm_limits) = (vec![Vec::new(); sms].into(), vec![Vec::new(); sms].into(), vec![BTreeMap::new(); sms].into());
        Self { maxima: Vec::new(), sm_maxima, bound, limits: BTreeMap::new(), sm_limits }
    }

    /// Returns the maximum number of CTAs of the kernel in `slot` on an SM.
    #[inline]
    pub(super) fn max_ctas(&self, sm: usize, slot: usize) -> u32 {
        u32::from(self.maxima_of(sm).get(slot).copied().unwrap_or(0))
    }

    /// Returns the maxima in force on an SM, by slot.
    #[inline]
    fn maxima_of(&self, sm: usize) -> &[u16] {
        let here = &self.sm_maxima[sm];
        if here.is_empty() { &self.maxima } else { here }
    }

    /// Returns the number of CTAs of the kernel in `slot` that are bound to an SM.
    #[inline]
    pub(super) fn bound_ctas(&self, sm: usize, slot: usize) -> u32 {
        u32::from(self.bound[sm].get(slot).copied().unwrap_or(0))
    }

    /// Records a CTA that is bound to an SM; returns the maximum in force.
    pub(super) fn bind(&mut self, sm: usize, slot: usize) -> u16 {
        let bound = &mut self.bound[sm];
        if bound.len() <= slot {
            bound.resize(slot + 1, 0);
        }
        bound[slot] += 1;
        self.maxima_of(sm)[slot]
    }

    /// Records the end of a CTA.
    pub(super) fn record_cta_end(&mut self, sm: usize, slot: usize) {
        self.bound[sm][slot] -= 1;
    }

    /// Sets the maximum of a kernel on one SM or on all SMs; it overrides the computed share.
    pub(super) fn set_limit(&mut self, sm: Option<SmId>, kernel: KernelIndex, limit: u32) {
        let limit = limit.min(u32::from(NO_SHARE)) as u16;
        if let Some(sm) = sm {
            self.sm_limits[sm.index()].insert(kernel, limit);
            return;
        }
        self.limits.insert(kernel, limit);
        for own in &mut self.sm_limits {
            own.remove(&kernel);
        }
    }

    /// Divides the SMs among the kernels that have unassigned CTAs at `now`.
    pub(super) fn remap(&mut self, capacity: &Capacity, streams: &KernelStreams, now: Cycle) {
        let slots = streams.slots();
        let active: Vec<(usize, KernelIndex)> = slots
            .iter()
            .enumerate()
            .filter_map(|(i, slot)| slot.as_ref().filter(|slot| slot.has_work(now)).map(|slot| (i, slot.kernel)))
            .collect();
        self.maxima.resize(slots.len(), 0);
        divide(&mut self.maxima, capacity, &active, |kernel| self.limits.get(&kernel).copied());
        for (here, own) in self.sm_maxima.iter_mut().zip(&self.sm_limits) {
            if own.is_empty() {
                here.clear();
            } else {
                here.resize(slots.len(), 0);
                divide(here, capacity, &active, |kernel| own.get(&kernel).or_else(|| self.limits.get(&kernel)).copied());
            }
        }
    }
}

/// Divides an SM among the `active` kernels, which come with their slots. Kernels with a limit are served first.
fn divide(maxima: &mut [u16], capacity: &Capacity, active: &[(usize, KernelIndex)], limits: impl Fn(KernelIndex) -> Option<u16>) {
    let mut used: ResourceAmounts = [0; 5];
    for &(slot, kernel) in active {
        maxima[slot] = limits(kernel).unwrap_or(0);
        for (used, needs) in used.iter_mut().zip(&capacity.needs[kernel.index()]) {
            *used += needs * u32::from(maxima[slot]);
        }
    }
    let mut open: Vec<(usize, &ResourceAmounts)> = active
        .iter()
        .filter(|(_, kernel)| limits(*kernel).is_none())
        .map(|(slot, kernel)| (*slot, &capacity.needs[kernel.index()]))
        .collect();
    // The share of its dominant resource that a kernel with `ctas` CTAs occupies, in parts per million.
    let share = |needs: &ResourceAmounts, ctas: u16| {
        let part = |(needs, whole): (&u32, &u32)| u64::from(*needs) * u64::from(ctas) * 1_000_000 / u64::from(*whole).max(1);
        needs.iter().zip(&capacity.sm_resources).map(part).max().unwrap_or(0)
    };
    while let Some(at) = (0..open.len()).min_by_key(|&at| share(open[at].1, maxima[open[at].0] + 1)) {
        let (slot, needs) = open[at];
        let fits = used.iter().zip(needs).zip(&capacity.sm_resources).all(|((used, needs), whole)| used + needs <= *whole);
        // Even a kernel without any share gets one CTA; the other kernels shrink as their CTAs end.
        if !fits && maxima[slot] > 0 {
            open.swap_remove(at);
            continue;
        }
        maxima[slot] += 1;
        used.iter_mut().zip(needs).for_each(|(used, needs)| *used += needs);
        if !fits {
            open.swap_remove(at);
        }
    }
}
