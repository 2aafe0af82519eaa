//! Entry of an instruction into the unit: its memory space and its accesses.

use warpshard_base::{Addr, LINE_BYTES};
use warpshard_config::machine::SystemLoads;
use warpshard_mem::cache;
use warpshard_protocol::MemOp;
use warpshard_seam::Identity;
use warpshard_workload::{AsyncOp, CachePolicy, MemInst, MemKind, MemSpace, NO_REGISTER};

use super::super::coalesce;
use super::super::core::{COPY_RESULT, Core, FIRST_ASYNC_RESULT, NO_WARP};
use super::super::operands::IssuedInst;
use super::super::writeback::{Completion, CompletionWheel};
use super::loads::Load;
use super::{Lsu, LsuEntry, LsuWork, local, shared};

/// The register number of a discarded result.
const RZ: u16 = 255;

impl Lsu {
    /// Enters an instruction into the unit.
    // Not inlined: the frame of the caller would hold all arrays of this function.
    #[inline(never)]
    pub(super) fn enter(&mut self, issued: &IssuedInst, core: &mut Core, arithmetic: &mut CompletionWheel) {
        let mut entry = LsuEntry {
            work: LsuWork::Nothing,
            op: MemOp::Read,
            warp: issued.warp,
            bank: issued.dst_bank,
            dst: issued.dst,
            bypass: false,
            local: false,
            texture: false,
            atomic_lanes: 0,
            extra_cycles: 0,
            left: issued.left,
            ahead: 0,
            signature: Identity::signature(issued.inst.index, issued.warp),
            leaves: core.now,
        };
        self.accesses.clear();
        self.bank = 0;
        if issued.warp == NO_WARP {
            // A squashed instruction passes through the unit without an access.
            self.entry = Some(entry);
            return;
        }
        let warp = usize::from(issued.warp);
        let code = core.code_of(warp)[issued.inst.index as usize];
        if let Some(mem) = code.mem {
            match resolve_space(issued, mem.space, core) {
                MemSpace::Shared => self.enter_shared(issued, &mem, &mut entry, core),
                MemSpace::Constant => self.enter_constant(issued, &mut entry, core, arithmetic),
                MemSpace::Texture if self.texture.is_some() => self.enter_texture(issued, &mem, &mut entry, core),
                space => self.enter_global(issued, &mem, space == MemSpace::Local, &mut entry, core),
            }
        } else if code.control.async_op != AsyncOp::Nothing {
            self.enter_async(issued, &code, &mut entry, core);
        }
        let space = core.ctas.windows(core.warps.cta[warp]).space;
        if space != 0 {
            self.accesses.iter_mut().for_each(|access| access.addr = Addr(access.addr.0.wrapping_add(space)));
        }
        self.bank = match (&self.l1, self.accesses.last()) {
            (Some(l1), Some(access)) if !entry.bypass && !entry.texture => l1.bank_of(access),
            _ => 0,
        };
        self.entry = Some(entry);
    }

    fn enter_shared(&mut self, issued: &IssuedInst, mem: &MemInst, entry: &mut LsuEntry, core: &mut Core) {
        if core.peers.is_some() && self.enter_remote(issued, mem, entry, core) {
            return;
        }
        let warp = usize::from(issued.warp);
        entry.work = if mem.kind == MemKind::Store { LsuWork::SharedStore } else { LsuWork::SharedLoad };
        let kernel = core.kernel_of(warp);
        let counters = core.counters.kernels.at(kernel.index());
        counters.shared_instructions += 1;
        let stream = core.warps.stream(warp);
        let banks = core.spec.shared.banks;
        let affine = stream.affine(&issued.inst);
        let lanes = u32::from(issued.inst.lanes);
        let cycles = match affine.and_then(|(base, stride)| shared::affine_cycles(base, stride, lanes, banks)) {
            Some(cycles) => cycles,
            None => {
                let mut addresses = [0; 32];
                let count = stream.addresses(&issued.inst, &mut addresses);
                shared::cycles(&addresses[..count], banks)
            }
        };
        entry.leaves = core.now.after(u64::from(cycles));
        counters.shared_conflict_cycles += u64::from(cycles - 1);
        counters.shared_words += u64::from(lanes * u32::from(mem.width).div_ceil(4));
        if matches!(mem.kind, MemKind::Atomic | MemKind::Reduction) {
            entry.atomic_lanes = lanes as u8;
            let dst = core.code_of(warp)[issued.inst.index as usize].dst;
            entry.extra_cycles = if dst < RZ { core.spec.shared.atomic_latency as u16 } else { 0 };
        }
    }

    /// Enters an access to constants, which completes immediately or after the miss latency of the constant cache.
    fn enter_constant(&mut self, issued: &IssuedInst, entry: &mut LsuEntry, core: &mut Core, arithmetic: &mut CompletionWheel) {
        let warp = usize::from(issued.warp);
        let kernel = core.kernel_of(warp);
        core.counters.kernels.at(kernel.index()).constant_accesses += 1;
        let Some(tags) = &mut self.ccache else { return };
        let mut addresses = [0; 32];
        let count = core.warps.stream(warp).addresses(&issued.inst, &mut addresses);
        let missed = addresses[..count].iter().filter(|address| !tags.access(**address)).count();
        if missed > 0 {
            core.counters.sm.constant_misses += missed as u64;
            let what = Completion { warp: issued.warp, bank: issued.dst_bank, dst: issued.dst };
            // The miss is one more instruction in flight until the wheel ends it; the entry itself leaves in the next cycle.
            core.warps.in_pipe[warp] += 1;
            arithmetic.add(core.now, tags.miss_latency.max(1), what);
            entry.dst = NO_REGISTER;
        }
    }

    fn enter_global(&mut self, issued: &IssuedInst, mem: &MemInst, local: bool, entry: &mut LsuEntry, core: &mut Core) {
        let warp = usize::from(issued.warp);
        let kernel = core.kernel_of(warp);
        let atomic = matches!(mem.kind, MemKind::Atomic | MemKind::Reduction);
        // Local memory uses the L1, which may hold words that a thread wrote; so do stores, which change lines that other threads may read.
        let tagged = mem.kind == MemKind::Load && !local && core.ctas.windows(core.warps.cta[warp]).past_l1;
        let beyond = match mem.cache {
            CachePolicy::All => false,
            CachePolicy::Global => true,
            CachePolicy::System => core.spec.l1.system_loads == SystemLoads::Bypass,
        };
        let mut copied_past = false;
        if let AsyncOp::Copy { past_l1 } = core.code_of(warp)[issued.inst.index as usize].control.async_op {
            entry.dst = FIRST_ASYNC_RESULT + COPY_RESULT;
            copied_past = past_l1;
        }
        entry.bypass = atomic || tagged || beyond || copied_past || self.l1.is_none();
        entry.local = local;
        let counters = core.counters.kernels.at(kernel.index());
        (entry.op, entry.work) = match mem.kind {
            MemKind::Store => (MemOp::Write, LsuWork::Store),
            MemKind::Load => (MemOp::Read, LsuWork::Nothing),
            MemKind::Atomic => (MemOp::Atomic, LsuWork::Nothing),
            MemKind::Reduction => (MemOp::Reduction, LsuWork::Nothing),
        };
        match mem.kind {
            MemKind::Store => counters.store_instructions += 1,
            MemKind::Load => counters.load_instructions += 1,
            MemKind::Atomic | MemKind::Reduction => counters.atomic_instructions += 1,
        }
        if issued.inst.mask.0 == 0 {
            return;
        }
        counters.requested_bytes += u64::from(issued.inst.lanes) * u64::from(mem.width);
        if mem.kind != MemKind::Load && !local {
            core.ctas.record_write(core.warps.cta[warp], issued.inst.index);
        }
        self.coalesce(issued, mem, atomic, entry, core);
        let accesses = &self.accesses;
        core.counters.kernels.at(kernel.index()).memory_accesses += accesses.len() as u64;
        if entry.work != LsuWork::Store && !accesses.is_empty() {
            let sectors = || accesses.iter().map(|access| access.sectors.count()).sum::<u32>();
            let pending = if entry.bypass { sectors() as u16 } else { accesses.len() as u16 };
            let (warp, bank, dst, left) = (issued.warp, issued.dst_bank, entry.dst, issued.left);
            let mut load = Load { warp, bank, dst, pending, transfer: 0, kernel, left, atomic };
            if !load.is_copy() {
                load.transfer = self.loads.transfer(mem.width.into());
            }
            entry.work = LsuWork::Load(self.loads.add(load, core));
            self.train(issued, entry);
        }
    }

    /// Trains the prefetcher of the L1, if there is one, with a load.
    #[inline]
    fn train(&mut self, issued: &IssuedInst, entry: &mut LsuEntry) {
        if let (Some(l1), Some(access)) = (&mut self.l1, self.accesses.first())
            && let (Some(prefetcher), false) = (&mut l1.prefetcher, entry.bypass)
        {
            let load = cache::LoadAccess { warp: issued.warp, inst: issued.inst.index, addr: access.addr };
            // A distance beyond 2 GiB is no stride of an array.
            entry.ahead = prefetcher.ahead(load).try_into().unwrap_or(0);
        }
    }

    /// Enters a texture load, which makes an access to each line that it touches.
    fn enter_texture(&mut self, issued: &IssuedInst, mem: &MemInst, entry: &mut LsuEntry, core: &mut Core) {
        let warp = usize::from(issued.warp);
        let Some(texture) = &mut self.texture else { return };
        texture.counters.texture_instructions += 1;
        let mut addresses = [0; 32];
        let count = core.warps.stream(warp).addresses(&issued.inst, &mut addresses);
        coalesce::gather(&mut addresses[..count], u32::from(mem.width.max(1)), LINE_BYTES, &mut self.accesses);
        if count == 0 {
            return;
        }
        let pending = self.accesses.len() as u16;
        let kernel = core.kernel_of(warp);
        entry.texture = true;
        let transfer = self.loads.transfer(mem.width.into());
        let (warp, bank, dst, left) = (issued.warp, issued.dst_bank, issued.dst, issued.left);
        let load = Load { warp, bank, dst, pending, transfer, kernel, left, atomic: false };
        entry.work = LsuWork::Load(self.loads.add(load, core));
    }

    /// Coalesces the accesses of an instruction.
    fn coalesce(&mut self, issued: &IssuedInst, mem: &MemInst, atomic: bool, entry: &LsuEntry, core: &Core) {
        let warp = usize::from(issued.warp);
        let stream = core.warps.stream(warp);
        let width = u32::from(mem.width.max(1));
        let accesses = &mut self.accesses;
        let segment = match width {
            _ if entry.bypass && core.spec.lsu.lines_past_l1 && entry.op == MemOp::Read && !atomic => 128,
            _ if core.spec.lsu.sector_requests || entry.bypass => 32,
            1 => 32,
            2 => 64,
            _ => 128,
        };
        if !atomic
            && !entry.local
            && let Some((base, stride)) = stream.affine(&issued.inst)
            && let lanes = u32::from(issued.inst.lanes)
            && (coalesce::run(base, stride, lanes, width, segment, accesses)
                || coalesce::ascending(base, stride, lanes, width, segment, accesses))
        {
            return;
        }
        let mut addresses = [0; 32];
        let count = stream.addresses(&issued.inst, &mut addresses);
        if atomic {
            coalesce::atomic(&addresses[..count], width, accesses);
        } else if entry.local {
            let windows = core.ctas.windows(core.warps.cta[warp]);
            let layout = local::ThreadPosition {
                sm: u64::from(core.id.0),
                sms: u64::from(self.sms),
                threads: windows.threads,
                ctas_per_sm: windows.ctas_per_sm,
            };
            let lanes = addresses[..count].iter().zip(issued.inst.mask.iter()).map(|(at, lane)| (*at, warp as u64 * 32 + u64::from(lane)));
            let mut words = [0; 128];
            let (count, width) = layout.expand(lanes, width, &mut words);
            coalesce::gather(&mut words[..count], width, segment, accesses);
        } else {
            coalesce::gather(&mut addresses[..count], width, segment, accesses);
        }
        if entry.op == MemOp::Write && self.l1.as_ref().is_some_and(|l1| l1.sends_segments()) {
            self.accesses.iter_mut().for_each(|access| access.sectors = cache::segment(access.sectors));
        }
    }
}

/// Returns the memory space of an instruction; the first active lane of a generic instruction determines its space.
fn resolve_space(issued: &IssuedInst, space: MemSpace, core: &Core) -> MemSpace {
    if space != MemSpace::Generic {
        return space;
    }
    let warp = usize::from(issued.warp);
    let windows = core.ctas.windows(core.warps.cta[warp]);
    if windows.shared_base == 0 || windows.local_base == 0 {
        return MemSpace::Shared;
    }
    let mut addresses = [0; 32];
    if core.warps.stream(warp).addresses(&issued.inst, &mut addresses) == 0 {
        return MemSpace::Global;
    }
    let first = addresses[0];
    if (windows.shared_base..windows.local_base).contains(&first) {
        MemSpace::Shared
    } else if (windows.local_base..windows.local_base + local::WINDOW_BYTES).contains(&first) {
        MemSpace::Local
    } else {
        MemSpace::Global
    }
}
