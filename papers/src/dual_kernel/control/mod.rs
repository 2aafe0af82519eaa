//! Preemption of CTAs by a kernel of higher priority: the scheme of Shieh, "Enabling Fast Preemption via Dual-Kernel Support on GPUs"
//! (2016), and the schemes that the thesis compares it with.
//!
//! In: the progress of all CTAs when a kernel arrives whose application has more than the lowest priority. Out: CTAs to drain, switch or
//! flush, each by the technique of lowest cost within the latency bound (`cost.rs` estimates, `victim.rs` chooses).
//!
//! | scheme | victims | CPI of a CTA's remaining instructions |
//! |---|---|---|
//! | `dual` | on each SM the candidate victim set of lowest cost, for each CTA to be started there | the CTA's or the mean of ended CTAs |
//! | `oracle` | the same | not used: the ends of CTAs are known (`ahead.rs`) |
//! | `chimera_plus` | all CTAs of each SM; the new kernel owns the SM until it ends | the CTA's or the mean of ended CTAs |
//! | `chimera` | the same | the CTA's |
//!
//! `dual` and `oracle` need SMs that are allocated by ranges and shared by kernels; Chimera's schemes need SMs that applications own.
//! Chimera is reduced to its choice of a technique for each CTA (Park et al., ASPLOS 2015). Every SM is preempted, so Chimera's choice
//! among SMs does not apply, and draining has no overhead in all schemes (Section 3.3.2).
//!
//! The timeline records latency and overhead of the victims; see `ledger.rs`.

mod known_ends;
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

pub use times::{CtaTimes, SIGNALS_PER_CTA};

use known_ends::{KnownEnds, KnownEnd, CtaEndWatch};
use cost::{CpiSource, KernelStatistics, Technique, EstimateInput};
use ledger::{Ledger, Victim};
use victim::{TechniqueCost, VictimSearch, best_technique, ctas_of};

/// A preemption scheme: choice of victims, and source of the estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreemptionScheme {
    /// The scheme of the thesis.
    #[default]
    Dual,
    /// The scheme of the thesis with known latencies.
    Oracle,
    /// Chimera: preemption of whole SMs.
    Chimera,
    /// Chimera with the estimate of the thesis.
    ChimeraPlus,
}

impl PreemptionScheme {
    /// Returns true if CTAs of both kernels share SMs.
    pub fn shares_sms(self) -> bool {
        matches!(self, Self::Dual | Self::Oracle)
    }
}

/// The parameters of [`DualKernel`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The preemption scheme.
    pub scheme: PreemptionScheme,
    /// Bound of the preemption latency, in core cycles.
    pub bound: u64,
    /// Core cycles of the bound for a decision and its transfer to the SM.
    pub slack: u64,
    /// Names of kernels that may be executed twice even after stores to memory.
    pub idempotent: Vec<String>,
    /// CTAs of the new kernel per SM; 0 for the CTAs of its grid over the SMs.
    pub ctas: u32,
    /// Requests after which the run ends; 0 for no limit.
    pub requests: u32,
    /// True if a CTA that has executed more than the mean has no estimate; else it has no remaining instructions.
    pub unknown_beyond_mean: bool,
    /// For `oracle`: CTAs that end soon after the next request if they are not preempted.
    known: Option<Vec<KnownEnd>>,
    /// Core cycles after a request in which the ends of CTAs are recorded; 0 for none.
    watch: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            scheme: PreemptionScheme::Dual,
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

/// The controller for preemption of CTAs.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct DualKernel {
    #[state(fixed)]
    parameters: Parameters,
    #[state(fixed)]
    known: Option<KnownEnds>,
    ledger: Ledger,
    watch: Option<CtaEndWatch>,
    /// Number of requests; `ended_count` counts the requests whose kernel has ended.
    request_count: u32,
    ended_count: u32,
    /// True if the watch of a run that only watches is over.
    is_watch_over: bool,
}

impl DualKernel {
    /// The name of the policy.
    pub const NAME: &'static str = "dual_kernel";
    /// The parameters of the policy, each with a description.
    pub const PARAMETERS: &'static [(&'static str, &'static str)] = &[
        ("scheme", "`dual`, `oracle`, `chimera` or `chimera_plus`; dual by default"),
        ("bound", "bound of the preemption latency in core cycles; 2800 by default"),
        ("slack", "core cycles of the bound for a decision and its transfer to the SM; 0 by default"),
        ("idempotent", "names of kernels that may be executed twice even after stores to memory, as `[\"k\"]`; none by default"),
        ("ctas", "CTAs of the new kernel per SM; 0, the default: the CTAs of its grid over the SMs"),
        ("requests", "requests after which the run ends; later requests are ignored; 0, the default: no limit"),
        (
            "known",
            "for `oracle`: the CTAs that end soon after the next request if they are not preempted, each as `[kernel, CTA, cycles]`; all others end later",
        ),
        (
            "watch",
            "core cycles after a request in which the ends of CTAs are recorded, for `known`; `oracle` without `known` decides nothing, and its run ends after them; 0 by default",
        ),
        (
            "unknown_beyond_mean",
            "whether a CTA that has executed more than the mean of ended CTAs has no estimate, instead of no instructions left",
        ),
    ];

    /// Creates the policy. Rejects a bound that does not exceed the slack, `oracle` without `known` and `watch`, and these two with another
    /// scheme.
    pub fn new(parameters: Parameters) -> Result<Self, PolicyError> {
        let wrong = |problem: String| Err(PolicyError::parameters(Self::NAME, problem));
        let Parameters { bound, slack, scheme, .. } = parameters;
        if bound <= slack {
            return wrong(format!("`bound` = {bound} and `slack` = {slack} leave no cycle for preemption"));
        }
        if (scheme == PreemptionScheme::Oracle) != (parameters.known.is_some() || parameters.watch > 0) {
            return wrong(
                "`scheme` = \"oracle\" requires `known` or `watch`, which no other scheme takes: `warpshard study dual-kernel` sets both"
                    .into(),
            );
        }
        let known = parameters.known.as_deref().map(KnownEnds::new);
        Ok(Self { parameters, known, ledger: Ledger::default(), watch: None, request_count: 0, ended_count: 0, is_watch_over: false })
    }

    /// Returns the technique of each resident CTA of an SM, in the order of `sm.resident`.
    fn techniques(&self, sm: &SmProgress, seen: &Observation<'_>, known: &mut BTreeMap<KernelIndex, KernelStatistics>) -> Vec<TechniqueCost> {
        let facts = seen.facts;
        let cpi_source = if self.parameters.scheme == PreemptionScheme::Chimera { CpiSource::Own } else { CpiSource::LowerDeviation };
        let bound = self.latency_bound();
        let one = |cta: &CtaProgress| {
            let name = facts.kernels.get(cta.kernel.index()).map_or("", |kernel| &kernel.name);
            let statistics = *known.entry(cta.kernel).or_insert_with(|| KernelStatistics::compute(cta.kernel, seen.ctas, seen.cycle));
            let view = EstimateInput {
                cta,
                now: seen.cycle,
                statistics,
                cpi_source,
                bandwidth: facts.peaks.dram_bytes / seen.ctas.len().max(1) as f64,
                may_flush: !cta.wrote || self.is_idempotent(name),
                unknown_beyond_mean: self.parameters.unknown_beyond_mean,
                known: self.known.as_ref().map(|known| known.cycles_until_end(cta.kernel, cta.cta)),
            };
            best_technique(|technique| view.technique_cost(technique), bound)
        };
        sm.resident.iter().map(one).collect()
    }

    /// Returns true if the last request of the run has arrived.
    fn has_last_request_arrived(&self) -> bool {
        self.parameters.requests > 0 && self.request_count >= self.parameters.requests
    }

    /// Returns true if this run only records the ends of CTAs for a later run of `oracle`.
    fn records_only_ends(&self) -> bool {
        self.parameters.scheme == PreemptionScheme::Oracle && self.known.is_none()
    }

    fn latency_bound(&self) -> f64 {
        (self.parameters.bound - self.parameters.slack) as f64
    }

    fn is_idempotent(&self, name: &str) -> bool {
        self.parameters.idempotent.iter().any(|idempotent| idempotent == name)
    }

    /// Handles the arrival of a kernel of higher priority: decides the preemptions on each SM.
    fn preempt_for(&mut self, task: KernelIndex, seen: &Observation<'_>, out: &mut DecisionSet) {
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
                let scene = VictimSearch {
                    sm: facts.sm,
                    need: arrived.needs,
                    resident: &sm.resident,
                    may_leave,
                    leaving,
                    chosen: &chosen,
                    bound: self.latency_bound(),
                };
                scene.choose_victims(wanted)
            } else {
                (may_leave & !leaving, wanted)
            };
            short += wanted - made.min(wanted);
            if !self.parameters.scheme.shares_sms() {
                out.decide(Decision::Owner { sm: Some(id), app: arrived.app });
                out.decide(Decision::CtaLimit { sm: Some(id), limit: wanted });
                out.decide(Decision::Preempt { sm: Some(id), how: Preemption::Drain });
            }
            for at in ctas_of(gone) {
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
        let reason = format!("{task} arrived: {} victims for {wanted} CTAs on each SM", victims.len());
        out.because(if short > 0 { format!("{reason}; {short} positions were not found") } else { reason });
        self.ledger.open_request(task, victims, seen, out, |kernel| is_below(kernel, task, facts));
    }

    /// Assigns all SMs to the applications of the lowest priority.
    fn release_sms(seen: &Observation<'_>, out: &mut DecisionSet) {
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

/// Returns true if an application has more than the lowest priority.
fn preempts(app: AppId, facts: &Facts) -> bool {
    facts.priorities.get(app.index()) > facts.priorities.iter().min()
}

/// Returns true if a kernel has a lower priority than `task`.
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
        self.ledger.alarm().into_iter().chain(self.watch.as_ref().map(CtaEndWatch::alarm)).min()
    }

    fn is_over(&self) -> bool {
        self.is_watch_over || self.parameters.requests > 0 && self.ended_count >= self.parameters.requests && !self.ledger.is_open()
    }

    fn knobs(&self) -> KnobSet {
        if self.parameters.scheme.shares_sms() {
            KnobSet::of(&[Knob::PreemptCta])
        } else {
            KnobSet::of(&[Knob::PreemptCta, Knob::Preempt, Knob::Owner, Knob::CtaLimit])
        }
    }

    fn reads_ctas(&self) -> bool {
        true
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        self.ledger.record_departures(seen, out);
        if self.watch.as_mut().is_some_and(|watch| watch.record_ends(seen, out)) {
            self.watch = None;
            self.is_watch_over = self.records_only_ends();
        }
        if seen.cycle == Cycle(0) {
            if !self.parameters.scheme.shares_sms() {
                Self::release_sms(seen, out);
            }
            return;
        }
        let of_task = |kernel: KernelIndex| seen.facts.kernels.get(kernel.index()).is_some_and(|facts| preempts(facts.app, seen.facts));
        for event in seen.events {
            match event.kind {
                EventKind::KernelEnded(kernel) if of_task(kernel) => {
                    self.ended_count += 1;
                    if !self.parameters.scheme.shares_sms() {
                        Self::release_sms(seen, out);
                    }
                }
                EventKind::KernelReady(kernel) if of_task(kernel) && !self.has_last_request_arrived() => {
                    self.request_count += 1;
                    if self.parameters.watch > 0 {
                        self.watch = Some(CtaEndWatch::new(seen, self.parameters.watch));
                    }
                    if self.records_only_ends() {
                        out.signal(None, "request", f64::from(kernel.0));
                    } else {
                        self.preempt_for(kernel, seen, out);
                    }
                }
                _ => {}
            }
        }
    }
}
