//! The wheel of completions of fixed-latency units, and the writeback stage that empties it.
//!
//! A completion frees its destination in the scoreboard, occupies the bank of the destination for one step of the collectors, and ends the
//! instruction. All completions of a cycle are written back: the result buses limited them on entry.

use warpshard_base::{Cycle, prefetch};
use warpshard_workload::NO_REGISTER;

use super::core::{Core, NO_WARP, is_in};
use super::operands::OperandCollectors;

/// Cycles from the end of the pipeline of a unit to the write of the result.
pub(super) const UNIT_TO_WRITEBACK_CYCLES: u64 = 2;

const NO_NODE: u16 = u16::MAX;

/// An instruction that leaves a fixed-latency unit.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct Completion {
    pub(super) warp: u8,
    /// The bank of the destination register.
    pub(super) bank: u8,
    /// The destination register, or `NO_REGISTER`.
    pub(super) dst: u16,
}

#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct CompletionNode {
    completion: Completion,
    next: u16,
}

/// Completions by cycle: a ring of lists, longer than the longest latency.
#[derive(Debug, warpshard_state::State)]
pub(super) struct CompletionWheel {
    heads: Box<[u16]>,
    occupied: Box<[u64]>,
    nodes: Vec<CompletionNode>,
    free: u16,
    waiting: u32,
}

impl CompletionWheel {
    /// Creates a wheel for events at most `longest` cycles ahead.
    pub(super) fn new(longest: usize) -> Self {
        let slots = (longest + 1).next_power_of_two().max(64);
        Self {
            heads: vec![NO_NODE; slots].into(),
            occupied: vec![0; slots / 64].into(),
            nodes: Vec::with_capacity(64),
            free: NO_NODE,
            waiting: 0,
        }
    }

    /// Returns the bytes of the arrays.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.heads) + size_of_val(&*self.occupied) + size_of_val(&*self.nodes)
    }

    /// Prefetches the data of the cycles from `now` on.
    #[inline]
    pub(super) fn prefetch(&self, now: Cycle) {
        prefetch(&self.heads[now.0 as usize & (self.heads.len() - 1)]);
        prefetch(&*self.occupied);
    }

    /// Adds a completion `ahead` cycles from now.
    #[inline]
    pub(super) fn add(&mut self, now: Cycle, ahead: u64, what: Completion) {
        debug_assert!(ahead > 0 && (ahead as usize) < self.heads.len(), "{ahead} cycles ahead do not fit the wheel");
        if self.free == NO_NODE {
            self.grow();
        }
        let slot = (now.0 + ahead) as usize & (self.heads.len() - 1);
        let at = self.free;
        let node = &mut self.nodes[usize::from(at)];
        self.free = node.next;
        *node = CompletionNode { completion: what, next: std::mem::replace(&mut self.heads[slot], at) };
        self.occupied[slot >> 6] |= 1 << (slot & 63);
        self.waiting += 1;
    }

    /// Adds a free node.
    #[cold]
    fn grow(&mut self) {
        self.free = self.nodes.len() as u16;
        self.nodes.push(CompletionNode { completion: Completion { warp: 0, bank: 0, dst: NO_REGISTER }, next: NO_NODE });
    }

    /// Squashes the instructions of `warps`: they complete without writing a register.
    pub(super) fn squash(&mut self, warps: u64) {
        for node in self.nodes.iter_mut().filter(|node| is_in(warps, node.completion.warp)) {
            (node.completion.warp, node.completion.dst) = (NO_WARP, NO_REGISTER);
        }
    }

    /// Returns true if no completion is pending.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.waiting == 0
    }

    /// Removes the list of completions of this cycle, whose entries [`CompletionWheel::remove`] returns; `None` if there are none.
    #[inline]
    fn take_cycle(&mut self, now: Cycle) -> Option<u16> {
        let slot = now.0 as usize & (self.heads.len() - 1);
        let first = std::mem::replace(&mut self.heads[slot], NO_NODE);
        if first == NO_NODE {
            return None;
        }
        self.occupied[slot >> 6] &= !(1 << (slot & 63));
        Some(first)
    }

    /// Removes a completion of a list; returns it and the next one of the list.
    #[inline]
    fn remove(&mut self, at: u16) -> (Completion, Option<u16>) {
        let node = &mut self.nodes[usize::from(at)];
        let next = std::mem::replace(&mut node.next, self.free);
        self.free = at;
        self.waiting -= 1;
        (node.completion, if next == NO_NODE { None } else { Some(next) })
    }

    /// Returns the first cycle at or after `now` with a completion.
    pub(super) fn next(&self, now: Cycle) -> Cycle {
        if self.waiting == 0 {
            return Cycle::NEVER;
        }
        let slots = self.heads.len();
        let start = now.0 as usize & (slots - 1);
        let words = self.occupied.len();
        for step in 0..=words {
            // The number of words is a power of two; a division would cost more than the rest of the search.
            let index = ((start >> 6) + step) & (words - 1);
            let mut word = self.occupied[index];
            if step == 0 {
                word &= u64::MAX << (start & 63);
            }
            if word != 0 {
                let slot = index * 64 + word.trailing_zeros() as usize;
                return now.after((slot.wrapping_sub(start) & (slots - 1)) as u64);
            }
        }
        unreachable!("a completion is pending")
    }

    /// Ends the instructions whose results are written in the present cycle; returns true if there are any.
    #[inline]
    pub(super) fn tick(&mut self, core: &mut Core, operands: &mut OperandCollectors) -> bool {
        let mut left = self.take_cycle(core.now);
        let any = left.is_some();
        while let Some(at) = left {
            let (done, next) = self.remove(at);
            left = next;
            let warp = usize::from(done.warp);
            if done.dst != NO_REGISTER {
                operands.write(done.bank);
                core.register_written(warp, done.dst);
            }
            core.instruction_done(warp);
        }
        any
    }
}
