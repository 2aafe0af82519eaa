//! The registers between the stages: the issued instructions, and the slots before the units.

use warpshard_base::prefetch;
use warpshard_config::machine::Sm as Spec;
use warpshard_workload::DynInst;

use super::super::kinds::{MAX_SLOTS, UNIT_KIND_COUNT, UnitKind, slots_per_kind};
use super::SourceBanks;

/// An instruction between issue and its unit.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct IssuedInst {
    pub(in crate::sm) inst: DynInst,
    pub(in crate::sm) sources: SourceBanks,
    /// Position in the order of issue.
    pub(in crate::sm) order: u32,
    /// Number of instructions of the warp after the present one.
    pub(in crate::sm) left: u32,
    pub(in crate::sm) dst: u16,
    pub(in crate::sm) latency: u16,
    pub(in crate::sm) initiation: u16,
    pub(in crate::sm) warp: u8,
    /// The sub-core, or 0 in a shared core.
    pub(in crate::sm) group: u8,
    pub(in crate::sm) kind: UnitKind,
    /// The bank of the destination register.
    pub(in crate::sm) dst_bank: u8,
}

/// The instructions between issue and their units, in one allocation.
#[derive(Debug, warpshard_state::State)]
pub(in crate::sm) struct IssuedTable {
    slots: Box<[IssuedInst]>,
    free: [u64; 4],
}

impl IssuedTable {
    /// Prefetches the table.
    #[inline]
    pub(in crate::sm) fn prefetch(&self) {
        prefetch(&*self.slots);
    }

    /// Creates a table with capacity for the most instructions that the machine can have: one in each register before and after the
    /// collectors, and in each collector.
    pub(in crate::sm) fn new(spec: &Spec) -> Self {
        let count = 2 * slots_per_kind(spec).iter().sum::<usize>() + (spec.operands.collectors.max(spec.schedulers)) as usize;
        assert!(count <= 256, "{count} instructions between issue and their units, at most 256 are supported");
        let free = std::array::from_fn(|word| match count.saturating_sub(64 * word) {
            0 => 0,
            left => u64::MAX >> (64 - left.min(64)),
        });
        Self { slots: vec![IssuedInst::default(); count].into(), free }
    }

    /// Returns the bytes of the arrays.
    pub(in crate::sm) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// Allocates a free entry for an instruction, which the caller writes.
    #[inline]
    pub(super) fn allocate(&mut self) -> (u8, &mut IssuedInst) {
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
        let (slot, place) = self.allocate();
        *place = inst;
        slot
    }

    #[inline]
    pub(in crate::sm) fn get(&self, slot: u8) -> &IssuedInst {
        &self.slots[usize::from(slot)]
    }

    /// Returns the instructions in the table.
    pub(in crate::sm) fn iter(&self) -> impl Iterator<Item = &IssuedInst> {
        self.slots.iter().enumerate().filter(|(slot, _)| self.free[slot >> 6] >> (slot & 63) & 1 == 0).map(|(_, inst)| inst)
    }

    /// Returns the instructions in the table, mutable.
    pub(in crate::sm) fn iter_mut(&mut self) -> impl Iterator<Item = &mut IssuedInst> {
        let free = self.free;
        let taken = move |(slot, _): &(usize, &mut IssuedInst)| free[slot >> 6] >> (slot & 63) & 1 == 0;
        self.slots.iter_mut().enumerate().filter(taken).map(|(_, inst)| inst)
    }

    /// Frees the entry of an instruction that leaves.
    #[inline]
    pub(in crate::sm) fn free(&mut self, slot: u8) {
        self.free[usize::from(slot >> 6)] |= 1 << (slot & 63);
    }
}

/// The registers before the units: a few slots per kind.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::sm) struct StageRegisters {
    slots: [[u8; MAX_SLOTS]; UNIT_KIND_COUNT],
    taken_slots: [u16; UNIT_KIND_COUNT],
    /// Kinds with an instruction in a register.
    pub(in crate::sm) any: u16,
    /// Slots, as bits, that were freed for some kind since the collectors last examined them.
    pub(in crate::sm) freed: u16,
    /// True if an instruction arrived since the fixed-latency units were last examined.
    pub(in crate::sm) has_new: bool,
}

/// All kinds except the load/store unit.
pub(in crate::sm) const FIXED_LATENCY: u16 = !(1 << UnitKind::Mem as u8);

impl StageRegisters {
    pub(in crate::sm) fn new() -> Self {
        Self { slots: [[0; MAX_SLOTS]; UNIT_KIND_COUNT], taken_slots: [0; UNIT_KIND_COUNT], any: 0, freed: 0, has_new: false }
    }

    /// Makes the units examine every register in the next cycle.
    pub(in crate::sm) fn wake(&mut self) {
        self.has_new = true;
    }

    #[inline]
    pub(in crate::sm) fn taken_slots(&self, kind: UnitKind) -> u16 {
        self.taken_slots[kind as usize]
    }

    #[inline]
    pub(in crate::sm) fn slot(&self, kind: UnitKind, place: usize) -> u8 {
        self.slots[kind as usize][place & (MAX_SLOTS - 1)]
    }

    #[inline]
    pub(in crate::sm) fn occupy_slot(&mut self, kind: UnitKind, place: usize, flight: u8) {
        debug_assert!(self.taken_slots[kind as usize] >> place & 1 == 0, "slot {place} of {kind:?} is occupied");
        self.slots[kind as usize][place & (MAX_SLOTS - 1)] = flight;
        self.taken_slots[kind as usize] |= 1 << place;
        self.any |= 1 << kind as u8;
        self.has_new |= kind != UnitKind::Mem;
    }

    #[inline]
    pub(in crate::sm) fn vacate_slot(&mut self, kind: UnitKind, place: usize) -> u8 {
        let taken = &mut self.taken_slots[kind as usize];
        *taken &= !(1 << place);
        self.freed |= 1 << place;
        if *taken == 0 {
            self.any &= !(1 << kind as u8);
        }
        self.slots[kind as usize][place & (MAX_SLOTS - 1)]
    }

    /// Returns the slot whose instruction was issued first.
    #[inline]
    pub(in crate::sm) fn oldest(&self, kind: UnitKind, table: &IssuedTable) -> Option<usize> {
        let mut left = self.taken_slots[kind as usize];
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
