//! Interleaved kernels: how many CTAs of each an SM may hold ("Workload-aware scheduling techniques", Section 5.4).
//!
//! In: kernels that start and end, maxima that controllers set. Out: a maximum for each kernel, the same on every SM for which controllers
//! set none of its own. Kernels with CTAs left to assign divide an SM by their dominant resource: the kernel with the least share of the resource of which it needs
//! most gets the next CTA, as long as one fits (Wang et al., "Simultaneous multikernel GPU", HPCA 2016, Section 4.1). When
//! a kernel has no CTA left to assign, the others divide the SM anew; what is bound stays until it ends.

use std::collections::BTreeMap;

use warpshard_base::{Cycle, KernelIndex, SmId};

use super::capacity::{Capacity, Resources};
use super::streams::Streams;

/// No maximum but what fits.
pub(super) const NO_SHARE: u16 = u16::MAX;

/// The maxima of kernels, and how many CTAs are bound.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Shares {
    /// By slot.
    most: Vec<u16>,
    /// The same by SM, where controllers set maxima for that SM; else empty.
    here: Box<[Vec<u16>]>,
    /// By SM and slot.
    bound: Box<[Vec<u16>]>,
    /// What controllers set.
    fixed: BTreeMap<KernelIndex, u16>,
    /// What they set for single SMs, by SM.
    own: Box<[BTreeMap<KernelIndex, u16>]>,
}

impl Shares {
    pub(super) fn new(sms: usize) -> Self {
        let (here, bound, own) = (vec![Vec::new(); sms].into(), vec![Vec::new(); sms].into(), vec![BTreeMap::new(); sms].into());
        Self { most: Vec::new(), here, bound, fixed: BTreeMap::new(), own }
    }

    /// CTAs of the kernel in a slot that an SM may hold.
    #[inline]
    pub(super) fn share(&self, sm: usize, slot: usize) -> u32 {
        u32::from(self.of_sm(sm).get(slot).copied().unwrap_or(0))
    }

    /// The maxima in force on an SM, by slot.
    #[inline]
    fn of_sm(&self, sm: usize) -> &[u16] {
        let here = &self.here[sm];
        if here.is_empty() { &self.most } else { here }
    }

    /// CTAs of the kernel in a slot that are bound to an SM.
    #[inline]
    pub(super) fn bound(&self, sm: usize, slot: usize) -> u32 {
        u32::from(self.bound[sm].get(slot).copied().unwrap_or(0))
    }

    /// Books a CTA that is bound to an SM; returns the maximum in force.
    pub(super) fn bind(&mut self, sm: usize, slot: usize) -> u16 {
        let bound = &mut self.bound[sm];
        if bound.len() <= slot {
            bound.resize(slot + 1, 0);
        }
        bound[slot] += 1;
        self.of_sm(sm)[slot]
    }

    /// Books the end of a CTA.
    pub(super) fn done(&mut self, sm: usize, slot: usize) {
        self.bound[sm][slot] -= 1;
    }

    /// Sets the maximum of a kernel on an SM, or on all, in place of its part of the division.
    pub(super) fn set(&mut self, sm: Option<SmId>, kernel: KernelIndex, limit: u32) {
        let limit = limit.min(u32::from(NO_SHARE)) as u16;
        if let Some(sm) = sm {
            self.own[sm.index()].insert(kernel, limit);
            return;
        }
        self.fixed.insert(kernel, limit);
        for own in &mut self.own {
            own.remove(&kernel);
        }
    }

    /// Divides the SMs among the kernels that have CTAs to assign at `now`.
    pub(super) fn remap(&mut self, capacity: &Capacity, streams: &Streams, now: Cycle) {
        let slots = streams.slots();
        let active: Vec<(usize, KernelIndex)> = slots
            .iter()
            .enumerate()
            .filter_map(|(i, slot)| slot.as_ref().filter(|slot| slot.has_work(now)).map(|slot| (i, slot.kernel)))
            .collect();
        self.most.resize(slots.len(), 0);
        divide(&mut self.most, capacity, &active, |kernel| self.fixed.get(&kernel).copied());
        for (here, own) in self.here.iter_mut().zip(&self.own) {
            if own.is_empty() {
                here.clear();
            } else {
                here.resize(slots.len(), 0);
                divide(here, capacity, &active, |kernel| own.get(&kernel).or_else(|| self.fixed.get(&kernel)).copied());
            }
        }
    }
}

/// Divides an SM among the `active` kernels, each with its slot; those with a `fixed` maximum first.
fn divide(most: &mut [u16], capacity: &Capacity, active: &[(usize, KernelIndex)], fixed: impl Fn(KernelIndex) -> Option<u16>) {
    let mut used: Resources = [0; 5];
    for &(slot, kernel) in active {
        most[slot] = fixed(kernel).unwrap_or(0);
        for (used, needs) in used.iter_mut().zip(&capacity.needs[kernel.index()]) {
            *used += needs * u32::from(most[slot]);
        }
    }
    let mut open: Vec<(usize, &Resources)> = active
        .iter()
        .filter(|(_, kernel)| fixed(*kernel).is_none())
        .map(|(slot, kernel)| (*slot, &capacity.needs[kernel.index()]))
        .collect();
    // The share of a kernel with so many CTAs, as a fraction of its dominant resource in parts of a million.
    let share = |needs: &Resources, ctas: u16| {
        let part = |(needs, whole): (&u32, &u32)| u64::from(*needs) * u64::from(ctas) * 1_000_000 / u64::from(*whole).max(1);
        needs.iter().zip(&capacity.whole).map(part).max().unwrap_or(0)
    };
    while let Some(at) = (0..open.len()).min_by_key(|&at| share(open[at].1, most[open[at].0] + 1)) {
        let (slot, needs) = open[at];
        let fits = used.iter().zip(needs).zip(&capacity.whole).all(|((used, needs), whole)| used + needs <= *whole);
        // A kernel with the lowest priority of all still gets one place: the others shrink as their CTAs end.
        if !fits && most[slot] > 0 {
            open.swap_remove(at);
            continue;
        }
        most[slot] += 1;
        used.iter_mut().zip(needs).for_each(|(used, needs)| *used += needs);
        if !fits {
            open.swap_remove(at);
        }
    }
}
