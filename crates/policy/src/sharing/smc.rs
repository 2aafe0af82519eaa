//! SMC, spatial multitasking with throttling of CTAs (Wu et al., 2015, as described in "Efficient Kernel Management on GPUs", Section 5.2).
//!
//! Inputs: instructions of two applications over samples of fixed length. Decisions: a limit of CTAs on the SMs of each application, then a
//! number of SMs for each.
//!
//! 1. Each application has half of the SMs. Hill climbing downwards from all CTAs that fit: one CTA less as long as the application's IPC
//!    rises.
//! 2. The limits stay. Hill climbing from the even partition: one SM more for the first application as long as the sum of both IPCs, each
//!    relative to its IPC with the even partition, rises; if the first step does not raise the sum, one SM less.
//!
//! Each sample follows a warm-up in which the change takes effect, since resident CTAs end first. The description does not state the start
//! of the climbing, the objective of the second step, and the length of samples.

use serde::Deserialize;

use warpshard_base::{AppId, Cycle, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, Trigger};

use crate::registry::PolicyError;

/// The parameters of [`Smc`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    warm: u64,
    sample: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { warm: 10_000, sample: 10_000 }
    }
}

/// The controller of SMC.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Smc {
    #[state(fixed)]
    parameters: Parameters,
    stage: SearchStage,
    alarm: Option<Cycle>,
    limits: [LimitSearch; 2],
    /// SMs of the first application.
    sms: u32,
    sm_count: u32,
    /// IPCs with the even partition, and the best sum relative to them.
    even_ipcs: [f64; 2],
    best: f64,
    warm: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum SearchStage {
    Waiting,
    /// Search for the limits of CTAs.
    Limits,
    /// Measurement of the IPCs of the even partition with the chosen limits.
    Even,
    /// Search for the partition in one direction, and true if a step has raised the sum.
    Partition {
        more: bool,
        paid: bool,
    },
    Done,
}

/// The search for the CTA limit of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, warpshard_state::State)]
struct LimitSearch {
    limit: u32,
    best: f64,
    done: bool,
}

impl LimitSearch {
    /// Processes a completed sample with the current limit.
    fn end_sample(&mut self, ipc: f64) {
        if self.done {
            return;
        }
        if ipc <= self.best {
            self.limit += 1;
            self.done = true;
        } else {
            self.best = ipc;
            self.done = self.limit == 1;
            self.limit -= u32::from(!self.done);
        }
    }
}

impl Smc {
    /// Name of the policy.
    pub const NAME: &'static str = "smc";
    /// Parameters of the policy.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("warm", "core cycles of warm-up after a change; 10000 when not given"),
        ("sample", "core cycles of a sample; 10000 when not given"),
    ];

    /// Creates the policy; both times must be at least one cycle.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let Parameters { warm, sample } = parameters;
        if warm == 0 || sample == 0 {
            let problem = format!("`warm` = {warm}, `sample` = {sample}: at least 1 cycle each is expected");
            return Err(PolicyError::parameters(Self::NAME, problem));
        }
        let limits = [LimitSearch::default(); 2];
        Ok(Self {
            parameters,
            stage: SearchStage::Waiting,
            alarm: None,
            limits,
            sms: 0,
            sm_count: 0,
            even_ipcs: [0.0; 2],
            best: 0.0,
            warm: false,
        })
    }

    fn begin(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.sm_count = seen.sms.rows().len() as u32;
        if seen.facts.applications.len() != 2 || self.sm_count < 2 {
            out.because("SMC divides at least two SMs between two applications: nothing is set");
            self.stage = SearchStage::Done;
            return;
        }
        for (app, climb) in (0..).map(AppId).zip(&mut self.limits) {
            let own = seen.facts.kernels.iter().filter(|kernel| kernel.app == app);
            climb.limit = own.map(|kernel| kernel.ctas_per_sm).min().unwrap_or(1);
        }
        self.sms = self.sm_count.div_ceil(2);
        self.stage = SearchStage::Limits;
        self.set_knobs(out);
        out.because("even partition");
        self.begin_warm_up(seen.cycle);
    }

    /// Sets owners and limits of all SMs.
    fn set_knobs(&self, out: &mut DecisionSet) {
        for sm in 0..self.sm_count {
            let app = u16::from(sm >= self.sms);
            out.decide(Decision::Owner { sm: Some(SmId(sm as u16)), app: AppId(app) });
            out.decide(Decision::CtaLimit { sm: Some(SmId(sm as u16)), limit: self.limits[usize::from(app)].limit });
        }
    }

    /// Starts the warm-up of the next sample.
    fn begin_warm_up(&mut self, now: Cycle) {
        self.warm = false;
        self.alarm = (self.stage != SearchStage::Done).then(|| now.after(self.parameters.warm));
    }

    fn end_sample(&mut self, ipc: [f64; 2], out: &mut DecisionSet) {
        match self.stage {
            SearchStage::Limits => {
                self.limits.iter_mut().zip(ipc).for_each(|(climb, ipc)| climb.end_sample(ipc));
                out.because("limits of CTAs");
                if self.limits.iter().all(|climb| climb.done) {
                    self.stage = SearchStage::Even;
                }
            }
            SearchStage::Even => {
                (self.even_ipcs, self.best) = (ipc, 2.0);
                self.stage = SearchStage::Partition { more: true, paid: false };
                self.move_sm(true);
                out.because("partition");
            }
            SearchStage::Partition { more, paid } => {
                let sum: f64 = ipc.iter().zip(self.even_ipcs).map(|(ipc, even)| ipc / even.max(f64::MIN_POSITIVE)).sum();
                out.because("partition");
                if sum > self.best {
                    self.best = sum;
                    self.stage = if self.move_sm(more) { SearchStage::Partition { more, paid: true } } else { SearchStage::Done };
                } else {
                    self.move_sm(!more);
                    self.stage = SearchStage::Done;
                    if more && !paid && self.move_sm(false) {
                        self.stage = SearchStage::Partition { more: false, paid: true };
                    }
                }
            }
            SearchStage::Waiting | SearchStage::Done => return,
        }
        self.set_knobs(out);
    }

    /// Moves one SM to or from the first application, if each application keeps at least one.
    fn move_sm(&mut self, more: bool) -> bool {
        let moved = if more { self.sms + 1 } else { self.sms - 1 };
        let can = moved > 0 && moved < self.sm_count;
        self.sms = if can { moved } else { self.sms };
        can
    }
}

impl Controller for Smc {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        match self.stage {
            SearchStage::Waiting => vec![Trigger::Start],
            _ => vec![Trigger::On(EventSelector::ApplicationEnded(None))],
        }
    }

    fn alarm(&self) -> Option<Cycle> {
        self.alarm
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::Owner, Knob::CtaLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        if self.stage == SearchStage::Waiting {
            self.begin(seen, out);
            return;
        }
        let ended = seen.events.iter().find_map(|event| if let EventKind::ApplicationEnded(app) = event.kind { Some(app) } else { None });
        if let Some(ended) = ended {
            // The grid scheduler assigns the SMs of the ended application to the other one, which keeps its limit.
            (self.stage, self.alarm) = (SearchStage::Done, None);
            let limit = self.limits[usize::from(ended == AppId(0))].limit;
            out.decide(Decision::CtaLimit { sm: None, limit });
            out.because("the other application is over");
            return;
        }
        if self.alarm != Some(seen.cycle) {
            return;
        }
        if !self.warm {
            self.warm = true;
            self.alarm = Some(seen.cycle.after(self.parameters.sample));
            return;
        }
        let column = seen.applications.column("warp_instructions").expect("instructions are counted by application");
        let mut rows = seen.applications.rows().map(|row| row[column] as f64 / seen.interval as f64);
        let ipc = [rows.next().unwrap_or(0.0), rows.next().unwrap_or(0.0)];
        out.signal(None, "first_warp_ipc", ipc[0]);
        out.signal(None, "second_warp_ipc", ipc[1]);
        self.end_sample(ipc, out);
        self.begin_warm_up(seen.cycle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CounterTable, Scene, built_policy};
    use warpshard_control::KernelFacts;

    /// Runs the policy on eight SMs; `ipc` returns the IPC of an application for a number of SMs and a number of CTAs per SM. Returns the
    /// SMs and limits of each sample.
    fn run(ipc: [fn(u32, u32) -> f64; 2]) -> Vec<[u32; 3]> {
        let mut policy = built_policy("smc", "");
        let kernel = |app| KernelFacts { app: AppId(app), ctas_per_sm: 4, ..KernelFacts::default() };
        let mut scene =
            Scene { sms: CounterTable::named(&["cycles"]), applications: CounterTable::named(&["warp_instructions"]), ..Scene::default() };
        scene.facts.kernels = vec![kernel(0), kernel(1)];
        scene.facts.applications = vec!["a".into(), "b".into()];
        scene.sms.values = vec![0; 8];
        scene.applications.values = vec![0; 2];
        let mut now = [4, 4, 4];
        let mut seen = Vec::new();
        let mut cycle = 0;
        loop {
            let decisions = scene.decide(&mut *policy, cycle, &[]);
            if !decisions.decisions().is_empty() {
                let owns = |decision: &&Decision| matches!(decision, Decision::Owner { app: AppId(0), .. });
                now[0] = decisions.decisions().iter().filter(owns).count() as u32;
                for decision in decisions.decisions() {
                    if let Decision::CtaLimit { sm: Some(sm), limit } = decision {
                        now[1 + usize::from(u32::from(sm.0) >= now[0])] = *limit;
                    }
                }
                seen.push(now);
            }
            let Some(alarm) = policy.alarm() else { return seen };
            cycle = alarm.0;
            scene.applications.values = vec![(ipc[0](now[0], now[1]) * 10_000.0) as u64, (ipc[1](8 - now[0], now[2]) * 10_000.0) as u64];
        }
    }

    #[test]
    fn limits_fall_while_ipc_rises_and_then_sms_move_while_the_sum_does() {
        // The first application is fastest with two CTAs and gains with SMs; the second gains with every CTA and saturates with three SMs.
        let steps = run([|sms, ctas| f64::from(sms) * (3.0 - (f64::from(ctas) - 2.0).abs()), |sms, ctas| f64::from(sms.min(3) * ctas)]);
        assert_eq!(steps, [[4, 4, 4], [4, 3, 3], [4, 2, 4], [4, 1, 4], [4, 2, 4], [5, 2, 4], [6, 2, 4], [5, 2, 4]]);
    }

    #[test]
    fn a_failed_step_reverses_the_direction() {
        let steps = run([|sms, ctas| f64::from(sms.min(3) * ctas), |sms, ctas| f64::from(sms * ctas)]);
        assert_eq!(steps[2..], [[4, 4, 4], [5, 4, 4], [3, 4, 4], [2, 4, 4], [3, 4, 4]]);
    }

    #[test]
    fn three_applications_are_refused() {
        let mut scene = Scene::default();
        scene.facts.applications = vec![String::new(); 3];
        let said = scene.cut(&mut *built_policy("smc", ""), 0, &[]);
        assert_eq!(said, "SMC divides at least two SMs between two applications: nothing is set");
    }
}
