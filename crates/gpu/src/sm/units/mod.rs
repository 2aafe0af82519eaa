//! Execution units: the units of each class, the cycles in which they are free, and the result buses.
//!
//! Input: instructions with collected operands, one input register per unit (sub-cores) or per unit of the kind (shared).
//! Output: completions in the [`CompletionWheel`](super::writeback::CompletionWheel). A unit accepts an instruction every initiation interval; its result is
//! written back `latency` + [`UNIT_TO_WRITEBACK_CYCLES`] cycles later, and its cycle on a result bus is reserved when it enters.

mod completions;

use warpshard_base::Cycle;
use warpshard_config::machine::{CoreStyle, Sm as Spec};

use super::kinds::{ALL_UNIT_KINDS, MAX_SLOTS, UNIT_KIND_COUNT, UnitKind, routes, slots_per_kind};
use super::operands::{FIXED_LATENCY, IssuedTable, OperandCollectors, StageRegisters};
use super::writeback::{Completion, CompletionWheel, UNIT_TO_WRITEBACK_CYCLES};
use completions::Completions;

/// The fixed-latency units and the result buses.
#[derive(Debug, warpshard_state::State)]
pub(super) struct ExecutionUnits {
    shared: bool,
    slots_per_kind: [usize; UNIT_KIND_COUNT],
    free_at: Box<[[Cycle; MAX_SLOTS]; UNIT_KIND_COUNT]>,
    /// Results reserved per completion cycle, as a ring; no reservation exceeds its length, and the entry of a cycle is cleared when its
    /// results are written back.
    buses: Box<[u8]>,
    result_buses: u8,
    /// The first cycle in which a waiting instruction could enter a unit, if no other one arrives.
    wake: Cycle,
    completions: Completions,
}

impl ExecutionUnits {
    pub(super) fn new(spec: &Spec) -> Self {
        let routes = routes(spec);
        let longest = routes.iter().map(|route| usize::from(route.latency)).max().unwrap_or(1);
        assert!(longest < 1000, "a latency of {longest} cycles exceeds what the units can schedule");
        let slots_per_kind = slots_per_kind(spec);
        Self {
            shared: spec.style == CoreStyle::Shared,
            completions: Completions::new(&routes, &slots_per_kind),
            slots_per_kind,
            free_at: Box::new([[Cycle(0); MAX_SLOTS]; UNIT_KIND_COUNT]),
            buses: vec![0; (longest + 2).next_power_of_two()].into(),
            result_buses: spec.result_buses.min(255) as u8,
            wake: Cycle::NEVER,
        }
    }

    /// Returns the bytes of the arrays.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.free_at) + size_of_val(&*self.buses) + self.completions.hot_bytes()
    }

    /// Returns the first cycle at or after `now` in which a unit may accept an instruction.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle, ready: &StageRegisters) -> Cycle {
        let at = if ready.has_new { now } else { self.wake.max(now) };
        if ready.any & FIXED_LATENCY == 0 { Cycle::NEVER } else { at }
    }

    /// Moves instructions from the input registers into the units.
    // There is one caller, in every cycle.
    #[inline(always)]
    pub(super) fn tick(&mut self, now: Cycle, operands: &mut OperandCollectors, wheel: &mut CompletionWheel) {
        if self.next_event(now, &operands.ready) <= now {
            self.serve(now, operands, wheel);
        }
    }

    #[inline(always)]
    fn serve(&mut self, now: Cycle, operands: &mut OperandCollectors, wheel: &mut CompletionWheel) {
        let OperandCollectors { ready, issued, .. } = operands;
        ready.has_new = false;
        self.wake = Cycle::NEVER;
        let mut kinds = ready.any & FIXED_LATENCY;
        while kinds != 0 {
            let kind = ALL_UNIT_KINDS[kinds.trailing_zeros() as usize];
            kinds &= kinds - 1;
            if self.shared {
                for unit in 0..self.slots_per_kind[kind as usize] {
                    let Some(place) = ready.oldest(kind, issued) else { break };
                    let _ = self.try_enter(now, kind, unit, place, ready, issued, wheel);
                }
                if ready.taken_slots(kind) != 0 {
                    self.wake = now.after(1);
                }
            } else {
                let mut occupied = ready.taken_slots(kind);
                while occupied != 0 {
                    let slot = occupied.trailing_zeros() as usize;
                    occupied &= occupied - 1;
                    if let Err(free_at) = self.try_enter(now, kind, slot, slot, ready, issued, wheel) {
                        self.wake = self.wake.min(free_at);
                    }
                }
            }
        }
    }

    /// Moves an instruction from a register into its unit, or returns the cycle in which that may be possible.
    // There are two callers; without inlining, the parts of the SM are passed in memory.
    #[expect(clippy::too_many_arguments, reason = "the parts of the SM are borrowed one by one")]
    #[inline(always)]
    fn try_enter(
        &mut self,
        now: Cycle,
        kind: UnitKind,
        unit: usize,
        place: usize,
        ready: &mut StageRegisters,
        issued: &mut IssuedTable,
        wheel: &mut CompletionWheel,
    ) -> Result<(), Cycle> {
        let free_at = &mut self.free_at[kind as usize][unit & (MAX_SLOTS - 1)];
        if *free_at > now {
            return Err(*free_at);
        }
        let slot = ready.slot(kind, place);
        let inst = issued.get(slot);
        let done = now.0 + u64::from(inst.latency);
        let bus = done as usize & (self.buses.len() - 1);
        if self.buses[bus] >= self.result_buses || !self.completions.reserve(kind, unit, done) {
            return Err(now.next());
        }
        self.buses[bus] += 1;
        *free_at = now.after(u64::from(inst.initiation));
        wheel.add(
            now,
            u64::from(inst.latency) + UNIT_TO_WRITEBACK_CYCLES,
            Completion { warp: inst.warp, bank: inst.dst_bank, dst: inst.dst },
        );
        ready.vacate_slot(kind, place);
        issued.free(slot);
        Ok(())
    }

    /// Releases the reservations of the results that were written in cycle `now`, for the cycle in which they left their units.
    #[inline]
    pub(super) fn written_back(&mut self, now: Cycle) {
        let done = now.0.saturating_sub(UNIT_TO_WRITEBACK_CYCLES) as usize;
        self.buses[done & (self.buses.len() - 1)] = 0;
    }
}
