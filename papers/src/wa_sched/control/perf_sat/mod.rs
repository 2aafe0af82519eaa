//! Perf-Sat (Section 4.3): finds, independently on each core, the number of CTAs at which performance saturates.
//!
//! In: per SM the scheduler cycles lost to the scoreboard and to full pipelines, starts and ends of kernels, ends of CTAs.
//! Out: a CTA limit per SM, at the end of each sample.
//!
//! A core starts with half of the CTAs that fit. Its sampling period is the cycles until its first CTA ends, times the CTAs that
//! fit; at the end of each period the search takes one step (`search.rs`). A core whose search has ended keeps its limit
//! until the next kernel starts.

mod search;

use serde::Deserialize;

use warpshard_base::{Cycle, KernelIndex, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, ObservationTable, Trigger};
use warpshard_policy::registry::PolicyError;

use search::{CtaCountSearch, SearchState};

/// Counters whose sum is the "stalled cycle count". A scoreboard stall is a stall "due to dependency from a previous instruction"
/// (4.3.1.3): a register, a barrier, a fence, or the last memory accesses of warps that have otherwise finished. A pipeline stall
/// is a stall for lack of an execution unit. The sum excludes idle schedulers without warps, and warps that wait for instruction fetch
/// or are held back by a limit.
const STALL_COUNTERS: [&str; 8] = [
    "stall_scoreboard_alu",
    "stall_scoreboard_memory",
    "stall_barrier",
    "stall_fence",
    "stall_draining",
    "stall_pipeline",
    "stall_memory_collectors",
    "stall_memory_pipeline",
];

/// The parameters of [`PerfSat`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Factor on the sampling period; 1 in the thesis.
    #[serde(default = "default_period")]
    period: f64,
    /// CTA waves after which a run ends once all searches have ended; 0 for a run that continues.
    #[serde(default)]
    stop_after: u32,
    /// `true` to count core cycles in which all warps of the core are stalled (4.3.1.3: "all the warps are stalled"), not scheduler cycles.
    #[serde(default)]
    whole_core: bool,
}

fn default_period() -> f64 {
    1.0
}

/// Perf-Sat: a CTA limit per core, at the CTA count at which performance saturates.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct PerfSat {
    period: f64,
    whole_core: bool,
    ending: RunEnding,
    cores: Vec<CoreState>,
    columns: Vec<usize>,
}

/// The progress of a run towards its end under `stop_after`.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
enum RunEnding {
    /// The policy does not end the run.
    Never,
    /// A core has not settled yet; `longest` is the longest time of a first CTA, in cycles.
    Searching { waves: u32, longest: u64 },
    /// The run ends after `left` further CTAs, checked at cycle `next` and then every `longest` cycles.
    Settled { left: u64, longest: u64, next: Cycle },
    /// The run is over.
    Over,
}

/// The search of one core.
#[derive(Clone, Debug, warpshard_state::State)]
struct CoreState {
    kernel: KernelIndex,
    search: CtaCountSearch,
    stage: CoreStage,
}

#[derive(Clone, Copy, Debug, warpshard_state::State)]
enum CoreStage {
    /// The kernel has not started.
    Waiting,
    /// The first CTA of the kernel has not ended yet.
    First { begun: Cycle },
    /// A sample is being taken.
    Sample { period: u64, end: Cycle, stalled: u64 },
    /// The search has ended.
    Done,
}

impl PerfSat {
    /// The policy's name.
    pub const NAME: &'static str = "perf_sat";
    /// Names of the policy's parameters with their help texts.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("period", "factor on the sampling period, which is the first CTA's time times the CTAs that fit; 1 by default"),
        ("whole_core", "`true` to count core cycles in which all warps of the SM are stalled, not scheduler cycles; false by default"),
        ("stop_after", "CTA waves after which a run ends once every SM has settled; 0 (never) by default"),
    ];

    /// Creates the policy; fails unless `period` is above 0.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let Parameters { period, stop_after, whole_core } = parameters;
        if !(period > 0.0 && period.is_finite()) {
            return Err(PolicyError::parameters(Self::NAME, format!("`period` = {period}: expected a number above 0")));
        }
        let ending = if stop_after == 0 { RunEnding::Never } else { RunEnding::Searching { waves: stop_after, longest: 1 } };
        Ok(Self { period, whole_core, ending, cores: Vec::new(), columns: Vec::new() })
    }

    /// Restarts the search on every core for `kernel`.
    fn prepare_kernel(&mut self, kernel: KernelIndex, seen: &Observation<'_>, out: &mut DecisionSet) {
        let Some(facts) = seen.facts.kernels.get(kernel.index()) else { return };
        let core = CoreState { kernel, search: CtaCountSearch::new(facts.ctas_per_sm), stage: CoreStage::Waiting };
        let limit = core.search.count();
        self.cores = vec![core; seen.sms.rows().len()];
        let reason = format!("{kernel} begins with half of the {} CTAs that fit", facts.ctas_per_sm);
        out.decide_because(Decision::CtaLimit { sm: None, limit }, reason);
    }

    fn add_counts(&mut self, sms: &ObservationTable<'_>) {
        if self.columns.is_empty() {
            let names = if self.whole_core { &["stalled_core_cycles"] } else { &STALL_COUNTERS[..] };
            self.columns = names.iter().map(|name| sms.column(name).expect("an SM counts its stalls")).collect();
        }
        for (core, row) in self.cores.iter_mut().zip(sms.rows()) {
            if let CoreStage::Sample { stalled, .. } = &mut core.stage {
                *stalled += self.columns.iter().map(|&column| row[column]).sum::<u64>();
            }
        }
    }
}

impl PerfSat {
    /// Counts the CTAs that end after every core has settled, if the run is to end some waves later.
    fn update_ending(&mut self, seen: &Observation<'_>) {
        match &mut self.ending {
            RunEnding::Searching { waves, longest } if self.cores.iter().all(|core| matches!(core.stage, CoreStage::Done)) => {
                let wave: u64 = self.cores.iter().map(|core| u64::from(core.search.count())).sum();
                let (left, longest) = (u64::from(*waves) * wave, *longest);
                self.ending = RunEnding::Settled { left, longest, next: seen.cycle.after(longest) };
            }
            RunEnding::Settled { left, longest, next } => {
                let column = seen.grid.column("ctas_done").expect("the grid scheduler counts CTAs that ended");
                *left = left.saturating_sub(seen.grid.sum(column));
                *next = seen.cycle.after(*longest);
                if *left == 0 {
                    self.ending = RunEnding::Over;
                }
            }
            _ => {}
        }
    }
}

impl CoreState {
    /// Handles the end of a CTA: the time of the core's first CTA determines the length of its samples.
    fn cta_ended(&mut self, kernel: KernelIndex, at: Cycle, now: Cycle, factor: f64, most: u32) {
        if let CoreStage::First { begun } = self.stage
            && kernel == self.kernel
        {
            let period = ((at.0 - begun.0) as f64 * f64::from(most) * factor).ceil().max(1.0) as u64;
            let next = CoreStage::Sample { period, end: now.after(period), stalled: 0 };
            self.stage = if self.search.state() == SearchState::Settled { CoreStage::Done } else { next };
        }
    }

    /// Ends the sample if it is due; returns its CTA count and its stalled cycles.
    fn end_due_sample(&mut self, now: Cycle) -> Option<(u32, u64)> {
        let CoreStage::Sample { period, end, stalled } = self.stage else { return None };
        if end > now {
            return None;
        }
        let count = self.search.count();
        self.search.add_sample(stalled);
        let next = CoreStage::Sample { period, end: now.after(period), stalled: 0 };
        self.stage = if self.search.state() == SearchState::Settled { CoreStage::Done } else { next };
        Some((count, stalled))
    }
}

impl Controller for PerfSat {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        let on = |selector| Trigger::On(selector);
        let mut triggers = vec![Trigger::Start, on(EventSelector::KernelStarted(None)), on(EventSelector::KernelEnded(None))];
        // An SM is observed until its first CTA ends.
        let firsts = (0..).zip(&self.cores).filter(|(_, core)| matches!(core.stage, CoreStage::Waiting | CoreStage::First { .. }));
        triggers.extend(firsts.map(|(sm, _)| on(EventSelector::CtaEnded(Some(SmId(sm))))));
        triggers
    }

    fn alarm(&self) -> Option<Cycle> {
        let end = |core: &CoreState| if let CoreStage::Sample { end, .. } = core.stage { Some(end) } else { None };
        let look = if let RunEnding::Settled { next, .. } = self.ending { Some(next) } else { None };
        self.cores.iter().filter_map(end).chain(look).min()
    }

    fn is_over(&self) -> bool {
        matches!(self.ending, RunEnding::Over)
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::CtaLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        if self.cores.is_empty() {
            self.prepare_kernel(KernelIndex(0), seen, out);
        }
        self.add_counts(&seen.sms);
        for sm in 0..self.cores.len() {
            let core = &mut self.cores[sm];
            let Some((count, stalled)) = core.end_due_sample(seen.cycle) else { continue };
            let sm = SmId(sm as u16);
            out.signal(Some(sm), "stalled_cycles", stalled as f64);
            if core.search.state() == SearchState::Settled {
                out.signal(Some(sm), "settled", f64::from(core.search.count()));
            }
            let reason = format!("{stalled} stalled cycles at {count} CTAs: {}", core.search.state());
            out.decide_because(Decision::CtaLimit { sm: Some(sm), limit: core.search.count() }, reason);
        }
        for event in seen.events {
            match event.kind {
                // The limit is set before the next kernel's CTAs are dispatched.
                EventKind::KernelEnded(kernel) => self.prepare_kernel(KernelIndex(kernel.0 + 1), seen, out),
                EventKind::KernelStarted(kernel) => {
                    if self.cores.first().is_none_or(|core| core.kernel != kernel) {
                        self.prepare_kernel(kernel, seen, out);
                    }
                    self.cores.iter_mut().for_each(|core| core.stage = CoreStage::First { begun: event.cycle });
                }
                EventKind::CtaEnded(sm, kernel) => {
                    let most = seen.facts.kernels.get(kernel.index()).map_or(1, |facts| facts.ctas_per_sm);
                    if let (RunEnding::Searching { longest, .. }, CoreStage::First { begun }) =
                        (&mut self.ending, self.cores[usize::from(sm.0)].stage)
                    {
                        *longest = (*longest).max(event.cycle.0 - begun.0);
                    }
                    self.cores[usize::from(sm.0)].cta_ended(kernel, event.cycle, seen.cycle, self.period, most);
                }
                _ => {}
            }
        }
        self.update_ending(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_policy;
    use warpshard_policy::testing::{CounterTable, Scene};

    const KERNEL: KernelIndex = KernelIndex(0);

    /// A scene of two SMs on which 8 CTAs fit.
    fn example_scene() -> Scene {
        let columns = [&["issued", "stall_no_warps"], &STALL_COUNTERS[..]].concat();
        Scene { sms: CounterTable::named(&columns), ..Scene::with_kernel(1000, 8) }
    }

    fn set_stalls(scene: &mut Scene, of: [u64; 2]) {
        scene.sms.values = of.iter().flat_map(|&stalled| [1000, 1000, 0, stalled - 6, 1, 1, 1, 1, 2, 0]).collect();
    }

    #[test]
    fn a_sample_lasts_as_long_as_the_first_cta_times_the_ctas_that_fit() {
        let (mut scene, mut policy) = (example_scene(), built_policy(PerfSat::NAME, ""));
        set_stalls(&mut scene, [100, 100]);
        let start = scene.cut(&mut *policy, 0, &[]);
        assert_eq!(start, "cta_limit 4 on every SM: kernel 0 begins with half of the 8 CTAs that fit");
        assert_eq!(scene.cut(&mut *policy, 50, &[EventKind::KernelStarted(KERNEL)]), "");
        assert_eq!(policy.alarm(), None);
        scene.cut(&mut *policy, 150, &[EventKind::CtaEnded(SmId(1), KERNEL)]);
        assert_eq!(policy.alarm(), Some(Cycle(150 + 8 * 100)));
        scene.cut(&mut *policy, 160, &[EventKind::CtaEnded(SmId(1), KERNEL), EventKind::CtaEnded(SmId(0), KERNEL)]);
        assert_eq!(policy.alarm(), Some(Cycle(950)), "later CTAs change nothing");
        let sampled = scene.cut(&mut *policy, 950, &[]);
        assert_eq!(sampled, "cta_limit 5 on sm1: 200 stalled cycles at 4 CTAs: weak increase", "what was counted at both cuts");
        assert_eq!(policy.alarm(), Some(Cycle(160 + 8 * 110)));
    }

    #[test]
    fn whole_core_counts_only_cycles_with_all_warps_stalled() {
        let mut policy = built_policy(PerfSat::NAME, "whole_core = true");
        let columns = [&["issued", "stalled_core_cycles", "stall_no_warps"], &STALL_COUNTERS[..]].concat();
        let mut scene = Scene { sms: CounterTable::named(&columns), ..example_scene() };
        scene.sms.values = [[1000, 70, 1000, 9, 9, 9, 9, 9, 9, 9, 9]; 2].concat();
        scene.cut(&mut *policy, 0, &[]);
        scene.cut(&mut *policy, 50, &[EventKind::KernelStarted(KERNEL)]);
        scene.cut(&mut *policy, 150, &[EventKind::CtaEnded(SmId(1), KERNEL)]);
        let sampled = scene.cut(&mut *policy, 950, &[]);
        assert_eq!(sampled, "cta_limit 5 on sm1: 70 stalled cycles at 4 CTAs: weak increase");
    }

    #[test]
    fn cores_search_independently_and_keep_their_result() {
        let (mut scene, mut policy) = (example_scene(), built_policy(PerfSat::NAME, ""));
        let ended = |sm| EventKind::CtaEnded(SmId(sm), KERNEL);
        set_stalls(&mut scene, [6, 6]);
        scene.cut(&mut *policy, 0, &[]);
        scene.cut(&mut *policy, 0, &[EventKind::KernelStarted(KERNEL)]);
        scene.cut(&mut *policy, 10, &[ended(0), ended(1)]);
        // SM 0 stalls less with every CTA. SM 1 stalls more: its search turns, goes down twice, and then up by one.
        let samples = [[100, 100], [90, 110], [80, 90], [70, 95], [60, 96], [50, 7], [40, 7]];
        let limits: Vec<String> = (1..)
            .zip(samples)
            .map(|(i, of)| {
                set_stalls(&mut scene, of);
                scene.cut(&mut *policy, 10 + 80 * i, &[])
            })
            .collect();
        let words = |text: &str| text.split("; ").map(|part| part.split(" on ").next().unwrap_or_default().to_owned()).collect::<Vec<_>>();
        assert_eq!(words(&limits[2]), ["cta_limit 6", "cta_limit 3"]);
        assert!(limits[4].contains("cta_limit 4 on sm1: 96 stalled cycles at 3 CTAs: settled"), "{}", limits[4]);
        assert_eq!(words(&limits[5]), ["cta_limit 8"], "a core that has settled is left alone");
        let next = scene.cut(&mut *policy, 5000, &[EventKind::KernelEnded(KERNEL)]);
        assert_eq!(next, "", "there is no further kernel");
    }

    #[test]
    fn a_run_ends_some_waves_after_the_last_core_has_settled() {
        let mut scene = Scene { grid: CounterTable::named(&["ctas_done"]), ..example_scene() };
        let mut policy = built_policy(PerfSat::NAME, "stop_after = 2");
        scene.facts.kernels[0].ctas_per_sm = 2;
        set_stalls(&mut scene, [100, 100]);
        scene.grid.values = vec![0];
        scene.cut(&mut *policy, 0, &[]);
        scene.cut(&mut *policy, 0, &[EventKind::KernelStarted(KERNEL)]);
        scene.cut(&mut *policy, 30, &[EventKind::CtaEnded(SmId(0), KERNEL), EventKind::CtaEnded(SmId(1), KERNEL)]);
        // Both cores try 2 CTAs, and both samples there are lower.
        for (at, stalled) in [(90, 100), (150, 80), (210, 60)] {
            set_stalls(&mut scene, [stalled, stalled]);
            scene.cut(&mut *policy, at, &[]);
        }
        assert!(!policy.is_over());
        assert_eq!(policy.alarm(), Some(Cycle(240)), "settled at 2 CTAs on 2 cores; a look every 30 cycles");
        scene.grid.values = vec![5];
        scene.cut(&mut *policy, 240, &[]);
        assert_eq!((policy.is_over(), policy.alarm()), (false, Some(Cycle(270))), "5 of 2 x 4 CTAs");
        scene.grid.values = vec![3];
        scene.cut(&mut *policy, 270, &[]);
        assert_eq!((policy.is_over(), policy.alarm()), (true, None));
    }

    #[test]
    fn a_factor_below_zero_is_rejected() {
        let error = PerfSat::new(Parameters { period: -1.0, stop_after: 0, whole_core: false }).unwrap_err().to_string();
        assert_eq!(error, "policy `perf_sat`: `period` = -1: expected a number above 0");
    }
}
