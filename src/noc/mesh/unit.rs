//! A network of routers as a unit of the machine: one subnet with its senders and receivers.
//!
//! Packets become visible at an input, enter the source queue of their sender and traffic class, and leave over the output
//! link in the cycle in which their tail is ejected, if the receiver has room; else they block the ejection buffer. A slot
//! at an input is freed when the packet's tail has left the source queue. The number of flits of a packet follows from its size in
//! bytes and the width of its traffic class. Classes that share channels share a network of routers; classes with their own wires
//! have their own networks, each with a flit per channel and cycle.

use std::convert::Infallible;

use crate::base::{Cycle, LinkId, Slots};
use crate::engine::Unit;
use crate::protocol::{CreditReceiver, CreditSender, EventKind, MemPacket, Outbox, Payload};
use crate::stats::{CounterVisitor, counters};

use super::super::calendar::{Calendar, Cursor};
use super::super::crossbar::{Direction, SubnetPorts};
use super::super::queues::Queue;
use super::spec::Size;
use super::{Lane, Network, NetworkSpec, Packet, Sink, VcRange};

/// A subnet of routers, and the terminals of its senders and receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubnetSpec {
    /// The routers.
    pub network: NetworkSpec,
    /// The terminal of each sender; several may share one.
    pub senders: Vec<u16>,
    /// The terminal of each receiver; several may share one.
    pub receivers: Vec<u16>,
    /// The traffic class of each core's packets, by the requester's port.
    pub class_of_core: Vec<u8>,
    /// Bytes of a flit, by traffic class: the share of the channels' width that the class has.
    pub flit_bytes: Vec<u16>,
    /// Whether each traffic class has its own part of every channel, switch and terminal.
    pub apart: bool,
    /// Bytes of a packet without data.
    pub header_bytes: u16,
    /// Packets that an input's queue holds.
    pub input_queue: u32,
}

/// Bytes of a sector.
const SECTOR_BYTES: u32 = 32;

impl SubnetSpec {
    /// The flits of a packet, by what it carries in this direction.
    pub fn flits(&self, direction: Direction, packet: &MemPacket) -> u16 {
        let data = direction.data_sectors(packet) * SECTOR_BYTES;
        let class = usize::from(self.class_of_core[packet.port.index()]);
        (u32::from(self.header_bytes) + data).div_ceil(u32::from(self.flit_bytes[class])).max(1) as u16
    }
}

counters! {
    /// Counters of a subnet of routers.
    pub struct MeshCounters {
        packets: "packets", "Packets handed to their receivers.";
        flits: "flits", "Flits ejected.";
        hops: "flits", "Flits through a router's switch, summed over the routers.";
        conflicts: "requests", "Requests for a switch that lost, summed over routers and cycles.";
        credit_stalls: "times", "Times that a packet used the last credit of its virtual channel and had flits left.";
        blocked: "times", "Times that a packet's receiver had no room for it.";
        packet_cycles: "packet cycles", "Cycles from packets' arrival at their inputs to their leaving the subnet.";
    }
}

/// Senders, receivers and the machine's packets in flight.
#[derive(Clone, Debug)]
struct NetworkInterface {
    direction: Direction,
    ports: SubnetPorts,
    packets: Vec<(MemPacket, u32)>,
    free: Vec<u32>,
    /// Places at the receivers.
    credits: Box<[CreditSender]>,
    /// Places of the inputs, which packets leave with their tail.
    returns: Slots<CreditReceiver>,
    lanes_per_input: usize,
    counters: MeshCounters,
}

impl NetworkInterface {
    fn receiver(&self, packet: &MemPacket) -> usize {
        match self.direction {
            Direction::Request => packet.slice.index(),
            Direction::Reply => packet.port.index(),
        }
    }

    fn keep(&mut self, packet: MemPacket, at: Cycle) -> u32 {
        let kept = (packet, at.0 as u32);
        if let Some(tag) = self.free.pop() {
            self.packets[tag as usize] = kept;
            return tag;
        }
        self.packets.push(kept);
        (self.packets.len() - 1) as u32
    }
}

struct Delivery<'a> {
    interface: &'a mut NetworkInterface,
    out: &'a mut Outbox,
}

impl Sink for Delivery<'_> {
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool {
        let interface = &mut *self.interface;
        let (kept, at) = interface.packets[packet.tag as usize];
        let receiver = interface.receiver(&kept);
        if !interface.credits[receiver].can_send() {
            interface.counters.blocked += 1;
            return false;
        }
        interface.credits[receiver].spend();
        interface.free.push(packet.tag);
        interface.counters.packets += 1;
        interface.counters.packet_cycles += u64::from((now.0 as u32).wrapping_sub(at));
        self.out.send(LinkId(interface.ports.data_out.0 + receiver as u16), now, Payload::Mem(kept));
        true
    }

    fn departed(&mut self, now: Cycle, lane: usize) {
        let interface = &mut *self.interface;
        let input = lane / interface.lanes_per_input;
        interface.returns.get_mut(input as u32).release(now, self.out);
    }
}

/// One subnet of routers of one size, see [`Network`].
#[derive(Clone, Debug)]
pub struct MeshUnit<const W: usize, const P: usize, const C: usize> {
    spec: SubnetSpec,
    now: Cycle,
    /// One for all traffic classes, or one for each.
    nets: Vec<Network<W, P, C>>,
    /// Packets that are not visible yet.
    queues: Box<[Queue]>,
    /// Inputs whose next packet becomes visible, followed by outputs whose next credits do.
    calendar: Calendar,
    interface: NetworkInterface,
}

impl<const W: usize, const P: usize, const C: usize> MeshUnit<W, P, C> {
    fn new(direction: Direction, spec: &SubnetSpec, ports: SubnetPorts) -> Self {
        let (inputs, outputs, classes) = (spec.senders.len(), spec.receivers.len(), spec.network.classes.len());
        assert!(ports.output_capacity >= 1 && spec.input_queue >= 1, "a network without room for a packet");
        assert!(spec.flit_bytes.len() == classes && !spec.flit_bytes.contains(&0), "every traffic class needs a width");
        assert!(spec.class_of_core.iter().all(|class| usize::from(*class) < classes), "a core without a traffic class");
        let nets = if spec.apart {
            let lanes: Vec<Lane> = spec.senders.iter().map(|terminal| Lane { terminal: *terminal, class: 0 }).collect();
            let own = |range: &VcRange| Network::new(&spec.network.clone().with_vcs(range.count), &lanes);
            spec.network.classes.iter().map(own).collect()
        } else {
            // A sender has a source queue per class, so that no class blocks another.
            let lane = |terminal: &u16| {
                let terminal = *terminal;
                (0..classes).map(move |class| Lane { terminal, class: class as u8 })
            };
            let lanes: Vec<Lane> = spec.senders.iter().flat_map(lane).collect();
            vec![Network::new(&spec.network, &lanes)]
        };
        Self {
            now: Cycle(0),
            nets,
            queues: Queue::several(inputs),
            calendar: Calendar::new(inputs + outputs),
            interface: NetworkInterface {
                direction,
                ports,
                packets: Vec::new(),
                free: Vec::new(),
                credits: vec![CreditSender::new(ports.output_capacity); outputs].into(),
                returns: ports.returns(inputs, spec.input_queue),
                lanes_per_input: if spec.apart { 1 } else { classes },
                counters: MeshCounters::default(),
            },
            spec: spec.clone(),
        }
    }

    fn name(&self) -> String {
        let direction = match self.interface.direction {
            Direction::Request => "request",
            Direction::Reply => "reply",
        };
        format!("{direction} {}", self.spec.network.topology)
    }

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: Payload) {
        assert!(at >= self.now, "{}: {link} brings a message for {at}, which is before {}", self.name(), self.now);
        let (inputs, outputs) = (self.spec.senders.len(), self.spec.receivers.len());
        match payload {
            Payload::Mem(packet) => {
                let input = usize::from(link.0.wrapping_sub(self.interface.ports.data_in.0));
                assert!(input < inputs, "{}: a packet comes over {link}, which is no input", self.name());
                if self.queues[input].push(at, &packet) {
                    self.calendar.note(self.now, at, input);
                }
            }
            Payload::Credit(credit) => {
                let output = usize::from(link.0.wrapping_sub(self.interface.ports.credit_in.0));
                assert!(output < outputs, "{}: credits come over {link}, which is no output", self.name());
                if self.interface.credits[output].deliver(at, credit.count) {
                    self.calendar.note(self.now, at, inputs + output);
                }
            }
            other => panic!("{}: {link} brings {other:?} at {at}", self.name()),
        }
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        while self.now < until {
            if skip {
                let next = self.next_event();
                if next >= until {
                    self.now = until;
                    break;
                }
                self.now = next;
            }
            if self.calendar.arrive(self.now) {
                self.process_arrivals();
            }
            // Classes with their own networks share only the receivers, which serve them round robin.
            let count = self.nets.len();
            for turn in 0..count {
                let net = &mut self.nets[(self.now.0 as usize).wrapping_add(turn) % count];
                net.step(self.now, &mut Delivery { interface: &mut self.interface, out });
            }
            self.now.0 += 1;
        }
        let counters = &mut self.interface.counters;
        (counters.flits, counters.hops, counters.conflicts, counters.credit_stalls) = (0, 0, 0, 0);
        for net in &self.nets {
            let activity = net.activity();
            counters.flits += net.flits_ejected();
            counters.hops += activity.hops;
            counters.conflicts += activity.refused;
            counters.credit_stalls += activity.starved;
        }
    }

    fn next_event(&self) -> Cycle {
        let next = self.nets.iter().map(|net| net.next_event(self.now)).min().unwrap_or(Cycle::NEVER);
        next.min(self.calendar.next(self.now))
    }

    fn settle(&mut self, at: Cycle) {
        debug_assert!(at <= self.now || self.next_event() >= at, "{} has work before {at}", self.name());
        self.now = self.now.max(at);
    }

    /// Processes the packets and credits that become visible in this cycle.
    fn process_arrivals(&mut self) {
        let inputs = self.spec.senders.len();
        let mut cursor = Cursor::default();
        while let Some(port) = self.calendar.take(self.now, &mut cursor) {
            if port < inputs { self.enter(port) } else { self.take_credits(port - inputs) }
        }
    }

    /// Puts the visible packets of an input into the source queues.
    fn enter(&mut self, input: usize) {
        while let Some(&waiting) = self.queues[input].front() {
            let (at, packet) = (waiting.arrival(self.now), waiting.packet);
            if at > self.now {
                self.calendar.note(self.now, at, input);
                break;
            }
            self.queues[input].pop();
            let receiver = self.interface.receiver(&packet);
            assert!(receiver < self.spec.receivers.len(), "{}: a packet for output {receiver}", self.name());
            let flits = self.spec.flits(self.interface.direction, &packet);
            let class = usize::from(self.spec.class_of_core[packet.port.index()]);
            let (net, lane) = if self.spec.apart { (class, input) } else { (0, input * self.interface.lanes_per_input + class) };
            let tag = self.interface.keep(packet, at);
            self.nets[net].offer(lane, usize::from(self.spec.receivers[receiver]), flits, tag);
        }
    }

    fn take_credits(&mut self, output: usize) {
        let credits = &mut self.interface.credits[output];
        credits.collect(self.now);
        if credits.next() != Cycle::NEVER {
            self.calendar.note(self.now, credits.next(), self.spec.senders.len() + output);
        }
        let terminal = usize::from(self.spec.receivers[output]);
        self.nets.iter_mut().for_each(|net| net.wake(terminal));
    }

    fn waiting(&self) -> Vec<String> {
        let under_way: usize = self.nets.iter().map(Network::in_flight).sum();
        if under_way == 0 {
            return Vec::new();
        }
        let full: Vec<String> =
            (0..self.interface.credits.len()).filter(|output| !self.interface.credits[*output].can_send()).map(|o| o.to_string()).collect();
        let reason = if full.is_empty() { "no receiver is full".to_owned() } else { format!("receivers {} are full", full.join(", ")) };
        vec![format!("{}: {under_way} packets are under way at {}: {reason}", self.name(), self.now)]
    }
}

/// One subnet of routers, a unit of the machine. The size of its routers is chosen once, here.
#[derive(Clone, Debug)]
pub enum MeshNet {
    /// Of [`Size::Mesh4`].
    Mesh4(Box<MeshUnit<1, 8, 32>>),
    /// Of [`Size::Mesh8`].
    Mesh8(Box<MeshUnit<1, 8, 64>>),
    /// Of [`Size::Mesh16`].
    Mesh16(Box<MeshUnit<2, 8, 128>>),
    /// Of [`Size::Crossbar64`].
    Crossbar64(Box<MeshUnit<4, 64, 256>>),
    /// Of [`Size::Crossbar128`].
    Crossbar128(Box<MeshUnit<8, 128, 512>>),
    /// Of [`Size::Largest`].
    Largest(Box<MeshUnit<32, 128, 2048>>),
}

macro_rules! each {
    ($net:expr, $unit:ident => $result:expr) => {
        match $net {
            Self::Mesh4($unit) => $result,
            Self::Mesh8($unit) => $result,
            Self::Mesh16($unit) => $result,
            Self::Crossbar64($unit) => $result,
            Self::Crossbar128($unit) => $result,
            Self::Largest($unit) => $result,
        }
    };
}

impl MeshNet {
    /// A subnet at cycle 0.
    ///
    /// # Panics
    /// When the network cannot be built, a sender or receiver has no terminal, or a receiver has no room for a packet.
    pub fn new(direction: Direction, spec: &SubnetSpec, ports: SubnetPorts) -> Self {
        let terminals = spec.network.topology.terminals();
        let seated = spec.senders.iter().chain(&spec.receivers).all(|terminal| usize::from(*terminal) < terminals);
        assert!(seated, "a sender or receiver sits outside {}", spec.network.topology);
        match spec.network.size() {
            Size::Mesh4 => Self::Mesh4(Box::new(MeshUnit::new(direction, spec, ports))),
            Size::Mesh8 => Self::Mesh8(Box::new(MeshUnit::new(direction, spec, ports))),
            Size::Mesh16 => Self::Mesh16(Box::new(MeshUnit::new(direction, spec, ports))),
            Size::Crossbar64 => Self::Crossbar64(Box::new(MeshUnit::new(direction, spec, ports))),
            Size::Crossbar128 => Self::Crossbar128(Box::new(MeshUnit::new(direction, spec, ports))),
            Size::Largest => Self::Largest(Box::new(MeshUnit::new(direction, spec, ports))),
        }
    }

    /// The counters so far.
    pub fn counters(&self) -> &MeshCounters {
        each!(self, unit => &unit.interface.counters)
    }

    /// The direction of its packets.
    pub fn direction(&self) -> Direction {
        each!(self, unit => unit.interface.direction)
    }
}

impl Unit for MeshNet {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = Infallible;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        each!(self, unit => unit.deliver(link, at, *payload));
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        each!(self, unit => unit.run(until, skip, out));
    }

    fn next_event(&self) -> Cycle {
        each!(self, unit => unit.next_event())
    }

    fn settle(&mut self, at: Cycle) {
        each!(self, unit => unit.settle(at));
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.component(self.direction().component(), 0);
        visitor.counters(self.counters());
    }

    fn sends_events(&self) -> bool {
        false
    }

    fn waiting(&self) -> Vec<String> {
        each!(self, unit => unit.waiting())
    }
}
