//! Recording of what an SM does, event by event, for viewers of traces: its CTAs, and the states of its warps.
//!
//! In: the ends of CTAs from their history, the states of warps from `warp_states`. Out: bounded lists. An SM that records nothing has a test
//! for each CTA that ends and no other work.

use warpshard_base::{Cycle, SmId};
use warpshard_stats::activity::{CtaSpan, Log, SmActivity};

use super::Sm;

impl Sm {
    /// Records every CTA, and with `warps` the states of all warps, from cycle `from` on; at most `most` events of each kind.
    pub fn record(&mut self, warps: bool, from: Cycle, most: usize) {
        self.core.history.log = Some(Box::new(Log::new(from.0, most)));
        if warps {
            self.observers.warp_states.get_or_insert_default().record(Log::new(from.0, most));
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
        let warps = self.observers.warp_states.as_mut().and_then(|states| states.take_log()).unwrap_or_default();
        SmActivity { sm: self.core.id.0, ctas, warps }
    }
}
