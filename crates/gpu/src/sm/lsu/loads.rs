//! The loads under way: what of each is still to come, and the cycles in which they were, whatever else the SM did meanwhile.
//!
//! When all parts of a load were answered, its value goes to the registers of its warp's scheduler, where the machine limits that through a
//! path that passes so many bytes per cycle, one load after the other.

use std::collections::VecDeque;

use warpshard_base::{Cycle, KernelIndex, WARP_SIZE};
use warpshard_workload::NO_REGISTER;

use super::super::core::{COPIES, COUNTERS, Core, NOBODY, is_in};

/// A load under way.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct Load {
    pub(super) warp: u8,
    pub(super) bank: u8,
    pub(super) dst: u16,
    /// Accesses (past the L1: sectors) that no answer was written back for.
    pub(super) pending: u16,
    /// Cycles that its value takes to the registers.
    pub(super) transfer: u16,
    pub(super) kernel: KernelIndex,
    /// Instructions that the warp has left after this one.
    pub(super) left: u32,
    /// It changes memory.
    pub(super) atomic: bool,
}

impl Load {
    /// The bank and the number of the register that it writes.
    #[inline]
    pub(super) fn register(&self) -> (u8, u16) {
        (self.bank, self.dst)
    }

    /// Whether it is a copy to shared memory that writes no register.
    #[inline]
    pub(super) fn is_copy(&self) -> bool {
        self.dst == COUNTERS + COPIES
    }
}

/// Loads under way, by number.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Loads {
    slots: Vec<Load>,
    free: Vec<u16>,
    /// The cycle from which on loads under way are not counted, and whether an arithmetic unit had an instruction since.
    since: Cycle,
    pub(super) overlapped: bool,
    /// Bytes that reach the registers per cycle; 0 for any number.
    return_bytes: u32,
    /// By scheduler: loads whose values are on their way to its registers, each with the cycle in which it is there, in ascending order.
    returning: Box<[VecDeque<(Cycle, u16)>]>,
    /// Cycles from the tags of the L1 to the data of a hit, and loads whose last part hit, each with the cycle in which its data is there.
    data_latency: u64,
    hits: VecDeque<(Cycle, u16)>,
}

impl Loads {
    pub(super) fn new(return_bytes: u32, schedulers: u32, data_latency: u32) -> Self {
        let returning = vec![VecDeque::new(); if return_bytes == 0 { 0 } else { schedulers as usize }].into();
        Self {
            slots: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            since: Cycle(0),
            overlapped: false,
            return_bytes,
            returning,
            data_latency: u64::from(data_latency),
            hits: VecDeque::new(),
        }
    }

    /// Cycles that a value of `width` bytes per lane takes to the registers.
    #[inline]
    pub(super) fn transfer(&self, width: u32) -> u16 {
        if self.return_bytes == 0 { 0 } else { (WARP_SIZE * width.max(4)).div_ceil(self.return_bytes) as u16 }
    }

    /// A load begins now; returns its number.
    pub(super) fn add(&mut self, load: Load, core: &mut Core) -> u16 {
        self.count(core.now, core);
        if let Some(slot) = self.free.pop() {
            self.slots[usize::from(slot)] = load;
            return slot;
        }
        self.slots.push(load);
        (self.slots.len() - 1) as u16
    }

    #[inline]
    pub(super) fn get(&self, slot: u16) -> &Load {
        &self.slots[usize::from(slot)]
    }

    /// How many are under way.
    #[inline]
    pub(super) fn under_way(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Counts the loads under way in the cycles up to `at`, in which their number was the same, and so was whether an
    /// arithmetic unit had an instruction.
    #[inline]
    pub(super) fn count(&mut self, at: Cycle, core: &mut Core) {
        let cycles = at.0 - self.since.0;
        let waited = cycles * self.under_way();
        self.since = at;
        core.counters.sm.load_cycles += waited;
        core.counters.sm.load_overlapped_cycles += if self.overlapped { waited } else { 0 };
    }

    /// The loads of `warps` that are under way, in no particular order.
    pub(super) fn of_warps(&self, warps: u64) -> impl Iterator<Item = &Load> {
        let returning = self.returning.iter().flatten().chain(&self.hits).map(|(_, slot)| self.get(*slot));
        self.slots.iter().filter(|load| load.pending > 0).chain(returning).filter(move |load| is_in(warps, load.warp))
    }

    /// Squashes the loads of `warps` that are under way: their data comes, but no register is written.
    pub(super) fn squash(&mut self, warps: u64) {
        for load in self.slots.iter_mut().filter(|load| is_in(warps, load.warp)) {
            (load.warp, load.dst, load.transfer) = (NOBODY, NO_REGISTER, 0);
        }
    }

    /// `count` parts of a load were answered; after the last its value goes to its register.
    #[inline]
    pub(super) fn answer(&mut self, slot: u16, count: u16, core: &mut Core) {
        let load = &mut self.slots[usize::from(slot)];
        debug_assert!(load.pending >= count, "{}: load {slot} is answered too often", core.id);
        load.pending -= count;
        if load.pending == 0 {
            self.complete(slot, core);
        }
    }

    /// A part of a load hit in the L1; after the last its value goes to its register when the data is there.
    #[inline]
    pub(super) fn hit(&mut self, slot: u16, core: &mut Core) {
        if self.data_latency == 0 {
            return self.answer(slot, 1, core);
        }
        let load = &mut self.slots[usize::from(slot)];
        load.pending -= 1;
        if load.pending == 0 {
            self.hits.push_back((core.now.after(self.data_latency), slot));
        }
    }

    /// All parts of a load are there: its value goes to its register.
    #[inline]
    fn complete(&mut self, slot: u16, core: &mut Core) {
        let Load { warp, transfer, .. } = *self.get(slot);
        match transfer {
            0 => self.end(slot, core),
            cycles => {
                let path = usize::from(warp) % self.returning.len();
                let free = self.returning[path].back().map_or(core.now, |(at, _)| core.now.max(*at));
                self.returning[path].push_back((free.after(u64::from(cycles)), slot));
            }
        }
    }

    /// Ends the loads whose values are in the registers now, and sends on those whose data the L1 has now.
    #[inline]
    pub(super) fn end_returned(&mut self, core: &mut Core) {
        while let Some((_, slot)) = self.hits.pop_front_if(|(at, _)| *at <= core.now) {
            self.complete(slot, core);
        }
        for path in 0..self.returning.len() {
            while let Some((_, slot)) = self.returning[path].pop_front_if(|(at, _)| *at <= core.now) {
                self.end(slot, core);
            }
        }
    }

    /// The cycle in which the next value is in the registers, or its data there.
    #[inline]
    pub(super) fn next_returned(&self) -> Cycle {
        self.returning.iter().chain([&self.hits]).filter_map(VecDeque::front).map(|(at, _)| *at).min().unwrap_or(Cycle::NEVER)
    }

    /// The value of a load is in its register.
    // Apart: most answers are of other parts.
    #[inline(never)]
    fn end(&mut self, slot: u16, core: &mut Core) {
        let Load { warp, dst, .. } = *self.get(slot);
        self.count(core.now, core);
        core.counters.sm.loads_answered += 1;
        self.free.push(slot);
        if dst != NO_REGISTER {
            core.register_ready(usize::from(warp), dst);
        }
    }
}
