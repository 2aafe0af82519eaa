//! The hub of a GPU: where links to other GPUs end. A switch or a host's root is a hub without a GPU.
//!
//! In: requests of this GPU's SMs for memory of other GPUs, replies to requests that it made for others, packets from other nodes, copies
//! and signals of the grid scheduler. Out: the same on their way. Requests of other GPUs enter this GPU's request network under a name of the
//! hub's own (`slots`), and the answers find their way back by it.
//!
//! Packets wait in queues by input; the first of each waits at its output (`output`). On the links between nodes a packet has a virtual
//! channel by its kind, request or reply, and by the links it has passed. A packet therefore waits only for packets that are further on their
//! way, and replies wait for no request: no circle of packets that wait for each other can close (Gunther, "Prevention of deadlocks in
//! packet-switched data transport systems", IEEE Transactions on Communications 29(4), 1981). A request of another GPU waits for a place among
//! those under way in this GPU's memory, which are answered whatever waits here.
//!
//! Per cycle: what became visible, then the outputs in the order of their numbers.

mod copy;
mod counters;
mod lookups;
mod orders;
mod output;
mod pages;
mod ports;
mod replies;
mod requests;
mod slots;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use warpshard_base::{Addr, Cycle, GpuId, KernelIndex, LinkId, PortId, SectorMask};
use warpshard_engine::Unit;
use warpshard_protocol::{
    AddressMap, COPY_PORT, Credit, CreditReceiver, EventKind, Homes, MemOp, MemPacket, Outbox, PAGE_PORT, PacketPart, Path, Payload,
    SIGNAL_PORT, Signal,
};
use warpshard_stats::CounterVisitor;

use super::queues::Queue;
use super::subnet::Direction;
use copy::CopyEngine;
pub use copy::CopyJob;
pub use counters::{HubCounters, LinkCounters};
use output::{Leads, Output, Rate};
use pages::Pages;
use ports::Role;
pub use ports::{GpuPorts, HubPorts, LanePort, NetPorts};
use slots::{Asker, Slots};

/// What a hub needs to know besides its ports.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct HubSpec {
    /// The memory map.
    #[state(fixed)]
    pub homes: Homes,
    /// Where an address lies in this GPU's memory.
    #[state(fixed)]
    pub map: AddressMap,
    /// Requests of other GPUs under way in this GPU's memory.
    pub pending: u32,
    /// Lines that the copy engine has under way.
    pub copy_lines: u32,
    /// Cycles until a new page has a home.
    pub fault_latency: u64,
    /// The copies of the workload.
    pub copies: Arc<BTreeMap<KernelIndex, CopyJob>>,
}

/// Queues of the hub itself, after those of its links and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum Own {
    /// Signals and lookups of pages.
    Signals,
    /// Reads of the copy engine.
    Reads,
    /// Its writes.
    Writes,
    /// Packets that waited for the home of their page.
    Resumed,
    /// Answers of the table of pages.
    Answers,
    /// What SMs hear of pages.
    Notices,
}

const OWN: [Own; 6] = [Own::Signals, Own::Reads, Own::Writes, Own::Resumed, Own::Answers, Own::Notices];

/// Queues of the copy engine's writes, by the line's way: one whose link is busy holds up no write for another. The first is among [`OWN`],
/// the others follow.
const WRITE_WAYS: u16 = 8;

/// Reads of the copy engine that wait at most.
const READS_AHEAD: u32 = 16;

/// Where an input's packets come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum From {
    Lane,
    Request,
    Reply,
    Own(Own),
}

/// A queue, and its first packet as it will leave.
#[derive(Clone, Debug, warpshard_state::State)]
struct Input {
    from: From,
    queue: Queue,
    returns: Option<CreditReceiver>,
    head: MemPacket,
    /// Who is booked when the packet enters the request network.
    books: Option<Asker>,
}

/// What happens to a packet.
enum Step {
    /// It leaves so, over this output and virtual channel, and books a place for its answer.
    Leave(MemPacket, usize, u8, Option<Asker>),
    /// It ends here.
    End,
}

/// The hub inside a GPU.
#[derive(Clone, Debug, warpshard_state::State)]
struct Inside {
    ports: GpuPorts,
    spec: HubSpec,
    slots: Slots,
    copy: CopyEngine,
    pages: Pages,
    counters: HubCounters,
    /// What the grid scheduler sent.
    orders: VecDeque<(Cycle, Payload)>,
}

/// A hub, or a switch.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Hub {
    name: String,
    ports: HubPorts,
    now: Cycle,
    inputs: Box<[Input]>,
    outputs: Box<[Output]>,
    /// What becomes visible, and when: inputs, then outputs (credits), then orders of the grid scheduler, then answers of the table of pages.
    events: BinaryHeap<Reverse<(Cycle, u32)>>,
    inside: Option<Inside>,
}

impl Hub {
    /// A hub called `name`, at cycle 0, whose clock has so many kilohertz. One with ports inside a GPU has a `spec`, a switch has none.
    ///
    /// # Panics
    /// When one of the two is there without the other.
    pub fn new(name: String, ports: HubPorts, spec: Option<HubSpec>, kilohertz: u64) -> Self {
        let channels = 2 * ports.hops as usize;
        let mut inputs = Vec::new();
        let mut add = |from, returns| {
            inputs.push(Input { from, queue: Queue::new(), returns, head: MemPacket::default(), books: None });
        };
        for lane in &ports.lanes_in {
            (0..channels as u16).for_each(|channel| add(From::Lane, Some(CreditReceiver::new(lane.credit, channel, lane.buffer))));
        }
        let lane_output = |lane: &LanePort| {
            let leads = Leads::Lane { port: *lane, rate: Rate::new(lane.bandwidth, kilohertz), counters: LinkCounters::default() };
            Output::new(leads, lane.data, channels, lane.buffer)
        };
        let mut outputs: Vec<Output> = ports.lanes_out.iter().map(lane_output).collect();
        if let Some(gpu) = &ports.gpu {
            for (from, net) in [(From::Request, &gpu.request), (From::Reply, &gpu.reply)] {
                (0..gpu.ports).for_each(|port| add(from, Some(CreditReceiver::new(LinkId(net.credit_to.0 + port), port, net.places.0))));
            }
            OWN.into_iter().for_each(|own| add(From::Own(own), None));
            (1..WRITE_WAYS).for_each(|_| add(From::Own(Own::Writes), None));
            for (leads, net) in [(Leads::Request, &gpu.request), (Leads::Reply, &gpu.reply)] {
                outputs.extend((0..gpu.ports).map(|port| Output::new(leads.clone(), LinkId(net.to.0 + port), 1, net.places.1)));
            }
        }
        assert_eq!(ports.gpu.is_some(), spec.is_some(), "{name}: a hub has a GPU, a switch has none");
        let inside = ports.gpu.zip(spec).map(|(ports, spec)| Inside {
            ports,
            slots: Slots::new(spec.pending),
            copy: CopyEngine::new(spec.copy_lines),
            pages: Pages::default(),
            counters: HubCounters::default(),
            orders: VecDeque::new(),
            spec,
        });
        Self { name, ports, now: Cycle(0), inputs: inputs.into(), outputs: outputs.into(), events: BinaryHeap::new(), inside }
    }

    /// Virtual channels of a link for each kind of packet.
    fn hops(&self) -> usize {
        self.ports.hops as usize
    }

    fn inside(&mut self) -> &mut Inside {
        let Self { inside, name, now, .. } = self;
        inside.as_mut().unwrap_or_else(|| panic!("{name}, {now}: a switch has no GPU"))
    }

    /// The input of a queue of the hub itself.
    fn own(&self, own: Own) -> usize {
        let ports = self.ports.gpu.map_or(0, |gpu| usize::from(gpu.ports));
        self.ports.lanes_in.len() * 2 * self.hops() + 2 * ports + own as usize
    }

    fn push(&mut self, input: usize, at: Cycle, packet: &MemPacket) {
        if self.inputs[input].queue.push(at, packet) {
            self.events.push(Reverse((at, input as u32)));
        }
    }

    fn push_own(&mut self, own: Own, packet: MemPacket) {
        self.push(self.own(own), self.now.after(1), &packet);
    }

    fn push_write(&mut self, packet: MemPacket) {
        let way = usize::from(Homes::way(packet.addr, WRITE_WAYS));
        let input = if way == 0 { self.own(Own::Writes) } else { self.own(Own::Notices) + way };
        self.push(input, self.now.after(1), &packet);
    }

    fn cycle(&mut self, out: &mut Outbox) {
        while let Some(Reverse((at, what))) = self.events.peek().copied()
            && at <= self.now
        {
            self.events.pop();
            let what = what as usize;
            if what < self.inputs.len() {
                self.examine(what, out);
            } else if what < self.inputs.len() + self.outputs.len() {
                self.collect(what - self.inputs.len());
            } else if what == self.inputs.len() + self.outputs.len() {
                self.take_orders();
            } else {
                self.answer_lookups();
            }
        }
        for output in 0..self.outputs.len() {
            while self.outputs[output].next <= self.now && self.grant(output, out) {}
        }
        self.now = self.now.after(1);
    }

    fn collect(&mut self, output: usize) {
        let mut next = Cycle::NEVER;
        for credits in &mut self.outputs[output].credits {
            if credits.next() <= self.now {
                credits.collect(self.now);
            }
            next = next.min(credits.next());
        }
        if next != Cycle::NEVER {
            self.events.push(Reverse((next, (self.inputs.len() + output) as u32)));
        }
        self.outputs[output].wake(self.now);
    }

    /// Looks at the first packet of an input, which waits at no output yet.
    fn examine(&mut self, input: usize, out: &mut Outbox) {
        loop {
            let Some(waiting) = self.inputs[input].queue.front() else { return };
            let (packet, at) = (waiting.packet, waiting.arrival(self.now));
            if at > self.now {
                self.events.push(Reverse((at, input as u32)));
                return;
            }
            match self.step(self.inputs[input].from, packet, out) {
                Step::Leave(packet, output, channel, books) => {
                    (self.inputs[input].head, self.inputs[input].books) = (packet, books);
                    self.outputs[output].wait(input as u16, channel, self.now);
                    return;
                }
                Step::End => self.drop_front(input, out),
            }
        }
    }

    fn drop_front(&mut self, input: usize, out: &mut Outbox) {
        let Input { queue, returns, .. } = &mut self.inputs[input];
        queue.pop();
        if let Some(returns) = returns {
            returns.release(self.now, out);
        }
    }

    /// Sends the next packet of an output; returns whether there was one.
    fn grant(&mut self, output: usize, out: &mut Outbox) -> bool {
        let (inputs, inside) = (&self.inputs, &self.inside);
        let room = inside.as_ref().is_none_or(|inside| inside.slots.has_room());
        let may = |input: u16| room || inputs[usize::from(input)].books.is_none();
        let Some((input, _, since)) = self.outputs[output].take(self.now, may) else {
            if let Some(inside) = &mut self.inside
                && !room
                && matches!(self.outputs[output].leads, Leads::Request)
            {
                inside.counters.pending_stalls += 1;
            }
            return false;
        };
        let input = usize::from(input);
        let Input { head: mut packet, books, from, .. } = self.inputs[input];
        if let (Some(asker), Some(inside)) = (books, &mut self.inside) {
            packet.token = inside.slots.book(asker, packet.sectors());
        }
        let lane = &mut self.outputs[output];
        let direction = match lane.leads {
            Leads::Lane { .. } if Path::decode(packet.slice).reply => Direction::Reply,
            Leads::Lane { .. } | Leads::Request => Direction::Request,
            Leads::Reply => Direction::Reply,
        };
        let data = u64::from(direction.data_sectors(&packet)) * warpshard_base::SECTOR_BYTES;
        let end = lane.send(self.now, data, since);
        out.send(lane.link, end, Payload::Mem(packet));
        self.drop_front(input, out);
        if from == From::Own(Own::Reads) {
            self.read_ahead();
        }
        self.examine(input, out);
        true
    }

    /// What happens to a packet that is first in its queue.
    fn step(&mut self, from: From, packet: MemPacket, out: &mut Outbox) -> Step {
        match from {
            From::Lane => {
                let path = Path::decode(packet.slice);
                if self.inside.as_ref().is_some_and(|inside| inside.ports.gpu == path.to) {
                    return self.arrive(packet, path, out);
                }
                if let Some(inside) = &mut self.inside {
                    inside.counters.forwarded += 1;
                }
                self.leave(packet, Path { hop: path.hop + 1, ..path })
            }
            From::Request => {
                self.count_remote(&packet);
                self.request(packet, false)
            }
            From::Own(Own::Reads | Own::Writes) => self.request(packet, false),
            From::Own(Own::Resumed) => self.request(packet, true),
            From::Own(Own::Signals | Own::Answers) => self.leave(packet, Path::decode(packet.slice)),
            From::Own(Own::Notices) => self.to_reply(packet),
            From::Reply => self.answered(packet, out),
        }
    }

    /// Sends a packet over the link that leads to the end of its path.
    fn leave(&self, packet: MemPacket, path: Path) -> Step {
        let ways = &self.ports.ways[path.to.index()];
        assert!(!ways.is_empty() && usize::from(path.hop) < self.hops(), "{}, {}: no way for {path:?}", self.name, self.now);
        let way = ways[usize::from(Homes::way(packet.addr, ways.len() as u16))];
        let channel = usize::from(path.hop) + if path.reply { self.hops() } else { 0 };
        Step::Leave(MemPacket { slice: path.encode(), ..packet }, usize::from(way), channel as u8, None)
    }

    /// A packet that ends in this GPU.
    fn arrive(&mut self, packet: MemPacket, path: Path, out: &mut Outbox) -> Step {
        let now = self.now;
        let inside = self.inside();
        match packet.port {
            SIGNAL_PORT => {
                inside.counters.signals += 1;
                out.send(inside.ports.to_grid, now, Payload::Ended(Signal { kernel: packet.kernel(), to: path.to }));
                Step::End
            }
            PAGE_PORT if path.reply => {
                self.learn(packet.addr, GpuId(packet.token as u8));
                Step::End
            }
            PAGE_PORT => {
                self.ask(packet.addr, path.from);
                Step::End
            }
            COPY_PORT if path.reply => {
                self.copy_answer(packet.token, packet.sectors(), out);
                Step::End
            }
            _ if path.reply => self.to_reply(packet),
            port => {
                inside.counters.served_requests += 1;
                inside.counters.served_sectors += u64::from(packet.sectors().count());
                self.to_request(packet, Asker { gpu: path.from, port, token: packet.token })
            }
        }
    }

    fn refuse(&self, link: LinkId, at: Cycle, payload: &Payload) -> ! {
        panic!("{}, {}: {payload:?} came on {link} for {at}", self.name, self.now);
    }
}

/// A packet without data.
fn control(port: PortId, addr: Addr, token: u32, path: Path, kernel: KernelIndex) -> MemPacket {
    let part = PacketPart::new(kernel, SectorMask(0));
    MemPacket { addr, token, bytes: 0, port, slice: path.encode(), part, op: MemOp::Write }
}

impl Unit for Hub {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = Infallible;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        let Some(role) = self.ports.role(link).filter(|_| at >= self.now) else { self.refuse(link, at, payload) };
        let (lanes, ports) = (self.ports.lanes_in.len(), self.ports.gpu.map_or(0, |gpu| usize::from(gpu.ports)));
        let channels = 2 * self.hops();
        let output = match (role, payload) {
            (Role::LaneIn(lane), Payload::Mem(packet)) => {
                let path = Path::decode(packet.slice);
                let channel = usize::from(path.hop) + if path.reply { self.hops() } else { 0 };
                return self.push(lane * channels + channel, at, packet);
            }
            (Role::FromRequest(port), Payload::Mem(packet)) => return self.push(lanes * channels + port, at, packet),
            (Role::FromReply(port), Payload::Mem(packet)) => return self.push(lanes * channels + ports + port, at, packet),
            (Role::Grid, order) => {
                let event = Reverse((at, (self.inputs.len() + self.outputs.len()) as u32));
                self.events.push(event);
                return self.inside().orders.push_back((at, *order));
            }
            (Role::LaneCredit(lane), Payload::Credit(_)) => lane,
            (Role::RequestCredit(port), Payload::Credit(_)) => self.ports.lanes_out.len() + port,
            (Role::ReplyCredit(port), Payload::Credit(_)) => self.ports.lanes_out.len() + ports + port,
            _ => self.refuse(link, at, payload),
        };
        let Payload::Credit(Credit { queue, count }) = *payload else { self.refuse(link, at, payload) };
        let channel = if matches!(role, Role::LaneCredit(_)) { usize::from(queue) } else { 0 };
        if self.outputs[output].credits[channel].deliver(at, count) {
            self.events.push(Reverse((at, (self.inputs.len() + output) as u32)));
        }
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        while self.now < until {
            if skip {
                self.now = self.next_event().min(until);
                if self.now == until {
                    return;
                }
            }
            self.cycle(out);
        }
    }

    fn next_event(&self) -> Cycle {
        let visible = self.events.peek().map_or(Cycle::NEVER, |event| event.0.0);
        self.outputs.iter().map(|output| output.next).fold(visible, Cycle::min).max(self.now)
    }

    fn settle(&mut self, at: Cycle) {
        self.now = self.now.max(at);
        self.outputs.iter_mut().for_each(|output| output.settle(at));
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        if let Some(inside) = &self.inside {
            visitor.component("hub", u32::from(inside.ports.gpu.0));
            visitor.counters(&inside.counters);
        }
        for output in &self.outputs {
            if let Leads::Lane { port, counters, .. } = &output.leads {
                visitor.component("link", u32::from(port.lane));
                visitor.counters(counters);
            }
        }
    }

    fn sends_events(&self) -> bool {
        false
    }

    fn waiting(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, output) in self.outputs.iter().enumerate().filter(|(_, output)| output.waiting() > 0) {
            let what = match &output.leads {
                Leads::Lane { port, .. } => format!("link {}", port.lane),
                Leads::Request => "the request network".to_owned(),
                Leads::Reply => "the reply network".to_owned(),
            };
            let credits: u32 = output.credits.iter().map(warpshard_protocol::CreditSender::available).sum();
            lines.push(format!("{} queues wait for {what} (output {number}), which has {credits} credits", output.waiting()));
        }
        if let Some(inside) = &self.inside {
            let (pending, lines_open, parked) = (inside.slots.used(), inside.copy.open(), inside.pages.waiting());
            if pending + lines_open + parked > 0 {
                lines.push(format!(
                    "{pending} requests wait for this GPU's memory, {lines_open} lines are being copied, {parked} packets wait for pages"
                ));
            }
        }
        lines
    }
}
