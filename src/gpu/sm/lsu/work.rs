//! The instruction in the unit: it makes its accesses as fast as shared memory, the L1's banks, the texture cache or the network accept them.

use crate::frontend::NO_REGISTER;
use crate::protocol::{MemOp, Outbox};

use super::super::Sm;
use super::super::l1::Common;
use super::{Entry, SharedAnswer, Work, answers, token};

impl Sm {
    /// The instruction in the unit makes what accesses it can, and leaves when it has none left. It does not wait for a bank of the L1.
    pub(super) fn work_on_entry(&mut self, out: &mut Outbox) {
        let Some(entry) = self.lsu.entry else { return };
        if matches!(entry.work, Work::SharedLoad | Work::SharedStore) && self.now < entry.leaves {
            self.counters.sm.memory_stall_cycles += 1;
            return;
        }
        if !self.lsu.accesses.is_empty() {
            if entry.texture {
                self.send_to_texture(&entry);
            } else if entry.bypass {
                self.send_past_l1(&entry, out);
            } else {
                self.send_to_l1(&entry);
            }
            if !self.lsu.accesses.is_empty() {
                self.counters.sm.memory_stall_cycles += 1;
                return;
            }
        }
        let warp = usize::from(entry.warp);
        match entry.work {
            Work::SharedLoad => {
                if self.lsu.shared_pipe.len() as u64 == self.lsu.shared_latency {
                    return;
                }
                let Entry { warp, bank, dst, atomic_lanes, .. } = entry;
                let answer = SharedAnswer { warp, bank, dst, atomic_lanes };
                self.lsu.elsewhere |= 1 << answers::SHARED;
                self.lsu.shared_pipe.push_back((self.now.after(self.lsu.shared_latency), answer));
            }
            Work::Nothing => {
                if entry.dst != NO_REGISTER {
                    self.release_register(warp, entry.dst);
                }
                self.leave_pipeline(warp);
            }
            Work::SharedStore | Work::Load(_) | Work::Store => self.leave_pipeline(warp),
        }
        self.lsu.entry = None;
    }

    /// Gives one access to the texture cache.
    fn send_to_texture(&mut self, entry: &Entry) {
        let (Some(texture), Work::Load(load)) = (&mut self.lsu.texture, entry.work) else { return };
        if texture.is_full() {
            texture.counters.texture_full_cycles += 1;
        } else if let Some(access) = self.lsu.accesses.pop() {
            texture.enter(access.addr, load);
        }
    }

    /// Sends one access to the network.
    fn send_past_l1(&mut self, entry: &Entry, out: &mut Outbox) {
        if !self.net.can_send() {
            self.counters.sm.network_full_cycles += 1;
            return;
        }
        let Some(access) = self.lsu.accesses.pop() else { return };
        let warp = usize::from(entry.warp);
        let kernel = self.ctas.kernel(self.warps.cta[warp]);
        self.counters.kernels[kernel.index()].l1_bypasses += 1;
        let name = match entry.work {
            Work::Load(slot) => {
                let lanes = if entry.op == MemOp::Read { 0 } else { u32::from(access.lanes) };
                token::BYPASS | lanes << 16 | u32::from(slot)
            }
            _ => {
                self.warps.stores[warp] += access.sectors.count() as u16;
                token::STORE | u32::from(entry.warp)
            }
        };
        self.send(access.addr, access.sectors, access.bytes, entry.op, name, kernel, out);
    }

    /// Puts accesses into the pipes of the L1's banks, up to one per bank and cycle, in order.
    fn send_to_l1(&mut self, entry: &Entry) {
        let Some(l1) = &mut self.lsu.l1 else { return };
        let (name, write) = match entry.work {
            Work::Load(slot) => (token::LOAD | u32::from(slot), false),
            _ => (token::STORE | u32::from(entry.warp), entry.op == MemOp::Write),
        };
        let kernel = self.ctas.kernel(self.warps.cta[usize::from(entry.warp)]);
        let entered = l1.enter(&self.lsu.accesses, Common { name, kernel, write, local: entry.local }, self.now);
        let left = self.lsu.accesses.len() - entered;
        if write {
            let sectors: u32 = self.lsu.accesses[left..].iter().map(|access| access.sectors.count()).sum();
            self.warps.stores[usize::from(entry.warp)] += sectors as u16;
        }
        self.counters.sm.l1_bank_conflicts += u64::from(left > 0 && entered < l1.banks());
        self.lsu.accesses.truncate(left);
        self.lsu.bank = self.lsu.accesses.last().map_or(0, |access| l1.bank_of(access));
    }
}
