//! The hub of a GPU, at which links to other GPUs end. A switch or the root of a host is a hub without a GPU.
//!
//! Input: requests of this GPU's SMs for memory of other GPUs, replies to requests that it made for other GPUs, packets from other nodes,
//! and copies and signals of the grid scheduler. Output: the same packets, one hop further. Requests of other GPUs enter this GPU's request
//! network with a token of the hub (`slots`), which routes the replies back.
//!
//! Packets wait in queues by input; the first packet of each queue waits at its output (`output`). A packet on a link between nodes has a
//! virtual channel by its kind, request or reply, and by the number of links it has passed. A packet therefore waits only for packets that
//! are further on their route, and replies wait for no request, so that no cycle of waiting packets can form (Gunther, "Prevention of
//! deadlocks in packet-switched data transport systems", IEEE Transactions on Communications 29(4), 1981). A request of another GPU waits
//! for a slot among the requests in flight to this GPU's memory, whose replies do not depend on packets that wait here.
//!
//! In each cycle the hub first processes messages that become visible, then the outputs in ascending order.

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
    AddressMap, COPY_PORT, Credit, CreditReceiver, EventKind, GpuPath, Homes, KernelEndSignal, MemOp, MemPacket, Outbox, PAGE_PORT,
    PacketPart, Payload, SIGNAL_PORT,
};
use warpshard_stats::CounterVisitor;

use super::queues::PacketQueue;
use super::subnet::Direction;
use copy::CopyEngine;
pub use copy::CopyJob;
pub use counters::{HubCounters, LinkCounters};
use output::{HubOutput, LinkRate, OutputKind};
use pages::PageHomes;
use ports::LinkRole;
pub use ports::{GpuPorts, HubPorts, LanePort, NetPorts};
use slots::{RemoteRequester, ReplySlots};

/// The parameters of a hub besides its ports.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct HubSpec {
    /// The memory map.
    #[state(fixed)]
    pub homes: Homes,
    /// The address map of this GPU's memory.
    #[state(fixed)]
    pub map: AddressMap,
    /// The largest number of requests of other GPUs in flight to this GPU's memory.
    pub pending: u32,
    /// The largest number of lines that the copy engine has in flight.
    pub copy_lines: u32,
    /// Cycles from the first access of a page to the assignment of its home.
    pub fault_latency: u64,
    /// The copies in the workload.
    pub copies: Arc<BTreeMap<KernelIndex, CopyJob>>,
}

/// Internal queues of the hub, which follow the queues of its links and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum InternalQueue {
    /// Signals of kernel ends, and page lookups.
    Signals,
    /// Reads of the copy engine.
    Reads,
    /// Writes of the copy engine.
    Writes,
    /// Packets that waited for the home of their page.
    Resumed,
    /// Replies of the page directory.
    Answers,
    /// Notices to SMs that a page lies on this GPU.
    Notices,
}

const INTERNAL_QUEUES: [InternalQueue; 6] = [
    InternalQueue::Signals,
    InternalQueue::Reads,
    InternalQueue::Writes,
    InternalQueue::Resumed,
    InternalQueue::Answers,
    InternalQueue::Notices,
];

/// Queues of the copy engine's writes, selected by the line address, so that a busy link does not block the writes for another link. The
/// first is among [`INTERNAL_QUEUES`], the others follow.
const WRITE_QUEUES: u16 = 8;

/// The largest number of queued reads of the copy engine.
const MAX_QUEUED_READS: u32 = 16;

/// The source of an input's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum InputSource {
    Lane,
    Request,
    Reply,
    InternalQueue(InternalQueue),
}

/// An input queue, with the head packet in the form in which it leaves.
#[derive(Clone, Debug, warpshard_state::State)]
struct HubInput {
    from: InputSource,
    queue: PacketQueue,
    returns: Option<CreditReceiver>,
    head: MemPacket,
    /// The requester for which a slot is allocated when the packet enters the request network.
    slot_for: Option<RemoteRequester>,
}

/// The next step of a packet.
enum PacketStep {
    /// The packet leaves in this form over this output and virtual channel, and allocates a slot for its reply if it has a requester.
    Leave(MemPacket, usize, u8, Option<RemoteRequester>),
    /// The packet is consumed in the hub.
    End,
}

/// The state of a hub inside a GPU.
#[derive(Clone, Debug, warpshard_state::State)]
struct GpuState {
    ports: GpuPorts,
    spec: HubSpec,
    slots: ReplySlots,
    copy: CopyEngine,
    pages: PageHomes,
    counters: HubCounters,
    /// Messages of the grid scheduler with their cycles of arrival.
    orders: VecDeque<(Cycle, Payload)>,
}

/// A hub or a switch.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Hub {
    name: String,
    ports: HubPorts,
    now: Cycle,
    inputs: Box<[HubInput]>,
    outputs: Box<[HubOutput]>,
    /// The cycles in which messages become visible, with an index: inputs, then outputs (credits), then orders of the grid scheduler, then
    /// replies of the page directory.
    events: BinaryHeap<Reverse<(Cycle, u32)>>,
    gpu_state: Option<GpuState>,
}

impl Hub {
    /// Returns a hub called `name`, at cycle 0, with a clock of `kilohertz`. A hub with ports inside a GPU needs a `spec`, a switch has
    /// none.
    ///
    /// # Panics
    /// If only one of the two is present.
    pub fn new(name: String, ports: HubPorts, spec: Option<HubSpec>, kilohertz: u64) -> Self {
        let channels = 2 * ports.hops as usize;
        let mut inputs = Vec::new();
        let mut add = |from, returns| {
            inputs.push(HubInput { from, queue: PacketQueue::new(), returns, head: MemPacket::default(), slot_for: None });
        };
        for lane in &ports.lanes_in {
            (0..channels as u16).for_each(|channel| add(InputSource::Lane, Some(CreditReceiver::new(lane.credit, channel, lane.buffer))));
        }
        let lane_output = |lane: &LanePort| {
            let kind = OutputKind::Lane { port: *lane, rate: LinkRate::new(lane.bandwidth, kilohertz), counters: LinkCounters::default() };
            HubOutput::new(kind, lane.data, channels, lane.buffer)
        };
        let mut outputs: Vec<HubOutput> = ports.lanes_out.iter().map(lane_output).collect();
        if let Some(gpu) = &ports.gpu {
            for (from, net) in [(InputSource::Request, &gpu.request), (InputSource::Reply, &gpu.reply)] {
                (0..gpu.ports).for_each(|port| add(from, Some(CreditReceiver::new(LinkId(net.credit_to.0 + port), port, net.places.0))));
            }
            INTERNAL_QUEUES.into_iter().for_each(|own| add(InputSource::InternalQueue(own), None));
            (1..WRITE_QUEUES).for_each(|_| add(InputSource::InternalQueue(InternalQueue::Writes), None));
            for (kind, net) in [(OutputKind::Request, &gpu.request), (OutputKind::Reply, &gpu.reply)] {
                outputs.extend((0..gpu.ports).map(|port| HubOutput::new(kind.clone(), LinkId(net.to.0 + port), 1, net.places.1)));
            }
        }
        assert_eq!(ports.gpu.is_some(), spec.is_some(), "{name}: a hub has a GPU, a switch has none");
        let inside = ports.gpu.zip(spec).map(|(ports, spec)| GpuState {
            ports,
            slots: ReplySlots::new(spec.pending),
            copy: CopyEngine::new(spec.copy_lines),
            pages: PageHomes::default(),
            counters: HubCounters::default(),
            orders: VecDeque::new(),
            spec,
        });
        Self { name, ports, now: Cycle(0), inputs: inputs.into(), outputs: outputs.into(), events: BinaryHeap::new(), gpu_state: inside }
    }

    /// Returns the number of virtual channels of a link per kind of packet.
    fn hops(&self) -> usize {
        self.ports.hops as usize
    }

    fn gpu_state(&mut self) -> &mut GpuState {
        let Self { gpu_state: inside, name, now, .. } = self;
        inside.as_mut().unwrap_or_else(|| panic!("{name}, {now}: a switch has no GPU"))
    }

    /// Returns the input index of an internal queue.
    fn internal_input(&self, own: InternalQueue) -> usize {
        let ports = self.ports.gpu.map_or(0, |gpu| usize::from(gpu.ports));
        self.ports.lanes_in.len() * 2 * self.hops() + 2 * ports + own as usize
    }

    fn push(&mut self, input: usize, at: Cycle, packet: &MemPacket) {
        if self.inputs[input].queue.push(at, packet) {
            self.events.push(Reverse((at, input as u32)));
        }
    }

    fn push_own(&mut self, own: InternalQueue, packet: MemPacket) {
        self.push(self.internal_input(own), self.now.after(1), &packet);
    }

    fn push_write(&mut self, packet: MemPacket) {
        let way = usize::from(Homes::link_index(packet.addr, WRITE_QUEUES));
        let input = if way == 0 { self.internal_input(InternalQueue::Writes) } else { self.internal_input(InternalQueue::Notices) + way };
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
                self.execute_orders();
            } else {
                self.send_lookup_replies();
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

    /// Examines the head packet of an input, which does not yet wait at an output.
    fn examine(&mut self, input: usize, out: &mut Outbox) {
        loop {
            let Some(waiting) = self.inputs[input].queue.front() else { return };
            let (packet, at) = (waiting.packet, waiting.arrival(self.now));
            if at > self.now {
                self.events.push(Reverse((at, input as u32)));
                return;
            }
            match self.step(self.inputs[input].from, packet, out) {
                PacketStep::Leave(packet, output, channel, slot_for) => {
                    (self.inputs[input].head, self.inputs[input].slot_for) = (packet, slot_for);
                    self.outputs[output].wait(input as u16, channel, self.now);
                    return;
                }
                PacketStep::End => self.drop_front(input, out),
            }
        }
    }

    fn drop_front(&mut self, input: usize, out: &mut Outbox) {
        let HubInput { queue, returns, .. } = &mut self.inputs[input];
        queue.pop();
        if let Some(returns) = returns {
            returns.release(self.now, out);
        }
    }

    /// Sends the next packet of an output; returns true if there was one.
    fn grant(&mut self, output: usize, out: &mut Outbox) -> bool {
        let (inputs, inside) = (&self.inputs, &self.gpu_state);
        let room = inside.as_ref().is_none_or(|inside| inside.slots.has_free_slot());
        let may = |input: u16| room || inputs[usize::from(input)].slot_for.is_none();
        let Some((input, _, since)) = self.outputs[output].take_ready_input(self.now, may) else {
            if let Some(inside) = &mut self.gpu_state
                && !room
                && matches!(self.outputs[output].kind, OutputKind::Request)
            {
                inside.counters.pending_stalls += 1;
            }
            return false;
        };
        let input = usize::from(input);
        let HubInput { head: mut packet, slot_for, from, .. } = self.inputs[input];
        if let (Some(requester), Some(inside)) = (slot_for, &mut self.gpu_state) {
            packet.token = inside.slots.allocate(requester, packet.sectors());
        }
        let lane = &mut self.outputs[output];
        let direction = match lane.kind {
            OutputKind::Lane { .. } if GpuPath::decode(packet.slice).reply => Direction::Reply,
            OutputKind::Lane { .. } | OutputKind::Request => Direction::Request,
            OutputKind::Reply => Direction::Reply,
        };
        let data = u64::from(direction.data_sectors(&packet)) * warpshard_base::SECTOR_BYTES;
        let end = lane.send(self.now, data, since);
        out.send(lane.link, end, Payload::Mem(packet));
        self.drop_front(input, out);
        if from == InputSource::InternalQueue(InternalQueue::Reads) {
            self.read_ahead();
        }
        self.examine(input, out);
        true
    }

    /// Returns the next step of a packet at the head of its queue.
    fn step(&mut self, from: InputSource, packet: MemPacket, out: &mut Outbox) -> PacketStep {
        match from {
            InputSource::Lane => {
                let path = GpuPath::decode(packet.slice);
                if self.gpu_state.as_ref().is_some_and(|inside| inside.ports.gpu == path.to) {
                    return self.arrive(packet, path, out);
                }
                if let Some(inside) = &mut self.gpu_state {
                    inside.counters.forwarded += 1;
                }
                self.leave_over_link(packet, GpuPath { hop: path.hop + 1, ..path })
            }
            InputSource::Request => {
                self.count_remote(&packet);
                self.request(packet, false)
            }
            InputSource::InternalQueue(InternalQueue::Reads | InternalQueue::Writes) => self.request(packet, false),
            InputSource::InternalQueue(InternalQueue::Resumed) => self.request(packet, true),
            InputSource::InternalQueue(InternalQueue::Signals | InternalQueue::Answers) => {
                self.leave_over_link(packet, GpuPath::decode(packet.slice))
            }
            InputSource::InternalQueue(InternalQueue::Notices) => self.to_reply(packet),
            InputSource::Reply => self.handle_reply(packet, out),
        }
    }

    /// Returns the step of a packet that leaves over the link towards the end of its path.
    fn leave_over_link(&self, packet: MemPacket, path: GpuPath) -> PacketStep {
        let ways = &self.ports.lanes_to_gpu[path.to.index()];
        assert!(!ways.is_empty() && usize::from(path.hop) < self.hops(), "{}, {}: no route for {path:?}", self.name, self.now);
        let way = ways[usize::from(Homes::link_index(packet.addr, ways.len() as u16))];
        let channel = usize::from(path.hop) + if path.reply { self.hops() } else { 0 };
        PacketStep::Leave(MemPacket { slice: path.encode(), ..packet }, usize::from(way), channel as u8, None)
    }

    /// Returns the step of a packet whose destination is this GPU.
    fn arrive(&mut self, packet: MemPacket, path: GpuPath, out: &mut Outbox) -> PacketStep {
        let now = self.now;
        let inside = self.gpu_state();
        match packet.port {
            SIGNAL_PORT => {
                inside.counters.signals += 1;
                out.send(inside.ports.to_grid, now, Payload::Ended(KernelEndSignal { kernel: packet.kernel(), to: path.to }));
                PacketStep::End
            }
            PAGE_PORT if path.reply => {
                self.record_home(packet.addr, GpuId(packet.token as u8));
                PacketStep::End
            }
            PAGE_PORT => {
                self.handle_lookup(packet.addr, path.from);
                PacketStep::End
            }
            COPY_PORT if path.reply => {
                self.handle_copy_reply(packet.token, packet.sectors(), out);
                PacketStep::End
            }
            _ if path.reply => self.to_reply(packet),
            port => {
                inside.counters.served_requests += 1;
                inside.counters.served_sectors += u64::from(packet.sectors().count());
                self.to_request(packet, RemoteRequester { gpu: path.from, port, token: packet.token })
            }
        }
    }

    fn refuse(&self, link: LinkId, at: Cycle, payload: &Payload) -> ! {
        panic!("{}, {}: {payload:?} came on {link} for {at}", self.name, self.now);
    }
}

/// Returns a packet without data.
fn control_packet(port: PortId, addr: Addr, token: u32, path: GpuPath, kernel: KernelIndex) -> MemPacket {
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
            (LinkRole::LaneIn(lane), Payload::Mem(packet)) => {
                let path = GpuPath::decode(packet.slice);
                let channel = usize::from(path.hop) + if path.reply { self.hops() } else { 0 };
                return self.push(lane * channels + channel, at, packet);
            }
            (LinkRole::FromRequest(port), Payload::Mem(packet)) => return self.push(lanes * channels + port, at, packet),
            (LinkRole::FromReply(port), Payload::Mem(packet)) => return self.push(lanes * channels + ports + port, at, packet),
            (LinkRole::Grid, order) => {
                let event = Reverse((at, (self.inputs.len() + self.outputs.len()) as u32));
                self.events.push(event);
                return self.gpu_state().orders.push_back((at, *order));
            }
            (LinkRole::LaneCredit(lane), Payload::Credit(_)) => lane,
            (LinkRole::RequestCredit(port), Payload::Credit(_)) => self.ports.lanes_out.len() + port,
            (LinkRole::ReplyCredit(port), Payload::Credit(_)) => self.ports.lanes_out.len() + ports + port,
            _ => self.refuse(link, at, payload),
        };
        let Payload::Credit(Credit { queue, count }) = *payload else { self.refuse(link, at, payload) };
        let channel = if matches!(role, LinkRole::LaneCredit(_)) { usize::from(queue) } else { 0 };
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
        if let Some(inside) = &self.gpu_state {
            visitor.component("hub", u32::from(inside.ports.gpu.0));
            visitor.counters(&inside.counters);
        }
        for output in &self.outputs {
            if let OutputKind::Lane { port, counters, .. } = &output.kind {
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
            let what = match &output.kind {
                OutputKind::Lane { port, .. } => format!("link {}", port.lane),
                OutputKind::Request => "the request network".to_owned(),
                OutputKind::Reply => "the reply network".to_owned(),
            };
            let credits: u32 = output.credits.iter().map(warpshard_protocol::CreditSender::available).sum();
            lines.push(format!("{} queues wait for {what} (output {number}), which has {credits} credits", output.waiting()));
        }
        if let Some(inside) = &self.gpu_state {
            let (pending, lines_open, parked) = (inside.slots.used(), inside.copy.lines_in_flight(), inside.pages.waiting());
            if pending + lines_open + parked > 0 {
                lines.push(format!(
                    "{pending} requests wait for this GPU's memory, {lines_open} lines are being copied, {parked} packets wait for pages"
                ));
            }
        }
        lines
    }
}
