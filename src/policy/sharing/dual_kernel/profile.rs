//! How each CTA of a run went on: what Oracle knows beforehand.
//!
//! A first run of the same applications without the preempting one, under [`CtaTimes`], records for every CTA in how many cycles it had executed each
//! [`PARTS`]th of its instructions, and in how many it ended. Oracle takes a CTA to need the cycles that it needed there from the same number of
//! executed instructions on; it knows these because a CTA executes the same ones in every run. What it cannot know is how the other CTAs of a
//! later run slow a CTA down.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::{AppId, CtaIndex, Cycle, KernelIndex, SmId};
use crate::control::{Controller, CtaProgress, DecisionSet, EventSelector, Facts, KnobSet, Observation, Trigger};

/// Names of the numbers that [`CtaTimes`] records of a CTA, in this order; the last is followed by one for each part of its instructions.
const NAMES: [&str; 4] = ["cta_kernel", "cta_index", "cta_cycles", "cta_instructions"];
/// Name of the cycles in which a CTA had executed one, two, ... parts of its instructions.
const PROGRESS: &str = "cta_progress";
/// Parts of a CTA's instructions.
const PARTS: usize = 16;
/// Numbers of a CTA in the timeline.
pub const NUMBERS: usize = NAMES.len() + PARTS;
/// Core cycles between two looks at the progress of all CTAs.
const PERIOD: u64 = 100;

/// [`CtaTimes`] has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// Records every CTA that ends in the timeline: launch, index, cycles, warp instructions and progress.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub struct CtaTimes {
    /// The last cut.
    before: Cycle,
    /// The next look.
    next: Cycle,
    /// Of each resident CTA: cycles since its start, and what it had executed then.
    seen: BTreeMap<(SmId, KernelIndex, CtaIndex), Vec<(u64, u64)>>,
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

    fn alarm(&self) -> Option<Cycle> {
        Some(self.next)
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[])
    }

    fn wants_ctas(&self) -> bool {
        true
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        for (sm, progress) in (0..).map(SmId).zip(seen.ctas) {
            for gone in progress.gone.iter().filter(|gone| gone.how.is_none() && gone.left >= self.before) {
                let cycles = (gone.left.0 + 1).saturating_sub(gone.started.0);
                let numbers = [f64::from(gone.kernel.0), f64::from(gone.cta.0), cycles as f64, gone.executed as f64];
                let mut samples = self.seen.remove(&(sm, gone.kernel, gone.cta)).unwrap_or_default();
                samples.push((cycles, gone.executed));
                let parts = (1..=PARTS).map(|part| cycles_of(gone.executed as f64 * part as f64 / PARTS as f64, &samples));
                NAMES.into_iter().zip(numbers).for_each(|(name, value)| out.signal(Some(sm), name, value));
                parts.for_each(|cycles| out.signal(Some(sm), PROGRESS, cycles));
            }
            for cta in &progress.resident {
                let cycles = seen.cycle.0.saturating_sub(cta.started.0);
                self.seen.entry((sm, cta.kernel, cta.cta)).or_default().push((cycles, cta.executed));
            }
        }
        self.before = seen.cycle;
        self.next = seen.cycle.after(PERIOD);
    }
}

/// The cycles after which so many instructions were executed, between two `samples` in proportion. A CTA begins with none in cycle 0.
fn cycles_of(executed: f64, samples: &[(u64, u64)]) -> f64 {
    let at = samples.partition_point(|sample| (sample.1 as f64) < executed);
    let before = at.checked_sub(1).map_or((0, 0), |at| samples[at]);
    let Some(after) = samples.get(at) else { return before.0 as f64 };
    let instructions = (after.1 - before.1).max(1) as f64;
    before.0 as f64 + (after.0 - before.0) as f64 * (executed - before.1 as f64) / instructions
}

/// A CTA of a first run: its application, the number of its launch within it, its index, its cycles, its warp instructions, and the cycles in which
/// it had executed each part of these; parts are equal.
pub(super) type Row = (u16, u32, u32, f64, f64, Vec<f64>);

/// What is known of a CTA.
#[derive(Clone, Debug, Default, PartialEq, warpshard_state::State)]
struct Course {
    cycles: f64,
    instructions: f64,
    parts: Vec<f64>,
}

impl Course {
    /// Core cycles until it ends when it has executed so many instructions.
    fn left(&self, executed: f64) -> f64 {
        let parts = self.parts.len().max(1);
        let place = (executed / self.instructions.max(1.0)).clamp(0.0, 1.0) * parts as f64;
        let whole = (place as usize).min(parts - 1);
        // Without parts, the whole is one.
        let after = |part: usize| part.checked_sub(1).map_or(0.0, |part| self.parts.get(part).copied().unwrap_or(self.cycles));
        let passed = after(whole) + (after(whole + 1) - after(whole)) * (place - whole as f64);
        (self.cycles - passed).max(0.0)
    }
}

/// How long CTAs took: by the number of their launch within its application and their index.
#[derive(Clone, Debug, Default, PartialEq, warpshard_state::State)]
pub(super) struct Profile {
    ctas: BTreeMap<(AppId, u32, CtaIndex), Course>,
}

impl Profile {
    pub(super) fn new(rows: &[Row]) -> Self {
        let row = |(app, launch, cta, cycles, instructions, parts): &Row| {
            ((AppId(*app), *launch, CtaIndex(*cta)), Course { cycles: *cycles, instructions: *instructions, parts: parts.clone() })
        };
        Self { ctas: rows.iter().map(row).collect() }
    }

    /// Core cycles until a CTA ends; `None` where it is not known.
    pub(super) fn left(&self, cta: &CtaProgress, facts: &Facts) -> Option<f64> {
        let apps: Vec<AppId> = facts.kernels.iter().map(|kernel| kernel.app).collect();
        let launch = launch(cta.kernel, &apps);
        Some(self.ctas.get(&(launch.0, launch.1, cta.cta))?.left(cta.executed as f64))
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
    fn a_cta_needs_what_it_needed_from_the_same_instruction_on() {
        // Half of its 100 instructions in the first 10 of 200 cycles, and after the last of them 40 cycles for its stores.
        let course = Course { cycles: 200.0, instructions: 100.0, parts: vec![10.0, 160.0] };
        let left = [0.0, 25.0, 50.0, 75.0, 100.0, 120.0].map(|executed| course.left(executed));
        assert_eq!(left, [200.0, 195.0, 190.0, 115.0, 40.0, 40.0]);
        // Of one whose parts are not known, in proportion.
        assert_eq!(Course { parts: Vec::new(), ..course }.left(75.0), 50.0);
    }

    #[test]
    fn parts_lie_between_the_looks_at_a_cta_in_proportion() {
        let samples = [(100, 10), (200, 10), (300, 50), (340, 50)];
        let cycles = [5.0, 10.0, 30.0, 50.0].map(|executed| cycles_of(executed, &samples));
        assert_eq!(cycles, [50.0, 100.0, 250.0, 300.0]);
    }

    #[test]
    fn launches_that_are_repeated_have_the_number_of_the_first() {
        let apps: Vec<AppId> = [0, 0, 1, 0, 0, 1].map(AppId).to_vec();
        let numbers: Vec<(u16, u32)> = (0..6).map(|k| launch(KernelIndex(k), &apps)).map(|(app, n)| (app.0, n)).collect();
        assert_eq!(numbers, [(0, 0), (0, 1), (1, 0), (0, 0), (0, 1), (1, 0)]);
        // Nothing is launched again.
        assert_eq!(launch(KernelIndex(1), &apps[..3]), (AppId(0), 1));
    }
}
