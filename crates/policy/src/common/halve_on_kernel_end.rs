//! Halves every SM's CTA limit whenever a kernel ends: a minimal policy that reacts to events.
//!
//! Inputs: ends of kernels. Decisions: the limits `start`, `start / 2`, `start / 4` and so on, but not below `least`.

use serde::Deserialize;

use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, Trigger};

use crate::registry::PolicyError;

/// The parameters of [`HalveOnKernelEnd`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// CTAs per SM from the start of the run.
    start: u32,
    /// The smallest CTA limit.
    #[serde(default = "default_least")]
    least: u32,
}

fn default_least() -> u32 {
    1
}

/// Halves every SM's CTA limit whenever a kernel ends.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct HalveOnKernelEnd {
    limit: u32,
    least: u32,
    begun: bool,
}

impl HalveOnKernelEnd {
    /// Name of the policy.
    pub const NAME: &'static str = "halve_on_kernel_end";
    /// Parameters of the policy.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] =
        &[("start", "CTAs per SM from the start of the run"), ("least", "the smallest limit; 1 when not given")];

    /// Creates the policy; the smallest limit must be at least 1 and at most the first limit.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let Parameters { start, least } = parameters;
        if least == 0 || start < least {
            let problem = format!("`start` = {start} and `least` = {least}: `least` is at least 1 and at most `start`");
            return Err(PolicyError::parameters(Self::NAME, problem));
        }
        Ok(Self { limit: start, least, begun: false })
    }
}

impl Controller for HalveOnKernelEnd {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Start, Trigger::On(EventSelector::KernelEnded(None))]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::CtaLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let before = self.limit;
        let mut reason = String::from("the run starts");
        for event in seen.events {
            if let EventKind::KernelEnded(kernel) = event.kind {
                self.limit = (self.limit / 2).max(self.least);
                reason = format!("{kernel} ended");
            }
        }
        if !self.begun || self.limit != before {
            out.decide(Decision::CtaLimit { sm: None, limit: self.limit });
            out.because(reason);
        }
        self.begun = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{built_policy, decisions_at_cuts};
    use warpshard_base::KernelIndex;

    #[test]
    fn each_end_of_a_kernel_halves_the_limit_down_to_the_least() {
        let mut policy = built_policy(HalveOnKernelEnd::NAME, "start = 9\nleast = 2");
        let ended = |kernel| EventKind::KernelEnded(KernelIndex(kernel));
        let other = EventKind::KernelStarted(KernelIndex(1));
        assert_eq!(
            decisions_at_cuts(&mut *policy, &[&[], &[ended(0), other], &[other], &[ended(1)], &[ended(2)]]),
            [
                "cta_limit 9 on every SM: the run starts",
                "cta_limit 4 on every SM: kernel 0 ended",
                "",
                "cta_limit 2 on every SM: kernel 1 ended",
                ""
            ]
        );
    }
}
