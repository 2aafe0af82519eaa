//! Simultaneous multikernel execution with a measured division of the SMs, and Maestro, which chooses between it and an even partition
//! ("Classification-Driven Search", Section 7.5, compares with both).
//!
//! Inputs: instructions and memory stalls of each SM over samples. Decisions: a maximum of CTAs for each application on each SM.
//!
//! 1. *Profile.* Each application has an even part of the SMs, and on these SMs different numbers of CTAs, from one to all that fit. A
//!    sample
//!    gives its IPC by number of CTAs (Xu et al., "Warped-Slicer", ISCA 2016). SMs with few CTAs compete in the sample with SMs that have
//!    more, so an IPC is scaled by 1 + m (mean / k - 1), where m is the share of scheduler cycles that wait for memory and k the number of
//!    CTAs.
//! 2. *Division.* Water filling: every application begins with one CTA. In each step the application with the least IPC relative to its
//!    best IPC gets
//!    CTAs up to its next higher IPC, if they fit; otherwise it is excluded from further steps.
//! 3. *Maestro* (Park et al., ASPLOS 2017) samples the division and then the even partition, and keeps the one with the larger sum of IPCs.
//!    Each IPC
//!    is relative to the IPC that the profile predicts for the application alone on all SMs.
//!
//! The descriptions leave some points open. Our reading: the lengths of samples; one division of an application for all of its kernels; a
//! new division when an application ends for good. The paper says that kernels take turns in warp scheduling; this model keeps the
//! machine's warp order.

use serde::Deserialize;

use warpshard_base::{AppId, Cycle, KernelIndex, SmId};
use warpshard_control::{
    Controller, Decision, DecisionSet, EventKind, EventSelector, Facts, Knob, KnobSet, Observation, ObservationTable, Resources, Trigger,
};

use crate::registry::PolicyError;

/// Counters of scheduler cycles that wait for memory.
const MEMORY_STALLS: [&str; 2] = ["stall_scoreboard_memory", "stall_memory_pipeline"];

/// The parameters of [`Smk`] and [`Maestro`].
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

const PARAMETERS: &[(&str, &str)] = &[
    ("warm", "core cycles of warm-up before a sample; 10000 when not given"),
    ("sample", "core cycles of a sample; 10000 when not given"),
];

/// Stages of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
enum ProfilingStage {
    Waiting,
    /// Measurement of the IPC by number of CTAs.
    Profile,
    /// Measurement with all applications on every SM.
    Shared,
    /// Measurement with an even part of the SMs for each application.
    Even,
    Done,
}

/// Measured data of an application.
#[derive(Clone, Debug, Default, PartialEq, warpshard_state::State)]
struct ProfiledApplication {
    kernels: Vec<KernelIndex>,
    /// Maximum need of each resource per CTA, over the application's kernels.
    needs: Resources,
    /// Maximum CTAs of the application alone on an SM.
    most: u32,
    /// IPC of an SM with 1, 2, ... CTAs of the application.
    curve: Vec<f64>,
    over: bool,
}

/// The controller of SMK and Maestro, with a measured division.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Smk {
    #[state(fixed)]
    name: &'static str,
    /// True if the division is compared with the even partition.
    #[state(fixed)]
    compares: bool,
    #[state(fixed)]
    parameters: Parameters,
    stage: ProfilingStage,
    warm: bool,
    alarm: Option<Cycle>,
    apps: Vec<ProfiledApplication>,
    sms: u32,
    /// CTAs of each application on every SM; `None` if one CTA of each does not fit.
    division: Option<Vec<u32>>,
    /// Sum of relative IPCs in the sample of the division.
    shared: f64,
}

impl Smk {
    /// Name of the policy that keeps the division.
    pub const NAME: &'static str = "smk";
    /// Name of the policy that compares the division with the even partition.
    pub const MAESTRO: &'static str = "maestro";
    /// Parameters of both policies.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = PARAMETERS;

    /// Creates the policy [`Smk::NAME`] or [`Smk::MAESTRO`]; all times must be at least one cycle.
    pub fn new(name: &'static str, parameters: Parameters) -> Result<Self, PolicyError> {
        let Parameters { warm, sample } = parameters;
        if warm == 0 || sample == 0 {
            let problem = format!("`warm` = {warm}, `sample` = {sample}: at least 1 cycle each is expected");
            return Err(PolicyError::parameters(name, problem));
        }
        Ok(Self {
            name,
            compares: name == Self::MAESTRO,
            parameters,
            stage: ProfilingStage::Waiting,
            warm: false,
            alarm: None,
            apps: Vec::new(),
            sms: 0,
            division: None,
            shared: 0.0,
        })
    }

    fn begin(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let facts = seen.facts;
        self.sms = seen.sms.rows().len() as u32;
        self.apps = vec![ProfiledApplication { most: u32::MAX, ..ProfiledApplication::default() }; facts.applications.len()];
        for (index, kernel) in (0..).zip(&facts.kernels) {
            let app = &mut self.apps[kernel.app.index()];
            app.kernels.push(KernelIndex(index));
            app.needs = app.needs.elementwise_max(&kernel.needs);
            app.most = app.most.min(kernel.ctas_per_sm);
        }
        for sm in 0..self.sms {
            let (owner, _, _) = self.part(sm);
            let limit = self.profiled(sm);
            self.set_sm(sm, |app| if app == owner { limit } else { 0 }, out);
        }
        out.because("a profile of each application by its CTAs");
        self.enter_stage(ProfilingStage::Profile, seen.cycle);
    }

    /// Returns the application whose even part contains an SM, the SM's index in the part, and the number of SMs in the part.
    fn part(&self, sm: u32) -> (usize, u32, u32) {
        let count = self.apps.len() as u32;
        let app = sm * count / self.sms;
        let first = |app: u32| (app * self.sms).div_ceil(count);
        (app as usize, sm - first(app), first(app + 1) - first(app))
    }

    /// Returns the CTAs of an SM in the profile: from one to all that fit, over the SMs of its part.
    fn profiled(&self, sm: u32) -> u32 {
        let (app, place, size) = self.part(sm);
        let most = self.apps[app].most;
        if size >= most { place % most + 1 } else { ((place + 1) * most).div_ceil(size) }
    }

    /// Sets the CTA limits of all applications on an SM.
    fn set_sm(&self, sm: u32, limit: impl Fn(usize) -> u32, out: &mut DecisionSet) {
        for (number, app) in self.apps.iter().enumerate() {
            for &kernel in &app.kernels {
                out.decide(Decision::KernelCtas { sm: Some(SmId(sm as u16)), kernel, limit: limit(number) });
            }
        }
    }

    fn set_division(&self, out: &mut DecisionSet) {
        let Some(division) = &self.division else { return self.set_even(out) };
        for sm in 0..self.sms {
            self.set_sm(sm, |app| division[app], out);
        }
        for (app, ctas) in (0..).map(SmId).zip(division) {
            out.signal(Some(app), "ctas", f64::from(*ctas));
        }
    }

    fn set_even(&self, out: &mut DecisionSet) {
        for sm in 0..self.sms {
            let (owner, ..) = self.part(sm);
            self.set_sm(sm, |app| if app == owner { self.apps[app].most } else { 0 }, out);
        }
    }

    /// Enters the next stage, whose sample follows a warm-up.
    fn enter_stage(&mut self, stage: ProfilingStage, now: Cycle) {
        (self.stage, self.warm) = (stage, false);
        self.alarm = (stage != ProfilingStage::Done).then(|| now.after(self.parameters.warm));
    }

    /// Computes each application's IPC curve from the profiling sample.
    fn measure(&mut self, seen: &Observation<'_>) {
        let count = self.apps.len();
        let instructions = column(seen.sm_applications, "warp_instructions");
        let stalls = MEMORY_STALLS.map(|name| column(seen.sms, name));
        let issue = (seen.interval * u64::from(seen.facts.schedulers_per_sm)).max(1) as f64;
        let own: Vec<&[u64]> = seen.sm_applications.rows().collect();
        let rows: Vec<&[u64]> = seen.sms.rows().collect();
        for number in 0..count {
            let part: Vec<u32> = (0..self.sms).filter(|sm| self.part(*sm).0 == number).collect();
            let mean = part.iter().map(|sm| f64::from(self.profiled(*sm))).sum::<f64>() / part.len().max(1) as f64;
            let point = |sm: &u32| {
                let (at, ctas) = (*sm as usize, self.profiled(*sm));
                let ipc = own[at * count + number][instructions] as f64 / seen.interval.max(1) as f64;
                let memory = stalls.iter().map(|stall| rows[at][*stall]).sum::<u64>() as f64 / issue;
                (ctas, ipc * (1.0 + memory * (mean / f64::from(ctas) - 1.0)))
            };
            let points: Vec<(u32, f64)> = part.iter().map(point).collect();
            self.apps[number].curve = curve(&points, self.apps[number].most);
        }
    }

    /// Returns the sum of the applications' IPCs in a sample, each relative to the predicted IPC of the application alone on all SMs.
    fn sum(&self, seen: &Observation<'_>) -> f64 {
        let instructions = column(seen.applications, "warp_instructions");
        let progress = |(app, row): (&ProfiledApplication, &[u64])| {
            let alone = app.curve.last().copied().unwrap_or(0.0) * f64::from(self.sms);
            row[instructions] as f64 / seen.interval.max(1) as f64 / alone.max(f64::MIN_POSITIVE)
        };
        self.apps.iter().zip(seen.applications.rows()).filter(|(app, _)| !app.over).map(progress).sum()
    }

    fn divide(&mut self, room: &Resources) {
        self.division = fill(&self.apps, room);
    }

    fn end_sample(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        match self.stage {
            ProfilingStage::Profile => {
                self.measure(seen);
                self.divide(&seen.facts.sm);
                self.set_division(out);
                out.because(if self.division.is_some() { "all share every SM" } else { "one CTA of each does not fit: even partition" });
                let more = self.compares && self.division.is_some();
                self.enter_stage(if more { ProfilingStage::Shared } else { ProfilingStage::Done }, seen.cycle);
            }
            ProfilingStage::Shared => {
                self.shared = self.sum(seen);
                out.signal(None, "shared_sum", self.shared);
                self.set_even(out);
                out.because("even partition, to compare with");
                self.enter_stage(ProfilingStage::Even, seen.cycle);
            }
            ProfilingStage::Even => {
                let even = self.sum(seen);
                out.signal(None, "even_sum", even);
                let share = self.shared > even;
                out.signal(None, "shares_sms", f64::from(u8::from(share)));
                if share {
                    self.set_division(out);
                }
                out.because(if share { "sharing SMs is better" } else { "the even partition is better" });
                self.enter_stage(ProfilingStage::Done, seen.cycle);
            }
            ProfilingStage::Waiting | ProfilingStage::Done => {}
        }
    }

    /// Handles the end of an application: the other applications divide every SM according to their measured curves.
    fn remove_application(&mut self, app: AppId, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.apps[app.index()].over = true;
        self.enter_stage(ProfilingStage::Done, seen.cycle);
        self.divide(&seen.facts.sm);
        self.set_division(out);
        out.because("an application is over");
    }
}

/// Returns the index of a column that all machines have.
fn column(table: ObservationTable<'_>, name: &str) -> usize {
    table.column(name).unwrap_or_else(|| panic!("{name} is counted"))
}

/// Returns the IPCs of an SM with 1 to `most` CTAs from measured points: means over SMs with the same number of CTAs, and linear
/// interpolation between them.
fn curve(points: &[(u32, f64)], most: u32) -> Vec<f64> {
    let measured = |ctas: u32| {
        let own = || points.iter().filter(move |(of, _)| *of == ctas);
        (own().count() > 0).then(|| own().map(|(_, ipc)| ipc).sum::<f64>() / own().count() as f64)
    };
    let known: Vec<(u32, f64)> = (1..=most).filter_map(|ctas| Some((ctas, measured(ctas)?))).collect();
    let at = |ctas: u32| {
        let above = known.iter().find(|(of, _)| *of >= ctas);
        let below = known.iter().rev().find(|(of, _)| *of <= ctas).copied().unwrap_or((0, 0.0));
        match above {
            Some(&(of, ipc)) if of > below.0 => below.1 + (ipc - below.1) * f64::from(ctas - below.0) / f64::from(of - below.0),
            _ => below.1,
        }
    };
    (1..=most).map(at).collect()
}

/// Returns the CTAs of each application per SM, by water filling over the curves; `None` if one CTA of each does not fit.
fn fill(apps: &[ProfiledApplication], room: &Resources) -> Option<Vec<u32>> {
    let mut ctas: Vec<u32> = apps.iter().map(|app| u32::from(!app.over)).collect();
    if !fits(apps, &ctas, room) {
        return None;
    }
    let mut open: Vec<bool> = apps.iter().map(|app| !app.over).collect();
    let ipc = |app: usize, ctas: u32| apps[app].curve.get(ctas as usize - 1).copied().unwrap_or(0.0);
    let best = |app: usize| apps[app].curve.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let level = |app: usize, ctas: u32| ipc(app, ctas) / best(app);
    while let Some(app) = (0..apps.len()).filter(|app| open[*app]).min_by(|a, b| level(*a, ctas[*a]).total_cmp(&level(*b, ctas[*b]))) {
        let next = (ctas[app] + 1..=apps[app].most).find(|more| ipc(app, *more) > ipc(app, ctas[app]));
        let before = ctas[app];
        ctas[app] = next.unwrap_or(before);
        if next.is_none() || !fits(apps, &ctas, room) {
            ctas[app] = before;
            open[app] = false;
        }
    }
    Some(ctas)
}

/// Returns true if an SM can hold these numbers of CTAs of all applications together.
fn fits(apps: &[ProfiledApplication], ctas: &[u32], room: &Resources) -> bool {
    let within = |of: fn(&Resources) -> u32| {
        let taken: u64 = apps.iter().zip(ctas).map(|(app, ctas)| u64::from(of(&app.needs)) * u64::from(*ctas)).sum();
        taken <= u64::from(of(room))
    };
    within(|r| r.threads) && within(|r| r.warps) && within(|r| r.shared_bytes) && within(|r| r.registers) && within(|r| r.ctas)
}

impl Controller for Smk {
    fn name(&self) -> &str {
        self.name
    }

    fn check_facts(&self, facts: &Facts) -> Result<(), String> {
        let (apps, sms) = (facts.applications.len(), facts.sms);
        if apps < 2 || sms < apps as u32 {
            return Err(format!("it divides the SMs among several applications, and the run has {apps} and the machine {sms} SMs"));
        }
        Ok(())
    }

    fn triggers(&self) -> Vec<Trigger> {
        match self.stage {
            ProfilingStage::Waiting => vec![Trigger::Start],
            _ => vec![Trigger::On(EventSelector::ApplicationEnded(None))],
        }
    }

    fn alarm(&self) -> Option<Cycle> {
        self.alarm
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::KernelCtas])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        if self.stage == ProfilingStage::Waiting {
            self.begin(seen, out);
            return;
        }
        for event in seen.events {
            if let EventKind::ApplicationEnded(app) = event.kind
                && !seen.facts.restarted.get(app.index()).is_some_and(|restarted| *restarted)
            {
                self.remove_application(app, seen, out);
            }
        }
        if self.alarm != Some(seen.cycle) {
            return;
        }
        if !self.warm {
            self.warm = true;
            self.alarm = Some(seen.cycle.after(self.parameters.sample));
            return;
        }
        self.end_sample(seen, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CounterTable, Scene, built_policy};
    use warpshard_control::KernelFacts;

    fn app(needs: u32, curve: &[f64]) -> ProfiledApplication {
        ProfiledApplication {
            needs: Resources { registers: needs, ..Resources::default() },
            most: curve.len() as u32,
            curve: curve.into(),
            ..ProfiledApplication::default()
        }
    }

    const SM_RESOURCES: Resources = Resources { registers: 100, threads: 0, warps: 0, shared_bytes: 0, ctas: 0 };

    #[test]
    fn the_application_with_the_least_relative_ipc_gets_the_next_cta() {
        // The first application saturates with two CTAs, the second gains with every CTA.
        let apps = [app(10, &[3.0, 4.0, 4.0, 4.0]), app(20, &[1.0, 2.0, 3.0, 4.0])];
        assert_eq!(fill(&apps, &SM_RESOURCES), Some(vec![2, 4]), "20 + 80 of 100 registers");
        // An application whose IPC falls with a third CTA and rises with a fourth goes from two to four CTAs in one step.
        let apps = [app(10, &[1.0, 2.0, 1.5, 4.0]), app(30, &[1.0, 1.1])];
        assert_eq!(fill(&apps, &SM_RESOURCES), Some(vec![4, 2]));
        assert_eq!(fill(&[app(60, &[1.0]), app(50, &[1.0])], &SM_RESOURCES), None, "one CTA of each needs 110");
        let over = ProfiledApplication { over: true, ..app(10, &[1.0, 2.0]) };
        assert_eq!(fill(&[over, app(20, &[1.0, 2.0, 3.0])], &SM_RESOURCES), Some(vec![0, 3]), "what is over gets nothing");
    }

    #[test]
    fn curves_are_linear_between_measured_points() {
        assert_eq!(curve(&[(2, 4.0), (2, 6.0), (4, 7.0)], 5), [2.5, 5.0, 6.0, 7.0, 7.0]);
    }

    /// Runs the policy on eight SMs with two applications of four CTAs per SM each, or two of both together. Returns the decisions of the
    /// policy until it is done, as the maxima of both applications on each SM. `sums` are the instructions of both applications in the
    /// samples after the profile.
    fn run(policy: &str, sums: &[[u64; 2]]) -> Vec<Vec<[u32; 2]>> {
        let mut policy = built_policy(policy, "");
        let needs = Resources { registers: 25, ..Resources::default() };
        let kernel = |app| KernelFacts { app: AppId(app), ctas_per_sm: 4, needs, ..KernelFacts::default() };
        let mut scene = Scene {
            sms: CounterTable::named(&MEMORY_STALLS),
            applications: CounterTable::named(&["warp_instructions"]),
            sm_applications: CounterTable::named(&["warp_instructions"]),
            ..Scene::default()
        };
        scene.facts = Facts { sms: 8, schedulers_per_sm: 1, sm: SM_RESOURCES, kernels: vec![kernel(0), kernel(1)], ..Facts::default() };
        scene.facts.applications = vec!["a".into(), "b".into()];
        scene.sms.values = vec![0; 16];
        scene.applications.values = vec![0; 2];
        scene.sm_applications.values = vec![0; 16];
        let (mut seen, mut now, mut cycle) = (Vec::new(), vec![[0, 0]; 8], 0);
        let mut sums = sums.iter();
        loop {
            let decisions = scene.decide(&mut *policy, cycle, &[]);
            if !decisions.decisions().is_empty() {
                for decision in decisions.decisions() {
                    let Decision::KernelCtas { sm: Some(sm), kernel, limit } = decision else { panic!("{decision:?}") };
                    now[sm.index()][kernel.index()] = *limit;
                }
                seen.push(now.clone());
                if seen.len() > 1
                    && let Some(sum) = sums.next()
                {
                    scene.applications.values = sum.to_vec();
                }
            }
            let Some(alarm) = policy.alarm() else { return seen };
            cycle = alarm.0;
            // The first application saturates with one CTA, the second gains with each CTA; both reach at most 1 instruction per cycle.
            let ipc = |app: usize, ctas: u32| if app == 0 { u64::from(ctas > 0) * 10_000 } else { u64::from(ctas) * 2500 };
            scene.sm_applications.values = now.iter().flat_map(|ctas| [ipc(0, ctas[0]), ipc(1, ctas[1])]).collect();
        }
    }

    #[test]
    fn the_profile_has_every_number_of_ctas_and_the_division_follows_from_it() {
        let seen = run("smk", &[]);
        let profile = [[1, 0], [2, 0], [3, 0], [4, 0], [0, 1], [0, 2], [0, 3], [0, 4]];
        assert_eq!(seen, [profile.to_vec(), vec![[1, 3]; 8]]);
    }

    #[test]
    fn maestro_keeps_the_faster_of_its_samples() {
        let even: Vec<[u32; 2]> = [[4, 0]; 4].into_iter().chain([[0, 4]; 4]).collect();
        // Each application alone would have 80,000 instructions in a sample.
        let seen = run("maestro", &[[60_000, 50_000], [40_000, 40_000]]);
        assert_eq!(seen[1..], [vec![[1, 3]; 8], even.clone(), vec![[1, 3]; 8]]);
        let seen = run("maestro", &[[20_000, 50_000], [40_000, 40_000]]);
        assert_eq!(seen[1..], [vec![[1, 3]; 8], even]);
    }

    #[test]
    fn the_division_changes_when_an_application_ends_for_good() {
        let ended = |restarted: bool| {
            let mut policy = Smk::new(Smk::NAME, Parameters::default()).unwrap();
            policy.apps = vec![app(20, &[1.0, 2.0]), app(20, &[1.0, 2.0, 3.0])];
            policy.apps[1].kernels = vec![KernelIndex(1)];
            (policy.sms, policy.stage, policy.division) = (1, ProfilingStage::Done, Some(vec![2, 2]));
            let mut scene = Scene { sms: CounterTable::named(&MEMORY_STALLS), ..Scene::default() };
            (scene.facts.sm, scene.facts.restarted) = (SM_RESOURCES, vec![restarted; 2]);
            scene.cut(&mut policy, 500, &[EventKind::ApplicationEnded(AppId(0))])
        };
        assert_eq!(ended(false), "kernel_ctas 3 for kernel 1 on sm0: an application is over");
        assert_eq!(ended(true), "");
    }

    #[test]
    fn waiting_for_memory_scales_a_sampled_ipc() {
        let mut policy = Smk::new(Smk::NAME, Parameters::default()).unwrap();
        policy.apps = vec![ProfiledApplication { most: 2, ..ProfiledApplication::default() }; 2];
        policy.sms = 4;
        let sms = CounterTable::named(&MEMORY_STALLS);
        let mut scene = Scene { sms, sm_applications: CounterTable::named(&["warp_instructions"]), last_cut_cycle: 0, ..Scene::default() };
        scene.facts.schedulers_per_sm = 1;
        // SMs have 1, 2, 1 and 2 CTAs, on average 1.5; the SMs of the first application wait for half of 1000 cycles.
        scene.sms.values = vec![300, 200, 300, 200, 0, 0, 0, 0];
        scene.sm_applications.values = vec![100, 0, 200, 0, 0, 300, 0, 400];
        scene.observed(1000, |seen| policy.measure(seen));
        assert_eq!(policy.apps[0].curve, [0.1 * 1.25, 0.2 * 0.875]);
        assert_eq!(policy.apps[1].curve, [0.3, 0.4]);
    }

    #[test]
    fn runs_that_cannot_be_divided_are_rejected() {
        let policy = built_policy("smk", "");
        let facts = |applications| Facts { sms: 8, applications: vec![String::new(); applications], ..Facts::default() };
        assert_eq!(policy.check_facts(&facts(2)), Ok(()));
        assert!(policy.check_facts(&facts(1)).unwrap_err().contains("the run has 1"));
        assert!(Smk::new(Smk::MAESTRO, Parameters { warm: 0, sample: 5 }).is_err());
    }
}
