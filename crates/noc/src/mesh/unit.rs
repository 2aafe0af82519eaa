//! A network of routers as a unit of the machine: one subnet with its senders and receivers.
//!
//! Packets become visible at an input, enter the source queue of their sender and traffic class, and leave over the output link in the
//! cycle in which their tail is ejected, if the receiver has free space; else they block the ejection buffer. A slot at an input is freed
//! when the packet's tail has left the source queue. The number of flits of a packet follows from its size in bytes and the width of its
//! traffic class. Classes that share channels share a network of routers; classes with private wires have private networks, each with one
//! flit per channel and cycle.

use std::convert::Infallible;

use warpshard_base::{Cycle, LinkId};
use warpshard_engine::Unit;
use warpshard_protocol::{CreditSender, EventKind, MemPacket, Outbox, Payload};
use warpshard_stats::{CounterVisitor, counters};

use super::super::subnet::{Direction, Subnet, SubnetEnds, SubnetPorts, SubnetSize, Switch};
use super::spec::Size;
use super::{Network, NetworkSpec, Packet, Sink, SourceLane, VcRange};

/// A subnet of routers, and the terminals of its senders and receivers.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct SubnetSpec {
    /// The network of routers.
    pub network: NetworkSpec,
    /// The terminal of each sender; several senders may share one.
    pub senders: Vec<u16>,
    /// The terminal of each receiver; several receivers may share one.
    pub receivers: Vec<u16>,
    /// The traffic class of each core's packets, indexed by the requester's port.
    pub class_of_core: Vec<u8>,
    /// Bytes of a flit, by traffic class: the share of the channels' width that the class has.
    pub flit_bytes: Vec<u16>,
    /// True if each traffic class has a private part of every channel, switch and terminal.
    pub apart: bool,
    /// Bytes of a packet without data.
    pub header_bytes: u16,
    /// Packets that an input's queue holds.
    pub input_queue: u32,
}

/// Bytes of a sector.
const SECTOR_BYTES: u32 = 32;

impl SubnetSpec {
    /// Returns the number of flits of a packet, by the data that it carries in this direction.
    pub fn flits(&self, direction: Direction, packet: &MemPacket) -> u16 {
        let data = direction.data_sectors(packet) * SECTOR_BYTES;
        let class = usize::from(self.class_of_core[packet.port.index()]);
        (u32::from(self.header_bytes) + data).div_ceil(u32::from(self.flit_bytes[class])).max(1) as u16
    }
}

counters! {
    /// Counters of a subnet of routers.
    pub struct MeshCounters {
        packets: "packets", "Packets delivered to their receivers.";
        flits: "flits", "Flits ejected.";
        hops: "flits", "Flits through a router's switch, summed over the routers.";
        conflicts: "requests", "Requests for a switch that lost the arbitration, summed over routers and cycles.";
        credit_stalls: "times", "Times that a packet used the last credit of its virtual channel and had flits left.";
        blocked: "times", "Times that a receiver had no free slot for a packet.";
        packet_cycles: "packet cycles", "Cycles from the arrival of packets at their inputs to their departure from the subnet.";
    }
}

/// The machine's packets in flight, and the receivers.
#[derive(Clone, Debug, warpshard_state::State)]
struct PacketsInFlight {
    packets: Vec<(MemPacket, u32)>,
    free: Vec<u32>,
    /// Credits for the queues of the receivers.
    credits: Box<[CreditSender]>,
    lanes_per_input: usize,
    counters: MeshCounters,
}

impl PacketsInFlight {
    fn store_packet(&mut self, packet: MemPacket, at: Cycle) -> u32 {
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
    in_flight: &'a mut PacketsInFlight,
    ends: &'a mut SubnetEnds,
    out: &'a mut Outbox,
}

impl Sink for Delivery<'_> {
    fn accept(&mut self, now: Cycle, packet: &Packet) -> bool {
        let Self { in_flight, ends, out } = self;
        let (kept, at) = in_flight.packets[packet.tag as usize];
        let receiver = ends.direction.output(&kept);
        if !in_flight.credits[receiver].can_send() {
            in_flight.counters.blocked += 1;
            return false;
        }
        in_flight.credits[receiver].spend();
        in_flight.free.push(packet.tag);
        in_flight.counters.packets += 1;
        in_flight.counters.packet_cycles += u64::from((now.0 as u32).wrapping_sub(at));
        out.send(ends.link_to(receiver), now, Payload::Mem(kept));
        true
    }

    fn departed(&mut self, _: Cycle, lane: usize) {
        self.ends.return_slot(lane / self.in_flight.lanes_per_input, self.out);
    }
}

/// Routers of one size that move the packets of a subnet; see [`Network`].
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Routers<const W: usize, const P: usize, const C: usize> {
    spec: SubnetSpec,
    /// One network for all traffic classes, or one per class.
    nets: Vec<Network<W, P, C>>,
    in_flight: PacketsInFlight,
}

impl<const W: usize, const P: usize, const C: usize> Routers<W, P, C> {
    fn new(spec: &SubnetSpec, output_capacity: u32) -> Self {
        let (outputs, classes) = (spec.receivers.len(), spec.network.classes.len());
        assert!(spec.flit_bytes.len() == classes && !spec.flit_bytes.contains(&0), "every traffic class needs a width");
        assert!(spec.class_of_core.iter().all(|class| usize::from(*class) < classes), "a core without a traffic class");
        let nets = if spec.apart {
            let lanes: Vec<SourceLane> = spec.senders.iter().map(|terminal| SourceLane { terminal: *terminal, class: 0 }).collect();
            let own = |range: &VcRange| Network::new(&spec.network.clone().with_vcs(range.count), &lanes);
            spec.network.classes.iter().map(own).collect()
        } else {
            // A sender has a source queue per class, so that no class blocks another.
            let lane = |terminal: &u16| {
                let terminal = *terminal;
                (0..classes).map(move |class| SourceLane { terminal, class: class as u8 })
            };
            let lanes: Vec<SourceLane> = spec.senders.iter().flat_map(lane).collect();
            vec![Network::new(&spec.network, &lanes)]
        };
        Self {
            nets,
            in_flight: PacketsInFlight {
                packets: Vec::new(),
                free: Vec::new(),
                credits: vec![CreditSender::new(output_capacity); outputs].into(),
                lanes_per_input: if spec.apart { 1 } else { classes },
                counters: MeshCounters::default(),
            },
            spec: spec.clone(),
        }
    }

    fn counters(&self) -> MeshCounters {
        let mut counters = self.in_flight.counters.clone();
        for net in &self.nets {
            let activity = net.activity();
            counters.flits += net.flits_ejected();
            counters.hops += activity.hops;
            counters.conflicts += activity.refused;
            counters.credit_stalls += activity.starved;
        }
        counters
    }
}

impl<const W: usize, const P: usize, const C: usize> Switch for Routers<W, P, C> {
    fn name(&self) -> String {
        self.spec.network.topology.to_string()
    }

    /// Puts the visible packets of an input into the source queues.
    fn enter(&mut self, ends: &mut SubnetEnds, input: usize) {
        while let Some((packet, at)) = ends.next_visible(input) {
            let receiver = ends.direction.output(&packet);
            let flits = self.spec.flits(ends.direction, &packet);
            let class = usize::from(self.spec.class_of_core[packet.port.index()]);
            let (net, lane) = if self.spec.apart { (class, input) } else { (0, input * self.in_flight.lanes_per_input + class) };
            let tag = self.in_flight.store_packet(packet, at);
            self.nets[net].offer(lane, usize::from(self.spec.receivers[receiver]), flits, tag);
        }
    }

    fn receive_credits(&mut self, output: usize, at: Cycle, credits: u16) -> bool {
        self.in_flight.credits[output].deliver(at, credits)
    }

    fn take_credits(&mut self, output: usize, now: Cycle) -> Option<Cycle> {
        let credits = &mut self.in_flight.credits[output];
        credits.collect(now);
        let next = credits.next();
        let terminal = usize::from(self.spec.receivers[output]);
        self.nets.iter_mut().for_each(|net| net.wake(terminal));
        Some(next).filter(|next| *next != Cycle::NEVER)
    }

    /// Counts nothing: routers count their activity, not waiting cycles.
    fn count(&mut self, _: u64) {}

    fn step(&mut self, ends: &mut SubnetEnds, out: &mut Outbox) {
        let now = ends.now;
        // Classes with private networks share only the receivers, which serve them round robin.
        let count = self.nets.len();
        for turn in 0..count {
            let net = &mut self.nets[(now.0 as usize).wrapping_add(turn) % count];
            net.step(now, &mut Delivery { in_flight: &mut self.in_flight, ends, out });
        }
    }

    fn next_event(&self, now: Cycle) -> Cycle {
        self.nets.iter().map(|net| net.next_event(now)).min().unwrap_or(Cycle::NEVER)
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.counters(&self.counters());
    }

    fn waiting(&self, ends: &SubnetEnds) -> Vec<String> {
        let under_way: usize = self.nets.iter().map(Network::in_flight).sum();
        if under_way == 0 {
            return Vec::new();
        }
        let full: Vec<String> =
            (0..ends.outputs).filter(|output| !self.in_flight.credits[*output].can_send()).map(|output| output.to_string()).collect();
        let reason = if full.is_empty() { "no receiver is full".to_owned() } else { format!("receivers {} are full", full.join(", ")) };
        vec![format!("{under_way} packets are in flight at {}: {reason}", ends.now)]
    }
}

/// One subnet of routers, a unit of the machine. Its variant is chosen once, by the size of its routers.
#[derive(Clone, Debug, warpshard_state::State)]
pub enum MeshNet {
    /// A subnet of size [`Size::Mesh4`].
    Mesh4(Box<Subnet<Routers<1, 8, 32>>>),
    /// A subnet of size [`Size::Mesh8`].
    Mesh8(Box<Subnet<Routers<1, 8, 64>>>),
    /// A subnet of size [`Size::Mesh16`].
    Mesh16(Box<Subnet<Routers<2, 8, 128>>>),
    /// A subnet of size [`Size::Crossbar64`].
    Crossbar64(Box<Subnet<Routers<4, 64, 256>>>),
    /// A subnet of size [`Size::Crossbar128`].
    Crossbar128(Box<Subnet<Routers<8, 128, 512>>>),
    /// A subnet of size [`Size::Largest`].
    Largest(Box<Subnet<Routers<32, 128, 2048>>>),
}

/// Returns a subnet whose switch is routers of one size.
fn subnet<const W: usize, const P: usize, const C: usize>(
    direction: Direction,
    spec: &SubnetSpec,
    ports: SubnetPorts,
) -> Box<Subnet<Routers<W, P, C>>> {
    let extent = SubnetSize { inputs: spec.senders.len(), outputs: spec.receivers.len(), input_queue: spec.input_queue };
    Box::new(Subnet::with_switch(Routers::new(spec, ports.output_capacity), direction, extent, ports))
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
    /// Returns a subnet at cycle 0.
    ///
    /// # Panics
    /// If the network cannot be built, a sender or receiver has no terminal, or a receiver has no space for a packet.
    pub fn new(direction: Direction, spec: &SubnetSpec, ports: SubnetPorts) -> Self {
        let terminals = spec.network.topology.terminals();
        let seated = spec.senders.iter().chain(&spec.receivers).all(|terminal| usize::from(*terminal) < terminals);
        assert!(seated, "a sender or receiver is outside {}", spec.network.topology);
        match spec.network.size() {
            Size::Mesh4 => Self::Mesh4(subnet(direction, spec, ports)),
            Size::Mesh8 => Self::Mesh8(subnet(direction, spec, ports)),
            Size::Mesh16 => Self::Mesh16(subnet(direction, spec, ports)),
            Size::Crossbar64 => Self::Crossbar64(subnet(direction, spec, ports)),
            Size::Crossbar128 => Self::Crossbar128(subnet(direction, spec, ports)),
            Size::Largest => Self::Largest(subnet(direction, spec, ports)),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> MeshCounters {
        each!(self, unit => unit.switch().counters())
    }

    /// Returns the direction of the subnet's packets.
    pub fn direction(&self) -> Direction {
        each!(self, unit => unit.direction())
    }
}

impl Unit for MeshNet {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = Infallible;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        each!(self, unit => unit.deliver(link, at, payload));
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
        each!(self, unit => unit.visit_counters(visitor));
    }

    fn sends_events(&self) -> bool {
        false
    }

    fn waiting(&self) -> Vec<String> {
        each!(self, unit => unit.waiting())
    }
}
