//! A controller of the embedding program: the CTA limit of an SM decreases while the SM mostly waits for memory.

use warpshard::base::SmId;
use warpshard::control::{Controller, Decision, DecisionSet, Knob, KnobSet, Observation, Trigger};

/// Controller with one CTA limit per SM.
#[derive(Default, warpshard_state::State)]
pub(crate) struct MemoryWaitLimiter {
    limits: Vec<u32>,
}

impl Controller for MemoryWaitLimiter {
    fn name(&self) -> &str {
        "shed"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Every(1500)]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::CtaLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let most = seen.facts.kernels.iter().map(|kernel| kernel.ctas_per_sm).max().unwrap_or(1);
        let column = |name| seen.sms.column(name).expect("an SM counts this");
        let (issued, waited) = (column("issued"), column("stall_scoreboard_memory"));
        self.limits.resize(seen.sms.rows().len(), most);
        for (sm, (limit, row)) in (0..).zip(self.limits.iter_mut().zip(seen.sms.rows())) {
            let wanted = if row[waited] > row[issued] { limit.saturating_sub(1).max(1) } else { (*limit + 1).min(most) };
            if wanted != *limit {
                out.decide(Decision::CtaLimit { sm: Some(SmId(sm)), limit: wanted });
                *limit = wanted;
            }
        }
    }
}
