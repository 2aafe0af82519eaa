//! The arbiter between the slices of a partition and its DRAM channel: the slice that sends, the shared queue slots, the fixed delay before
//! the channel, and the edges of the DRAM clock with work.
//!
//! Input: requests of slices. Output: replies to the slices. The code per edge is compiled for each kind of channel. The order within an
//! edge follows GPGPU-Sim's `memory_partition_unit::dram_cycle`.

use warpshard_base::{ClockDomain, Crossing, Cycle, Ring};

use super::cache::DownstreamKind;
use super::dram::{Clocked, CycleEvents, DramRequest, RequestKind, SliceRequest};
use super::llc::DramReply;
use super::slices::Slices;

/// The DRAM request slots that slices share: one is reserved per slice, the others are first come, first served.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct DramSlots {
    /// The slices that use their reserved slot.
    reserved_slots_used: u64,
    shared_slots_used: u32,
    limit: u32,
}

impl DramSlots {
    /// Returns `limit` shared slots, all free.
    pub(super) fn new(limit: u32) -> Self {
        Self { reserved_slots_used: 0, shared_slots_used: 0, limit }
    }

    #[inline]
    fn uses_own(&self, slice: usize) -> bool {
        self.reserved_slots_used >> slice & 1 != 0
    }

    #[inline]
    fn has_free_slot(&self, slice: usize) -> bool {
        !self.uses_own(slice) | (self.shared_slots_used < self.limit)
    }

    #[inline]
    fn acquire_slot(&mut self, slice: usize) {
        self.shared_slots_used += u32::from(self.uses_own(slice));
        self.reserved_slots_used |= 1 << slice;
    }

    #[inline]
    fn release(&mut self, slice: usize) {
        let own = self.uses_own(slice);
        self.reserved_slots_used &= !(u64::from(own) << slice);
        self.shared_slots_used -= u32::from(!own);
    }
}

/// The path from a partition's slices to its channel.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct DramArbiter {
    /// Conversions from LLC cycles to DRAM edges and from DRAM edges to LLC cycles.
    pub(super) llc_to_dram: Crossing,
    dram_to_llc: Crossing,
    dram_latency: u64,
    /// The first DRAM edge that was neither simulated nor known to be past when the slices were last examined.
    pub(super) edge: Cycle,
    /// The first edge from `edge` on in which the channel has work; the next edge if a reply leaves there anyway.
    channel_event: Cycle,
    /// The first edge from `edge` on with work, and the LLC cycle before which it is simulated.
    pub(super) next_edge: Cycle,
    pub(super) dram_due: Cycle,
    /// Requests in the fixed delay in front of the channel. Each may not enter before the edges of its LLC cycle.
    pub(super) delayed_requests: Ring<(Cycle, DramRequest)>,
    dram_slots: DramSlots,
    last_sender: usize,
    /// The edge since which a request finds the channel full.
    pub(super) full_since: Option<Cycle>,
}

impl DramArbiter {
    /// Returns the arbiter of idle slices, at cycle 0; the clocks are those of LLC and DRAM.
    pub(super) fn new((llc, dram): (ClockDomain, ClockDomain), dram_latency: u64, dram_slots: DramSlots, slices: usize) -> Self {
        Self {
            llc_to_dram: Crossing::new(llc, dram),
            dram_to_llc: Crossing::new(dram, llc),
            dram_latency,
            last_sender: slices - 1,
            edge: Cycle(0),
            channel_event: Cycle::NEVER,
            next_edge: Cycle::NEVER,
            dram_due: Cycle::NEVER,
            delayed_requests: Ring::new(16),
            dram_slots,
            full_since: None,
        }
    }

    /// Finds the next edge with work.
    #[inline]
    pub(super) fn look_for_edge<C: Clocked>(&mut self, slices: &Slices, channel: &C) {
        self.next_edge = self.find_edge(slices, channel);
        self.dram_due = self.dram_to_llc.first_at_or_after(self.next_edge);
    }

    /// Returns the first DRAM edge with work that is not yet simulated.
    // This function is inlined at the end of every edge.
    #[inline(always)]
    fn find_edge<C: Clocked>(&self, slices: &Slices, channel: &C) -> Cycle {
        if self.channel_event <= self.edge || answer_leaves(slices, channel) || channel.return_full() {
            return self.edge;
        }
        let full = channel.is_full();
        if !full && (0..slices.ports.len()).any(|i| self.can_send(slices, i)) {
            return self.edge;
        }
        let mut next = self.channel_event;
        if let Some((at, _)) = self.delayed_requests.front()
            && (!full || self.full_since.is_none())
        {
            next = next.min(self.first_edge(*at));
        }
        next.max(self.edge)
    }

    #[inline]
    fn can_send(&self, slices: &Slices, slice: usize) -> bool {
        let from = &slices.ports[slice].slice;
        from.has_to_dram() & self.dram_slots.has_free_slot(slice) & !from.from_dram_full()
    }

    /// Simulates a DRAM edge and finds the next one.
    // This function is called from one place per kind of channel, for every edge with work.
    pub(super) fn dram_cycle<C: Clocked>(&mut self, slices: &mut Slices, channel: &mut C, edge: Cycle) {
        debug_assert_eq!(self.dram_to_llc.first_at_or_after(edge), slices.now, "{}: {edge} is simulated late", slices.id);
        if let Some(request) = channel.oldest_returned() {
            let (addr, sectors, number) = (request.addr, request.sectors(), request.slice);
            let side = &mut slices.ports[usize::from(number)];
            if !side.slice.from_dram_full() {
                side.slice.push_from_dram(match request.kind() {
                    RequestKind::Read { entry } => DramReply::Data { entry, addr, sectors },
                    RequestKind::Write { number } | RequestKind::WriteBack { number } => DramReply::Written { number },
                });
                side.due = slices.now;
                slices.due = slices.now;
                channel.drop_returned();
                self.dram_slots.release(usize::from(number));
            }
        }
        let CycleEvents { written_back, moving, read } = channel.cycle(edge);
        if let Some(SliceRequest { slice, .. }) = written_back {
            self.dram_slots.release(usize::from(slice));
        }
        if let Some(SliceRequest { slice, kind: RequestKind::Read { entry } }) = moving {
            slices.slice(slice).expect_entry(entry);
        }
        if let Some(SliceRequest { slice, kind: RequestKind::Read { entry } }) = read {
            slices.slice(slice).expect_data(entry);
        }
        if !channel.is_full() {
            self.send_to_dram(slices, edge);
        }
        self.enter_channel(slices.now, channel, edge);
        self.edge = edge.next();
        self.channel_event = if answer_leaves(slices, channel) { self.edge } else { channel.next_event(self.edge) };
        self.look_for_edge(slices, channel);
    }

    /// Sends the oldest request of one slice, round robin from the slice after the last sender.
    // This function, like `enter_channel`, is called from one place, for every edge.
    #[inline(always)]
    fn send_to_dram(&mut self, slices: &mut Slices, edge: Cycle) {
        let count = slices.ports.len();
        let mut i = self.last_sender;
        loop {
            i = if i + 1 == count { 0 } else { i + 1 };
            if self.can_send(slices, i) {
                break;
            }
            if i == self.last_sender {
                return;
            }
        }
        let side = &mut slices.ports[i];
        if side.slice.to_dram_full() {
            side.catch_up(slices.now);
            side.due = slices.now;
            slices.due = slices.now;
        }
        let Some(down) = side.slice.pop_to_dram() else { return };
        let (bank, row) = slices.parameters.local.bank_and_row(down.addr);
        let kind = match down.kind {
            DownstreamKind::Fetch { entry } => RequestKind::Read { entry },
            DownstreamKind::Write => RequestKind::Write { number: down.token },
            DownstreamKind::WriteBack => RequestKind::WriteBack { number: down.token },
        };
        let request = DramRequest {
            port: down.owner().port,
            addr: down.addr,
            row,
            since: edge.0 as u32,
            bank: bank as u8,
            slice: i as u8,
            part: down.part,
            ..DramRequest::default()
        };
        self.dram_slots.acquire_slot(i);
        self.last_sender = i;
        // The delay is counted from the first LLC cycle that is not before this edge, which is the present one.
        self.delayed_requests.append((slices.now.after(self.dram_latency), request.with_kind(kind)));
    }

    /// Returns the first DRAM edge that is simulated in this LLC cycle or later.
    #[inline]
    fn first_edge(&self, cycle: Cycle) -> Cycle {
        cycle.0.checked_sub(1).map_or(Cycle(0), |before| self.llc_to_dram.last_at_or_before(Cycle(before)).next())
    }

    /// Moves the oldest delayed request into the channel, or records that the channel is full.
    #[inline(always)]
    fn enter_channel<C: Clocked>(&mut self, now: Cycle, channel: &mut C, edge: Cycle) {
        let Some((_, request)) = self.delayed_requests.front().filter(|(at, _)| *at <= now) else { return };
        if channel.is_full() {
            self.full_since.get_or_insert(edge);
            return;
        }
        channel.push(edge, request);
        self.delayed_requests.drop_front();
        if let Some(since) = self.full_since {
            channel.count_full(edge.0 - since.0);
            self.full_since = None;
        }
    }
}

/// Returns true if a reply of the channel is ready and its slice accepts it.
#[inline]
fn answer_leaves<C: Clocked>(slices: &Slices, channel: &C) -> bool {
    channel.oldest_returned().is_some_and(|request| !slices.slice(request.slice).from_dram_full())
}
