//! The `output_queued` crossbar: every output has one queue for all inputs and forwards one packet per cycle.
//!
//! Packets that become visible in a cycle enter the queues of the outputs immediately, in the order of the inputs. There is no head-of-line
//! blocking, and no arbiter examines more than one queue, so the host cost is per packet, not per port. The slot at the input is freed when
//! the packet leaves, so the senders' credits bound the queues.

use std::collections::VecDeque;

use warpshard_base::Cycle;
use warpshard_config::machine::Noc;
use warpshard_protocol::{Outbox, Payload};
use warpshard_stats::CounterVisitor;

use super::counters::NetCounters;
use super::outputs::{CrossbarOutputs, OutputScan};
use super::queues::PacketQueue;
use super::subnet::{Direction, FromNoc, SubnetEnds, Switch};

/// A crossbar with a queue per output. It counts no conflicts, because packets do not contend at the inputs.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct OutputQueued {
    outputs: CrossbarOutputs,
    /// Waiting packets, by output.
    queues: Box<[PacketQueue]>,
    /// The inputs of the waiting packets, by output.
    origins: Box<[VecDeque<u16>]>,
    counters: NetCounters,
}

impl FromNoc for OutputQueued {
    fn new(_: Direction, _: &Noc, _: usize, outputs: usize, output_capacity: u32) -> Self {
        Self {
            outputs: CrossbarOutputs::new(outputs, output_capacity, 0),
            queues: PacketQueue::new_queues(outputs),
            origins: vec![VecDeque::new(); outputs].into(),
            counters: NetCounters::default(),
        }
    }
}

impl Switch for OutputQueued {
    fn name(&self) -> String {
        "crossbar".to_owned()
    }

    /// Puts the visible packets of an input into the queues of their outputs.
    fn enter(&mut self, ends: &mut SubnetEnds, input: usize) {
        while let Some((packet, at)) = ends.next_visible(input) {
            let output = ends.direction.output(&packet);
            self.queues[output].push(at, &packet);
            self.origins[output].push_back(input as u16);
            self.outputs.request(output);
        }
    }

    fn receive_credits(&mut self, output: usize, at: Cycle, credits: u16) -> bool {
        self.outputs.receive_credits(output, at, credits)
    }

    fn take_credits(&mut self, output: usize, now: Cycle) -> Option<Cycle> {
        self.outputs.take_credits(output, now)
    }

    fn count(&mut self, cycles: u64) {
        self.counters.busy_cycles += cycles * u64::from(self.outputs.requested_outputs() > 0);
        self.counters.credit_stalls += cycles * u64::from(self.outputs.stalled_outputs());
    }

    /// Forwards the oldest packet of every output that has a credit.
    fn step(&mut self, ends: &mut SubnetEnds, out: &mut Outbox) {
        let mut scan = OutputScan::start();
        while let Some(output) = self.outputs.next_ready(&mut scan) {
            let (Some(waiting), Some(input)) = (self.queues[output].pop(), self.origins[output].pop_front()) else {
                panic!("output {output} of a crossbar is not requested at {}", ends.now);
            };
            let packet = waiting.packet;
            self.counters.packets += 1;
            self.counters.flits += 1 + u64::from(ends.direction.data_sectors(&packet));
            self.counters.queue_cycles += waiting.wait_cycles(ends.now) as u64;
            out.send(ends.link_to(output), ends.now, Payload::Mem(packet));
            self.outputs.grant(output, input);
            ends.return_slot(usize::from(input), out);
        }
    }

    fn next_event(&self, now: Cycle) -> Cycle {
        if self.outputs.any_ready() { now } else { Cycle::NEVER }
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.counters(&self.counters);
    }

    fn waiting(&self, ends: &SubnetEnds) -> Vec<String> {
        let line = |output: usize| {
            let queue = &self.queues[output];
            let since = queue.front()?.arrival(ends.now);
            let reason = if self.outputs.has_credit(output) { "no receiver blocks them" } else { "the receiver's queue is full" };
            Some(format!("{} packets wait for output {output} since {since}: {reason}", queue.len()))
        };
        (0..ends.outputs).filter_map(line).collect()
    }
}
