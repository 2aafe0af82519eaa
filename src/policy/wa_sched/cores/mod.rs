//! ONAC and Seq-Det (Section 4.4): how many cores a kernel needs; the others are turned off.
//!
//! In: ends of CTAs, word that paused SMs are quiet, instructions issued. Out: the power state of every SM.
//!
//! Both take samples of the IPC with different numbers of cores at work. A sample begins when nothing is in flight on any
//! core, and lasts four CTA waves: the CTAs that the cores at work hold at once, four times. Between samples the cores that
//! are not wanted are paused, which keeps their CTAs; when the number is found they finish these and are turned off.
//! The two differ in which number is tried next (`estimate.rs`).
//!
//! A kernel whose last CTA was handed out before the number is found is left alone with all cores.

mod estimate;

use serde::Deserialize;

use crate::base::{Cycle, KernelIndex, SmId};
use crate::control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, PowerState, Trigger};
use crate::policy::registry::PolicyError;

use estimate::{Estimator, Next};

/// CTA waves of a sample (Section 4.4.2.4).
const WAVES: u32 = 4;

/// The parameters of [`CoreGating`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    threshold: f64,
    waves: u32,
    gate: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { threshold: 0.98, waves: WAVES, gate: true }
    }
}

/// Which search is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Estimates from a line through the last two samples.
    Onac,
    /// One core less per sample.
    SeqDet,
}

/// ONAC or Seq-Det at work.
#[derive(Clone, Debug)]
pub struct CoreGating {
    search: Search,
    parameters: Parameters,
    stage: Stage,
    kernel: KernelIndex,
    sms: u32,
    issued: Option<usize>,
    /// When the search began.
    begun: Cycle,
}

#[derive(Clone, Debug)]
enum Stage {
    /// No kernel runs.
    Idle,
    /// All cores are paused until nothing is in flight; then `cores` of them go on.
    Quieting { estimator: Estimator, cores: u32, loud: Vec<bool> },
    /// `cores` work until so many CTAs more have ended.
    Sampling { estimator: Estimator, cores: u32, since: Cycle, left: u32, instructions: u64 },
    /// The number is found, or the search was given up.
    Settled,
}

impl CoreGating {
    /// ONAC's name.
    pub const ONAC: &'static str = "onac";
    /// Seq-Det's name.
    pub const SEQ_DET: &'static str = "seq_det";
    /// The parameters of both.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("threshold", "share of the IPC with all cores that must be reached; 0.98 when not given"),
        ("waves", "CTA waves of a sample; 4 when not given"),
        ("gate", "whether cores that are not needed are turned off; true when not given"),
    ];

    /// The policy with its parameters: a threshold above 0 and at most 1, at least one wave.
    pub fn new(search: Search, parameters: Parameters) -> Result<Self, PolicyError> {
        let policy = Self { search, parameters, stage: Stage::Idle, kernel: KernelIndex(0), sms: 0, issued: None, begun: Cycle(0) };
        let Parameters { threshold, waves, .. } = policy.parameters;
        if !(threshold > 0.0 && threshold <= 1.0) {
            return Err(PolicyError::parameters(policy.own_name(), format!("`threshold` = {threshold}: above 0 and at most 1 is a share")));
        }
        if waves == 0 {
            return Err(PolicyError::parameters(policy.own_name(), "`waves` = 0 is no sample: 1 is the least"));
        }
        Ok(policy)
    }

    fn own_name(&self) -> &'static str {
        match self.search {
            Search::Onac => Self::ONAC,
            Search::SeqDet => Self::SEQ_DET,
        }
    }

    /// All cores work again.
    fn all_active(out: &mut DecisionSet, why: impl Into<String>) {
        out.decide_because(Decision::Power { sm: None, state: PowerState::Active }, why);
    }

    /// Pauses all cores for a sample with `cores` of them; those that were at work have yet to become quiet.
    fn quiet(&mut self, estimator: Estimator, cores: u32, working: u32, why: String, out: &mut DecisionSet) {
        out.decide_because(Decision::Power { sm: None, state: PowerState::Paused }, why);
        let loud = (0..self.sms).map(|sm| sm < working).collect();
        self.stage = Stage::Quieting { estimator, cores, loud };
    }

    fn begin(&mut self, kernel: KernelIndex, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.kernel = kernel;
        self.sms = seen.sms.rows().len() as u32;
        self.begun = seen.cycle;
        let estimator = Estimator::new(self.search, self.sms, self.parameters.threshold);
        let why = format!("{kernel} begins: a sample with all {} cores", self.sms);
        self.quiet(estimator, self.sms, self.sms, why, out);
    }

    /// Everything is quiet: the sample begins.
    fn sample(&mut self, estimator: Estimator, cores: u32, seen: &Observation<'_>, out: &mut DecisionSet) {
        let fit = seen.facts.kernels.get(self.kernel.index()).map_or(1, |facts| facts.ctas_per_sm);
        let why = format!("a sample with {cores} cores begins");
        if cores == self.sms {
            Self::all_active(out, why);
        } else {
            for sm in 0..cores {
                out.decide_because(Decision::Power { sm: Some(SmId(sm as u16)), state: PowerState::Active }, why.clone());
            }
        }
        let left = self.parameters.waves * fit * cores;
        self.stage = Stage::Sampling { estimator, cores, since: seen.cycle, left, instructions: 0 };
    }

    /// The sample is over: the next number, or the end of the search.
    fn sampled(&mut self, mut estimator: Estimator, cores: u32, ipc: f64, seen: &Observation<'_>, out: &mut DecisionSet) {
        out.signal(None, "sample_cores", f64::from(cores));
        out.signal(None, "sample_ipc", ipc);
        match estimator.sampled(cores, ipc) {
            Next::Sample(next) => {
                out.signal(None, "estimate_cores", f64::from(next));
                self.quiet(estimator, next, cores, format!("IPC {ipc:.3} with {cores} cores: {next} are tried next"), out);
            }
            Next::Found(found) => {
                out.signal(None, "found_cores", f64::from(found));
                out.signal(None, "detection_cycles", (seen.cycle.0 - self.begun.0) as f64);
                let why = format!("IPC {ipc:.3} with {cores} cores: {found} are enough");
                if found == self.sms || !self.parameters.gate {
                    Self::all_active(out, why);
                } else {
                    for sm in 0..self.sms {
                        let state = if sm < found { PowerState::Active } else { PowerState::Gated };
                        out.decide_because(Decision::Power { sm: Some(SmId(sm as u16)), state }, why.clone());
                    }
                }
                self.stage = Stage::Settled;
            }
        }
    }

    fn step(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Quieting { estimator, cores, mut loud } => {
                for event in seen.events {
                    if let EventKind::SmQuiet(sm) = event.kind {
                        loud[sm.index()] = false;
                    }
                }
                if loud.contains(&true) {
                    self.stage = Stage::Quieting { estimator, cores, loud };
                } else {
                    self.sample(estimator, cores, seen, out);
                }
            }
            Stage::Sampling { estimator, cores, since, left, instructions } => {
                let column = *self.issued.get_or_insert_with(|| seen.sms.column("issued").expect("an SM counts what it issues"));
                let instructions = instructions + seen.sms.sum(column);
                let ended = seen.events.iter().filter(|event| matches!(event.kind, EventKind::CtaEnded(..))).count() as u32;
                match left.checked_sub(ended).filter(|left| *left > 0) {
                    Some(left) => self.stage = Stage::Sampling { estimator, cores, since, left, instructions },
                    None => {
                        let ipc = instructions as f64 / (seen.cycle.0 - since.0).max(1) as f64;
                        self.sampled(estimator, cores, ipc, seen, out);
                    }
                }
            }
            stage @ (Stage::Idle | Stage::Settled) => self.stage = stage,
        }
    }
}

impl Controller for CoreGating {
    fn name(&self) -> &str {
        self.own_name()
    }

    fn triggers(&self) -> Vec<Trigger> {
        let mut wanted = vec![EventSelector::KernelStarted(None), EventSelector::KernelEnded(None)];
        match self.stage {
            Stage::Idle | Stage::Settled => {}
            Stage::Quieting { .. } => wanted.extend([EventSelector::SmQuiet, EventSelector::KernelDispatched(None)]),
            Stage::Sampling { .. } => wanted.extend([EventSelector::CtaEnded(None), EventSelector::KernelDispatched(None)]),
        }
        wanted.into_iter().map(Trigger::On).collect()
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::Power])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.step(seen, out);
        for event in seen.events {
            match event.kind {
                EventKind::KernelStarted(kernel) => self.begin(kernel, seen, out),
                EventKind::KernelDispatched(kernel) if !matches!(self.stage, Stage::Idle | Stage::Settled) => {
                    Self::all_active(out, format!("the last CTA of {kernel} is given out: the search is over without a result"));
                    self.stage = Stage::Settled;
                }
                EventKind::KernelEnded(_) => {
                    Self::all_active(out, "the kernel ended");
                    self.stage = Stage::Idle;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Numbers, Scene, made};

    const KERNEL: KernelIndex = KernelIndex(0);
    const STARTED: EventKind = EventKind::KernelStarted(KERNEL);

    fn ended(sm: u16) -> EventKind {
        EventKind::CtaEnded(SmId(sm), KERNEL)
    }

    fn quiet(sms: std::ops::Range<u16>) -> Vec<EventKind> {
        sms.map(|sm| EventKind::SmQuiet(SmId(sm))).collect()
    }

    /// Four SMs that hold two CTAs each.
    fn scene() -> Scene {
        let mut scene = Scene { sms: Numbers::named(&["issued"]), ..Scene::with_kernel(1000, 2) };
        scene.sms.values = vec![0; 4];
        scene
    }

    #[test]
    fn a_sample_waits_for_quiet_and_lasts_four_waves_of_the_cores_at_work() {
        let (mut scene, mut policy) = (scene(), made(CoreGating::ONAC, ""));
        let begins = scene.cut(&mut *policy, 100, &[STARTED]);
        assert_eq!(begins, "power 1 on every SM: kernel 0 begins: a sample with all 4 cores");
        assert_eq!(scene.cut(&mut *policy, 150, &quiet(0..3)), "");
        assert_eq!(scene.cut(&mut *policy, 160, &quiet(3..4)), "power 2 on every SM: a sample with 4 cores begins");
        scene.sms.values = vec![100; 4];
        assert_eq!(scene.cut(&mut *policy, 1000, &[ended(1); 31]), "", "four waves are 32 CTAs");
        let one = scene.cut(&mut *policy, 2160, &[ended(0)]);
        assert_eq!(one, "power 1 on every SM: IPC 0.400 with 4 cores: 1 are tried next");
        assert_eq!(scene.cut(&mut *policy, 2200, &quiet(0..4)), "power 2 on sm0: a sample with 1 cores begins");
        // One core reaches 0.2 of 0.392, so that 2 are estimated; 2 reach 0.4.
        scene.sms.values = vec![200, 0, 0, 0];
        let two = scene.cut(&mut *policy, 3200, &[ended(0); 8]);
        assert_eq!(two, "power 1 on every SM: IPC 0.200 with 1 cores: 2 are tried next");
        scene.cut(&mut *policy, 3300, &quiet(0..1));
        scene.sms.values = vec![200, 200, 0, 0];
        let found = scene.cut(&mut *policy, 4300, &[ended(0); 16]);
        let why = "IPC 0.400 with 2 cores: 2 are enough";
        assert_eq!(found, format!("power 2 on sm0: {why}; power 2 on sm1: {why}; power 0 on sm2: {why}; power 0 on sm3: {why}"));
        assert!(policy.triggers().iter().all(|trigger| !matches!(trigger, Trigger::On(EventSelector::CtaEnded(_)))));
        assert_eq!(scene.cut(&mut *policy, 9000, &[EventKind::KernelEnded(KERNEL)]), "power 2 on every SM: the kernel ended");
    }

    #[test]
    fn a_kernel_that_runs_out_of_ctas_gets_all_cores_back() {
        let (mut scene, mut policy) = (scene(), made(CoreGating::SEQ_DET, ""));
        scene.cut(&mut *policy, 0, &[STARTED]);
        let over = scene.cut(&mut *policy, 50, &[EventKind::KernelDispatched(KERNEL)]);
        assert_eq!(over, "power 2 on every SM: the last CTA of kernel 0 is given out: the search is over without a result");
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let error = |parameters| CoreGating::new(Search::Onac, parameters).unwrap_err().to_string();
        let wrong = error(Parameters { threshold: 1.5, ..Parameters::default() });
        assert_eq!(wrong, "policy `onac`: `threshold` = 1.5: above 0 and at most 1 is a share");
        assert_eq!(error(Parameters { waves: 0, ..Parameters::default() }), "policy `onac`: `waves` = 0 is no sample: 1 is the least");
    }
}
