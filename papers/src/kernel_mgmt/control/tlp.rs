//! Dynamic TLP modulation (Section 4.3, Figure 8) on one SM: after each sampling period the kernel that prefers the pipeline with falling
//! utilisation gets one more CTA.
//!
//! In: utilisation of the SP pipelines and of the LD/ST pipeline in a period, for the SM and for both kernels. Out: CTAs of both kernels.
//!
//! Our reading where the text is silent: the history after a period is the mean of the history and the period; the first period is the
//! history; with equal trends the SP pipelines are critical; a running kernel keeps one CTA; nothing changes if the kernel has reached its
//! limit or has all CTAs that fit beside one CTA of the other kernel. The text compares the *PUCT* of a kernel where the formula above it
//! has PUHP; this controller uses PUHP.

use warpshard_control::Resources;

use super::categories::KernelProfile;

/// Utilisation of both kinds of pipelines.
#[derive(Clone, Copy, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct Utilisation {
    /// Utilisation of the SP pipelines.
    pub(super) sp: f64,
    /// Utilisation of the LD/ST pipeline.
    pub(super) ldst: f64,
}

impl Utilisation {
    fn mean_with(self, other: Self) -> Self {
        Self { sp: f64::midpoint(self.sp, other.sp), ldst: f64::midpoint(self.ldst, other.ldst) }
    }

    /// Returns PUHP (Equation 4): the utilisation of the SP pipelines over the utilisation of the LD/ST pipeline.
    fn preference(self) -> f64 {
        ratio(self.sp, self.ldst)
    }
}

/// Returns a quotient; equal operands, 0 over 0 included, give 1.
fn ratio(a: f64, b: f64) -> f64 {
    if a == b { 1.0 } else { a / b }
}

/// The utilisation history of an SM and of both kernels on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct UtilisationHistory {
    sm: Option<Utilisation>,
    kernels: [Option<Utilisation>; 2],
    /// Preferences from the profiles, for kernels without a history here; 0 if unknown.
    profile_preferences: [f64; 2],
}

/// The decision after a sampling period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TlpDecision {
    /// CTAs of both kernels in the next period.
    pub(super) ctas: [u32; 2],
    /// PUCT of the SP pipelines and of the LD/ST pipeline; `None` in the first period.
    pub(super) trend: Option<[f64; 2]>,
    pub(super) reason: &'static str,
}

impl UtilisationHistory {
    /// Creates an empty history with the preferences from the profiles.
    pub(super) fn new(known: [f64; 2]) -> Self {
        Self { profile_preferences: known, ..Self::default() }
    }

    /// Returns the PUHP of a kernel from its history or its profile; 1 without either.
    fn preference(&self, kernel: usize) -> f64 {
        match self.kernels[kernel] {
            Some(seen) => seen.preference(),
            None if self.profile_preferences[kernel] > 0.0 => self.profile_preferences[kernel],
            None => 1.0,
        }
    }

    /// Ends a period with this utilisation of the SM and of both kernels; returns the decision for the next period.
    pub(super) fn end_period(&mut self, sm: Utilisation, kernels: [Utilisation; 2], ctas: [u32; 2], pair: [&KernelProfile; 2], room: &Resources) -> TlpDecision {
        let before = self.sm;
        self.sm = Some(before.map_or(sm, |before| before.mean_with(sm)));
        let preferences = [self.preference(0), self.preference(1)];
        for (own, seen) in self.kernels.iter_mut().zip(kernels).filter(|(_, seen)| *seen != Utilisation::default()) {
            *own = Some(own.map_or(seen, |own| own.mean_with(seen)));
        }
        let Some(before) = before else { return TlpDecision { ctas, trend: None, reason: "the first period is the history" } };
        let [sp, ldst] = [ratio(sm.sp, before.sp), ratio(sm.ldst, before.ldst)];
        let step = |ctas, why| TlpDecision { ctas, trend: Some([sp, ldst]), reason: why };
        if sp > 1.0 && ldst > 1.0 {
            return step(ctas, "both pipelines are used more");
        }
        let sp_is_critical = sp <= ldst;
        let first_prefers_sp = preferences[0] >= preferences[1];
        let raised = usize::from(sp_is_critical != first_prefers_sp);
        let why = if sp_is_critical { "SP is critical" } else { "LD/ST is critical" };
        match move_cta(ctas, raised, pair, room) {
            Some(ctas) => step(ctas, why),
            None => step(ctas, "the kernel that prefers the critical pipeline is at its limit"),
        }
    }
}

/// Adds one CTA to kernel `raised` and removes as many CTAs of the other kernel as Equation 1 requires; the other keeps one CTA if it had
/// any. Returns `None` if this is not possible.
fn move_cta(ctas: [u32; 2], raised: usize, pair: [&KernelProfile; 2], room: &Resources) -> Option<[u32; 2]> {
    let other = 1 - raised;
    let wanted = ctas[raised] + 1;
    if wanted > pair[raised].limit {
        return None;
    }
    let left = room.fitting_ctas(&pair[other].needs, &pair[raised].needs, wanted).min(ctas[other]);
    if left < ctas[other].min(1) {
        return None;
    }
    let mut changed = [wanted; 2];
    changed[other] = left;
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::super::categories::tests::{TABLE_II_SM, kernel_profile};
    use super::*;

    fn example_utilisation(sp: f64, ldst: f64) -> Utilisation {
        Utilisation { sp, ldst }
    }

    /// Returns a history of one period with both pipelines half utilised, by a kernel that prefers SP and a kernel that prefers LD/ST.
    fn example_history() -> UtilisationHistory {
        let mut history = UtilisationHistory::new([0.0; 2]);
        let (compute, memory) = (kernel_profile(256, 16, 0, 6, 6), kernel_profile(256, 16, 0, 6, 6));
        let first = history.end_period(example_utilisation(0.5, 0.5), [example_utilisation(0.4, 0.1), example_utilisation(0.1, 0.4)], [3, 3], [&compute, &memory], &TABLE_II_SM);
        assert_eq!((first.ctas, first.trend), ([3, 3], None));
        history
    }

    fn next_decision(sm: Utilisation, ctas: [u32; 2]) -> TlpDecision {
        let (compute, memory) = (kernel_profile(256, 16, 0, 6, 6), kernel_profile(256, 16, 0, 6, 6));
        example_history().end_period(sm, [example_utilisation(0.4, 0.1), example_utilisation(0.1, 0.4)], ctas, [&compute, &memory], &TABLE_II_SM)
    }

    #[test]
    fn nothing_changes_while_both_pipelines_are_used_more() {
        let step = next_decision(example_utilisation(0.55, 0.6), [3, 3]);
        assert_eq!((step.ctas, step.reason), ([3, 3], "both pipelines are used more"));
        assert!(step.trend.unwrap().iter().zip([1.1, 1.2]).all(|(seen, wanted)| (seen - wanted).abs() < 1e-12));
    }

    #[test]
    fn the_kernel_that_prefers_the_critical_pipeline_gets_a_cta() {
        // 1536 threads are six CTAs, so the other kernel loses one.
        assert_eq!(next_decision(example_utilisation(0.3, 0.6), [3, 3]).ctas, [4, 2]);
        assert_eq!(next_decision(example_utilisation(0.6, 0.3), [3, 3]).ctas, [2, 4]);
        // If both utilisations fall, the pipeline with the larger fall is critical.
        assert_eq!(next_decision(example_utilisation(0.4, 0.3), [3, 3]).ctas, [2, 4]);
        // An unchanged utilisation is not an increase.
        assert_eq!(next_decision(example_utilisation(0.5, 0.5), [3, 3]).ctas, [4, 2]);
        // The SM has space for one more CTA.
        assert_eq!(next_decision(example_utilisation(0.3, 0.6), [3, 1]).ctas, [4, 1]);
    }

    #[test]
    fn a_kernel_that_runs_keeps_a_cta() {
        let step = next_decision(example_utilisation(0.3, 0.6), [5, 1]);
        assert_eq!((step.ctas, step.reason), ([5, 1], "the kernel that prefers the critical pipeline is at its limit"));
        assert_eq!(next_decision(example_utilisation(0.3, 0.6), [5, 0]).ctas, [6, 0]);
        assert_eq!(next_decision(example_utilisation(0.3, 0.6), [6, 0]).ctas, [6, 0]);
    }

    #[test]
    fn one_larger_cta_replaces_several_smaller_ctas() {
        let (wide, narrow) = (kernel_profile(512, 16, 0, 3, 3), kernel_profile(128, 16, 0, 8, 8));
        assert_eq!(move_cta([1, 7], 0, [&wide, &narrow], &TABLE_II_SM), Some([2, 4]));
    }

    #[test]
    fn a_kernel_gets_no_more_ctas_than_its_limit() {
        let one = kernel_profile(256, 16, 0, 3, 6);
        let limited = KernelProfile { limit: one.opt, ..one };
        assert_eq!(move_cta([3, 3], 0, [&one, &one], &TABLE_II_SM), Some([4, 2]));
        assert_eq!(move_cta([3, 3], 0, [&limited, &one], &TABLE_II_SM), None);
        assert_eq!(move_cta([2, 4], 0, [&limited, &one], &TABLE_II_SM), Some([3, 3]));
    }

    #[test]
    fn profiles_give_the_preference_of_a_kernel_that_has_not_run() {
        let up = kernel_profile(256, 16, 0, 6, 6);
        let step = |known: [f64; 2]| {
            let mut history = UtilisationHistory::new(known);
            history.end_period(example_utilisation(0.5, 0.5), [example_utilisation(0.5, 0.5), Utilisation::default()], [6, 0], [&up, &up], &TABLE_II_SM);
            history.end_period(example_utilisation(0.5, 0.4), [example_utilisation(0.5, 0.4), Utilisation::default()], [6, 0], [&up, &up], &TABLE_II_SM)
        };
        assert_eq!(step([1.0, 0.2]).ctas, [5, 1], "LD/ST is critical and the second prefers it");
        assert_eq!(step([1.0, 5.0]).ctas, [6, 0]);
    }

    #[test]
    fn the_history_is_the_mean_with_each_period() {
        let mut history = example_history();
        let up = kernel_profile(256, 16, 0, 6, 6);
        let kernels = [example_utilisation(0.4, 0.1), example_utilisation(0.1, 0.4)];
        history.end_period(example_utilisation(0.7, 0.7), kernels, [3, 3], [&up, &up], &TABLE_II_SM);
        let step = history.end_period(example_utilisation(0.66, 0.3), kernels, [3, 3], [&up, &up], &TABLE_II_SM);
        assert_eq!(step.trend, Some([0.66 / 0.6, 0.3 / 0.6]));
    }
}
