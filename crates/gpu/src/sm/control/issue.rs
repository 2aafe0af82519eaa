//! Which warps of a sub-core may issue, why the others may not, and the issue of an instruction.

use warpshard_stats::activity::{BesideChange, WarpReason};
use warpshard_workload::{Beside, Control, MemKind, MemSpace, NO_REGISTER, OpClass, Pipe, StaticInst};

use super::super::core::{ANONYMOUS, COPIES, COUNTERS, Core, PORT_ONLY, bits};
use super::super::issue::{IssueStage, count_issued};
use super::super::kinds::UnitKind;
use super::super::observers::Observers;
use super::super::operands::{IssuedInst, Operands, Sources};
use super::super::warp_reasons::WarpReasons;
use super::super::writeback::{Completion, Wheel};
use super::looked::Standing;
use super::memory::Queued;
use super::ports::WINDOW;
use super::products::{Begun, Part};
use super::{ControlCore, WarpControl};

/// The most that a dependence counter counts.
const MOST: u16 = 63;
/// The most results that no counter counts, and copies, that a warp has under way.
const MOST_UNCOUNTED: u16 = 255;
/// How long nothing issues where a constant operand misses, before another warp may (Huerta et al., 5.1.1).
const CONSTANT_HOLD: u64 = 4;
/// Where an instruction goes that no pipe of the sub-core executes, in place of the pipe.
const MEMORY: u8 = u8::MAX;
/// A warp that waits for nothing.
const FREE: (Standing, u64, WarpReason) = (Standing::Eligible, u64::MAX, WarpReason::Selected);
/// From issue to the allocate stage: past the control stage.
const TO_ALLOCATE: u64 = 2;

/// Why a warp does not issue.
enum Wait {
    /// A counter, or a register where the code has no control words; whether memory has it.
    Counter { memory: bool, reason: WarpReason },
    /// The queue of memory instructions.
    Queue,
    /// The pipe or the control stage, until a cycle.
    Pipe(u64, WarpReason),
    /// A product of the warp group, until a cycle if that is known.
    Product(u64),
    /// The barrier of the cluster.
    Cluster,
    /// The end of the launch before a programmatic dependent one.
    Grid,
}

impl Wait {
    /// Where a warp stands that waits so, until when at least if no event ends it before, and its state.
    #[inline]
    fn stands(self) -> (Standing, u64, WarpReason) {
        match self {
            Self::Counter { memory: true, reason } => (Standing::Memory, u64::MAX, reason),
            Self::Counter { memory: false, reason } => (Standing::Arithmetic, u64::MAX, reason),
            Self::Queue => (Standing::QueueFull, u64::MAX, WarpReason::LgThrottle),
            Self::Pipe(until, reason) => (Standing::PipeBusy, until, reason),
            Self::Product(until) => (Standing::Arithmetic, until, WarpReason::Gmma),
            Self::Cluster => (Standing::Barrier, u64::MAX, WarpReason::Barrier),
            Self::Grid => (Standing::Barrier, u64::MAX, WarpReason::GridDependency),
        }
    }
}

impl ControlCore {
    /// Looks at the warps `mine` of a sub-core in the present cycle, of which `touched` met an event.
    pub(super) fn look(&mut self, sub: usize, mine: u64, touched: u64, core: &Core, mut reasons: Option<&mut WarpReasons>) {
        let now = core.now.0;
        let mine = core.warps.live & mine & !core.warps.finished;
        let mut looked = self.subs[sub].looked;
        let ready = looked.ready() & mine;
        let mut anew = touched & mine;
        let mut stay_until = u64::MAX;
        for warp in bits(mine & !anew) {
            let at = self.warps[warp].again_at;
            if at <= now {
                anew |= 1 << warp;
            } else {
                stay_until = stay_until.min(at);
            }
        }
        looked.again_at = stay_until;
        let ready = ready & !anew;
        let stay = mine & !anew & !ready;
        looked.sets.iter_mut().for_each(|set| *set &= stay);
        for warp in bits(ready) {
            let (standing, until, reason) = self.crowded(sub, self.warps[warp].goes_to, now).map_or(FREE, Wait::stands);
            looked.sets[standing as usize] |= 1 << warp;
            looked.again_at = looked.again_at.min(until);
            if let (Some(reasons), false) = (&mut reasons, standing == Standing::Eligible) {
                let is_full = standing == Standing::QueueFull;
                reasons.turn(warp, if is_full { throttled(front(warp, core)) } else { reason }, now);
            }
        }
        for warp in bits(anew) {
            let (standing, until, reason) = self.standing_of(sub, warp, core);
            looked.sets[standing as usize] |= 1 << warp;
            looked.again_at = looked.again_at.min(until);
            if let (Some(reasons), false) = (&mut reasons, standing == Standing::Eligible) {
                reasons.turn(warp, reason, now);
            }
        }
        if cfg!(debug_assertions) {
            for warp in bits(stay | ready) {
                let again_at = self.warps[warp].again_at;
                let (standing, until, _) = self.standing_of(sub, warp, core);
                let stands =
                    looked.sets[standing as usize] >> warp & 1 != 0 && until >= looked.again_at && self.warps[warp].again_at == again_at;
                assert!(stands, "warp {warp} of {} in cycle {now}: {standing:?} until {until} without an event", core.id);
            }
        }
        self.subs[sub].looked = looked;
    }

    /// What keeps a warp from issuing in the present cycle, the first cycle in which that may change unless an event changes it before, and the
    /// warp's state in Nsight's terms. Notes until when the warp needs no such look.
    fn standing_of(&mut self, sub: usize, warp: usize, core: &Core) -> (Standing, u64, WarpReason) {
        let (now, warps, bit) = (core.now.0, &core.warps, 1u64 << warp);
        let of_warp = &self.warps[warp];
        let stands = if (warps.at_fence | warps.at_atomic) & bit != 0 {
            (Standing::Fence, u64::MAX, WarpReason::Membar)
        } else if warps.at_barrier & bit != 0 {
            (Standing::Barrier, u64::MAX, WarpReason::Barrier)
        } else if warps.valid & bit == 0 {
            (Standing::NoInstruction, u64::MAX, WarpReason::NoInstruction)
        } else if warps.allowed & bit == 0 {
            (Standing::Throttled, u64::MAX, WarpReason::Misc)
        } else if of_warp.held_until > now {
            if of_warp.at_fence {
                (Standing::Fence, of_warp.held_until, WarpReason::Membar)
            } else {
                (Standing::Barrier, of_warp.held_until, WarpReason::Barrier)
            }
        } else if of_warp.fetched_at > now {
            (Standing::NoInstruction, of_warp.fetched_at, WarpReason::Wait)
        } else if of_warp.ready_at > now {
            (Standing::Arithmetic, of_warp.ready_at, if of_warp.has_constant { WarpReason::ImcMiss } else { WarpReason::Wait })
        } else {
            // What its last instruction incremented becomes visible in the cycle after the next.
            let visible = if warps.last_issue[warp].0 + 1 == now { now + 1 } else { u64::MAX };
            let inst = front(warp, core);
            let goes_to = if goes_to_memory(inst, core) { MEMORY } else { inst.control.pipe as u8 };
            let own = self.wait_of(warp, inst, core).map(Wait::stands);
            let of_warp = &mut self.warps[warp];
            of_warp.goes_to = goes_to;
            of_warp.again_at = visible.min(own.as_ref().map_or(u64::MAX, |own| own.1));
            let (standing, until, reason) = own.unwrap_or_else(|| self.crowded(sub, goes_to, now).map_or(FREE, Wait::stands));
            let reason = if standing == Standing::QueueFull { throttled(inst) } else { reason };
            return (standing, until.min(visible), reason);
        };
        self.warps[warp].again_at = stands.1;
        stands
    }

    /// What a sub-core lacks for an instruction of a warp that waits for nothing else, by where it goes.
    #[inline]
    fn crowded(&self, sub: usize, goes_to: u8, now: u64) -> Option<Wait> {
        let of_sub = &self.subs[sub];
        if goes_to == MEMORY {
            if of_sub.memory.held() > self.spec.memory_queue as usize {
                return Some(Wait::Queue);
            }
        } else if of_sub.latch_free[usize::from(goes_to)] > now {
            let until = of_sub.latch_free[usize::from(goes_to)];
            // An instruction that waits for its register reads in the allocate stage keeps its latch, too.
            let read = of_sub.allocated - 1;
            let wait = if read > now { (until.min(read), WarpReason::Dispatch) } else { (until, WarpReason::MathPipeThrottle) };
            return Some(Wait::Pipe(wait.0, wait.1));
        }
        (of_sub.control_free > now).then_some(Wait::Pipe(of_sub.control_free, WarpReason::Dispatch))
    }

    /// What a warp waits for whose stall count is over, other than for room in its sub-core.
    fn wait_of(&mut self, warp: usize, inst: &StaticInst, core: &Core) -> Option<Wait> {
        let now = core.now.0;
        let bit = 1u64 << warp;
        if core.warps.hazard & bit != 0 {
            let memory = core.warps.hazard_memory & bit != 0;
            return Some(Wait::Counter { memory, reason: if memory { WarpReason::LongScoreboard } else { WarpReason::Wait } });
        }
        if let Some(counter) = self.blocking(&self.warps[warp], &inst.control, core, warp) {
            let far = self.warps[warp].by_l1 >> counter & 1 != 0;
            let reason = if far { WarpReason::LongScoreboard } else { WarpReason::ShortScoreboard };
            return Some(Wait::Counter { memory: self.warps[warp].by_memory >> counter & 1 != 0, reason });
        }
        let product = match inst.control.beside {
            Beside::Product { .. } => self.products.full_until(warp, now),
            Beside::Products { most } => self.products.open_until(warp, most, now),
            Beside::ClusterWait if core.peers.as_ref().is_some_and(|peers| peers.waits(core.warps.cta[warp], warp)) => {
                return Some(Wait::Cluster);
            }
            Beside::GridWait if core.warps.front(warp).mask.0 != 0 && core.ctas.waits_for_grid(core.warps.cta[warp]) => {
                return Some(Wait::Grid);
            }
            _ => None,
        };
        product.map(Wait::Product)
    }

    /// The counter that an instruction waits for. What the instruction before incremented is not seen in the cycle after it.
    fn blocking(&self, of_warp: &WarpControl, control: &Control, core: &Core, warp: usize) -> Option<u8> {
        let flights = core.scoreboard.flights(warp);
        if flights.iter().all(|count| *count == 0) {
            return None;
        }
        let unseen = if core.warps.last_issue[warp].0 + 1 == core.now.0 { of_warp.incremented } else { 0 };
        let value = |counter: u8| flights[usize::from(counter)].saturating_sub(u16::from(unseen >> counter & 1));
        let zero = (0..6).find(|counter| control.wait >> counter & 1 != 0 && value(*counter) > 0);
        let limit = || {
            let (counter, most) = control.at_most.map(|both| ((both & 7) as u8, both >> 3))?;
            (value(counter.min(5)) > most).then_some(counter.min(5))
        };
        let full = || {
            [control.write_counter(), control.read_counter()].into_iter().flatten().find(|counter| flights[usize::from(*counter)] >= MOST)
        };
        let many = || flights[6..].iter().any(|count| *count >= MOST_UNCOUNTED).then_some(6);
        zero.or_else(limit).or_else(full).or_else(many)
    }

    /// Looks up the constant operand of the instruction that a warp would issue now; returns whether the warp has to wait for it.
    pub(super) fn lacks_constant(&mut self, sub: usize, warp: usize, core: &mut Core, reasons: Option<&mut WarpReasons>) -> bool {
        let inst = &core.code_of(warp)[core.warps.front(warp).index as usize];
        let Some(address) = inst.control.constant else { return false };
        if std::mem::take(&mut self.warps[warp].has_constant) {
            return false;
        }
        let (now, kernel) = (core.now.0, core.kernel_of(warp).0);
        let at = self.constants.operand(sub, kernel, address, now, &mut self.behind);
        if at <= now {
            return false;
        }
        core.counters.sm.constant_misses = self.constants.misses;
        let of_warp = &mut self.warps[warp];
        (of_warp.ready_at, of_warp.has_constant, of_warp.again_at) = (at, true, 0);
        self.subs[sub].control_free = at.min(now + CONSTANT_HOLD);
        if let Some(reasons) = reasons {
            reasons.turn(warp, WarpReason::ImcMiss, now);
        }
        true
    }

    /// Issues the front instruction of a warp.
    #[expect(clippy::too_many_arguments, reason = "the parts of the SM are borrowed one by one")]
    pub(super) fn issue(
        &mut self,
        sub: usize,
        warp: usize,
        issue: &mut IssueStage,
        core: &mut Core,
        operands: &mut Operands,
        completions: &mut Wheel,
        observers: &mut Observers,
    ) {
        let now = core.now.0;
        let inst = core.warps.take_front(warp);
        if let Some(reasons) = &mut observers.reasons {
            reasons.issue(warp, now);
        }
        observers.issued(warp, core.now);
        core.warps.last_issue[warp] = core.now;
        let code = core.code_of(warp)[inst.index as usize];
        let kernel = core.kernel_of(warp).0;
        let reads = self.subs[sub].reuse.reads(warp as u8, &code);
        let order = issue.next_order();
        let left = if core.warps.replays(warp) { core.replayed(warp) } else { core.warps.left(warp) };
        let of_warp = &mut self.warps[warp];
        of_warp.ready_at = now + u64::from(code.control.stall.max(1));
        of_warp.incremented = 0;
        let to_memory = goes_to_memory(&code, core);
        let result = self.reserve(warp, to_memory, &code, core);
        let bank = (sub * 2) as u8 + (code.dst & 1) as u8;
        if to_memory {
            let atomic = code.mem.is_some_and(|mem| matches!(mem.kind, MemKind::Atomic | MemKind::Reduction));
            if atomic && inst.mask.0 != 0 {
                core.warps.atomics[warp] += u16::from(inst.lanes);
            }
            let slot = operands.issued.add(IssuedInst {
                inst,
                sources: Sources::default(),
                order,
                left,
                dst: result,
                latency: 1,
                initiation: 1,
                warp: warp as u8,
                group: sub as u8,
                kind: UnitKind::Mem,
                dst_bank: bank,
            });
            let counter = code.control.read_counter().filter(|_| code.control.beside != Beside::BulkGroup);
            self.subs[sub].memory.push(Queued { slot, warp: warp as u8, enters: now + TO_ALLOCATE, reads, counter });
            self.subs[sub].control_free = now + 1;
        } else {
            let mut late = 0;
            if code.control.pipe == Pipe::Constant {
                late = self.constants.load(kernel, core.warps.stream(warp).payload(&inst), now, &mut self.behind);
                core.counters.sm.constant_misses = self.constants.misses;
            }
            self.execute(sub, warp, &code, (result, bank, late), reads, core, completions);
        }
        if let Beside::Product { columns, registers, closes } = code.control.beside
            && inst.mask.0 != 0
        {
            let group = group_of(warp, core);
            let part = Part { columns, registers, closes, at: now };
            let begun = self.products.hand_in(warp, part, group);
            self.multiply(begun, group, core);
        }
        match code.control.beside {
            Beside::ClusterArrive if inst.mask.0 != 0 => core.arrive_at_cluster(warp),
            Beside::LaunchDependents if inst.mask.0 != 0 => self.dependents.trigger(core.warps.cta[warp], core),
            _ => {}
        }
        count_issued(core, warp, &code, inst.lanes, u64::from(reads[0] + reads[1]));
        self.go_on(sub, warp, kernel, &code, issue, core, observers);
        match code.class {
            OpClass::Barrier => self.reach_barrier(warp, issue, core, observers),
            OpClass::Fence => {
                let scope = code.control.scope as usize;
                let of_warp = &mut self.warps[warp];
                (of_warp.held_until, of_warp.at_fence) = (now + u64::from(self.spec.fence[scope]), true);
                self.far_fences |= u64::from(scope > 0) << warp;
                core.reach_fence(warp);
                issue.wait_changed(core, observers);
            }
            _ => {}
        }
    }

    /// Reserves what the result of an instruction takes; returns what its write releases.
    fn reserve(&mut self, warp: usize, to_memory: bool, code: &StaticInst, core: &mut Core) -> u16 {
        let control = &code.control;
        let of_warp = &mut self.warps[warp];
        let stores = code.mem.is_some_and(|mem| mem.kind == MemKind::Store);
        // A store writes no register, so that nothing would let its counter fall.
        let write = control.write_counter().filter(|_| !stores);
        for counter in [write, control.read_counter()].into_iter().flatten() {
            core.scoreboard.begin_flight(warp, u16::from(counter));
            of_warp.incremented |= 1 << counter;
            of_warp.by_memory = of_warp.by_memory & !(1 << counter) | u8::from(to_memory) << counter;
            of_warp.by_l1 = of_warp.by_l1 & !(1 << counter) | u8::from(goes_to_l1(code)) << counter;
        }
        if let Beside::Copy { .. } = control.beside {
            core.scoreboard.begin_flight(warp, COPIES);
            return COUNTERS + COPIES;
        }
        if let (Beside::BulkGroup, Some(counter)) = (control.beside, control.read_counter()) {
            // Its counter falls when the stores have read what they copy.
            return COUNTERS + u16::from(counter);
        }
        if let Some(counter) = write {
            return COUNTERS + u16::from(counter);
        }
        let returns = code.mem.is_some() && !stores;
        if !control.is_known() {
            if code.dst == NO_REGISTER && to_memory && returns {
                core.scoreboard.begin_flight(warp, ANONYMOUS);
                return COUNTERS + ANONYMOUS;
            }
            core.scoreboard.reserve(warp, code.dst, to_memory);
            return code.dst;
        }
        if to_memory && returns {
            core.scoreboard.begin_flight(warp, ANONYMOUS);
            return COUNTERS + ANONYMOUS;
        }
        if to_memory || code.dst == NO_REGISTER { NO_REGISTER } else { COUNTERS + PORT_ONLY }
    }

    /// An instruction that is no access to memory goes through the allocate stage to its pipe: all its cycles follow now. Its result is `late`
    /// cycles later than the pipe's latency.
    #[expect(clippy::too_many_arguments, reason = "the parts of the SM are borrowed one by one")]
    fn execute(
        &mut self,
        sub: usize,
        warp: usize,
        code: &StaticInst,
        (result, bank, late): (u16, u8, u64),
        reads: [u8; 2],
        core: &mut Core,
        completions: &mut Wheel,
    ) {
        let now = core.now.0;
        let timing = self.spec.pipes[code.control.pipe as usize];
        let of_sub = &mut self.subs[sub];
        let enters = (now + TO_ALLOCATE).max(of_sub.allocated + 1);
        let allocated = of_sub.ports.allocate(enters, reads);
        of_sub.allocated = allocated;
        of_sub.control_free = (enters - 1).max(now + 1);
        let interval = if code.packed_half { (timing.initiation / 2).max(1) } else { timing.initiation };
        of_sub.latch_free[code.control.pipe as usize] = allocated + u64::from(interval) - TO_ALLOCATE;
        let delay = allocated - (now + TO_ALLOCATE);
        let written = u64::from(timing.latency) + delay;
        if let Some(counter) = code.control.read_counter() {
            core.warps.in_pipe[warp] += 1;
            let read = delay + TO_ALLOCATE + WINDOW;
            completions.add(core.now, read, Completion { warp: warp as u8, bank: 0, dst: COUNTERS + u16::from(counter) });
        }
        let group = code.control.write_counter().filter(|_| code.control.beside == Beside::CopyGroup);
        let result = match group {
            // The group ends with the last of its copies.
            Some(counter) if core.scoreboard.begin_group(warp, counter) => NO_REGISTER,
            _ => result,
        };
        let done = Completion { warp: warp as u8, bank, dst: result };
        if late > 0 {
            self.constants.write_late(now + written + late, done);
        } else {
            completions.add(core.now, written, done);
        }
    }

    /// When it is known where a warp goes on after an instruction issued in cycle `now`; 0 where it is known at once.
    fn resolved(&self, pipe: Pipe, jumps: bool, now: u64) -> u64 {
        match pipe {
            Pipe::Converge | Pipe::Call => now + u64::from(self.spec.pipes[pipe as usize].latency),
            _ if jumps => now + u64::from(self.spec.redirect),
            _ => 0,
        }
    }

    /// What follows the instruction of a warp that has just been issued.
    #[expect(clippy::too_many_arguments, reason = "the parts of the SM are borrowed one by one")]
    fn go_on(
        &mut self,
        sub: usize,
        warp: usize,
        kernel: u32,
        code: &StaticInst,
        issue: &mut IssueStage,
        core: &mut Core,
        observers: &mut Observers,
    ) {
        if core.warps.has_front(warp) {
            core.front_changed(warp);
            observers.front_changed(core, warp);
        } else if core.warps.run_dry(warp) {
            let before = core.warps.at_barrier;
            let group = group_of(warp, core) & !(1 << warp);
            core.warp_finished(warp);
            let begun = self.products.begin_whole(group);
            self.multiply(begun, group, core);
            self.release(before & !core.warps.at_barrier);
            observers.warp_finished(warp, core.now);
            if let Some(reasons) = &mut observers.reasons {
                // What it has under way is waited for after that.
                let [resolved, all] = [Pipe::Branch, code.control.pipe].map(|pipe| u64::from(self.spec.pipes[pipe as usize].latency));
                let at = core.now.0 + all.saturating_sub(resolved);
                reasons.goes_on(warp, at, at);
            }
            issue.limit_warps(core, observers);
            return;
        } else {
            self.decode(warp, core, observers);
        }
        let (pc, next) = (code.pc, self.front(warp, core).1);
        let resolved = self.resolved(code.control.pipe, next != pc + 16, core.now.0);
        let begins = resolved.max(core.now.0 + 1);
        self.warps[warp].fetched_at = self.instructions.follow(sub, kernel, (pc, next), begins, &mut self.behind);
        if let Some(reasons) = &mut observers.reasons {
            reasons.goes_on(warp, resolved, self.warps[warp].fetched_at);
        }
        core.counters.sm.instruction_misses = self.instructions.misses;
    }

    /// A warp comes to the barrier unit, which sees one after the other.
    fn reach_barrier(&mut self, warp: usize, issue: &mut IssueStage, core: &mut Core, observers: &mut Observers) {
        let kernel = core.kernel_of(warp);
        core.counters.kernels.at(kernel.index()).barrier_instructions += 1;
        self.barrier_at = self.barrier_at.max(core.now.0) + u64::from(self.spec.barrier_interval);
        let before = core.warps.at_barrier | 1 << warp;
        core.reach_barrier(warp);
        self.release(before & !core.warps.at_barrier);
        issue.wait_changed(core, observers);
    }

    /// Products of a warp group begin: its warps may have to be looked at again, and the matrix units read sums.
    fn multiply(&mut self, begun: Begun, group: u64, core: &mut Core) {
        if begun.products == 0 {
            return;
        }
        core.warps.touched |= group;
        core.counters.sm.group_products += begun.products;
        core.counters.sm.group_product_cycles += begun.cycles;
        let slot = core.warps.cta[group.trailing_zeros() as usize];
        for (begins, ends) in self.products.take_times() {
            self.subs.iter_mut().for_each(|sub| sub.ports.multiply(begins, ends, core.now.0));
            core.note_beside(slot, || BesideChange::Product { group, begins, ends });
        }
    }

    /// The barrier of `warps` opened.
    fn release(&mut self, warps: u64) {
        for warp in bits(warps) {
            let of_warp = &mut self.warps[warp];
            (of_warp.held_until, of_warp.at_fence) = (self.barrier_at + u64::from(self.spec.barrier_latency), false);
        }
    }
}

/// Whether the L1 or the texture unit answers an instruction.
fn goes_to_l1(inst: &StaticInst) -> bool {
    matches!(inst.control.beside, Beside::Copy { .. } | Beside::CopyGroup)
        || inst.mem.is_some_and(|mem| !matches!(mem.space, MemSpace::Shared | MemSpace::Constant))
}

/// The front instruction of a warp.
#[inline]
fn front(warp: usize, core: &Core) -> &StaticInst {
    &core.code_of(warp)[core.warps.front(warp).index as usize]
}

/// What a warp waits for whose instruction finds the queue full.
fn throttled(inst: &StaticInst) -> WarpReason {
    match inst.mem.map(|mem| mem.space) {
        Some(MemSpace::Global | MemSpace::Local | MemSpace::Generic) => WarpReason::LgThrottle,
        Some(MemSpace::Texture) => WarpReason::TexThrottle,
        _ => WarpReason::MioThrottle,
    }
}

/// Whether an instruction goes through the queue of memory instructions.
fn goes_to_memory(inst: &StaticInst, core: &Core) -> bool {
    core.routes[inst.class as usize].kind == UnitKind::Mem && inst.class != OpClass::Fence || inst.control.beside.passes_load_store()
}

/// The warps of a warp's group that have not finished: four consecutive ones of its CTA.
fn group_of(warp: usize, core: &Core) -> u64 {
    let (all, running) = core.ctas.warps_at_barrier(core.warps.cta[warp]);
    let first = all.trailing_zeros() as usize;
    running & 0b1111 << (first + (warp - first) / 4 * 4)
}
