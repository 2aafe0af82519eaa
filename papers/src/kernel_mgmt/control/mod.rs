//! Kernel management: CTAs per SM of two concurrent kernels, and cache bypassing (Liang and Li, "Efficient Kernel Management on GPUs", ACM
//! TECS 16(4), 2017).
//!
//! In: from a profile, the CTAs per SM at which each application alone is fastest; the counts of each SM, in total and per application,
//! between ends of CTAs. Out: maximum CTAs and bypassing CTAs of each kernel on each SM.
//!
//! 1. `categories.rs` types the kernels and chooses the first numbers of CTAs (Algorithm 1).
//! 2. From then on every SM decides independently, since the registers of Section 4.5 are per SM: after a sampling period (`period.rs`),
//!    `tlp.rs` moves a CTA from one kernel to the other.
//! 3. After a period without a change, `bypassing.rs` learns on this SM which kernel bypasses the L1. It compares samples, so the numbers
//!    of CTAs stay constant until it is done; then `tlp.rs` continues.
//! 4. A kernel leaves the SMs when the last CTA of its application is bound: the next kernel of the pool (`pool.rs`) takes its CTAs, or the
//!    remaining kernel takes all. Section 4.3 says "finishes execution"; waiting for the end would leave the slots of the last CTAs empty.
//!
//! Readings of points that the text leaves open are D-017 and are documented in the header of each file.
//!
//! The paper's kernels are applications here: an application with several kernels has the same numbers for all of them. An application that
//! is restarted after its end counts as over once the last of its kernels has been bound for the first time.

mod bypassing;
mod categories;
mod period;
mod pool;
#[cfg(test)]
mod tests;
mod tlp;

use serde::Deserialize;

use warpshard_base::{KernelIndex, SmId};
use warpshard_control::{Controller, Decision, DecisionSet, EventKind, EventSelector, Knob, KnobSet, Observation, Resources, Trigger};
use warpshard_policy::registry::PolicyError;

use bypassing::Learning;
use categories::KernelProfile;
use period::{Columns, Periods, PeriodSample};
use pool::KernelPool;
use tlp::UtilisationHistory;

/// The parameters of [`KernelMgmt`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    #[serde(default)]
    opt: Vec<u32>,
    #[serde(default)]
    preference: Vec<f64>,
    #[serde(default)]
    ctas: Vec<u32>,
    #[serde(default = "enabled_by_default")]
    dynamic: bool,
    #[serde(default = "enabled_by_default")]
    bypass: bool,
    #[serde(default)]
    within_opt: bool,
}

fn enabled_by_default() -> bool {
    true
}

/// The kernel management controller.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct KernelMgmt {
    #[state(fixed)]
    parameters: Parameters,
    apps: Vec<AppKernels>,
    profiles: Vec<KernelProfile>,
    pool: KernelPool,
    running: RunningApps,
    sms: Vec<SmState>,
    columns: Option<Columns>,
    /// True if no further decision follows.
    is_over: bool,
}

/// The kernels of an application.
#[derive(Clone, Debug, Default, warpshard_state::State)]
struct AppKernels {
    kernels: Vec<KernelIndex>,
}

/// The running applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum RunningApps {
    Nothing,
    Pair([usize; 2]),
    One(usize),
}

/// Decisions and learning state of an SM.
#[derive(Clone, Debug, warpshard_state::State)]
struct SmState {
    ctas: [u32; 2],
    bypass: [u32; 2],
    periods: Periods,
    history: UtilisationHistory,
    learning: Learning,
    /// True if the SM learns which CTAs bypass.
    is_learning: bool,
    /// Resident CTAs of each application.
    resident: Vec<i64>,
}

impl KernelMgmt {
    /// The name of the policy.
    pub const NAME: &'static str = "kernel_mgmt";
    /// The parameters of the policy, each with a description.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("opt", "CTAs per SM at which each application alone is fastest, as `[6, 1]`"),
        (
            "preference",
            "utilisation of the SP pipelines over utilisation of the LD/ST pipeline by each application alone, as `[3.1, 0.4]`; unknown by default",
        ),
        ("ctas", "fixed CTAs per SM of each of two applications, instead of `opt`"),
        ("dynamic", "whether numbers of CTAs change after sampling periods; true by default"),
        ("bypass", "whether CTAs bypass the L1; true by default"),
        ("within_opt", "whether dynamic modulation gives no application more CTAs per SM than its `opt`; false by default"),
    ];

    /// Creates the policy. Rejects parameters unless exactly one of `opt` and `ctas` is given, with positive numbers for at least two
    /// applications.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let wrong = |problem: String| Err(PolicyError::parameters(Self::NAME, problem));
        let Parameters { opt, preference, ctas, .. } = &parameters;
        match (opt.is_empty(), ctas.is_empty()) {
            (true, true) => return wrong("neither `opt` nor `ctas` is given: one of them is required".into()),
            (false, false) => return wrong("`opt` and `ctas` are given: leave one of them out".into()),
            (true, false) if ctas.len() != 2 || *ctas == [0, 0] => {
                return wrong(format!("`ctas` = {ctas:?}: numbers for two applications are expected, one of them above 0"));
            }
            (false, true) if opt.len() < 2 || opt.contains(&0) => {
                return wrong(format!("`opt` = {opt:?}: at least two applications with at least 1 CTA each are expected"));
            }
            _ => {}
        }
        if !preference.is_empty() && (preference.len() != opt.len() || preference.iter().any(|one| !(*one > 0.0 && one.is_finite()))) {
            return wrong(format!("`preference` = {preference:?}: a number above 0 for each application of `opt` is expected"));
        }
        let pool = KernelPool::new(0);
        Ok(Self {
            parameters,
            apps: Vec::new(),
            profiles: Vec::new(),
            pool,
            running: RunningApps::Nothing,
            sms: Vec::new(),
            columns: None,
            is_over: false,
        })
    }

    /// Starts the policy: reads the applications, and chooses the two that run first and their numbers of CTAs.
    fn choose_first_pair(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.is_over = true;
        let (facts, count) = (seen.facts, seen.facts.applications.len());
        let given = self.parameters.opt.len().max(self.parameters.ctas.len());
        if count < 2 {
            out.because("one application has the GPU: there is nothing to manage");
            return;
        }
        if given != count {
            out.because(format!("numbers are given for {given} applications, but there are {count}: nothing is set"));
            return;
        }
        self.apps = vec![AppKernels::default(); count];
        for (index, kernel) in (0..).zip(&facts.kernels) {
            self.apps[kernel.app.index()].kernels.push(KernelIndex(index));
        }
        let profile = |(number, app): (usize, &AppKernels)| {
            let own = || app.kernels.iter().map(|kernel| &facts.kernels[kernel.index()]);
            let most = own().map(|kernel| kernel.ctas_per_sm).min().unwrap_or(1);
            // The largest need of each resource over the kernels of the application.
            let needs = own().fold(Resources::default(), |all, kernel| all.elementwise_max(&kernel.needs));
            let opt = self.parameters.opt.get(number).copied().unwrap_or(most).min(most);
            let limit = if self.parameters.within_opt { opt } else { most };
            KernelProfile { opt, most, limit, needs, preference: self.parameters.preference.get(number).copied().unwrap_or(0.0) }
        };
        self.profiles = self.apps.iter().enumerate().map(profile).collect();
        self.pool = KernelPool::new(count);
        let Some(pair) = self.pool.take_pair(&self.profiles) else { return };
        self.is_over = false;
        self.columns = Some(Columns::from_observation(seen));
        for waiting in self.pool.waiting_kernels() {
            set_ctas(&self.apps[*waiting], None, 0, "waits in the pool", out);
        }
        let sm_state = || SmState {
            ctas: [0; 2],
            bypass: [0; 2],
            periods: Periods::default(),
            history: UtilisationHistory::default(),
            learning: Learning::new(),
            is_learning: false,
            resident: vec![0; count],
        };
        self.sms = (0..seen.sms.rows().len()).map(|_| sm_state()).collect();
        self.start_pair(pair, seen.facts.sm, out);
    }

    /// Starts a pair of applications on every SM.
    fn start_pair(&mut self, pair: [usize; 2], room: Resources, out: &mut DecisionSet) {
        self.running = RunningApps::Pair(pair);
        let profiles = pair.map(|app| &self.profiles[app]);
        let (ctas, why) = match self.parameters.ctas[..] {
            [a, b] => ([a, b], "fixed numbers"),
            _ => (categories::choose_ctas(profiles, &room), "static TLP modulation"),
        };
        let known = profiles.map(|profile| profile.preference);
        for sm_state in &mut self.sms {
            let periods = Periods::new(pair.map(|app| sm_state.resident[app]));
            let learning = Learning::new();
            let resident = std::mem::take(&mut sm_state.resident);
            *sm_state =
                SmState { ctas, bypass: [0; 2], periods, history: UtilisationHistory::new(known), learning, is_learning: !self.parameters.dynamic, resident };
        }
        for (kernel, app) in pair.into_iter().enumerate() {
            out.signal(None, ["first", "second"][kernel], app as f64);
            set_ctas(&self.apps[app], None, ctas[kernel], why, out);
            if self.parameters.bypass {
                set_bypass(&self.apps[app], None, 0, "nothing bypasses yet", out);
            }
        }
    }

    /// Removes each application that ended or whose last CTA was bound; the remaining applications continue.
    fn remove_finished(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        for event in seen.events {
            let over = match event.kind {
                EventKind::KernelDispatched(kernel) => self.apps.iter().position(|app| app.kernels.last() == Some(&kernel)),
                EventKind::ApplicationEnded(app) => Some(app.index()),
                _ => None,
            };
            let Some(over) = over else { continue };
            match self.running {
                RunningApps::Pair(pair) if pair.contains(&over) => {
                    let left = pair[usize::from(pair[0] == over)];
                    if let Some(next) = self.pool.take_partner(left, &self.profiles) {
                        self.start_pair([left.min(next), left.max(next)], seen.facts.sm, out);
                    } else {
                        self.running = RunningApps::One(left);
                        set_ctas(&self.apps[left], None, self.profiles[left].most, "the other kernel has no CTAs left", out);
                        if self.parameters.bypass {
                            set_bypass(&self.apps[left], None, 0, "no other kernel uses the L1", out);
                        }
                    }
                }
                RunningApps::One(left) if left == over => self.is_over = true,
                _ => {}
            }
        }
    }

    /// Passes the counts of each SM to its sampling period, and applies the decision of a period that ended.
    fn add_period_counts(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let (RunningApps::Pair(pair), Some(columns)) = (self.running, self.columns) else { return };
        if !self.parameters.dynamic && !self.parameters.bypass {
            return;
        }
        let count = self.apps.len();
        let apps: Vec<&[u64]> = seen.sm_applications.rows().collect();
        for ((number, sm_state), row) in (0..).zip(&mut self.sms).zip(seen.sms.rows()) {
            let own = &apps[usize::from(number) * count..][..count];
            for (resident, row) in sm_state.resident.iter_mut().zip(own) {
                *resident += columns.resident_change(row);
            }
            let counted = columns.period_counts(seen.interval, row, pair.map(|app| own[app]));
            let Some(sample) = sm_state.periods.add_counts(&counted, sm_state.ctas, seen.facts.peaks.issue) else { continue };
            let profiles = pair.map(|app| &self.profiles[app]);
            let change = sm_state.decide_ctas(&sample, &self.parameters, profiles, &seen.facts.sm);
            let sm = Some(SmId(number));
            out.signal(sm, "sp", sample.sm.sp);
            out.signal(sm, "ldst", sample.sm.ldst);
            out.signal(sm, "stalls", (sample.memory + sample.structural) as f64);
            for (kernel, app) in pair.into_iter().enumerate() {
                if change.ctas[kernel] {
                    set_ctas(&self.apps[app], sm, sm_state.ctas[kernel], change.reason, out);
                }
                if change.bypass[kernel] {
                    set_bypass(&self.apps[app], sm, sm_state.bypass[kernel], "stalls of sampling periods", out);
                }
            }
        }
    }
}

/// The changes after a sampling period, per kernel.
struct PeriodChanges {
    ctas: [bool; 2],
    bypass: [bool; 2],
    reason: &'static str,
}

impl SmState {
    /// Ends a sampling period: decides the numbers of CTAs and of bypassing CTAs; returns the changes.
    fn decide_ctas(&mut self, sample: &PeriodSample, parameters: &Parameters, profiles: [&KernelProfile; 2], room: &Resources) -> PeriodChanges {
        let (ctas, bypass) = (self.ctas, self.bypass);
        let mut why = "";
        if self.is_learning && parameters.bypass && !self.learning.is_done() {
            self.learning.end_period(sample.memory + sample.structural, self.ctas);
        } else if parameters.dynamic {
            let step = self.history.end_period(sample.sm, sample.kernels, self.ctas, profiles, room);
            (self.ctas, why) = (step.ctas, step.reason);
            self.learning.limit_to(self.ctas);
            // Learning starts with the period after the first one without a change.
            self.is_learning |= step.trend.is_some() && self.ctas == ctas;
        }
        self.bypass = self.learning.bypassing_ctas();
        let changed = |now: [u32; 2], before: [u32; 2]| [now[0] != before[0], now[1] != before[1]];
        let change = PeriodChanges { ctas: changed(self.ctas, ctas), bypass: changed(self.bypass, bypass), reason: why };
        if change.ctas != [false; 2] || change.bypass != [false; 2] {
            // For more bypassing CTAs new CTAs have to start; for fewer the current CTAs have to end.
            let wait = |kernel: usize| match self.bypass[kernel].cmp(&bypass[kernel]) {
                std::cmp::Ordering::Less => u64::from(self.ctas[kernel]),
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Greater => u64::from(self.bypass[kernel] - bypass[kernel]),
            };
            self.periods.begin_after([wait(0), wait(1)]);
        }
        change
    }
}

fn set_ctas(app: &AppKernels, sm: Option<SmId>, limit: u32, why: &str, out: &mut DecisionSet) {
    for &kernel in &app.kernels {
        out.decide_because(Decision::KernelCtas { sm, kernel, limit }, why);
    }
}

fn set_bypass(app: &AppKernels, sm: Option<SmId>, ctas: u32, why: &str, out: &mut DecisionSet) {
    for &kernel in &app.kernels {
        out.decide_because(Decision::Bypass { sm, kernel, ctas }, why);
    }
}

impl Controller for KernelMgmt {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        let on = |selector| Trigger::On(selector);
        let samples = self.parameters.dynamic || self.parameters.bypass;
        match self.running {
            RunningApps::Nothing if self.is_over => Vec::new(),
            RunningApps::Nothing => vec![Trigger::Start],
            RunningApps::Pair(_) if samples => {
                vec![
                    on(EventSelector::KernelDispatched(None)),
                    on(EventSelector::ApplicationEnded(None)),
                    on(EventSelector::CtaEnded(None)),
                ]
            }
            RunningApps::Pair(_) | RunningApps::One(_) if !self.is_over => {
                vec![on(EventSelector::KernelDispatched(None)), on(EventSelector::ApplicationEnded(None))]
            }
            RunningApps::Pair(_) | RunningApps::One(_) => Vec::new(),
        }
    }

    fn knobs(&self) -> KnobSet {
        if self.parameters.bypass { KnobSet::of(&[Knob::KernelCtas, Knob::Bypass]) } else { KnobSet::of(&[Knob::KernelCtas]) }
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        if self.running == RunningApps::Nothing {
            self.choose_first_pair(seen, out);
            return;
        }
        self.add_period_counts(seen, out);
        self.remove_finished(seen, out);
    }
}
