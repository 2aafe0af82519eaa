//! Recording of what an SM does, event by event, for viewers of traces: its CTAs, the states of its warps, and what happens beside them.
//!
//! In: the ends of CTAs from their history, the states of warps from `warp_states` or `warp_reasons`, copies, barriers in shared memory and products
//! from [`Core::note_beside`](super::core::Core::note_beside). Out: bounded lists. An SM that records nothing has a test for each CTA, copy, phase and
//! product, and no other work.

use warpshard_base::{Cycle, SmId};
use warpshard_stats::activity::{CtaSpan, Log, SmActivity};

use super::Sm;

impl Sm {
    /// Records every CTA, and with `warps` the states of all warps and what happens beside them, from cycle `from` on; at most `most` events of each kind.
    pub fn record(&mut self, warps: bool, from: Cycle, most: usize) {
        self.core.history.log = Some(Box::new(Log::new(from.0, most)));
        if warps {
            let kernels = self.core.counters.kernels.len();
            self.observers.record_warps(self.control.is_some(), kernels, Log::new(from.0, most));
            self.core.history.beside = Some(Box::new(Log::new(from.0, most)));
        }
    }

    /// Which SM it is.
    pub fn id(&self) -> SmId {
        self.core.id
    }

    /// What was recorded, with the CTAs that are resident now.
    pub fn take_activity(&mut self) -> SmActivity {
        let mut ctas = self.core.history.log.take().map(|log| *log).unwrap_or_default();
        for (_, cta) in self.core.ctas.iter() {
            let (launch, started) = (cta.launch, cta.started.0);
            let span = CtaSpan { kernel: launch.kernel.0, cta: launch.cta.0, started, left: None, preempted: false };
            ctas.push(u64::MAX, span);
        }
        let warps = self.observers.take_warps();
        let beside = self.core.history.beside.take().map(|log| *log).unwrap_or_default();
        SmActivity { sm: self.core.id.0, ctas, warps, beside }
    }
}
