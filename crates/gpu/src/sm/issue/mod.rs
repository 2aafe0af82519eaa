//! The issue stage: each scheduler selects a warp whose next instruction uses no reserved register and whose unit has a free input
//! register, reserves the destination and passes the instruction to the operand collectors.
//!
//! Schedulers act one after another in an order that rotates every active cycle. When the last warp reaches a barrier, warps of later
//! schedulers can therefore issue in the same cycle, as in the reference.

mod sched;
mod stall;

use warpshard_base::{Cycle, SmId};
use warpshard_config::machine::Sm as Spec;
use warpshard_seam::{UserPolicies, WarpSite};
use warpshard_workload::{DynInst, MemInst, MemKind, NO_REGISTER, OpClass, StaticInst};

use super::MAX_SCHEDULERS;
use super::core::{Core, MAX_WARPS};
use super::counters::SmStats;
use super::kinds::UnitKind;
use super::observers::Observers;
use super::operands::{IssuedInst, OperandCollectors};
use super::phases::NO_PHASES;
use super::stall::StallReason;
use sched::{AnySchedulerOrder, TwoLevel, WarpConditions, WarpView};
use stall::{StallSpans, row_of, stall_reason};

/// The schedulers of an SM, and the limits on their warps.
#[derive(Debug, warpshard_state::State)]
pub(super) struct IssueStage {
    schedulers: usize,
    /// The warp slots of each scheduler.
    supervised_warps: [u64; MAX_SCHEDULERS],
    orders: [AnySchedulerOrder; MAX_SCHEDULERS],
    spans: StallSpans,
    /// Number of issued instructions, which wraps around.
    count: u32,
    /// Number of the oldest warps that may issue.
    warp_limit: Option<u32>,
    /// True while the SM is paused and no warp may issue.
    paused: bool,
    /// The queues of two-level schedulers.
    queues: Option<Box<TwoLevel>>,
}

impl IssueStage {
    pub(super) fn new(spec: &Spec, sm: SmId, own: &UserPolicies) -> Self {
        let schedulers = spec.schedulers as usize;
        let mut supervised = [0; MAX_SCHEDULERS];
        for warp in 0..spec.warps {
            supervised[(warp % spec.schedulers) as usize] |= 1 << warp;
        }
        Self {
            schedulers,
            supervised_warps: supervised,
            orders: std::array::from_fn(|scheduler| AnySchedulerOrder::new(spec.order, &WarpSite::new(sm.0, scheduler as u8), own)),
            spans: StallSpans::new(),
            count: 0,
            warp_limit: None,
            paused: false,
            queues: sched::sort(spec.order).map(|sort| Box::new(TwoLevel::new(sort, spec.ready_queue, &supervised[..schedulers]))),
        }
    }

    /// Returns the number of issued instructions, modulo 2^32.
    #[inline]
    pub(super) fn issued_count(&self) -> u32 {
        self.count
    }

    /// Returns the warp slots of a scheduler.
    pub(super) fn supervised_warps(&self, scheduler: usize) -> u64 {
        self.supervised_warps[scheduler]
    }

    /// Returns the warp of `ready` that a scheduler selects.
    pub(super) fn pick(&mut self, scheduler: usize, ready: u64, core: &Core, observers: &Observers) -> usize {
        self.orders[scheduler].pick(ready, || view(core, observers))
    }

    /// Returns the position in the order of issue of an instruction that issues now, and advances it.
    pub(super) fn next_order(&mut self) -> u32 {
        self.count = self.count.wrapping_add(1);
        self.count.wrapping_sub(1)
    }

    /// Begins a span of a scheduler in the present cycle: it issues, or stalls, for `warps`.
    pub(super) fn begin(&mut self, scheduler: usize, reason: StallReason, warps: u64, core: &mut Core) {
        let row = row_of(core, warps);
        self.spans.count_core(core.now, &mut core.counters);
        self.spans.begin(scheduler, (reason, row), core.now, &mut core.counters);
    }

    /// Simulates one cycle of the schedulers that are awake. Returns true if fences ended, after which the L1 must drop its older data.
    ///
    /// A scheduler that issued nothing sleeps: it can issue nothing, for the same reason, until an event touches one of its warps or the
    /// register that its ready warps need is freed. Only awake schedulers are examined, and the cycles of the others are counted when they
    /// wake.
    // There is one caller, in every cycle.
    #[inline(always)]
    pub(super) fn tick(&mut self, core: &mut Core, operands: &mut OperandCollectors, observers: &mut Observers) -> bool {
        if std::mem::take(&mut core.warps.wait_ended) {
            self.wait_changed(core, observers);
        }
        let fences = core.warps.fence_over != 0;
        if fences {
            core.warps.leave_fences();
            self.wait_changed(core, observers);
        }
        if operands.woken != 0 {
            let woken = std::mem::take(&mut operands.woken);
            self.wake_ready(woken, core, operands);
        }
        observers.refresh(core);
        if core.warps.touched != 0 {
            self.issue_awake(core, operands, observers);
        }
        fences
    }

    /// Makes every scheduler examine its warps in the present cycle.
    pub(super) fn wake(&self, core: &mut Core) {
        core.warps.touched |= self.supervised_warps.iter().fold(0, |all, warps| all | warps);
    }

    /// Wakes the schedulers with warps that only waited for the registers before the collectors.
    fn wake_ready(&mut self, woken: u8, core: &mut Core, operands: &OperandCollectors) {
        for (scheduler, supervised) in self.supervised_warps[..self.schedulers].iter().enumerate() {
            let held_up = self.spans.reason(scheduler).waits_for_collectors();
            let wakes = held_up & (woken >> operands.group(scheduler) & 1 != 0);
            core.warps.touched |= if wakes { *supervised } else { 0 };
        }
    }

    #[inline(always)]
    fn issue_awake(&mut self, core: &mut Core, operands: &mut OperandCollectors, observers: &mut Observers) {
        if self.queues.is_some() {
            self.update_queues(core, observers);
        }
        self.spans.count_core(core.now, &mut core.counters);
        let schedulers = self.schedulers;
        let cycle = core.active_cycle() as usize;
        // A division every cycle would cost more than a scheduler that has nothing to issue.
        let first = if schedulers.is_power_of_two() { cycle & (schedulers - 1) } else { cycle % schedulers };
        let from_first = u32::MAX << first;
        let mut left = self.touched_schedulers(core);
        while left != 0 {
            let rest = left & from_first;
            let scheduler = if rest != 0 { rest } else { left }.trailing_zeros() as usize % MAX_SCHEDULERS;
            left &= !(1 << scheduler);
            // A warp that is touched from here on, by this issue or by a later scheduler, is examined in the next cycle.
            core.warps.touched &= !self.supervised_warps[scheduler];
            self.run_scheduler(scheduler, core, operands, observers);
            if std::mem::take(&mut core.warps.touched_others) {
                // The issue may have released warps of schedulers that follow in this cycle.
                let above = u32::MAX << scheduler << 1;
                left = self.touched_schedulers(core) & if scheduler < first { above & !from_first } else { above | !from_first };
            }
        }
    }

    /// Returns the schedulers with a touched warp.
    #[inline]
    fn touched_schedulers(&self, core: &Core) -> u32 {
        let mut touched = core.warps.touched;
        if self.schedulers.is_power_of_two() {
            // Slots are distributed over the schedulers round robin. Folding the mask to the number of schedulers combines the bits of each
            // scheduler.
            touched |= touched >> 32;
            touched |= touched >> 16;
            touched |= touched >> 8;
            for half in [4, 2, 1] {
                touched |= if self.schedulers <= half { touched >> half } else { 0 };
            }
            return touched as u32 & ((1 << self.schedulers) - 1);
        }
        let mine = self.supervised_warps[..self.schedulers].iter().enumerate();
        mine.fold(0, |set, (scheduler, mine)| set | u32::from(touched & mine != 0) << scheduler)
    }

    /// Makes a scheduler issue, or sleep for a reason.
    #[inline]
    fn run_scheduler(&mut self, scheduler: usize, core: &mut Core, operands: &mut OperandCollectors, observers: &mut Observers) {
        let (reason, warps) = match self.schedule(scheduler, core, operands, observers) {
            Some(warp) => (StallReason::Issued, 1 << warp),
            None => stall_reason(&core.warps, self.supervised_warps[scheduler], operands.blocked_by_memory()),
        };
        let row = row_of(core, warps);
        self.spans.begin(scheduler, (reason, row), core.now, &mut core.counters);
    }

    /// Moves warps between the queues of two-level schedulers, and marks the warps whose permission to issue changed.
    fn update_queues(&mut self, core: &mut Core, observers: &mut Observers) {
        let (Some(queues), warps) = (&mut self.queues, &core.warps) else { return };
        let length = observers.phases.as_ref().map_or(&NO_PHASES, |phases| phases.length());
        let running = warps.live & !warps.finished;
        let now = WarpConditions { running, waiting: warps.hazard_memory | warps.waiting(), age: &warps.age, length };
        if !queues.is_settled(&now) {
            queues.update(&now);
            self.limit_warps(core, observers);
        }
    }

    /// Makes a scheduler issue; returns the warp that issued.
    #[inline]
    fn schedule(
        &mut self,
        scheduler: usize,
        core: &mut Core,
        operands: &mut OperandCollectors,
        observers: &mut Observers,
    ) -> Option<usize> {
        let warps = &core.warps;
        let mut ready = warps.valid & self.supervised_warps[scheduler] & !warps.hazard & !warps.waiting() & warps.allowed;
        let mut full = operands.full_kinds(scheduler);
        while full != 0 {
            ready &= !warps.of_kind[full.trailing_zeros() as usize];
            full &= full - 1;
        }
        if ready == 0 {
            return None;
        }
        let warp = self.orders[scheduler].pick(ready, || view(core, observers));
        let kind = self.issue_front(scheduler, warp, core, operands, observers);
        if core.spec.issue_width > 1 {
            self.issue_more(kind, scheduler, warp, core, operands, observers);
        }
        Some(warp)
    }

    /// Issues further instructions of a warp that issued one to a unit of kind `before`, up to the issue width of the machine.
    // Not inlined: a loop around every issue would keep loop invariants in registers, although most machines issue one instruction.
    #[inline(never)]
    fn issue_more(
        &mut self,
        mut before: UnitKind,
        scheduler: usize,
        warp: usize,
        core: &mut Core,
        operands: &mut OperandCollectors,
        observers: &mut Observers,
    ) {
        for _ in 1..core.spec.issue_width {
            if !can_follow(before, scheduler, warp, core, operands) {
                return;
            }
            before = self.issue_front(scheduler, warp, core, operands, observers);
        }
    }

    /// Issues the front instruction of a warp and returns the kind of its unit.
    // Inlined for the first instruction of a cycle.
    #[inline(always)]
    fn issue_front(
        &mut self,
        scheduler: usize,
        warp: usize,
        core: &mut Core,
        operands: &mut OperandCollectors,
        observers: &mut Observers,
    ) -> UnitKind {
        // The bound removes the checks of indices into the arrays of warps.
        let warp = warp % MAX_WARPS;
        let DynInst { index, lanes, .. } = *core.warps.front(warp);
        observers.record_issue(warp, core.now);
        core.warps.last_issue[warp] = core.now;
        let cta = core.warps.cta[warp];
        let code = &core.ctas.code(cta)[index as usize];
        let StaticInst { class, dst, packed_half, flops, mem, .. } = *code;
        let copies = code.control.async_op.concerns_copies();
        let route = core.routes[class as usize];
        let group = operands.group(scheduler);
        let (sources, dst_bank) = operands.banks.source_banks_of(code, warp, group);
        core.scoreboard.reserve(warp, dst, route.kind == UnitKind::Mem);
        let left = if core.warps.is_replay(warp) { core.record_replay(warp) } else { core.warps.remaining_instructions(warp) - 1 };
        *operands.issue(route.kind, group as u8) = IssuedInst {
            // The whole instruction is copied from one location to the other.
            inst: *core.warps.front(warp),
            sources,
            order: self.count,
            left,
            dst,
            latency: route.latency,
            initiation: if packed_half { (route.initiation / 2).max(1) } else { route.initiation },
            warp: warp as u8,
            group: group as u8,
            kind: route.kind,
            dst_bank,
        };
        self.count = self.count.wrapping_add(1);
        core.warps.pop_front(warp);

        count(core, cta, (class, dst, flops), lanes.into(), u64::from(sources.count));

        if core.warps.has_front(warp) {
            core.front_changed(warp);
            observers.front_changed(core, warp);
        } else if core.warps.buffer_emptied(warp) {
            core.warp_finished(warp);
            observers.warp_finished(warp, core.now);
            self.limit_warps(core, observers);
        }
        // No branches: the class of an instruction is unpredictable.
        let atomic = is_atomic(mem) & (lanes != 0);
        if atomic | (class == OpClass::Barrier) | (class == OpClass::Fence) | copies {
            self.begin_wait((class, index), warp, lanes.into(), core, observers);
        }
        route.kind
    }

    /// Begins the wait of a warp that issued a barrier, a fence, an atomic of `lanes` lanes, or a wait for its copies to shared memory.
    #[cold]
    fn begin_wait(&mut self, (class, index): (OpClass, u32), warp: usize, lanes: u16, core: &mut Core, observers: &mut Observers) {
        let control = core.code_of(warp)[index as usize].control;
        match class {
            _ if control.async_op.concerns_copies() => core.reach_copies(warp, &control),
            OpClass::Barrier => {
                let kernel = core.kernel_of(warp);
                core.counters.kernels.at(kernel.index()).barrier_instructions += 1;
                core.reach_barrier(warp);
            }
            OpClass::Fence => core.reach_fence(warp),
            _ => core.reach_atomic(warp, lanes),
        }
        self.wait_changed(core, observers);
    }

    /// Limits issue to the `limit` oldest warps, at least one.
    pub(super) fn set_warp_limit(&mut self, limit: u32, core: &mut Core, observers: &mut Observers) {
        self.warp_limit = Some(limit.max(1)).filter(|limit| *limit < core.spec.warps);
        self.limit_warps(core, observers);
    }

    /// Sets the paused state; no warp issues while the SM is paused.
    pub(super) fn set_paused(&mut self, paused: bool, core: &mut Core, observers: &mut Observers) {
        self.paused = paused;
        self.limit_warps(core, observers);
    }

    /// Restricts issue to the warps that the limit of warps, the ready queues of two-level schedulers and CCWS admit.
    pub(super) fn limit_warps(&mut self, core: &mut Core, observers: &mut Observers) {
        let limited = match self.warp_limit {
            _ if self.paused => 0,
            Some(limit) => core.warps.oldest_warps(limit),
            None => u64::MAX,
        };
        let allowed = limited & self.queues.as_ref().map_or(u64::MAX, |queues| queues.ready());
        core.warps.restrict_issue(observers.admitted_warps(allowed & !core.warps.frozen));
    }

    /// Updates the limit of warps after a warp began or ended a wait at a barrier, a fence or an atomic, which frees or occupies a position
    /// under the limit.
    #[inline]
    pub(super) fn wait_changed(&mut self, core: &mut Core, observers: &mut Observers) {
        if self.warp_limit.is_some() {
            self.limit_warps(core, observers);
        }
    }

    /// Counts the activity of the schedulers up to cycle `at`.
    pub(super) fn count(&mut self, at: Cycle, counters: &mut SmStats) {
        self.spans.close(self.schedulers, at, counters);
    }
}

/// Returns the state of the warps that an order may use.
fn view<'a>(core: &'a Core, observers: &'a Observers) -> WarpView<'a> {
    let distance = observers.phases.as_ref().map_or(&NO_PHASES, |phases| phases.distance());
    WarpView { age: &core.warps.age, distance, cta: &core.warps.cta, kernels: core.ctas.kernels() }
}

/// Counts an issued instruction.
#[inline(always)]
fn count(core: &mut Core, cta: u8, (class, dst, flops): (OpClass, u16, u16), lanes: u64, reads: u64) {
    let kernel = core.ctas.kernel(cta).index();
    let counters = core.counters.kernels.at(kernel);
    counters.warp_instructions += 1;
    counters.thread_instructions += lanes;
    counters.flops += lanes * u64::from(flops);
    counters.register_reads += reads;
    counters.register_writes += u64::from(dst != NO_REGISTER);
    let of_class = &mut counters.classes[class as usize];
    of_class[0] += 1;
    of_class[1] += lanes;
}

/// Counts an issued instruction of a warp and its `reads` register reads.
pub(super) fn count_issued(core: &mut Core, warp: usize, code: &StaticInst, lanes: u8, reads: u64) {
    count(core, core.warps.cta[warp], (code.class, code.dst, code.flops), lanes.into(), reads);
}

/// Returns true if a warp that issued to a unit of kind `before` can issue its next instruction in the same cycle.
#[inline]
fn can_follow(before: UnitKind, scheduler: usize, warp: usize, core: &Core, operands: &OperandCollectors) -> bool {
    let warps = &core.warps;
    let can = warps.valid & !warps.hazard & !warps.waiting() & warps.allowed;
    if can >> warp & 1 == 0 {
        return false;
    }
    let kind = warps.kind(warp);
    let same = dual_issue_group(kind) == dual_issue_group(before) && core.spec.dual_issue_distinct;
    !same && operands.full_kinds(scheduler) >> kind as u8 & 1 == 0
}

#[inline]
fn is_atomic(mem: Option<MemInst>) -> bool {
    mem.is_some_and(|mem| matches!(mem.kind, MemKind::Atomic | MemKind::Reduction))
}

/// Returns the group of a kind for the rule that two instructions of a cycle must differ; the reference calls one group specialised units.
fn dual_issue_group(kind: UnitKind) -> UnitKind {
    match kind {
        UnitKind::Texture | UnitKind::Uniform => UnitKind::Branch,
        other => other,
    }
}
