//! The instruction window: in-order retirement over instructions numbered in fetch order.
//!
//! Only loads can be incomplete, so the window consists of two numbers and a queue of loads; runs of other instructions take no memory and
//! are simulated in closed form.

use warpshard_base::{Addr, Cycle};

/// A load in the window.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct WindowLoad {
    /// The number of the load among all instructions.
    index: u64,
    /// The cycle at which the load's data is available; [`Cycle::NEVER`] while unknown.
    done_cycle: Cycle,
}

/// A load in the window with an unknown address.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct DeferredAccess {
    pub(super) load: u64,
    pub(super) addr: Addr,
    /// The load whose data determines the address.
    pub(super) needs: u64,
}

/// The instruction window of a core.
#[derive(Debug, warpshard_state::State)]
pub(super) struct InstructionWindow {
    width: u64,
    size: u64,
    /// Number of instructions retired and fetched so far.
    head: u64,
    tail: u64,
    loads: Box<[WindowLoad]>,
    /// Numbers of the oldest load in the window and of the next load, counted over the run.
    first: u64,
    next: u64,
}

impl InstructionWindow {
    pub(super) fn new(width: u32, size: u32) -> Self {
        let loads = vec![WindowLoad { index: 0, done_cycle: Cycle(0) }; (size as usize).next_power_of_two()].into();
        Self { width: u64::from(width), size: u64::from(size), head: 0, tail: 0, loads, first: 0, next: 0 }
    }

    /// Returns the number of retired instructions.
    #[inline]
    pub(super) fn retired_count(&self) -> u64 {
        self.head
    }

    /// Returns the number of instructions in the window.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.tail - self.head
    }

    /// Returns the number of free entries.
    #[inline]
    pub(super) fn free_entries(&self) -> u64 {
        self.size - self.len()
    }

    #[inline]
    fn slot(&self, load: u64) -> usize {
        load as usize & (self.loads.len() - 1)
    }

    #[inline]
    fn oldest(&self) -> Option<&WindowLoad> {
        (self.first < self.next).then(|| &self.loads[self.slot(self.first)])
    }

    /// Fetches `count` instructions that are complete immediately; there must be free entries.
    #[inline]
    pub(super) fn push_ready(&mut self, count: u64) {
        debug_assert!(count <= self.free_entries());
        self.tail += count;
    }

    /// Returns the token of the next load.
    #[inline]
    pub(super) fn next_token(&self) -> u32 {
        self.token(self.next)
    }

    /// Fetches a load whose data is available at `done`, and returns its number among the loads; there must be a free entry.
    #[inline]
    pub(super) fn push_load(&mut self, done: Cycle) -> u64 {
        debug_assert!(self.free_entries() > 0);
        let load = self.next;
        let slot = self.slot(load);
        self.loads[slot] = WindowLoad { index: self.tail, done_cycle: done };
        self.tail += 1;
        self.next += 1;
        load
    }

    /// Returns the token of a load for requests, unique among the loads in the window.
    #[inline]
    pub(super) fn token(&self, load: u64) -> u32 {
        self.slot(load) as u32
    }

    /// Records that the data of the load with this token is available at `at`.
    #[inline]
    pub(super) fn complete(&mut self, token: u32, at: Cycle) {
        self.loads[token as usize].done_cycle = at;
    }

    /// Returns the cycle at which the data of a load is available.
    #[inline]
    pub(super) fn completion_cycle(&self, load: u64) -> Cycle {
        if load < self.first { Cycle(0) } else { self.loads[self.slot(load)].done_cycle }
    }

    /// Retires the instructions that can retire in this cycle.
    #[inline]
    pub(super) fn retire(&mut self, now: Cycle) {
        let mut left = self.width.min(self.len());
        while left > 0 {
            let run = match self.oldest() {
                None => left,
                Some(load) if load.index > self.head => left.min(load.index - self.head),
                Some(load) if load.done_cycle <= now => {
                    self.first += 1;
                    1
                }
                Some(_) => return,
            };
            self.head += run;
            left -= run;
        }
    }

    /// Returns the cycle at which the next instruction can retire if nothing else is fetched or completed.
    #[inline]
    pub(super) fn next_retire(&self, now: Cycle) -> Cycle {
        match self.oldest() {
            _ if self.len() == 0 => Cycle::NEVER,
            Some(load) if load.index == self.head => load.done_cycle.max(now),
            _ => now,
        }
    }

    /// Returns the number of cycles from `now` in which a full group without memory accesses is fetched and either a full group or nothing
    /// retires, provided that no load is completed from outside; also returns the number of instructions that retire in each cycle.
    #[inline]
    pub(super) fn steady_cycles(&self, now: Cycle) -> (u64, u64) {
        let Some(load) = self.oldest() else {
            return if self.len() >= self.width { (u64::MAX, self.width) } else { (0, 0) };
        };
        let before = load.index - self.head;
        if before >= self.width {
            return (before / self.width, self.width);
        }
        if before > 0 || load.done_cycle <= now {
            return (0, 0);
        }
        let until_done = load.done_cycle.0 - now.0;
        (until_done.min(self.free_entries() / self.width), 0)
    }

    /// Simulates `cycles` cycles of [`InstructionWindow::steady_cycles`].
    #[inline]
    pub(super) fn skip_steady(&mut self, cycles: u64, retired: u64) {
        self.head += cycles * retired;
        self.tail += cycles * self.width;
        debug_assert!(self.len() <= self.size);
    }
}
