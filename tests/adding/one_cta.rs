//! Controller that limits every SM to one CTA from the start of the run.

use serde::Deserialize;

use warpshard_control::{Controller, Decision, DecisionSet, Knob, KnobSet, Observation, Trigger};

use crate::registry::PolicyError;

/// Parameters of [`OneCta`]; it has none.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {}

/// A limit of one CTA per SM.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct OneCta;

impl OneCta {
    /// Name of the policy.
    pub const NAME: &'static str = "0_one_cta";
    /// Names and descriptions of the policy's parameters.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[];

    /// Creates the policy.
    pub fn new(Parameters {}: Parameters) -> Result<Self, PolicyError> {
        Ok(Self)
    }
}

impl Controller for OneCta {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Start]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::CtaLimit])
    }

    fn observe(&mut self, _seen: &Observation<'_>, out: &mut DecisionSet) {
        out.decide(Decision::CtaLimit { sm: None, limit: 1 });
    }
}
