//! The `fifo` crossbar: input queues with head-of-line blocking, one packet per output and cycle, regardless of its size.
//!
//! Arbitration follows GPGPU-Sim's `local_interconnect.cc`. With iSLIP the outputs arbitrate in ascending order, each starting at its own
//! pointer, which moves past the granted input. After a grant, the input's next packet may request an output that has not arbitrated yet.
//! An arbiter that examines packets is a [`seam::Arbiter`](warpshard_seam::Arbiter) behind a trait object. With round robin the inputs are
//! served in rotation, and the first input advances by one each cycle. A packet visible in cycle t can be granted in t. Every packet spends
//! a credit of its output and frees a slot at its input. Invariant: the requests of an output are exactly the inputs whose oldest visible
//! packet goes there.

use warpshard_base::{Cycle, SectorMask};
use warpshard_config::machine::{Arbiter, Noc};
use warpshard_protocol::{MemOp, Outbox, Payload};
use warpshard_seam::{ArbiterRequest, BoxedArbiter};
use warpshard_stats::CounterVisitor;

use super::age::Age;
use super::counters::NetCounters;
use super::matrix::RequestMatrix;
use super::outputs::{CrossbarOutputs, OutputScan};
use super::queues::WaitingPacket;
use super::subnet::{Direction, FromNoc, SubnetEnds, Switch};

/// The oldest packet of an input as seen by arbitration.
#[derive(Clone, Copy, Debug)]
struct HeadPacket {
    /// Cycles that the packet has waited; negative if it is not yet visible.
    waited: i64,
    /// The requested output.
    output: usize,
}

impl HeadPacket {
    #[inline(always)]
    fn of_waiting(waiting: &WaitingPacket, direction: Direction, now: Cycle) -> Self {
        Self { waited: waiting.wait_cycles(now), output: direction.output(&waiting.packet) }
    }
}

/// Totals over the packets granted in a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct GrantTotals {
    packets: u32,
    flits: u64,
    waited: i64,
}

/// Input queues with head-of-line blocking, and an arbiter.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Fifo {
    /// The sectors whose data a packet carries, by operation.
    carried_sectors: [SectorMask; 4],
    #[state(fixed)]
    arbiter: Arbiter,
    outputs: CrossbarOutputs,
    requests: RequestMatrix,
    /// The number of inputs with a visible packet.
    heads: u32,
    /// Inputs to examine again at the end of the cycle (round robin).
    popped_inputs: Vec<u16>,
    counters: NetCounters,
    /// An arbiter that examines packets; it overrides the built-in arbitration.
    packet_arbiter: Option<BoxedArbiter>,
    #[state(fixed)]
    arbiter_requests: Vec<ArbiterRequest>,
}

impl FromNoc for Fifo {
    fn new(direction: Direction, spec: &Noc, inputs: usize, outputs: usize, output_capacity: u32) -> Self {
        let carried = |op| if direction.carries(op) { SectorMask(u8::MAX) } else { SectorMask(0) };
        Self {
            carried_sectors: [MemOp::Read, MemOp::Write, MemOp::Atomic, MemOp::Reduction].map(carried),
            arbiter: spec.arbiter,
            outputs: CrossbarOutputs::new(outputs, output_capacity, RequestMatrix::last(inputs)),
            requests: RequestMatrix::new(inputs, outputs),
            heads: 0,
            popped_inputs: Vec::with_capacity(outputs),
            counters: NetCounters::default(),
            packet_arbiter: (spec.arbiter == Arbiter::Age).then(|| BoxedArbiter(Box::new(Age))),
            arbiter_requests: Vec::new(),
        }
    }
}

impl Fifo {
    /// Returns the counters.
    pub fn counters(&self) -> &NetCounters {
        &self.counters
    }

    /// Requests the output of an input's oldest packet, immediately or when the packet becomes visible.
    // This function is called at most twice per packet.
    #[inline(always)]
    fn request_output(&mut self, ends: &mut SubnetEnds, input: usize, HeadPacket { waited, output }: HeadPacket) {
        if waited < 0 {
            ends.schedule_input(Cycle(ends.now.0 + waited.unsigned_abs()), input);
            return;
        }
        self.requests.add(output, input);
        self.outputs.request(output);
        self.heads += 1;
    }

    fn arbitrate_islip(&mut self, ends: &mut SubnetEnds, out: &mut Outbox) {
        let mut granted = GrantTotals::default();
        let mut scan = OutputScan::start();
        while let Some(output) = self.outputs.next_ready(&mut scan) {
            let input = self.requests.take(output, self.outputs.last_granted(output));
            if let Some(next) = self.grant(ends, input, output, &mut granted, out) {
                self.request_output(ends, input, next);
            }
        }
        self.count_granted(granted);
    }

    fn arbitrate_round_robin(&mut self, ends: &mut SubnetEnds, out: &mut Outbox) {
        // GPGPU-Sim numbers SMs before slices and rotates over all of them, whether they are inputs or not.
        let (inputs, outputs) = (ends.inputs, ends.outputs);
        let nodes = inputs + outputs;
        let turn = (ends.now.0 % nodes as u64) as usize;
        let first = match ends.direction {
            Direction::Request if turn < inputs => turn,
            Direction::Reply if turn >= outputs => turn - outputs,
            _ => 0,
        };
        let before = if first == 0 { RequestMatrix::last(inputs) } else { first as u16 - 1 };
        let mut granted = GrantTotals::default();
        let mut scan = OutputScan::start();
        while let Some(output) = self.outputs.next_ready(&mut scan) {
            let input = self.requests.take(output, before);
            self.grant(ends, input, output, &mut granted, out);
            self.popped_inputs.push(input as u16);
        }
        self.count_granted(granted);
        while let Some(input) = self.popped_inputs.pop() {
            self.enter(ends, usize::from(input));
        }
    }

    /// Installs a user-defined arbiter.
    pub(super) fn set_arbiter(&mut self, arbiter: BoxedArbiter) {
        self.packet_arbiter = Some(arbiter);
    }

    /// Lets the arbiter that examines packets choose an input for each output. An input whose packet left makes its next request in the
    /// next cycle.
    #[cold]
    #[inline(never)]
    fn arbitrate_by_policy(&mut self, ends: &mut SubnetEnds, out: &mut Outbox) {
        let Some(mut arbiter) = self.packet_arbiter.take() else { panic!("the calling program provided no arbiter") };
        let (now, mut granted) = (ends.now, GrantTotals::default());
        let mut scan = OutputScan::start();
        while let Some(output) = self.outputs.next_ready(&mut scan) {
            self.arbiter_requests.clear();
            for input in (0..ends.inputs).filter(|input| self.requests.has(output, *input)) {
                let Some(waiting) = ends.queues.get(input as u32).front() else { continue };
                let (port, kernel) = (waiting.packet.port, waiting.packet.kernel());
                self.arbiter_requests.push(ArbiterRequest { input: input as u16, since: waiting.arrival(now), port, kernel });
            }
            let place = arbiter.0.grant(output, &self.arbiter_requests);
            let Some(ArbiterRequest { input, .. }) = self.arbiter_requests.get(place).copied() else {
                panic!("the arbiter `{}` chose number {place} of {} inputs", arbiter.0.name(), self.arbiter_requests.len())
            };
            self.requests.remove(output, usize::from(input));
            self.grant(ends, usize::from(input), output, &mut granted, out);
            self.popped_inputs.push(input);
        }
        self.count_granted(granted);
        self.packet_arbiter = Some(arbiter);
        while let Some(input) = self.popped_inputs.pop() {
            self.enter(ends, usize::from(input));
        }
    }

    /// Forwards the oldest packet of an input and returns the next one.
    // This function is inlined into both arbiters, which call it once per packet.
    #[inline(always)]
    fn grant(
        &mut self,
        ends: &mut SubnetEnds,
        input: usize,
        output: usize,
        granted: &mut GrantTotals,
        out: &mut Outbox,
    ) -> Option<HeadPacket> {
        let (now, link) = (ends.now, ends.link_to(output));
        let queue = ends.queues.get_mut(input as u32);
        let Some(waiting) = queue.front() else { panic!("input {input} of a crossbar is empty at {now}") };
        let (sectors, op) = (waiting.packet.sectors(), waiting.packet.op);
        granted.packets += 1;
        granted.flits += 1 + u64::from(SectorMask(sectors.0 & self.carried_sectors[op as usize].0).count());
        granted.waited += waiting.wait_cycles(now);
        out.send_with(link, now, || Payload::Mem(waiting.packet));
        let next = queue.next_front().map(|waiting| HeadPacket::of_waiting(waiting, ends.direction, now));
        if next.is_some() {
            queue.prefetch_second();
        }
        ends.return_slot(input, out);
        self.outputs.grant(output, input as u16);
        next
    }

    /// Adds the packets granted in a cycle, which have left their inputs, to the counters.
    #[inline]
    fn count_granted(&mut self, GrantTotals { packets, flits, waited }: GrantTotals) {
        self.heads -= packets;
        self.counters.packets += u64::from(packets);
        self.counters.flits += flits;
        self.counters.queue_cycles += waited as u64;
    }
}

impl Switch for Fifo {
    fn name(&self) -> String {
        "crossbar".to_owned()
    }

    /// Examines the oldest packet of an input.
    // This function is called for each packet that was not visible when the previous one was granted.
    #[inline(always)]
    fn enter(&mut self, ends: &mut SubnetEnds, input: usize) {
        let queue = ends.queues.get(input as u32);
        let Some(waiting) = queue.front() else { return };
        queue.prefetch_second();
        let head = HeadPacket::of_waiting(waiting, ends.direction, ends.now);
        self.request_output(ends, input, head);
    }

    #[inline]
    fn receive_credits(&mut self, output: usize, at: Cycle, credits: u16) -> bool {
        self.outputs.receive_credits(output, at, credits)
    }

    fn take_credits(&mut self, output: usize, now: Cycle) -> Option<Cycle> {
        self.outputs.take_credits(output, now)
    }

    #[inline]
    fn count(&mut self, cycles: u64) {
        if self.heads > 0 {
            self.counters.busy_cycles += cycles;
            self.counters.conflicts += u64::from(self.heads - self.outputs.requested_outputs()) * cycles;
            self.counters.credit_stalls += u64::from(self.outputs.stalled_outputs()) * cycles;
        }
    }

    #[inline]
    fn step(&mut self, ends: &mut SubnetEnds, out: &mut Outbox) {
        if self.heads > 0 {
            match self.arbiter {
                Arbiter::Islip => self.arbitrate_islip(ends, out),
                Arbiter::RoundRobin => self.arbitrate_round_robin(ends, out),
                Arbiter::Age | Arbiter::Own => self.arbitrate_by_policy(ends, out),
            }
        }
    }

    #[inline]
    fn next_event(&self, now: Cycle) -> Cycle {
        if self.outputs.any_ready() { now } else { Cycle::NEVER }
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.counters(&self.counters);
    }

    fn waiting(&self, ends: &SubnetEnds) -> Vec<String> {
        let line = |output: usize| {
            let inputs: Vec<_> = (0..ends.inputs).filter(|input| self.requests.has(output, *input)).collect();
            let queues = || inputs.iter().map(|input| ends.queues.get(*input as u32));
            let since = queues().filter_map(|queue| queue.front()).map(|waiting| waiting.arrival(ends.now)).min()?;
            let reason = if self.outputs.has_credit(output) { "no receiver blocks them" } else { "the receiver's queue is full" };
            let packets: u32 = queues().map(|queue| queue.len()).sum();
            Some(format!("{} inputs with {packets} packets wait for output {output} since {since}: {reason}", inputs.len()))
        };
        (0..ends.outputs).filter_map(line).collect()
    }
}
