//! The issue stage: each scheduler takes a warp whose front instruction meets no reserved register and whose unit's register
//! is free, reserves the destination and hands the instruction to the operand collectors.
//!
//! Schedulers act one after another in an order that rotates every active cycle, so that the last warp to reach a barrier
//! lets the warps of later schedulers issue in the same cycle, as in the reference.

use crate::frontend::{MemKind, NO_REGISTER, OpClass, StaticInst};

use super::Sm;
use super::sched::{self, Conditions};
use super::scoreboard::Hazard;
use super::stall::StallReason;
use super::units::{Flight, UnitKind};

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
            self.wake_ready();
        }
        self.refresh_held();
        if self.warps.touched != 0 {
            self.issue_awake();
        }
    }

    /// Wakes the schedulers with warps that only waited for the registers before the collectors.
    fn wake_ready(&mut self) {
        let woken = std::mem::take(&mut self.operands.woken);
        for scheduler in 0..self.spec.schedulers as usize {
            let waits = self.doing[scheduler].waits_for_collectors();
            if waits && woken >> self.operands.group(scheduler) & 1 != 0 {
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
        for step in 0..schedulers {
            let scheduler = if first + step < schedulers { first + step } else { first + step - schedulers };
            if self.warps.touched & self.supervised[scheduler] == 0 {
                continue;
            }
            // What is touched from here on, by its own issue or by a later scheduler, it looks at in the next cycle.
            self.warps.touched &= !self.supervised[scheduler];
            let reason = if self.schedule(scheduler) { StallReason::Issued } else { self.stall_reason(scheduler) };
            self.begin_span(scheduler, reason);
        }
    }

    /// Moves warps between the queues of two-level schedulers; whoever may issue from now on, or no longer, is touched.
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
        if ready == 0 {
            return false;
        }
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
        let inst = self.warps.take_front(warp);
        if let Some(ccws) = &mut self.ccws {
            ccws.issued(warp, self.now);
        }
        self.warps.last_issue[warp] = self.now;
        let cta = self.warps.cta[warp];
        let code = self.ctas.code(cta)[inst.index as usize];
        let route = self.routes[code.class as usize];
        let group = self.operands.group(scheduler);
        let mut flight = Flight {
            inst,
            order: self.issued_count,
            dst: code.dst,
            latency: route.latency,
            initiation: if code.packed_half { (route.initiation / 2).max(1) } else { route.initiation },
            warp: warp as u8,
            group: group as u8,
            kind: route.kind,
            ..Flight::default()
        };
        self.issued_count = self.issued_count.wrapping_add(1);
        // A register that is named twice is read once.
        let [a, b, c, d] = code.src;
        let distinct = [true, b != a, c != a && c != b, d != a && d != b && d != c];
        for (source, first) in code.src.into_iter().zip(distinct) {
            if first && source != NO_REGISTER {
                flight.banks[usize::from(flight.sources & 3)] = self.operands.bank(source, warp, group);
                flight.sources += 1;
            }
        }
        if code.dst != NO_REGISTER {
            flight.dst_bank = self.operands.bank(code.dst, warp, group);
            self.scoreboard.reserve(warp, code.dst, route.kind == UnitKind::Mem);
        }
        let slot = self.flights.add(flight);
        self.operands.issue(slot, self.flights.get(slot));

        let kernel = self.ctas.kernel(cta).index();
        let lanes = u64::from(inst.mask.count());
        let counters = &mut self.counters.kernels[kernel];
        counters.warp_instructions += 1;
        counters.thread_instructions += lanes;
        counters.register_reads += u64::from(flight.sources);
        counters.register_writes += u64::from(code.dst != NO_REGISTER);
        let of_class = &mut self.counters.classes[kernel][code.class as usize];
        of_class[0] += 1;
        of_class[1] += lanes;

        if self.warps.finished >> warp & 1 != 0 {
            self.warp_finished(warp);
        } else if self.warps.valid >> warp & 1 != 0 {
            self.look_at_front(warp);
        }
        match code.class {
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
            OpClass::Load | OpClass::Store if is_atomic(&code) && inst.mask.0 != 0 => {
                self.warps.atomics[warp] += inst.mask.count() as u16;
                self.warps.at_atomic |= 1 << warp;
                self.wait_changed();
            }
            _ => {}
        }
        route.kind
    }

    /// Notes what the new front instruction of a warp needs.
    #[inline]
    pub(super) fn look_at_front(&mut self, warp: usize) {
        let (slot, index) = (self.warps.cta[warp], self.warps.front(warp).index);
        if let Some(phases) = &mut self.phases {
            phases.look(warp, self.ctas.kernel(slot), index);
        }
        let code = &self.ctas.code(slot)[index as usize];
        self.warps.set_kind(warp, self.routes[code.class as usize].kind);
        let hazard = self.scoreboard.hazard(warp, code);
        self.warps.set_hazard(warp, hazard != Hazard::None, hazard == Hazard::Memory);
        if self.ccws.is_some() {
            let code = *code;
            self.note_front(warp, &code);
        }
    }

    /// Looks again whether the front instruction of a warp meets a reserved register.
    #[inline]
    pub(super) fn check_hazard(&mut self, warp: usize) {
        let code = &self.ctas.code(self.warps.cta[warp])[self.warps.front(warp).index as usize];
        let hazard = self.scoreboard.hazard(warp, code);
        self.warps.set_hazard(warp, hazard != Hazard::None, hazard == Hazard::Memory);
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

fn is_atomic(inst: &StaticInst) -> bool {
    inst.mem.is_some_and(|mem| matches!(mem.kind, MemKind::Atomic | MemKind::Reduction))
}

/// Kinds that count as one when two instructions of a cycle must differ: what the reference calls specialised units.
fn exclusive(kind: UnitKind) -> UnitKind {
    match kind {
        UnitKind::Texture | UnitKind::Uniform => UnitKind::Branch,
        other => other,
    }
}
