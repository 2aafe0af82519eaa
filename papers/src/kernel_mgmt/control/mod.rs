//! Kernel management: CTAs per SM of two kernels that run side by side, and cache bypassing (Liang and Li, "Efficient Kernel Management on
//! GPUs", ACM TECS 16(4), 2017).
//!
//! In: for each application the CTAs per SM at which it alone is fastest, from a profile; what each SM counts, for itself and by
//! application, between ends of CTAs. Out: maxima of CTAs and numbers of bypassing CTAs of each kernel on each SM.
//!
//! 1. `categories.rs` types the kernels and chooses the first numbers (Algorithm 1).
//! 2. Every SM then goes its own way, as the registers of Section 4.5 are per SM: after a sampling period (`period.rs`), `tlp.rs` moves a CTA
//!    from one kernel to the other.
//! 3. When a period changed nothing, `bypassing.rs` learns on that SM which kernel bypasses the L1. Its samples are compared, so the numbers of
//!    CTAs stay until it has learnt; then `tlp.rs` goes on.
//! 4. A kernel whose application has its last CTA bound leaves the SMs to the others: to the next of the pool (`pool.rs`), or all to the
//!    one that is left. Section 4.3 says "finishes execution"; waiting for that would leave the places of its last CTAs empty.
//!
//! What the text leaves open is D-017, and stands in the header of each file.
//!
//! Applications are what the paper calls kernels: one that launches several has the same numbers for all of them. An application that is
//! started again after its end counts as over when the last of its kernels has been bound for the first time.

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
use categories::Profile;
use period::{Columns, Periods, Sample};
use pool::Pool;
use tlp::History;

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
    #[serde(default = "yes")]
    dynamic: bool,
    #[serde(default = "yes")]
    bypass: bool,
    #[serde(default)]
    within_opt: bool,
}

fn yes() -> bool {
    true
}

/// Kernel management, running.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct KernelMgmt {
    #[state(fixed)]
    parameters: Parameters,
    apps: Vec<App>,
    profiles: Vec<Profile>,
    pool: Pool,
    running: Running,
    sms: Vec<OnSm>,
    columns: Option<Columns>,
    /// Nothing is left to decide.
    over: bool,
}

/// The kernels of an application.
#[derive(Clone, Debug, Default, warpshard_state::State)]
struct App {
    kernels: Vec<KernelIndex>,
}

/// Which applications run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum Running {
    Nothing,
    Pair([usize; 2]),
    One(usize),
}

/// What is known and decided of an SM.
#[derive(Clone, Debug, warpshard_state::State)]
struct OnSm {
    ctas: [u32; 2],
    bypass: [u32; 2],
    periods: Periods,
    history: History,
    learning: Learning,
    /// Whether the SM is learning to bypass.
    learns: bool,
    /// CTAs of every application that it holds.
    resident: Vec<i64>,
}

impl KernelMgmt {
    /// The policy's name.
    pub const NAME: &'static str = "kernel_mgmt";
    /// The policy's parameters.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("opt", "CTAs per SM at which each application alone is fastest, as `[6, 1]`"),
        (
            "preference",
            "use of the SP pipelines over that of the LD/ST pipeline by each application alone, as `[3.1, 0.4]`; unknown when not given",
        ),
        ("ctas", "CTAs per SM of each of two applications, fixed, in place of `opt`"),
        ("dynamic", "whether numbers of CTAs change after sampling periods; true when not given"),
        ("bypass", "whether CTAs bypass the L1; true when not given"),
        ("within_opt", "whether dynamic modulation gives no application more CTAs per SM than its `opt`; false when not given"),
    ];

    /// The policy with its parameters: either `opt`, or `ctas` of two applications.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let wrong = |problem: String| Err(PolicyError::parameters(Self::NAME, problem));
        let Parameters { opt, preference, ctas, .. } = &parameters;
        match (opt.is_empty(), ctas.is_empty()) {
            (true, true) => return wrong("neither `opt` nor `ctas` is given: one of them says how many CTAs run".into()),
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
        let pool = Pool::new(0);
        Ok(Self {
            parameters,
            apps: Vec::new(),
            profiles: Vec::new(),
            pool,
            running: Running::Nothing,
            sms: Vec::new(),
            columns: None,
            over: false,
        })
    }

    /// The start: which applications there are, which two run first, and how many CTAs of each.
    fn begin(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.over = true;
        let (facts, count) = (seen.facts, seen.facts.applications.len());
        let given = self.parameters.opt.len().max(self.parameters.ctas.len());
        if count < 2 {
            out.because("one application has the GPU: there is nothing to manage");
            return;
        }
        if given != count {
            out.because(format!("numbers of {given} applications do not suit {count}: nothing is set"));
            return;
        }
        self.apps = vec![App::default(); count];
        for (index, kernel) in (0..).zip(&facts.kernels) {
            self.apps[kernel.app.index()].kernels.push(KernelIndex(index));
        }
        let profile = |(number, app): (usize, &App)| {
            let own = || app.kernels.iter().map(|kernel| &facts.kernels[kernel.index()]);
            let most = own().map(|kernel| kernel.ctas_per_sm).min().unwrap_or(1);
            // The largest need of each resource.
            let needs = own().fold(Resources::default(), |all, kernel| all.or_more(&kernel.needs));
            let opt = self.parameters.opt.get(number).copied().unwrap_or(most).min(most);
            let limit = if self.parameters.within_opt { opt } else { most };
            Profile { opt, most, limit, needs, preference: self.parameters.preference.get(number).copied().unwrap_or(0.0) }
        };
        self.profiles = self.apps.iter().enumerate().map(profile).collect();
        self.pool = Pool::new(count);
        let Some(pair) = self.pool.first(&self.profiles) else { return };
        self.over = false;
        self.columns = Some(Columns::of(seen));
        for waiting in self.pool.waiting() {
            set_ctas(&self.apps[*waiting], None, 0, "waits in the pool", out);
        }
        let on_sm = || OnSm {
            ctas: [0; 2],
            bypass: [0; 2],
            periods: Periods::default(),
            history: History::default(),
            learning: Learning::new(),
            learns: false,
            resident: vec![0; count],
        };
        self.sms = (0..seen.sms.rows().len()).map(|_| on_sm()).collect();
        self.start_pair(pair, seen.facts.sm, out);
    }

    /// Two applications run from now on, on every SM.
    fn start_pair(&mut self, pair: [usize; 2], room: Resources, out: &mut DecisionSet) {
        self.running = Running::Pair(pair);
        let profiles = pair.map(|app| &self.profiles[app]);
        let (ctas, why) = match self.parameters.ctas[..] {
            [a, b] => ([a, b], "fixed numbers"),
            _ => (categories::choose(profiles, &room), "static TLP modulation"),
        };
        let known = profiles.map(|profile| profile.preference);
        for on_sm in &mut self.sms {
            let periods = Periods::new(pair.map(|app| on_sm.resident[app]));
            let learning = Learning::new();
            let resident = std::mem::take(&mut on_sm.resident);
            *on_sm =
                OnSm { ctas, bypass: [0; 2], periods, history: History::new(known), learning, learns: !self.parameters.dynamic, resident };
        }
        for (kernel, app) in pair.into_iter().enumerate() {
            out.signal(None, ["first", "second"][kernel], app as f64);
            set_ctas(&self.apps[app], None, ctas[kernel], why, out);
            if self.parameters.bypass {
                set_bypass(&self.apps[app], None, 0, "nothing bypasses yet", out);
            }
        }
    }

    /// Applications whose last CTA was bound, or which ended: the others go on without them.
    fn leave(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        for event in seen.events {
            let over = match event.kind {
                EventKind::KernelDispatched(kernel) => self.apps.iter().position(|app| app.kernels.last() == Some(&kernel)),
                EventKind::ApplicationEnded(app) => Some(app.index()),
                _ => None,
            };
            let Some(over) = over else { continue };
            match self.running {
                Running::Pair(pair) if pair.contains(&over) => {
                    let left = pair[usize::from(pair[0] == over)];
                    if let Some(next) = self.pool.next(left, &self.profiles) {
                        self.start_pair([left.min(next), left.max(next)], seen.facts.sm, out);
                    } else {
                        self.running = Running::One(left);
                        set_ctas(&self.apps[left], None, self.profiles[left].most, "the other has no CTAs left", out);
                        if self.parameters.bypass {
                            set_bypass(&self.apps[left], None, 0, "it has the L1 for itself", out);
                        }
                    }
                }
                Running::One(left) if left == over => self.over = true,
                _ => {}
            }
        }
    }

    /// Passes every SM what it counted.
    fn sample(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let (Running::Pair(pair), Some(columns)) = (self.running, self.columns) else { return };
        if !self.parameters.dynamic && !self.parameters.bypass {
            return;
        }
        let count = self.apps.len();
        let apps: Vec<&[u64]> = seen.sm_applications.rows().collect();
        for ((number, on_sm), row) in (0..).zip(&mut self.sms).zip(seen.sms.rows()) {
            let own = &apps[usize::from(number) * count..][..count];
            for (resident, row) in on_sm.resident.iter_mut().zip(own) {
                *resident += columns.resident_change(row);
            }
            let counted = columns.counted(seen.interval, row, pair.map(|app| own[app]));
            let Some(sample) = on_sm.periods.take(&counted, on_sm.ctas, seen.facts.peaks.issue) else { continue };
            let profiles = pair.map(|app| &self.profiles[app]);
            let change = on_sm.decide(&sample, &self.parameters, profiles, &seen.facts.sm);
            let sm = Some(SmId(number));
            out.signal(sm, "sp", sample.sm.sp);
            out.signal(sm, "ldst", sample.sm.ldst);
            out.signal(sm, "stalls", (sample.memory + sample.structural) as f64);
            for (kernel, app) in pair.into_iter().enumerate() {
                if change.ctas[kernel] {
                    set_ctas(&self.apps[app], sm, on_sm.ctas[kernel], change.why, out);
                }
                if change.bypass[kernel] {
                    set_bypass(&self.apps[app], sm, on_sm.bypass[kernel], "stalls of sampling periods", out);
                }
            }
        }
    }
}

/// What a sampling period changed.
struct Change {
    ctas: [bool; 2],
    bypass: [bool; 2],
    why: &'static str,
}

impl OnSm {
    /// Ends a sampling period.
    fn decide(&mut self, sample: &Sample, parameters: &Parameters, profiles: [&Profile; 2], room: &Resources) -> Change {
        let (ctas, bypass) = (self.ctas, self.bypass);
        let mut why = "";
        if self.learns && parameters.bypass && !self.learning.is_done() {
            self.learning.sampled(sample.memory + sample.structural, self.ctas);
        } else if parameters.dynamic {
            let step = self.history.sampled(sample.sm, sample.kernels, self.ctas, profiles, room);
            (self.ctas, why) = (step.ctas, step.why);
            self.learning.limit(self.ctas);
            // The period after the first in which nothing changed is the first of the learning.
            self.learns |= step.trend.is_some() && self.ctas == ctas;
        }
        self.bypass = self.learning.ctas();
        let changed = |now: [u32; 2], before: [u32; 2]| [now[0] != before[0], now[1] != before[1]];
        let change = Change { ctas: changed(self.ctas, ctas), bypass: changed(self.bypass, bypass), why };
        if change.ctas != [false; 2] || change.bypass != [false; 2] {
            // One more has to start, or those that are there to end.
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

fn set_ctas(app: &App, sm: Option<SmId>, limit: u32, why: &str, out: &mut DecisionSet) {
    for &kernel in &app.kernels {
        out.decide_because(Decision::KernelCtas { sm, kernel, limit }, why);
    }
}

fn set_bypass(app: &App, sm: Option<SmId>, ctas: u32, why: &str, out: &mut DecisionSet) {
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
            Running::Nothing if self.over => Vec::new(),
            Running::Nothing => vec![Trigger::Start],
            Running::Pair(_) if samples => {
                vec![
                    on(EventSelector::KernelDispatched(None)),
                    on(EventSelector::ApplicationEnded(None)),
                    on(EventSelector::CtaEnded(None)),
                ]
            }
            Running::Pair(_) | Running::One(_) if !self.over => {
                vec![on(EventSelector::KernelDispatched(None)), on(EventSelector::ApplicationEnded(None))]
            }
            Running::Pair(_) | Running::One(_) => Vec::new(),
        }
    }

    fn knobs(&self) -> KnobSet {
        if self.parameters.bypass { KnobSet::of(&[Knob::KernelCtas, Knob::Bypass]) } else { KnobSet::of(&[Knob::KernelCtas]) }
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        if self.running == Running::Nothing {
            self.begin(seen, out);
            return;
        }
        self.sample(seen, out);
        self.leave(seen, out);
    }
}
