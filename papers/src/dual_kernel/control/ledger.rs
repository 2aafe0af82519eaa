//! The outcome of each request: latency and overhead of its victims, as signals in the timeline.
//!
//! In: the victims with their estimates, and the CTAs that left. Out, as signals:
//!
//! | name | of | meaning |
//! |---|---|---|
//! | `request` | the machine | number of the kernel that arrived |
//! | `resident` | an SM | resident CTAs, preempted or not |
//! | `running` | an SM | number of the kernel of the first preemptible CTA; absent if there is no such CTA |
//! | `drained`, `switched`, `flushed` | an SM | victims by the chosen technique |
//! | `flush_overhead` | an SM | warp instructions that flushing all victims would have wasted |
//! | `estimate` | an SM | estimated latency of the victims, in core cycles; absent without an estimate |
//! | `drain_kernel`, `drain_cta` | an SM | a CTA to be drained: number of its launch, and its index |
//! | `drain_estimate`, `drain_latency` | an SM | a drained CTA: its estimated and its actual latency |
//! | `latency` | an SM | core cycles from the request until the last victim left |
//! | `overhead` | an SM | wasted warp instructions: those of dropped CTAs, and the estimate of a switch |
//! | `utilisation` | the machine | fraction of the warp slots occupied until the last victim left |
//!
//! A latency counts from the cut of the decision. While victims are resident the ledger polls every [`POLL_CYCLES`] cycles; the cycle in which a
//! victim leaves is exact, the end of the utilisation is not.

use warpshard_base::{Cycle, KernelIndex, SmId};
use warpshard_control::{CtaProgress, DecisionSet, Observation, Preemption};

use super::cost::{PreemptionCost, Technique};

/// Core cycles between two polls.
const POLL_CYCLES: u64 = 200;

/// A CTA that is preempted.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct Victim {
    pub(super) sm: SmId,
    pub(super) cta: CtaProgress,
    pub(super) technique: Technique,
    pub(super) estimate: PreemptionCost,
}

/// A request with victims that are still resident.
#[derive(Clone, Debug, warpshard_state::State)]
struct OpenRequest {
    requested_at: Cycle,
    victims: Vec<Victim>,
    /// Per SM, the maximum latency and the total overhead of the victims that have left.
    departed_costs: Vec<(u64, f64)>,
    /// Resident warp cycles since the request.
    residency: u64,
    next_poll: Cycle,
}

/// The record of the current request.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Ledger {
    open_request: Option<OpenRequest>,
}

impl Ledger {
    /// Returns the cycle of the next poll.
    pub(super) fn alarm(&self) -> Option<Cycle> {
        self.open_request.as_ref().map(|open| open.next_poll)
    }

    /// Returns true while victims of the request are resident.
    pub(super) fn is_open(&self) -> bool {
        self.open_request.is_some()
    }

    /// Starts a request. A request whose victims are still resident is closed without a result.
    /// `may_leave` returns true for a kernel whose CTAs may be preempted.
    pub(super) fn open_request(
        &mut self,
        task: KernelIndex,
        victims: Vec<Victim>,
        seen: &Observation<'_>,
        out: &mut DecisionSet,
        may_leave: impl Fn(KernelIndex) -> bool,
    ) {
        out.signal(None, "request", f64::from(task.0));
        for (id, sm) in (0..).map(SmId).zip(seen.ctas) {
            out.signal(Some(id), "resident", sm.resident.len() as f64);
            let own: Vec<&Victim> = victims.iter().filter(|victim| victim.sm == id).collect();
            if let Some(running) = sm.resident.iter().find(|cta| may_leave(cta.kernel)) {
                out.signal(Some(id), "running", f64::from(running.kernel.0));
            }
            if own.is_empty() {
                continue;
            }
            let count = |technique| own.iter().filter(|victim| victim.technique == technique).count() as f64;
            out.signal(Some(id), "drained", count(Technique::Drain));
            out.signal(Some(id), "switched", count(Technique::Switch));
            out.signal(Some(id), "flushed", count(Technique::Flush));
            out.signal(Some(id), "flush_overhead", own.iter().map(|victim| victim.cta.executed as f64).sum());
            for victim in own.iter().filter(|victim| victim.technique == Technique::Drain) {
                out.signal(Some(id), "drain_kernel", f64::from(victim.cta.kernel.0));
                out.signal(Some(id), "drain_cta", f64::from(victim.cta.cta.0));
            }
            let estimate = own.iter().map(|victim| victim.estimate.latency).fold(0.0, f64::max);
            if estimate.is_finite() {
                out.signal(Some(id), "estimate", estimate);
            }
        }
        let left = vec![(0, 0.0); seen.ctas.len()];
        let open = OpenRequest { requested_at: seen.cycle, victims, departed_costs: left, residency: 0, next_poll: seen.cycle.after(POLL_CYCLES) };
        self.open_request = (!open.victims.is_empty()).then_some(open);
    }

    /// Records the victims that have left, and the utilisation after the last one.
    pub(super) fn record_departures(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let Some(open) = &mut self.open_request else { return };
        if let Some(column) = seen.sms.column("resident_warp_cycles") {
            open.residency += seen.sms.sum(column);
        }
        open.next_poll = seen.cycle.after(POLL_CYCLES);
        let OpenRequest { requested_at: at, victims, departed_costs: left, .. } = open;
        victims.retain(|victim| {
            let gone = seen.ctas.get(victim.sm.index()).and_then(|sm| {
                let same = |gone: &&warpshard_control::DepartedCta| (gone.kernel, gone.cta) == (victim.cta.kernel, victim.cta.cta);
                sm.gone.iter().filter(same).find(|gone| gone.left >= *at)
            });
            let Some(gone) = gone else { return true };
            let latency = gone.left.0 + 1 - at.0;
            let overhead = match gone.how {
                None | Some(Preemption::Drain) => 0.0,
                Some(Preemption::Flush | Preemption::Drop) => gone.executed as f64,
                // A switch counts the estimate of the technique that was chosen for the CTA, or 0 if the estimate is infinite.
                Some(Preemption::Switch) => {
                    if victim.estimate.overhead.is_finite() {
                        victim.estimate.overhead
                    } else {
                        0.0
                    }
                }
            };
            let sum = &mut left[victim.sm.index()];
            *sum = (sum.0.max(latency), sum.1 + overhead);
            if victim.technique == Technique::Drain && victim.estimate.latency.is_finite() {
                out.signal(Some(victim.sm), "drain_estimate", victim.estimate.latency);
                out.signal(Some(victim.sm), "drain_latency", latency as f64);
            }
            false
        });
        for (id, sum) in (0..).map(SmId).zip(left.iter_mut()).filter(|(_, sum)| sum.0 > 0) {
            if victims.iter().all(|victim| victim.sm != id) {
                out.signal(Some(id), "latency", sum.0 as f64);
                out.signal(Some(id), "overhead", sum.1);
                sum.0 = 0;
            }
        }
        if victims.is_empty() {
            let slots = u64::from(seen.facts.warps_per_sm) * seen.ctas.len() as u64 * (seen.cycle.0 - at.0);
            out.signal(None, "utilisation", open.residency as f64 / slots.max(1) as f64);
            self.open_request = None;
        }
    }
}
