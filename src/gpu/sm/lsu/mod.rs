//! The load/store unit: one memory instruction at a time is coalesced and sent to shared memory, the L1 or the network;
//! answers are written back one per cycle.
//!
//! Inputs: instructions with their operands, replies from the network. Outputs: registers released in the scoreboard,
//! packets to the network. In a cycle, in this order: an answer is written back and the next chosen, a reply is taken, the
//! L1 sends a request and looks up what reached the end of its pipe, the instruction makes accesses, the next one enters.

mod coalesce;
mod local;
mod shared;

use std::collections::VecDeque;

pub(super) use coalesce::Access;

use crate::base::{Addr, Cycle, KernelIndex, Ring, SectorMask};
use crate::config::machine::Machine;
use crate::frontend::{CachePolicy, MemInst, MemKind, MemSpace, NO_REGISTER};
use crate::protocol::{MemOp, MemPacket, Outbox};

use super::Sm;
use super::fetch::SimpleTags;
use super::l1::L1;
use super::net::Reply;
use super::units::{Flight, UnitKind};
use super::writeback::Completion;

/// Names of requests: two bits of what the reply is for, then whom.
pub(super) mod token {
    /// A load that the L1 answers; names the load.
    pub(in crate::gpu::sm) const LOAD: u32 = 0;
    /// A store; names the warp.
    pub(in crate::gpu::sm) const STORE: u32 = 1 << 30;
    /// A load or atomic past the L1; names the load, and the lanes of an atomic from bit 16.
    pub(in crate::gpu::sm) const BYPASS: u32 = 2 << 30;
    /// A line that the L1 wrote back; nobody waits.
    pub(in crate::gpu::sm) const WRITE_BACK: u32 = 3 << 30;
    /// The bits that tell these apart.
    pub(in crate::gpu::sm) const KIND: u32 = 3 << 30;
}

/// A load under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) warp: u8,
    pub(super) bank: u8,
    pub(super) dst: u16,
    /// Accesses (past the L1: sectors) that no answer was written back for.
    pub(super) pending: u16,
    pub(super) kernel: KernelIndex,
}

/// Loads under way, by number.
#[derive(Debug)]
pub(super) struct Loads {
    slots: Vec<Load>,
    free: Vec<u16>,
}

impl Loads {
    fn add(&mut self, load: Load) -> u16 {
        if let Some(slot) = self.free.pop() {
            self.slots[usize::from(slot)] = load;
            return slot;
        }
        self.slots.push(load);
        (self.slots.len() - 1) as u16
    }

    #[inline]
    pub(super) fn get(&self, slot: u16) -> &Load {
        &self.slots[usize::from(slot)]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Shared memory; the result goes through its pipe.
    SharedLoad,
    /// Shared memory, nothing comes back.
    SharedStore,
    /// Global or local memory; names the load.
    Load(u16),
    /// Global or local memory.
    Store,
    /// Leaves in the next cycle and releases its register.
    Nothing,
}

/// The instruction in the unit.
#[derive(Clone, Copy, Debug)]
struct Entry {
    work: Work,
    op: MemOp,
    warp: u8,
    bank: u8,
    dst: u16,
    bypass: bool,
    local: bool,
    /// Lanes of an atomic on shared memory.
    atomic_lanes: u8,
    /// Cycles left in shared memory, bank conflicts included.
    cycles: u32,
}

/// An answer that is being written back.
#[derive(Clone, Copy, Debug)]
struct Answer {
    warp: u8,
    bank: u8,
    dst: u16,
    /// The load that it belongs to and how much of it; `None` from shared memory.
    load: Option<(u16, u16)>,
    atomic_lanes: u8,
}

/// State of the load/store unit.
#[derive(Debug)]
pub(super) struct Lsu {
    entry: Option<Entry>,
    accesses: Vec<Access>,
    answer: Option<Answer>,
    turn: u8,
    shared_pipe: VecDeque<(Cycle, Answer)>,
    shared_latency: u64,
    bypassed: Option<Reply>,
    pub(super) responses: Ring<Reply>,
    pub(super) loads: Loads,
    pub(super) l1: Option<L1>,
    ccache: Option<SimpleTags>,
}

impl Lsu {
    pub(super) fn new(machine: &Machine) -> Self {
        let spec = &machine.gpu.sm;
        Self {
            entry: None,
            accesses: Vec::with_capacity(64),
            answer: None,
            turn: 0,
            shared_pipe: VecDeque::with_capacity(spec.shared.latency as usize + 1),
            shared_latency: u64::from(spec.shared.latency.max(1)),
            bypassed: None,
            responses: Ring::new((spec.lsu.response_queue as usize).max(1)),
            loads: Loads { slots: Vec::with_capacity(64), free: Vec::with_capacity(64) },
            l1: spec.l1.cache.as_ref().map(|cache| L1::new(cache, &spec.l1)),
            ccache: spec.fetch.ccache.as_ref().map(SimpleTags::new),
        }
    }

    /// The first cycle at or after `now` in which the unit has something to do.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle) -> Cycle {
        if self.entry.is_some() || self.answer.is_some() || self.bypassed.is_some() || !self.responses.is_empty() {
            return now;
        }
        let shared = self.shared_pipe.front().map_or(Cycle::NEVER, |(at, _)| *at);
        let l1 = self.l1.as_ref().map_or(Cycle::NEVER, |l1| l1.next_event(now));
        shared.min(l1).max(now)
    }

    /// What is in the unit, for reports of a standstill.
    pub(super) fn describe(&self) -> String {
        let entry = match &self.entry {
            Some(entry) => format!("warp {} with {} accesses to make", entry.warp, self.accesses.len()),
            None => "no instruction".to_owned(),
        };
        let l1 = self.l1.as_ref().map_or_else(|| "no L1".to_owned(), L1::describe);
        format!("load/store unit: {entry}, {} replies, {l1}", self.responses.len())
    }
}

impl Sm {
    /// One cycle of the load/store unit.
    #[inline]
    pub(super) fn load_store(&mut self, out: &mut Outbox) {
        if self.operands.ready.taken(UnitKind::Mem) != 0 || self.lsu.next_event(self.now) == self.now {
            self.load_store_cycle(out);
        }
    }

    fn load_store_cycle(&mut self, out: &mut Outbox) {
        self.write_answer();
        if self.lsu.answer.is_none() {
            self.choose_answer();
        }
        if !self.lsu.responses.is_empty() {
            self.take_reply();
        }
        if self.lsu.l1.is_some() {
            self.l1_cycle(out);
        }
        if self.lsu.entry.is_some() {
            self.work_on_entry(out);
        }
        if self.lsu.entry.is_none()
            && let Some(place) = self.operands.ready.oldest(UnitKind::Mem)
        {
            let slot = self.operands.ready.take(UnitKind::Mem, place);
            let flight = self.flights.remove(slot);
            self.enter_lsu(&flight);
        }
    }

    /// Writes the chosen answer into the register file, if the bank is free.
    #[inline]
    fn write_answer(&mut self) {
        let Some(answer) = self.lsu.answer else { return };
        if answer.dst != NO_REGISTER && !self.operands.write(answer.bank) {
            return;
        }
        self.lsu.answer = None;
        match answer.load {
            Some((load, count)) => self.answer_load(load, count),
            None if answer.dst != NO_REGISTER => self.release_register(usize::from(answer.warp), answer.dst),
            None => {}
        }
    }

    /// `count` parts of a load were answered; the last releases its register.
    #[inline]
    pub(super) fn answer_load(&mut self, slot: u16, count: u16) {
        let load = &mut self.lsu.loads.slots[usize::from(slot)];
        debug_assert!(load.pending >= count, "{}: load {slot} is answered too often", self.id);
        load.pending -= count;
        if load.pending > 0 {
            return;
        }
        let (warp, dst) = (usize::from(load.warp), load.dst);
        self.lsu.loads.free.push(slot);
        if dst != NO_REGISTER {
            self.release_register(warp, dst);
        }
    }

    /// Takes the next answer from shared memory, from past the L1, or from the L1, in turns.
    fn choose_answer(&mut self) {
        // The reference has five sources; the texture and constant caches, 1 and 2, are not behind this unit here.
        for step in 0..5 {
            let source = (self.lsu.turn + step) % 5;
            let served = match source {
                0 => self.answer_from_shared(),
                3 => self.answer_from_bypass(),
                4 => self.answer_from_l1(),
                _ => false,
            };
            if served {
                self.lsu.turn = (source + 1) % 5;
                return;
            }
        }
    }

    fn answer_from_shared(&mut self) -> bool {
        let now = self.now;
        let Some((_, answer)) = self.lsu.shared_pipe.pop_front_if(|(at, _)| *at <= now) else { return false };
        if let Some((next, _)) = self.lsu.shared_pipe.front_mut() {
            // What waited behind moves up now and can be taken in the next cycle.
            *next = (*next).max(now.after(1));
        }
        let warp = usize::from(answer.warp);
        self.end_atomic(warp, answer.atomic_lanes);
        self.leave_pipeline(warp);
        self.lsu.answer = Some(answer);
        true
    }

    fn answer_from_bypass(&mut self) -> bool {
        let Some(reply) = self.lsu.bypassed.take() else { return false };
        let slot = (reply.token & 0xffff) as u16;
        let Load { warp, bank, dst, .. } = *self.lsu.loads.get(slot);
        self.end_atomic(usize::from(warp), (reply.token >> 16 & 0x3f) as u8);
        self.lsu.answer = Some(Answer { warp, bank, dst, load: Some((slot, reply.sectors.count() as u16)), atomic_lanes: 0 });
        true
    }

    fn answer_from_l1(&mut self) -> bool {
        let Some(name) = self.lsu.l1.as_mut().and_then(L1::next_ready) else { return false };
        if name & token::KIND == token::STORE {
            self.acknowledge(usize::from(name as u8), 1);
            return true;
        }
        let slot = name as u16;
        let Load { warp, bank, dst, .. } = *self.lsu.loads.get(slot);
        self.lsu.answer = Some(Answer { warp, bank, dst, load: Some((slot, 1)), atomic_lanes: 0 });
        true
    }

    /// Lanes of an atomic came back; with the last the warp may go on.
    #[inline]
    fn end_atomic(&mut self, warp: usize, lanes: u8) {
        if lanes > 0 {
            self.warps.atomics[warp] -= u16::from(lanes);
            if self.warps.atomics[warp] == 0 {
                self.warps.at_atomic &= !(1 << warp);
            }
        }
    }

    /// Stores of a warp are done.
    #[inline]
    pub(super) fn acknowledge(&mut self, warp: usize, sectors: u32) {
        debug_assert!(u32::from(self.warps.stores[warp]) >= sectors, "{}, warp {warp}: an acknowledgement of no store", self.id);
        self.warps.stores[warp] -= sectors as u16;
        self.check_release(warp);
    }

    /// Takes the first reply, if what it goes to is free.
    fn take_reply(&mut self) {
        let Some(reply) = self.lsu.responses.front().copied() else { return };
        match reply.token & token::KIND {
            token::STORE => self.acknowledge(usize::from(reply.token as u8), reply.sectors.count()),
            token::WRITE_BACK => {}
            token::BYPASS if self.lsu.bypassed.is_some() => return,
            token::BYPASS => self.lsu.bypassed = Some(reply),
            _ => {
                let Some(l1) = &mut self.lsu.l1 else { panic!("{}, {}: data for an L1 that is not there", self.id, self.now) };
                if !l1.fill(&reply, self.now) {
                    return;
                }
            }
        }
        self.lsu.responses.pop();
    }

    /// An instruction enters the unit.
    fn enter_lsu(&mut self, flight: &Flight) {
        let warp = usize::from(flight.warp);
        let cta = self.warps.cta[warp];
        let code = self.ctas.code(cta)[flight.inst.index as usize];
        let mut entry = Entry {
            work: Work::Nothing,
            op: MemOp::Read,
            warp: flight.warp,
            bank: flight.dst_bank,
            dst: code.dst,
            bypass: false,
            local: false,
            atomic_lanes: 0,
            cycles: 0,
        };
        self.lsu.accesses.clear();
        if let Some(mem) = code.mem {
            match self.resolve(flight, mem.space) {
                MemSpace::Shared => self.enter_shared(flight, &mem, &mut entry),
                MemSpace::Constant => self.enter_constant(flight, &mut entry),
                space => self.enter_global(flight, &mem, space == MemSpace::Local, &mut entry),
            }
        }
        self.lsu.entry = Some(entry);
    }

    /// The memory that an instruction goes to: a generic one where its first active lane points.
    fn resolve(&self, flight: &Flight, space: MemSpace) -> MemSpace {
        if space != MemSpace::Generic {
            return space;
        }
        let warp = usize::from(flight.warp);
        let windows = self.ctas.windows(self.warps.cta[warp]);
        if windows.shared_base == 0 || windows.local_base == 0 {
            return MemSpace::Shared;
        }
        let mut addresses = [0; 32];
        if self.warps.stream(warp).addresses(&flight.inst, &mut addresses) == 0 {
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

    fn enter_shared(&mut self, flight: &Flight, mem: &MemInst, entry: &mut Entry) {
        let warp = usize::from(flight.warp);
        entry.work = if mem.kind == MemKind::Store { Work::SharedStore } else { Work::SharedLoad };
        let counters = &mut self.counters.kernels[self.ctas.kernel(self.warps.cta[warp]).index()];
        counters.shared_instructions += 1;
        let stream = self.warps.stream(warp);
        let banks = self.spec.shared.banks;
        let affine = stream.affine(&flight.inst);
        let lanes = flight.inst.mask.count();
        entry.cycles = match affine.and_then(|(base, stride)| shared::affine_cycles(base, stride, lanes, banks)) {
            Some(cycles) => cycles,
            None => {
                let mut addresses = [0; 32];
                let count = stream.addresses(&flight.inst, &mut addresses);
                shared::cycles(&addresses[..count], banks)
            }
        };
        counters.shared_conflict_cycles += u64::from(entry.cycles - 1);
        if matches!(mem.kind, MemKind::Atomic | MemKind::Reduction) {
            entry.atomic_lanes = lanes as u8;
        }
    }

    /// Constants come at once, or after the miss latency of the constant cache.
    fn enter_constant(&mut self, flight: &Flight, entry: &mut Entry) {
        let warp = usize::from(flight.warp);
        let Some(tags) = &mut self.lsu.ccache else { return };
        let mut addresses = [0; 32];
        let count = self.warps.stream(warp).addresses(&flight.inst, &mut addresses);
        let missed = addresses[..count].iter().filter(|address| !tags.access(**address)).count();
        if missed > 0 {
            self.counters.sm.constant_misses += missed as u64;
            let what = Completion { warp: flight.warp, bank: flight.dst_bank, dst: flight.dst };
            // The miss is one more instruction under way until the wheel ends it; the entry itself leaves next cycle.
            self.warps.in_pipe[warp] += 1;
            self.wheel.add(self.now, tags.miss_latency.max(1), what);
            entry.dst = NO_REGISTER;
        }
    }

    fn enter_global(&mut self, flight: &Flight, mem: &MemInst, local: bool, entry: &mut Entry) {
        let warp = usize::from(flight.warp);
        let cta = self.warps.cta[warp];
        let kernel = self.ctas.kernel(cta);
        let atomic = matches!(mem.kind, MemKind::Atomic | MemKind::Reduction);
        entry.bypass = atomic || mem.cache == CachePolicy::Global || self.lsu.l1.is_none();
        entry.local = local;
        let counters = &mut self.counters.kernels[kernel.index()];
        (entry.op, entry.work) = match mem.kind {
            MemKind::Store => (MemOp::Write, Work::Store),
            MemKind::Load => (MemOp::Read, Work::Nothing),
            MemKind::Atomic => (MemOp::Atomic, Work::Nothing),
            MemKind::Reduction => (MemOp::Reduction, Work::Nothing),
        };
        match mem.kind {
            MemKind::Store => counters.store_instructions += 1,
            MemKind::Load => counters.load_instructions += 1,
            MemKind::Atomic | MemKind::Reduction => counters.atomic_instructions += 1,
        }
        if flight.inst.mask.0 == 0 {
            return;
        }
        self.coalesce(flight, mem, atomic, entry);
        let accesses = &self.lsu.accesses;
        self.counters.kernels[kernel.index()].memory_accesses += accesses.len() as u64;
        if entry.work != Work::Store && !accesses.is_empty() {
            let sectors = accesses.iter().map(|access| access.sectors.count()).sum::<u32>();
            let pending = if entry.bypass { sectors as u16 } else { accesses.len() as u16 };
            let load = Load { warp: flight.warp, bank: flight.dst_bank, dst: flight.dst, pending, kernel };
            entry.work = Work::Load(self.lsu.loads.add(load));
        }
    }

    /// Makes the accesses of an instruction.
    fn coalesce(&mut self, flight: &Flight, mem: &MemInst, atomic: bool, entry: &Entry) {
        let warp = usize::from(flight.warp);
        let stream = self.warps.stream(warp);
        let width = u32::from(mem.width.max(1));
        let accesses = &mut self.lsu.accesses;
        let segment = match width {
            _ if self.spec.lsu.sector_requests || entry.bypass => 32,
            1 => 32,
            2 => 64,
            _ => 128,
        };
        if !atomic
            && !entry.local
            && let Some((base, stride)) = stream.affine(&flight.inst)
            && coalesce::run(base, stride, flight.inst.mask.count(), width, segment, accesses)
        {
            return;
        }
        let mut addresses = [0; 32];
        let count = stream.addresses(&flight.inst, &mut addresses);
        if atomic {
            coalesce::atomic(&addresses[..count], width, accesses);
        } else if entry.local {
            let windows = self.ctas.windows(self.warps.cta[warp]);
            let layout =
                local::Layout { sm: u64::from(self.id.0), sms: self.sms, threads: windows.threads, ctas_per_sm: windows.ctas_per_sm };
            let lanes = addresses[..count].iter().zip(flight.inst.mask.iter()).map(|(at, lane)| (*at, warp as u64 * 32 + u64::from(lane)));
            let mut words = [0; 128];
            let (count, width) = layout.expand(lanes, width, &mut words);
            coalesce::gather(&words[..count], width, segment, accesses);
        } else {
            coalesce::gather(&addresses[..count], width, segment, accesses);
        }
    }

    /// The instruction in the unit makes what accesses it can, and leaves when it has none left.
    fn work_on_entry(&mut self, out: &mut Outbox) {
        let Some(entry) = &mut self.lsu.entry else { return };
        let entry = match entry.work {
            Work::SharedLoad | Work::SharedStore => {
                entry.cycles = entry.cycles.saturating_sub(1);
                if entry.cycles > 0 {
                    self.counters.sm.memory_stall_cycles += 1;
                    return;
                }
                *entry
            }
            _ => *entry,
        };
        if !self.lsu.accesses.is_empty() {
            if entry.bypass {
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
                let answer = Answer { warp, bank, dst, load: None, atomic_lanes };
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
        for _ in 0..l1.banks() {
            let Some(access) = self.lsu.accesses.last() else { break };
            let name = match entry.work {
                Work::Load(slot) => token::LOAD | u32::from(slot),
                _ => token::STORE | u32::from(entry.warp),
            };
            if !l1.enter(access, entry.op == MemOp::Write, entry.local, name, self.now) {
                self.counters.sm.l1_bank_conflicts += 1;
                break;
            }
            if entry.op == MemOp::Write {
                self.warps.stores[usize::from(entry.warp)] += access.sectors.count() as u16;
            }
            self.lsu.accesses.pop();
        }
    }

    /// Sends a packet; there is a credit.
    #[expect(clippy::too_many_arguments, reason = "the fields of a packet")]
    pub(super) fn send(
        &mut self,
        addr: Addr,
        sectors: SectorMask,
        bytes: u32,
        op: MemOp,
        name: u32,
        kernel: KernelIndex,
        out: &mut Outbox,
    ) {
        let slice = self.map.slice_of(addr);
        let packet = MemPacket { addr, token: name, bytes, sm: self.id, slice, kernel, sectors, op };
        self.counters.sm.packets_sent += 1;
        self.net.send(self.now, packet, out);
    }
}
