//! Network interfaces: source queues that inject one flit per terminal and cycle, and ejection buffers that accept one.
//!
//! A *lane* is a source with a queue and a traffic class. Several lanes may share a terminal, which serves them round robin, flit by flit.
//! A head flit takes the next virtual channel of its class, round robin, that is free and has a credit. A terminal whose flits are blocked
//! sleeps until a credit or a packet wakes it.

use std::collections::VecDeque;

use warpshard_base::Cycle;

use super::bits::next_cyclic;
use super::network::Sink;
use super::packet::Packets;
use super::spec::{NetworkSpec, VcRange};
use super::wheel::{ArrivalWheel, Flit, VcAddress};

/// A source of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct SourceLane {
    /// The terminal of the lane.
    pub terminal: u16,
    /// The traffic class of the lane, an index into the classes of the network.
    pub class: u8,
}

#[derive(Clone, Debug, warpshard_state::State)]
struct LaneQueue {
    range: VcRange,
    queue: VecDeque<u32>,
    /// Flits of the first packet that were sent, and their virtual channel.
    sent: u16,
    vc: u8,
    /// The virtual channel that the next head flit takes if it is free, relative to the range.
    turn: u8,
}

#[derive(Clone, Debug, warpshard_state::State)]
struct Injector {
    /// The lanes of the terminal, as a range of the order by terminal.
    first: u32,
    lanes: u32,
    /// The lane that is served next.
    turn: u32,
    /// Packets in the queues of the lanes.
    waiting: u32,
    /// Virtual channels with a partially sent packet.
    busy: u16,
    credited: u16,
    place: VcAddress,
}

/// The source queues of all terminals.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Injectors {
    sources: Box<[LaneQueue]>,
    /// The index of each lane in `sources`, and the inverse mapping.
    order: Box<[u32]>,
    lane_of: Box<[u32]>,
    injectors: Box<[Injector]>,
    credits: Box<[u16]>,
    vcs: usize,
    awake_terminals: Box<[u64]>,
    delay: u64,
}

impl Injectors {
    /// Returns the queues of `lanes`; a port of a router has `room` virtual channels.
    pub(super) fn new(spec: &NetworkSpec, lanes: &[SourceLane], room: usize) -> Self {
        let (terminals, vcs) = (spec.topology.terminals(), usize::from(spec.vcs));
        let mut lane_of: Vec<u32> = (0..lanes.len() as u32).collect();
        lane_of.sort_by_key(|lane| lanes[*lane as usize].terminal);
        let mut order = vec![0; lanes.len()];
        lane_of.iter().enumerate().for_each(|(at, lane)| order[*lane as usize] = at as u32);
        let source = |lane: &u32| {
            let range = spec.classes[usize::from(lanes[*lane as usize].class)];
            LaneQueue { range, queue: VecDeque::new(), sent: 0, vc: 0, turn: 0 }
        };
        let injector = |terminal: usize| {
            let first = lane_of.partition_point(|lane| usize::from(lanes[*lane as usize].terminal) < terminal);
            let last = lane_of.partition_point(|lane| usize::from(lanes[*lane as usize].terminal) <= terminal);
            let (router, port) = spec.topology.terminal_port(terminal);
            let credited = (u32::MAX >> (32 - vcs)) as u16;
            let place = VcAddress::router(router, port * room);
            Injector { first: first as u32, lanes: (last - first) as u32, turn: 0, waiting: 0, busy: 0, credited, place }
        };
        Self {
            sources: lane_of.iter().map(source).collect(),
            injectors: (0..terminals).map(injector).collect(),
            order: order.into(),
            lane_of: lane_of.into(),
            credits: vec![spec.buffers; terminals * vcs].into(),
            vcs,
            awake_terminals: vec![0; terminals.div_ceil(64)].into(),
            delay: 1 + u64::from(spec.channel_latency),
        }
    }

    #[inline]
    pub(super) fn offer(&mut self, lane: usize, terminal: usize, packet: u32) {
        self.sources[self.order[lane] as usize].queue.push_back(packet);
        self.injectors[terminal].waiting += 1;
        self.awake_terminals[terminal / 64] |= 1 << (terminal % 64);
    }

    /// Returns the number of packets in a lane's queue, including the one being sent.
    pub(super) fn waiting(&self, lane: usize) -> usize {
        self.sources[self.order[lane] as usize].queue.len()
    }

    #[inline]
    pub(super) fn credit(&mut self, terminal: usize, vc: usize) {
        self.credits[terminal * self.vcs + vc] += 1;
        let injector = &mut self.injectors[terminal];
        injector.credited |= 1 << vc;
        if injector.waiting > 0 {
            self.awake_terminals[terminal / 64] |= 1 << (terminal % 64);
        }
    }

    pub(super) fn is_awake(&self) -> bool {
        self.awake_terminals.iter().any(|word| *word != 0)
    }

    /// Sends a flit from every terminal that can send one.
    pub(super) fn inject<S: Sink>(&mut self, now: Cycle, packets: &mut Packets, flits: &mut ArrivalWheel<(VcAddress, Flit)>, sink: &mut S) {
        for word in 0..self.awake_terminals.len() {
            let mut left = self.awake_terminals[word];
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !self.send(word * 64 + bit as usize, now, packets, flits, sink) {
                    self.awake_terminals[word] &= !(1 << bit);
                }
            }
        }
    }

    /// Sends a flit from a terminal. Returns true if it may send another flit in the next cycle.
    #[inline]
    fn send<S: Sink>(
        &mut self,
        terminal: usize,
        now: Cycle,
        packets: &mut Packets,
        flits: &mut ArrivalWheel<(VcAddress, Flit)>,
        sink: &mut S,
    ) -> bool {
        let injector = &mut self.injectors[terminal];
        for step in 0..injector.lanes {
            let turn = injector.turn + step;
            let turn = if turn < injector.lanes { turn } else { turn - injector.lanes };
            let at = (injector.first + turn) as usize;
            let source = &mut self.sources[at];
            let Some(&handle) = source.queue.front() else { continue };
            if source.sent == 0 {
                let range = (1u32 << source.range.count) - 1;
                let open = (u32::from(injector.credited & !injector.busy) >> source.range.first & range) as u16;
                if open == 0 {
                    continue;
                }
                let vc = next_cyclic(open, usize::from(source.turn)) as u8;
                source.turn = if vc + 1 == source.range.count { 0 } else { vc + 1 };
                source.vc = source.range.first + vc;
                injector.busy |= 1 << source.vc;
                packets.get_mut(handle).entered = now.0 as u32;
            } else if injector.credited >> source.vc & 1 == 0 {
                continue;
            }
            let (vc, head) = (usize::from(source.vc), source.sent == 0);
            source.sent += 1;
            let tail = source.sent == packets.get(handle).flits;
            let credits = &mut self.credits[terminal * self.vcs + vc];
            *credits -= 1;
            if *credits == 0 {
                injector.credited &= !(1 << vc);
            }
            flits.schedule(now.after(self.delay), (injector.place.offset_by(vc), Flit::new(handle, head, tail)));
            injector.turn = if turn + 1 == injector.lanes { 0 } else { turn + 1 };
            if tail {
                source.queue.pop_front();
                source.sent = 0;
                injector.busy &= !(1 << vc);
                injector.waiting -= 1;
                sink.departed(now, self.lane_of[at] as usize);
            }
            return injector.waiting > 0;
        }
        false
    }
}

/// The ejection buffers of all terminals.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Ejectors {
    /// Flits that wait because the receiver accepted no packet, by terminal and virtual channel.
    buffers: Box<[VecDeque<Flit>]>,
    filled: Box<[u16]>,
    /// The virtual channel that is served next.
    turn: Box<[u8]>,
    places: Box<[VcAddress]>,
    vcs: usize,
    awake_terminals: Box<[u64]>,
    delay: u64,
    /// The last packet of which flits were received, and their number, by terminal and virtual channel; used to check the order of flits.
    open_packets: Box<[(u32, u16)]>,
    /// The total number of flits ejected.
    pub(super) flits: u64,
}

impl Ejectors {
    /// Returns empty buffers; a port of a router has `room` virtual channels.
    pub(super) fn new(spec: &NetworkSpec, room: usize) -> Self {
        let (terminals, vcs) = (spec.topology.terminals(), usize::from(spec.vcs));
        let place = |terminal| {
            let (router, port) = spec.topology.terminal_port(terminal);
            VcAddress::router(router, port * room)
        };
        Self {
            buffers: vec![VecDeque::new(); terminals * vcs].into(),
            filled: vec![0; terminals].into(),
            turn: vec![0; terminals].into(),
            places: (0..terminals).map(place).collect(),
            vcs,
            awake_terminals: vec![0; terminals.div_ceil(64)].into(),
            delay: 1 + u64::from(spec.channel_latency) + u64::from(spec.credit_delay),
            open_packets: vec![(0, 0); terminals * vcs].into(),
            flits: 0,
        }
    }

    /// Receives a flit at a terminal.
    #[inline]
    pub(super) fn arrive<S: Sink>(
        &mut self,
        place: VcAddress,
        flit: Flit,
        now: Cycle,
        packets: &mut Packets,
        credits: &mut ArrivalWheel<VcAddress>,
        sink: &mut S,
    ) {
        let (terminal, vc) = (place.node(), place.channel());
        // Without a queue the flit is ejected immediately; a terminal receives at most one flit per cycle.
        if self.filled[terminal] == 0 && self.take(place, flit, now, packets, credits, sink) {
            return;
        }
        self.buffers[terminal * self.vcs + vc].push_back(flit);
        self.filled[terminal] |= 1 << vc;
        self.awake_terminals[terminal / 64] |= 1 << (terminal % 64);
    }

    #[inline]
    fn take<S: Sink>(
        &mut self,
        place: VcAddress,
        flit: Flit,
        now: Cycle,
        packets: &mut Packets,
        credits: &mut ArrivalWheel<VcAddress>,
        sink: &mut S,
    ) -> bool {
        let (terminal, vc) = (place.node(), place.channel());
        if flit.is_tail() && !sink.accept(now, packets.get(flit.packet())) {
            return false;
        }
        if cfg!(debug_assertions) {
            let open = &mut self.open_packets[terminal * self.vcs + vc];
            *open = if flit.is_head() { (flit.packet(), 1) } else { (open.0, open.1 + 1) };
            let packet = packets.get(flit.packet());
            assert!(open.0 == flit.packet(), "terminal {terminal}: flits of two packets are mixed at {now}");
            assert!(flit.is_tail() == (open.1 == packet.flits), "terminal {terminal}: a packet lost or gained flits at {now}");
            assert!(usize::from(packet.dest) == terminal, "terminal {terminal} got a packet for {} at {now}", packet.dest);
        }
        if flit.is_tail() {
            packets.remove(flit.packet());
        }
        self.flits += 1;
        credits.schedule(now.after(self.delay), self.places[terminal].offset_by(vc));
        true
    }

    pub(super) fn is_awake(&self) -> bool {
        self.awake_terminals.iter().any(|word| *word != 0)
    }

    /// Wakes a terminal whose receivers have free space again.
    pub(super) fn wake(&mut self, terminal: usize) {
        if self.filled[terminal] != 0 {
            self.awake_terminals[terminal / 64] |= 1 << (terminal % 64);
        }
    }

    /// Takes a flit from the buffers of every terminal that can accept one.
    pub(super) fn drain<S: Sink>(&mut self, now: Cycle, packets: &mut Packets, credits: &mut ArrivalWheel<VcAddress>, sink: &mut S) {
        for word in 0..self.awake_terminals.len() {
            let mut left = self.awake_terminals[word];
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !self.drain_one(word * 64 + bit as usize, now, packets, credits, sink) {
                    self.awake_terminals[word] &= !(1 << bit);
                }
            }
        }
    }

    fn drain_one<S: Sink>(
        &mut self,
        terminal: usize,
        now: Cycle,
        packets: &mut Packets,
        credits: &mut ArrivalWheel<VcAddress>,
        sink: &mut S,
    ) -> bool {
        let mut left = self.filled[terminal];
        while left != 0 {
            let vc = next_cyclic(left, usize::from(self.turn[terminal]));
            left &= !(1 << vc);
            let Some(&flit) = self.buffers[terminal * self.vcs + vc].front() else { continue };
            if self.take(VcAddress::terminal(terminal, vc), flit, now, packets, credits, sink) {
                let buffer = &mut self.buffers[terminal * self.vcs + vc];
                buffer.pop_front();
                if buffer.is_empty() {
                    self.filled[terminal] &= !(1 << vc);
                }
                self.turn[terminal] = if vc + 1 == self.vcs { 0 } else { vc as u8 + 1 };
                return self.filled[terminal] != 0;
            }
        }
        false
    }
}
