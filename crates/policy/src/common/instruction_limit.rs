//! `--max-instructions`: ends a run after some work, to compare machines on equal work.
//!
//! In: the thread instructions of all SMs, every [`InstructionLimit::EVERY`] core cycles. Out: the end of the run.

use warpshard_control::{Controller, DecisionSet, KnobSet, Observation, Trigger};

/// Ends a run at the first of its observations by which enough thread instructions have been issued.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct InstructionLimit {
    #[state(fixed)]
    limit: u64,
    issued: u64,
}

impl InstructionLimit {
    /// Core cycles between two observations.
    pub const EVERY: u64 = 1_000;

    /// A limit of so many thread instructions.
    pub fn new(limit: u64) -> Self {
        Self { limit, issued: 0 }
    }
}

impl Controller for InstructionLimit {
    fn name(&self) -> &str {
        "max_instructions"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Every(Self::EVERY)]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::default()
    }

    fn is_over(&self) -> bool {
        self.issued >= self.limit
    }

    fn observe(&mut self, seen: &Observation<'_>, _: &mut DecisionSet) {
        let column = seen.sms.column("thread_instructions");
        self.issued += column.map_or(0, |column| seen.sms.sum(column));
    }
}
