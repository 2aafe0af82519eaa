//! Selection of the warps of a sub-core that may issue, the stall reasons of the other warps, and the issue of an instruction.

use warpshard_stats::activity::{AsyncEventKind, WarpReason};
use warpshard_workload::{AsyncOp, Control, MemKind, MemSpace, NO_REGISTER, OpClass, Pipe, StaticInst};

use super::super::core::{COPY_RESULT, Core, FIRST_ASYNC_RESULT, PORT_ONLY_RESULT, UNCOUNTED_RESULT, bits};
use super::super::issue::{IssueStage, count_issued};
use super::super::kinds::UnitKind;
use super::super::observers::Observers;
use super::super::operands::{IssuedInst, OperandCollectors, SourceBanks};
use super::super::warp_reasons::WarpReasons;
use super::super::writeback::{Completion, CompletionWheel};
use super::memory::QueuedInst;
use super::ports::OPERAND_READ_CYCLES;
use super::products::{ProductPart, StartedProducts};
use super::warp_waits::WaitClass;
use super::{ControlCore, WarpControl};

/// Maximum value of a dependence counter.
const MAX_COUNTER: u16 = 63;
/// Maximum number of outstanding results without a counter, and of outstanding copies, per warp.
const MAX_UNCOUNTED: u16 = 255;
/// Cycles without issue after a miss of a constant operand, before another warp may issue (Huerta et al., 5.1.1).
const CONSTANT_HOLD_CYCLES: u64 = 4;
/// Destination of an instruction that no pipe of the sub-core executes; used in place of a pipe.
const NO_PIPE: u8 = u8::MAX;
/// State of a warp that can issue.
const ELIGIBLE_STATE: (WaitClass, u64, WarpReason) = (WaitClass::Eligible, u64::MAX, WarpReason::Selected);
/// Cycles from issue to the allocate stage, through the control stage.
const ISSUE_TO_ALLOCATE_CYCLES: u64 = 2;

/// Conditions that keep a warp from issuing.
enum IssueWait {
    /// A dependence counter, or a register if the code has no control words; `memory` is true if a memory instruction caused it.
    Counter { memory: bool, reason: WarpReason },
    /// The queue of memory instructions is full.
    Queue,
    /// The pipe or the control stage is busy until a cycle.
    Pipe(u64, WarpReason),
    /// A product of the warp group is incomplete, until a cycle if that cycle is determined.
    Product(u64),
    /// The warp waits at the barrier of the cluster.
    Cluster,
    /// The warp waits for the end of the launch on which its programmatic dependent launch depends.
    Grid,
}

impl IssueWait {
    /// Returns the class of the wait, the earliest cycle in which it ends without an event, and the state of the warp.
    #[inline]
    fn wait_class(self) -> (WaitClass, u64, WarpReason) {
        match self {
            Self::Counter { memory: true, reason } => (WaitClass::Memory, u64::MAX, reason),
            Self::Counter { memory: false, reason } => (WaitClass::Arithmetic, u64::MAX, reason),
            Self::Queue => (WaitClass::QueueFull, u64::MAX, WarpReason::LgThrottle),
            Self::Pipe(until, reason) => (WaitClass::PipeBusy, until, reason),
            Self::Product(until) => (WaitClass::Arithmetic, until, WarpReason::Gmma),
            Self::Cluster => (WaitClass::Barrier, u64::MAX, WarpReason::Barrier),
            Self::Grid => (WaitClass::Barrier, u64::MAX, WarpReason::GridDependency),
        }
    }
}

impl ControlCore {
    /// Examines the warps `mine` of a sub-core in the present cycle. An event affected the `touched` ones.
    pub(super) fn examine(&mut self, sub: usize, mine: u64, touched: u64, core: &Core, mut reasons: Option<&mut WarpReasons>) {
        let now = core.now.0;
        let mine = core.warps.live & mine & !core.warps.finished;
        let mut looked = self.subs[sub].waits;
        let ready = looked.ready() & mine;
        let mut anew = touched & mine;
        let mut stay_until = u64::MAX;
        for warp in bits(mine & !anew) {
            let at = self.warps[warp].retry_at;
            if at <= now {
                anew |= 1 << warp;
            } else {
                stay_until = stay_until.min(at);
            }
        }
        looked.retry_at = stay_until;
        let ready = ready & !anew;
        let stay = mine & !anew & !ready;
        looked.sets.iter_mut().for_each(|set| *set &= stay);
        for warp in bits(ready) {
            let (standing, until, reason) =
                self.resource_wait(sub, self.warps[warp].destination, now).map_or(ELIGIBLE_STATE, IssueWait::wait_class);
            looked.sets[standing as usize] |= 1 << warp;
            looked.retry_at = looked.retry_at.min(until);
            if let (Some(reasons), false) = (&mut reasons, standing == WaitClass::Eligible) {
                let is_full = standing == WaitClass::QueueFull;
                reasons.set_state(warp, if is_full { throttle_reason(front(warp, core)) } else { reason }, now);
            }
        }
        for warp in bits(anew) {
            let (standing, until, reason) = self.examine_warp(sub, warp, core);
            looked.sets[standing as usize] |= 1 << warp;
            looked.retry_at = looked.retry_at.min(until);
            if let (Some(reasons), false) = (&mut reasons, standing == WaitClass::Eligible) {
                reasons.set_state(warp, reason, now);
            }
        }
        if cfg!(debug_assertions) {
            for warp in bits(stay | ready) {
                let retry_at = self.warps[warp].retry_at;
                let (standing, until, _) = self.examine_warp(sub, warp, core);
                let stands =
                    looked.sets[standing as usize] >> warp & 1 != 0 && until >= looked.retry_at && self.warps[warp].retry_at == retry_at;
                assert!(stands, "warp {warp} of {} in cycle {now}: {standing:?} until {until} without an event", core.id);
            }
        }
        self.subs[sub].waits = looked;
    }

    /// Returns the condition that keeps a warp from issuing in the present cycle, the first cycle in which the condition may change without
    /// an event, and the state of the warp in Nsight's terms. Records the cycle up to which the warp needs no re-examination.
    fn examine_warp(&mut self, sub: usize, warp: usize, core: &Core) -> (WaitClass, u64, WarpReason) {
        let (now, warps, bit) = (core.now.0, &core.warps, 1u64 << warp);
        let of_warp = &self.warps[warp];
        let stands = if (warps.at_fence | warps.at_atomic) & bit != 0 {
            (WaitClass::Fence, u64::MAX, WarpReason::Membar)
        } else if warps.at_barrier & bit != 0 {
            (WaitClass::Barrier, u64::MAX, WarpReason::Barrier)
        } else if warps.valid & bit == 0 {
            (WaitClass::NoInstruction, u64::MAX, WarpReason::NoInstruction)
        } else if warps.allowed & bit == 0 {
            (WaitClass::Throttled, u64::MAX, WarpReason::Misc)
        } else if of_warp.held_until > now {
            if of_warp.at_fence {
                (WaitClass::Fence, of_warp.held_until, WarpReason::Membar)
            } else {
                (WaitClass::Barrier, of_warp.held_until, WarpReason::Barrier)
            }
        } else if of_warp.fetched_at > now {
            (WaitClass::NoInstruction, of_warp.fetched_at, WarpReason::Wait)
        } else if of_warp.ready_at > now {
            (WaitClass::Arithmetic, of_warp.ready_at, if of_warp.has_constant { WarpReason::ImcMiss } else { WarpReason::Wait })
        } else {
            // A counter that the last instruction incremented becomes visible in the cycle after the next.
            let visible = if warps.last_issue[warp].0 + 1 == now { now + 1 } else { u64::MAX };
            let inst = front(warp, core);
            let destination = if uses_memory_queue(inst, core) { NO_PIPE } else { inst.control.pipe as u8 };
            let own = self.dependence_wait(warp, inst, core).map(IssueWait::wait_class);
            let of_warp = &mut self.warps[warp];
            of_warp.destination = destination;
            of_warp.retry_at = visible.min(own.as_ref().map_or(u64::MAX, |own| own.1));
            let (standing, until, reason) =
                own.unwrap_or_else(|| self.resource_wait(sub, destination, now).map_or(ELIGIBLE_STATE, IssueWait::wait_class));
            let reason = if standing == WaitClass::QueueFull { throttle_reason(inst) } else { reason };
            return (standing, until.min(visible), reason);
        };
        self.warps[warp].retry_at = stands.1;
        stands
    }

    /// Returns the resource of the sub-core that an otherwise ready instruction lacks; `destination` is its pipe or `NO_PIPE`.
    #[inline]
    fn resource_wait(&self, sub: usize, destination: u8, now: u64) -> Option<IssueWait> {
        let of_sub = &self.subs[sub];
        if destination == NO_PIPE {
            if of_sub.memory.unaccepted_count() > self.spec.memory_queue as usize {
                return Some(IssueWait::Queue);
            }
        } else if of_sub.latch_free[usize::from(destination)] > now {
            let until = of_sub.latch_free[usize::from(destination)];
            // An instruction that waits for its register reads in the allocate stage also keeps its latch.
            let read = of_sub.allocated - 1;
            let wait = if read > now { (until.min(read), WarpReason::Dispatch) } else { (until, WarpReason::MathPipeThrottle) };
            return Some(IssueWait::Pipe(wait.0, wait.1));
        }
        (of_sub.control_free > now).then_some(IssueWait::Pipe(of_sub.control_free, WarpReason::Dispatch))
    }

    /// Returns the condition for which a warp waits after its stall count is over, except for resources of its sub-core.
    fn dependence_wait(&mut self, warp: usize, inst: &StaticInst, core: &Core) -> Option<IssueWait> {
        let now = core.now.0;
        let bit = 1u64 << warp;
        if core.warps.hazard & bit != 0 {
            let memory = core.warps.hazard_memory & bit != 0;
            return Some(IssueWait::Counter { memory, reason: if memory { WarpReason::LongScoreboard } else { WarpReason::Wait } });
        }
        if let Some(counter) = self.blocking_counter(&self.warps[warp], &inst.control, core, warp) {
            let far = self.warps[warp].by_l1 >> counter & 1 != 0;
            let reason = if far { WarpReason::LongScoreboard } else { WarpReason::ShortScoreboard };
            return Some(IssueWait::Counter { memory: self.warps[warp].by_memory >> counter & 1 != 0, reason });
        }
        let product = match inst.control.async_op {
            AsyncOp::Product { .. } => self.products.full_until(warp, now),
            AsyncOp::Products { most } => self.products.open_until(warp, most, now),
            AsyncOp::ClusterWait if core.peers.as_ref().is_some_and(|peers| peers.is_at_cluster_barrier(core.warps.cta[warp], warp)) => {
                return Some(IssueWait::Cluster);
            }
            AsyncOp::GridWait if core.warps.front(warp).mask.0 != 0 && core.ctas.waits_for_grid(core.warps.cta[warp]) => {
                return Some(IssueWait::Grid);
            }
            _ => None,
        };
        product.map(IssueWait::Product)
    }

    /// Returns the counter for which an instruction waits. Increments of the preceding instruction are not visible in the next cycle.
    fn blocking_counter(&self, of_warp: &WarpControl, control: &Control, core: &Core, warp: usize) -> Option<u8> {
        let flights = core.scoreboard.flight_counts(warp);
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
            [control.write_counter(), control.read_counter()]
                .into_iter()
                .flatten()
                .find(|counter| flights[usize::from(*counter)] >= MAX_COUNTER)
        };
        let many = || flights[6..].iter().any(|count| *count >= MAX_UNCOUNTED).then_some(6);
        zero.or_else(limit).or_else(full).or_else(many)
    }

    /// Looks up the constant operand of the instruction that a warp would issue in this cycle; returns true if the warp has to wait for it.
    pub(super) fn lacks_constant(&mut self, sub: usize, warp: usize, core: &mut Core, reasons: Option<&mut WarpReasons>) -> bool {
        let inst = &core.code_of(warp)[core.warps.front(warp).index as usize];
        let Some(address) = inst.control.constant else { return false };
        if std::mem::take(&mut self.warps[warp].has_constant) {
            return false;
        }
        let (now, kernel) = (core.now.0, core.kernel_of(warp).0);
        let at = self.constants.operand_arrival(sub, kernel, address, now, &mut self.shared_cache);
        if at <= now {
            return false;
        }
        core.counters.sm.constant_misses = self.constants.misses;
        let of_warp = &mut self.warps[warp];
        (of_warp.ready_at, of_warp.has_constant, of_warp.retry_at) = (at, true, 0);
        self.subs[sub].control_free = at.min(now + CONSTANT_HOLD_CYCLES);
        if let Some(reasons) = reasons {
            reasons.set_state(warp, WarpReason::ImcMiss, now);
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
        operands: &mut OperandCollectors,
        completions: &mut CompletionWheel,
        observers: &mut Observers,
    ) {
        let now = core.now.0;
        let inst = core.warps.take_front(warp);
        if let Some(reasons) = &mut observers.reasons {
            reasons.issue(warp, now);
        }
        observers.record_issue(warp, core.now);
        core.warps.last_issue[warp] = core.now;
        let code = core.code_of(warp)[inst.index as usize];
        let kernel = core.kernel_of(warp).0;
        let reads = self.subs[sub].reuse.reads(warp as u8, &code);
        let order = issue.next_order();
        let left = if core.warps.is_replay(warp) { core.record_replay(warp) } else { core.warps.remaining_instructions(warp) };
        let of_warp = &mut self.warps[warp];
        of_warp.ready_at = now + u64::from(code.control.stall.max(1));
        of_warp.incremented = 0;
        let to_memory = uses_memory_queue(&code, core);
        let result = self.reserve(warp, to_memory, &code, core);
        let bank = (sub * 2) as u8 + (code.dst & 1) as u8;
        if to_memory {
            let atomic = code.mem.is_some_and(|mem| matches!(mem.kind, MemKind::Atomic | MemKind::Reduction));
            if atomic && inst.mask.0 != 0 {
                core.warps.atomics[warp] += u16::from(inst.lanes);
            }
            let slot = operands.issued.add(IssuedInst {
                inst,
                sources: SourceBanks::default(),
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
            let counter = code.control.read_counter().filter(|_| code.control.async_op != AsyncOp::BulkGroup);
            self.subs[sub].memory.push(QueuedInst { slot, warp: warp as u8, enters: now + ISSUE_TO_ALLOCATE_CYCLES, reads, counter });
            self.subs[sub].control_free = now + 1;
        } else {
            let mut late = 0;
            if code.control.pipe == Pipe::Constant {
                late = self.constants.load(kernel, core.warps.stream(warp).payload(&inst), now, &mut self.shared_cache);
                core.counters.sm.constant_misses = self.constants.misses;
            }
            self.execute(sub, warp, &code, (result, bank, late), reads, core, completions);
        }
        if let AsyncOp::Product { columns, registers, closes } = code.control.async_op
            && inst.mask.0 != 0
        {
            let group = group_of(warp, core);
            let part = ProductPart { columns, registers, closes, at: now };
            let begun = self.products.add_part(warp, part, group);
            self.multiply(begun, group, core);
        }
        match code.control.async_op {
            AsyncOp::ClusterArrive if inst.mask.0 != 0 => core.arrive_at_cluster(warp),
            AsyncOp::LaunchDependents if inst.mask.0 != 0 => self.dependents.trigger(core.warps.cta[warp], core),
            _ => {}
        }
        count_issued(core, warp, &code, inst.lanes, u64::from(reads[0] + reads[1]));
        self.advance(sub, warp, kernel, &code, issue, core, observers);
        match code.class {
            OpClass::Barrier => self.reach_barrier(warp, issue, core, observers),
            OpClass::Fence => {
                let scope = code.control.scope as usize;
                let of_warp = &mut self.warps[warp];
                (of_warp.held_until, of_warp.at_fence) = (now + u64::from(self.spec.fence[scope]), true);
                self.wide_fences |= u64::from(scope > 0) << warp;
                core.reach_fence(warp);
                issue.wait_changed(core, observers);
            }
            _ => {}
        }
    }

    /// Reserves the result of an instruction; returns the register or counter that its write releases.
    fn reserve(&mut self, warp: usize, to_memory: bool, code: &StaticInst, core: &mut Core) -> u16 {
        let control = &code.control;
        let of_warp = &mut self.warps[warp];
        let stores = code.mem.is_some_and(|mem| mem.kind == MemKind::Store);
        // A store writes no register, so no write would decrement its counter.
        let write = control.write_counter().filter(|_| !stores);
        for counter in [write, control.read_counter()].into_iter().flatten() {
            core.scoreboard.begin_flight(warp, u16::from(counter));
            of_warp.incremented |= 1 << counter;
            of_warp.by_memory = of_warp.by_memory & !(1 << counter) | u8::from(to_memory) << counter;
            of_warp.by_l1 = of_warp.by_l1 & !(1 << counter) | u8::from(is_completed_by_l1(code)) << counter;
        }
        if let AsyncOp::Copy { .. } = control.async_op {
            core.scoreboard.begin_flight(warp, COPY_RESULT);
            return FIRST_ASYNC_RESULT + COPY_RESULT;
        }
        if let (AsyncOp::BulkGroup, Some(counter)) = (control.async_op, control.read_counter()) {
            // The counter is decremented when the stores have read the data that they copy.
            return FIRST_ASYNC_RESULT + u16::from(counter);
        }
        if let Some(counter) = write {
            return FIRST_ASYNC_RESULT + u16::from(counter);
        }
        let returns = code.mem.is_some() && !stores;
        if !control.is_known() {
            if code.dst == NO_REGISTER && to_memory && returns {
                core.scoreboard.begin_flight(warp, UNCOUNTED_RESULT);
                return FIRST_ASYNC_RESULT + UNCOUNTED_RESULT;
            }
            core.scoreboard.reserve(warp, code.dst, to_memory);
            return code.dst;
        }
        if to_memory && returns {
            core.scoreboard.begin_flight(warp, UNCOUNTED_RESULT);
            return FIRST_ASYNC_RESULT + UNCOUNTED_RESULT;
        }
        if to_memory || code.dst == NO_REGISTER { NO_REGISTER } else { FIRST_ASYNC_RESULT + PORT_ONLY_RESULT }
    }

    /// Executes an instruction that does not access memory. All its cycles from the allocate stage on are determined here. Its result is
    /// `late` cycles later than the latency of the pipe.
    #[expect(clippy::too_many_arguments, reason = "the parts of the SM are borrowed one by one")]
    fn execute(
        &mut self,
        sub: usize,
        warp: usize,
        code: &StaticInst,
        (result, bank, late): (u16, u8, u64),
        reads: [u8; 2],
        core: &mut Core,
        completions: &mut CompletionWheel,
    ) {
        let now = core.now.0;
        let timing = self.spec.pipes[code.control.pipe as usize];
        let of_sub = &mut self.subs[sub];
        let enters = (now + ISSUE_TO_ALLOCATE_CYCLES).max(of_sub.allocated + 1);
        let allocated = of_sub.ports.allocate(enters, reads);
        of_sub.allocated = allocated;
        of_sub.control_free = (enters - 1).max(now + 1);
        let interval = if code.packed_half { (timing.initiation / 2).max(1) } else { timing.initiation };
        of_sub.latch_free[code.control.pipe as usize] = allocated + u64::from(interval) - ISSUE_TO_ALLOCATE_CYCLES;
        let delay = allocated - (now + ISSUE_TO_ALLOCATE_CYCLES);
        let written = u64::from(timing.latency) + delay;
        if let Some(counter) = code.control.read_counter() {
            core.warps.in_pipe[warp] += 1;
            let read = delay + ISSUE_TO_ALLOCATE_CYCLES + OPERAND_READ_CYCLES;
            completions.add(core.now, read, Completion { warp: warp as u8, bank: 0, dst: FIRST_ASYNC_RESULT + u16::from(counter) });
        }
        let group = code.control.write_counter().filter(|_| code.control.async_op == AsyncOp::CopyGroup);
        let result = match group {
            // The group ends with its last copy.
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

    /// Returns the cycle in which the next pc of a warp is resolved after an instruction issued in cycle `now`; 0 if it is resolved
    /// immediately.
    fn resolve_cycle(&self, pipe: Pipe, jumps: bool, now: u64) -> u64 {
        match pipe {
            Pipe::Converge | Pipe::Call => now + u64::from(self.spec.pipes[pipe as usize].latency),
            _ if jumps => now + u64::from(self.spec.redirect),
            _ => 0,
        }
    }

    /// Advances a warp to the instruction after the one that it has just issued.
    #[expect(clippy::too_many_arguments, reason = "the parts of the SM are borrowed one by one")]
    fn advance(
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
        } else if core.warps.buffer_emptied(warp) {
            let before = core.warps.at_barrier;
            let group = group_of(warp, core) & !(1 << warp);
            core.warp_finished(warp);
            let begun = self.products.begin_complete(group);
            self.multiply(begun, group, core);
            self.release(before & !core.warps.at_barrier);
            observers.warp_finished(warp, core.now);
            if let Some(reasons) = &mut observers.reasons {
                // The exit waits for the outstanding instructions after that cycle.
                let [resolved, all] = [Pipe::Branch, code.control.pipe].map(|pipe| u64::from(self.spec.pipes[pipe as usize].latency));
                let at = core.now.0 + all.saturating_sub(resolved);
                reasons.set_fetch_cycles(warp, at, at);
            }
            issue.limit_warps(core, observers);
            return;
        } else {
            self.decode(warp, core, observers);
        }
        let (pc, next) = (code.pc, self.front(warp, core).1);
        let resolved = self.resolve_cycle(code.control.pipe, next != pc + 16, core.now.0);
        let begins = resolved.max(core.now.0 + 1);
        self.warps[warp].fetched_at = self.instructions.fetch_next(sub, kernel, (pc, next), begins, &mut self.shared_cache);
        if let Some(reasons) = &mut observers.reasons {
            reasons.set_fetch_cycles(warp, resolved, self.warps[warp].fetched_at);
        }
        core.counters.sm.instruction_misses = self.instructions.misses;
    }

    /// Moves a warp to the barrier unit, which handles one warp after the other.
    fn reach_barrier(&mut self, warp: usize, issue: &mut IssueStage, core: &mut Core, observers: &mut Observers) {
        let kernel = core.kernel_of(warp);
        core.counters.kernels.at(kernel.index()).barrier_instructions += 1;
        self.barrier_at = self.barrier_at.max(core.now.0) + u64::from(self.spec.barrier_interval);
        let before = core.warps.at_barrier | 1 << warp;
        core.reach_barrier(warp);
        self.release(before & !core.warps.at_barrier);
        issue.wait_changed(core, observers);
    }

    /// Begins products of a warp group: the warps of the group are examined again, and the matrix units read sums.
    fn multiply(&mut self, begun: StartedProducts, group: u64, core: &mut Core) {
        if begun.products == 0 {
            return;
        }
        core.warps.touched |= group;
        core.counters.sm.group_products += begun.products;
        core.counters.sm.group_product_cycles += begun.cycles;
        let slot = core.warps.cta[group.trailing_zeros() as usize];
        for (begins, ends) in self.products.take_times() {
            self.subs.iter_mut().for_each(|sub| sub.ports.multiply(begins, ends, core.now.0));
            core.record_async(slot, || AsyncEventKind::Product { group, begins, ends });
        }
    }

    /// Releases `warps`, whose barrier opened.
    fn release(&mut self, warps: u64) {
        for warp in bits(warps) {
            let of_warp = &mut self.warps[warp];
            (of_warp.held_until, of_warp.at_fence) = (self.barrier_at + u64::from(self.spec.barrier_latency), false);
        }
    }
}

/// Returns true if the L1 or the texture unit completes an instruction.
fn is_completed_by_l1(inst: &StaticInst) -> bool {
    matches!(inst.control.async_op, AsyncOp::Copy { .. } | AsyncOp::CopyGroup)
        || inst.mem.is_some_and(|mem| !matches!(mem.space, MemSpace::Shared | MemSpace::Constant))
}

/// Returns the front instruction of a warp.
#[inline]
fn front(warp: usize, core: &Core) -> &StaticInst {
    &core.code_of(warp)[core.warps.front(warp).index as usize]
}

/// Returns the stall reason of a warp whose instruction finds the queue full.
fn throttle_reason(inst: &StaticInst) -> WarpReason {
    match inst.mem.map(|mem| mem.space) {
        Some(MemSpace::Global | MemSpace::Local | MemSpace::Generic) => WarpReason::LgThrottle,
        Some(MemSpace::Texture) => WarpReason::TexThrottle,
        _ => WarpReason::MioThrottle,
    }
}

/// Returns true if an instruction goes through the queue of memory instructions.
fn uses_memory_queue(inst: &StaticInst, core: &Core) -> bool {
    core.routes[inst.class as usize].kind == UnitKind::Mem && inst.class != OpClass::Fence || inst.control.async_op.passes_load_store()
}

/// Returns the unfinished warps of the warp group of a warp: four consecutive warps of its CTA.
fn group_of(warp: usize, core: &Core) -> u64 {
    let (all, running) = core.ctas.warps_at_barrier(core.warps.cta[warp]);
    let first = all.trailing_zeros() as usize;
    running & 0b1111 << (first + (warp - first) / 4 * 4)
}
