//! Instructions under way of a CTA that is taken away, where they are squashed (`gpu.dispatch.under_way`).
//!
//! A squashed instruction becomes a bubble: it passes on in its pipeline, but writes no register, and makes no access that it has not made yet.
//! Accesses that have left the load/store unit are answered, loads fill the L1, and nobody hears of it. A CTA that is dropped loses all that it has
//! under way at once ([`UnderWay::drop_all`]).
//!
//! A CTA that is switched first completes what its context needs to be whole: its instructions in the arithmetic units, in shared memory, and its
//! atomics, which must not be done twice ([`UnderWay::can_be_saved`]). Then its loads and stores under way are squashed, and are part of the
//! context: the warp replays them when it comes back, before anything else ([`UnderWay::save`]). A store that has left is not replayed; nobody waits for its
//! acknowledgement.

use super::control::ControlCore;
use super::core::{Core, NOBODY, bits, is_in};
use super::fetch::FetchStage;
use super::kinds::UnitKind;
use super::lsu::Lsu;
use super::operands::Operands;
use super::writeback::Wheel;

/// The parts of the SM in which something of a warp may be under way.
pub(super) struct UnderWay<'a> {
    pub(super) core: &'a mut Core,
    pub(super) fetch: &'a mut FetchStage,
    pub(super) control: Option<&'a mut ControlCore>,
    pub(super) operands: &'a mut Operands,
    pub(super) completions: &'a mut Wheel,
    pub(super) lsu: &'a mut Lsu,
}

impl UnderWay<'_> {
    /// Whether `warps` have nothing under way.
    pub(super) fn is_over(&self, warps: u64) -> bool {
        self.core.is_quiet(warps) && !self.fetch.is_fetching(warps) && self.core.warps.fence_over & warps == 0
    }

    /// Squashes all that `warps` have under way.
    pub(super) fn drop_all(&mut self, warps: u64) {
        self.fetch.squash(warps);
        if let Some(control) = &mut self.control {
            control.squash(warps);
        }
        self.operands.squash(warps, true, |_, _| {});
        self.completions.squash(warps);
        self.lsu.squash(warps, self.core, |_, _| {});
        bits(warps).for_each(|warp| self.core.scoreboard.forget(warp));
    }

    /// Whether all that `warps` have under way can be replayed.
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
        let in_unit = self.lsu.warp().filter(|warp| is_in(warps, *warp));
        let replayable = |warp: usize| waiting().map(|inst| inst.warp).chain(in_unit).filter(|other| usize::from(*other) == warp).count();
        bits(warps).all(|warp| usize::from(state.in_pipe[warp]) == state.buffered(warp) + replayable(warp))
    }

    /// Squashes the loads and stores that `warps` have under way; the warps have to replay them.
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
        // One that has nothing left to do is saved like the others of its CTA.
        self.core.warps.releasable &= !warps;
        let mut owed = [0; NOBODY as usize];
        for (warp, left) in squashed {
            owed[usize::from(warp)] |= self.core.warps.replay_bit(usize::from(warp), left).unwrap_or(0);
        }
        for warp in bits(warps) {
            self.core.warps.owe(warp, owed[warp]);
            self.core.warps.give_up(warp);
            self.core.scoreboard.forget(warp);
        }
    }
}
