//! Squashing of the outstanding instructions of a preempted CTA (`gpu.dispatch.under_way`).
//!
//! A squashed instruction becomes a bubble: it advances in its pipeline, but writes no register, and makes no further access. Accesses that
//! have left the load/store unit receive their replies and loads fill the L1, without effect on a warp. A dropped CTA loses all its
//! outstanding instructions immediately ([`OutstandingParts::drop_all`]).
//!
//! A switched CTA first completes the instructions that its context must include: instructions in the arithmetic units and in shared
//! memory, and atomics, which must not be executed twice ([`OutstandingParts::can_be_saved`]). Then its outstanding loads and stores are squashed
//! and become part of the context: the warp replays them first when it resumes ([`OutstandingParts::save`]). A store that has left the unit is not
//! replayed, and its acknowledgement is not awaited.

use super::control::ControlCore;
use super::core::{Core, NO_WARP, bits, is_in};
use super::fetch::FetchStage;
use super::kinds::UnitKind;
use super::lsu::Lsu;
use super::operands::OperandCollectors;
use super::writeback::CompletionWheel;

/// The parts of the SM that may hold outstanding instructions of a warp.
pub(super) struct OutstandingParts<'a> {
    pub(super) core: &'a mut Core,
    pub(super) fetch: &'a mut FetchStage,
    pub(super) control: Option<&'a mut ControlCore>,
    pub(super) operands: &'a mut OperandCollectors,
    pub(super) completions: &'a mut CompletionWheel,
    pub(super) lsu: &'a mut Lsu,
}

impl OutstandingParts<'_> {
    /// Returns true if `warps` have no outstanding instruction.
    pub(super) fn is_empty(&self, warps: u64) -> bool {
        self.core.is_quiet(warps) && !self.fetch.is_fetching(warps) && self.core.warps.fence_over & warps == 0
    }

    /// Squashes all outstanding instructions of `warps`.
    pub(super) fn drop_all(&mut self, warps: u64) {
        self.fetch.squash(warps);
        if let Some(control) = &mut self.control {
            control.squash(warps);
        }
        self.operands.squash(warps, true, |_, _| {});
        self.completions.squash(warps);
        self.lsu.squash(warps, self.core, |_, _| {});
        bits(warps).for_each(|warp| self.core.scoreboard.release_all(warp));
    }

    /// Returns true if all outstanding instructions of `warps` can be replayed.
    pub(super) fn can_be_saved(&self, warps: u64) -> bool {
        let state = &self.core.warps;
        let warps = warps & state.live;
        let may = |warp: u8, left: u32| state.replay_bit(usize::from(warp), left).is_some();
        let waiting = || self.operands.issued.iter().filter(|inst| is_in(warps, inst.warp) && inst.kind == UnitKind::Mem);
        if bits(warps).any(|warp| state.atomics[warp] != 0)
            || self.lsu.holds(warps, may)
            || waiting().any(|inst| !may(inst.warp, inst.left))
        {
            return false;
        }
        let in_unit = self.lsu.entry_warp().filter(|warp| is_in(warps, *warp));
        let replayable = |warp: usize| waiting().map(|inst| inst.warp).chain(in_unit).filter(|other| usize::from(*other) == warp).count();
        bits(warps).all(|warp| usize::from(state.in_pipe[warp]) == state.buffered_count(warp) + replayable(warp))
    }

    /// Squashes the outstanding loads and stores of `warps`; the warps have to replay them.
    pub(super) fn save(&mut self, warps: u64) {
        let warps = warps & self.core.warps.live;
        let mut squashed = Vec::new();
        self.operands.squash(warps, false, |warp, left| squashed.push((warp, left)));
        squashed.iter().for_each(|(warp, _)| self.core.warps.in_pipe[usize::from(*warp)] -= 1);
        let in_unit = self.lsu.squash(warps, self.core, |warp, left| squashed.push((warp, left)));
        in_unit.into_iter().for_each(|warp| self.core.warps.in_pipe[usize::from(warp)] -= 1);
        self.fetch.squash(warps);
        if let Some(control) = &mut self.control {
            control.squash(warps);
        }
        // A warp without remaining instructions is saved like the other warps of its CTA.
        self.core.warps.releasable &= !warps;
        let mut replays = [0; NO_WARP as usize];
        for (warp, left) in squashed {
            replays[usize::from(warp)] |= self.core.warps.replay_bit(usize::from(warp), left).unwrap_or(0);
        }
        for warp in bits(warps) {
            self.core.warps.add_replays(warp, replays[warp]);
            self.core.warps.discard_stores(warp);
            self.core.scoreboard.release_all(warp);
        }
    }
}
