//! Switches every SM between two CTA limits after a number of ended CTAs. Its decisions are frequent and their cycles depend only on the
//! simulated machine, so tests of determinism use it.
//!
//! Inputs: ends of CTAs. Decisions: the limit `high` from the start, then `low`, `high`, `low` at every `ctas`-th end.

use serde::Deserialize;

use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, Trigger};

use crate::registry::PolicyError;

/// The parameters of [`Alternate`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// CTAs per SM from the start of the run, and after every second switch.
    high: u32,
    /// CTAs per SM after the other switches.
    low: u32,
    /// Ended CTAs between two switches.
    #[serde(default = "default_ctas")]
    ctas: u64,
}

fn default_ctas() -> u64 {
    16
}

/// Switches every SM between two CTA limits after a number of ended CTAs.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Alternate {
    #[state(fixed)]
    parameters: Parameters,
    begun: bool,
    ended: u64,
}

impl Alternate {
    /// Name of the policy.
    pub const NAME: &'static str = "alternate";
    /// Parameters of the policy.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("high", "CTAs per SM from the start of the run and after every second switch"),
        ("low", "CTAs per SM after the other switches"),
        ("ctas", "ended CTAs between two switches; 16 when not given"),
    ];

    /// Creates the policy: `low` must be at least 1 and at most `high`, `ctas` at least 1.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let Parameters { high, low, ctas } = parameters;
        let wrong = |problem: String| Err(PolicyError::parameters(Self::NAME, problem));
        if low == 0 {
            return wrong("`low` = 0 would stop all work; expected at least 1".to_owned());
        }
        if low > high {
            return wrong(format!("`low` = {low} is above `high` = {high}"));
        }
        if ctas == 0 {
            return wrong("`ctas` = 0 would switch endlessly; expected at least 1".to_owned());
        }
        Ok(Self { parameters, begun: false, ended: 0 })
    }

    fn limit(&self) -> u32 {
        let switches = self.ended / self.parameters.ctas;
        if switches.is_multiple_of(2) { self.parameters.high } else { self.parameters.low }
    }
}

impl Controller for Alternate {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Start, Trigger::On(EventSelector::CtaEnded(None))]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::CtaLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let before = self.limit();
        self.ended += seen.events.iter().filter(|event| matches!(event.kind, EventKind::CtaEnded(..))).count() as u64;
        if !self.begun || self.limit() != before {
            out.decide(Decision::CtaLimit { sm: None, limit: self.limit() });
            out.because(format!("{} CTAs ended", self.ended));
        }
        self.begun = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{built_policy, decisions_at_cuts};
    use warpshard_base::{KernelIndex, SmId};

    #[test]
    fn the_limit_switches_at_every_nth_end_of_a_cta() {
        let mut policy = built_policy(Alternate::NAME, "high = 4\nlow = 2\nctas = 3");
        let ended = EventKind::CtaEnded(SmId(0), KernelIndex(0));
        assert_eq!(
            decisions_at_cuts(&mut *policy, &[&[], &[ended], &[ended, ended], &[ended; 3]]),
            ["cta_limit 4 on every SM: 0 CTAs ended", "", "cta_limit 2 on every SM: 3 CTAs ended", "cta_limit 4 on every SM: 6 CTAs ended"]
        );
    }
}
