//! Programmatic dependent launches on an SM: CTAs that trigger the dependent launch, and warps that wait for the end of the preceding
//! launch.
//!
//! In: the first `griddepcontrol.launch_dependents` of a CTA, and messages of the grid scheduler that a dependency is met. Out: notices for
//! the grid scheduler, sent at the end of the cycle, and warps that are examined again. The [`CtaLaunch`](warpshard_protocol::CtaLaunch) of
//! a CTA states whether its warps wait and whether its trigger is awaited.
//!
//! Source: PTX ISA, "griddepcontrol".

use std::collections::VecDeque;

use warpshard_base::{Cycle, KernelIndex, LinkId};
use warpshard_protocol::{CtaNotice, Outbox, Payload};

use super::super::core::Core;
use super::super::starts::CtaStage;

/// Messages between an SM and the grid scheduler about programmatic dependent launches.
#[derive(Debug, Default, warpshard_state::State)]
pub(super) struct DependentMessages {
    /// Notices to send in this cycle.
    outgoing: Vec<CtaNotice>,
    /// Launches whose dependency is met, and the cycle from which it is met.
    met: VecDeque<(Cycle, KernelIndex)>,
}

impl DependentMessages {
    /// Schedules that the dependency of a launch is met from cycle `at` on.
    pub(super) fn schedule(&mut self, at: Cycle, kernel: KernelIndex) {
        self.met.push_back((at, kernel));
    }

    /// Returns the first cycle in which a dependency is met.
    #[inline]
    pub(super) fn next_event(&self) -> u64 {
        self.met.front().map_or(u64::MAX, |(at, _)| at.0)
    }

    /// Records that a warp of the CTA in `slot` executes `griddepcontrol.launch_dependents`.
    #[cold]
    pub(super) fn trigger(&mut self, slot: u8, core: &mut Core) {
        if let Some((kernel, cta)) = core.ctas.trigger(slot) {
            self.outgoing.push(CtaNotice { kernel, cta, sm: core.id });
        }
    }

    /// Returns true if the SM sends notices in this cycle.
    #[inline]
    pub(super) fn has_messages(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Sends the notices of this cycle.
    #[cold]
    pub(super) fn flush(&mut self, now: Cycle, to_grid: LinkId, out: &mut Outbox) {
        self.outgoing.drain(..).for_each(|notice| out.send(to_grid, now, Payload::CtaTriggered(notice)));
    }

    /// Releases the warps whose dependency is met in the present cycle. Returns true if there are any; the L1 must then drop its older
    /// data.
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
