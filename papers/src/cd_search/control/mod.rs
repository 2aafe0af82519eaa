//! CD-search: classification-driven search for a partition of the SMs among applications (Zhao, Wang and Eeckhout, ICS 2018).
//!
//! In: each application's instructions, CTAs, LLC accesses and hits over profiles of fixed length. Out: owners and power states of SMs.
//!
//! 1. Every application starts with an even share of the SMs. When each has started a kernel, a warm-up and a profile follow. If a CTA of
//!    an
//!    application ended in the warm-up, its SMs are preempted by draining, else by context switching (Section 4.1).
//! 2. `bandwidth.rs` classifies each application. The paper's equation needs a number of SMs; this controller uses all SMs, since the
//!    question
//!    is whether "the total bandwidth demand from all SMs" saturates the memory system.
//! 3. With applications of both classes, performance mode pauses SMs of the memory-intensive applications in steps and hands the SMs that
//!    they do not need to the compute-intensive applications evenly. With memory-intensive applications only, power mode power-gates the
//!    SMs
//!    that they do not need. Else the shares stay even (Sections 4.2, 4.3 and 7.4.3). `search.rs` implements both searches; several
//!    applications are searched at the same time.
//!
//! The paper restarts the procedure when an application arrives. Here all applications are present from the start; an application that ends
//! is restarted or leaves its SMs to the grid scheduler, and neither starts a search.

mod bandwidth;
mod search;

use serde::Deserialize;

use warpshard_base::{AppId, Cycle, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, PowerState, Preemption, Trigger};
use warpshard_policy::registry::PolicyError;

use bandwidth::{Bandwidths, ApplicationProfile};
use search::{SearchMode, SearchStep, SmCountSearch};

/// The parameters of [`CdSearch`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    warm: u64,
    profile: u64,
    loss: f64,
    step: u32,
    utilisation: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { warm: 20_000, profile: 20_000, loss: 0.05, step: 2, utilisation: 0.5 }
    }
}

/// The CD-search controller.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct CdSearch {
    #[state(fixed)]
    parameters: Parameters,
    stage: SearchStage,
    alarm: Option<Cycle>,
    apps: Vec<AppState>,
    columns: Option<Columns>,
}

/// Columns of the counters that the controller reads.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Columns {
    instructions: usize,
    ctas: usize,
    accesses: usize,
    hits: usize,
    pending: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum SearchStage {
    /// Until every application has started a kernel.
    Waiting,
    /// The first warm-up; `Classifying` is the profile after it.
    Warming,
    Classifying,
    /// The warm-up of a sample; `Sampling` is the profile after it.
    Settling,
    Sampling,
    /// The partition is final, or there is a single application.
    Done,
}

/// The state of an application.
#[derive(Clone, Debug, warpshard_state::State)]
struct AppState {
    /// SMs of the application in the even partition.
    sms: Vec<SmId>,
    has_started: bool,
    /// True if a CTA of the application ended in the warm-up.
    uses_drain: bool,
    is_memory_intensive: bool,
    search: Option<SmCountSearch>,
    /// Active SMs of the application: the first `active_sms` of `sms`.
    active_sms: u32,
}

impl AppState {
    fn even_share(&self) -> u32 {
        self.sms.len() as u32
    }

    /// Pauses or resumes SMs so that the first `active` are active.
    fn set_active(&mut self, active: u32, out: &mut DecisionSet) {
        let (from, to) = (self.active_sms.min(active) as usize, self.active_sms.max(active) as usize);
        let state = if active < self.active_sms { PowerState::Paused } else { PowerState::Active };
        self.sms[from..to].iter().for_each(|&sm| out.decide(Decision::Power { sm: Some(sm), state }));
        self.active_sms = active;
    }

    /// Applies the next step of a search; returns true if the step is a sample.
    fn apply_step(&mut self, search: SmCountSearch, next: SearchStep, out: &mut DecisionSet) -> bool {
        let (SearchStep::Try(sms) | SearchStep::Found(sms)) = next;
        self.set_active(sms, out);
        let sampled = matches!(next, SearchStep::Try(_));
        self.search = sampled.then_some(search);
        sampled
    }
}

impl CdSearch {
    /// The name of the policy.
    pub const NAME: &'static str = "cd_search";
    /// The parameters of the policy, each with a description.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("warm", "core cycles before each profile; 20000 by default"),
        ("profile", "core cycles of a profile; 20000 by default"),
        ("loss", "accepted loss of IPC against the even share; 0.05 by default"),
        ("step", "SMs that the performance mode pauses per sample; 2 by default"),
        ("utilisation", "assumed share of its peak bandwidth that DRAM reaches; 0.5 by default"),
    ];

    /// Creates the policy. Rejects a warm-up, a profile or a step of 0 and fractions outside 0 to 1.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let wrong = |problem: String| Err(PolicyError::parameters(Self::NAME, problem));
        let Parameters { warm, profile, loss, step, utilisation } = parameters;
        if warm == 0 || profile == 0 {
            return wrong(format!("`warm` = {warm}, `profile` = {profile}: at least 1 cycle is expected for each"));
        }
        if step == 0 {
            return wrong("`step` = 0: at least 1 SM is expected".into());
        }
        if !(0.0..1.0).contains(&loss) {
            return wrong(format!("`loss` = {loss}: a share of at least 0 and below 1 is expected"));
        }
        if !(utilisation > 0.0 && utilisation <= 1.0) {
            return wrong(format!("`utilisation` = {utilisation}: a share above 0 and at most 1 is expected"));
        }
        Ok(Self { parameters, stage: SearchStage::Waiting, alarm: None, apps: Vec::new(), columns: None })
    }

    /// Creates the even partition: contiguous SMs, the same number for each application.
    fn begin_even_partition(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let (apps, sms) = (seen.applications.rows().len(), seen.sms.rows().len());
        if apps < 2 {
            out.because("one application has the GPU: there is nothing to partition");
            self.stage = SearchStage::Done;
            return;
        }
        let app = |_| AppState { sms: Vec::new(), has_started: false, uses_drain: false, is_memory_intensive: false, search: None, active_sms: 0 };
        self.apps = (0..apps).map(app).collect();
        for sm in 0..sms {
            let app = sm * apps / sms;
            self.apps[app].sms.push(SmId(sm as u16));
            out.decide(Decision::Owner { sm: Some(SmId(sm as u16)), app: AppId(app as u16) });
        }
        self.apps.iter_mut().for_each(|app| app.active_sms = app.even_share());
        out.because("even partition");
        let column = |name| seen.applications.column(name).expect("instructions, CTAs and LLC accesses are counted by application");
        self.columns = Some(Columns {
            instructions: column("warp_instructions"),
            ctas: column("ctas"),
            accesses: column("llc_accesses"),
            hits: column("llc_hits"),
            pending: column("llc_pending_hits"),
        });
    }

    /// Records the applications that have started a kernel; when all have, the first warm-up begins.
    fn record_started(&mut self, seen: &Observation<'_>) {
        for event in seen.events {
            if let EventKind::KernelStarted(kernel) = event.kind
                && let Some(app) = seen.facts.kernels.get(kernel.index()).and_then(|kernel| self.apps.get_mut(kernel.app.index()))
            {
                app.has_started = true;
            }
        }
        if self.apps.iter().all(|app| app.has_started) {
            self.enter_stage(SearchStage::Warming, seen.cycle);
        }
    }

    fn enter_stage(&mut self, stage: SearchStage, now: Cycle) {
        self.stage = stage;
        self.alarm = match stage {
            SearchStage::Waiting | SearchStage::Done => None,
            SearchStage::Warming | SearchStage::Settling => Some(now.after(self.parameters.warm)),
            SearchStage::Classifying | SearchStage::Sampling => Some(now.after(self.parameters.profile)),
        };
    }

    /// Ends the first warm-up: an application of which a CTA ended drains its SMs, since further CTAs will end soon.
    fn choose_preemption(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let Some(columns) = self.columns else { return };
        for (app, row) in self.apps.iter_mut().zip(seen.applications.rows()) {
            app.uses_drain = row[columns.ctas] > 0;
            out.signal(app.sms.first().copied(), "drains", f64::from(u8::from(app.uses_drain)));
        }
    }

    /// Ends the profile: classifies the applications and begins a search for each memory-intensive one.
    fn classify_applications(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let Some(columns) = self.columns else { return };
        let (all, Parameters { loss, step, utilisation, .. }) = (seen.sms.rows().len() as u32, self.parameters);
        for (app, row) in self.apps.iter_mut().zip(seen.applications.rows()) {
            let hits = row[columns.hits] + row[columns.pending];
            let profile = ApplicationProfile { instructions: row[columns.instructions], accesses: row[columns.accesses], hits };
            let bandwidths = Bandwidths::compute(&seen.facts.peaks, all, utilisation, profile);
            app.is_memory_intensive = bandwidths.is_memory_intensive();
            let first = app.sms.first().copied();
            out.signal(first, "demand", bandwidths.demand);
            out.signal(first, "supply", bandwidths.supply);
            out.signal(first, "memory_intensive", f64::from(u8::from(app.is_memory_intensive)));
            out.signal(first, "warp_ipc", row[columns.instructions] as f64 / seen.interval as f64);
        }
        let memory = self.apps.iter().filter(|app| app.is_memory_intensive).count();
        if memory == 0 {
            out.because("all applications are compute-intensive: the partition stays even");
            self.enter_stage(SearchStage::Done, seen.cycle);
            return;
        }
        let power = memory == self.apps.len();
        let mode = if power { SearchMode::More } else { SearchMode::Fewer(step) };
        out.because(if power { "power mode" } else { "performance mode" });
        let mut sampled = false;
        for (app, row) in self.apps.iter_mut().zip(seen.applications.rows()).filter(|(app, _)| app.is_memory_intensive) {
            let (search, next) = SmCountSearch::new(mode, app.even_share(), row[columns.instructions] as f64 / seen.interval as f64, loss);
            sampled |= app.apply_step(search, next, out);
        }
        self.continue_or_finish(sampled, seen.cycle, out);
    }

    /// Ends a sample: passes the measured IPC to the search of each application.
    fn end_sample(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let Some(columns) = self.columns else { return };
        out.because("the next sample");
        let mut sampled = false;
        for (app, row) in self.apps.iter_mut().zip(seen.applications.rows()) {
            let ipc = row[columns.instructions] as f64 / seen.interval as f64;
            out.signal(app.sms.first().copied(), "warp_ipc", ipc);
            if let Some(mut search) = app.search {
                let next = search.record_ipc(ipc);
                sampled |= app.apply_step(search, next, out);
            }
        }
        self.continue_or_finish(sampled, seen.cycle, out);
    }

    /// Begins the next sample, or hands over or gates the SMs that the memory-intensive applications do not need.
    fn continue_or_finish(&mut self, sampled: bool, now: Cycle, out: &mut DecisionSet) {
        if sampled {
            self.enter_stage(SearchStage::Settling, now);
            return;
        }
        self.enter_stage(SearchStage::Done, now);
        let compute: Vec<usize> = (0..self.apps.len()).filter(|app| !self.apps[*app].is_memory_intensive).collect();
        let mut receivers = compute.iter().cycle();
        for app in self.apps.iter().filter(|app| app.is_memory_intensive) {
            out.signal(app.sms.first().copied(), "sms", f64::from(app.active_sms));
            for &sm in &app.sms[app.active_sms as usize..] {
                let sm = Some(sm);
                let state = match receivers.next() {
                    Some(&receiver) => {
                        let (owner, why) = (AppId(receiver as u16), "not needed by its application");
                        out.decide_because(Decision::Owner { sm, app: owner }, why);
                        PowerState::Active
                    }
                    None => PowerState::Gated,
                };
                if !app.uses_drain {
                    out.decide_because(Decision::Preempt { sm, how: Preemption::Switch }, "no CTA ended in the warm-up");
                }
                out.decide_because(Decision::Power { sm, state }, "the search is over");
            }
        }
    }
}

impl Controller for CdSearch {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        match self.stage {
            SearchStage::Waiting => vec![Trigger::Start, Trigger::On(EventSelector::KernelStarted(None))],
            SearchStage::Warming | SearchStage::Classifying | SearchStage::Settling | SearchStage::Sampling | SearchStage::Done => Vec::new(),
        }
    }

    fn alarm(&self) -> Option<Cycle> {
        self.alarm
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::Owner, Knob::Power, Knob::Preempt])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        match self.stage {
            SearchStage::Waiting if self.apps.is_empty() => self.begin_even_partition(seen, out),
            SearchStage::Waiting => self.record_started(seen),
            SearchStage::Warming => {
                self.choose_preemption(seen, out);
                self.enter_stage(SearchStage::Classifying, seen.cycle);
            }
            SearchStage::Classifying => self.classify_applications(seen, out),
            SearchStage::Settling => self.enter_stage(SearchStage::Sampling, seen.cycle),
            SearchStage::Sampling => self.end_sample(seen, out),
            SearchStage::Done => {}
        }
    }
}

#[cfg(test)]
mod tests;
