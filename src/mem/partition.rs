//! A memory partition: one DRAM channel, its LLC slices, and the arbitration between them.
//!
//! The unit runs in cycles of the LLC clock. The DRAM clock differs: before each LLC cycle come all DRAM edges at or before
//! its tick, so that neither clock is rounded. The order within a DRAM edge is that of GPGPU-Sim's
//! `memory_partition_unit::dram_cycle`: an answer leaves, the channel works, a slice sends, a request enters the channel.
//!
//! Each slice, and the DRAM side, has a cycle before which it has nothing to do, and is not looked at before then. Invariant:
//! whatever could make somebody act earlier (a message, data, a place that becomes free) moves that cycle forward.

use std::collections::VecDeque;

use crate::base::{ClockDomain, Crossing, Cycle, LinkId, PartitionId, Ring, SliceId, touch};
use crate::config::machine::{Machine, MemcpyWarms};
use crate::protocol::{AddressMap, LocalMap, Outbox, Payload, Warm};
use crate::stats::counters;

use super::cache::DownKind;
use super::dram::control::Issued;
use super::dram::{Channel, Request, RequestKind};
use super::llc::{Fetched, Slice};
use super::side::{Common, Side};
use super::warm;

/// The links of a partition; of each kind one per slice, with consecutive numbers, the first slice's given here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionPorts {
    /// Requests from the request subnet.
    pub request_in: LinkId,
    /// Credits to the request subnet.
    pub credit_out: LinkId,
    /// Answers to the reply subnet.
    pub reply_out: LinkId,
    /// Credits from the reply subnet.
    pub credit_in: LinkId,
    /// Word of copies from the grid scheduler; one link for the whole partition.
    pub from_grid: LinkId,
}

/// What a controller may see of a partition: sums over its slices and its channel since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionSample {
    /// Requests that the slices took.
    pub llc_accesses: u64,
    /// Requests among them whose sector was absent and not on its way.
    pub llc_misses: u64,
    /// Bursts read.
    pub dram_reads: u64,
    /// Bursts written.
    pub dram_writes: u64,
}

/// What a controller may ask of a partition: nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionDecision {}

/// Requests that a slice's arrival queue holds, those in the raster pipe of its link included: the credits that the request
/// subnet starts with per slice. The reference's three stages (network output, raster pipe, slice input) are one queue here.
pub fn arrival_capacity(machine: &Machine) -> u32 {
    machine.noc.output_queue + machine.mem.rop_latency as u32 + machine.mem.queues.in_queue
}

/// Requests that may leave the data bus in one span, more or less.
const DATA: usize = 6;

/// Reasons to stand still: the reply network takes no answer, the partition takes no request.
const NET: usize = 0;
const MC: usize = 1;

counters! {
    /// Why packets stand still in front of and behind a partition, in core cycles: 0 or 1 in each.
    pub struct StallCounts {
        stall_mc: "cycles", "Core cycles in which the packet at the head of the request network's ejection buffer could not enter because the partition's queue was full.";
        stall_net: "cycles", "Core cycles in which an answer was ready and the injection queue into the reply network was full.";
    }
}

/// The places in DRAM that slices share: one each, the rest for whoever comes.
#[derive(Clone, Debug)]
struct Places {
    /// The slices that use their own.
    private: u64,
    shared: u32,
    limit: u32,
}

impl Places {
    #[inline]
    fn uses_own(&self, slice: usize) -> bool {
        self.private >> slice & 1 != 0
    }

    #[inline]
    fn has(&self, slice: usize) -> bool {
        !self.uses_own(slice) || self.shared < self.limit
    }

    #[inline]
    fn take(&mut self, slice: usize) {
        self.shared += u32::from(self.uses_own(slice));
        self.private |= 1 << slice;
    }

    #[inline]
    fn give_back(&mut self, slice: usize) {
        if self.uses_own(slice) { self.private &= !(1 << slice) } else { self.shared -= 1 }
    }
}

/// One DRAM channel and its LLC slices.
#[derive(Clone, Debug)]
pub struct Partition {
    id: PartitionId,
    map: AddressMap,
    common: Common,
    llc_clock: ClockDomain,
    /// LLC cycles in DRAM edges, DRAM edges in LLC cycles, LLC cycles in core cycles.
    llc_to_dram: Crossing,
    dram_to_llc: Crossing,
    llc_to_core: Crossing,
    dram_latency: u64,
    now: Cycle,
    slices: Box<[Slice]>,
    sides: Box<[Side]>,
    /// The least of what [`Side::due`] says.
    slices_due: Cycle,
    channel: Channel,
    /// The first DRAM edge that was neither worked through nor known to be past when slices were looked at last.
    edge: Cycle,
    /// The first edge from then on in which the channel itself has work; the next one where an answer leaves in that anyway.
    channel_event: Cycle,
    /// The first edge from then on in which anything happens, and the LLC cycle before which it is worked through.
    next_edge: Cycle,
    dram_due: Cycle,
    /// Requests in the fixed delay in front of the channel, with the edge at which they may enter.
    delayed: Ring<(Cycle, Request)>,
    places: Places,
    last_sender: usize,
    /// Since which edge a request finds the channel full.
    full_since: Option<Cycle>,
    /// Copies that passed the slices, with the cycle in which their lines are there.
    copies: VecDeque<(Cycle, Warm)>,
    /// When the next one passes.
    copied: Cycle,
    warms: MemcpyWarms,
    stalls: StallCounts,
    /// Up to which LLC cycle they are known.
    watched: Cycle,
    /// How many slices' answers wait for credits, and the least of what [`Side::blocked`] says.
    standing_sides: u32,
    blocked: Cycle,
    /// Since which LLC cycle packets stand still, not counted yet: at the reply network, at the partition. Never where they do not.
    standing: [Cycle; 2],
}

impl Partition {
    /// A partition at cycle 0, its caches empty, that counts for `kernels` kernels.
    ///
    /// # Panics
    /// When a queue has no room for a packet.
    pub fn new(
        id: PartitionId,
        machine: &Machine,
        llc_clock: ClockDomain,
        dram_clock: ClockDomain,
        kernels: usize,
        ports: PartitionPorts,
    ) -> Self {
        let mem = &machine.mem;
        let count = mem.map.slices_per_partition;
        assert!(mem.queues.to_dram >= 1 && mem.queues.from_dram >= 1 && mem.queues.out_queue >= 1, "{id} has a queue without room");
        assert!(count <= u64::BITS, "{id} has {count} slices");
        let slice = |i: u32| Slice::new(SliceId(id.0 * count as u16 + i as u16), &mem.llc, &mem.queues, kernels);
        let side = Side::new(machine.noc.input_queue);
        let channel = Channel::new(mem, machine.clocks.dram, id);
        let limit = channel.queue() + mem.dram.return_queue - (count - 1).min(channel.queue());
        let map = mem.map.of_partition(u32::from(id.0));
        Self {
            id,
            common: Common {
                local: LocalMap::new(&map),
                ports,
                in_queue: mem.queues.in_queue as usize,
                batch: (arrival_capacity(machine) / 32).clamp(1, u32::from(u16::MAX)) as u16,
            },
            map,
            llc_clock,
            llc_to_dram: Crossing::new(llc_clock, dram_clock),
            dram_to_llc: Crossing::new(dram_clock, llc_clock),
            llc_to_core: Crossing::new(llc_clock, llc_clock),
            dram_latency: mem.dram_latency,
            now: Cycle(0),
            slices: (0..count).map(slice).collect(),
            sides: vec![side; count as usize].into(),
            slices_due: Cycle::NEVER,
            channel,
            edge: Cycle(0),
            channel_event: Cycle::NEVER,
            next_edge: Cycle::NEVER,
            dram_due: Cycle::NEVER,
            delayed: Ring::new(16),
            places: Places { private: 0, shared: 0, limit },
            last_sender: count as usize - 1,
            full_since: None,
            copies: VecDeque::new(),
            copied: Cycle::NEVER,
            // The host copies for the SMs; what serves CPU cores alone keeps nothing of it.
            warms: if u32::from(id.0) < mem.map.reserved { MemcpyWarms::Off } else { mem.memcpy_warms },
            stalls: StallCounts::default(),
            watched: Cycle(0),
            standing_sides: 0,
            blocked: Cycle::NEVER,
            standing: [Cycle::NEVER; 2],
        }
    }

    /// The same, which counts stalls in cycles of `core_clock` instead of the LLC's.
    #[must_use]
    pub fn with_core_clock(self, core_clock: ClockDomain) -> Self {
        Self { llc_to_core: Crossing::new(self.llc_clock, core_clock), ..self }
    }

    /// How long packets stood still at the networks.
    pub fn stalls(&self) -> &StallCounts {
        &self.stalls
    }

    /// Notes whether packets stand still in the state at the end of the LLC cycle in which slices were looked at last, which holds up
    /// to the present, and counts a span of standing still that is over. The queue of the network's ejection begins behind the partition's own
    /// `in_queue`.
    #[inline]
    fn watch_stalls(&mut self) {
        if self.now == self.watched {
            return;
        }
        let net = if self.standing_sides > 0 { self.watched } else { Cycle::NEVER };
        // A request that becomes visible within the span begins to wait there.
        let mc = self.blocked.max(self.watched);
        let changes = |standing: Cycle, from: Cycle| if standing == Cycle::NEVER { from < self.now } else { from > self.watched };
        if changes(self.standing[NET], net) || changes(self.standing[MC], mc) {
            self.note_stalls([net, mc]);
        }
        self.watched = self.now;
    }

    /// Packets stand still from these cycles on, for each reason, if they do before the present.
    #[cold]
    fn note_stalls(&mut self, from: [Cycle; 2]) {
        for (reason, from) in from.into_iter().enumerate() {
            if self.standing[reason] != Cycle::NEVER && from > self.watched {
                self.count_stall(reason, self.watched);
            }
            if self.standing[reason] == Cycle::NEVER && from < self.now {
                self.standing[reason] = from;
            }
        }
    }

    /// Counts a span of standing still up to and without `until`.
    fn count_stall(&mut self, reason: usize, until: Cycle) {
        let since = std::mem::replace(&mut self.standing[reason], Cycle::NEVER);
        let cycles = self.llc_to_core.first_at_or_after(until).0 - self.llc_to_core.first_at_or_after(since).0;
        *(if reason == NET { &mut self.stalls.stall_net } else { &mut self.stalls.stall_mc }) += cycles;
    }

    /// Which partition this is.
    pub fn id(&self) -> PartitionId {
        self.id
    }

    /// The slices.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// The DRAM channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Keeps every DRAM command from now on, for [`Partition::take_commands`].
    pub fn record_commands(&mut self) {
        self.channel.record();
    }

    /// The DRAM commands since the last call; empty for a channel whose commands cannot be replayed.
    pub fn take_commands(&mut self) -> Vec<Issued> {
        self.channel.take_trace()
    }

    /// Takes a request or credits for a slice; see `Unit::deliver` of the engine.
    ///
    /// # Panics
    /// When the message is of another kind, comes over a link that is not the partition's, or lies in the past.
    // Called for every message, from one loop.
    #[inline(always)]
    pub fn deliver(&mut self, link: LinkId, at: Cycle, payload: Payload) {
        assert!(at >= self.now, "{}: {link} brings a message for {at}, which is before {}", self.id, self.now);
        match payload {
            Payload::Mem(packet) => {
                let slice = usize::from(link.0.wrapping_sub(self.common.ports.request_in.0));
                assert!(slice < self.slices.len(), "{}: a request comes over {link}, which is no input", self.id);
                debug_assert_eq!(
                    packet.slice,
                    self.slices[slice].id(),
                    "{}: a request for {} came to the wrong slice",
                    self.id,
                    packet.addr
                );
                let before = self.slices[slice].arrive(at, packet, &self.common.local);
                let side = &mut self.sides[slice];
                if before == 0 {
                    side.due = side.due.min(at.after(1));
                    self.slices_due = self.slices_due.min(side.due);
                }
                if before == self.common.in_queue {
                    side.blocked = at;
                    self.blocked = self.blocked.min(at);
                }
            }
            Payload::Credit(credit) => {
                let slice = usize::from(link.0.wrapping_sub(self.common.ports.credit_in.0));
                assert!(slice < self.slices.len(), "{}: credits come over {link}, which is no output", self.id);
                let side = &mut self.sides[slice];
                side.coming.append((at, credit.count));
                // Without an answer that waits, credits are taken when there is one.
                if self.slices[slice].has_out() {
                    side.due = side.due.min(at);
                    self.slices_due = self.slices_due.min(at);
                }
            }
            Payload::Warm(copy) => {
                debug_assert_eq!(link, self.common.ports.from_grid, "{}: a copy comes over another link", self.id);
                self.copies.push_back((at, copy));
                self.copied = self.copied.min(at);
            }
            other => panic!("{}: {link} brings {other:?} at {at}", self.id),
        }
    }

    /// Simulates up to and without `until`; see `Unit::run` of the engine.
    pub fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        self.channel.touch_arrays();
        for (slice, side) in self.slices.iter().zip(&self.sides) {
            if side.due < until {
                slice.touch();
            }
        }
        self.expect_data();
        if let (false, Some(before)) = (skip, self.now.0.checked_sub(1)) {
            // Edges that were passed over are past.
            self.edge = self.edge.max(self.llc_to_dram.last_at_or_before(Cycle(before)).next());
        }
        while self.now < until {
            if skip {
                self.now = self.next_event().min(until);
                if self.now == until {
                    break;
                }
            }
            self.cycle(skip, out);
        }
        self.watch_stalls();
        self.catch_up();
    }

    /// Asks the host for where the data goes that is on the data bus.
    #[inline]
    fn expect_data(&self) {
        let reads = || (0..).map_while(|place| self.channel.moving(place)).take(DATA).filter(|request| request.kind == RequestKind::Read);
        reads().for_each(|request| self.slices[usize::from(request.slice)].expect_entry(request.token));
        reads().for_each(|request| self.slices[usize::from(request.slice)].expect_data(request.token));
    }

    /// See `Unit::approach` of the engine.
    #[inline]
    pub fn approach(&self, near: bool) {
        if !near {
            touch(self);
            return;
        }
        touch(&*self.sides);
        touch(&*self.slices);
        self.delayed.touch();
        self.channel.touch();
    }

    /// See `Unit::next_event` of the engine.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.slices_due.min(self.dram_due).min(self.copied).max(self.now)
    }

    /// See `Unit::settle` of the engine.
    pub fn settle(&mut self, at: Cycle) {
        debug_assert!(at <= self.now || self.next_event() >= at, "{} has work before {at}", self.id);
        self.pass(at);
        self.catch_up();
        for reason in [NET, MC] {
            if self.standing[reason] != Cycle::NEVER {
                self.count_stall(reason, self.now);
                self.standing[reason] = self.now;
            }
        }
        // Edges before the present's are past; the open span of a full queue is split behind them.
        let past = self.llc_to_dram.last_at_or_before(Cycle(at.0.saturating_sub(1))).next();
        if let Some(since) = self.full_since.filter(|since| *since < past) {
            self.channel.count_full(past.0 - since.0);
            self.full_since = Some(past);
        }
        self.channel.settle(past);
    }

    /// See `Unit::sample` of the engine.
    pub fn sample(&self) -> PartitionSample {
        let sum = |of: fn(&Slice) -> u64| self.slices.iter().map(of).sum();
        let (dram_reads, dram_writes) = self.channel.bursts();
        PartitionSample { llc_accesses: sum(|s| s.counters().accesses), llc_misses: sum(|s| s.counters().misses), dram_reads, dram_writes }
    }

    /// See `Unit::apply` of the engine.
    pub fn apply(&mut self, _at: Cycle, decision: &PartitionDecision) {
        match *decision {}
    }

    /// See `Unit::waiting` of the engine.
    pub fn waiting(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for slice in &self.slices {
            slice.waiting(&mut lines);
        }
        let inside = self.channel.occupancy();
        if inside + self.delayed.len() > 0 {
            lines.push(format!("{}: {} requests on the way to DRAM, {inside} in the channel", self.id, self.delayed.len()));
        }
        lines
    }

    /// Lets LLC cycles pass in which nothing happens.
    #[inline]
    fn pass(&mut self, until: Cycle) {
        self.now = self.now.max(until);
        self.watch_stalls();
    }

    /// Counts what the slices waited up to the present.
    fn catch_up(&mut self) {
        for i in 0..self.slices.len() {
            self.sides[i].catch_up(&mut self.slices[i], self.now);
        }
    }

    /// Copies pass the slices whose time has come.
    #[cold]
    fn take_copies(&mut self) {
        while let Some((_, copy)) = self.copies.front().copied().filter(|(at, _)| *at <= self.now) {
            self.copies.pop_front();
            warm::warm(&mut self.slices, &self.map, copy, self.warms, self.now);
        }
        self.copied = self.copies.front().map_or(Cycle::NEVER, |(at, _)| *at);
    }

    #[inline]
    fn cycle(&mut self, skip: bool, out: &mut Outbox) {
        if self.copied <= self.now {
            self.take_copies();
        }
        if skip {
            while self.dram_due <= self.now {
                self.dram_cycle(self.next_edge);
            }
        } else {
            self.pass_edges();
        }
        if !skip || self.slices_due <= self.now {
            self.watch_stalls();
            self.slice_cycles(skip, out);
        }
        self.now.0 += 1;
    }

    /// One cycle of the slices that have something to do.
    #[inline]
    fn slice_cycles(&mut self, skip: bool, out: &mut Outbox) {
        let mut dram = false;
        let (mut due, mut blocked) = (Cycle::NEVER, Cycle::NEVER);
        let Self { slices, sides, standing_sides, now, common, .. } = self;
        for i in 0..slices.len() {
            let (slice, side) = (&mut slices[i], &mut sides[i]);
            if !skip || side.due <= *now {
                dram |= side.cycle(slice, i as u16, *now, common, standing_sides, out);
            }
            due = due.min(side.due);
            blocked = blocked.min(side.blocked);
        }
        (self.slices_due, self.blocked) = (due, blocked);
        if dram {
            self.edge = self.edge.max(self.llc_to_dram.last_at_or_before(self.now).next());
            self.look_for_edge();
        }
    }

    /// Works through all DRAM edges at or before the present LLC cycle, whether anything happens in them or not.
    fn pass_edges(&mut self) {
        let last = self.llc_to_dram.last_at_or_before(self.now);
        while self.edge <= last {
            self.dram_cycle(self.edge);
        }
    }

    /// Finds the next edge in which anything happens.
    #[inline]
    fn look_for_edge(&mut self) {
        self.next_edge = self.find_edge();
        self.dram_due = self.dram_to_llc.first_at_or_after(self.next_edge);
    }

    /// The first DRAM edge not worked through in which anything would happen.
    #[inline]
    fn find_edge(&self) -> Cycle {
        if self.channel_event <= self.edge || self.answer_leaves() || self.channel.return_full() {
            return self.edge;
        }
        let full = self.channel.is_full();
        if !full && (0..self.slices.len()).any(|i| self.can_send(i)) {
            return self.edge;
        }
        let mut next = self.channel_event;
        if let Some((at, _)) = self.delayed.front()
            && (!full || self.full_since.is_none())
        {
            next = next.min(*at);
        }
        next.max(self.edge)
    }

    /// Whether an answer of the channel is ready and its slice takes it.
    #[inline]
    fn answer_leaves(&self) -> bool {
        self.channel.returned().is_some_and(|request| !self.slices[usize::from(request.slice)].from_dram_full())
    }

    #[inline]
    fn can_send(&self, slice: usize) -> bool {
        let from = &self.slices[slice];
        from.to_dram().is_some() && self.places.has(slice) && !from.from_dram_full()
    }

    /// Works through a DRAM edge and finds the next one.
    fn dram_cycle(&mut self, edge: Cycle) {
        if let Some(&Request { addr, sectors, token, kind, slice: number, .. }) = self.channel.returned() {
            let slice = &mut self.slices[usize::from(number)];
            if !slice.from_dram_full() {
                slice.push_from_dram(Fetched { addr, sectors, token, write: kind == RequestKind::Write });
                self.sides[usize::from(number)].due = self.now;
                self.slices_due = self.now;
                self.channel.drop_returned();
                self.places.give_back(usize::from(number));
            }
        }
        if let Some(finished) = self.channel.cycle(edge) {
            self.places.give_back(usize::from(finished.slice));
        }
        if let Some(request) = self.channel.newest_moving() {
            self.slices[usize::from(request.slice)].expect_entry(request.token);
        }
        if let Some(request) = self.channel.newest_returned() {
            self.slices[usize::from(request.slice)].expect_data(request.token);
        }
        if !self.channel.is_full() {
            self.send_to_dram(edge);
        }
        self.enter_channel(edge);
        self.edge = edge.next();
        self.channel_event = if self.answer_leaves() { self.edge } else { self.channel.next_event(self.edge) };
        self.look_for_edge();
    }

    /// One slice sends its oldest request; the one behind the last sender is asked first.
    fn send_to_dram(&mut self, edge: Cycle) {
        let count = self.slices.len();
        let mut i = self.last_sender;
        loop {
            i = if i + 1 == count { 0 } else { i + 1 };
            if self.can_send(i) {
                break;
            }
            if i == self.last_sender {
                return;
            }
        }
        let (slice, side) = (&mut self.slices[i], &mut self.sides[i]);
        if slice.to_dram_full() {
            side.catch_up(slice, self.now);
            side.due = self.now;
            self.slices_due = self.now;
        }
        let Some(down) = slice.pop_to_dram() else { return };
        let (bank, row) = self.common.local.bank_and_row(down.addr);
        let request = Request {
            addr: down.addr,
            row,
            token: down.token,
            since: edge.0 as u32,
            bank: bank as u8,
            slice: i as u8,
            sectors: down.sectors,
            kind: match down.kind {
                DownKind::Fetch => RequestKind::Read,
                DownKind::Write => RequestKind::Write,
                DownKind::WriteBack => RequestKind::WriteBack,
            },
            bursts: 0,
        };
        self.places.take(i);
        self.last_sender = i;
        // The delay is counted in LLC cycles from the first one that is not before this edge.
        debug_assert_eq!(self.dram_to_llc.first_at_or_after(edge), self.now, "{}: {edge} is worked through late", self.id);
        let ready = self.now.after(self.dram_latency);
        let enters = match ready.0.checked_sub(1) {
            Some(before) => self.llc_to_dram.last_at_or_before(Cycle(before)).next(),
            None => Cycle(0),
        };
        self.delayed.append((enters, request));
    }

    /// The oldest delayed request enters the channel, or is noted to find it full.
    fn enter_channel(&mut self, edge: Cycle) {
        let Some((_, request)) = self.delayed.front().filter(|(at, _)| *at <= edge) else { return };
        if self.channel.is_full() {
            self.full_since.get_or_insert(edge);
            return;
        }
        self.channel.push(edge, *request);
        self.delayed.pop();
        if let Some(since) = self.full_since {
            self.channel.count_full(edge.0 - since.0);
            self.full_since = None;
        }
    }
}
