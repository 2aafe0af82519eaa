//! How long each CTA of a run took: what Oracle knows beforehand.
//!
//! A first run of the same applications without the preempting one, under [`CtaTimes`], records the cycles of every CTA in its timeline. Oracle
//! takes a CTA to end when the share of its cycles has passed that corresponds to the instructions that it has not executed; it knows these
//! because a CTA executes the same ones in every run. What it cannot know is how the other CTAs of a later run slow a CTA down.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::{AppId, CtaIndex, Cycle, KernelIndex};
use crate::control::{Controller, CtaProgress, DecisionSet, EventSelector, Facts, KnobSet, Observation, Trigger};

/// Names of the numbers that [`CtaTimes`] records of a CTA, in this order.
const NAMES: [&str; 4] = ["cta_kernel", "cta_index", "cta_cycles", "cta_instructions"];

/// [`CtaTimes`] has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// Records every CTA that ends in the timeline: launch, index, cycles and warp instructions.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub struct CtaTimes {
    /// The last cut.
    before: Cycle,
}

impl CtaTimes {
    /// The policy's name.
    pub const NAME: &'static str = "cta_times";

    /// The policy.
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

    fn wants_ctas(&self) -> bool {
        true
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        for (sm, progress) in (0..).map(crate::base::SmId).zip(seen.ctas) {
            for gone in progress.gone.iter().filter(|gone| gone.how.is_none() && gone.left >= self.before) {
                let cycles = (gone.left.0 + 1).saturating_sub(gone.started.0);
                let numbers = [f64::from(gone.kernel.0), f64::from(gone.cta.0), cycles as f64, gone.executed as f64];
                NAMES.into_iter().zip(numbers).for_each(|(name, value)| out.signal(Some(sm), name, value));
            }
        }
        self.before = seen.cycle;
    }
}

/// A CTA of a first run: its application, the number of its launch within it, its index, its cycles and its warp instructions.
pub(super) type Row = (u16, u32, u32, f64, f64);

/// How long CTAs took: by the number of their launch within its application and their index.
#[derive(Clone, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct Profile {
    ctas: BTreeMap<(AppId, u32, CtaIndex), (f64, f64)>,
}

impl Profile {
    pub(super) fn new(rows: &[Row]) -> Self {
        let row = |(app, launch, cta, cycles, instructions): &Row| ((AppId(*app), *launch, CtaIndex(*cta)), (*cycles, *instructions));
        Self { ctas: rows.iter().map(row).collect() }
    }

    /// Core cycles until a CTA ends; `None` where it is not known.
    pub(super) fn left(&self, cta: &CtaProgress, facts: &Facts) -> Option<f64> {
        let apps: Vec<AppId> = facts.kernels.iter().map(|kernel| kernel.app).collect();
        let launch = launch(cta.kernel, &apps);
        let (cycles, instructions) = *self.ctas.get(&(launch.0, launch.1, cta.cta))?;
        Some(cycles * (1.0 - cta.executed as f64 / instructions.max(1.0)).max(0.0))
    }
}

/// The application of a kernel, and the number of the launch among its launches; a repeated execution has the numbers of the first one.
fn launch(kernel: KernelIndex, apps: &[AppId]) -> (AppId, u32) {
    let app = apps.get(kernel.index()).copied().unwrap_or(AppId(0));
    let own = |range: &[AppId]| range.iter().filter(|other| **other == app).count();
    let (before, all) = (own(&apps[..kernel.index().min(apps.len())]), own(apps));
    // Kernels that are launched again follow the first ones of all applications, so an application has all of them twice.
    let again = apps.windows(2).any(|pair| pair[1] < pair[0]);
    let once = if again { all / 2 } else { all };
    (app, (before % once.max(1)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_that_are_repeated_have_the_number_of_the_first() {
        let apps: Vec<AppId> = [0, 0, 1, 0, 0, 1].map(AppId).to_vec();
        let numbers: Vec<(u16, u32)> = (0..6).map(|k| launch(KernelIndex(k), &apps)).map(|(app, n)| (app.0, n)).collect();
        assert_eq!(numbers, [(0, 0), (0, 1), (1, 0), (0, 0), (0, 1), (1, 0)]);
        // Nothing is launched again.
        assert_eq!(launch(KernelIndex(1), &apps[..3]), (AppId(0), 1));
    }
}
