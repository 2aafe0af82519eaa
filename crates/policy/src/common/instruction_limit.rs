//! `--max-instructions`: ends a run after a number of instructions, to compare machines on equal work.
//!
//! Inputs: the thread instructions of all SMs, every [`InstructionLimit::CHECK_PERIOD_CYCLES`] core cycles. Decision: the end of the run.

use warpshard_control::{Controller, DecisionSet, KnobSet, Observation, Trigger};

/// Ends a run at the first observation at which enough thread instructions have been issued.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct InstructionLimit {
    #[state(fixed)]
    limit: u64,
    issued: u64,
}

impl InstructionLimit {
    /// Core cycles between two observations.
    pub const CHECK_PERIOD_CYCLES: u64 = 1_000;

    /// Creates a limit of `limit` thread instructions.
    pub fn new(limit: u64) -> Self {
        Self { limit, issued: 0 }
    }
}

impl Controller for InstructionLimit {
    fn name(&self) -> &str {
        "max_instructions"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Every(Self::CHECK_PERIOD_CYCLES)]
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
