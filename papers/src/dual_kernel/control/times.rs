//! The duration of each CTA of a run.

use serde::Deserialize;

use warpshard_base::{Cycle, SmId};
use warpshard_control::{Controller, DecisionSet, EventSelector, KnobSet, Observation, Trigger};

/// Names of the signals that [`CtaTimes`] records per CTA, in this order.
const SIGNAL_NAMES: [&str; 4] = ["cta_kernel", "cta_index", "cta_cycles", "cta_instructions"];
/// Signals per CTA in the timeline.
pub const SIGNALS_PER_CTA: usize = SIGNAL_NAMES.len();

/// The empty parameters of [`CtaTimes`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// A policy that records launch, index, cycles and warp instructions of every ended CTA in the timeline.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub struct CtaTimes {
    /// Cycle of the previous cut.
    before: Cycle,
}

impl CtaTimes {
    /// The name of the policy.
    pub const NAME: &'static str = "cta_times";

    /// Creates the policy.
    pub fn new(NoParameters {}: NoParameters) -> Self {
        Self::default()
    }
}

impl Controller for CtaTimes {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::On(EventSelector::CtaEnded(None))]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[])
    }

    fn reads_ctas(&self) -> bool {
        true
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        for (sm, progress) in (0..).map(SmId).zip(seen.ctas) {
            for gone in progress.gone.iter().filter(|gone| gone.how.is_none() && gone.left >= self.before) {
                let cycles = (gone.left.0 + 1).saturating_sub(gone.started.0);
                let numbers = [f64::from(gone.kernel.0), f64::from(gone.cta.0), cycles as f64, gone.executed as f64];
                SIGNAL_NAMES.into_iter().zip(numbers).for_each(|(name, value)| out.signal(Some(sm), name, value));
            }
        }
        self.before = seen.cycle;
    }
}
