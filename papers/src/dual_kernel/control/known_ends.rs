//! Oracle's knowledge of the end of each CTA that is not preempted.
//!
//! A run of the same machine from the same state provides the knowledge. In this run a [`CtaEndWatch`] records, in the timeline, the core cycles
//! until the end of each CTA that is resident when a kernel arrives:
//!
//! | name | of | meaning |
//! |---|---|---|
//! | `end_kernel`, `end_cta`, `end_cycles` | an SM | of one CTA: the number of its launch, its index, and its core cycles until the end |
//!
//! A CTA that does not end within the watch is known to end later; its duration is unknown. `study dual-kernel` makes these runs
//! (`papers/src/dual_kernel/study/oracle.rs`).

use std::collections::BTreeMap;

use warpshard_base::{CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_control::{DecisionSet, Observation, Preemption};

/// Core cycles between two polls, fewer than an SM keeps the record of a CTA that left.
const POLL_CYCLES: u64 = 200;

/// A CTA with a known end: its launch, its index, and the core cycles from the arrival to its end.
pub(super) type KnownEnd = (u32, u32, f64);

/// Known ends of CTAs.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownEnds {
    cycles: BTreeMap<(KernelIndex, CtaIndex), f64>,
}

impl KnownEnds {
    pub(super) fn new(rows: &[KnownEnd]) -> Self {
        Self { cycles: rows.iter().map(|(kernel, cta, cycles)| ((KernelIndex(*kernel), CtaIndex(*cta)), *cycles)).collect() }
    }

    /// Returns the core cycles until a CTA ends; infinite for a CTA without a known end.
    pub(super) fn cycles_until_end(&self, kernel: KernelIndex, cta: CtaIndex) -> f64 {
        self.cycles.get(&(kernel, cta)).copied().unwrap_or(f64::INFINITY)
    }
}

/// A watch over the CTAs that are resident at a cut.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct CtaEndWatch {
    began_at: Cycle,
    next_poll: Cycle,
    ends_at: Cycle,
    /// Watched CTAs that have not ended.
    ctas: Vec<(SmId, KernelIndex, CtaIndex)>,
}

impl CtaEndWatch {
    /// Starts a watch of `cycles` core cycles.
    pub(super) fn new(seen: &Observation<'_>, cycles: u64) -> Self {
        let ctas = (0..).map(SmId).zip(seen.ctas).flat_map(|(id, sm)| sm.resident.iter().map(move |cta| (id, cta.kernel, cta.cta)));
        let until = seen.cycle.after(cycles);
        Self { began_at: seen.cycle, next_poll: seen.cycle.after(POLL_CYCLES).min(until), ends_at: until, ctas: ctas.collect() }
    }

    /// Returns the cycle of the next poll.
    pub(super) fn alarm(&self) -> Cycle {
        self.next_poll
    }

    /// Records the CTAs that have ended; returns true if the watch is over.
    pub(super) fn record_ends(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) -> bool {
        let began = self.began_at;
        self.ctas.retain(|(id, kernel, cta)| {
            let gone = seen.ctas.get(id.index()).map_or(&[][..], |sm| &sm.gone);
            let Some(gone) = gone.iter().find(|gone| (gone.kernel, gone.cta) == (*kernel, *cta) && gone.left >= began) else { return true };
            if matches!(gone.how, None | Some(Preemption::Drain)) {
                out.signal(Some(*id), "end_kernel", f64::from(kernel.0));
                out.signal(Some(*id), "end_cta", f64::from(cta.0));
                out.signal(Some(*id), "end_cycles", (gone.left.0 + 1 - began.0) as f64);
            }
            false
        });
        self.next_poll = seen.cycle.after(POLL_CYCLES).min(self.ends_at);
        seen.cycle >= self.ends_at
    }
}
