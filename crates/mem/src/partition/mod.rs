//! A memory partition: one DRAM channel, its LLC slices, and the arbitration between them.
//!
//! The unit runs in cycles of the LLC clock. The DRAM clock differs: before each LLC cycle the unit simulates all DRAM edges at or before
//! its tick, so that neither clock is rounded. The order within a DRAM edge follows GPGPU-Sim's `memory_partition_unit::dram_cycle`: a
//! reply leaves, the channel advances, a slice sends, a request enters the channel.
//!
//! Each slice, and the DRAM arbiter, has a next cycle with work and is not examined before. Invariant: every event that could create work
//! earlier (a message, data, a freed slot) moves that cycle forward.

mod stalls;
#[cfg(test)]
mod tests;
mod unit;

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{Addr, ClockDomain, Crossing, Cycle, LinkId, PartitionId, SectorBytes, SectorMask, SliceId};
use warpshard_config::machine::{Machine, MemcpyWarms};
use warpshard_engine::Unit;
use warpshard_protocol::{AddressMap, CreditReceiver, CreditSender, HostCopy, LocalMap, MemPacket, Outbox, Payload};
use warpshard_seam::{CacheSite, Level};
use warpshard_stats::PerKernel;
use warpshard_stats::activity::EventLog;

use super::cache::Prefetcher;
use super::dram::control::IssuedCommand;
use super::dram::{Channel, RequestKind};
use super::dram_arbiter::{DramArbiter, DramSlots};
use super::llc::{Coalescer, LlcKernelCounters, LlcSlice, OtherHalf, SetIndexTables};
use super::ports::{PartitionPorts, arrival_capacity};
use super::slice_port::{SliceParameters, SlicePort};
use super::slices::Slices;
use super::warm;

pub use stalls::PartitionStallCounts;

/// Evaluates an expression for either kind of channel.
macro_rules! each {
    ($channel:expr, $name:ident => $body:expr) => {
        match $channel {
            Channel::Simple($name) => $body,
            Channel::CommandLevel($name) => $body,
        }
    };
}

use each;

/// Sectors of one line in one slice that remain from accesses that are not simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct WarmLine {
    /// The address of the line, or of the first of the sectors.
    pub addr: Addr,
    /// The known bytes of each sector.
    pub bytes: SectorBytes,
    /// The sectors of which bytes were written.
    pub written: SectorMask,
}

/// A decision for a partition.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum PartitionDecision {
    /// The slices get the lines that remain from accesses that are not simulated, in the order of their use. This takes no time and changes
    /// no counters.
    Warm(Arc<[WarmLine]>),
}

/// Returns the coalescer group of each SM: neighbours in the order of dispatch.
fn coalescer_groups(machine: &Machine) -> Arc<[u16]> {
    let (sms, order) = (machine.gpu.sms, &machine.gpu.dispatch.order);
    let mut groups = vec![0; sms as usize];
    for place in 0..sms as usize {
        let sm = order.get(place).map_or(place, |sm| usize::from(*sm));
        groups[sm] = (place / machine.mem.coalescing.sms.max(1) as usize) as u16;
    }
    groups.into()
}

/// Returns the LLC half of each SM. The mapping of GPCs to halves is not public; here, SMs that share reads are in the same half.
fn llc_halves(groups: &[u16]) -> Arc<[u8]> {
    groups.iter().map(|group| (group & 1) as u8).collect()
}

/// LLC cycles over which the use times of inserted lines are spread.
const WARM_SPREAD_CYCLES: u64 = 500;

/// The approximate number of requests that leave the data bus in one span.
const EXPECTED_RETURNS: usize = 6;

/// One DRAM channel and its LLC slices.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Partition {
    #[state(fixed)]
    map: AddressMap,
    llc_clock: ClockDomain,
    /// Conversion from LLC cycles to core cycles.
    pub(super) llc_to_core: Crossing,
    channel: Channel,
    pub(super) slices: Slices,
    pub(super) arbiter: DramArbiter,
    /// Copies that passed the slices, with the cycle in which their lines are present.
    copies: VecDeque<(Cycle, HostCopy)>,
    /// The cycle in which the next copy passes.
    last_copy_cycle: Cycle,
    #[state(fixed)]
    warms: MemcpyWarms,
    pub(super) stalls: PartitionStallCounts,
    /// The LLC cycle up to which stalls have been observed.
    pub(super) watched_until: Cycle,
    /// The number of slices whose replies wait for credits, and the earliest [`SlicePort::blocked_since`].
    pub(super) stalled_ports: u32,
    pub(super) blocked_since: Cycle,
    /// The LLC cycle since which packets stall, not counted yet: at the reply network, and at the partition. `NEVER` without a stall.
    pub(super) stalled_since: [Cycle; 2],
}

impl Partition {
    /// Returns a partition at cycle 0 with empty caches.
    ///
    /// # Panics
    /// If a queue has no space for a packet.
    pub fn new(id: PartitionId, machine: &Machine, llc_clock: ClockDomain, dram_clock: ClockDomain, ports: PartitionPorts) -> Self {
        let mem = &machine.mem;
        let count = mem.map.slices_per_partition;
        assert!(mem.queues.to_dram >= 1 && mem.queues.from_dram >= 1 && mem.queues.out_queue >= 1, "{id} has a queue without slots");
        assert!(count <= u64::BITS, "{id} has {count} slices");
        let map = mem.map.of_partition(u32::from(id.0));
        let slice = |i: u32| {
            let number = SliceId(id.0 * count as u16 + i as u16);
            let site = CacheSite::new(Level::Llc(number.0), mem.llc.sets, mem.llc.ways, mem.llc.line_bytes);
            let site = CacheSite { distance: mem.prefetch.distance, degree: mem.prefetch.degree, ..site };
            let prefetcher = Prefetcher::new(mem.prefetch.policy, &site, &machine.own);
            LlcSlice::with_policies(number, &mem.llc, &mem.queues, &machine.own).with_prefetcher(prefetcher, &map)
        };
        let arrival = arrival_capacity(machine);
        let groups = coalescer_groups(machine);
        let halves = llc_halves(&groups);
        let side = |i: u32| {
            let slice = slice(i);
            let other = OtherHalf::new(&mem.halves, &halves, slice.id().0 as u8 & 1);
            let slice = slice.with_other_half(other);
            let returns = CreditReceiver::new(LinkId(ports.credit_out.0 + i as u16), slice.id().0, arrival);
            SlicePort::new(slice, Coalescer::new(mem.coalescing, &groups), CreditSender::new(machine.noc.input_queue), returns)
        };
        let channel = Channel::new(mem, machine.clocks.dram, id, &machine.own);
        let limit = channel.queue() + mem.dram.return_queue - (count - 1).min(channel.queue());
        let local = LocalMap::new(&map);
        let common = SliceParameters { sets: SetIndexTables::new(&local, &mem.llc), local, ports, in_queue: mem.queues.in_queue as usize };
        let clocks = (llc_clock, dram_clock);
        Self {
            map: map.clone(),
            llc_clock,
            llc_to_core: Crossing::new(llc_clock, llc_clock),
            channel,
            slices: Slices::new(id, common, (0..count).map(side).collect()),
            arbiter: DramArbiter::new(clocks, mem.dram_latency, DramSlots::new(limit), count as usize),
            copies: VecDeque::new(),
            last_copy_cycle: Cycle::NEVER,
            // The host copies for the SMs; a partition that serves only CPU cores caches none of it.
            warms: if u32::from(id.0) < mem.map.reserved { MemcpyWarms::Off } else { mem.memcpy_warms },
            stalls: PartitionStallCounts::default(),
            watched_until: Cycle(0),
            stalled_ports: 0,
            blocked_since: Cycle::NEVER,
            stalled_since: [Cycle::NEVER; 2],
        }
    }

    /// Returns the partition, which then counts stalls in cycles of `core_clock` instead of LLC cycles.
    #[must_use]
    pub fn with_core_clock(self, core_clock: ClockDomain) -> Self {
        Self { llc_to_core: Crossing::new(self.llc_clock, core_clock), ..self }
    }

    /// Returns the partition with additional counters for each of `kernels` kernel launches and `applications` applications.
    #[must_use]
    pub fn counting_by(mut self, kernels: usize, applications: usize) -> Self {
        self.slices.ports.iter_mut().for_each(|side| side.slice.count_by(kernels, applications));
        self
    }

    /// Returns the counters of the slices per kernel launch.
    pub fn kernels(&self) -> impl Iterator<Item = &PerKernel<LlcKernelCounters>> {
        self.slices().map(LlcSlice::kernels)
    }

    /// Returns the stall cycles of packets at the networks.
    pub fn stalls(&self) -> &PartitionStallCounts {
        &self.stalls
    }

    /// Returns the number of the partition.
    pub fn id(&self) -> PartitionId {
        self.slices.id
    }

    /// Returns the slices.
    pub fn slices(&self) -> impl ExactSizeIterator<Item = &LlcSlice> {
        self.slices.ports.iter().map(|side| &side.slice)
    }

    /// Returns the slices with their network ports.
    #[cfg(test)]
    pub(super) fn into_slice_ports(self) -> Vec<SlicePort> {
        self.slices.ports.into_vec()
    }

    /// Returns the DRAM channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Starts to record DRAM commands in `log`, in cycles of the command clock.
    pub fn record_commands(&mut self, log: EventLog<IssuedCommand>) {
        self.channel.record(log);
    }

    /// Stops the recording and returns the recorded DRAM commands.
    pub fn take_commands(&mut self) -> EventLog<IssuedCommand> {
        self.channel.take_log()
    }

    /// Receives credits or the notification of a copy.
    #[cold]
    #[inline(never)]
    fn deliver_other(&mut self, link: LinkId, at: Cycle, payload: Payload) {
        assert!(at >= self.slices.now, "{}: {link} delivers a message for {at}, which is before {}", self.slices.id, self.slices.now);
        match payload {
            Payload::Credit(credit) => {
                let slice = usize::from(link.0.wrapping_sub(self.slices.parameters.ports.credit_in.0));
                assert!(slice < self.slices.ports.len(), "{}: credits arrive over {link}, which is not an output", self.slices.id);
                let side = &mut self.slices.ports[slice];
                side.answers.deliver(at, credit.count);
                // Without a waiting reply, credits are collected when there is one.
                if side.has_out() {
                    side.due = side.due.min(at);
                    self.slices.due = self.slices.due.min(at);
                }
            }
            Payload::HostCopy(copy) => {
                debug_assert_eq!(link, self.slices.parameters.ports.from_grid, "{}: a copy arrives over another link", self.slices.id);
                self.copies.push_back((at, copy));
                self.last_copy_cycle = self.last_copy_cycle.min(at);
            }
            other => panic!("{}: {link} delivers {other:?} at {at}", self.slices.id),
        }
    }

    /// Receives a request for a slice.
    #[inline(always)]
    fn deliver_request(&mut self, link: LinkId, at: Cycle, packet: &MemPacket) {
        if at < self.slices.now {
            self.refuse(link, at);
        }
        let number = usize::from(link.0.wrapping_sub(self.slices.parameters.ports.request_in.0));
        let Some(side) = self.slices.ports.get_mut(number) else { self.refuse(link, at) };
        debug_assert_eq!(packet.slice, side.slice.id(), "{}: a request for {} came to the wrong slice", self.slices.id, packet.addr);
        if let Some(coalescer) = &mut side.coalescer {
            coalescer.arrive(at, packet);
            side.due = side.due.min(at);
            self.slices.due = self.slices.due.min(side.due);
            return;
        }
        let before = side.slice.arrive(at, packet, &self.slices.parameters.sets);
        if before == 0 {
            side.due = side.due.min(at.after(1));
            self.slices.due = self.slices.due.min(side.due);
        }
        if before == self.slices.parameters.in_queue {
            side.blocked = at;
            self.blocked_since = self.blocked_since.min(at);
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, link: LinkId, at: Cycle) -> ! {
        panic!("{}, {}: {link} delivers a request for {at}, which is past, or {link} is not an input", self.slices.id, self.slices.now);
    }

    /// Simulates the cycles with work.
    #[inline]
    fn run_events(&mut self, until: Cycle, out: &mut Outbox) {
        loop {
            self.slices.now = self.next_event().min(until);
            if self.slices.now == until {
                return;
            }
            if self.last_copy_cycle <= self.slices.now {
                self.take_copies();
            }
            while self.arbiter.dram_due <= self.slices.now {
                self.dram_cycle(self.arbiter.next_edge);
            }
            if self.slices.due <= self.slices.now {
                self.slice_cycles(out);
            }
            self.slices.now.0 += 1;
        }
    }

    /// Simulates all cycles and edges, with or without work.
    #[inline(never)]
    fn run_cycles(&mut self, until: Cycle, out: &mut Outbox) {
        if let Some(before) = self.slices.now.0.checked_sub(1) {
            // Edges that were skipped are past.
            self.arbiter.edge = self.arbiter.edge.max(self.arbiter.llc_to_dram.last_at_or_before(Cycle(before)).next());
        }
        while self.slices.now < until {
            self.take_copies();
            self.pass_edges();
            self.slices.ports.iter_mut().for_each(|side| side.due = side.due.min(self.slices.now));
            self.slice_cycles(out);
            self.slices.now.0 += 1;
        }
    }

    /// Prefetches the destinations of the data on the data bus.
    #[inline]
    fn expect_data(&self) {
        let moving = || (0..).map_while(|place| self.channel.moving(place)).take(EXPECTED_RETURNS);
        let reads = || {
            moving().filter_map(|request| match request.kind() {
                RequestKind::Read { entry } => Some((self.slices.slice(request.slice), entry)),
                RequestKind::Write { .. } | RequestKind::WriteBack { .. } => None,
            })
        };
        reads().for_each(|(slice, entry)| slice.expect_entry(entry));
        reads().for_each(|(slice, entry)| slice.expect_data(entry));
    }

    /// Skips LLC cycles without work.
    #[inline]
    fn skip_idle_cycles(&mut self, until: Cycle) {
        self.slices.now = self.slices.now.max(until);
        self.watch_stalls();
    }

    /// Updates the waiting counters of the slices up to the present.
    fn catch_up(&mut self) {
        self.slices.ports.iter_mut().for_each(|side| side.catch_up(self.slices.now));
    }

    /// Applies the copies whose cycle has come to the slices.
    #[cold]
    #[inline(never)]
    fn take_copies(&mut self) {
        while let Some((_, copy)) = self.copies.front().copied().filter(|(at, _)| *at <= self.slices.now) {
            self.copies.pop_front();
            warm::warm(&mut self.slices.ports, &self.map, copy, self.warms, self.slices.now);
        }
        self.last_copy_cycle = self.copies.front().map_or(Cycle::NEVER, |(at, _)| *at);
    }

    /// Executes [`PartitionDecision::Warm`].
    fn warm_lines(&mut self, lines: &[WarmLine]) {
        let Self { map, slices: Slices { ports, now, .. }, .. } = self;
        let first = ports.first().map_or(0, |side| side.slice.id().0);
        for (i, left) in (0..).zip(lines) {
            // Replacement uses the time of use, so each line has a separate one, spread over a span that ends before the next launch
            // begins.
            let used = Cycle(now.0 + 1 + i * WARM_SPREAD_CYCLES / lines.len() as u64);
            let port = map.slice_of(left.addr).0.checked_sub(first).and_then(|slice| ports.get_mut(usize::from(slice)));
            if let Some(side) = port {
                side.slice.insert_warm(left.addr, map.within_slice(left.addr), left.bytes, left.written, used);
            }
        }
    }

    /// Simulates one cycle of the slices with work.
    #[inline]
    fn slice_cycles(&mut self, out: &mut Outbox) {
        self.watch_stalls();
        let mut dram = false;
        let (mut due, mut blocked) = (Cycle::NEVER, Cycle::NEVER);
        let Self { slices: Slices { ports, now, parameters: common, .. }, stalled_ports, .. } = self;
        for (i, side) in (0..).zip(ports) {
            if side.due <= *now {
                dram |= side.cycle(i, *now, common, stalled_ports, out);
            }
            due = due.min(side.due);
            blocked = blocked.min(side.blocked);
        }
        (self.slices.due, self.blocked_since) = (due, blocked);
        if dram {
            self.arbiter.edge = self.arbiter.edge.max(self.arbiter.llc_to_dram.last_at_or_before(self.slices.now).next());
            each!(&self.channel, channel => self.arbiter.look_for_edge(&self.slices, &**channel));
        }
    }

    /// Simulates all DRAM edges at or before the present LLC cycle, with or without work.
    fn pass_edges(&mut self) {
        let last = self.arbiter.llc_to_dram.last_at_or_before(self.slices.now);
        while self.arbiter.edge <= last {
            self.dram_cycle(self.arbiter.edge);
        }
    }

    /// Simulates a DRAM edge and finds the next one.
    #[inline]
    fn dram_cycle(&mut self, edge: Cycle) {
        each!(&mut self.channel, channel => self.arbiter.dram_cycle(&mut self.slices, &mut **channel, edge));
    }
}
