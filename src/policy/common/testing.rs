//! Hand-made observations for the tests of policies.

use crate::base::Cycle;
use crate::control::{Controller, DecisionSet, EventKind, Observation, Seen, Table};
use crate::policy::registry;

/// The policy called `name`, made from the text of its table.
pub(super) fn made(name: &str, parameters: &str) -> Box<dyn Controller> {
    let table = parameters.parse().expect("the test's own text");
    (registry::find(name).expect("it is registered").build)(table).expect("the parameters are right")
}

/// What a controller answers to cuts, 100 cycles apart, with these events.
pub(super) fn answers(controller: &mut dyn Controller, cuts: &[&[EventKind]]) -> Vec<String> {
    let none = Table::new(&[], &[]);
    let answer = |(i, events): (usize, &&[EventKind])| {
        let cycle = Cycle(100 * i as u64);
        let events: Vec<Seen> = events.iter().map(|&kind| Seen { cycle, kind }).collect();
        let seen = Observation { cycle, interval: 100, sms: none, partitions: none, grid: none, cpus: none, events: &events };
        let mut out = DecisionSet::new(controller.knobs());
        controller.observe(&seen, &mut out);
        out.to_string()
    };
    cuts.iter().enumerate().map(answer).collect()
}
