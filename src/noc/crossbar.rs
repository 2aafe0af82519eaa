//! The `fifo` crossbar: input queues with head-of-line blocking, one packet per output and cycle, regardless of its size.
//!
//! Arbitration is that of GPGPU-Sim's `local_interconnect.cc`. With iSLIP the outputs arbitrate in ascending order, each starting
//! at its own pointer, which moves past the granted input; an input whose packet was granted requests for its next packet at the
//! outputs that have not arbitrated yet. With round robin the inputs are served in rotation, starting one further each cycle.
//! A packet visible in cycle t can be granted in t. Every packet spends a credit of its output and frees a slot at its input.
//! Invariant: the requests of an output are exactly the inputs whose oldest visible packet goes there.

use std::convert::Infallible;
use std::hint::select_unpredictable;

use crate::base::{Cycle, LinkId, SectorMask, Slots};
use crate::config::machine::{Arbiter, Noc};
use crate::engine::Unit;
use crate::protocol::{CreditReceiver, EventKind, MemOp, MemPacket, Outbox, Payload};
use crate::stats::{CounterVisitor, counters};

use super::calendar::{Calendar, Cursor};
use super::outputs::{Outputs, Scan};
use super::queues::{Queue, Waiting};

/// The direction of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From SMs to LLC slices.
    Request,
    /// From LLC slices to SMs.
    Reply,
}

impl Direction {
    /// The kind of component that the results list a subnet of this direction as.
    pub(super) fn component(self) -> &'static str {
        match self {
            Self::Request => "request_net",
            Self::Reply => "reply_net",
        }
    }

    /// The name of the crossbar of this direction, in messages.
    pub(super) fn crossbar(self) -> &'static str {
        match self {
            Self::Request => "request crossbar",
            Self::Reply => "reply crossbar",
        }
    }

    /// Whether packets carry data in this direction: read requests and write acknowledgements are only a header.
    #[inline]
    fn carries(self, op: MemOp) -> bool {
        match self {
            Self::Request => op != MemOp::Read,
            Self::Reply => !matches!(op, MemOp::Write | MemOp::Reduction),
        }
    }

    /// The sectors of data that a packet carries in this direction.
    #[inline]
    pub fn data_sectors(self, packet: &MemPacket) -> u32 {
        if self.carries(packet.op) { packet.sectors.count() } else { 0 }
    }
}

/// The links of a subnet; of each kind one per input or output, with consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubnetPorts {
    /// Packets from the first sender.
    pub data_in: LinkId,
    /// Credits to the first sender.
    pub credit_out: LinkId,
    /// Packets to the first receiver.
    pub data_out: LinkId,
    /// Credits from the first receiver.
    pub credit_in: LinkId,
    /// Packets that a receiver's queue holds, those under way included: the credits that each output starts with.
    pub output_capacity: u32,
}

impl SubnetPorts {
    /// The receiving ends of the inputs, each with a queue of `places`.
    pub(super) fn returns(&self, inputs: usize, places: u32) -> Slots<CreditReceiver> {
        let receiver = |input: u16| CreditReceiver::new(LinkId(self.credit_out.0 + input), input, places);
        let mut returns = Slots::new(inputs, receiver(0));
        (0..inputs as u16).for_each(|input| *returns.get_mut(u32::from(input)) = receiver(input));
        returns
    }
}

counters! {
    /// Counters of a subnet.
    pub struct NetCounters {
        packets: "packets", "Packets granted.";
        flits: "flits", "Flits of 32 bytes of these packets: one for the header, one for each sector of data.";
        busy_cycles: "cycles", "Cycles in which a packet waited at an input.";
        conflicts: "packets", "Oldest packets of inputs beyond the first for each output, summed over the cycles.";
        credit_stalls: "output cycles", "Outputs that were requested but had no credit, summed over the cycles.";
        queue_cycles: "packet cycles", "Cycles that granted packets waited at their inputs.";
    }
}

/// For each output, the inputs whose oldest visible packet requests it.
#[derive(Clone, Debug)]
struct RequestMatrix {
    /// A bit per input, `words` words of 2^`shift` allocated per output.
    sets: Slots<u64>,
    words: usize,
    shift: u32,
}

impl RequestMatrix {
    fn new(inputs: usize, outputs: usize) -> Self {
        let words = inputs.div_ceil(64);
        let places = words.next_power_of_two();
        Self { sets: Slots::new(places * outputs, 0), words, shift: places.trailing_zeros() }
    }

    /// The index of a word of an output's requests.
    #[inline]
    fn place(&self, output: usize, word: usize) -> u32 {
        debug_assert!(word < self.words, "word {word} of {}", self.words);
        ((output << self.shift) + word) as u32
    }

    fn has(&self, output: usize, input: usize) -> bool {
        self.sets.get(self.place(output, input / 64)) >> (input % 64) & 1 != 0
    }

    #[inline]
    fn add(&mut self, output: usize, input: usize) {
        let place = self.place(output, input / 64);
        *self.sets.get_mut(place) |= 1 << (input % 64);
    }

    /// A pointer after the last of this number of inputs.
    fn last(inputs: usize) -> u16 {
        (inputs.next_multiple_of(64) - 1) as u16
    }

    /// Removes and returns the first input after `before`, wrapping, that requests `output`; there is one.
    #[inline(always)]
    fn take(&mut self, output: usize, before: u16) -> usize {
        if self.words <= 2 { self.take_of_two(output, before) } else { self.take_of_many(output, before) }
    }

    /// The same for one or two words. Which word has the input is unpredictable, so both are examined without a branch.
    #[inline(always)]
    fn take_of_two(&mut self, output: usize, before: u16) -> usize {
        let (home, last) = (self.place(output, usize::from(before / 64)), (self.words - 1) as u32);
        let away = home ^ last;
        let (all, elsewhere) = (*self.sets.get(home), *self.sets.get(away));
        let behind = all & (!1 << (before % 64));
        debug_assert!(all | elsewhere != 0, "output {output} is wanted by nobody");
        let is_away = (behind == 0) & (elsewhere != 0);
        let here = select_unpredictable(behind == 0, all, behind);
        let inputs = select_unpredictable(is_away, elsewhere, here);
        let place = select_unpredictable(is_away, away, home);
        *self.sets.get_mut(place) ^= inputs & inputs.wrapping_neg();
        (place & last) as usize * 64 + inputs.trailing_zeros() as usize % 64
    }

    fn take_of_many(&mut self, output: usize, before: u16) -> usize {
        let mut word = usize::from(before / 64);
        let mut place = self.place(output, word);
        let mut inputs = *self.sets.get(place) & (!1 << (before % 64));
        // The first word is examined again at the end, for inputs up to `before`.
        let mut words = self.words;
        while inputs == 0 {
            assert!(words > 0, "output {output} is wanted by nobody");
            words -= 1;
            word = if word + 1 == self.words { 0 } else { word + 1 };
            place = self.place(output, word);
            inputs = *self.sets.get(place);
        }
        *self.sets.get_mut(place) ^= inputs & inputs.wrapping_neg();
        word * 64 + inputs.trailing_zeros() as usize
    }
}

/// The oldest packet of an input, as arbitration sees it.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// Cycles that it has waited; negative if it is not yet visible.
    waited: i64,
    /// Its output.
    output: usize,
}

impl Head {
    #[inline(always)]
    fn of(waiting: &Waiting, direction: Direction, now: Cycle) -> Self {
        let output = match direction {
            Direction::Request => waiting.packet.slice.index(),
            Direction::Reply => waiting.packet.port.index(),
        };
        Self { waited: waiting.waited(now), output }
    }
}

/// The counts of the packets granted in a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Granted {
    packets: u32,
    flits: u64,
    waited: i64,
}

/// One subnet of the crossbar.
#[derive(Clone, Debug)]
pub struct Subnet {
    direction: Direction,
    /// The sectors whose data packets carry, by operation.
    carried: [SectorMask; 4],
    arbiter: Arbiter,
    ports: SubnetPorts,
    inputs: usize,
    outputs: Outputs,
    now: Cycle,
    queues: Slots<Queue>,
    /// Inputs whose next packet becomes visible, followed by outputs whose next credits do.
    calendar: Calendar,
    requests: RequestMatrix,
    /// The number of inputs with a visible packet.
    heads: u32,
    /// Places of the input queues, which packets leave.
    returns: Slots<CreditReceiver>,
    /// Inputs to examine again after the cycle (round robin).
    popped: Vec<u16>,
    counters: NetCounters,
}

impl Subnet {
    /// A subnet of `inputs` senders and `outputs` receivers, at cycle 0.
    ///
    /// # Panics
    /// When a receiver has no room for a packet.
    pub fn new(direction: Direction, spec: &Noc, inputs: usize, outputs: usize, ports: SubnetPorts) -> Self {
        assert!(spec.input_queue >= 1, "a crossbar without room for a packet");
        let calendar = Calendar::new(inputs + outputs);
        let carried = |op| if direction.carries(op) { SectorMask(u8::MAX) } else { SectorMask(0) };
        Self {
            direction,
            carried: [MemOp::Read, MemOp::Write, MemOp::Atomic, MemOp::Reduction].map(carried),
            arbiter: spec.arbiter,
            ports,
            inputs,
            outputs: Outputs::new(outputs, ports.output_capacity, RequestMatrix::last(inputs)),
            now: Cycle(0),
            queues: Slots::new(inputs, Queue::new()),
            calendar,
            requests: RequestMatrix::new(inputs, outputs),
            heads: 0,
            returns: ports.returns(inputs, spec.input_queue),
            popped: Vec::with_capacity(outputs),
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

    /// Takes credits for an output.
    #[cold]
    #[inline(never)]
    fn deliver_other(&mut self, link: LinkId, at: Cycle, payload: Payload) {
        match payload {
            Payload::Credit(credit) => {
                if at < self.now {
                    self.refuse(link, at, "credits for the past");
                }
                let output = usize::from(link.0.wrapping_sub(self.ports.credit_in.0));
                if output >= self.outputs.count() {
                    self.refuse(link, at, "credits, but is no output");
                }
                if self.outputs.expect(output, at, credit.count) {
                    self.calendar.note(self.now, at, self.inputs + output);
                }
            }
            _ => self.refuse(link, at, "what is neither a packet nor a credit"),
        }
    }

    /// Takes a packet for an input.
    #[inline(always)]
    fn deliver_packet(&mut self, link: LinkId, at: Cycle, packet: &MemPacket) {
        if at < self.now {
            self.refuse(link, at, "a packet for the past");
        }
        let input = usize::from(link.0.wrapping_sub(self.ports.data_in.0));
        if input >= self.inputs {
            self.refuse(link, at, "a packet, but is no input");
        }
        if self.queues.get_mut(input as u32).push(at, packet) {
            self.calendar.note(self.now, at, input);
        }
    }

    /// Panics about a message, without printing its payload, so that the payload need not be kept.
    #[cold]
    #[inline(never)]
    fn refuse(&self, link: LinkId, at: Cycle, what: &str) -> ! {
        panic!("{}, {}: {link} brings {what}, for {at}", self.direction.crossbar(), self.now);
    }

    /// Skips cycles in which nothing becomes visible and nothing is granted.
    #[inline]
    fn wait_until(&mut self, at: Cycle) {
        if at > self.now {
            self.count(at.0 - self.now.0);
            self.now = at;
        }
    }

    /// Adds `cycles` cycles in the state before arbitration to the counters.
    #[inline]
    fn count(&mut self, cycles: u64) {
        if self.heads > 0 {
            self.counters.busy_cycles += cycles;
            self.counters.conflicts += u64::from(self.heads - self.outputs.requested()) * cycles;
            self.counters.credit_stalls += u64::from(self.outputs.stalled()) * cycles;
        }
    }

    fn cycle(&mut self, out: &mut Outbox) {
        if self.calendar.arrive(self.now) {
            self.process_arrivals();
        }
        if self.heads > 0 {
            self.count(1);
            match self.arbiter {
                Arbiter::Islip => self.islip(out),
                Arbiter::RoundRobin => self.round_robin(out),
            }
        }
        self.now.0 += 1;
    }

    /// Processes the packets and credits that become visible in this cycle.
    fn process_arrivals(&mut self) {
        let mut cursor = Cursor::default();
        while let Some(port) = self.calendar.take(self.now, &mut cursor) {
            if port < self.inputs { self.examine(port) } else { self.take_credits(port - self.inputs) }
        }
    }

    fn take_credits(&mut self, output: usize) {
        if let Some(at) = self.outputs.take_credits(output, self.now) {
            self.calendar.note(self.now, at, self.inputs + output);
        }
    }

    /// Examines the oldest packet of an input.
    // Called for each packet that was not visible when the one before it was granted.
    #[inline(always)]
    fn examine(&mut self, input: usize) {
        let queue = self.queues.get(input as u32);
        let Some(waiting) = queue.front() else { return };
        queue.prefetch_second();
        self.request_output(input, Head::of(waiting, self.direction, self.now));
    }

    /// Requests the output of an input's oldest packet, now or when the packet becomes visible.
    // Called for each packet, at most twice.
    #[inline(always)]
    fn request_output(&mut self, input: usize, Head { waited, output }: Head) {
        if waited < 0 {
            self.calendar.note(self.now, Cycle(self.now.0 + waited.unsigned_abs()), input);
            return;
        }
        self.requests.add(output, input);
        self.outputs.request(output);
        self.heads += 1;
    }

    fn islip(&mut self, out: &mut Outbox) {
        let mut granted = Granted::default();
        let mut scan = Scan::first();
        while let Some(output) = self.outputs.next_ready(&mut scan) {
            let input = self.requests.take(output, self.outputs.last_granted(output));
            if let Some(next) = self.grant(input, output, &mut granted, out) {
                self.request_output(input, next);
            }
        }
        self.count_granted(granted);
    }

    fn round_robin(&mut self, out: &mut Outbox) {
        // The reference numbers SMs before slices and rotates over all of them, inputs or not.
        let (inputs, outputs) = (self.inputs, self.outputs.count());
        let nodes = inputs + outputs;
        let turn = (self.now.0 % nodes as u64) as usize;
        let first = match self.direction {
            Direction::Request if turn < inputs => turn,
            Direction::Reply if turn >= outputs => turn - outputs,
            _ => 0,
        };
        let before = if first == 0 { RequestMatrix::last(inputs) } else { first as u16 - 1 };
        let mut granted = Granted::default();
        let mut scan = Scan::first();
        while let Some(output) = self.outputs.next_ready(&mut scan) {
            let input = self.requests.take(output, before);
            self.grant(input, output, &mut granted, out);
            self.popped.push(input as u16);
        }
        self.count_granted(granted);
        while let Some(input) = self.popped.pop() {
            self.examine(usize::from(input));
        }
    }

    /// Forwards the oldest packet of an input; returns the next one.
    // Inlined into both arbiters, which call it once for each packet.
    #[inline(always)]
    fn grant(&mut self, input: usize, output: usize, granted: &mut Granted, out: &mut Outbox) -> Option<Head> {
        let queue = self.queues.get_mut(input as u32);
        let Some(waiting) = queue.front() else { panic!("{}: input {input} is empty at {}", self.direction.crossbar(), self.now) };
        let MemPacket { sectors, op, .. } = waiting.packet;
        granted.packets += 1;
        granted.flits += 1 + u64::from(SectorMask(sectors.0 & self.carried[op as usize].0).count());
        granted.waited += waiting.waited(self.now);
        out.send_with(LinkId(self.ports.data_out.0 + output as u16), self.now, || Payload::Mem(waiting.packet));
        let next = queue.next_front().map(|waiting| Head::of(waiting, self.direction, self.now));
        if next.is_some() {
            queue.prefetch_second();
        }
        self.returns.get_mut(input as u32).release(self.now, out);
        self.outputs.grant(output, input as u16);
        next
    }

    /// Counts the packets granted in a cycle, which have left their inputs.
    #[inline]
    fn count_granted(&mut self, Granted { packets, flits, waited }: Granted) {
        self.heads -= packets;
        self.counters.packets += u64::from(packets);
        self.counters.flits += flits;
        self.counters.queue_cycles += waited as u64;
    }

    /// The most slots that an input queue has needed.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.queues.as_slice().iter().map(Queue::places).max().unwrap_or(0)
    }
}

impl Unit for Subnet {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = Infallible;

    // Called for every message, from one loop: nearly all are packets, which are copied once, from where they lie.
    #[inline(always)]
    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        if let Payload::Mem(packet) = payload {
            self.deliver_packet(link, at, packet);
        } else {
            self.deliver_other(link, at, *payload);
        }
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        while self.now < until {
            if skip && !self.outputs.any_ready() {
                let next = self.calendar.next(self.now).min(until);
                self.wait_until(next);
                if self.now >= until {
                    break;
                }
            }
            self.cycle(out);
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
        let mut lines = Vec::new();
        for output in 0..self.outputs.count() {
            let inputs: Vec<_> = (0..self.inputs).filter(|input| self.requests.has(output, *input)).collect();
            let since = inputs.iter().filter_map(|i| self.queues.get(*i as u32).front()).map(|waiting| waiting.arrival(self.now)).min();
            if let Some(since) = since {
                let reason = if self.outputs.has_credit(output) { "nothing stops it" } else { "the receiver's queue is full" };
                let packets: u32 = inputs.iter().map(|i| self.queues.get(*i as u32).len()).sum();
                lines.push(format!(
                    "{}: {} inputs with {packets} packets wait for output {output} since {since}: {reason}",
                    self.direction.crossbar(),
                    inputs.len()
                ));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_granted_in_rotation_for_any_number_of_words() {
        for inputs in [1, 5, 64, 65, 80, 128, 129, 320] {
            for wanting in [vec![0], vec![inputs - 1], (0..inputs).step_by(7).collect(), (0..inputs).collect()] {
                for before in [0, inputs / 3, inputs / 2, inputs - 1, usize::from(RequestMatrix::last(inputs))] {
                    let mut requests = RequestMatrix::new(inputs, 3);
                    wanting.iter().for_each(|input| requests.add(1, *input));
                    let (first, behind): (Vec<usize>, Vec<usize>) = wanting.iter().partition(|input| **input <= before);
                    for expected in behind.into_iter().chain(first) {
                        assert_eq!(requests.take(1, before as u16), expected, "of {inputs} behind {before}");
                    }
                    assert!(!(0..inputs).any(|input| (0..3).any(|output| requests.has(output, input))));
                }
            }
        }
    }
}
