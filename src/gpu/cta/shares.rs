//! Interleaved kernels: how many CTAs of each an SM may hold ("Workload-aware scheduling techniques", Section 5.4).
//!
//! In: kernels that start and end, maxima that controllers set. Out: a maximum for each kernel, the same on every SM. Kernels with CTAs
//! left to assign divide an SM by their dominant resource: the kernel with the least share of the resource of which it needs
//! most gets the next CTA, as long as one fits (Wang et al., "Simultaneous multikernel GPU", HPCA 2016, Section 4.1). When
//! a kernel has no CTA left to assign, the others divide the SM anew; what is bound stays until it ends.

use std::collections::BTreeMap;

use crate::base::{Cycle, KernelIndex};

use super::capacity::{Capacity, Resources};
use super::streams::{KernelSlot, Streams};

/// No maximum but what fits.
pub(super) const NO_SHARE: u16 = u16::MAX;

/// The maxima of kernels, and how many CTAs are bound.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// By slot.
    most: Vec<u16>,
    /// By SM and slot.
    bound: Box<[Vec<u16>]>,
    /// What controllers set.
    fixed: BTreeMap<KernelIndex, u16>,
}

impl Shares {
    pub(super) fn new(sms: usize) -> Self {
        Self { most: Vec::new(), bound: vec![Vec::new(); sms].into(), fixed: BTreeMap::new() }
    }

    /// CTAs of the kernel in a slot that an SM may hold.
    #[inline]
    pub(super) fn share(&self, slot: usize) -> u32 {
        u32::from(self.most.get(slot).copied().unwrap_or(0))
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
        self.most[slot]
    }

    /// Books the end of a CTA.
    pub(super) fn done(&mut self, sm: usize, slot: usize) {
        self.bound[sm][slot] -= 1;
    }

    /// Sets the maximum of a kernel, in place of its part of the division.
    pub(super) fn set(&mut self, kernel: KernelIndex, limit: u32) {
        self.fixed.insert(kernel, limit.min(u32::from(NO_SHARE)) as u16);
    }

    /// Divides an SM among the kernels that have CTAs to assign at `now`.
    pub(super) fn remap(&mut self, capacity: &Capacity, streams: &Streams, now: Cycle) {
        let slots = streams.slots();
        self.most.resize(slots.len(), 0);
        let active: Vec<(usize, &KernelSlot)> = slots
            .iter()
            .enumerate()
            .filter_map(|(i, slot)| slot.as_ref().filter(|slot| slot.has_work(now)).map(|slot| (i, slot)))
            .collect();
        for &(slot, KernelSlot { kernel, .. }) in &active {
            self.most[slot] = self.fixed.get(kernel).copied().unwrap_or(0);
        }
        let mut used: Resources = [0; 5];
        for &(slot, KernelSlot { kernel, .. }) in &active {
            for (used, needs) in used.iter_mut().zip(&capacity.needs[kernel.index()]) {
                *used += needs * u32::from(self.most[slot]);
            }
        }
        let mut open: Vec<(usize, &Resources)> = active
            .iter()
            .filter(|(_, slot)| !self.fixed.contains_key(&slot.kernel))
            .map(|(i, slot)| (*i, &capacity.needs[slot.kernel.index()]))
            .collect();
        // The share of a kernel with so many CTAs, as a fraction of its dominant resource in parts of a million.
        let share = |needs: &Resources, ctas: u16| {
            let part = |(needs, whole): (&u32, &u32)| u64::from(*needs) * u64::from(ctas) * 1_000_000 / u64::from(*whole).max(1);
            needs.iter().zip(&capacity.whole).map(part).max().unwrap_or(0)
        };
        while let Some(at) = (0..open.len()).min_by_key(|&at| share(open[at].1, self.most[open[at].0] + 1)) {
            let (slot, needs) = open[at];
            let fits = used.iter().zip(needs).zip(&capacity.whole).all(|((used, needs), whole)| used + needs <= *whole);
            // A kernel with the lowest priority of all still gets one place: the others shrink as their CTAs end.
            if !fits && self.most[slot] > 0 {
                open.swap_remove(at);
                continue;
            }
            self.most[slot] += 1;
            used.iter_mut().zip(needs).for_each(|(used, needs)| *used += needs);
            if !fits {
                open.swap_remove(at);
            }
        }
    }
}
