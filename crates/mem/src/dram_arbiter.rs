//! The arbiter between the slices of a partition and its DRAM channel: which slice sends, the queue slots that they share, the fixed delay before the
//! channel, and the edges of the DRAM clock with work.
//!
//! In: requests of slices. Out: replies to the slices. The code per edge is compiled for each kind of channel. The order within an edge is that of GPGPU-Sim's `memory_partition_unit::dram_cycle`.

use warpshard_base::{ClockDomain, Crossing, Cycle, Ring};

use super::cache::DownKind;
use super::dram::{Clocked, Owner, Request, RequestKind, Worked};
use super::llc::FromDram;
use super::slices::Slices;

/// The request slots of DRAM that slices share: one reserved for each, the others first come, first served.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Places {
    /// The slices that use their own.
    private: u64,
    shared: u32,
    limit: u32,
}

impl Places {
    /// So many to share, all of them free.
    pub(super) fn new(limit: u32) -> Self {
        Self { private: 0, shared: 0, limit }
    }

    #[inline]
    fn uses_own(&self, slice: usize) -> bool {
        self.private >> slice & 1 != 0
    }

    #[inline]
    fn has(&self, slice: usize) -> bool {
        !self.uses_own(slice) | (self.shared < self.limit)
    }

    #[inline]
    fn take(&mut self, slice: usize) {
        self.shared += u32::from(self.uses_own(slice));
        self.private |= 1 << slice;
    }

    #[inline]
    fn give_back(&mut self, slice: usize) {
        let own = self.uses_own(slice);
        self.private &= !(u64::from(own) << slice);
        self.shared -= u32::from(!own);
    }
}

/// The way of a partition's slices to its channel.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct DramArbiter {
    /// LLC cycles in DRAM edges, DRAM edges in LLC cycles.
    pub(super) llc_to_dram: Crossing,
    dram_to_llc: Crossing,
    dram_latency: u64,
    /// The first DRAM edge that was neither worked through nor known to be past when slices were looked at last.
    pub(super) edge: Cycle,
    /// The first edge from then on in which the channel itself has work; the next one where an answer leaves in that anyway.
    channel_event: Cycle,
    /// The first edge from then on in which anything happens, and the LLC cycle before which it is worked through.
    pub(super) next_edge: Cycle,
    pub(super) dram_due: Cycle,
    /// Requests in the fixed delay in front of the channel, with the LLC cycle before whose edges they may not enter.
    pub(super) delayed: Ring<(Cycle, Request)>,
    places: Places,
    last_sender: usize,
    /// Since which edge a request finds the channel full.
    pub(super) full_since: Option<Cycle>,
}

impl DramArbiter {
    /// That of so many idle slices, at cycle 0; the clocks are those of LLC and DRAM.
    pub(super) fn new((llc, dram): (ClockDomain, ClockDomain), dram_latency: u64, places: Places, slices: usize) -> Self {
        Self {
            llc_to_dram: Crossing::new(llc, dram),
            dram_to_llc: Crossing::new(dram, llc),
            dram_latency,
            last_sender: slices - 1,
            edge: Cycle(0),
            channel_event: Cycle::NEVER,
            next_edge: Cycle::NEVER,
            dram_due: Cycle::NEVER,
            delayed: Ring::new(16),
            places,
            full_since: None,
        }
    }

    /// Finds the next edge in which anything happens.
    #[inline]
    pub(super) fn look_for_edge<C: Clocked>(&mut self, slices: &Slices, channel: &C) {
        self.next_edge = self.find_edge(slices, channel);
        self.dram_due = self.dram_to_llc.first_at_or_after(self.next_edge);
    }

    /// The first DRAM edge not worked through in which anything would happen.
    // In place, at the end of every edge.
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
        if let Some((at, _)) = self.delayed.front()
            && (!full || self.full_since.is_none())
        {
            next = next.min(self.first_edge(*at));
        }
        next.max(self.edge)
    }

    #[inline]
    fn can_send(&self, slices: &Slices, slice: usize) -> bool {
        let from = &slices.ports[slice].slice;
        from.has_to_dram() & self.places.has(slice) & !from.from_dram_full()
    }

    /// Works through a DRAM edge and finds the next one.
    // Called from one place for each kind of channel, for every edge in which anything happens.
    pub(super) fn dram_cycle<C: Clocked>(&mut self, slices: &mut Slices, channel: &mut C, edge: Cycle) {
        debug_assert_eq!(self.dram_to_llc.first_at_or_after(edge), slices.now, "{}: {edge} is worked through late", slices.id);
        if let Some(request) = channel.returned() {
            let (addr, sectors, number) = (request.addr, request.sectors(), request.slice);
            let side = &mut slices.ports[usize::from(number)];
            if !side.slice.from_dram_full() {
                side.slice.push_from_dram(match request.kind() {
                    RequestKind::Read { entry } => FromDram::Data { entry, addr, sectors },
                    RequestKind::Write { number } | RequestKind::WriteBack { number } => FromDram::Written { number },
                });
                side.due = slices.now;
                slices.due = slices.now;
                channel.drop_returned();
                self.places.give_back(usize::from(number));
            }
        }
        let Worked { written_back, moving, read } = channel.cycle(edge);
        if let Some(Owner { slice, .. }) = written_back {
            self.places.give_back(usize::from(slice));
        }
        if let Some(Owner { slice, kind: RequestKind::Read { entry } }) = moving {
            slices.slice(slice).expect_entry(entry);
        }
        if let Some(Owner { slice, kind: RequestKind::Read { entry } }) = read {
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

    /// One slice sends its oldest request, round robin from the one after the last sender.
    // Called from one place, for every edge, as `enter_channel`.
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
        let (bank, row) = slices.common.local.bank_and_row(down.addr);
        let kind = match down.kind {
            DownKind::Fetch { entry } => RequestKind::Read { entry },
            DownKind::Write => RequestKind::Write { number: down.token },
            DownKind::WriteBack => RequestKind::WriteBack { number: down.token },
        };
        let request = Request {
            port: down.owner().port,
            addr: down.addr,
            row,
            since: edge.0 as u32,
            bank: bank as u8,
            slice: i as u8,
            part: down.part,
            ..Request::default()
        };
        self.places.take(i);
        self.last_sender = i;
        // The delay is counted in LLC cycles from the first one that is not before this edge, which is the present.
        self.delayed.append((slices.now.after(self.dram_latency), request.with_kind(kind)));
    }

    /// The first DRAM edge that is worked through in an LLC cycle or later.
    #[inline]
    fn first_edge(&self, cycle: Cycle) -> Cycle {
        cycle.0.checked_sub(1).map_or(Cycle(0), |before| self.llc_to_dram.last_at_or_before(Cycle(before)).next())
    }

    /// The oldest delayed request enters the channel, or is noted to find it full.
    #[inline(always)]
    fn enter_channel<C: Clocked>(&mut self, now: Cycle, channel: &mut C, edge: Cycle) {
        let Some((_, request)) = self.delayed.front().filter(|(at, _)| *at <= now) else { return };
        if channel.is_full() {
            self.full_since.get_or_insert(edge);
            return;
        }
        channel.push(edge, request);
        self.delayed.drop_front();
        if let Some(since) = self.full_since {
            channel.count_full(edge.0 - since.0);
            self.full_since = None;
        }
    }
}

/// Whether an answer of the channel is ready and its slice takes it.
#[inline]
fn answer_leaves<C: Clocked>(slices: &Slices, channel: &C) -> bool {
    channel.returned().is_some_and(|request| !slices.slice(request.slice).from_dram_full())
}
