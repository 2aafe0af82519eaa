//! Which kernels may run: program order, streams, and the places that the chip has for kernels.
//!
//! In: the workload's commands, and word of kernels that ended. Out: kernels that get a place, and from when on their
//! CTAs may be bound. A kernel gets a place when its predecessor in the stream has ended and a place is free; of several
//! that wait, the first in program order. Copies take no time and hold nobody up; the grid scheduler passes them on.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::base::{CtaIndex, Cycle, KernelIndex, StreamId};
use crate::frontend::{Command, Workload};

/// A kernel that has a place on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) kernel: KernelIndex,
    /// First cycle in which a CTA may be bound.
    pub(super) ready_at: Cycle,
    /// The next CTA to be bound; CTAs are bound in ascending order.
    pub(super) next: u32,
    /// CTAs of the grid.
    pub(super) ctas: u32,
    /// CTAs that no SM had when the present round, in which each SM gets at most one, began.
    pub(super) round: u32,
}

impl Place {
    /// CTAs that no SM has yet.
    #[inline]
    pub(super) fn unassigned(&self) -> u32 {
        self.ctas - self.next
    }

    /// Whether a CTA of it may be bound at `now`.
    #[inline]
    pub(super) fn has_work(&self, now: Cycle) -> bool {
        self.ready_at <= now && self.next < self.ctas
    }
}

/// The order of kernels.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    /// No longer than it must be: the last place is taken.
    places: Vec<Option<Place>>,
    max_kernels: usize,
    successor: Box<[Option<KernelIndex>]>,
    /// Kernels whose predecessors have ended and that wait for a place.
    eligible: BTreeSet<KernelIndex>,
    /// Kernels launched by the commands and not yet ended.
    left: usize,
    /// The place whose kernel was served last; it moves when a CTA is bound.
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
            places: Vec::new(),
            max_kernels: max_kernels as usize,
            successor: successor.into(),
            eligible,
            left,
            last_served: 0,
            next_ready: Cycle::NEVER,
        }
    }

    /// Whether a kernel waits for nothing but to be given a place.
    #[inline]
    pub(super) fn can_admit(&self) -> bool {
        !self.eligible.is_empty() && (self.places.len() < self.max_kernels || self.places.iter().any(Option::is_none))
    }

    /// Gives the next kernel in program order a place, from `ready_at` on; `None` when none waits or no place is free.
    pub(super) fn admit(&mut self, workload: &Workload, ready_at: Cycle) -> Option<KernelIndex> {
        if !self.can_admit() {
            return None;
        }
        let kernel = self.eligible.pop_first()?;
        let ctas = workload.kernel(kernel).info.ctas();
        let taken = Some(Place { kernel, ready_at, next: 0, ctas, round: ctas });
        match self.places.iter_mut().find(|place| place.is_none()) {
            Some(free) => *free = taken,
            None => self.places.push(taken),
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
        let later = self.places.iter().flatten().map(|place| place.ready_at).filter(|&at| at > now);
        self.next_ready = later.min().unwrap_or(Cycle::NEVER);
        true
    }

    /// The place of `kernel`, if it has one.
    #[inline]
    pub(super) fn place_of(&self, kernel: KernelIndex) -> Option<usize> {
        self.places.iter().position(|place| place.is_some_and(|place| place.kernel == kernel))
    }

    /// The place whose kernel is served next at `now`: the one served last as long as it has CTAs, then the following ones in turn.
    #[inline]
    pub(super) fn select(&self, now: Cycle) -> Option<usize> {
        let places = self.places.len();
        (0..places).map(|i| (self.last_served + i) % places).find(|&i| self.places[i].is_some_and(|place| place.has_work(now)))
    }

    /// The kernel at a place.
    #[inline]
    pub(super) fn place(&self, index: usize) -> Option<&Place> {
        self.places[index].as_ref()
    }

    /// All kernels that have a place.
    pub(super) fn placed(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().flatten()
    }

    /// Takes the next CTA of the kernel at a place. The kernel has one left.
    #[inline]
    pub(super) fn take_cta(&mut self, index: usize) -> CtaIndex {
        let place = self.places[index].as_mut().expect("only a placed kernel is served");
        debug_assert!(place.next < place.ctas, "{} has no CTA left to bind", place.kernel);
        place.next += 1;
        self.last_served = index;
        CtaIndex(place.next - 1)
    }

    /// A round of bindings is over.
    #[inline]
    pub(super) fn end_round(&mut self) {
        for place in self.places.iter_mut().flatten() {
            place.round = place.unassigned();
        }
    }

    /// `kernel` ended: its place is free and its successor in the stream may follow.
    pub(super) fn end(&mut self, kernel: KernelIndex) {
        let place = self.place_of(kernel);
        let place = place.unwrap_or_else(|| panic!("grid: {kernel} ended without having been launched"));
        self.places[place] = None;
        while self.places.pop_if(|last| last.is_none()).is_some() {}
        self.left -= 1;
        self.eligible.extend(self.successor[kernel.index()].take());
    }

    /// Kernels that have not ended.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Kernels that wait for a place only.
    pub(super) fn eligible(&self) -> impl Iterator<Item = KernelIndex> {
        self.eligible.iter().copied()
    }
}
