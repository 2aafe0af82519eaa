//! Outcomes of the CTAs of an SM, for controllers that preempt single CTAs: sums over the ended CTAs of each kernel, and the CTAs that left
//! last. The history influences no decision and nothing waits for it.

use std::collections::VecDeque;

use warpshard_base::Cycle;
use warpshard_protocol::{CtaLaunch, DepartedCta, EndedCtas};
use warpshard_stats::activity::{AsyncEvent, CtaSpan, EventLog};
use warpshard_stats::{PerKernel, Tally};

/// Maximum number of recorded CTAs that left: a few times the number that an SM holds.
const MAX_RECORDED_CTAS: usize = 64;

/// Sums over the ended CTAs of a kernel.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct EndedSums(pub(in crate::sm) EndedCtas);

impl Tally for EndedSums {
    fn counts(&mut self, see: &mut dyn FnMut(&mut u64)) {
        let EndedCtas { ctas, instructions, squares, cpi, cpi_squares } = &mut self.0;
        [ctas, instructions, squares, cpi, cpi_squares].into_iter().for_each(see);
    }
}

/// Outcomes of CTAs.
#[derive(Debug, warpshard_state::State)]
pub(in crate::sm) struct CtaHistory {
    /// Sums over the ended CTAs, by kernel.
    pub(in crate::sm) ended: PerKernel<EndedSums>,
    pub(in crate::sm) departed: VecDeque<DepartedCta>,
    /// Log of every CTA, if a recording needs it.
    pub(in crate::sm) log: Option<Box<EventLog<CtaSpan>>>,
    /// Log of copies, barriers in shared memory and products, if a recording needs it.
    pub(in crate::sm) async_log: Option<Box<EventLog<AsyncEvent>>>,
}

impl CtaHistory {
    /// Creates the history of `kernels` kernels before their first CTAs.
    pub(in crate::sm) fn new(kernels: usize) -> Self {
        Self { ended: PerKernel::new(kernels), departed: VecDeque::new(), log: None, async_log: None }
    }

    /// Records that a CTA completed after `instructions` instructions, `here` of them since it started on this SM.
    pub(in crate::sm) fn cta_ended(&mut self, launch: &CtaLaunch, instructions: u64, here: u64, (started, now): (Cycle, Cycle)) {
        self.ended.at(launch.kernel.index()).0.add_ended_cta(instructions, here, now.0.saturating_sub(started.0) + 1);
        let CtaLaunch { kernel, cta, .. } = *launch;
        self.cta_left(DepartedCta { kernel, cta, started, left: now, executed: instructions, how: None });
    }

    /// Records a CTA that left the SM.
    pub(in crate::sm) fn cta_left(&mut self, departed: DepartedCta) {
        if let Some(log) = &mut self.log {
            let DepartedCta { kernel, cta, started, left, how, .. } = departed;
            let span = CtaSpan { kernel: kernel.0, cta: cta.0, started: started.0, left: Some(left.0), preempted: how.is_some() };
            log.push(left.0, span);
        }
        if self.departed.len() == MAX_RECORDED_CTAS {
            self.departed.pop_front();
        }
        self.departed.push_back(departed);
    }
}
