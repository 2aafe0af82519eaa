//! Observers of the signals of the stages: the phases of instructions, CCWS, and the states of warps.
//!
//! In: warps that start, issue, have a new front instruction and end; accesses, fetches and fills of the L1. Out: the warps that may not
//! load (CCWS), and the distances to the ends of phases (phase-aware warp orders). A machine without observers pays one test per signal.

use warpshard_base::{Addr, Cycle, KernelIndex};
use warpshard_config::machine::{CoreStyle, Machine};
use warpshard_mem::cache::Probe;
use warpshard_stats::CounterVisitor;
use warpshard_stats::activity::{EventLog, WarpChange, WarpReason};

use super::ccws::{Ccws, LineAccess};
use super::core::Core;
use super::l1::L1;
use super::operands::OperandCollectors;
use super::phases::PhaseView;
use super::warp_reasons::WarpReasons;
use super::warp_states::WarpStates;

/// The observers of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Observers {
    pub(super) phases: Option<Box<PhaseView>>,
    /// True if an observer uses each issued instruction.
    of_issues: bool,
    /// True if an observer uses each new front instruction.
    of_fronts: bool,
    pub(super) ccws: Option<Box<Ccws>>,
    pub(super) warp_states: Option<Box<WarpStates>>,
    pub(super) reasons: Option<Box<WarpReasons>>,
}

impl Observers {
    pub(super) fn new(machine: &Machine, kernels: usize) -> Self {
        let spec = &machine.gpu.sm;
        let words = spec.style == CoreStyle::ControlWords;
        Self {
            phases: None,
            of_issues: spec.ccws.is_some(),
            of_fronts: spec.ccws.is_some(),
            ccws: spec.ccws.as_ref().map(|ccws| Box::new(Ccws::new(ccws, machine))),
            warp_states: (spec.warp_states && !words).then(|| Box::new(WarpStates::counted())),
            reasons: (spec.warp_states && words).then(|| Box::new(WarpReasons::new(kernels, true))),
        }
    }

    /// Sets the phases of the kernels of the workload.
    pub(super) fn set_phases(&mut self, phases: PhaseView) {
        self.phases = Some(Box::new(phases));
        self.of_fronts = true;
    }

    /// Records the states of all warps from now on; `words` is true for a core with control words, which has `kernels` launches.
    pub(super) fn record_warps(&mut self, words: bool, kernels: usize, log: EventLog<WarpChange>) {
        if words {
            self.reasons.get_or_insert_with(|| Box::new(WarpReasons::new(kernels, false))).record(log);
        } else {
            self.warp_states.get_or_insert_default().record(log);
        }
    }

    /// Removes and returns the recorded changes of warp states, up to the last counted cycle.
    pub(super) fn take_warps(&mut self) -> EventLog<WarpChange> {
        let reasons = self.reasons.as_mut().and_then(|reasons| reasons.take_log());
        reasons.or_else(|| self.warp_states.as_mut()?.take_log()).unwrap_or_default()
    }

    /// Returns true if an observer needs the state of the L1 tags before an access.
    #[inline]
    pub(super) fn needs_line_events(&self) -> bool {
        self.ccws.is_some()
    }

    /// Returns the first cycle in which an observer changes the permissions of warps.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle) -> Cycle {
        self.ccws.as_ref().map_or(Cycle::NEVER, |ccws| ccws.refresh_at().max(now))
    }

    /// Records that a warp of a launch started in its slot.
    #[inline]
    pub(super) fn warp_started(&mut self, warp: usize, kernel: KernelIndex, now: Cycle) {
        if let Some(reasons) = &mut self.reasons {
            reasons.start(warp, kernel, now.0 + 1);
        }
        if let Some(ccws) = &mut self.ccws {
            ccws.start(warp, now);
        }
    }

    /// Records that a warp issued its front instruction. Cores with control words record the states of their warps at issue instead.
    #[inline(always)]
    pub(super) fn record_issue(&mut self, warp: usize, now: Cycle) {
        if self.of_issues {
            self.notify_issue(warp, now);
        }
    }

    // Not inlined, like `notify_front`: otherwise the code would be part of every issue of machines without such observers.
    #[inline(never)]
    fn notify_issue(&mut self, warp: usize, now: Cycle) {
        if let Some(ccws) = &mut self.ccws {
            ccws.record_issue(warp, now);
        }
    }

    /// Records that a warp has a new front instruction.
    #[inline(always)]
    pub(super) fn front_changed(&mut self, core: &mut Core, warp: usize) {
        if self.of_fronts {
            self.notify_front(core, warp);
        }
    }

    #[inline(never)]
    fn notify_front(&mut self, core: &mut Core, warp: usize) {
        if let Some(phases) = &mut self.phases {
            phases.set_front(warp, core.kernel_of(warp), core.warps.front(warp).index);
        }
        if let Some(ccws) = &mut self.ccws {
            let inst = core.code_of(warp)[core.warps.front(warp).index as usize];
            ccws.front_changed(warp, &inst, core.now);
            ccws.restrict_issue(&mut core.warps);
        }
    }

    /// Sets the state of a warp from cycle `at` on.
    #[inline]
    pub(super) fn set_state(&mut self, warp: usize, reason: WarpReason, at: u64) {
        if let Some(reasons) = &mut self.reasons {
            reasons.set_state(warp, reason, at);
        }
    }

    /// Records that `warps`, from cycle `at` on, could issue and are not selected.
    #[inline]
    pub(super) fn set_not_selected(&mut self, warps: u64, at: u64) {
        if let Some(reasons) = &mut self.reasons {
            reasons.set_not_selected(warps, at);
        }
    }

    /// Records that a warp issued its last instruction.
    #[inline]
    pub(super) fn warp_finished(&mut self, warp: usize, now: Cycle) {
        self.set_state(warp, WarpReason::Drain, now.0 + 1);
        if let Some(ccws) = &mut self.ccws {
            ccws.finish(now);
        }
    }

    /// Records that a warp left its slot.
    #[inline]
    pub(super) fn warp_ended(&mut self, warp: usize, now: Cycle) {
        if let Some(reasons) = &mut self.reasons {
            reasons.end(warp, now.0 + 1);
        }
        if let Some(ccws) = &mut self.ccws {
            ccws.end(warp);
        }
    }

    /// Returns the warps of `admitted`, which all other limits allow, that may issue.
    #[inline]
    pub(super) fn admitted_warps(&mut self, admitted: u64) -> u64 {
        self.ccws.as_mut().map_or(admitted, |ccws| ccws.admitted_warps(admitted))
    }

    /// Updates the warps that may load, at the start of the issue stage.
    #[inline]
    pub(super) fn refresh(&mut self, core: &mut Core) {
        if let Some(ccws) = &mut self.ccws {
            ccws.refresh(&mut core.warps, core.now);
        }
    }

    /// Records an access that the L1 accepted.
    pub(super) fn line_accessed(&mut self, l1: &L1, access: &LineAccess, core: &Core) {
        if let Some(ccws) = &mut self.ccws {
            ccws.access(l1, access, &core.warps, core.now);
        }
    }

    /// Records that the L1 sent fetch number `entry` for a warp.
    #[inline]
    pub(super) fn line_requested(&mut self, entry: u16, warp: u8) {
        if let Some(ccws) = &mut self.ccws {
            ccws.fetch(entry, warp);
        }
    }

    /// Records that the L1 accepted the data of fetch number `entry`; `before` is the previous state of its tags for `addr`.
    pub(super) fn line_filled(&mut self, l1: &L1, before: Probe, addr: Addr, entry: u16) {
        if let Some(ccws) = &mut self.ccws {
            ccws.fill(l1, before, addr, entry);
        }
    }

    /// Records that the L1 was invalidated.
    pub(super) fn lines_invalidated(&mut self) {
        if let Some(ccws) = &mut self.ccws {
            ccws.invalidate();
        }
    }

    /// Records the state at the end of the present cycle.
    #[inline]
    pub(super) fn cycle_ended(&mut self, core: &Core, operands: &OperandCollectors) {
        if let Some(states) = &mut self.warp_states {
            states.update(core, operands);
        }
    }

    /// Visits the counters of the observers.
    pub(super) fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        if let Some(ccws) = &self.ccws {
            visitor.counters(ccws.counters());
        }
        if let Some(states) = self.warp_states.as_ref().filter(|states| states.counted) {
            visitor.counters(&states.counters);
        }
        if let Some(reasons) = &self.reasons {
            reasons.visit(visitor);
        }
    }

    /// Counts the uncounted cycles before `until`.
    pub(super) fn count(&mut self, until: Cycle) {
        if let Some(states) = &mut self.warp_states {
            states.count(until);
        }
        if let Some(reasons) = &mut self.reasons {
            reasons.count(until);
        }
        if let Some(ccws) = &mut self.ccws {
            ccws.count(until);
        }
    }
}
