//! Outstanding instructions of a preempted CTA: the preemption waits for some of them and squashes the others.
//!
//! An access that has left the unit receives its reply and fills the L1, but no register of the CTA is written and its stores are not
//! awaited. The remaining accesses of the instruction in the unit are dropped.

use warpshard_workload::NO_REGISTER;

use super::super::core::{Core, NO_WARP, is_in};
use super::{Lsu, LsuWork, PendingResult};

impl Lsu {
    /// Returns the warp of the instruction in the unit.
    pub(in crate::sm) fn entry_warp(&self) -> Option<u8> {
        self.entry.as_ref().map(|entry| entry.warp)
    }

    /// Returns true if an instruction of `warps` is outstanding that cannot be replayed: an access to shared memory, an instruction that
    /// leaves the unit in the next cycle, an atomic, or a load for which `may` returns false. The arguments of `may` are the warp and the
    /// number of instructions that follow.
    pub(in crate::sm) fn holds(&self, warps: u64, may: impl Fn(u8, u32) -> bool) -> bool {
        let shared = self.shared_pipe.iter().map(|(_, answer)| answer.warp);
        let answered = if let Some(PendingResult::Shared(answer)) = &self.result { Some(answer.warp) } else { None };
        let entry = self.entry.iter().filter(|entry| match entry.work {
            LsuWork::SharedLoad | LsuWork::SharedStore | LsuWork::Barrier | LsuWork::Bulk | LsuWork::Remote { .. } | LsuWork::Nothing => {
                true
            }
            LsuWork::Load(_) | LsuWork::Store => is_in(warps, entry.warp) && !may(entry.warp, entry.left),
        });
        shared.chain(answered).chain(entry.map(|entry| entry.warp)).any(|warp| is_in(warps, warp))
            || self.async_unit.as_ref().is_some_and(|beside| beside.holds(warps))
            || self.loads.of_warps(warps).any(|load| load.atomic || !may(load.warp, load.left))
    }

    /// Squashes all outstanding instructions of `warps`. Calls `squashed` for each instruction with its warp and the number of instructions
    /// that follow; for the instruction in the unit, which has not left its pipeline, possibly twice. Returns the warp of the instruction
    /// in the unit if it was squashed.
    pub(in crate::sm) fn squash(&mut self, warps: u64, core: &mut Core, mut squashed: impl FnMut(u8, u32)) -> Option<u8> {
        self.wake(core.now.after(1), core);
        self.loads.of_warps(warps).for_each(|load| squashed(load.warp, load.left));
        self.loads.squash(warps);
        if let Some(beside) = &mut self.async_unit {
            beside.squash(warps);
        }
        for answer in self.shared_pipe.iter_mut().map(|(_, answer)| answer).filter(|answer| is_in(warps, answer.warp)) {
            (answer.warp, answer.dst, answer.atomic_lanes) = (NO_WARP, NO_REGISTER, 0);
        }
        if let Some(PendingResult::Shared(answer)) = &mut self.result
            && is_in(warps, answer.warp)
        {
            (answer.warp, answer.dst) = (NO_WARP, NO_REGISTER);
        }
        let entry = self.entry.take_if(|entry| is_in(warps, entry.warp))?;
        squashed(entry.warp, entry.left);
        if let LsuWork::Load(slot) = entry.work {
            let sectors = || self.accesses.iter().map(|access| access.sectors.count()).sum::<u32>();
            let left = if entry.bypass { sectors() as u16 } else { self.accesses.len() as u16 };
            self.loads.complete_parts(slot, left, core);
        }
        self.accesses.clear();
        self.bank = 0;
        Some(entry.warp)
    }
}
