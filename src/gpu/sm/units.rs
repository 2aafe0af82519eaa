//! Execution units: the units of each class, when they are free, and the result buses.
//!
//! Input: instructions with collected operands, one input register per unit (sub-cores) or per unit of the kind (shared).
//! Output: completions in the [`Wheel`](super::writeback::Wheel). A unit takes an instruction every initiation interval;
//! its result is written back `latency` + [`BEHIND_UNIT`] cycles later, and its cycle on a result bus is reserved when it enters.

use crate::base::{Cycle, prefetch};
use crate::config::machine::{CoreStyle, Sm as Spec};
use crate::frontend::{DynInst, OpClass};

use super::operands::Sources;
use super::writeback::{Completion, Wheel};

/// Kinds of execution unit, in the order in which they are served in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum UnitKind {
    /// Single precision.
    #[default]
    Sp,
    /// Double precision.
    Dp,
    /// Integer.
    Int,
    /// Special functions.
    Sfu,
    /// Branches.
    Branch,
    /// Texture.
    Texture,
    /// Matrix.
    Tensor,
    /// Uniform datapath.
    Uniform,
    /// Load/store unit.
    Mem,
}

/// How many kinds there are.
pub(super) const KINDS: usize = 9;

/// All kinds, in the order of their numbers.
pub(super) const ALL_KINDS: [UnitKind; KINDS] = [
    UnitKind::Sp,
    UnitKind::Dp,
    UnitKind::Int,
    UnitKind::Sfu,
    UnitKind::Branch,
    UnitKind::Texture,
    UnitKind::Tensor,
    UnitKind::Uniform,
    UnitKind::Mem,
];

/// Cycles from the end of a unit's pipeline to the writing of the result.
pub(super) const BEHIND_UNIT: u64 = 2;

/// Places that a kind's registers between stages can have: one per sub-core, or one per unit where they are shared.
pub(super) const MAX_PLACES: usize = 16;

/// Where a class runs, and how long.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassRoute {
    pub(super) kind: UnitKind,
    pub(super) latency: u16,
    pub(super) initiation: u16,
}

/// The unit that a class runs on: its own kind where the machine has one, else INT, else SP. Double precision falls back on
/// SFU first, as in the reference.
pub(super) fn routes(spec: &Spec) -> [ClassRoute; OpClass::COUNT] {
    let units = &spec.units;
    let int = if units.int > 0 { UnitKind::Int } else { UnitKind::Sp };
    let or = |count: u32, kind: UnitKind, other: UnitKind| if count > 0 { kind } else { other };
    let mut table = [ClassRoute::default(); OpClass::COUNT];
    for (class, kind) in [
        (OpClass::Sp, or(units.sp, UnitKind::Sp, int)),
        (OpClass::Int, int),
        (OpClass::Alu, int),
        (OpClass::Sfu, or(units.sfu, UnitKind::Sfu, int)),
        (OpClass::Dp, or(units.dp, UnitKind::Dp, or(units.sfu, UnitKind::Sfu, int))),
        (OpClass::Tensor, or(units.tensor, UnitKind::Tensor, int)),
        (OpClass::Branch, or(units.branch, UnitKind::Branch, int)),
        (OpClass::Texture, or(units.texture, UnitKind::Texture, int)),
        (OpClass::Uniform, or(units.uniform, UnitKind::Uniform, int)),
        (OpClass::Load, UnitKind::Mem),
        (OpClass::Store, UnitKind::Mem),
        (OpClass::Fence, UnitKind::Mem),
        (OpClass::Barrier, int),
        (OpClass::Exit, int),
    ] {
        let timing = spec.timing[class as usize];
        // An interval of 0 or beyond the latency has no meaning in a pipeline of `latency` stages.
        let latency = timing.latency.max(1) as u16;
        table[class as usize] = ClassRoute { kind, latency, initiation: (timing.initiation as u16).clamp(1, latency) };
    }
    table
}

/// How many places the registers before the units of each kind have.
pub(super) fn places(spec: &Spec) -> [usize; KINDS] {
    let units = &spec.units;
    let shared = [units.sp, units.dp, units.int, units.sfu, units.branch, units.texture, units.tensor, units.uniform, 1];
    let schedulers = spec.schedulers as usize;
    match spec.style {
        CoreStyle::SubCores => shared.map(|count| if count == 0 { 0 } else { schedulers }),
        CoreStyle::Shared => shared.map(|count| (count as usize).min(MAX_PLACES)),
    }
}

/// An instruction between issue and its unit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IssuedInst {
    pub(super) inst: DynInst,
    pub(super) sources: Sources,
    /// Order of issue.
    pub(super) order: u32,
    pub(super) dst: u16,
    pub(super) latency: u16,
    pub(super) initiation: u16,
    pub(super) warp: u8,
    /// Sub-core, or 0 where all is shared.
    pub(super) group: u8,
    pub(super) kind: UnitKind,
    /// Bank of the destination.
    pub(super) dst_bank: u8,
}

/// The instructions between issue and their units, in one allocation.
#[derive(Debug)]
pub(super) struct Flights {
    slots: Box<[IssuedInst]>,
    free: [u64; 4],
}

impl Flights {
    /// Asks the host for all of them.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&*self.slots);
    }

    /// Room for the most that a machine can have: one in each register before and after the collectors, and in each collector.
    pub(super) fn new(spec: &Spec) -> Self {
        let count = 2 * places(spec).iter().sum::<usize>() + (spec.operands.collectors.max(spec.schedulers)) as usize;
        assert!(count <= 256, "{count} instructions between issue and their units, at most 256 are supported");
        let free = std::array::from_fn(|word| match count.saturating_sub(64 * word) {
            0 => 0,
            left => u64::MAX >> (64 - left.min(64)),
        });
        Self { slots: vec![IssuedInst::default(); count].into(), free }
    }

    /// Bytes of its arrays.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    #[inline]
    pub(super) fn add(&mut self, flight: IssuedInst) -> u8 {
        for (word, free) in self.free.iter_mut().enumerate() {
            if *free != 0 {
                let slot = word * 64 + free.trailing_zeros() as usize;
                *free &= *free - 1;
                self.slots[slot] = flight;
                return slot as u8;
            }
        }
        unreachable!("more instructions between issue and their units than registers and collectors")
    }

    /// Bytes of the allocation.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    #[inline]
    pub(super) fn get(&self, slot: u8) -> &IssuedInst {
        &self.slots[usize::from(slot)]
    }

    /// Frees the place of an instruction that leaves.
    #[inline]
    pub(super) fn free(&mut self, slot: u8) {
        self.free[usize::from(slot >> 6)] |= 1 << (slot & 63);
    }
}

/// The registers before the units: a few places per kind.
#[derive(Clone, Debug)]
pub(super) struct StageRegisters {
    slots: [[u8; MAX_PLACES]; KINDS],
    taken: [u16; KINDS],
    /// Kinds with an instruction in a register.
    pub(super) any: u16,
    /// A place was freed since the collectors last looked for room.
    pub(super) freed: bool,
    /// An instruction came since the fixed-latency units last looked.
    fresh: bool,
}

/// All kinds but the load/store unit.
const FIXED_LATENCY: u16 = !(1 << UnitKind::Mem as u8);

impl StageRegisters {
    pub(super) fn new() -> Self {
        Self { slots: [[0; MAX_PLACES]; KINDS], taken: [0; KINDS], any: 0, freed: false, fresh: false }
    }

    /// Lets the units look at every register in the next cycle.
    pub(super) fn wake(&mut self) {
        self.fresh = true;
    }

    #[inline]
    pub(super) fn taken(&self, kind: UnitKind) -> u16 {
        self.taken[kind as usize]
    }

    #[inline]
    pub(super) fn slot(&self, kind: UnitKind, place: usize) -> u8 {
        self.slots[kind as usize][place & (MAX_PLACES - 1)]
    }

    #[inline]
    pub(super) fn put(&mut self, kind: UnitKind, place: usize, flight: u8) {
        debug_assert!(self.taken[kind as usize] >> place & 1 == 0, "place {place} of {kind:?} is taken");
        self.slots[kind as usize][place & (MAX_PLACES - 1)] = flight;
        self.taken[kind as usize] |= 1 << place;
        self.any |= 1 << kind as u8;
        self.fresh |= kind != UnitKind::Mem;
    }

    #[inline]
    pub(super) fn take(&mut self, kind: UnitKind, place: usize) -> u8 {
        let taken = &mut self.taken[kind as usize];
        *taken &= !(1 << place);
        self.freed = true;
        if *taken == 0 {
            self.any &= !(1 << kind as u8);
        }
        self.slots[kind as usize][place & (MAX_PLACES - 1)]
    }

    /// The place whose instruction was issued first.
    #[inline]
    pub(super) fn oldest(&self, kind: UnitKind, flights: &Flights) -> Option<usize> {
        let mut left = self.taken[kind as usize];
        let mut best = None;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            left &= left - 1;
            let order = flights.get(self.slot(kind, place)).order;
            if best.is_none_or(|(oldest, _)| (order.wrapping_sub(oldest) as i32) < 0) {
                best = Some((order, place));
            }
        }
        best.map(|(_, place)| place)
    }
}

/// The fixed-latency units and the result buses.
#[derive(Debug)]
pub(super) struct Units {
    shared: bool,
    places: [usize; KINDS],
    free_at: Box<[[Cycle; MAX_PLACES]; KINDS]>,
    /// Results reserved per cycle of completion, as a ring; no reservation exceeds its length, and a cycle's entry is cleared
    /// when its results are written back.
    buses: Box<[u8]>,
    result_buses: u8,
    /// The first cycle in which a waiting instruction could enter, if no other arrives.
    wake: Cycle,
    completions: Completions,
}

/// The cycles in which units complete an instruction, for kinds whose classes could complete in one cycle from one unit.
///
/// A ring of words for each such unit: a bit per cycle, and with each word the number of its 64 cycles, so that words of
/// past cycles need no clearing.
#[derive(Debug)]
struct Completions {
    kinds: u16,
    first: [u16; KINDS],
    per_unit: usize,
    words: Box<[(u64, u64)]>,
}

impl Completions {
    fn new(routes: &[ClassRoute], places: &[usize; KINDS]) -> Self {
        let mut kinds = 0u16;
        for long in routes {
            for short in routes {
                let overlap = long.latency > short.latency && long.latency - short.latency >= long.initiation;
                if long.kind == short.kind && long.kind != UnitKind::Mem && overlap {
                    kinds |= 1 << long.kind as u8;
                }
            }
        }
        let concerned = routes.iter().filter(|route| kinds >> route.kind as u8 & 1 != 0);
        let longest = concerned.map(|route| usize::from(route.latency)).max().unwrap_or(0);
        let per_unit = (longest / 64 + 2).next_power_of_two();
        let (mut first, mut count) = ([0; KINDS], 0);
        for kind in ALL_KINDS {
            if kinds >> kind as u8 & 1 != 0 {
                first[kind as usize] = count as u16;
                count += places[kind as usize] * per_unit;
            }
        }
        Self { kinds, first, per_unit, words: vec![(0, 0); count].into() }
    }

    /// Reserves cycle `done` of a unit; returns whether it was free.
    #[inline]
    fn reserve(&mut self, kind: UnitKind, unit: usize, done: u64) -> bool {
        if self.kinds >> kind as u8 & 1 == 0 {
            return true;
        }
        let at = usize::from(self.first[kind as usize]) + unit * self.per_unit + (done as usize >> 6 & (self.per_unit - 1));
        let (span, bits) = &mut self.words[at];
        let reserved = if *span == done >> 6 { *bits } else { 0 };
        (*span, *bits) = (done >> 6, reserved | 1 << (done & 63));
        reserved >> (done & 63) & 1 == 0
    }
}

impl Units {
    pub(super) fn new(spec: &Spec) -> Self {
        let routes = routes(spec);
        let longest = routes.iter().map(|route| usize::from(route.latency)).max().unwrap_or(1);
        assert!(longest < 1000, "a latency of {longest} cycles exceeds what the units can schedule");
        let places = places(spec);
        Self {
            shared: spec.style == CoreStyle::Shared,
            completions: Completions::new(&routes, &places),
            places,
            free_at: Box::new([[Cycle(0); MAX_PLACES]; KINDS]),
            buses: vec![0; (longest + 2).next_power_of_two()].into(),
            result_buses: spec.result_buses.min(255) as u8,
            wake: Cycle::NEVER,
        }
    }

    /// Bytes of its arrays.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.free_at) + size_of_val(&*self.buses) + size_of_val(&*self.completions.words)
    }

    /// The first cycle at or after `now` in which a unit may take an instruction.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle, ready: &StageRegisters) -> Cycle {
        let at = if ready.fresh { now } else { self.wake.max(now) };
        if ready.any & FIXED_LATENCY == 0 { Cycle::NEVER } else { at }
    }

    /// Lets units take instructions from their registers.
    #[inline]
    pub(super) fn execute(&mut self, now: Cycle, ready: &mut StageRegisters, flights: &mut Flights, wheel: &mut Wheel) {
        if self.next_event(now, ready) <= now {
            self.serve(now, ready, flights, wheel);
        }
    }

    fn serve(&mut self, now: Cycle, ready: &mut StageRegisters, flights: &mut Flights, wheel: &mut Wheel) {
        ready.fresh = false;
        self.wake = Cycle::NEVER;
        let mut kinds = ready.any & FIXED_LATENCY;
        while kinds != 0 {
            let kind = ALL_KINDS[kinds.trailing_zeros() as usize];
            kinds &= kinds - 1;
            if self.shared {
                for unit in 0..self.places[kind as usize] {
                    let Some(place) = ready.oldest(kind, flights) else { break };
                    let _ = self.try_enter(now, kind, unit, place, ready, flights, wheel);
                }
                if ready.taken(kind) != 0 {
                    self.wake = now.after(1);
                }
            } else {
                let mut places = ready.taken(kind);
                while places != 0 {
                    let place = places.trailing_zeros() as usize;
                    places &= places - 1;
                    if let Err(free_at) = self.try_enter(now, kind, place, place, ready, flights, wheel) {
                        self.wake = self.wake.min(free_at);
                    }
                }
            }
        }
    }

    /// Lets a unit take the instruction of a place, or says when it may be able to.
    // Called from two places; otherwise the parts of the SM are handed over in memory.
    #[expect(clippy::too_many_arguments, reason = "the parts of the SM are borrowed one by one")]
    #[inline(always)]
    fn try_enter(
        &mut self,
        now: Cycle,
        kind: UnitKind,
        unit: usize,
        place: usize,
        ready: &mut StageRegisters,
        flights: &mut Flights,
        wheel: &mut Wheel,
    ) -> Result<(), Cycle> {
        let free_at = &mut self.free_at[kind as usize][unit & (MAX_PLACES - 1)];
        if *free_at > now {
            return Err(*free_at);
        }
        let slot = ready.slot(kind, place);
        let flight = flights.get(slot);
        let done = now.0 + u64::from(flight.latency);
        let bus = done as usize & (self.buses.len() - 1);
        if self.buses[bus] >= self.result_buses || !self.completions.reserve(kind, unit, done) {
            return Err(now.next());
        }
        self.buses[bus] += 1;
        *free_at = now.after(u64::from(flight.initiation));
        wheel.add(now, u64::from(flight.latency) + BEHIND_UNIT, Completion { warp: flight.warp, bank: flight.dst_bank, dst: flight.dst });
        ready.take(kind, place);
        flights.free(slot);
        Ok(())
    }

    /// Frees the reservations of cycle `done`: its results are being written back, [`BEHIND_UNIT`] cycles later.
    #[inline]
    pub(super) fn written_back(&mut self, done: u64) {
        self.buses[done as usize & (self.buses.len() - 1)] = 0;
    }
}
