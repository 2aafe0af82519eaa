//! The `output_queued` crossbar: every output has one queue for all inputs and forwards one packet per cycle.
//!
//! Packets that become visible in a cycle enter the queues of the outputs immediately, in the order of the inputs. There is no
//! head-of-line blocking, and no arbiter examines more than one queue, so the host cost is per packet, not per port.
//! The slot at the input is freed when the packet leaves, so the senders' credits bound the queues.

use std::collections::VecDeque;
use std::convert::Infallible;

use crate::base::{Cycle, LinkId, Slots};
use crate::config::machine::Noc;
use crate::engine::Unit;
use crate::protocol::{CreditReceiver, EventKind, MemPacket, Outbox, Payload};
use crate::stats::CounterVisitor;

use super::calendar::{Calendar, Cursor};
use super::crossbar::{Direction, NetCounters, SubnetPorts};
use super::outputs::{Outputs, Scan};
use super::queues::Queue;

/// One subnet with a queue per output. Nothing contends at its inputs, so it counts no conflicts.
#[derive(Clone, Debug)]
pub struct OutputQueued {
    direction: Direction,
    ports: SubnetPorts,
    inputs: usize,
    outputs: Outputs,
    now: Cycle,
    /// Packets that are not visible yet, by input, followed by those that wait, by output.
    queues: Box<[Queue]>,
    /// The inputs of the packets that wait, by output.
    origins: Box<[VecDeque<u16>]>,
    calendar: Calendar,
    /// Places of the inputs, which packets leave with the subnet.
    returns: Slots<CreditReceiver>,
    counters: NetCounters,
}

impl OutputQueued {
    /// A subnet of `inputs` senders and `outputs` receivers, at cycle 0.
    ///
    /// # Panics
    /// When a receiver has no room for a packet.
    pub fn new(direction: Direction, spec: &Noc, inputs: usize, outputs: usize, ports: SubnetPorts) -> Self {
        assert!(spec.input_queue >= 1, "a crossbar without room for a packet");
        Self {
            direction,
            ports,
            inputs,
            outputs: Outputs::new(outputs, ports.output_capacity, 0),
            now: Cycle(0),
            queues: Queue::several(inputs + outputs),
            origins: vec![VecDeque::new(); outputs].into(),
            calendar: Calendar::new(inputs + outputs),
            returns: ports.returns(inputs, spec.input_queue),
            counters: NetCounters::default(),
        }
    }

    /// The counters so far.
    pub fn counters(&self) -> &NetCounters {
        &self.counters
    }

    /// The direction of its packets.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    fn wait_until(&mut self, at: Cycle) {
        if at > self.now {
            self.count(at.0 - self.now.0);
            self.now = at;
        }
    }

    fn count(&mut self, cycles: u64) {
        self.counters.busy_cycles += cycles * u64::from(self.outputs.requested() > 0);
        self.counters.credit_stalls += cycles * u64::from(self.outputs.stalled());
    }

    fn process_arrivals(&mut self) {
        let mut cursor = Cursor::default();
        while let Some(port) = self.calendar.take(self.now, &mut cursor) {
            if port < self.inputs { self.enter(port) } else { self.take_credits(port - self.inputs) }
        }
    }

    /// Puts the visible packets of an input into the queues of their outputs.
    fn enter(&mut self, input: usize) {
        while let Some(&waiting) = self.queues[input].front() {
            let (at, packet) = (waiting.arrival(self.now), waiting.packet);
            if at > self.now {
                self.calendar.note(self.now, at, input);
                break;
            }
            let output = self.output(&packet);
            debug_assert!(
                output < self.outputs.count(),
                "{}: a packet for output {output} of {}",
                self.direction.crossbar(),
                self.outputs.count()
            );
            self.queues[input].pop();
            self.queues[self.inputs + output].push(at, &packet);
            self.origins[output].push_back(input as u16);
            self.outputs.request(output);
        }
    }

    fn output(&self, packet: &MemPacket) -> usize {
        match self.direction {
            Direction::Request => packet.slice.index(),
            Direction::Reply => packet.port.index(),
        }
    }

    fn take_credits(&mut self, output: usize) {
        if let Some(at) = self.outputs.take_credits(output, self.now) {
            self.calendar.note(self.now, at, self.inputs + output);
        }
    }

    /// Forwards the oldest packet of every output that has a credit.
    fn pass_on(&mut self, out: &mut Outbox) {
        let mut scan = Scan::first();
        while let Some(output) = self.outputs.next_ready(&mut scan) {
            let (Some(waiting), Some(input)) = (self.queues[self.inputs + output].pop(), self.origins[output].pop_front()) else {
                panic!("{}: output {output} is wanted by nobody at {}", self.direction.crossbar(), self.now);
            };
            let packet = waiting.packet;
            self.counters.packets += 1;
            self.counters.flits += 1 + u64::from(self.direction.data_sectors(&packet));
            self.counters.queue_cycles += waiting.waited(self.now) as u64;
            out.send(LinkId(self.ports.data_out.0 + output as u16), self.now, Payload::Mem(packet));
            self.outputs.grant(output, input);
            self.returns.get_mut(u32::from(input)).release(self.now, out);
        }
    }
}

impl Unit for OutputQueued {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = Infallible;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        assert!(at >= self.now, "{}: {link} brings a message for {at}, which is before {}", self.direction.crossbar(), self.now);
        match *payload {
            Payload::Mem(packet) => {
                let input = usize::from(link.0.wrapping_sub(self.ports.data_in.0));
                assert!(input < self.inputs, "{}: a packet comes over {link}, which is no input", self.direction.crossbar());
                if self.queues[input].push(at, &packet) {
                    self.calendar.note(self.now, at, input);
                }
            }
            Payload::Credit(credit) => {
                let output = usize::from(link.0.wrapping_sub(self.ports.credit_in.0));
                assert!(output < self.outputs.count(), "{}: credits come over {link}, which is no output", self.direction.crossbar());
                if self.outputs.expect(output, at, credit.count) {
                    self.calendar.note(self.now, at, self.inputs + output);
                }
            }
            other => panic!("{}: {link} brings {other:?} at {at}", self.direction.crossbar()),
        }
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        while self.now < until {
            if skip {
                let next = self.next_event().min(until);
                self.wait_until(next);
                if self.now >= until {
                    break;
                }
            }
            if self.calendar.arrive(self.now) {
                self.process_arrivals();
            }
            self.count(1);
            self.pass_on(out);
            self.now.0 += 1;
        }
    }

    fn next_event(&self) -> Cycle {
        if self.outputs.any_ready() { self.now } else { self.calendar.next(self.now) }
    }

    fn settle(&mut self, at: Cycle) {
        debug_assert!(at <= self.now || self.next_event() >= at, "{} has work before {at}", self.direction.crossbar());
        self.wait_until(at);
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.component(self.direction.component(), 0);
        visitor.counters(&self.counters);
    }

    fn sends_events(&self) -> bool {
        false
    }

    fn waiting(&self) -> Vec<String> {
        let line = |output: usize| {
            let queue = &self.queues[self.inputs + output];
            let since = queue.front()?.arrival(self.now);
            let reason = if self.outputs.has_credit(output) { "nothing stops them" } else { "the receiver's queue is full" };
            let packets = queue.len();
            Some(format!("{}: {packets} packets wait for output {output} since {since}: {reason}", self.direction.crossbar()))
        };
        (0..self.outputs.count()).filter_map(line).collect()
    }
}
