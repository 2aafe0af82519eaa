//! Outstanding loads: the missing parts of each load, and the cycles in which loads were outstanding, with or without other activity of the
//! SM.
//!
//! When all parts of a load have arrived, its value goes to the registers of its warp's scheduler. If the machine limits this path, it
//! passes a limited number of bytes per cycle, one load after the other.

use std::collections::VecDeque;

use warpshard_base::{Cycle, KernelIndex, WARP_SIZE};
use warpshard_workload::NO_REGISTER;

use super::super::core::{COPY_RESULT, Core, FIRST_ASYNC_RESULT, NO_WARP, is_in};

/// An outstanding load.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct Load {
    pub(super) warp: u8,
    pub(super) bank: u8,
    pub(super) dst: u16,
    /// Accesses (for loads that bypass the L1: sectors) whose result has not been written back.
    pub(super) pending: u16,
    /// Cycles of the transfer of the value to the registers.
    pub(super) transfer: u16,
    pub(super) kernel: KernelIndex,
    /// Number of instructions of the warp after the present one.
    pub(super) left: u32,
    /// True for an atomic.
    pub(super) atomic: bool,
}

impl Load {
    /// Returns the bank and the number of the destination register.
    #[inline]
    pub(super) fn register(&self) -> (u8, u16) {
        (self.bank, self.dst)
    }

    /// Returns true for a copy to shared memory, which writes no register.
    #[inline]
    pub(super) fn is_copy(&self) -> bool {
        self.dst == FIRST_ASYNC_RESULT + COPY_RESULT
    }
}

/// Outstanding loads, by number.
#[derive(Debug, warpshard_state::State)]
pub(super) struct OutstandingLoads {
    slots: Vec<Load>,
    free: Vec<u16>,
    /// The first cycle whose outstanding loads are not counted.
    counted_until: Cycle,
    /// True if an arithmetic unit has had an instruction since cycle `since`.
    pub(super) overlapped: bool,
    /// Bytes per cycle on the path to the registers; 0 for no limit.
    return_bytes: u32,
    /// Loads in transfer to the registers and the cycles of their arrival in ascending order, by scheduler.
    returning_loads: Box<[VecDeque<(Cycle, u16)>]>,
    /// Cycles from the tags of the L1 to the data of a hit.
    data_latency: u64,
    /// Loads whose last part hit, with the arrival cycle of their data.
    hits: VecDeque<(Cycle, u16)>,
}

impl OutstandingLoads {
    pub(super) fn new(return_bytes: u32, schedulers: u32, data_latency: u32) -> Self {
        let returning = vec![VecDeque::new(); if return_bytes == 0 { 0 } else { schedulers as usize }].into();
        Self {
            slots: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            counted_until: Cycle(0),
            overlapped: false,
            return_bytes,
            returning_loads: returning,
            data_latency: u64::from(data_latency),
            hits: VecDeque::new(),
        }
    }

    /// Returns the cycles of the transfer of a value of `width` bytes per lane to the registers.
    #[inline]
    pub(super) fn transfer(&self, width: u32) -> u16 {
        if self.return_bytes == 0 { 0 } else { (WARP_SIZE * width.max(4)).div_ceil(self.return_bytes) as u16 }
    }

    /// Adds a load that begins in the present cycle; returns its number.
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

    /// Returns the number of outstanding loads.
    #[inline]
    pub(super) fn outstanding_count(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Counts the outstanding loads in the cycles up to `at`. In these cycles neither their number nor the activity of the arithmetic units
    /// changed.
    #[inline]
    pub(super) fn count(&mut self, at: Cycle, core: &mut Core) {
        let cycles = at.0 - self.counted_until.0;
        let waited = cycles * self.outstanding_count();
        self.counted_until = at;
        core.counters.sm.load_cycles += waited;
        core.counters.sm.load_overlapped_cycles += if self.overlapped { waited } else { 0 };
    }

    /// Returns the outstanding loads of `warps`, in no particular order.
    pub(super) fn of_warps(&self, warps: u64) -> impl Iterator<Item = &Load> {
        let returning = self.returning_loads.iter().flatten().chain(&self.hits).map(|(_, slot)| self.get(*slot));
        self.slots.iter().filter(|load| load.pending > 0).chain(returning).filter(move |load| is_in(warps, load.warp))
    }

    /// Squashes the outstanding loads of `warps`: their data arrives, but no register is written.
    pub(super) fn squash(&mut self, warps: u64) {
        for load in self.slots.iter_mut().filter(|load| is_in(warps, load.warp)) {
            (load.warp, load.dst, load.transfer) = (NO_WARP, NO_REGISTER, 0);
        }
    }

    /// Completes `count` parts of a load; after the last part its value goes to its register.
    #[inline]
    pub(super) fn complete_parts(&mut self, slot: u16, count: u16, core: &mut Core) {
        let load = &mut self.slots[usize::from(slot)];
        debug_assert!(load.pending >= count, "{}: load {slot} received too many replies", core.id);
        load.pending -= count;
        if load.pending == 0 {
            self.complete(slot, core);
        }
    }

    /// Records that a part of a load hit in the L1; after the last part its value goes to its register when the data arrives.
    #[inline]
    pub(super) fn complete_hit(&mut self, slot: u16, core: &mut Core) {
        if self.data_latency == 0 {
            return self.complete_parts(slot, 1, core);
        }
        let load = &mut self.slots[usize::from(slot)];
        load.pending -= 1;
        if load.pending == 0 {
            self.hits.push_back((core.now.after(self.data_latency), slot));
        }
    }

    /// Sends the value of a load, whose parts have all arrived, to its register.
    #[inline]
    fn complete(&mut self, slot: u16, core: &mut Core) {
        let Load { warp, transfer, .. } = *self.get(slot);
        match transfer {
            0 => self.end_load(slot, core),
            cycles => {
                let path = usize::from(warp) % self.returning_loads.len();
                let free = self.returning_loads[path].back().map_or(core.now, |(at, _)| core.now.max(*at));
                self.returning_loads[path].push_back((free.after(u64::from(cycles)), slot));
            }
        }
    }

    /// Ends the loads whose values have reached the registers, and forwards the loads whose data has left the L1.
    #[inline]
    pub(super) fn end_returned(&mut self, core: &mut Core) {
        while let Some((_, slot)) = self.hits.pop_front_if(|(at, _)| *at <= core.now) {
            self.complete(slot, core);
        }
        for path in 0..self.returning_loads.len() {
            while let Some((_, slot)) = self.returning_loads[path].pop_front_if(|(at, _)| *at <= core.now) {
                self.end_load(slot, core);
            }
        }
    }

    /// Returns the cycle in which the next value reaches the registers, or its data arrives.
    #[inline]
    pub(super) fn next_returned(&self) -> Cycle {
        self.returning_loads.iter().chain([&self.hits]).filter_map(VecDeque::front).map(|(at, _)| *at).min().unwrap_or(Cycle::NEVER)
    }

    /// Ends a load whose value has reached its register.
    // Not inlined: most results are of other parts.
    #[inline(never)]
    fn end_load(&mut self, slot: u16, core: &mut Core) {
        let Load { warp, dst, .. } = *self.get(slot);
        self.count(core.now, core);
        core.counters.sm.loads_answered += 1;
        self.free.push(slot);
        if dst != NO_REGISTER {
            core.register_ready(usize::from(warp), dst);
        }
    }
}
