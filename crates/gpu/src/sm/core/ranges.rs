//! Allocation of the registers and shared memory of an SM as contiguous ranges (`gpu.sm.allocation = "ranges"`).
//!
//! In: the needs of CTAs; true for CTAs that go to fixed positions only. Out: the start of their registers and of their shared memory. A
//! CTA gets the first range that is long enough, or the first *position*: position `i` starts at `i` times the need of the CTA, both in the
//! registers and in the shared memory. Freed ranges merge with free neighbours, because only occupied ranges are listed.
//!
//! Invariants: ranges do not overlap and are inside the SM.
//!
//! Source: Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs" (2016): memory of a CTA is consecutive (Section 2.1);
//! allocation alignment (Section 3.2, Figures 3.2 and 3.7).

use crate::occupancy::CtaNeeds;

/// A range of registers or of bytes of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
struct AllocatedRange {
    start: u32,
    len: u32,
}

impl AllocatedRange {
    fn end(self) -> u32 {
        self.start + self.len
    }
}

/// One resource: its occupied ranges in ascending order.
#[derive(Clone, Debug, warpshard_state::State)]
struct ResourceRanges {
    size: u32,
    allocated: Vec<AllocatedRange>,
}

impl ResourceRanges {
    fn new(whole: u32, most: u32) -> Self {
        Self { size: whole, allocated: Vec::with_capacity(most as usize) }
    }

    /// Returns true if the `len` units from `start` on are inside the SM and free.
    fn is_free(&self, start: u32, len: u32) -> bool {
        let Some(end) = start.checked_add(len).filter(|end| *end <= self.size) else { return false };
        len == 0 || self.allocated.iter().all(|taken| taken.end() <= start || end <= taken.start)
    }

    /// Returns the start of the first free range of `len` units.
    fn first_fit(&self, len: u32) -> Option<u32> {
        let starts = std::iter::once(0).chain(self.allocated.iter().map(|taken| taken.end()));
        starts.into_iter().find(|start| self.is_free(*start, len))
    }

    fn allocate(&mut self, start: u32, len: u32) {
        debug_assert!(self.is_free(start, len), "{start}+{len} is not free among {:?}", self.allocated);
        if len > 0 {
            let at = self.allocated.partition_point(|taken| taken.start < start);
            self.allocated.insert(at, AllocatedRange { start, len });
        }
    }

    fn free(&mut self, start: u32, len: u32) {
        if len > 0 {
            let at = self.allocated.iter().position(|taken| *taken == AllocatedRange { start, len });
            debug_assert!(at.is_some(), "{start}+{len} was not allocated: {:?}", self.allocated);
            if let Some(at) = at {
                self.allocated.remove(at);
            }
        }
    }
}

/// Start of the registers and of the shared memory of a CTA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(in crate::sm) struct RangeStarts {
    /// The first register.
    pub(in crate::sm) register: u32,
    /// The first byte of shared memory.
    pub(in crate::sm) shared: u32,
}

/// The registers and the shared memory of an SM.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::sm) struct RangeAllocator {
    registers: ResourceRanges,
    shared: ResourceRanges,
}

impl RangeAllocator {
    /// Creates an empty SM with the given registers and bytes of shared memory, for at most `ctas` CTAs.
    pub(in crate::sm) fn new(registers: u32, shared_bytes: u32, ctas: u32) -> Self {
        Self { registers: ResourceRanges::new(registers, ctas), shared: ResourceRanges::new(shared_bytes, ctas) }
    }

    /// Returns the ranges for a CTA: the first free position if it is `aligned`, else the first ranges that fit.
    pub(in crate::sm) fn find(&self, needs: &CtaNeeds, aligned: bool) -> Option<RangeStarts> {
        let (registers, shared) = (needs.registers, needs.shared_bytes);
        if !aligned {
            return Some(RangeStarts { register: self.registers.first_fit(registers)?, shared: self.shared.first_fit(shared)? });
        }
        let positions = |whole: u32, need: u32| whole.checked_div(need).unwrap_or(u32::MAX);
        // A CTA that needs neither resource has a single position.
        let count = positions(self.registers.size, registers).min(positions(self.shared.size, shared));
        let count = if registers == 0 && shared == 0 { 1 } else { count };
        (0..count)
            .map(|position| RangeStarts { register: position * registers, shared: position * shared })
            .find(|place| self.registers.is_free(place.register, registers) && self.shared.is_free(place.shared, shared))
    }

    /// Allocates the ranges of a CTA, which are free.
    pub(in crate::sm) fn allocate(&mut self, place: RangeStarts, needs: &CtaNeeds) {
        self.registers.allocate(place.register, needs.registers);
        self.shared.allocate(place.shared, needs.shared_bytes);
    }

    /// Frees the ranges of a CTA.
    pub(in crate::sm) fn free(&mut self, place: RangeStarts, needs: &CtaNeeds) {
        self.registers.free(place.register, needs.registers);
        self.shared.free(place.shared, needs.shared_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::Rng;

    fn needs(registers: u32, shared_bytes: u32) -> CtaNeeds {
        CtaNeeds { registers, shared_bytes, ..CtaNeeds::default() }
    }

    /// Figure 3.2: four CTAs fill the SM, and a new one needs as much as two of them.
    #[test]
    fn the_example_of_the_paper_for_fragmentation_and_alignment() {
        let (old, new) = (needs(100, 0), needs(200, 0));
        let full = || {
            let mut space = RangeAllocator::new(400, 0, 8);
            (0..4).for_each(|i| space.allocate(RangeStarts { register: 100 * i, shared: 0 }, &old));
            space
        };
        let leave = |space: &mut RangeAllocator, i: u32| space.free(RangeStarts { register: 100 * i, shared: 0 }, &old);
        // (a) Naive: CTAs 1 and 2 leave and the new CTA goes between 0 and 3; when these leave, another CTA finds no range.
        let mut naive = full();
        leave(&mut naive, 1);
        assert_eq!(naive.find(&new, false), None);
        leave(&mut naive, 2);
        let between = naive.find(&new, false).unwrap();
        assert_eq!(between.register, 100);
        naive.allocate(between, &new);
        leave(&mut naive, 0);
        leave(&mut naive, 3);
        assert_eq!(naive.find(&new, false), None, "200 registers are free, in two parts");
        // (b) Aligned: the new CTA waits for CTA 0 and goes to position 0; after CTA 3 has left, another CTA goes to position 1.
        let mut aligned = full();
        leave(&mut aligned, 1);
        leave(&mut aligned, 2);
        assert_eq!(aligned.find(&new, true), None);
        leave(&mut aligned, 0);
        let first = aligned.find(&new, true).unwrap();
        assert_eq!(first.register, 0);
        aligned.allocate(first, &new);
        leave(&mut aligned, 3);
        assert_eq!(aligned.find(&new, true).map(|place| place.register), Some(200));
    }

    #[test]
    fn a_position_is_free_only_if_it_is_in_both_resources() {
        let mut space = RangeAllocator::new(32768, 49152, 8);
        let task = needs(4096, 2048);
        space.allocate(RangeStarts { register: 0, shared: 4096 }, &needs(4096, 2048));
        // Position 0 lacks registers, and position 2 lacks shared memory.
        assert_eq!(space.find(&task, true), Some(RangeStarts { register: 4096, shared: 2048 }));
        space.allocate(RangeStarts { register: 4096, shared: 2048 }, &task);
        assert_eq!(space.find(&task, true), Some(RangeStarts { register: 3 * 4096, shared: 3 * 2048 }));
    }

    #[test]
    fn a_cta_without_need_of_a_resource_is_not_limited_by_it() {
        let mut space = RangeAllocator::new(1000, 100, 8);
        space.allocate(RangeStarts::default(), &needs(0, 100));
        assert_eq!(space.find(&needs(400, 0), true), Some(RangeStarts::default()));
        assert_eq!(space.find(&needs(0, 0), true), Some(RangeStarts::default()));
        assert_eq!(space.find(&needs(0, 1), false), None);
        assert_eq!(space.find(&needs(1001, 0), false), None);
    }

    /// Compares 10^5 random sequences of starts and ends with a list of the owners of all units.
    #[test]
    fn ranges_never_overlap_and_freed_ranges_merge() {
        const REGISTER_UNITS: usize = 64;
        const SHARED_MEMORY_UNITS: usize = 48;
        let mut rng = Rng::keyed(5, &[1]);
        let mut below = |limit: u64| rng.below(limit) as u32;
        let (mut refused, mut aligned_starts) = (0, 0);
        for _ in 0..100_000 {
            let mut space = RangeAllocator::new(REGISTER_UNITS as u32, SHARED_MEMORY_UNITS as u32, 8);
            let mut owners = (vec![0u32; REGISTER_UNITS], vec![0u32; SHARED_MEMORY_UNITS]);
            let mut there: Vec<(u32, RangeStarts, CtaNeeds)> = Vec::new();
            for id in 1..=12 {
                if !there.is_empty() && (below(3) == 0 || there.len() == 8) {
                    let (id, place, needs) = there.swap_remove(below(there.len() as u64) as usize);
                    space.free(place, &needs);
                    owners.0.iter_mut().chain(&mut owners.1).filter(|owner| **owner == id).for_each(|owner| *owner = 0);
                }
                let (wanted, aligned) = (needs(below(24), below(20)), below(2) == 0);
                let free_run = |owners: &[u32], len: u32| {
                    len == 0 || owners.windows(len as usize).any(|window| window.iter().all(|owner| *owner == 0))
                };
                let Some(place) = space.find(&wanted, aligned) else {
                    refused += 1;
                    // A refusal is correct if no free range is long enough, with freed neighbours merged (without alignment).
                    let fits = free_run(&owners.0, wanted.registers) && free_run(&owners.1, wanted.shared_bytes);
                    assert!(aligned || !fits, "{wanted:?} fits {owners:?}");
                    continue;
                };
                if aligned {
                    aligned_starts += 1;
                    let multiple = |start: u32, need: u32| start.checked_div(need).map(|position| (position, start % need));
                    let positions = [multiple(place.register, wanted.registers), multiple(place.shared, wanted.shared_bytes)];
                    let given: Vec<_> = positions.into_iter().flatten().collect();
                    assert!(given.iter().all(|(position, rest)| *rest == 0 && *position == given[0].0), "{wanted:?} at {place:?}");
                }
                let parts = [(&mut owners.0, place.register, wanted.registers), (&mut owners.1, place.shared, wanted.shared_bytes)];
                for (owners, start, len) in parts {
                    let part = &mut owners[start as usize..(start + len) as usize];
                    assert!(part.iter().all(|owner| *owner == 0), "{wanted:?} at {place:?} overlaps");
                    part.fill(id);
                }
                space.allocate(place, &wanted);
                there.push((id, place, wanted));
            }
            for (_, place, needs) in there {
                space.free(place, &needs);
            }
            // All ranges are merged into one.
            let whole = needs(REGISTER_UNITS as u32, SHARED_MEMORY_UNITS as u32);
            assert_eq!(space.find(&whole, true), Some(RangeStarts::default()));
        }
        assert!(refused > 10_000 && aligned_starts > 10_000, "{refused} refused, {aligned_starts} aligned");
    }
}
