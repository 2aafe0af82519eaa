//! LCS (Lee et al., "Improving GPGPU resource utilization through alternative thread block scheduling", HPCA 2014), as the thesis
//! summarises it (end of 4.3.4.2): estimates the number of CTAs that an SM needs from its first CTA.
//!
//! In: per SM the instructions issued, and the instructions of CTAs that ended. Out: a CTA limit per SM, once per kernel.
//!
//! An SM begins with all CTAs that fit, under a greedy scheduler. When its first CTA ends, the others have executed the work
//! that hides its latency, so the limit is the instructions issued by then divided by the instructions of the first CTA, rounded down.
//! (The thesis prints the inverse quotient, times the CTAs that fit. That quotient would give the highest limit to the SM that needs
//! the fewest CTAs, and it contradicts the thesis's explanation.)

use serde::Deserialize;

use warpshard_base::{KernelIndex, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, Trigger};
use warpshard_policy::registry::PolicyError;

/// Counters of an SM: instructions issued, CTAs that ended, and the instructions of the ended CTAs.
const COUNTER_NAMES: [&str; 3] = ["warp_instructions", "ctas_ended", "ended_cta_instructions"];

/// The parameters of [`Lcs`], which has none.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {}

/// LCS: a CTA limit from the instructions that an SM issued until its first CTA ended.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Lcs {
    kernel: KernelIndex,
    cores: Vec<CoreCounts>,
    columns: Vec<usize>,
}

/// Counts of one SM since the start of the kernel.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct CoreCounts {
    counts: [u64; COUNTER_NAMES.len()],
    is_limited: bool,
}

impl CoreCounts {
    /// Returns the number of CTAs that suffices, from 1 to `most`; `None` before a CTA has ended.
    fn estimated_ctas(&self, most: u32) -> Option<u32> {
        let [issued, ctas, instructions] = self.counts;
        // Other CTAs may end within the latency of the first CTA's event; the mean over all of them stands in for the first CTA.
        (issued * ctas).checked_div(instructions).map(|enough| u32::try_from(enough).unwrap_or(most).clamp(1, most))
    }
}

impl Lcs {
    /// The policy's name.
    pub const NAME: &'static str = "lcs";
    /// The policy's parameters: none.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[];

    /// Creates the policy.
    ///
    /// # Errors
    /// None; all policies have this signature.
    pub fn new(Parameters {}: Parameters) -> Result<Self, PolicyError> {
        Ok(Self { kernel: KernelIndex(0), cores: Vec::new(), columns: Vec::new() })
    }

    /// Sets the limit of every SM to all CTAs of `kernel` that fit.
    fn prepare_kernel(&mut self, kernel: KernelIndex, seen: &Observation<'_>, out: &mut DecisionSet) {
        let Some(facts) = seen.facts.kernels.get(kernel.index()) else { return };
        self.kernel = kernel;
        self.cores = vec![CoreCounts::default(); seen.sms.rows().len()];
        let limit = facts.ctas_per_sm;
        out.decide_because(Decision::CtaLimit { sm: None, limit }, format!("{kernel} begins with the {limit} CTAs that fit"));
    }

    fn add_counts(&mut self, seen: &Observation<'_>) {
        if self.columns.is_empty() {
            self.columns = COUNTER_NAMES.iter().map(|name| seen.sms.column(name).expect("an SM counts what it issues")).collect();
        }
        for (core, row) in self.cores.iter_mut().zip(seen.sms.rows()) {
            core.counts.iter_mut().zip(&self.columns).for_each(|(sum, &column)| *sum += row[column]);
        }
    }
}

impl Controller for Lcs {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        let on = |selector| Trigger::On(selector);
        let mut triggers = vec![Trigger::Start, on(EventSelector::KernelStarted(None)), on(EventSelector::KernelEnded(None))];
        // An SM is observed until its first CTA ends.
        let first = (0..).zip(&self.cores).filter(|(_, core)| !core.is_limited);
        triggers.extend(first.map(|(sm, _)| on(EventSelector::CtaEnded(Some(SmId(sm))))));
        triggers
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::CtaLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.add_counts(seen);
        if self.cores.is_empty() {
            self.prepare_kernel(KernelIndex(0), seen, out);
        }
        for event in seen.events {
            match event.kind {
                EventKind::KernelEnded(kernel) => self.prepare_kernel(KernelIndex(kernel.0 + 1), seen, out),
                EventKind::KernelStarted(kernel) if kernel != self.kernel => self.prepare_kernel(kernel, seen, out),
                EventKind::CtaEnded(sm, kernel) if kernel == self.kernel => {
                    let most = seen.facts.kernels.get(kernel.index()).map_or(1, |facts| facts.ctas_per_sm);
                    let core = &mut self.cores[usize::from(sm.0)];
                    if let (false, Some(limit)) = (core.is_limited, core.estimated_ctas(most)) {
                        core.is_limited = true;
                        let [issued, ctas, instructions] = core.counts;
                        let reason = format!("{issued} instructions issued until {ctas} CTAs of {instructions} ended");
                        out.decide_because(Decision::CtaLimit { sm: Some(sm), limit }, reason);
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_policy;
    use warpshard_policy::testing::{CounterTable, Scene};

    const KERNEL: KernelIndex = KernelIndex(0);

    fn example_scene() -> Scene {
        Scene { sms: CounterTable::named(&COUNTER_NAMES), ..Scene::with_kernel(1000, 8) }
    }

    #[test]
    fn the_limit_is_the_issued_instructions_over_those_of_the_first_cta() {
        let (mut scene, mut policy) = (example_scene(), built_policy(Lcs::NAME, ""));
        scene.sms.values = vec![0; 6];
        assert_eq!(scene.cut(&mut *policy, 0, &[]), "cta_limit 8 on every SM: kernel 0 begins with the 8 CTAs that fit");
        scene.sms.values = vec![1000, 0, 0, 900, 0, 0];
        assert_eq!(scene.cut(&mut *policy, 50, &[EventKind::KernelStarted(KERNEL)]), "");
        scene.sms.values = vec![1500, 1, 700, 100, 0, 0];
        let ended = |sm| EventKind::CtaEnded(SmId(sm), KERNEL);
        let first = scene.cut(&mut *policy, 100, &[ended(0)]);
        assert_eq!(first, "cta_limit 3 on sm0: 2500 instructions issued until 1 CTAs of 700 ended", "2500 / 700 = 3.57");
        assert_eq!(policy.triggers().len(), 4, "SM 0 is left alone: the start, two of kernels, and SM 1");
        scene.sms.values = vec![9000, 9, 6300, 2000, 1, 100];
        let second = scene.cut(&mut *policy, 200, &[ended(0), ended(1)]);
        assert_eq!(second, "cta_limit 8 on sm1: 3000 instructions issued until 1 CTAs of 100 ended", "no more than fit");
    }

    #[test]
    fn ctas_that_end_together_are_averaged_and_the_limit_is_at_least_one() {
        let core = |counted| CoreCounts { counts: counted, is_limited: false };
        assert_eq!(core([4000, 2, 2000]).estimated_ctas(8), Some(4));
        assert_eq!(core([10, 1, 1000]).estimated_ctas(8), Some(1));
        assert_eq!(core([4000, 0, 0]).estimated_ctas(8), None);
    }

    #[test]
    fn each_kernel_begins_with_all_ctas_that_fit() {
        let (mut scene, mut policy) = (example_scene(), built_policy(Lcs::NAME, ""));
        scene.facts.kernels.push(scene.facts.kernels[0].clone());
        scene.sms.values = vec![0; 3];
        scene.cut(&mut *policy, 0, &[]);
        let next = scene.cut(&mut *policy, 500, &[EventKind::KernelEnded(KERNEL)]);
        assert_eq!(next, "cta_limit 8 on every SM: kernel 1 begins with the 8 CTAs that fit");
        assert_eq!(scene.cut(&mut *policy, 510, &[EventKind::KernelStarted(KernelIndex(1))]), "");
    }
}
