//! What the unit has under way for a CTA that is taken away: what of it waits for, and what is squashed.
//!
//! An access that has left the unit is answered, and fills the L1; but no register of the CTA is written, and nobody waits for its stores. What
//! the instruction in the unit has not accessed, it does not access any more.

use warpshard_workload::NO_REGISTER;

use super::super::core::{Core, NOBODY, is_in};
use super::{Answer, Lsu, Work};

impl Lsu {
    /// The warp of the instruction in the unit.
    pub(in crate::sm) fn warp(&self) -> Option<u8> {
        self.entry.as_ref().map(|entry| entry.warp)
    }

    /// Whether an instruction of `warps` is under way that cannot be replayed: one on shared memory, one that leaves the unit in the next
    /// cycle, an atomic, or a load for which `may` is not true, given the instructions of its warp that follow it.
    pub(in crate::sm) fn holds(&self, warps: u64, may: impl Fn(u8, u32) -> bool) -> bool {
        let shared = self.shared_pipe.iter().map(|(_, answer)| answer.warp);
        let answered = if let Some(Answer::Shared(answer)) = &self.answer { Some(answer.warp) } else { None };
        let entry = self.entry.iter().filter(|entry| match entry.work {
            Work::SharedLoad | Work::SharedStore | Work::Barrier | Work::Bulk | Work::Remote { .. } | Work::Nothing => true,
            Work::Load(_) | Work::Store => is_in(warps, entry.warp) && !may(entry.warp, entry.left),
        });
        shared.chain(answered).chain(entry.map(|entry| entry.warp)).any(|warp| is_in(warps, warp))
            || self.beside.as_ref().is_some_and(|beside| beside.holds(warps))
            || self.loads.of_warps(warps).any(|load| load.atomic || !may(load.warp, load.left))
    }

    /// Gives up all that is under way for `warps`. `squashed` hears of each instruction, by its warp and the instructions that follow it; of
    /// one that is in the unit, which has not left its pipeline, perhaps twice. Returns the warp of the instruction in the unit, if it was one of them.
    pub(in crate::sm) fn squash(&mut self, warps: u64, core: &mut Core, mut squashed: impl FnMut(u8, u32)) -> Option<u8> {
        self.wake(core.now.after(1), core);
        self.loads.of_warps(warps).for_each(|load| squashed(load.warp, load.left));
        self.loads.squash(warps);
        if let Some(beside) = &mut self.beside {
            beside.squash(warps);
        }
        for answer in self.shared_pipe.iter_mut().map(|(_, answer)| answer).filter(|answer| is_in(warps, answer.warp)) {
            (answer.warp, answer.dst, answer.atomic_lanes) = (NOBODY, NO_REGISTER, 0);
        }
        if let Some(Answer::Shared(answer)) = &mut self.answer
            && is_in(warps, answer.warp)
        {
            (answer.warp, answer.dst) = (NOBODY, NO_REGISTER);
        }
        let entry = self.entry.take_if(|entry| is_in(warps, entry.warp))?;
        squashed(entry.warp, entry.left);
        if let Work::Load(slot) = entry.work {
            let sectors = || self.accesses.iter().map(|access| access.sectors.count()).sum::<u32>();
            let left = if entry.bypass { sectors() as u16 } else { self.accesses.len() as u16 };
            self.loads.answer(slot, left, core);
        }
        self.accesses.clear();
        self.bank = 0;
        Some(entry.warp)
    }
}
