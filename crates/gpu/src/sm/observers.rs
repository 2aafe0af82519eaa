//! What watches the signals of the stages without being a stage: the phases of instructions, CCWS, and the states of warps.
//!
//! In: warps that start, issue, have a new front instruction and end; accesses, fetches and fills of the L1. Out: the warps that may
//! not load (CCWS), the distances to the ends of phases (phase-aware warp orders). A machine without them pays a test for each signal.

use warpshard_base::{Addr, Cycle, KernelIndex};
use warpshard_config::machine::{CoreStyle, Machine};
use warpshard_mem::cache::Probe;
use warpshard_stats::CounterVisitor;
use warpshard_stats::activity::{Log, WarpChange, WarpReason};

use super::ccws::{Ccws, LineAccess};
use super::core::Core;
use super::l1::L1;
use super::operands::Operands;
use super::phases::PhaseView;
use super::warp_reasons::WarpReasons;
use super::warp_states::WarpStates;

/// The observers of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Observers {
    pub(super) phases: Option<Box<PhaseView>>,
    /// Whether any sees each instruction that issues, and each new front instruction.
    of_issues: bool,
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

    /// The phases of the workload's kernels are known.
    pub(super) fn set_phases(&mut self, phases: PhaseView) {
        self.phases = Some(Box::new(phases));
        self.of_fronts = true;
    }

    /// Records the states of all warps from now on, of a core with control words for `kernels` launches or of another one.
    pub(super) fn record_warps(&mut self, words: bool, kernels: usize, log: Log<WarpChange>) {
        if words {
            self.reasons.get_or_insert_with(|| Box::new(WarpReasons::new(kernels, false))).record(log);
        } else {
            self.warp_states.get_or_insert_default().record(log);
        }
    }

    /// The changes of the warps' states that were recorded, up to the last cycle that is counted.
    pub(super) fn take_warps(&mut self) -> Log<WarpChange> {
        let reasons = self.reasons.as_mut().and_then(|reasons| reasons.take_log());
        reasons.or_else(|| self.warp_states.as_mut()?.take_log()).unwrap_or_default()
    }

    /// Whether somebody wants to know what the L1's tags knew before an access.
    #[inline]
    pub(super) fn watch_lines(&self) -> bool {
        self.ccws.is_some()
    }

    /// The first cycle in which an observer changes what warps may do.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle) -> Cycle {
        self.ccws.as_ref().map_or(Cycle::NEVER, |ccws| ccws.refresh_at().max(now))
    }

    /// A warp of a launch took its slot.
    #[inline]
    pub(super) fn warp_started(&mut self, warp: usize, kernel: KernelIndex, now: Cycle) {
        if let Some(reasons) = &mut self.reasons {
            reasons.start(warp, kernel, now.0 + 1);
        }
        if let Some(ccws) = &mut self.ccws {
            ccws.start(warp, now);
        }
    }

    /// A warp issued its front instruction. The states of warps of a core with control words are told where these are issued.
    #[inline(always)]
    pub(super) fn issued(&mut self, warp: usize, now: Cycle) {
        if self.of_issues {
            self.see_issue(warp, now);
        }
    }

    // Apart, and `see_front` too: called for every instruction, it would be in every issue of machines without such observers.
    #[inline(never)]
    fn see_issue(&mut self, warp: usize, now: Cycle) {
        if let Some(ccws) = &mut self.ccws {
            ccws.issued(warp, now);
        }
    }

    /// A warp has a new front instruction.
    #[inline(always)]
    pub(super) fn front_changed(&mut self, core: &mut Core, warp: usize) {
        if self.of_fronts {
            self.see_front(core, warp);
        }
    }

    #[inline(never)]
    fn see_front(&mut self, core: &mut Core, warp: usize) {
        if let Some(phases) = &mut self.phases {
            phases.look(warp, core.kernel_of(warp), core.warps.front(warp).index);
        }
        if let Some(ccws) = &mut self.ccws {
            let inst = core.code_of(warp)[core.warps.front(warp).index as usize];
            ccws.front_changed(warp, &inst, core.now);
            ccws.allow(&mut core.warps);
        }
    }

    /// A warp does something from cycle `at` on.
    #[inline]
    pub(super) fn turn(&mut self, warp: usize, reason: WarpReason, at: u64) {
        if let Some(reasons) = &mut self.reasons {
            reasons.turn(warp, reason, at);
        }
    }

    /// From cycle `at` on, these warps could issue, and are not selected.
    #[inline]
    pub(super) fn pass_over(&mut self, warps: u64, at: u64) {
        if let Some(reasons) = &mut self.reasons {
            reasons.pass_over(warps, at);
        }
    }

    /// A warp issued its last instruction.
    #[inline]
    pub(super) fn warp_finished(&mut self, warp: usize, now: Cycle) {
        self.turn(warp, WarpReason::Drain, now.0 + 1);
        if let Some(ccws) = &mut self.ccws {
            ccws.finish(now);
        }
    }

    /// A warp left its slot.
    #[inline]
    pub(super) fn warp_ended(&mut self, warp: usize, now: Cycle) {
        if let Some(reasons) = &mut self.reasons {
            reasons.end(warp, now.0 + 1);
        }
        if let Some(ccws) = &mut self.ccws {
            ccws.end(warp);
        }
    }

    /// Which of the warps that may issue as far as others have a say may issue.
    #[inline]
    pub(super) fn admit(&mut self, admitted: u64) -> u64 {
        self.ccws.as_mut().map_or(admitted, |ccws| ccws.admit(admitted))
    }

    /// The issue stage begins: warps that may load or not from this cycle on.
    #[inline]
    pub(super) fn refresh(&mut self, core: &mut Core) {
        if let Some(ccws) = &mut self.ccws {
            ccws.refresh(&mut core.warps, core.now);
        }
    }

    /// The L1 took an access.
    pub(super) fn line_accessed(&mut self, l1: &L1, access: &LineAccess, core: &Core) {
        if let Some(ccws) = &mut self.ccws {
            ccws.access(l1, access, &core.warps, core.now);
        }
    }

    /// The L1 sent fetch number `entry` on behalf of a warp.
    #[inline]
    pub(super) fn line_requested(&mut self, entry: u16, warp: u8) {
        if let Some(ccws) = &mut self.ccws {
            ccws.fetch(entry, warp);
        }
    }

    /// The L1 took the data of fetch number `entry`, before which its tags knew `before` of `addr`.
    pub(super) fn line_filled(&mut self, l1: &L1, before: Probe, addr: Addr, entry: u16) {
        if let Some(ccws) = &mut self.ccws {
            ccws.fill(l1, before, addr, entry);
        }
    }

    /// The L1 was emptied.
    pub(super) fn lines_invalidated(&mut self) {
        if let Some(ccws) = &mut self.ccws {
            ccws.invalidate();
        }
    }

    /// The stages have done what they do in the present cycle.
    #[inline]
    pub(super) fn cycle_ended(&mut self, core: &Core, operands: &Operands) {
        if let Some(states) = &mut self.warp_states {
            states.see(core, operands);
        }
    }

    /// The counters of those that have some.
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

    /// Counts the cycles before `until` that are not counted yet.
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
