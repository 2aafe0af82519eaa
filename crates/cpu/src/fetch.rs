//! Fetch and execution: groups of instructions enter the window, and memory instructions access the caches or the network.

use warpshard_base::{Addr, Cycle};
use warpshard_cpu_load::{CpuInst, CpuOp};
use warpshard_protocol::{MemOp, Outbox};

use super::caches::{AccessResult, STORE_TOKEN};
use super::core::CpuCore;
use super::window::DeferredAccess;

impl CpuCore {
    /// Returns the cycle at which the oldest load without an address can access memory; a failed access is not an event.
    #[inline]
    pub(super) fn deferred_event(&self) -> Cycle {
        match self.deferred_accesses.front() {
            Some(deferred) if self.accepts(MemOp::Read) => self.window.completion_cycle(deferred.needs),
            _ => Cycle::NEVER,
        }
    }

    /// Returns `true` if the caches or the network accept an access.
    #[inline]
    fn accepts(&self, op: MemOp) -> bool {
        self.caches.as_ref().map_or_else(|| self.net.can_send(op), |caches| !caches.is_refusing())
    }

    /// Returns `true` if a dependent load must wait for its address.
    #[inline]
    fn waits_for_address(&self, now: Cycle) -> bool {
        !self.deferred_accesses.is_empty() || self.last_dependent.is_some_and(|load| self.window.completion_cycle(load) > now)
    }

    /// Returns `true` if the next cycle's group has at least one instruction, unless an older load takes the memory port.
    #[inline]
    pub(super) fn can_fetch(&self, now: Cycle) -> bool {
        let room = self.window.free_entries() > 0;
        match self.next {
            CpuInst { bubbles: 1.., .. } => room,
            CpuInst { op: CpuOp::WriteBack, .. } => self.accepts(MemOp::Write),
            CpuInst { op: CpuOp::Store, .. } => room && self.accepts(MemOp::Write),
            CpuInst { op: CpuOp::Load, dependent, .. } => room && (dependent && self.waits_for_address(now) || self.accepts(MemOp::Read)),
        }
    }

    /// Fetches one group and returns `true` if any instruction was fetched.
    #[inline]
    pub(super) fn fetch(&mut self, now: Cycle, out: &mut Outbox) -> bool {
        let mut ports = self.spec.memory_per_cycle;
        while ports > 0 && self.execute_deferred(now, out) {
            ports -= 1;
        }
        let mut slots = u64::from(self.spec.width);
        let mut fetched = false;
        let mut memory = self.spec.memory_per_cycle;
        loop {
            let run = self.next.bubbles.min(slots).min(self.window.free_entries());
            self.window.push_ready(run);
            self.next.bubbles -= run;
            slots -= run;
            fetched |= run > 0;
            if self.next.bubbles > 0 || memory == 0 {
                return fetched;
            }
            let takes_slot = self.next.op != CpuOp::WriteBack;
            if takes_slot && (slots == 0 || self.window.free_entries() == 0) || !self.memory_instruction(now, &mut ports, out) {
                return fetched;
            }
            fetched = true;
            memory -= 1;
            slots -= u64::from(takes_slot);
            self.next = self.stream.next_inst();
            if self.spec.memory_ends_group {
                return true;
            }
        }
    }

    /// Fetches and executes the next instruction, which accesses memory; returns `false` if it must wait.
    #[inline]
    fn memory_instruction(&mut self, now: Cycle, ports: &mut u32, out: &mut Outbox) -> bool {
        let CpuInst { addr, op, dependent, .. } = self.next;
        let waits = dependent && op == CpuOp::Load && self.waits_for_address(now);
        if !waits {
            let (kind, token) = match op {
                CpuOp::Load => (MemOp::Read, self.window.next_token()),
                CpuOp::Store | CpuOp::WriteBack => (MemOp::Write, STORE_TOKEN),
            };
            if *ports == 0 || !self.accepts(kind) || !self.access(now, addr, kind == MemOp::Write, token, out) {
                return false;
            }
            *ports -= 1;
        }
        match op {
            CpuOp::Load => {
                let done = std::mem::replace(&mut self.load_done, Cycle::NEVER);
                let load = self.window.push_load(done);
                if dependent {
                    if let (true, Some(needs)) = (waits, self.last_dependent) {
                        self.deferred_accesses.push_back(DeferredAccess { load, addr, needs });
                    }
                    self.last_dependent = Some(load);
                }
                self.counters.loads += 1;
            }
            CpuOp::Store => {
                self.window.push_ready(1);
                self.counters.stores += 1;
            }
            CpuOp::WriteBack => self.counters.trace_writebacks += 1,
        }
        true
    }

    /// Sends the oldest load whose address has become known to memory; returns `true` if it took a memory port.
    #[inline]
    fn execute_deferred(&mut self, now: Cycle, out: &mut Outbox) -> bool {
        let Some(&DeferredAccess { load, addr, needs }) = self.deferred_accesses.front() else { return false };
        if self.window.completion_cycle(needs) > now || !self.accepts(MemOp::Read) {
            return false;
        }
        let token = self.window.token(load);
        if !self.access(now, addr, false, token, out) {
            return false;
        }
        let done = std::mem::replace(&mut self.load_done, Cycle::NEVER);
        self.window.complete(token, done);
        self.deferred_accesses.pop_front();
        true
    }

    /// Performs an access and sets `load_done` to the cycle of a load's data, if known; returns `false` if the access is not accepted.
    #[inline]
    fn access(&mut self, now: Cycle, addr: Addr, write: bool, token: u32, out: &mut Outbox) -> bool {
        match &mut self.caches {
            None => {
                self.send(now, if write { MemOp::Write } else { MemOp::Read }, addr, token, out);
                true
            }
            Some(caches) => match caches.access(now, addr, write, token, &mut self.counters) {
                AccessResult::Rejected => false,
                AccessResult::AtFill => true,
                AccessResult::At(_) if write => true,
                AccessResult::At(done) => {
                    self.load_done = done;
                    true
                }
            },
        }
    }

    /// Sends a request; a credit must be available.
    #[inline]
    pub(super) fn send(&mut self, now: Cycle, op: MemOp, addr: Addr, token: u32, out: &mut Outbox) {
        match op {
            MemOp::Read => self.counters.reads += 1,
            _ => self.counters.writes += 1,
        }
        self.net.send(now, op, addr, token, out);
    }
}
