//! Event recording of an SM for trace viewers: its CTAs, the states of its warps, and its asynchronous operations.
//!
//! In: the ends of CTAs from their history, the states of warps from `warp_states` or `warp_reasons`, and copies, barriers in shared memory
//! and products from [`Core::record_async`](super::core::Core::record_async). Out: bounded lists. An SM that records nothing has a test for
//! each CTA, copy, phase and product, and no other work.

use warpshard_base::{Cycle, SmId};
use warpshard_stats::activity::{CtaSpan, EventLog, SmActivity};

use super::Sm;

impl Sm {
    /// Records every CTA, and with `warps` the states of all warps and the asynchronous operations, from cycle `from` on; at most `most`
    /// events of each kind.
    pub fn record(&mut self, warps: bool, from: Cycle, most: usize) {
        self.core.history.log = Some(Box::new(EventLog::new(from.0, most)));
        if warps {
            let kernels = self.core.counters.kernels.len();
            self.observers.record_warps(self.control.is_some(), kernels, EventLog::new(from.0, most));
            self.core.history.async_log = Some(Box::new(EventLog::new(from.0, most)));
        }
    }

    /// Returns the number of the SM.
    pub fn id(&self) -> SmId {
        self.core.id
    }

    /// Removes and returns the recorded activity, including the CTAs that are resident now.
    pub fn take_activity(&mut self) -> SmActivity {
        let mut ctas = self.core.history.log.take().map(|log| *log).unwrap_or_default();
        for (_, cta) in self.core.ctas.iter() {
            let (launch, started) = (cta.launch, cta.started.0);
            let span = CtaSpan { kernel: launch.kernel.0, cta: launch.cta.0, started, left: None, preempted: false };
            ctas.push(u64::MAX, span);
        }
        let warps = self.observers.take_warps();
        let async_events = self.core.history.async_log.take().map(|log| *log).unwrap_or_default();
        SmActivity { sm: self.core.id.0, ctas, warps, async_events }
    }
}
