//! The issue stage: each scheduler selects a warp whose next instruction uses no reserved register and whose unit's input register
//! is free, reserves the destination and passes the instruction to the operand collectors.
//!
//! Schedulers act one after another in an order that rotates every active cycle, so that the last warp to reach a barrier
//! lets the warps of later schedulers issue in the same cycle, as in the reference.

use crate::frontend::{MemInst, MemKind, NO_REGISTER, OpClass, StaticInst};

use super::sched::{self, Conditions};
use super::stall::StallReason;
use super::units::{IssuedInst, UnitKind};
use super::warps::{MAX_WARPS, bits};
use super::{MAX_SCHEDULERS, Sm};

impl Sm {
    /// One cycle of the schedulers that have something to look at.
    ///
    /// A scheduler that issued nothing sleeps: it can issue nothing, for the same reason, until one of its warps is touched or
    /// the register that its ready warps need takes something out. So only those schedulers are looked at, and what the
    /// others do is counted when they wake.
    #[inline]
    pub(super) fn issue(&mut self) {
        if self.fence_over != 0 {
            self.end_fences();
        }
        if self.operands.woken != 0 {
            let woken = std::mem::take(&mut self.operands.woken);
            if self.held_up != 0 {
                self.wake_ready(woken);
            }
        }
        self.refresh_held();
        if self.warps.touched != 0 {
            self.issue_awake();
        }
    }

    /// Wakes the schedulers with warps that only waited for the registers before the collectors.
    fn wake_ready(&mut self, woken: u8) {
        for scheduler in bits(u64::from(self.held_up)) {
            if woken >> self.operands.group(scheduler) & 1 != 0 {
                self.warps.touched |= self.supervised[scheduler];
            }
        }
    }

    fn issue_awake(&mut self) {
        if self.queues.is_some() {
            self.update_queues();
        }
        let schedulers = self.spec.schedulers as usize;
        let cycle = self.active_cycle() as usize;
        // A division every cycle would cost more than a scheduler that has nothing to issue.
        let first = if schedulers.is_power_of_two() { cycle & (schedulers - 1) } else { cycle % schedulers };
        let from_first = u32::MAX << first;
        let mut left = self.touched_schedulers();
        while left != 0 {
            let behind = left & from_first;
            let scheduler = if behind != 0 { behind } else { left }.trailing_zeros() as usize % MAX_SCHEDULERS;
            left &= !(1 << scheduler);
            // What is touched from here on, by its own issue or by a later scheduler, it looks at in the next cycle.
            self.warps.touched &= !self.supervised[scheduler];
            self.held_up &= !(1 << scheduler);
            self.let_issue(scheduler);
            if std::mem::take(&mut self.warps.touched_others) {
                // It may have let warps of schedulers go whose turn is still to come.
                let above = u32::MAX << scheduler << 1;
                left = self.touched_schedulers() & if scheduler < first { above & !from_first } else { above | !from_first };
            }
        }
    }

    /// Schedulers with a warp that was touched.
    #[inline]
    fn touched_schedulers(&self) -> u32 {
        let mut set = 0;
        for (scheduler, mine) in self.supervised[..self.spec.schedulers as usize].iter().enumerate() {
            set |= u32::from(self.warps.touched & mine != 0) << scheduler;
        }
        set
    }

    /// A scheduler issues, or sleeps for a reason.
    #[inline]
    fn let_issue(&mut self, scheduler: usize) {
        let reason = if self.schedule(scheduler) {
            StallReason::Issued
        } else {
            let reason = self.stall_reason(scheduler);
            self.held_up |= u8::from(reason.waits_for_collectors()) << scheduler;
            reason
        };
        self.begin_span(scheduler, reason);
    }

    /// Moves warps between the queues of two-level schedulers, and marks the warps that may now issue or no longer may.
    fn update_queues(&mut self) {
        let (Some(queues), warps) = (&mut self.queues, &self.warps) else { return };
        let length = self.phases.as_ref().map_or(&sched::NO_PHASES, |phases| phases.length());
        let running = warps.live & !warps.finished;
        let now = Conditions { running, waiting: warps.hazard_memory | warps.waiting(), age: &warps.age, length };
        if !queues.is_settled(&now) {
            queues.update(&now);
            self.limit_warps();
        }
    }

    /// Lets a scheduler issue; returns whether it did.
    #[inline]
    fn schedule(&mut self, scheduler: usize) -> bool {
        let warps = &self.warps;
        let mut ready = warps.valid & self.supervised[scheduler] & !warps.hazard & !warps.waiting() & warps.allowed;
        let mut full = self.operands.full(scheduler);
        while full != 0 {
            ready &= !warps.of_kind[full.trailing_zeros() as usize];
            full &= full - 1;
        }
        if ready == 0 {
            return false;
        }
        let distance = self.phases.as_ref().map_or(&sched::NO_PHASES, |phases| phases.distance());
        let warp = sched::pick(self.spec.order, ready, self.last_issued[scheduler], &warps.age, distance);
        self.last_issued[scheduler] = Some(warp as u8);
        let mut before = self.issue_front(scheduler, warp);
        for _ in 1..self.spec.issue_width {
            let warps = &self.warps;
            let can = warps.valid & !warps.hazard & !warps.waiting() & warps.allowed;
            if can >> warp & 1 == 0 {
                break;
            }
            let kind = warps.kind(warp);
            let same = exclusive(kind) == exclusive(before) && self.spec.dual_issue_distinct;
            if same || self.operands.full(scheduler) >> kind as u8 & 1 != 0 {
                break;
            }
            before = self.issue_front(scheduler, warp);
        }
        true
    }

    /// Issues the front instruction of a warp and returns the kind of unit it goes to.
    fn issue_front(&mut self, scheduler: usize, warp: usize) -> UnitKind {
        // So small, it indexes what there is for each warp without checks.
        let warp = warp % MAX_WARPS;
        let inst = self.warps.take_front(warp);
        let lanes = u64::from(inst.lanes);
        if let Some(ccws) = &mut self.ccws {
            ccws.issued(warp, self.now);
        }
        self.warps.last_issue[warp] = self.now;
        let cta = self.warps.cta[warp];
        let code = &self.ctas.code(cta)[inst.index as usize];
        let StaticInst { class, dst, packed_half, mem, .. } = *code;
        let route = self.routes[class as usize];
        let group = self.operands.group(scheduler);
        let (sources, dst_bank) = self.operands.banks(code, warp, group);
        self.scoreboard.reserve(warp, dst, route.kind == UnitKind::Mem);
        let slot = self.flights.add(IssuedInst {
            inst,
            sources,
            order: self.issued_count,
            dst,
            latency: route.latency,
            initiation: if packed_half { (route.initiation / 2).max(1) } else { route.initiation },
            warp: warp as u8,
            group: group as u8,
            kind: route.kind,
            dst_bank,
        });
        self.issued_count = self.issued_count.wrapping_add(1);
        self.operands.issue(slot, route.kind, group as u8);

        let kernel = self.ctas.kernel(cta).index();
        let counters = &mut self.counters.kernels[kernel];
        counters.warp_instructions += 1;
        counters.thread_instructions += lanes;
        counters.register_reads += u64::from(sources.count);
        counters.register_writes += u64::from(dst != NO_REGISTER);
        let of_class = &mut self.counters.classes[kernel][class as usize];
        of_class[0] += 1;
        of_class[1] += lanes;

        if self.warps.has_front(warp) {
            self.look_at_front(warp);
        } else if self.warps.run_dry(warp) {
            self.warp_finished(warp);
        }
        // Without branches: the class of an instruction is unpredictable.
        let atomic = is_atomic(mem) & (inst.mask.0 != 0);
        if atomic | (class == OpClass::Barrier) | (class == OpClass::Fence) {
            self.begin_wait(class, kernel, warp, lanes as u16);
        }
        route.kind
    }

    /// A warp issued a barrier or fence, or an atomic of so many lanes, and may have to wait.
    #[cold]
    fn begin_wait(&mut self, class: OpClass, kernel: usize, warp: usize, lanes: u16) {
        match class {
            OpClass::Barrier => {
                self.counters.kernels[kernel].barrier_instructions += 1;
                self.reach_barrier(warp);
            }
            OpClass::Fence => {
                self.warps.at_fence |= 1 << warp;
                if self.scoreboard.is_clear(warp) {
                    self.fence_over |= 1 << warp;
                }
                self.wait_changed();
            }
            _ => {
                self.warps.atomics[warp] += lanes;
                self.warps.at_atomic |= 1 << warp;
                self.wait_changed();
            }
        }
    }

    /// Notes what the new front instruction of a warp needs.
    #[inline]
    pub(super) fn look_at_front(&mut self, warp: usize) {
        let warp = warp % MAX_WARPS;
        let (slot, index) = (self.warps.cta[warp], self.warps.front(warp).index);
        if let Some(phases) = &mut self.phases {
            phases.look(warp, self.ctas.kernel(slot), index);
        }
        let code = &self.ctas.code(slot)[index as usize];
        self.warps.set_kind(warp, self.routes[code.class as usize].kind);
        let hazard = self.scoreboard.hazard(warp, code);
        self.warps.set_hazard(warp, hazard);
        if self.ccws.is_some() {
            let code = *code;
            self.note_front(warp, &code);
        }
    }

    /// Looks again whether the front instruction of a warp meets a reserved register, since one was released.
    #[inline]
    pub(super) fn check_hazard(&mut self, warp: usize) {
        let code = &self.ctas.code(self.warps.cta[warp])[self.warps.front(warp).index as usize];
        let hazard = self.scoreboard.hazard(warp, code);
        self.warps.set_hazard(warp, hazard);
    }

    /// Warps whose registers are all written leave their fence; the L1 is invalidated where kernels flush it, so that the
    /// warp sees what others wrote.
    fn end_fences(&mut self) {
        self.warps.leave_fence(std::mem::take(&mut self.fence_over));
        self.wait_changed();
        if self.spec.l1.flush_at_kernel {
            self.invalidate_l1();
        }
    }
}

#[inline]
fn is_atomic(mem: Option<MemInst>) -> bool {
    mem.is_some_and(|mem| matches!(mem.kind, MemKind::Atomic | MemKind::Reduction))
}

/// Kinds that count as one when two instructions of a cycle must differ: what the reference calls specialised units.
fn exclusive(kind: UnitKind) -> UnitKind {
    match kind {
        UnitKind::Texture | UnitKind::Uniform => UnitKind::Branch,
        other => other,
    }
}
