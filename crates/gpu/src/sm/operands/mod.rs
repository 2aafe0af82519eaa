//! Operand collectors and register banks.
//!
//! Input: issued instructions in one register per kind of unit. An instruction occupies a free collector, its sources queue at their banks,
//! and after the last read it goes to the register before its unit. The register file makes `bank_ports` steps per core cycle. The order
//! within a step: complete instructions leave, every bank reads the first entry of its queue (unless a result is written to it), and
//! instructions enter collectors. A collector cannot leave in the step in which it read its last operand.

mod queue;
mod registers;
mod sources;

use warpshard_base::prefetch;
use warpshard_config::machine::{CoreStyle, Sm as Spec};
use warpshard_workload::NO_REGISTER;

use super::MAX_SCHEDULERS;
use super::core::{NO_WARP, is_in};
use super::kinds::{ALL_UNIT_KINDS, UNIT_KIND_COUNT, UnitKind, slots_per_kind};
use queue::{IssueQueue, PORT_RANK};

pub(super) use registers::{FIXED_LATENCY, IssuedInst, IssuedTable, StageRegisters};
pub(super) use sources::SourceBanks;

use sources::{RegisterBanks, count_few};

/// Maximum number of collectors of an SM: the bits of a mask.
const MAX_COLLECTORS: usize = 64;

#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Collector {
    slot: u8,
    kind: UnitKind,
    group: u8,
}

/// An instruction that reads operands.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct OperandReads {
    /// The banks that the instruction still has to read.
    once: u64,
    /// The banks that it has to read at least twice, three and four times; rarely any.
    again: [u64; 3],
    collector: u8,
}

/// Collectors, banks, and the registers before and after them.
#[derive(Debug, warpshard_state::State)]
pub(super) struct OperandCollectors {
    per_group: usize,
    pub(super) banks: RegisterBanks,
    shared: bool,
    /// True if the collectors of sub-cores have a port each.
    port_for_each: bool,
    ports: usize,
    steps: u32,
    slots_per_kind: [usize; UNIT_KIND_COUNT],
    /// Issued instructions that wait for a collector, by rank of their kind.
    queues: [IssueQueue; UNIT_KIND_COUNT],
    /// The ranks whose queue has instructions.
    queued: u16,
    /// The instructions between issue and their units.
    pub(super) issued: IssuedTable,
    /// Instructions that wait for their unit.
    pub(super) ready: StageRegisters,
    /// Kinds whose input register is full, by sub-core (in a shared core, for all schedulers).
    full_kinds: [u16; MAX_SCHEDULERS],
    collectors: Box<[Collector; MAX_COLLECTORS]>,
    count: u32,
    /// The mask of the collectors of one sub-core, shifted to the lowest bits.
    group_mask: u64,
    /// True if an instruction was issued or a collector became free since instructions last entered collectors.
    may_collect: bool,
    free: u64,
    /// Collectors whose last instruction was for the load/store unit.
    memory: u64,
    /// Kinds other than memory whose oldest issued instruction waits for collectors that memory instructions occupy.
    blocked_by_memory: u16,
    complete_collectors: u64,
    /// Complete collectors that have not tried to dispatch.
    untried_collectors: u64,
    /// Sub-cores whose input register was emptied, or all after a change of `blocked_by_memory`, since the last cycle of the schedulers.
    pub(super) woken: u8,
    /// Collectors with pending reads, in the order of entry: the first that needs a bank gets it.
    reads: [OperandReads; MAX_COLLECTORS],
    reading: u8,
    written_banks: u64,
    /// The collectors after the one that each output port served last, where its next search begins.
    turn: Box<[u64]>,
    /// Number of reads delayed by an earlier read or a write of the bank, counted once per step.
    pub(super) conflicts: u64,
}

impl OperandCollectors {
    /// Prefetches the data that every cycle uses.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.free);
        prefetch(&self.written_banks);
        prefetch(&self.ready);
        prefetch(&self.queued);
        prefetch(&self.untried_collectors);
    }

    pub(super) fn new(spec: &Spec) -> Self {
        let shared = spec.style == CoreStyle::Shared;
        let groups = if shared { 1 } else { spec.schedulers as usize };
        let collectors = (spec.operands.collectors as usize).max(groups);
        let banks = spec.operands.banks as usize;
        assert!(
            collectors <= MAX_COLLECTORS && collectors.is_multiple_of(groups),
            "{collectors} collectors cannot be divided among {groups} sub-cores"
        );
        assert!(banks <= 64 && banks >= groups && banks.is_multiple_of(groups), "{banks} banks cannot be divided among {groups} sub-cores");
        let per_group = collectors / groups;
        let ports = (spec.operands.ports as usize).max(1);
        Self {
            per_group,
            banks: RegisterBanks::new((banks / groups) as u32),
            shared,
            port_for_each: !shared && ports >= collectors,
            ports,
            steps: spec.operands.bank_ports.max(1),
            slots_per_kind: slots_per_kind(spec),
            queues: [IssueQueue::default(); UNIT_KIND_COUNT],
            queued: 0,
            issued: IssuedTable::new(spec),
            ready: StageRegisters::new(),
            full_kinds: [0; MAX_SCHEDULERS],
            collectors: Box::new([Collector::default(); MAX_COLLECTORS]),
            count: collectors as u32,
            group_mask: u64::MAX >> (64 - per_group),
            may_collect: false,
            free: if collectors == 64 { u64::MAX } else { (1 << collectors) - 1 },
            memory: 0,
            blocked_by_memory: 0,
            complete_collectors: 0,
            untried_collectors: 0,
            woken: 0,
            reads: [OperandReads::default(); MAX_COLLECTORS],
            reading: 0,
            written_banks: 0,
            turn: vec![if shared { !1 } else { !(u64::MAX >> (64 - per_group)) }; ports].into(),
            conflicts: 0,
        }
    }

    /// Returns the bytes of the arrays.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.collectors) + size_of_val(&*self.turn) + self.issued.hot_bytes()
    }

    /// Returns the sub-core of a scheduler.
    #[inline]
    pub(super) fn group(&self, scheduler: usize) -> usize {
        if self.shared { 0 } else { scheduler }
    }

    /// Returns the kinds to which a scheduler cannot issue now.
    #[inline]
    pub(super) fn full_kinds(&self, scheduler: usize) -> u16 {
        self.full_kinds[self.group(scheduler)]
    }

    /// Returns the kinds other than memory whose oldest issued instruction waits for collectors that memory instructions occupy. Sub-cores
    /// can share the queue of a kind, so the result applies to all schedulers.
    #[inline]
    pub(super) fn blocked_by_memory(&self) -> u16 {
        self.blocked_by_memory
    }

    /// Allocates an entry for an issued instruction of a kind that is not [`OperandCollectors::full_kinds`]; returns the entry, which the caller writes.
    #[inline]
    pub(super) fn issue(&mut self, kind: UnitKind, group: u8) -> &mut IssuedInst {
        let rank = PORT_RANK[kind as usize];
        let queue = &mut self.queues[usize::from(rank)];
        let (slot, place) = self.issued.allocate();
        queue.push(slot, group);
        self.queued |= 1 << rank;
        self.may_collect = true;
        if !self.shared || usize::from(queue.len) == self.slots_per_kind[kind as usize] {
            self.full_kinds[usize::from(group) % MAX_SCHEDULERS] |= 1 << kind as u8;
        }
        place
    }

    /// Writes a result: the bank reads nothing in the next step. Returns true if the bank was free for the write.
    #[inline]
    pub(super) fn write(&mut self, bank: u8) -> bool {
        let free = self.written_banks >> bank & 1 == 0;
        self.written_banks |= 1 << bank;
        free
    }

    /// Squashes the instructions of `warps` that have not reached their units: all of them, or those for the load/store unit. They pass
    /// without effect. `squashed` is called for each with its warp and the number of instructions after it.
    pub(super) fn squash(&mut self, warps: u64, all: bool, mut squashed: impl FnMut(u8, u32)) {
        for inst in self.issued.iter_mut().filter(|inst| is_in(warps, inst.warp) && (all || inst.kind == UnitKind::Mem)) {
            squashed(inst.warp, inst.left);
            (inst.warp, inst.dst) = (NO_WARP, NO_REGISTER);
        }
    }

    /// Removes and returns the oldest instruction that waits for a unit of a kind.
    #[inline(always)]
    pub(super) fn take_oldest(&mut self, kind: UnitKind) -> Option<IssuedInst> {
        let place = self.ready.oldest(kind, &self.issued)?;
        let slot = self.ready.vacate_slot(kind, place);
        self.issued.free(slot);
        Some(*self.issued.get(slot))
    }

    /// Returns true if a cycle would move an instruction. Otherwise every collector is empty or waits to dispatch, and every issued
    /// instruction waits for a collector, until a unit accepts an instruction or another one is issued.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        (self.reading != 0) | self.may_collect | self.may_dispatch()
    }

    /// Returns true if a complete collector has to try to dispatch.
    #[inline]
    fn may_dispatch(&self) -> bool {
        (self.complete_collectors != 0) & ((self.untried_collectors != 0) | (self.ready.freed != 0))
    }

    /// Makes the next cycle examine all collectors and registers.
    pub(super) fn wake(&mut self) {
        self.untried_collectors = self.complete_collectors;
        self.may_collect = self.queued != 0;
        self.ready.wake();
    }

    /// Simulates one core cycle of the register file in which no instruction moves.
    #[inline]
    pub(super) fn advance_register_file(&mut self) {
        self.written_banks = 0;
    }

    /// Simulates one core cycle of the register file.
    // This function and its parts have one caller each, in every cycle.
    #[inline(always)]
    pub(super) fn tick(&mut self) {
        if !self.is_active() {
            self.advance_register_file();
            return;
        }
        for _ in 0..self.steps {
            if self.may_dispatch() {
                if self.port_for_each { self.dispatch_all() } else { self.dispatch() }
            }
            if self.reading != 0 {
                self.read();
            }
            if self.may_collect {
                self.collect();
            }
            self.written_banks = 0;
        }
    }

    /// Returns true if the register before the unit of a complete collector has a free slot.
    #[inline]
    fn has_free_slot(&self, kind: UnitKind, group: usize) -> bool {
        let taken = self.ready.taken_slots(kind);
        if self.shared { (taken.count_ones() as usize) < self.slots_per_kind[kind as usize] } else { taken >> group & 1 == 0 }
    }

    /// Sends complete instructions to the registers before their units if every collector of a sub-core has a port: the ports need no
    /// selection then, and of several instructions of one kind the lower collector goes first, as below. A collector that found the input
    /// register of its unit occupied tries again when such a register of its sub-core becomes free.
    #[inline(always)]
    fn dispatch_all(&mut self) {
        let mut tries = self.untried_collectors;
        let mut freed = std::mem::take(&mut self.ready.freed);
        while freed != 0 {
            let first = freed.trailing_zeros() as usize * self.per_group;
            freed &= freed - 1;
            tries |= self.complete_collectors & self.group_mask << first;
        }
        self.untried_collectors = 0;
        while tries != 0 {
            let collector = tries.trailing_zeros() as usize;
            tries &= tries - 1;
            let Collector { slot, kind, group } = self.collectors[collector % MAX_COLLECTORS];
            let place = usize::from(group);
            if self.ready.taken_slots(kind) >> place & 1 == 0 {
                self.ready.occupy_slot(kind, place, slot);
                self.complete_collectors &= !(1 << collector);
                self.free |= 1 << collector;
                self.may_collect = self.queued != 0;
            }
        }
    }

    /// Sends complete instructions to the registers before their units, one per output port.
    ///
    /// A port serves the collectors round robin. With sub-cores it begins with the first collector of the sub-core after the one it served
    /// last, so that within a sub-core the lower collector always goes first, as in the reference.
    fn dispatch(&mut self) {
        let mut can_leave = 0;
        let mut left = self.complete_collectors;
        while left != 0 {
            let collector = left.trailing_zeros() as usize;
            left &= left - 1;
            let Collector { kind, group, .. } = self.collectors[collector];
            can_leave |= u64::from(self.has_free_slot(kind, usize::from(group))) << collector;
        }
        self.ready.freed = 0;
        let mut port = 0;
        while can_leave != 0 && port < self.ports {
            let next = can_leave & self.turn[port];
            let chosen = if next != 0 { next } else { can_leave }.trailing_zeros() as usize;
            let Collector { slot, kind, group, .. } = self.collectors[chosen];
            let first = usize::from(group) * self.per_group;
            let own = self.group_mask << first;
            self.turn[port] = if self.shared { u64::MAX << chosen << 1 } else { !own & u64::MAX << first };
            let place = if self.shared { (!self.ready.taken_slots(kind)).trailing_zeros() as usize } else { usize::from(group) };
            self.ready.occupy_slot(kind, place, slot);
            self.complete_collectors &= !(1 << chosen);
            self.free |= 1 << chosen;
            self.may_collect |= self.queued != 0;
            can_leave &= !(1 << chosen);
            if can_leave & own != 0 && !self.has_free_slot(kind, usize::from(group)) {
                let mut others = can_leave & own;
                while others != 0 {
                    let other = others.trailing_zeros() as usize;
                    others &= others - 1;
                    can_leave &= !(u64::from(self.collectors[other].kind == kind) << other);
                }
            }
            port += 1;
        }
        self.untried_collectors = if can_leave != 0 { self.complete_collectors } else { 0 };
    }

    /// Makes every bank that is not written read an operand of the first collector that needs it.
    #[inline(always)]
    fn read(&mut self) {
        let mut taken = self.written_banks;
        let mut kept = 0;
        for i in 0..usize::from(self.reading) {
            let OperandReads { once, again: [twice, thrice, four], collector } = self.reads[i % MAX_COLLECTORS];
            let granted = once & !taken;
            taken |= granted;
            if twice == 0 {
                let left = once & !granted;
                if left == 0 {
                    self.complete_collectors |= 1 << collector;
                    self.untried_collectors |= 1 << collector;
                    continue;
                }
                self.conflicts += count_few(left);
                self.reads[kept] = OperandReads { once: left, again: [0; 3], collector };
            } else {
                let once = once & !granted | twice & granted;
                self.conflicts += count_few(once);
                let again = [twice & !granted | thrice & granted, thrice & !granted | four & granted, four & !granted];
                self.reads[kept] = OperandReads { once, again, collector };
            }
            kept += 1;
        }
        self.reading = kept as u8;
    }

    /// Moves instructions into collectors: each input port serves the oldest instruction of every kind with a collector of its sub-core.
    #[inline(always)]
    fn collect(&mut self) {
        self.may_collect = false;
        let before = self.blocked_by_memory;
        self.blocked_by_memory = 0;
        self.enter_collectors();
        if self.blocked_by_memory != before {
            // The stall reason of schedulers that wait for a collector has changed.
            self.woken = u8::MAX;
        }
    }

    #[inline(always)]
    fn enter_collectors(&mut self) {
        // If the oldest instruction of a kind finds no collector, the kind is skipped in this step.
        let mut ranks = self.queued;
        let (mut port, mut round) = (0, ranks);
        while round != 0 {
            let rank = round.trailing_zeros() as usize;
            round &= round - 1;
            let (slot, group) = self.queues[rank].front();
            let first = usize::from(group) * self.per_group;
            let free = self.free & self.group_mask << first;
            if free == 0 {
                ranks &= !(1 << rank);
                self.note_blocked_by_memory(slot, first);
            } else {
                self.queues[rank].pop();
                if self.queues[rank].len == 0 {
                    self.queued &= !(1 << rank);
                    ranks &= !(1 << rank);
                }
                self.enter(slot, free.trailing_zeros() as usize);
            }
            if round == 0 {
                port += 1;
                if port == self.ports {
                    // The ports are exhausted; collectors may be free in the next step.
                    self.may_collect = ranks != 0;
                    return;
                }
                round = ranks;
            }
        }
    }

    /// Records whether memory instructions occupy at least half of the collectors from `first` on, none of which is free for the oldest
    /// instruction of a kind.
    #[inline]
    fn note_blocked_by_memory(&mut self, slot: u8, first: usize) {
        let of_memory = self.memory & self.group_mask << first;
        if of_memory != 0 && (self.per_group <= 2 || 2 * of_memory.count_ones() as usize >= self.per_group) {
            let kind = self.issued.get(slot).kind;
            self.blocked_by_memory |= u16::from(kind != UnitKind::Mem) << kind as u8;
        }
    }

    #[inline(always)]
    fn enter(&mut self, slot: u8, chosen: usize) {
        let inst = self.issued.get(slot);
        self.full_kinds[usize::from(inst.group) % MAX_SCHEDULERS] &= !(1 << inst.kind as u8);
        self.woken |= 1 << inst.group;
        self.free &= !(1 << chosen);
        self.memory = self.memory & !(1 << chosen) | u64::from(inst.kind == UnitKind::Mem) << chosen;
        self.collectors[chosen % MAX_COLLECTORS] = Collector { slot, kind: inst.kind, group: inst.group };
        let sources = &inst.sources;
        if sources.count == 0 {
            self.complete_collectors |= 1 << chosen;
            self.untried_collectors |= 1 << chosen;
            return;
        }
        let again = if sources.crowded { sources.repeated_banks() } else { [0; 3] };
        self.reads[usize::from(self.reading) % MAX_COLLECTORS] = OperandReads { once: sources.once, again, collector: chosen as u8 };
        self.reading += 1;
    }

    /// Returns the number of instructions that wait in each register before the collectors, for the deadlock report.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{} of {} collectors free", self.free.count_ones(), self.count);
        for kind in ALL_UNIT_KINDS {
            let (before, after) =
                (u32::from(self.queues[usize::from(PORT_RANK[kind as usize])].len), self.ready.taken_slots(kind).count_ones());
            if before + after > 0 {
                text.push_str(&format!(", {kind:?}: {before} wait for a collector, {after} for the unit"));
            }
        }
        text
    }
}
