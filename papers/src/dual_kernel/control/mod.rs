//! Preemption of CTAs by a kernel of higher priority: the scheme of Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs" (2016),
//! and those that it is compared with.
//!
//! In: the progress of all CTAs when a kernel of an application of more than the least priority arrives. Out: CTAs that are drained, switched
//! or flushed, each in the way that costs least within the bound of the latency (`cost.rs` estimates, `victim.rs` chooses).
//!
//! | scheme | victims | CPI of what is left of a CTA |
//! |---|---|---|
//! | `dual` | on each SM the candidate victim set that costs least, for each CTA that is to start there | own or that of ended CTAs |
//! | `oracle` | the same | none: when CTAs end is known (`ahead.rs`) |
//! | `chimera_plus` | all CTAs of each SM, which belongs to the new kernel alone until it ends | own or that of ended CTAs |
//! | `chimera` | the same | own |
//!
//! `dual` and `oracle` need SMs that are allocated by ranges and shared by kernels; Chimera's schemes need SMs that applications own. Chimera stands for
//! its choice of a technique for each CTA (Park et al., ASPLOS 2015). Every SM is preempted, so its choice among SMs has no part here,
//! and draining counts as free of overhead in all schemes (Section 3.3.2).
//!
//! What became of the victims is recorded in the timeline: see `ledger.rs`.

mod ahead;
mod cost;
mod ledger;
#[cfg(test)]
mod tests;
mod times;
mod victim;

use std::collections::BTreeMap;

use serde::Deserialize;

use warpshard_base::{AppId, Cycle, KernelIndex, SmId};
use warpshard_control::{Controller, CtaProgress, Decision, DecisionSet, EventKind, EventSelector, Facts, Knob, KnobSet, Observation, Preemption, SmProgress, Trigger};
use warpshard_policy::registry::PolicyError;

pub use times::{CtaTimes, NUMBERS as CTA_NUMBERS};

use ahead::{Known, Row, Watch};
use cost::{Estimator, Statistics, Technique, View};
use ledger::{Ledger, Victim};
use victim::{Chosen, Scene, members, technique};

/// Who is preempted, and by what knowledge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// The paper's.
    #[default]
    Dual,
    /// The paper's with known latencies.
    Oracle,
    /// Whole SMs.
    Chimera,
    /// Whole SMs with the paper's estimate.
    ChimeraPlus,
}

impl Scheme {
    /// Whether CTAs of both kernels share SMs.
    pub fn shares_sms(self) -> bool {
        matches!(self, Self::Dual | Self::Oracle)
    }
}

/// The parameters of [`DualKernel`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The scheme.
    pub scheme: Scheme,
    /// Bound of the preemption latency, in core cycles.
    pub bound: u64,
    /// What a decision and its way to the SM take of it, in core cycles.
    pub slack: u64,
    /// Kernels, by name, that may be executed twice whatever they have written.
    pub idempotent: Vec<String>,
    /// CTAs of the new kernel on each SM; 0 for as many as its grid has for each.
    pub ctas: u32,
    /// Requests after which the run is over; 0 for as many as there are.
    pub requests: u32,
    /// Whether nothing is known of what is left of a CTA that has executed more than the mean; else nothing is left of it.
    pub unknown_beyond_mean: bool,
    /// For `oracle`: CTAs that end soon after the next request when they are left alone.
    known: Option<Vec<Row>>,
    /// Core cycles after a request in which the ends of CTAs are recorded; 0 for none.
    watch: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            scheme: Scheme::Dual,
            bound: 2800,
            slack: 0,
            idempotent: Vec::new(),
            ctas: 0,
            requests: 0,
            unknown_beyond_mean: true,
            known: None,
            watch: 0,
        }
    }
}

/// The policy, running.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct DualKernel {
    #[state(fixed)]
    parameters: Parameters,
    #[state(fixed)]
    known: Option<Known>,
    ledger: Ledger,
    watch: Option<Watch>,
    /// Requests, and those whose kernel has ended.
    asked: u32,
    ended: u32,
    /// A watch is over whose run was for that alone.
    watched: bool,
}

impl DualKernel {
    /// The policy's name.
    pub const NAME: &'static str = "dual_kernel";
    /// The policy's parameters.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("scheme", "`dual`, `oracle`, `chimera` or `chimera_plus`; dual when not given"),
        ("bound", "bound of the preemption latency in core cycles; 2800 when not given"),
        ("slack", "core cycles of the bound that a decision and its way to the SM take; 0 when not given"),
        ("idempotent", "names of kernels that may be executed twice whatever they have written, as `[\"k\"]`; none when not given"),
        ("ctas", "CTAs of the new kernel on each SM; 0 or not given: as many as its grid has for each"),
        ("requests", "requests after which the run is over, later ones being ignored; 0 or not given: it ends as usual"),
        (
            "known",
            "for `oracle`: the CTAs that end soon after the next request when they are left alone, each `[kernel, CTA, cycles]`; others are known not to",
        ),
        (
            "watch",
            "core cycles after a request in which ends of CTAs are recorded, for `known`; `oracle` without `known` decides nothing, and its run ends then; 0 when not given",
        ),
        (
            "unknown_beyond_mean",
            "whether nothing is known of a CTA that has executed more than the mean of ended ones, instead of nothing being left of it",
        ),
    ];

    /// The policy with its parameters: a bound of at least 1 cycle that exceeds the slack, and for `oracle` what it knows or watches.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let wrong = |problem: String| Err(PolicyError::parameters(Self::NAME, problem));
        let Parameters { bound, slack, scheme, .. } = parameters;
        if bound <= slack {
            return wrong(format!("`bound` = {bound} and `slack` = {slack} leave no cycle to preempt in"));
        }
        if (scheme == Scheme::Oracle) != (parameters.known.is_some() || parameters.watch > 0) {
            return wrong(
                "`scheme` = \"oracle\" goes with what is `known` of CTAs, or a `watch` to learn it: `warpshard study dual-kernel` has both"
                    .into(),
            );
        }
        let known = parameters.known.as_deref().map(Known::new);
        Ok(Self { parameters, known, ledger: Ledger::default(), watch: None, asked: 0, ended: 0, watched: false })
    }

    /// The technique of each CTA of an SM, by its slot in the table.
    fn techniques(&self, sm: &SmProgress, seen: &Observation<'_>, known: &mut BTreeMap<KernelIndex, Statistics>) -> Vec<Chosen> {
        let facts = seen.facts;
        let estimator = if self.parameters.scheme == Scheme::Chimera { Estimator::Own } else { Estimator::LowerDeviation };
        let bound = self.bound();
        let one = |cta: &CtaProgress| {
            let name = facts.kernels.get(cta.kernel.index()).map_or("", |kernel| &kernel.name);
            let statistics = *known.entry(cta.kernel).or_insert_with(|| Statistics::of(cta.kernel, seen.ctas, seen.cycle));
            let view = View {
                cta,
                now: seen.cycle,
                statistics,
                estimator,
                bandwidth: facts.peaks.dram_bytes / seen.ctas.len().max(1) as f64,
                may_flush: !cta.wrote || self.is_idempotent(name),
                unknown_beyond_mean: self.parameters.unknown_beyond_mean,
                known: self.known.as_ref().map(|known| known.left(cta.kernel, cta.cta)),
            };
            technique(|technique| view.cost(technique), bound)
        };
        sm.resident.iter().map(one).collect()
    }

    /// Whether there were all requests that it waits for.
    fn has_asked(&self) -> bool {
        self.parameters.requests > 0 && self.asked >= self.parameters.requests
    }

    /// Whether it learns what `oracle` is to know.
    fn only_watches(&self) -> bool {
        self.parameters.scheme == Scheme::Oracle && self.known.is_none()
    }

    fn bound(&self) -> f64 {
        (self.parameters.bound - self.parameters.slack) as f64
    }

    fn is_idempotent(&self, name: &str) -> bool {
        self.parameters.idempotent.iter().any(|idempotent| idempotent == name)
    }

    /// A kernel arrived that goes before others.
    fn request(&mut self, task: KernelIndex, seen: &Observation<'_>, out: &mut DecisionSet) {
        let facts = seen.facts;
        let Some(arrived) = facts.kernels.get(task.index()) else { return };
        if self.parameters.scheme.shares_sms() && !facts.ranges {
            out.because("SMs are not allocated by ranges (gpu.sm.allocation), so there are no positions: nothing is preempted");
            return;
        }
        let sms = seen.ctas.len().max(1) as u32;
        let wanted = if self.parameters.ctas > 0 { self.parameters.ctas } else { arrived.ctas.div_ceil(sms) };
        let wanted = wanted.min(arrived.ctas_per_sm);
        let mut known = BTreeMap::new();
        let mut victims = Vec::new();
        let mut short = 0;
        for (id, sm) in (0..).map(SmId).zip(seen.ctas) {
            let chosen = self.techniques(sm, seen, &mut known);
            let set = |may: &dyn Fn(&CtaProgress) -> bool| {
                sm.resident.iter().take(64).enumerate().filter(|(_, cta)| may(cta)).fold(0, |set, (at, _)| set | 1 << at)
            };
            let leaving = set(&|cta| cta.leaving);
            let may_leave = set(&|cta| cta.leaving || is_below(cta.kernel, task, facts));
            let (gone, made) = if self.parameters.scheme.shares_sms() {
                let scene = Scene {
                    sm: facts.sm,
                    need: arrived.needs,
                    resident: &sm.resident,
                    may_leave,
                    leaving,
                    chosen: &chosen,
                    bound: self.bound(),
                };
                scene.victims(wanted)
            } else {
                (may_leave & !leaving, wanted)
            };
            short += wanted - made.min(wanted);
            if !self.parameters.scheme.shares_sms() {
                out.decide(Decision::Owner { sm: Some(id), app: arrived.app });
                out.decide(Decision::CtaLimit { sm: Some(id), limit: wanted });
                out.decide(Decision::Preempt { sm: Some(id), how: Preemption::Drain });
            }
            for at in members(gone) {
                let (cta, (technique, estimate)) = (sm.resident[at], chosen[at]);
                let name = facts.kernels.get(cta.kernel.index()).map_or("", |kernel| &kernel.name);
                let how = match technique {
                    Technique::Drain => Preemption::Drain,
                    Technique::Switch => Preemption::Switch,
                    Technique::Flush if self.is_idempotent(name) => Preemption::Drop,
                    Technique::Flush => Preemption::Flush,
                };
                out.decide(Decision::PreemptCta { sm: id, kernel: cta.kernel, cta: cta.cta, how });
                victims.push(Victim { sm: id, cta, technique, estimate });
            }
        }
        let reason = format!("{task} arrived: {} CTAs make room for {wanted} on each SM", victims.len());
        out.because(if short > 0 { format!("{reason}; {short} positions were not found") } else { reason });
        self.ledger.open(task, victims, seen, out, |kernel| is_below(kernel, task, facts));
    }

    /// Gives all SMs to the applications of the least priority.
    fn give_back(seen: &Observation<'_>, out: &mut DecisionSet) {
        let facts = seen.facts;
        let least = facts.priorities.iter().min();
        let apps: Vec<u16> = (0..).zip(&facts.priorities).filter(|(_, priority)| Some(*priority) == least).map(|(app, _)| app).collect();
        let sms = seen.ctas.len();
        for sm in 0..sms {
            let Some(app) = apps.get(sm * apps.len() / sms) else { return };
            let id = Some(SmId(sm as u16));
            out.decide(Decision::Owner { sm: id, app: AppId(*app) });
            out.decide(Decision::CtaLimit { sm: id, limit: u32::MAX });
        }
    }
}

/// Whether an application has more than the least priority.
fn preempts(app: AppId, facts: &Facts) -> bool {
    facts.priorities.get(app.index()) > facts.priorities.iter().min()
}

/// Whether a kernel has to make room for `task`.
fn is_below(kernel: KernelIndex, task: KernelIndex, facts: &Facts) -> bool {
    let priority = |kernel: KernelIndex| facts.priorities.get(facts.kernels.get(kernel.index())?.app.index());
    priority(kernel) < priority(task)
}

impl Controller for DualKernel {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Start, Trigger::On(EventSelector::KernelReady(None)), Trigger::On(EventSelector::KernelEnded(None))]
    }

    fn alarm(&self) -> Option<Cycle> {
        self.ledger.alarm().into_iter().chain(self.watch.as_ref().map(Watch::alarm)).min()
    }

    fn is_over(&self) -> bool {
        self.watched || self.parameters.requests > 0 && self.ended >= self.parameters.requests && !self.ledger.is_open()
    }

    fn knobs(&self) -> KnobSet {
        if self.parameters.scheme.shares_sms() {
            KnobSet::of(&[Knob::PreemptCta])
        } else {
            KnobSet::of(&[Knob::PreemptCta, Knob::Preempt, Knob::Owner, Knob::CtaLimit])
        }
    }

    fn wants_ctas(&self) -> bool {
        true
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.ledger.follow(seen, out);
        if self.watch.as_mut().is_some_and(|watch| watch.follow(seen, out)) {
            self.watch = None;
            self.watched = self.only_watches();
        }
        if seen.cycle == Cycle(0) {
            if !self.parameters.scheme.shares_sms() {
                Self::give_back(seen, out);
            }
            return;
        }
        let of_task = |kernel: KernelIndex| seen.facts.kernels.get(kernel.index()).is_some_and(|facts| preempts(facts.app, seen.facts));
        for event in seen.events {
            match event.kind {
                EventKind::KernelEnded(kernel) if of_task(kernel) => {
                    self.ended += 1;
                    if !self.parameters.scheme.shares_sms() {
                        Self::give_back(seen, out);
                    }
                }
                EventKind::KernelReady(kernel) if of_task(kernel) && !self.has_asked() => {
                    self.asked += 1;
                    if self.parameters.watch > 0 {
                        self.watch = Some(Watch::new(seen, self.parameters.watch));
                    }
                    if self.only_watches() {
                        out.signal(None, "request", f64::from(kernel.0));
                    } else {
                        self.request(kernel, seen, out);
                    }
                }
                _ => {}
            }
        }
    }
}
