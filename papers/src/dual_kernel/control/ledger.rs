//! What became of the victims of a request: the numbers that the timeline shows.
//!
//! In: the victims with their estimates, and the CTAs that left. Out, as signals:
//!
//! | name | of | meaning |
//! |---|---|---|
//! | `request` | the machine | a kernel arrived: its number |
//! | `resident` | an SM | CTAs that were there and had to make room or not |
//! | `running` | an SM | the kernel of its first CTA that may have to make room: its number; none where there is no such CTA |
//! | `drained`, `switched`, `flushed` | an SM | victims by the technique that was chosen |
//! | `flush_overhead` | an SM | warp instructions that flushing all victims would have wasted |
//! | `estimate` | an SM | the estimated latency of its victims, in core cycles; none where no estimate was possible |
//! | `drain_kernel`, `drain_cta` | an SM | a CTA that is to end by itself: the number of its launch and its index |
//! | `drain_estimate`, `drain_latency` | an SM | of one of them: what was estimated, and when it ended |
//! | `latency` | an SM | core cycles from the request until its last victim left |
//! | `overhead` | an SM | warp instructions wasted: those of dropped CTAs, and for a switch its estimate |
//! | `utilisation` | the machine | share of the warp slots that were occupied until the last victim left |
//!
//! A latency counts from the cut at which the decision was taken. While victims are still there the ledger is called every
//! [`PERIOD`] cycles; cycles of leaving are exact, the end of the utilisation is not.

use warpshard_base::{Cycle, KernelIndex, SmId};
use warpshard_control::{CtaProgress, DecisionSet, Observation, Preemption};

use super::cost::{Cost, Technique};

/// Core cycles between two looks.
const PERIOD: u64 = 200;

/// A CTA that is taken away.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(super) struct Victim {
    pub(super) sm: SmId,
    pub(super) cta: CtaProgress,
    pub(super) technique: Technique,
    pub(super) estimate: Cost,
}

/// A request whose victims have not all left.
#[derive(Clone, Debug, warpshard_state::State)]
struct Open {
    at: Cycle,
    victims: Vec<Victim>,
    /// By SM, of victims that have left: the latest latency and the overhead.
    left: Vec<(u64, f64)>,
    /// Warp cycles of residency so far.
    residency: u64,
    next: Cycle,
}

/// The request that is followed.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Ledger {
    open: Option<Open>,
}

impl Ledger {
    /// When it wants to look again.
    pub(super) fn alarm(&self) -> Option<Cycle> {
        self.open.as_ref().map(|open| open.next)
    }

    /// Whether victims have not left yet.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// A request begins. One whose victims have not left by now is not followed any more.
    /// CTAs for which `may_leave` holds are those that would have to make room.
    pub(super) fn open(
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
        let open = Open { at: seen.cycle, victims, left, residency: 0, next: seen.cycle.after(PERIOD) };
        self.open = (!open.victims.is_empty()).then_some(open);
    }

    /// Notes which victims have left.
    pub(super) fn follow(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let Some(open) = &mut self.open else { return };
        if let Some(column) = seen.sms.column("resident_warp_cycles") {
            open.residency += seen.sms.sum(column);
        }
        open.next = seen.cycle.after(PERIOD);
        let Open { at, victims, left, .. } = open;
        victims.retain(|victim| {
            let gone = seen.ctas.get(victim.sm.index()).and_then(|sm| {
                let same = |gone: &&warpshard_control::CtaGone| (gone.kernel, gone.cta) == (victim.cta.kernel, victim.cta.cta);
                sm.gone.iter().filter(same).find(|gone| gone.left >= *at)
            });
            let Some(gone) = gone else { return true };
            let latency = gone.left.0 + 1 - at.0;
            let overhead = match gone.how {
                None | Some(Preemption::Drain) => 0.0,
                Some(Preemption::Flush | Preemption::Drop) => gone.executed as f64,
                // Where no estimate was possible, or another technique was chosen, at least what was estimated for it.
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
            self.open = None;
        }
    }
}
