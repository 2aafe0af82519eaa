//! What became of the CTAs of an SM, for controllers that take single CTAs away: sums over the ended ones of each kernel, and the last ones that
//! left. It decides nothing and nothing waits for it.

use std::collections::VecDeque;

use warpshard_base::Cycle;
use warpshard_protocol::{CtaGone, CtaLaunch, EndedCtas};
use warpshard_stats::activity::{BesideEvent, CtaSpan, Log};
use warpshard_stats::{PerKernel, Tally};

/// CTAs that left and are remembered: a few times those that an SM holds.
const REMEMBERED: usize = 64;

/// Sums over the ended CTAs of a kernel.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct Ended(pub(in crate::sm) EndedCtas);

impl Tally for Ended {
    fn counts(&mut self, see: &mut dyn FnMut(&mut u64)) {
        let EndedCtas { ctas, instructions, squares, cpi, cpi_squares } = &mut self.0;
        [ctas, instructions, squares, cpi, cpi_squares].into_iter().for_each(see);
    }
}

/// What became of CTAs.
#[derive(Debug, warpshard_state::State)]
pub(in crate::sm) struct History {
    /// By kernel.
    pub(in crate::sm) ended: PerKernel<Ended>,
    pub(in crate::sm) gone: VecDeque<CtaGone>,
    /// Every CTA, where somebody wants them.
    pub(in crate::sm) log: Option<Box<Log<CtaSpan>>>,
    /// Copies, barriers in shared memory and products, where a recording wants them.
    pub(in crate::sm) beside: Option<Box<Log<BesideEvent>>>,
}

impl History {
    /// Before the first CTA of so many kernels.
    pub(in crate::sm) fn new(kernels: usize) -> Self {
        Self { ended: PerKernel::new(kernels), gone: VecDeque::new(), log: None, beside: None }
    }

    /// A CTA of so many instructions, `here` of them since it started on this SM, ended by itself.
    pub(in crate::sm) fn cta_ended(&mut self, launch: &CtaLaunch, instructions: u64, here: u64, (started, now): (Cycle, Cycle)) {
        self.ended.at(launch.kernel.index()).0.note(instructions, here, now.0.saturating_sub(started.0) + 1);
        let CtaLaunch { kernel, cta, .. } = *launch;
        self.cta_left(CtaGone { kernel, cta, started, left: now, executed: instructions, how: None });
    }

    /// A CTA left.
    pub(in crate::sm) fn cta_left(&mut self, gone: CtaGone) {
        if let Some(log) = &mut self.log {
            let CtaGone { kernel, cta, started, left, how, .. } = gone;
            let span = CtaSpan { kernel: kernel.0, cta: cta.0, started: started.0, left: Some(left.0), preempted: how.is_some() };
            log.push(left.0, span);
        }
        if self.gone.len() == REMEMBERED {
            self.gone.pop_front();
        }
        self.gone.push_back(gone);
    }
}
