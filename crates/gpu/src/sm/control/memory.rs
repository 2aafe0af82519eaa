//! The way of a memory instruction through its sub-core: a queue, the address unit, which reads the operands in cycles in which nobody else does,
//! and a pipe to the load/store unit, which the sub-cores share.

use std::collections::VecDeque;

use warpshard_base::Cycle;
use warpshard_config::machine::ControlCore as Spec;

use super::super::core::{COUNTERS, Core};
use super::super::kinds::UnitKind;
use super::super::operands::Operands;
use super::super::writeback::{Completion, Wheel};
use super::ports::Ports;

/// A memory instruction in the queue or in the address unit.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct Queued {
    /// Its place in the table of issued instructions.
    pub(super) slot: u8,
    pub(super) warp: u8,
    /// When it comes to the queue.
    pub(super) enters: u64,
    /// Operands that it still has to read of each bank.
    pub(super) reads: [u8; 2],
    /// The counter that falls when they are read.
    pub(super) counter: Option<u8>,
}

/// The memory instructions of a sub-core.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct MemoryQueue {
    waiting: VecDeque<Queued>,
    reading: Option<Queued>,
    /// The address unit takes nothing before.
    free_at: u64,
    /// On the way to the load/store unit, with the cycle in which they are there, and their warps.
    offered: VecDeque<(u64, u8, u8)>,
}

/// Whether the load/store unit's register takes an instruction.
pub(super) fn is_free(operands: &Operands) -> bool {
    operands.ready.taken(UnitKind::Mem) == 0
}

impl MemoryQueue {
    /// Instructions of the sub-core that the load/store unit has not got.
    pub(super) fn held(&self) -> usize {
        self.waiting.len() + usize::from(self.reading.is_some()) + self.offered.len()
    }

    pub(super) fn push(&mut self, inst: Queued) {
        self.waiting.push_back(inst);
    }

    /// One cycle of the address unit.
    pub(super) fn read(&mut self, now: u64, spec: &Spec, ports: &Ports, core: &mut Core, completions: &mut Wheel) {
        if self.reading.is_none() && now >= self.free_at && self.waiting.front().is_some_and(|inst| inst.enters <= now) {
            self.reading = self.waiting.pop_front();
            self.free_at = now + u64::from(spec.address_interval);
        }
        let Some(inst) = &mut self.reading else { return };
        for bank in 0..2 {
            inst.reads[bank] -= u8::from(inst.reads[bank] > 0 && !ports.is_taken(bank, now));
        }
        if inst.reads != [0, 0] {
            return;
        }
        let Queued { slot, warp, counter, .. } = *inst;
        self.reading = None;
        self.offered.push_back((now + u64::from(spec.address_latency), slot, warp));
        let at = usize::from(warp);
        if let Some(counter) = counter {
            // One more of the warp is under way until the counter has fallen.
            core.warps.in_pipe[at] += 1;
            completions.add(Cycle(now), 1, Completion { warp, bank: 0, dst: COUNTERS + u16::from(counter) });
        }
    }

    /// No counter of `warps` falls any more.
    pub(super) fn squash(&mut self, warps: u64) {
        let all = self.waiting.iter_mut().chain(&mut self.reading);
        all.filter(|inst| warps >> inst.warp & 1 != 0).for_each(|inst| inst.counter = None);
    }

    /// The warp of the first that has come to the load/store unit.
    pub(super) fn ready_warp(&self, now: u64) -> Option<u8> {
        self.offered.front().filter(|(at, ..)| *at <= now).map(|(.., warp)| *warp)
    }

    /// Takes the first that is on the way to the load/store unit.
    pub(super) fn take(&mut self) -> Option<u8> {
        self.offered.pop_front().map(|(_, slot, _)| slot)
    }

    /// The first cycle in which something moves, where the load/store unit accepts from cycle `accepts` on.
    pub(super) fn next_event(&self, accepts: u64) -> u64 {
        let offered = self.offered.front().map_or(u64::MAX, |(at, ..)| (*at).max(accepts));
        let waiting = self.waiting.front().map_or(u64::MAX, |inst| inst.enters.max(self.free_at));
        if self.reading.is_some() { 0 } else { offered.min(waiting) }
    }
}
