//! The registers between the stages: the issued instructions, and the places before the units.

use warpshard_base::prefetch;
use warpshard_config::machine::Sm as Spec;
use warpshard_workload::DynInst;

use super::super::kinds::{KINDS, MAX_PLACES, UnitKind, places};
use super::Sources;

/// An instruction between issue and its unit.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct IssuedInst {
    pub(in crate::sm) inst: DynInst,
    pub(in crate::sm) sources: Sources,
    /// Order of issue.
    pub(in crate::sm) order: u32,
    /// Instructions that the warp has left after this one.
    pub(in crate::sm) left: u32,
    pub(in crate::sm) dst: u16,
    pub(in crate::sm) latency: u16,
    pub(in crate::sm) initiation: u16,
    pub(in crate::sm) warp: u8,
    /// Sub-core, or 0 where all is shared.
    pub(in crate::sm) group: u8,
    pub(in crate::sm) kind: UnitKind,
    /// Bank of the destination.
    pub(in crate::sm) dst_bank: u8,
}

/// The instructions between issue and their units, in one allocation.
#[derive(Debug, warpshard_state::State)]
pub(in crate::sm) struct IssuedTable {
    slots: Box<[IssuedInst]>,
    free: [u64; 4],
}

impl IssuedTable {
    /// Prefetches all of them.
    #[inline]
    pub(in crate::sm) fn prefetch(&self) {
        prefetch(&*self.slots);
    }

    /// Room for the most that a machine can have: one in each register before and after the collectors, and in each collector.
    pub(in crate::sm) fn new(spec: &Spec) -> Self {
        let count = 2 * places(spec).iter().sum::<usize>() + (spec.operands.collectors.max(spec.schedulers)) as usize;
        assert!(count <= 256, "{count} instructions between issue and their units, at most 256 are supported");
        let free = std::array::from_fn(|word| match count.saturating_sub(64 * word) {
            0 => 0,
            left => u64::MAX >> (64 - left.min(64)),
        });
        Self { slots: vec![IssuedInst::default(); count].into(), free }
    }

    /// Bytes of its arrays.
    pub(in crate::sm) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// Takes a free place, for an instruction that the caller writes there.
    #[inline]
    pub(super) fn take_place(&mut self) -> (u8, &mut IssuedInst) {
        for (word, free) in self.free.iter_mut().enumerate() {
            if *free != 0 {
                let slot = word * 64 + free.trailing_zeros() as usize;
                *free &= *free - 1;
                return (slot as u8, &mut self.slots[slot]);
            }
        }
        unreachable!("more instructions between issue and their units than registers and collectors")
    }

    #[inline]
    pub(in crate::sm) fn add(&mut self, inst: IssuedInst) -> u8 {
        let (slot, place) = self.take_place();
        *place = inst;
        slot
    }

    #[inline]
    pub(in crate::sm) fn get(&self, slot: u8) -> &IssuedInst {
        &self.slots[usize::from(slot)]
    }

    /// Those that are there.
    pub(in crate::sm) fn iter(&self) -> impl Iterator<Item = &IssuedInst> {
        self.slots.iter().enumerate().filter(|(slot, _)| self.free[slot >> 6] >> (slot & 63) & 1 == 0).map(|(_, inst)| inst)
    }

    /// Those that are there.
    pub(in crate::sm) fn iter_mut(&mut self) -> impl Iterator<Item = &mut IssuedInst> {
        let free = self.free;
        let taken = move |(slot, _): &(usize, &mut IssuedInst)| free[slot >> 6] >> (slot & 63) & 1 == 0;
        self.slots.iter_mut().enumerate().filter(taken).map(|(_, inst)| inst)
    }

    /// Frees the place of an instruction that leaves.
    #[inline]
    pub(in crate::sm) fn free(&mut self, slot: u8) {
        self.free[usize::from(slot >> 6)] |= 1 << (slot & 63);
    }
}

/// The registers before the units: a few places per kind.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::sm) struct StageRegisters {
    slots: [[u8; MAX_PLACES]; KINDS],
    taken: [u16; KINDS],
    /// Kinds with an instruction in a register.
    pub(in crate::sm) any: u16,
    /// Places, as bits, of which one of some kind was freed since the collectors last looked for room.
    pub(in crate::sm) freed: u16,
    /// An instruction came since the fixed-latency units last looked.
    pub(in crate::sm) fresh: bool,
}

/// All kinds but the load/store unit.
pub(in crate::sm) const FIXED_LATENCY: u16 = !(1 << UnitKind::Mem as u8);

impl StageRegisters {
    pub(in crate::sm) fn new() -> Self {
        Self { slots: [[0; MAX_PLACES]; KINDS], taken: [0; KINDS], any: 0, freed: 0, fresh: false }
    }

    /// Lets the units look at every register in the next cycle.
    pub(in crate::sm) fn wake(&mut self) {
        self.fresh = true;
    }

    #[inline]
    pub(in crate::sm) fn taken(&self, kind: UnitKind) -> u16 {
        self.taken[kind as usize]
    }

    #[inline]
    pub(in crate::sm) fn slot(&self, kind: UnitKind, place: usize) -> u8 {
        self.slots[kind as usize][place & (MAX_PLACES - 1)]
    }

    #[inline]
    pub(in crate::sm) fn put(&mut self, kind: UnitKind, place: usize, flight: u8) {
        debug_assert!(self.taken[kind as usize] >> place & 1 == 0, "place {place} of {kind:?} is taken");
        self.slots[kind as usize][place & (MAX_PLACES - 1)] = flight;
        self.taken[kind as usize] |= 1 << place;
        self.any |= 1 << kind as u8;
        self.fresh |= kind != UnitKind::Mem;
    }

    #[inline]
    pub(in crate::sm) fn take(&mut self, kind: UnitKind, place: usize) -> u8 {
        let taken = &mut self.taken[kind as usize];
        *taken &= !(1 << place);
        self.freed |= 1 << place;
        if *taken == 0 {
            self.any &= !(1 << kind as u8);
        }
        self.slots[kind as usize][place & (MAX_PLACES - 1)]
    }

    /// The place whose instruction was issued first.
    #[inline]
    pub(in crate::sm) fn oldest(&self, kind: UnitKind, table: &IssuedTable) -> Option<usize> {
        let mut left = self.taken[kind as usize];
        let mut best = None;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            left &= left - 1;
            let order = table.get(self.slot(kind, place)).order;
            if best.is_none_or(|(oldest, _)| (order.wrapping_sub(oldest) as i32) < 0) {
                best = Some((order, place));
            }
        }
        best.map(|(_, place)| place)
    }
}
