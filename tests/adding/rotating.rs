//! The `rotating` crossbar: in each cycle every input is connected to one output, and in the next cycle to the next output.

use warpshard_base::Cycle;
use warpshard_config::machine::Noc;
use warpshard_protocol::{CreditSender, Outbox, Payload};
use warpshard_stats::CounterVisitor;

use super::counters::NetCounters;
use super::subnet::{Direction, SubnetEnds, FromNoc, Switch};

/// A crossbar without an arbiter: the inputs rotate over the outputs, and only the oldest packet of an input can leave.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Rotating {
    credits: Box<[CreditSender]>,
    /// Visible packets at each input, 0 or 1.
    visible: Box<[u32]>,
    waiting: u32,
    counters: NetCounters,
}

impl FromNoc for Rotating {
    fn new(_: Direction, _: &Noc, inputs: usize, outputs: usize, output_capacity: u32) -> Self {
        Self {
            credits: vec![CreditSender::new(output_capacity); outputs].into(),
            visible: vec![0; inputs].into(),
            waiting: 0,
            counters: NetCounters::default(),
        }
    }
}

impl Switch for Rotating {
    fn name(&self) -> String {
        "rotating crossbar".to_owned()
    }

    fn enter(&mut self, ends: &mut SubnetEnds, input: usize) {
        let front = ends.queues.get(input as u32).front().map(|waiting| waiting.arrival(ends.now));
        match front {
            Some(at) if at <= ends.now => {
                self.waiting += 1 - self.visible[input];
                self.visible[input] = 1;
            }
            Some(at) => ends.schedule_input(at, input),
            None => {}
        }
    }

    fn receive_credits(&mut self, output: usize, at: Cycle, credits: u16) -> bool {
        self.credits[output].deliver(at, credits)
    }

    fn take_credits(&mut self, output: usize, now: Cycle) -> Option<Cycle> {
        self.credits[output].collect(now);
        Some(self.credits[output].next()).filter(|next| *next != Cycle::NEVER)
    }

    fn count(&mut self, cycles: u64) {
        self.counters.busy_cycles += cycles * u64::from(self.waiting > 0);
    }

    fn step(&mut self, ends: &mut SubnetEnds, out: &mut Outbox) {
        for input in 0..ends.inputs {
            let turn = (ends.now.0 as usize + input) % ends.outputs;
            let front = ends.queues.get(input as u32).front().map(|waiting| ends.direction.output(&waiting.packet));
            if self.visible[input] == 0 || front != Some(turn) || !self.credits[turn].can_send() {
                continue;
            }
            let Some((packet, at)) = ends.next_visible(input) else { continue };
            self.credits[turn].spend();
            self.visible[input] = 0;
            self.waiting -= 1;
            self.counters.packets += 1;
            self.counters.queue_cycles += ends.now.0 - at.0;
            out.send(ends.link_to(turn), ends.now, Payload::Mem(packet));
            ends.return_slot(input, out);
            self.enter(ends, input);
        }
    }

    fn next_event(&self, now: Cycle) -> Cycle {
        if self.waiting > 0 { now } else { Cycle::NEVER }
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.counters(&self.counters);
    }

    fn waiting(&self, ends: &SubnetEnds) -> Vec<String> {
        (0..ends.inputs).filter(|input| self.visible[*input] != 0).map(|input| format!("packets wait at input {input}")).collect()
    }
}
