//! The instruction in the unit: it makes its accesses as fast as shared memory, the banks of the L1, the texture cache or the network
//! accept them.

use warpshard_base::SectorMask;
use warpshard_protocol::{MemOp, Outbox};
use warpshard_workload::NO_REGISTER;

use super::super::core::Core;
use super::super::l1::{AccessGroup, Requester};
use super::token::ReplyToken;
use super::{Lsu, LsuEntry, LsuWork, SharedResult, pending_results};

impl Lsu {
    /// Makes the possible accesses of the instruction in the unit, if there is one, and removes it when no access remains. Nothing holds
    /// the instruction.
    #[inline(always)]
    pub(super) fn work_on_entry(&mut self, core: &mut Core, out: &mut Outbox) {
        let Some(entry) = self.entry else { return };
        if !self.accesses.is_empty() {
            if entry.texture {
                self.send_to_texture(&entry);
            } else if entry.bypass {
                self.send_past_l1(&entry, core, out);
            } else {
                self.send_to_l1(&entry, core);
            }
            if !self.accesses.is_empty() {
                core.counters.sm.memory_stall_cycles += 1;
                return;
            }
        }
        let warp = usize::from(entry.warp);
        match entry.work {
            LsuWork::SharedLoad => {
                let LsuEntry { warp, bank, dst, atomic_lanes, .. } = entry;
                let answer = SharedResult { warp, bank, dst, atomic_lanes };
                self.other_sources |= 1 << pending_results::SHARED_MEMORY_SOURCE;
                self.shared_pipe.push_back((core.now.after(self.shared_latency + u64::from(entry.extra_cycles)), answer));
            }
            LsuWork::Nothing => {
                if entry.dst != NO_REGISTER {
                    core.register_ready(warp, entry.dst);
                }
                core.instruction_done(warp);
            }
            LsuWork::Barrier => self.leave_to_barriers(&entry, core),
            LsuWork::Bulk => self.leave_to_bulk(&entry, core),
            LsuWork::Remote { store } => self.leave_to_peers(&entry, store, core, out),
            LsuWork::SharedStore | LsuWork::Load(_) | LsuWork::Store => core.instruction_done(warp),
        }
        self.entry = None;
    }

    /// Sends one access to the texture cache.
    fn send_to_texture(&mut self, entry: &LsuEntry) {
        let (Some(texture), LsuWork::Load(load)) = (&mut self.texture, entry.work) else { return };
        if let Some(access) = self.accesses.pop() {
            texture.enter(access.addr, load);
        }
    }

    /// Sends one access to the network.
    fn send_past_l1(&mut self, entry: &LsuEntry, core: &mut Core, out: &mut Outbox) {
        let Some(mut access) = self.accesses.pop() else { return };
        let warp = usize::from(entry.warp);
        let kernel = core.kernel_of(warp);
        core.counters.kernels.at(kernel.index()).l1_bypasses += 1;
        let token = match entry.work {
            LsuWork::Load(slot) => {
                let lanes = if entry.op == MemOp::Read { 0 } else { access.lanes };
                if entry.op == MemOp::Read {
                    access.sectors = self.flights.request(access.addr, access.sectors, slot);
                    if access.sectors == SectorMask::default() {
                        return;
                    }
                }
                ReplyToken::PastL1 { load: slot, lanes }
            }
            _ => {
                core.warps.stores[warp] += access.sectors.count() as u16;
                ReplyToken::Store { warp: entry.warp, generation: core.warps.generation[warp] }
            }
        };
        let bytes = if entry.op == MemOp::Read { entry.signature } else { access.bytes };
        self.send(access.addr, access.sectors, bytes, entry.op, token, kernel, core, out);
    }

    /// Inserts accesses into the pipes of the banks of the L1, up to one per bank and cycle, in order.
    fn send_to_l1(&mut self, entry: &LsuEntry, core: &mut Core) {
        let Some(l1) = &mut self.l1 else { return };
        let kernel = core.kernel_of(usize::from(entry.warp));
        let (requester, write) = match entry.work {
            LsuWork::Load(load) => (Requester::Load { load }, false),
            _ => {
                let generation = core.warps.generation[usize::from(entry.warp)];
                (Requester::Store { warp: entry.warp, generation }, entry.op == MemOp::Write)
            }
        };
        let LsuEntry { local, ahead, signature, .. } = *entry;
        let entered = l1.enter(&self.accesses, AccessGroup { requester, kernel, write, local, ahead, signature }, core.now);
        let left = self.accesses.len() - entered;
        if write {
            let sectors: u32 = self.accesses[left..].iter().map(|access| access.sectors.count()).sum();
            core.stores_enter(usize::from(entry.warp), sectors);
        }
        core.counters.sm.l1_bank_conflicts += u64::from(left > 0 && entered < l1.banks());
        self.accesses.truncate(left);
        self.bank = self.accesses.last().map_or(0, |access| l1.bank_of(access));
    }
}
