//! Programmatic dependent launches on an SM: CTAs that let the launch after their own begin, and warps that wait for the end of the one before.
//!
//! In: the first `griddepcontrol.launch_dependents` of a CTA, and messages of the grid scheduler that a dependency is met. Out: notices for the grid scheduler,
//! which leave at the end of the cycle, and warps that look again. Whether the warps of a CTA wait, and whether its trigger is awaited, is in the
//! [`CtaLaunch`](warpshard_protocol::CtaLaunch) of the CTA.
//!
//! Source: PTX ISA, "griddepcontrol".

use std::collections::VecDeque;

use warpshard_base::{Cycle, KernelIndex, LinkId};
use warpshard_protocol::{CtaNotice, Outbox, Payload};

use super::super::core::Core;
use super::super::starts::CtaStage;

/// The messages of an SM about programmatic dependent launches.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct Dependents {
    /// Notices that leave in this cycle.
    leaving: Vec<CtaNotice>,
    /// Launches whose dependency is met, each with the cycle from which on.
    met: VecDeque<(Cycle, KernelIndex)>,
}

impl Dependents {
    /// The dependency of a launch is met from cycle `at` on.
    pub(super) fn expect(&mut self, at: Cycle, kernel: KernelIndex) {
        self.met.push_back((at, kernel));
    }

    /// The first cycle in which a dependency is met.
    #[inline]
    pub(super) fn next_event(&self) -> u64 {
        self.met.front().map_or(u64::MAX, |(at, _)| at.0)
    }

    /// A warp of the CTA in a slot executes `griddepcontrol.launch_dependents`.
    #[cold]
    pub(super) fn trigger(&mut self, slot: u8, core: &mut Core) {
        if let Some((kernel, cta)) = core.ctas.trigger(slot) {
            self.leaving.push(CtaNotice { kernel, cta, sm: core.id });
        }
    }

    /// Whether notices leave in this cycle.
    #[inline]
    pub(super) fn is_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Sends the notices of this cycle.
    #[cold]
    pub(super) fn flush(&mut self, now: Cycle, to_grid: LinkId, out: &mut Outbox) {
        self.leaving.drain(..).for_each(|notice| out.send(to_grid, now, Payload::CtaTriggered(notice)));
    }

    /// Lets warps continue whose dependency is met in the present cycle. Returns whether there are any, so that the L1 must not show what it held before.
    #[cold]
    pub(super) fn release(&mut self, core: &mut Core, starts: &mut CtaStage) -> bool {
        let now = core.now;
        let mut warps = 0;
        while let Some((_, kernel)) = self.met.pop_front_if(|(at, _)| *at <= now) {
            starts.dependency_met(kernel);
            warps |= core.ctas.dependency_met(kernel);
        }
        core.warps.touched |= warps;
        warps != 0
    }
}
