//! Dynamic TLP modulation (Section 4.3, Figure 8) on one SM: after each sampling period a CTA more for the kernel that prefers the
//! pipeline whose use has fallen.
//!
//! In: utilisation of the SP pipelines and of the LD/ST pipeline in a period, of the SM and of both kernels. Out: CTAs of both.
//!
//! Our reading where the text is silent: the history after a period is the mean of the history and the period; the first period is the
//! history; of equal trends the SP pipelines are critical; a kernel that runs keeps one CTA; if the kernel has all the CTAs that fit
//! beside one of the other, or its limit, nothing changes. The text says *PUCT* of a kernel where the formula above it is PUHP; it is PUHP here.

use warpshard_control::Resources;

use super::categories::Profile;

/// Utilisation of both kinds of pipelines.
#[derive(Clone, Copy, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct Use {
    /// Of the SP pipelines.
    pub(super) sp: f64,
    /// Of the LD/ST pipeline.
    pub(super) ldst: f64,
}

impl Use {
    fn mean(self, other: Self) -> Self {
        Self { sp: f64::midpoint(self.sp, other.sp), ldst: f64::midpoint(self.ldst, other.ldst) }
    }

    /// PUHP, Equation 4: how much the SP pipelines are preferred.
    fn preference(self) -> f64 {
        ratio(self.sp, self.ldst)
    }
}

/// A quotient that is 1 for 0 over 0.
fn ratio(a: f64, b: f64) -> f64 {
    if a == b { 1.0 } else { a / b }
}

/// What an SM remembers of its sampling periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct History {
    sm: Option<Use>,
    kernels: [Option<Use>; 2],
    /// What profiles say of kernels that have not run here; 0 where they say nothing.
    known: [f64; 2],
}

/// The change that a period calls for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// CTAs of both kernels.
    pub(super) ctas: [u32; 2],
    /// PUCT of the SP pipelines and of the LD/ST pipeline; `None` in the first period.
    pub(super) trend: Option<[f64; 2]>,
    pub(super) why: &'static str,
}

impl History {
    /// Nothing but what profiles say of the kernels' preferences.
    pub(super) fn new(known: [f64; 2]) -> Self {
        Self { known, ..Self::default() }
    }

    /// PUHP of a kernel; of one of which nothing is known 1.
    fn preference(&self, kernel: usize) -> f64 {
        match self.kernels[kernel] {
            Some(seen) => seen.preference(),
            None if self.known[kernel] > 0.0 => self.known[kernel],
            None => 1.0,
        }
    }

    /// Ends a period in which the SM and both kernels used the pipelines so.
    pub(super) fn sampled(&mut self, sm: Use, kernels: [Use; 2], ctas: [u32; 2], pair: [&Profile; 2], room: &Resources) -> Step {
        let before = self.sm;
        self.sm = Some(before.map_or(sm, |before| before.mean(sm)));
        let preferences = [self.preference(0), self.preference(1)];
        for (own, seen) in self.kernels.iter_mut().zip(kernels).filter(|(_, seen)| *seen != Use::default()) {
            *own = Some(own.map_or(seen, |own| own.mean(seen)));
        }
        let Some(before) = before else { return Step { ctas, trend: None, why: "the first period is the history" } };
        let [sp, ldst] = [ratio(sm.sp, before.sp), ratio(sm.ldst, before.ldst)];
        let step = |ctas, why| Step { ctas, trend: Some([sp, ldst]), why };
        if sp > 1.0 && ldst > 1.0 {
            return step(ctas, "both pipelines are used more");
        }
        let sp_is_critical = sp <= ldst;
        let first_prefers_sp = preferences[0] >= preferences[1];
        let raised = usize::from(sp_is_critical != first_prefers_sp);
        let why = if sp_is_critical { "SP is critical" } else { "LD/ST is critical" };
        match raise(ctas, raised, pair, room) {
            Some(ctas) => step(ctas, why),
            None => step(ctas, "the kernel that prefers the critical pipeline has all CTAs that it may have"),
        }
    }
}

/// One CTA more for kernel number `raised`, and as many less for the other as Equation 1 asks for; one of it stays if it had any.
fn raise(ctas: [u32; 2], raised: usize, pair: [&Profile; 2], room: &Resources) -> Option<[u32; 2]> {
    let other = 1 - raised;
    let wanted = ctas[raised] + 1;
    if wanted > pair[raised].limit {
        return None;
    }
    let left = room.hold(&pair[other].needs, &pair[raised].needs, wanted).min(ctas[other]);
    if left < ctas[other].min(1) {
        return None;
    }
    let mut changed = [wanted; 2];
    changed[other] = left;
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::super::categories::tests::{SM, kernel};
    use super::*;

    fn used(sp: f64, ldst: f64) -> Use {
        Use { sp, ldst }
    }

    /// A history of one period with both pipelines half used, by a kernel that prefers SP and one that prefers LD/ST.
    fn history() -> History {
        let mut history = History::new([0.0; 2]);
        let (compute, memory) = (kernel(256, 16, 0, 6, 6), kernel(256, 16, 0, 6, 6));
        let first = history.sampled(used(0.5, 0.5), [used(0.4, 0.1), used(0.1, 0.4)], [3, 3], [&compute, &memory], &SM);
        assert_eq!((first.ctas, first.trend), ([3, 3], None));
        history
    }

    fn next(sm: Use, ctas: [u32; 2]) -> Step {
        let (compute, memory) = (kernel(256, 16, 0, 6, 6), kernel(256, 16, 0, 6, 6));
        history().sampled(sm, [used(0.4, 0.1), used(0.1, 0.4)], ctas, [&compute, &memory], &SM)
    }

    #[test]
    fn nothing_changes_while_both_pipelines_are_used_more() {
        let step = next(used(0.55, 0.6), [3, 3]);
        assert_eq!((step.ctas, step.why), ([3, 3], "both pipelines are used more"));
        assert!(step.trend.unwrap().iter().zip([1.1, 1.2]).all(|(seen, wanted)| (seen - wanted).abs() < 1e-12));
    }

    #[test]
    fn the_kernel_that_prefers_the_critical_pipeline_gets_a_cta() {
        // 1536 threads are six CTAs: the other loses one.
        assert_eq!(next(used(0.3, 0.6), [3, 3]).ctas, [4, 2]);
        assert_eq!(next(used(0.6, 0.3), [3, 3]).ctas, [2, 4]);
        // Both fall: the one that falls more.
        assert_eq!(next(used(0.4, 0.3), [3, 3]).ctas, [2, 4]);
        // Nothing changed is no increase.
        assert_eq!(next(used(0.5, 0.5), [3, 3]).ctas, [4, 2]);
        // There is room for one more.
        assert_eq!(next(used(0.3, 0.6), [3, 1]).ctas, [4, 1]);
    }

    #[test]
    fn a_kernel_that_runs_keeps_a_cta() {
        let step = next(used(0.3, 0.6), [5, 1]);
        assert_eq!((step.ctas, step.why), ([5, 1], "the kernel that prefers the critical pipeline has all CTAs that it may have"));
        assert_eq!(next(used(0.3, 0.6), [5, 0]).ctas, [6, 0]);
        assert_eq!(next(used(0.3, 0.6), [6, 0]).ctas, [6, 0]);
    }

    #[test]
    fn as_many_ctas_leave_as_the_larger_one_needs() {
        let (wide, narrow) = (kernel(512, 16, 0, 3, 3), kernel(128, 16, 0, 8, 8));
        assert_eq!(raise([1, 7], 0, [&wide, &narrow], &SM), Some([2, 4]));
    }

    #[test]
    fn a_kernel_gets_no_more_ctas_than_its_limit() {
        let one = kernel(256, 16, 0, 3, 6);
        let limited = Profile { limit: one.opt, ..one };
        assert_eq!(raise([3, 3], 0, [&one, &one], &SM), Some([4, 2]));
        assert_eq!(raise([3, 3], 0, [&limited, &one], &SM), None);
        assert_eq!(raise([2, 4], 0, [&limited, &one], &SM), Some([3, 3]));
    }

    #[test]
    fn profiles_say_what_a_kernel_prefers_that_has_not_run() {
        let up = kernel(256, 16, 0, 6, 6);
        let step = |known: [f64; 2]| {
            let mut history = History::new(known);
            history.sampled(used(0.5, 0.5), [used(0.5, 0.5), Use::default()], [6, 0], [&up, &up], &SM);
            history.sampled(used(0.5, 0.4), [used(0.5, 0.4), Use::default()], [6, 0], [&up, &up], &SM)
        };
        assert_eq!(step([1.0, 0.2]).ctas, [5, 1], "LD/ST is critical and the second prefers it");
        assert_eq!(step([1.0, 5.0]).ctas, [6, 0]);
    }

    #[test]
    fn the_history_is_the_mean_with_each_period() {
        let mut history = history();
        let up = kernel(256, 16, 0, 6, 6);
        let kernels = [used(0.4, 0.1), used(0.1, 0.4)];
        history.sampled(used(0.7, 0.7), kernels, [3, 3], [&up, &up], &SM);
        let step = history.sampled(used(0.66, 0.3), kernels, [3, 3], [&up, &up], &SM);
        assert_eq!(step.trend, Some([0.66 / 0.6, 0.3 / 0.6]));
    }
}
