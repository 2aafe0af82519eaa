//! Which kernels may run: program order, streams, and the chip's slots for concurrent kernels.
//!
//! In: the workload's commands, and ends of kernels. Out: kernels that get a slot, and the cycle from which their
//! CTAs may be bound. A kernel gets a slot when its predecessor in the stream has ended and a slot is free; among several
//! that wait, the first in program order. Copies take no time and delay no kernel; the grid scheduler forwards them.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::base::{CtaIndex, Cycle, KernelIndex, StreamId};
use crate::frontend::{Command, Workload};

/// A kernel that has a slot on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KernelSlot {
    pub(super) kernel: KernelIndex,
    /// First cycle in which a CTA may be bound.
    pub(super) ready_at: Cycle,
    /// The next CTA to be bound; CTAs are bound in ascending order.
    pub(super) next: u32,
    /// CTAs of the grid.
    pub(super) ctas: u32,
    /// CTAs that were unassigned at the start of the present round, in which each SM gets at most one.
    pub(super) round: u32,
}

impl KernelSlot {
    /// Unassigned CTAs.
    #[inline]
    pub(super) fn unassigned(&self) -> u32 {
        self.ctas - self.next
    }

    /// Whether one of its CTAs may be bound at `now`.
    #[inline]
    pub(super) fn has_work(&self, now: Cycle) -> bool {
        self.ready_at <= now && self.next < self.ctas
    }
}

/// The order of kernels.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    /// Kernels by slot; it grows only when needed, so the last slot is occupied.
    slots: Vec<Option<KernelSlot>>,
    max_kernels: usize,
    successor: Box<[Option<KernelIndex>]>,
    /// Kernels whose predecessors have ended and that wait for a slot.
    eligible: BTreeSet<KernelIndex>,
    /// Kernels launched by the commands and not yet ended.
    left: usize,
    /// The slot whose kernel was served last; it moves when a CTA is bound.
    last_served: usize,
    /// The least `ready_at` not yet reached.
    next_ready: Cycle,
}

impl Streams {
    /// # Panics
    /// When the commands do not launch kernels in ascending order, or a kernel has no CTAs: the front end refuses these.
    pub(super) fn new(workload: &Workload, max_kernels: u32) -> Self {
        let mut successor = vec![None; workload.kernels.len()];
        let mut eligible = BTreeSet::new();
        let mut tail: FxHashMap<StreamId, KernelIndex> = FxHashMap::default();
        let mut last = None;
        let mut left = 0;
        for command in &workload.commands {
            let Command::Launch(kernel) = *command else { continue };
            assert!(last < Some(kernel), "{kernel} is launched out of order");
            let info = &workload.kernel(kernel).info;
            assert!(info.ctas() > 0, "{kernel} has no CTAs");
            match tail.insert(info.stream, kernel) {
                Some(before) => successor[before.index()] = Some(kernel),
                None => _ = eligible.insert(kernel),
            }
            last = Some(kernel);
            left += 1;
        }
        Self {
            slots: Vec::new(),
            max_kernels: max_kernels as usize,
            successor: successor.into(),
            eligible,
            left,
            last_served: 0,
            next_ready: Cycle::NEVER,
        }
    }

    /// Whether a kernel waits only for a slot.
    #[inline]
    pub(super) fn can_admit(&self) -> bool {
        !self.eligible.is_empty() && (self.slots.len() < self.max_kernels || self.slots.iter().any(Option::is_none))
    }

    /// Gives the next kernel in program order a slot, from `ready_at` on; `None` when none waits or no slot is free.
    pub(super) fn admit(&mut self, workload: &Workload, ready_at: Cycle) -> Option<KernelIndex> {
        if !self.can_admit() {
            return None;
        }
        let kernel = self.eligible.pop_first()?;
        let ctas = workload.kernel(kernel).info.ctas();
        let taken = Some(KernelSlot { kernel, ready_at, next: 0, ctas, round: ctas });
        match self.slots.iter_mut().find(|slot| slot.is_none()) {
            Some(free) => *free = taken,
            None => self.slots.push(taken),
        }
        self.next_ready = self.next_ready.min(ready_at);
        Some(kernel)
    }

    /// The first cycle in which CTAs of a further kernel may be bound.
    #[inline]
    pub(super) fn next_ready(&self) -> Cycle {
        self.next_ready
    }

    /// Whether a kernel becomes ready at `now`; asked once per cycle.
    #[inline]
    pub(super) fn becomes_ready(&mut self, now: Cycle) -> bool {
        if self.next_ready > now {
            return false;
        }
        let later = self.slots.iter().flatten().map(|slot| slot.ready_at).filter(|&at| at > now);
        self.next_ready = later.min().unwrap_or(Cycle::NEVER);
        true
    }

    /// The slot of `kernel`, if it has one.
    #[inline]
    pub(super) fn slot_of(&self, kernel: KernelIndex) -> Option<usize> {
        self.slots.iter().position(|slot| slot.is_some_and(|slot| slot.kernel == kernel))
    }

    /// The slot whose kernel is served next at `now`: the one served last while it has CTAs, then the following ones round robin.
    #[inline]
    pub(super) fn select(&self, now: Cycle) -> Option<usize> {
        let slots = self.slots.len();
        (0..slots).map(|i| (self.last_served + i) % slots).find(|&i| self.slots[i].is_some_and(|slot| slot.has_work(now)))
    }

    /// The kernel in a slot.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> Option<&KernelSlot> {
        self.slots[index].as_ref()
    }

    /// All kernels that have a slot.
    pub(super) fn occupied(&self) -> impl Iterator<Item = &KernelSlot> {
        self.slots.iter().flatten()
    }

    /// Takes the next CTA of the kernel in a slot. The kernel has one left.
    #[inline]
    pub(super) fn take_cta(&mut self, index: usize) -> CtaIndex {
        let slot = self.slots[index].as_mut().expect("only a kernel in a slot is served");
        debug_assert!(slot.next < slot.ctas, "{} has no CTA left to bind", slot.kernel);
        slot.next += 1;
        self.last_served = index;
        CtaIndex(slot.next - 1)
    }

    /// Ends a round of bindings.
    #[inline]
    pub(super) fn end_round(&mut self) {
        for slot in self.slots.iter_mut().flatten() {
            slot.round = slot.unassigned();
        }
    }

    /// `kernel` ended: its slot is free and its successor in the stream may follow.
    pub(super) fn end(&mut self, kernel: KernelIndex) {
        let slot = self.slot_of(kernel);
        let slot = slot.unwrap_or_else(|| panic!("grid: {kernel} ended without having been launched"));
        self.slots[slot] = None;
        while self.slots.pop_if(|last| last.is_none()).is_some() {}
        self.left -= 1;
        self.eligible.extend(self.successor[kernel.index()].take());
    }

    /// Kernels that have not ended.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Kernels that wait only for a slot.
    pub(super) fn eligible(&self) -> impl Iterator<Item = KernelIndex> {
        self.eligible.iter().copied()
    }
}
