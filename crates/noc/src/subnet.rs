//! A subnet as a unit of the machine: the ends, which all networks share, around a switch, which is specific to the network.
//!
//! The ends receive packets and credits, keep packets until they become visible, return the slots of packets that have left, and record the
//! cycles in which messages become visible. A [`Switch`] moves packets from the inputs to the outputs; a new kind of network is a new
//! switch.

use std::convert::Infallible;
use std::fmt::Debug;

use warpshard_base::{Cycle, LinkId, Slots};
use warpshard_config::machine::Noc;
use warpshard_engine::Unit;
use warpshard_protocol::{CreditReceiver, EventKind, MemOp, MemPacket, Outbox, Payload};
use warpshard_stats::CounterVisitor;

use super::calendar::{Calendar, CalendarCursor};
use super::queues::{PacketQueue, WaitingPacket};

/// The direction of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum Direction {
    /// From SMs to LLC slices.
    Request,
    /// From LLC slices to SMs.
    Reply,
}

impl Direction {
    /// Returns the kind of component under which the results list a subnet of this direction.
    fn component(self) -> &'static str {
        match self {
            Self::Request => "request_net",
            Self::Reply => "reply_net",
        }
    }

    /// Returns the word for this direction, in messages.
    pub(super) fn direction_word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Reply => "reply",
        }
    }

    /// Returns true if packets carry data in this direction: read requests and write acknowledgements consist of a header only.
    #[inline]
    pub(super) fn carries(self, op: MemOp) -> bool {
        match self {
            Self::Request => op != MemOp::Read,
            Self::Reply => !matches!(op, MemOp::Write | MemOp::Reduction),
        }
    }

    /// Returns the sectors of data that a packet carries in this direction.
    #[inline]
    pub fn data_sectors(self, packet: &MemPacket) -> u32 {
        if self.carries(packet.op) { packet.sectors().count() } else { 0 }
    }

    /// Returns the output of a packet.
    #[inline]
    pub(super) fn output(self, packet: &MemPacket) -> usize {
        match self {
            Self::Request => packet.slice.index(),
            Self::Reply => packet.port.index(),
        }
    }
}

/// The links of a subnet. Each field is the first of consecutive links, one per input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct SubnetPorts {
    /// Packets from the first sender.
    pub data_in: LinkId,
    /// Credits to the first sender.
    pub credit_out: LinkId,
    /// Packets to the first receiver.
    pub data_out: LinkId,
    /// Credits from the first receiver.
    pub credit_in: LinkId,
    /// Packets that a receiver's queue holds, including packets in flight: the initial credits of each output.
    pub output_capacity: u32,
}

impl SubnetPorts {
    /// Returns the receiving ends of the inputs, each with a queue of `places` slots.
    fn credit_receivers(&self, inputs: usize, places: u32) -> Slots<CreditReceiver> {
        let receiver = |input: u16| CreditReceiver::new(LinkId(self.credit_out.0 + input), input, places);
        let mut returns = Slots::new(inputs, receiver(0));
        (0..inputs as u16).for_each(|input| *returns.get_mut(u32::from(input)) = receiver(input));
        returns
    }
}

/// The size of a subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SubnetSize {
    /// The number of senders.
    pub(super) inputs: usize,
    /// The number of receivers.
    pub(super) outputs: usize,
    /// Packets that the queue of an input holds.
    pub(super) input_queue: u32,
}

/// The ends of a subnet, as its switch sees them.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct SubnetEnds {
    pub(super) direction: Direction,
    pub(super) ports: SubnetPorts,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) now: Cycle,
    /// Packets that have not left their input, both visible and not yet visible.
    pub(super) queues: Slots<PacketQueue>,
    /// Inputs by the cycle in which their next packet becomes visible, followed by outputs by the cycle of their next credits.
    calendar: Calendar,
    /// Slots of the input queues that packets have left.
    returns: Slots<CreditReceiver>,
}

impl SubnetEnds {
    fn new(direction: Direction, SubnetSize { inputs, outputs, input_queue }: SubnetSize, ports: SubnetPorts) -> Self {
        assert!(input_queue >= 1 && ports.output_capacity >= 1, "a network without a slot for a packet");
        Self {
            direction,
            ports,
            inputs,
            outputs,
            now: Cycle(0),
            queues: Slots::new(inputs, PacketQueue::new()),
            calendar: Calendar::new(inputs + outputs),
            returns: ports.credit_receivers(inputs, input_queue),
        }
    }

    /// Schedules another look of the switch at an input in cycle `at`.
    #[inline]
    pub(super) fn schedule_input(&mut self, at: Cycle, input: usize) {
        self.calendar.add(self.now, at, input);
    }

    /// Removes and returns the oldest packet of an input and the cycle of its arrival, if it is visible; else schedules the cycle in which
    /// it becomes visible.
    pub(super) fn next_visible(&mut self, input: usize) -> Option<(MemPacket, Cycle)> {
        let WaitingPacket { packet, .. } = *self.queues.get(input as u32).front()?;
        let at = self.queues.get(input as u32).front()?.arrival(self.now);
        if at > self.now {
            self.schedule_input(at, input);
            return None;
        }
        self.queues.get_mut(input as u32).pop();
        Some((packet, at))
    }

    /// Returns the link to an output's receiver.
    #[inline]
    pub(super) fn link_to(&self, output: usize) -> LinkId {
        LinkId(self.ports.data_out.0 + output as u16)
    }

    /// Returns the input-queue slot of a packet that left the subnet.
    #[inline]
    pub(super) fn return_slot(&mut self, input: usize, out: &mut Outbox) {
        self.returns.get_mut(input as u32).release(self.now, out);
    }
}

/// The part of a subnet that moves packets from its inputs to its outputs.
///
/// Contract: results do not depend on the division of a span into calls. In each cycle, messages become visible first ([`Switch::enter`],
/// [`Switch::take_credits`]), then the cycle is counted, then packets move. A switch is stepped in every cycle from its
/// [`Switch::next_event`] on; the cycles before it are counted in one call of the same function.
pub trait Switch: warpshard_state::State + Debug + Send + 'static {
    /// Returns the name of the switch in messages, which follows the direction.
    fn name(&self) -> String;

    /// Examines an input whose oldest packet became visible or may have become visible.
    fn enter(&mut self, ends: &mut SubnetEnds, input: usize);

    /// Receives credits for an output that become visible at `at`. Returns true if no other credits were in flight.
    fn receive_credits(&mut self, output: usize, at: Cycle, credits: u16) -> bool;

    /// Collects the credits of an output that are visible by `now`; returns the cycle in which the next credits become visible.
    fn take_credits(&mut self, output: usize, now: Cycle) -> Option<Cycle>;

    /// Adds `cycles` cycles in the present state to the counters of waiting.
    fn count(&mut self, cycles: u64);

    /// Moves packets in the present cycle.
    fn step(&mut self, ends: &mut SubnetEnds, out: &mut Outbox);

    /// Returns the first cycle at or after `now` in which a packet moves, if no other message becomes visible.
    fn next_event(&self, now: Cycle) -> Cycle;

    /// Passes the counters to `visitor`.
    fn visit_counters(&self, visitor: &mut dyn CounterVisitor);

    /// Returns lines for a deadlock report: each waiting object and the resource for which it waits.
    fn waiting(&self, ends: &SubnetEnds) -> Vec<String>;
}

/// A switch that is fully described by the `noc` table of a machine.
pub trait FromNoc: Switch + Sized {
    /// Returns the switch of a subnet of `inputs` senders and `outputs` receivers with `output_capacity` slots each.
    fn new(direction: Direction, spec: &Noc, inputs: usize, outputs: usize, output_capacity: u32) -> Self;
}

/// One subnet of the network, a unit of the machine.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Subnet<S> {
    pub(super) ends: SubnetEnds,
    pub(super) switch: S,
}

impl<S: FromNoc> Subnet<S> {
    /// Returns a subnet of `inputs` senders and `outputs` receivers, at cycle 0.
    ///
    /// # Panics
    /// If a sender or receiver has no space for a packet.
    pub fn new(direction: Direction, spec: &Noc, inputs: usize, outputs: usize, ports: SubnetPorts) -> Self {
        let switch = S::new(direction, spec, inputs, outputs, ports.output_capacity);
        Self::with_switch(switch, direction, SubnetSize { inputs, outputs, input_queue: spec.input_queue }, ports)
    }
}

impl<S: Switch> Subnet<S> {
    /// Returns a subnet with `switch` between its ends.
    pub(super) fn with_switch(switch: S, direction: Direction, extent: SubnetSize, ports: SubnetPorts) -> Self {
        Self { ends: SubnetEnds::new(direction, extent, ports), switch }
    }

    /// Returns the switch that moves the packets.
    pub fn switch(&self) -> &S {
        &self.switch
    }

    /// Returns the direction of the subnet's packets.
    pub fn direction(&self) -> Direction {
        self.ends.direction
    }

    /// Returns the name of the subnet in messages.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.ends.direction.direction_word(), self.switch.name())
    }

    /// Receives a packet for an input.
    #[inline(always)]
    fn deliver_packet(&mut self, link: LinkId, at: Cycle, packet: &MemPacket) {
        let ends = &mut self.ends;
        let input = usize::from(link.0.wrapping_sub(ends.ports.data_in.0));
        if at < ends.now || input >= ends.inputs {
            self.refuse(link, at, "a packet");
        }
        if ends.queues.get_mut(input as u32).push(at, packet) {
            ends.calendar.add(ends.now, at, input);
        }
    }

    /// Receives credits for an output.
    #[cold]
    #[inline(never)]
    fn deliver_other(&mut self, link: LinkId, at: Cycle, payload: Payload) {
        let Payload::Credit(credit) = payload else { self.refuse(link, at, "a message that is neither a packet nor a credit") };
        let output = usize::from(link.0.wrapping_sub(self.ends.ports.credit_in.0));
        if at < self.ends.now || output >= self.ends.outputs {
            self.refuse(link, at, "credits");
        }
        if self.switch.receive_credits(output, at, credit.count) {
            self.ends.calendar.add(self.ends.now, at, self.ends.inputs + output);
        }
    }

    /// Panics about an unexpected message. The panic text omits the payload, so that the payload need not be kept.
    #[cold]
    #[inline(never)]
    fn refuse(&self, link: LinkId, at: Cycle, what: &str) -> ! {
        panic!("{}, {}: {link} delivers {what} for {at}, in the past or over a link that does not end here", self.name(), self.ends.now);
    }

    /// Processes the packets and credits that become visible in this cycle.
    fn process_arrivals(&mut self) {
        let Self { ends, switch } = self;
        let mut cursor = CalendarCursor::default();
        while let Some(port) = ends.calendar.take(ends.now, &mut cursor) {
            if port < ends.inputs {
                switch.enter(ends, port);
            } else if let Some(at) = switch.take_credits(port - ends.inputs, ends.now) {
                ends.schedule_input(at, port);
            }
        }
    }

    /// Skips cycles in which no message becomes visible and no packet moves.
    #[inline]
    fn wait_until(&mut self, at: Cycle) {
        if at > self.ends.now {
            self.switch.count(at.0 - self.ends.now.0);
            self.ends.now = at;
        }
    }
}

impl<S: Switch> Unit for Subnet<S> {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = Infallible;

    // This function is called for every message, from one loop. Nearly all messages are packets, which are copied only once, directly from
    // the message.
    #[inline(always)]
    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        if let Payload::Mem(packet) = payload {
            self.deliver_packet(link, at, packet);
        } else {
            self.deliver_other(link, at, *payload);
        }
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        while self.ends.now < until {
            if skip {
                self.wait_until(self.next_event().min(until));
                if self.ends.now >= until {
                    break;
                }
            }
            if self.ends.calendar.arrive(self.ends.now) {
                self.process_arrivals();
            }
            self.switch.count(1);
            self.switch.step(&mut self.ends, out);
            self.ends.now.0 += 1;
        }
    }

    #[inline]
    fn next_event(&self) -> Cycle {
        let now = self.ends.now;
        let own = self.switch.next_event(now);
        if own == now { now } else { own.min(self.ends.calendar.next(now)) }
    }

    fn settle(&mut self, at: Cycle) {
        debug_assert!(at <= self.ends.now || self.next_event() >= at, "{} has work before {at}", self.name());
        self.wait_until(at);
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.component(self.ends.direction.component(), 0);
        self.switch.visit_counters(visitor);
    }

    fn sends_events(&self) -> bool {
        false
    }

    fn waiting(&self) -> Vec<String> {
        self.switch.waiting(&self.ends)
    }
}
