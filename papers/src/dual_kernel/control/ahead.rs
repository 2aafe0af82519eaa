//! What Oracle knows beforehand: when each CTA ends if it is left alone.
//!
//! A run of the same machine from the same state sees it. There a [`Watch`] records, for each CTA that is resident when a kernel arrives, the core
//! cycles until it ends, in the timeline:
//!
//! | name | of | meaning |
//! |---|---|---|
//! | `end_kernel`, `end_cta`, `end_cycles` | an SM | of one CTA: the number of its launch, its index, and when it ended |
//!
//! A CTA that does not end within the watch is known not to; how long it takes is not. `study dual-kernel` makes these runs (`papers/src/dual_kernel/study/oracle.rs`).

use std::collections::BTreeMap;

use warpshard_base::{CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_control::{DecisionSet, Observation, Preemption};

/// Core cycles between two looks, less than an SM needs to forget CTAs that left.
const PERIOD: u64 = 200;

/// A CTA whose end is known: its launch, its index, and the core cycles from the arrival until it ends.
pub(super) type Row = (u32, u32, f64);

/// What is known of all CTAs.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    cycles: BTreeMap<(KernelIndex, CtaIndex), f64>,
}

impl Known {
    pub(super) fn new(rows: &[Row]) -> Self {
        Self { cycles: rows.iter().map(|(kernel, cta, cycles)| ((KernelIndex(*kernel), CtaIndex(*cta)), *cycles)).collect() }
    }

    /// Core cycles until a CTA ends; more than any bound where it is not among those whose end is known.
    pub(super) fn left(&self, kernel: KernelIndex, cta: CtaIndex) -> f64 {
        self.cycles.get(&(kernel, cta)).copied().unwrap_or(f64::INFINITY)
    }
}

/// Watches the CTAs that were resident at a cut.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Watch {
    began: Cycle,
    next: Cycle,
    until: Cycle,
    /// Those that have not ended.
    ctas: Vec<(SmId, KernelIndex, CtaIndex)>,
}

impl Watch {
    /// Watches for so many core cycles.
    pub(super) fn new(seen: &Observation<'_>, cycles: u64) -> Self {
        let ctas = (0..).map(SmId).zip(seen.ctas).flat_map(|(id, sm)| sm.resident.iter().map(move |cta| (id, cta.kernel, cta.cta)));
        let until = seen.cycle.after(cycles);
        Self { began: seen.cycle, next: seen.cycle.after(PERIOD).min(until), until, ctas: ctas.collect() }
    }

    /// When it looks again.
    pub(super) fn alarm(&self) -> Cycle {
        self.next
    }

    /// Notes which CTAs have ended; whether the watch is over.
    pub(super) fn follow(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) -> bool {
        let began = self.began;
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
        self.next = seen.cycle.after(PERIOD).min(self.until);
        seen.cycle >= self.until
    }
}
