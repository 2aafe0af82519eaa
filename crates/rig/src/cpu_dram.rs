//! A DRAM channel for one CPU core, connected as in Ramulator 1: a request enters the controller's queue immediately, or waits in the core
//! until the queue has a free slot; a reply is visible in the core's next cycle.
//!
//! When edges of both clocks coincide, the core is simulated first. Addresses are divided from low to high into burst, column, bank group,
//! bank and row (`RoBaRaCoCh`); higher bits are ignored.

use std::collections::VecDeque;

use warpshard_base::{Addr, Cycle, SECTOR_BYTES};
use warpshard_mem::dram::control::{Controller, ControllerPolicy, DramAccess};
use warpshard_mem::dram::mapping::{DramLocation, Mapping};
use warpshard_mem::dram::standard::Standard;
use warpshard_protocol::{Credit, MemOp, MemPacket, Payload};

use super::cpu_memory::{ClockRatio, CoreMemory, REPLY_LINK, REQUEST_CREDIT_LINK};

/// Order of the address fields in Ramulator 1.
const ADDRESS_MAPPING: &str = "RoBaRaCoCh";

/// A request in the channel, divided into bursts.
#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    packet: MemPacket,
    bursts: u32,
}

/// A DRAM channel with its clock.
#[derive(Debug)]
pub(super) struct DramMemory {
    controller: Controller,
    mapping: Mapping,
    burst_bytes: u64,
    ratio: (u64, u64),
    /// The last simulated command clock.
    command_clock: u64,
    /// Outstanding requests by their ids in the controller, and the free ids.
    requests: Vec<Option<PendingRequest>>,
    free_ids: Vec<u32>,
    /// Bursts that wait for a slot in their queue.
    waiting_bursts: VecDeque<DramAccess>,
    /// True if the core has its credit for reads, and for writes.
    granted: [bool; 2],
}

impl DramMemory {
    pub(super) fn new(standard: &Standard, ratio: ClockRatio) -> Self {
        Self {
            controller: Controller::new(standard, ControllerPolicy::RAMULATOR1),
            mapping: Mapping::parse(ADDRESS_MAPPING, &standard.organisation, 1)
                .unwrap_or_else(|error| panic!("{ADDRESS_MAPPING} does not fit {}: {error}", standard.name)),
            burst_bytes: u64::from(standard.organisation.burst_bytes),
            ratio: (u64::from(ratio.core), u64::from(ratio.dram)),
            command_clock: 0,
            requests: Vec::new(),
            free_ids: Vec::new(),
            waiting_bursts: VecDeque::new(),
            granted: [true; 2],
        }
    }

    /// Returns the first core cycle after the edge of command clock `clock`.
    fn core_cycle_after(&self, clock: u64) -> u64 {
        (u128::from(clock) * u128::from(self.ratio.0) / u128::from(self.ratio.1)) as u64
    }

    /// Returns the last command clock whose edge precedes core cycle `cycle`.
    fn clock_before(&self, cycle: u64) -> u64 {
        (((u128::from(cycle) + 1) * u128::from(self.ratio.1) - 1) / u128::from(self.ratio.0)) as u64
    }

    fn access(&self, addr: u64, write: bool, token: u32) -> DramAccess {
        let DramLocation { bank, row, column, .. } = self.mapping.locate(Addr(addr));
        DramAccess { bank, row, column, write, token, ..DramAccess::default() }
    }

    /// Moves waiting bursts into the controller while it accepts them.
    fn push_waiting(&mut self) {
        while let Some(&access) = self.waiting_bursts.front() {
            if !self.controller.push(Cycle(self.command_clock), access) {
                return;
            }
            self.waiting_bursts.pop_front();
        }
    }
}

impl CoreMemory for DramMemory {
    fn credits(&self) -> (u32, Option<u32>) {
        (1, Some(1))
    }

    fn accept(&mut self, at: Cycle, packet: MemPacket) {
        let clock = self.clock_before(at.0);
        debug_assert!(clock >= self.command_clock && self.controller.next_event().0 > clock, "the channel is behind the core");
        self.command_clock = clock;
        let write = packet.op != MemOp::Read;
        self.granted[usize::from(write)] = false;
        let token = self.free_ids.pop().unwrap_or(self.requests.len() as u32);
        if token as usize == self.requests.len() {
            self.requests.push(None);
        }
        let first = packet.addr.line().0 + u64::from(packet.sectors().0.trailing_zeros()) * SECTOR_BYTES;
        let bytes = u64::from(packet.sectors().count()) * SECTOR_BYTES;
        let burst = self.burst_bytes;
        let (begin, end) = (first / burst, (first + bytes).div_ceil(burst));
        self.requests[token as usize] = Some(PendingRequest { packet, bursts: (end - begin) as u32 });
        for burst_number in begin..end {
            let access = self.access(burst_number * burst, write, token);
            self.waiting_bursts.push_back(access);
        }
        self.push_waiting();
    }

    fn horizon(&self) -> Cycle {
        match self.controller.next_event() {
            Cycle::NEVER => Cycle::NEVER,
            next => Cycle(self.core_cycle_after(next.0.max(self.command_clock + 1))),
        }
    }

    fn catch_up(&mut self, now: Cycle, deliver: &mut dyn FnMut(Cycle, warpshard_base::LinkId, Payload)) {
        loop {
            let next = self.controller.next_event().0.max(self.command_clock + 1);
            if next == u64::MAX || self.core_cycle_after(next) > now.0 {
                break;
            }
            self.command_clock = next;
            self.controller.tick(Cycle(next));
            let seen = Cycle(self.core_cycle_after(next)).max(now);
            while let Some(done) = self.controller.pop_done() {
                let slot = &mut self.requests[done.access.token as usize];
                let Some(request) = slot else { panic!("DRAM completes {:?}, which was not requested", done.access) };
                request.bursts -= 1;
                if request.bursts > 0 {
                    continue;
                }
                let packet = request.packet;
                *slot = None;
                self.free_ids.push(done.access.token);
                if packet.op == MemOp::Read {
                    deliver(seen, REPLY_LINK, Payload::Mem(packet));
                }
            }
            self.push_waiting();
        }
        for write in [false, true] {
            let granted = &mut self.granted[usize::from(write)];
            if !*granted && self.waiting_bursts.is_empty() && !self.controller.is_full(write) {
                *granted = true;
                deliver(now, REQUEST_CREDIT_LINK, Payload::Credit(Credit { queue: u16::from(write), count: 1 }));
            }
        }
    }
}
