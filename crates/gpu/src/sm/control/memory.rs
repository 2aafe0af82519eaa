//! The path of a memory instruction through its sub-core: a queue, the address unit, which reads the operands in cycles in which the
//! register ports are free, and a pipe to the load/store unit, which the sub-cores share.

use std::collections::VecDeque;

use warpshard_base::Cycle;
use warpshard_config::machine::ControlCore as Spec;

use super::super::core::{Core, FIRST_ASYNC_RESULT};
use super::super::kinds::UnitKind;
use super::super::operands::OperandCollectors;
use super::super::writeback::{Completion, CompletionWheel};
use super::ports::ReadPorts;

/// A memory instruction in the queue or in the address unit.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct QueuedInst {
    /// Slot of the instruction in the table of issued instructions.
    pub(super) slot: u8,
    pub(super) warp: u8,
    /// The cycle in which the instruction enters the queue.
    pub(super) enters: u64,
    /// Remaining operand reads per bank.
    pub(super) reads: [u8; 2],
    /// The counter that is decremented when the operands are read.
    pub(super) counter: Option<u8>,
}

/// The memory instructions of a sub-core.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct MemoryQueue {
    waiting: VecDeque<QueuedInst>,
    reading: Option<QueuedInst>,
    /// The first cycle in which the address unit is free.
    free_at: u64,
    /// Instructions in the pipe to the load/store unit: arrival cycle, slot, and warp.
    pipe: VecDeque<(u64, u8, u8)>,
}

/// Returns true if the register of the load/store unit accepts an instruction.
pub(super) fn is_free(operands: &OperandCollectors) -> bool {
    operands.ready.taken_slots(UnitKind::Mem) == 0
}

impl MemoryQueue {
    /// Returns the number of instructions of the sub-core that the load/store unit has not accepted.
    pub(super) fn unaccepted_count(&self) -> usize {
        self.waiting.len() + usize::from(self.reading.is_some()) + self.pipe.len()
    }

    pub(super) fn push(&mut self, inst: QueuedInst) {
        self.waiting.push_back(inst);
    }

    /// Simulates one cycle of the address unit.
    pub(super) fn tick_address_unit(
        &mut self,
        now: u64,
        spec: &Spec,
        ports: &ReadPorts,
        core: &mut Core,
        completions: &mut CompletionWheel,
    ) {
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
        let QueuedInst { slot, warp, counter, .. } = *inst;
        self.reading = None;
        self.pipe.push_back((now + u64::from(spec.address_latency), slot, warp));
        let at = usize::from(warp);
        if let Some(counter) = counter {
            // The warp has one more instruction in flight until the counter is decremented.
            core.warps.in_pipe[at] += 1;
            completions.add(Cycle(now), 1, Completion { warp, bank: 0, dst: FIRST_ASYNC_RESULT + u16::from(counter) });
        }
    }

    /// Cancels the pending counter decrements of `warps`.
    pub(super) fn squash(&mut self, warps: u64) {
        let all = self.waiting.iter_mut().chain(&mut self.reading);
        all.filter(|inst| warps >> inst.warp & 1 != 0).for_each(|inst| inst.counter = None);
    }

    /// Returns the warp of the first instruction, if the instruction has arrived at the load/store unit.
    pub(super) fn ready_warp(&self, now: u64) -> Option<u8> {
        self.pipe.front().filter(|(at, ..)| *at <= now).map(|(.., warp)| *warp)
    }

    /// Removes and returns the first instruction in the pipe to the load/store unit.
    pub(super) fn pop_from_pipe(&mut self) -> Option<u8> {
        self.pipe.pop_front().map(|(_, slot, _)| slot)
    }

    /// Returns the first cycle in which an instruction advances, if the load/store unit accepts from cycle `accepts` on.
    pub(super) fn next_event(&self, accepts: u64) -> u64 {
        let pipe = self.pipe.front().map_or(u64::MAX, |(at, ..)| (*at).max(accepts));
        let waiting = self.waiting.front().map_or(u64::MAX, |inst| inst.enters.max(self.free_at));
        if self.reading.is_some() { 0 } else { pipe.min(waiting) }
    }
}
