//! ONAC and Seq-Det (Section 4.4): find the number of cores that a kernel needs and turn the other cores off.
//!
//! In: starts and ends of CTAs, events of paused SMs that have drained, instructions issued. Out: the power state of every SM.
//!
//! Both sample the IPC with different numbers of active cores. A sample lasts four CTA waves: four times the CTAs that the active
//! cores hold at the same time. Waves are counted, not computed, so a tighter CTA limit makes them smaller. Between
//! samples, cores that are no longer needed are paused, which keeps their CTAs, or paused cores are resumed (4.4.2.5); the other
//! cores keep running, since only a request to pause stops issue. When the number is found, the paused cores finish their CTAs and
//! are power-gated. The two policies differ in the next number that they sample (`estimate.rs`).
//!
//! "The requested cores wait for the instructions in-flight to complete" (4.4.2.4) is taken to mean the instructions in flight
//! when the sample is requested, so that all instructions of the sample were issued with its number of cores. If cores are
//! paused, the sample begins when they have drained; the instructions of the other cores have completed by then, too. If cores are
//! resumed, the sample begins after a delay equal to the drain time of the last pause. The first sample begins immediately, since
//! all cores are active.
//!
//! A kernel whose last CTA is dispatched before the number is found keeps all cores.

mod estimate;

use serde::Deserialize;

use warpshard_base::{Cycle, KernelIndex, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, PowerState, ObservationTable, Trigger};
use warpshard_policy::registry::PolicyError;

use estimate::{Estimator, EstimatorStep};

pub use estimate::CoreSearch;

/// Default length of a sample in CTA waves (Section 4.4.2.4).
const WAVES_PER_SAMPLE: u32 = 4;

/// The parameters of [`CoreGating`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    threshold: f64,
    waves: u32,
    warm: u32,
    gate: bool,
    stop_after: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { threshold: 0.98, waves: WAVES_PER_SAMPLE, warm: 0, gate: true, stop_after: 0 }
    }
}

/// The ONAC or Seq-Det controller.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct CoreGating {
    search: CoreSearch,
    #[state(fixed)]
    parameters: Parameters,
    stage: GatingStage,
    kernel: KernelIndex,
    sms: u32,
    columns: Option<Columns>,
    /// CTAs on each SM at the last cut.
    resident: Vec<u64>,
    /// CTAs that a core held in the last sample.
    per_core: u64,
    /// The cycle at which the first sample began.
    first_sample_at: Cycle,
    /// Cycles that the most recently paused cores took to drain.
    drain_cycles: u64,
}

/// Columns of the counters that the policy reads.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Columns {
    issued: usize,
    started: usize,
    ended: usize,
}

impl Columns {
    fn from_table(sms: &ObservationTable<'_>) -> Self {
        let column = |name| sms.column(name).expect("an SM counts what it issues and its CTAs");
        Self { issued: column("warp_instructions"), started: column("ctas_started"), ended: column("ctas_ended") }
    }
}

#[derive(Clone, Debug, warpshard_state::State)]
enum GatingStage {
    /// No kernel runs.
    Idle,
    /// All cores run until `left` CTAs have ended.
    Warming { left: u64 },
    /// All but `cores` cores are paused; a sample begins when they have drained.
    Pausing { estimator: Estimator, cores: u32, since: Cycle, loud: Vec<bool> },
    /// Paused cores have resumed, and `cores` cores are active; a sample begins when the instructions in flight have completed.
    Resuming { estimator: Estimator, cores: u32, until: Cycle },
    /// `cores` cores are sampled for some waves of their CTAs; `held` is the maximum number of CTAs on each core.
    Sampling { estimator: Estimator, cores: u32, since: Cycle, ended: u64, held: Vec<u64>, instructions: u64 },
    /// The number is found, or the search has ended without a number.
    Settled,
    /// The number is found; the run ends after `left` further CTAs of the first `cores` cores.
    Ending { cores: u32, left: u64 },
    /// The run may end.
    Over,
}

impl CoreGating {
    /// Name of the ONAC policy.
    pub const ONAC_NAME: &'static str = "onac";
    /// Name of the Seq-Det policy.
    pub const SEQ_DET_NAME: &'static str = "seq_det";
    /// Names of the parameters of both policies with their help texts.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("threshold", "share of the IPC with all cores that must be reached; 0.98 by default"),
        ("waves", "CTA waves of a sample; 4 by default"),
        ("warm", "CTA waves before the first sample; 0 by default"),
        ("gate", "`true` to turn unneeded cores off; true by default"),
        ("stop_after", "CTA waves after which a run ends once the number is found; 0 (never) by default"),
    ];

    /// Creates the policy; fails unless the threshold is above 0 and at most 1 and a sample has at least one wave.
    pub fn new(search: CoreSearch, parameters: Parameters) -> Result<Self, PolicyError> {
        let (kernel, begun) = (KernelIndex(0), Cycle(0));
        let policy = Self {
            search,
            parameters,
            stage: GatingStage::Idle,
            kernel,
            sms: 0,
            columns: None,
            resident: Vec::new(),
            per_core: 1,
            first_sample_at: begun,
            drain_cycles: 0,
        };
        let Parameters { threshold, waves, .. } = policy.parameters;
        if !(threshold > 0.0 && threshold <= 1.0) {
            return Err(PolicyError::parameters(policy.policy_name(), format!("`threshold` = {threshold}: expected a share above 0 and at most 1")));
        }
        if waves == 0 {
            return Err(PolicyError::parameters(policy.policy_name(), "`waves` = 0: expected at least 1"));
        }
        Ok(policy)
    }

    fn policy_name(&self) -> &'static str {
        match self.search {
            CoreSearch::Onac => Self::ONAC_NAME,
            CoreSearch::SeqDet => Self::SEQ_DET_NAME,
        }
    }

    fn is_searching(&self) -> bool {
        matches!(self.stage, GatingStage::Warming { .. } | GatingStage::Pausing { .. } | GatingStage::Resuming { .. } | GatingStage::Sampling { .. })
    }

    /// Activates all cores.
    fn activate_all(out: &mut DecisionSet, why: impl Into<String>) {
        out.decide_because(Decision::Power { sm: None, state: PowerState::Active }, why);
    }

    /// Changes from `working` active cores to `cores` for the next sample. Only cores whose state changes receive a decision; the
    /// others keep running while their instructions in flight complete.
    fn change_cores(&mut self, estimator: Estimator, cores: u32, working: u32, why: &str, seen: &Observation<'_>, out: &mut DecisionSet) {
        for sm in cores.min(working)..cores.max(working) {
            let state = if sm < cores { PowerState::Active } else { PowerState::Paused };
            out.decide_because(Decision::Power { sm: Some(SmId(sm as u16)), state }, why);
        }
        if cores < working {
            let loud = (0..self.sms).map(|sm| (cores..working).contains(&sm)).collect();
            self.stage = GatingStage::Pausing { estimator, cores, since: seen.cycle, loud };
        } else if self.drain_cycles > 0 {
            self.stage = GatingStage::Resuming { estimator, cores, until: seen.cycle.after(self.drain_cycles) };
        } else {
            self.begin_sample(estimator, cores, seen, out);
        }
    }

    fn begin_kernel(&mut self, kernel: KernelIndex, seen: &Observation<'_>, out: &mut DecisionSet) {
        if !matches!(self.stage, GatingStage::Idle) {
            Self::activate_all(out, format!("{kernel} starts while another kernel runs"));
        }
        self.kernel = kernel;
        if self.parameters.warm > 0 {
            self.stage = GatingStage::Warming { left: u64::from(self.parameters.warm * self.sms) * u64::from(self.ctas_per_core(seen)) };
        } else {
            self.first_sample(seen, out);
        }
    }

    /// Returns the number of the kernel's CTAs that fit on a core.
    fn ctas_per_core(&self, seen: &Observation<'_>) -> u32 {
        seen.facts.kernels.get(self.kernel.index()).map_or(1, |facts| facts.ctas_per_sm)
    }

    fn first_sample(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.first_sample_at = seen.cycle;
        let estimator = Estimator::new(self.search, self.sms, self.parameters.threshold);
        self.begin_sample(estimator, self.sms, seen, out);
    }

    /// Begins a sample with `cores` active cores.
    fn begin_sample(&mut self, estimator: Estimator, cores: u32, seen: &Observation<'_>, out: &mut DecisionSet) {
        out.signal(None, "sample_begins", f64::from(cores));
        let held = vec![0; cores as usize];
        self.stage = GatingStage::Sampling { estimator, cores, since: seen.cycle, ended: 0, held, instructions: 0 };
    }

    /// Ends the sample: chooses the next number of cores or ends the search.
    fn end_sample(&mut self, mut estimator: Estimator, cores: u32, ipc: f64, seen: &Observation<'_>, out: &mut DecisionSet) {
        out.signal(None, "sample_cores", f64::from(cores));
        out.signal(None, "sample_ipc", ipc);
        match estimator.add_sample(cores, ipc) {
            EstimatorStep::Sample(next) => {
                out.signal(None, "estimate_cores", f64::from(next));
                self.change_cores(estimator, next, cores, &format!("IPC {ipc:.3} with {cores} cores: {next} are tried next"), seen, out);
            }
            EstimatorStep::Found(found) => {
                out.signal(None, "found_cores", f64::from(found));
                out.signal(None, "detection_cycles", (seen.cycle.0 - self.first_sample_at.0) as f64);
                let why = format!("IPC {ipc:.3} with {cores} cores: {found} are enough");
                if found == self.sms || !self.parameters.gate {
                    Self::activate_all(out, why);
                } else {
                    for sm in 0..self.sms {
                        let state = if sm < found { PowerState::Active } else { PowerState::Gated };
                        out.decide_because(Decision::Power { sm: Some(SmId(sm as u16)), state }, why.clone());
                    }
                }
                self.stage = match u64::from(self.parameters.stop_after) {
                    0 => GatingStage::Settled,
                    waves => GatingStage::Ending { cores: found, left: waves * self.per_core * u64::from(found) },
                };
            }
        }
    }

    /// Updates the number of CTAs on each core and returns the columns of the counters.
    fn update_resident_ctas(&mut self, sms: &ObservationTable<'_>) -> Columns {
        let columns = *self.columns.get_or_insert_with(|| Columns::from_table(sms));
        self.sms = sms.rows().len() as u32;
        self.resident.resize(self.sms as usize, 0);
        for (resident, row) in self.resident.iter_mut().zip(sms.rows()) {
            *resident = *resident + row[columns.started] - row[columns.ended];
        }
        columns
    }

    fn advance_stage(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let columns = self.update_resident_ctas(&seen.sms);
        match std::mem::replace(&mut self.stage, GatingStage::Idle) {
            GatingStage::Pausing { estimator, cores, since, mut loud } => {
                for event in seen.events {
                    if let EventKind::SmQuiet(sm) = event.kind {
                        loud[sm.index()] = false;
                    }
                }
                if loud.contains(&true) {
                    self.stage = GatingStage::Pausing { estimator, cores, since, loud };
                } else {
                    self.drain_cycles = seen.cycle.0 - since.0;
                    self.begin_sample(estimator, cores, seen, out);
                }
            }
            GatingStage::Resuming { estimator, cores, until } if seen.cycle >= until => self.begin_sample(estimator, cores, seen, out),
            stage @ GatingStage::Resuming { .. } => self.stage = stage,
            GatingStage::Warming { left } => match left.saturating_sub(seen.sms.sum(columns.ended)) {
                0 => self.first_sample(seen, out),
                left => self.stage = GatingStage::Warming { left },
            },
            GatingStage::Sampling { estimator, cores, since, ended, mut held, instructions } => {
                let instructions = instructions + seen.sms.sum(columns.issued);
                let ended = ended + seen.sms.sum(columns.ended);
                for ((held, resident), row) in held.iter_mut().zip(&self.resident).zip(seen.sms.rows()) {
                    // The only CTA of a core may have ended before its successor started.
                    *held = (*held).max(*resident).max(row[columns.ended].min(1));
                }
                let wave = held.iter().sum::<u64>().max(1);
                if ended < u64::from(self.parameters.waves) * wave {
                    self.stage = GatingStage::Sampling { estimator, cores, since, ended, held, instructions };
                } else {
                    self.per_core = wave.div_ceil(u64::from(cores)).max(1);
                    let ipc = instructions as f64 / (seen.cycle.0 - since.0).max(1) as f64;
                    self.end_sample(estimator, cores, ipc, seen, out);
                }
            }
            GatingStage::Ending { cores, left } => {
                let ended = seen.sms.rows().take(cores as usize).map(|row| row[columns.ended]).sum();
                self.stage = match left.saturating_sub(ended) {
                    0 => GatingStage::Over,
                    left => GatingStage::Ending { cores, left },
                };
            }
            stage @ (GatingStage::Idle | GatingStage::Settled | GatingStage::Over) => self.stage = stage,
        }
    }
}

impl Controller for CoreGating {
    fn name(&self) -> &str {
        self.policy_name()
    }

    fn triggers(&self) -> Vec<Trigger> {
        let mut wanted = vec![EventSelector::KernelStarted(None), EventSelector::KernelEnded(None)];
        match self.stage {
            GatingStage::Idle | GatingStage::Settled | GatingStage::Over => {}
            GatingStage::Ending { .. } => wanted.push(EventSelector::CtaEnded(None)),
            GatingStage::Pausing { .. } => wanted.extend([EventSelector::SmQuiet, EventSelector::KernelDispatched(None)]),
            GatingStage::Resuming { .. } => wanted.push(EventSelector::KernelDispatched(None)),
            GatingStage::Warming { .. } | GatingStage::Sampling { .. } => {
                wanted.extend([EventSelector::CtaEnded(None), EventSelector::KernelDispatched(None)])
            }
        }
        wanted.into_iter().map(Trigger::On).collect()
    }

    fn alarm(&self) -> Option<Cycle> {
        if let GatingStage::Resuming { until, .. } = self.stage { Some(until) } else { None }
    }

    fn is_over(&self) -> bool {
        matches!(self.stage, GatingStage::Over)
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::Power])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.advance_stage(seen, out);
        for event in seen.events {
            match event.kind {
                EventKind::KernelStarted(kernel) => self.begin_kernel(kernel, seen, out),
                EventKind::KernelDispatched(kernel) if self.is_searching() => {
                    Self::activate_all(out, format!("the last CTA of {kernel} is dispatched: the search ends without a result"));
                    self.stage = GatingStage::Settled;
                }
                EventKind::KernelEnded(_) => {
                    Self::activate_all(out, "the kernel ended");
                    self.stage = GatingStage::Idle;
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
    const KERNEL_STARTED: EventKind = EventKind::KernelStarted(KERNEL);

    fn cta_ended(sm: u16) -> EventKind {
        EventKind::CtaEnded(SmId(sm), KERNEL)
    }

    fn quiet(sms: std::ops::Range<u16>) -> Vec<EventKind> {
        sms.map(|sm| EventKind::SmQuiet(SmId(sm))).collect()
    }

    /// A scene of four SMs whose counters are 0.
    fn example_scene() -> Scene {
        let mut scene = Scene { sms: CounterTable::named(&["warp_instructions", "ctas_started", "ctas_ended"]), ..Scene::with_kernel(1000, 2) };
        scene.sms.values = vec![0; 12];
        scene
    }

    /// Sets the counts of each SM since the last cut: instructions issued, CTAs started, CTAs ended.
    fn set_counts(scene: &mut Scene, each: [[u64; 3]; 4]) -> &mut Scene {
        scene.sms.values = each.concat();
        scene
    }

    const NO_COUNTS: [u64; 3] = [0; 3];

    #[test]
    fn only_cores_that_change_state_are_paused_or_resumed_between_samples() {
        let (mut scene, mut policy) = (example_scene(), built_policy(CoreGating::ONAC_NAME, ""));
        assert_eq!(scene.cut(&mut *policy, 160, &[KERNEL_STARTED]), "", "all cores are active: the first sample begins immediately");
        // Two CTAs on each core, so four waves are 32 CTAs.
        assert_eq!(set_counts(&mut scene, [[50, 10, 8], [50, 10, 8], [50, 10, 8], [50, 9, 7]]).cut(&mut *policy, 1000, &[cta_ended(1)]), "");
        let one = set_counts(&mut scene, [[50, 0, 0], [50, 0, 0], [50, 0, 0], [50, 1, 1]]).cut(&mut *policy, 2160, &[cta_ended(3)]);
        let why = "IPC 0.200 with 4 cores: 1 are tried next";
        assert_eq!(one, format!("power 1 on sm1: {why}; power 1 on sm2: {why}; power 1 on sm3: {why}"));
        // Instructions that the first core issues before the others have drained do not count in the sample.
        assert_eq!(set_counts(&mut scene, [[77, 5, 5], NO_COUNTS, NO_COUNTS, NO_COUNTS]).cut(&mut *policy, 2180, &quiet(1..3)), "");
        assert_eq!(set_counts(&mut scene, [[33, 1, 1], NO_COUNTS, NO_COUNTS, NO_COUNTS]).cut(&mut *policy, 2200, &quiet(3..4)), "");
        // One core reaches an IPC of 0.1, and the threshold is 0.196, so 2 cores are estimated; 2 cores reach 0.2.
        let two = set_counts(&mut scene, [[100, 8, 8], NO_COUNTS, NO_COUNTS, NO_COUNTS]).cut(&mut *policy, 3200, &[cta_ended(0)]);
        assert_eq!(two, "power 2 on sm1: IPC 0.100 with 1 cores: 2 are tried next");
        assert_eq!(policy.alarm(), Some(Cycle(3240)), "the first core's instructions in flight take as long as the drain of the paused cores");
        set_counts(&mut scene, [[90, 1, 1], [90, 0, 0], NO_COUNTS, NO_COUNTS]).cut(&mut *policy, 3240, &[]);
        assert_eq!(policy.alarm(), None);
        let found = set_counts(&mut scene, [[100, 8, 8], [100, 8, 8], NO_COUNTS, NO_COUNTS]).cut(&mut *policy, 4240, &[cta_ended(0)]);
        let why = "IPC 0.200 with 2 cores: 2 are enough";
        assert_eq!(found, format!("power 2 on sm0: {why}; power 2 on sm1: {why}; power 0 on sm2: {why}; power 0 on sm3: {why}"));
        assert!(policy.triggers().iter().all(|trigger| !matches!(trigger, Trigger::On(EventSelector::CtaEnded(_)))));
        assert_eq!(
            set_counts(&mut scene, [NO_COUNTS; 4]).cut(&mut *policy, 9000, &[EventKind::KernelEnded(KERNEL)]),
            "power 2 on every SM: the kernel ended"
        );
    }

    #[test]
    fn seq_det_pauses_one_more_core_per_sample_and_resumes_the_last_one() {
        let (mut scene, mut policy) = (example_scene(), built_policy(CoreGating::SEQ_DET_NAME, ""));
        scene.cut(&mut *policy, 0, &[KERNEL_STARTED]);
        let three = set_counts(&mut scene, [[100, 10, 8]; 4]).cut(&mut *policy, 1000, &[cta_ended(0)]);
        assert_eq!(three, "power 1 on sm3: IPC 0.400 with 4 cores: 3 are tried next");
        set_counts(&mut scene, [[5, 0, 0]; 4]).cut(&mut *policy, 1020, &quiet(3..4));
        let two = set_counts(&mut scene, [[134, 8, 8], [134, 8, 8], [134, 8, 8], NO_COUNTS]).cut(&mut *policy, 2020, &[cta_ended(0)]);
        assert_eq!(two, "power 1 on sm2: IPC 0.402 with 3 cores: 2 are tried next");
        set_counts(&mut scene, [[5, 0, 0]; 4]).cut(&mut *policy, 2040, &quiet(2..3));
        let found = set_counts(&mut scene, [[150, 8, 8], [150, 8, 8], NO_COUNTS, NO_COUNTS]).cut(&mut *policy, 3040, &[cta_ended(0)]);
        assert!(found.contains("power 2 on sm2: IPC 0.300 with 2 cores: 3 are enough; power 0 on sm3"), "{found}");
    }

    #[test]
    fn a_limit_of_ctas_makes_waves_smaller() {
        let (mut scene, mut policy) = (example_scene(), built_policy(CoreGating::ONAC_NAME, ""));
        scene.cut(&mut *policy, 10, &[KERNEL_STARTED]);
        // One CTA on each core, although two would fit.
        assert_eq!(set_counts(&mut scene, [[9, 5, 4], [9, 5, 4], [9, 5, 4], [9, 4, 3]]).cut(&mut *policy, 500, &[cta_ended(0)]), "");
        let over = set_counts(&mut scene, [NO_COUNTS, NO_COUNTS, NO_COUNTS, [9, 1, 1]]).cut(&mut *policy, 1000, &[cta_ended(3)]);
        assert!(over.contains("with 4 cores: 1 are tried next"), "{over}");
    }

    #[test]
    fn the_first_sample_can_wait_for_warm_caches() {
        let (mut scene, mut policy) = (example_scene(), built_policy(CoreGating::ONAC_NAME, "warm = 1"));
        assert_eq!(scene.cut(&mut *policy, 0, &[KERNEL_STARTED]), "");
        assert_eq!(set_counts(&mut scene, [[9, 3, 1]; 4]).cut(&mut *policy, 900, &[cta_ended(0)]), "", "a wave is 8 CTAs");
        set_counts(&mut scene, [[9, 1, 1]; 4]).cut(&mut *policy, 1000, &[cta_ended(0)]);
        let over = set_counts(&mut scene, [[100, 8, 8]; 4]).cut(&mut *policy, 2000, &[cta_ended(0)]);
        assert!(over.contains("IPC 0.400 with 4 cores: 1 are tried next"), "{over}");
    }

    #[test]
    fn a_run_can_end_some_waves_after_the_number_is_found() {
        let (mut scene, mut policy) = (example_scene(), built_policy(CoreGating::SEQ_DET_NAME, "stop_after = 2"));
        scene.cut(&mut *policy, 10, &[KERNEL_STARTED]);
        set_counts(&mut scene, [[100, 10, 8]; 4]).cut(&mut *policy, 1010, &[cta_ended(0)]);
        set_counts(&mut scene, [NO_COUNTS; 4]).cut(&mut *policy, 1020, &quiet(3..4));
        let found = set_counts(&mut scene, [[80, 8, 8], [80, 8, 8], [80, 8, 8], NO_COUNTS]).cut(&mut *policy, 2020, &[cta_ended(0)]);
        assert!(found.contains("IPC 0.240 with 3 cores: 4 are enough"), "{found}");
        set_counts(&mut scene, [[80, 4, 4], [80, 4, 4], [80, 4, 4], [80, 3, 3]]).cut(&mut *policy, 3000, &[cta_ended(0)]);
        assert!(!policy.is_over(), "15 of 16 CTAs");
        set_counts(&mut scene, [NO_COUNTS, NO_COUNTS, NO_COUNTS, [9, 1, 1]]).cut(&mut *policy, 3100, &[cta_ended(3)]);
        assert!(policy.is_over());
    }

    #[test]
    fn a_kernel_whose_last_cta_is_dispatched_gets_all_cores() {
        let (mut scene, mut policy) = (example_scene(), built_policy(CoreGating::SEQ_DET_NAME, ""));
        scene.cut(&mut *policy, 0, &[KERNEL_STARTED]);
        let over = scene.cut(&mut *policy, 50, &[EventKind::KernelDispatched(KERNEL)]);
        assert_eq!(over, "power 2 on every SM: the last CTA of kernel 0 is dispatched: the search ends without a result");
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let error = |parameters| CoreGating::new(CoreSearch::Onac, parameters).unwrap_err().to_string();
        let wrong = error(Parameters { threshold: 1.5, ..Parameters::default() });
        assert_eq!(wrong, "policy `onac`: `threshold` = 1.5: expected a share above 0 and at most 1");
        assert_eq!(error(Parameters { waves: 0, ..Parameters::default() }), "policy `onac`: `waves` = 0: expected at least 1");
    }
}
