//! A core whose dependences come from the control words of its code (`gpu.sm.style = "control-words"`): it takes the place of the issue stage,
//! the operand collectors and the fixed-latency units, and hands memory instructions to the load/store unit.
//!
//! A warp may issue when its stall count is over, the six dependence counters that it waits for are zero, and the latch of the pipe it goes to
//! is free. What an instruction of fixed latency does is then decided at its issue: the cycle in which it leaves the allocate stage, the
//! cycles of its operand reads and of its result. Memory instructions wait in a queue of their sub-core for its address unit. Code without control
//! words (traces, kernel models) waits for the registers that it names instead.
//!
//! Source: R. Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025; the rules in the comments are theirs.
//!
//! Invariant: a sub-core that is not looked at before `looks_at` can issue nothing before, for the same reason, unless one of its warps is touched.

mod caches;
mod code;
mod constants;
mod dependents;
mod fetch;
mod issue;
mod looked;
mod memory;
mod ports;
mod products;

use warpshard_base::{Cycle, KernelIndex, LinkId};
use warpshard_config::machine::{ControlCore as Spec, CoreStyle, Sm as SmSpec};
use warpshard_protocol::Outbox;
use warpshard_workload::Pipe;

use super::core::{Core, MAX_WARPS, bits};
use super::issue::IssueStage;
use super::observers::Observers;
use super::operands::Operands;
use super::stall::StallReason;
use super::starts::CtaStage;
use super::writeback::Wheel;
use caches::Behind;
pub(super) use code::as_read;
use constants::Constants;
use dependents::Dependents;
use fetch::Instructions;
use looked::Looked;
use memory::MemoryQueue;
use ports::{Ports, ReuseCache};
use products::GroupProducts;

/// A sub-core: what its warps share.
#[derive(Debug, warpshard_state::State)]
struct SubCore {
    ports: Ports,
    reuse: ReuseCache,
    /// When the last instruction of fixed latency leaves the allocate stage.
    allocated: u64,
    /// Nothing issues before: the control stage is taken.
    control_free: u64,
    /// Nothing issues to a pipe before.
    latch_free: [u64; Pipe::COUNT],
    memory: MemoryQueue,
    /// When it is looked at again, if no warp is touched.
    looks_at: u64,
    /// What its warps waited for when it was looked at last.
    looked: Looked,
}

/// What the core keeps of each warp slot.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct WarpControl {
    /// Its stall count is over.
    ready_at: u64,
    /// Its front instruction is there.
    fetched_at: u64,
    /// It stands at a barrier or fence that is open until then.
    held_until: u64,
    /// What it waited for when it was looked at last, other than room in its sub-core, does not end before, unless an event ends it.
    again_at: u64,
    /// Where its front instruction goes, if it waits for nothing else: to a pipe, or to memory.
    goes_to: u8,
    /// That is a fence.
    at_fence: bool,
    /// The counters that its last instruction incremented, as sets.
    incremented: u8,
    /// The counters that a memory instruction incremented last.
    by_memory: u8,
    /// Of these the counters that the L1 or the texture unit will let fall.
    by_l1: u8,
    /// The constant that its front instruction reads has come.
    has_constant: bool,
    /// The warp by its order of launch.
    age: u32,
}

impl WarpControl {
    const NOBODY: Self = Self {
        ready_at: 0,
        fetched_at: 0,
        held_until: 0,
        again_at: 0,
        goes_to: 0,
        at_fence: false,
        incremented: 0,
        by_memory: 0,
        by_l1: 0,
        has_constant: false,
        age: u32::MAX,
    };
}

/// The core.
#[derive(Debug, warpshard_state::State)]
pub(super) struct ControlCore {
    #[state(fixed)]
    spec: Spec,
    subs: Box<[SubCore]>,
    warps: Box<[WarpControl; MAX_WARPS]>,
    instructions: Instructions,
    constants: Constants,
    behind: Behind,
    products: GroupProducts,
    dependents: Dependents,
    /// The load/store unit takes no instruction before.
    accepts_at: u64,
    /// The sub-core and the warp whose instruction the load/store unit took last.
    served: (u8, u8),
    /// When the barrier unit has seen the last warp.
    barrier_at: u64,
    /// Warps whose fence reaches beyond the CTA.
    far_fences: u64,
    /// The first cycle in which the core has something to do, if no warp is touched.
    next: u64,
}

impl ControlCore {
    /// The core of an SM; `None` where its style is another.
    pub(super) fn new(spec: &SmSpec) -> Option<Box<Self>> {
        if spec.style != CoreStyle::ControlWords {
            return None;
        }
        let sub = || SubCore {
            ports: Ports::new(spec.control.products.sum_reads),
            reuse: ReuseCache::default(),
            allocated: 0,
            control_free: 0,
            latch_free: [0; Pipe::COUNT],
            memory: MemoryQueue::default(),
            looks_at: 0,
            looked: Looked::default(),
        };
        Some(Box::new(Self {
            spec: spec.control,
            subs: (0..spec.schedulers).map(|_| sub()).collect(),
            warps: Box::new([WarpControl::NOBODY; MAX_WARPS]),
            instructions: Instructions::new(&spec.control, spec.schedulers as usize),
            constants: Constants::new(&spec.control, spec.schedulers as usize),
            behind: Behind::new(&spec.control),
            products: GroupProducts::new(spec.control.products),
            dependents: Dependents::default(),
            accepts_at: 0,
            served: (0, 0),
            barrier_at: 0,
            far_fences: 0,
            next: 0,
        }))
    }

    /// The farthest that the core looks ahead in the wheel of completions.
    pub(super) fn longest(spec: &SmSpec) -> u64 {
        let pipes = spec.control.pipes.iter().map(|pipe| pipe.latency).max().unwrap_or(0);
        u64::from(pipes) + 2 * ports::AHEAD
    }

    /// The first cycle in which it has something to do, if no warp is touched.
    #[inline]
    pub(super) fn next_event(&self) -> Cycle {
        Cycle(self.next)
    }

    /// A kernel begins: neither its code nor its constants are in the caches.
    pub(super) fn enter_kernel(&mut self, name: &str) {
        self.instructions.clear();
        self.constants.clear();
        self.behind.clear(name);
    }

    /// Memory instructions of `warps` are dropped: so is what their sub-cores remember of the warps.
    pub(super) fn squash(&mut self, warps: u64) {
        for warp in bits(warps) {
            self.warps[warp].incremented = 0;
            self.products.forget(warp);
        }
        self.far_fences &= !warps;
        self.constants.squash(warps);
        self.subs.iter_mut().for_each(|sub| sub.memory.squash(warps));
    }

    /// Warps were started in the present cycle: their first instructions are fetched.
    pub(super) fn started(&mut self, core: &mut Core, observers: &mut Observers) {
        let now = core.now.0;
        for warp in bits(core.warps.live) {
            if self.warps[warp].age == core.warps.age[warp] {
                continue;
            }
            self.warps[warp] = WarpControl { ready_at: now + 1, age: core.warps.age[warp], ..WarpControl::NOBODY };
            let sub = warp % self.subs.len();
            self.subs[sub].reuse.forget(warp as u8);
            self.products.forget(warp);
            if core.warps.fetchable & !core.warps.frozen & 1 << warp != 0 {
                self.decode(warp, core, observers);
                let (kernel, pc) = self.front(warp, core);
                self.warps[warp].fetched_at = self.instructions.fetch(sub, kernel, pc, now + 1, &mut self.behind);
                core.counters.sm.instruction_misses = self.instructions.misses;
                if let Some(reasons) = &mut observers.reasons {
                    reasons.goes_on(warp, 0, self.warps[warp].fetched_at);
                }
            }
        }
    }

    /// The kernel of a warp and the address of its front instruction.
    fn front(&self, warp: usize, core: &Core) -> (u32, u32) {
        (core.kernel_of(warp).0, core.code_of(warp)[core.warps.front(warp).index as usize].pc)
    }

    /// Fills the empty buffer of a warp.
    fn decode(&self, warp: usize, core: &mut Core, observers: &mut Observers) {
        core.warps.fetchable &= !(1 << warp);
        core.warps.decode(warp, core.spec.fetch.buffer);
        core.front_changed(warp);
        observers.front_changed(core, warp);
    }

    /// One cycle of issue. Returns whether a fence of the GPU or the system ended, or the wait for the launch before, so that the caller invalidates the L1.
    pub(super) fn tick(
        &mut self,
        issue: &mut IssueStage,
        core: &mut Core,
        operands: &mut Operands,
        completions: &mut Wheel,
        observers: &mut Observers,
        (starts, to_grid, out): (&mut CtaStage, LinkId, &mut Outbox),
    ) -> bool {
        let met = self.dependents.next_event() <= core.now.0 && self.dependents.release(core, starts);
        if std::mem::take(&mut core.warps.wait_ended) {
            issue.wait_changed(core, observers);
        }
        let over = core.warps.fence_over;
        let far = over & self.far_fences != 0;
        if over != 0 {
            self.far_fences &= !over;
            core.warps.leave_fences();
            issue.wait_changed(core, observers);
        }
        observers.refresh(core);
        let now = core.now.0;
        for sub in 0..self.subs.len() {
            let mine = issue.supervised(sub);
            let touched = core.warps.touched & mine;
            if touched == 0 && self.subs[sub].looks_at > now {
                continue;
            }
            core.warps.touched &= !mine;
            self.look(sub, mine, touched, core, observers.reasons.as_deref_mut());
            let eligible = self.subs[sub].looked.eligible();
            let (reason, warps) = if eligible != 0 {
                let warp = issue.pick(sub, eligible, core, observers);
                observers.pass_over(eligible & !(1 << warp), now);
                self.subs[sub].looks_at = now + 1;
                if self.lacks_constant(sub, warp, core, observers.reasons.as_deref_mut()) {
                    (StallReason::ScoreboardAlu, 1 << warp)
                } else {
                    self.issue(sub, warp, issue, core, operands, completions, observers);
                    (StallReason::Issued, 1 << warp)
                }
            } else {
                let of_sub = &mut self.subs[sub];
                of_sub.looks_at = of_sub.looked.again_at;
                of_sub.looked.reason(core.warps.live & mine)
            };
            issue.begin(sub, reason, warps, core);
        }
        self.next = self.next_look(core, operands);
        if self.dependents.is_leaving() {
            self.dependents.flush(core.now, to_grid, out);
        }
        far | met
    }

    /// The first cycle after the present one in which anything happens, if no warp is touched.
    fn next_look(&self, core: &Core, operands: &Operands) -> u64 {
        let now = core.now.0;
        let accepts = if memory::is_free(operands) { self.accepts_at } else { u64::MAX };
        let of_sub = |sub: &SubCore| sub.looks_at.min(sub.memory.next_event(accepts));
        let of_subs = self.subs.iter().map(of_sub).min().unwrap_or(u64::MAX);
        of_subs.min(self.constants.next_event()).min(self.dependents.next_event()).max(now + 1)
    }

    /// The dependency of a programmatic dependent launch is met from cycle `at` on.
    pub(super) fn expect_dependency(&mut self, at: Cycle, kernel: KernelIndex) {
        self.dependents.expect(at, kernel);
        self.next = self.next.min(at.0);
    }

    /// One cycle of the address units, and of what they offer to the load/store unit.
    pub(super) fn offer(&mut self, core: &mut Core, operands: &mut Operands, completions: &mut Wheel) {
        let now = core.now.0;
        let places = self.spec.memory_queue as usize + 1;
        while let Some(result) = self.constants.next_result(now) {
            completions.add(core.now, 1, result);
        }
        for sub in &mut self.subs {
            sub.memory.read(now, &self.spec, &sub.ports, core, completions);
        }
        if now < self.accepts_at || !memory::is_free(operands) {
            return;
        }
        // The load/store unit stays with a warp while that has instructions for it; else the sub-cores take turns.
        let count = self.subs.len();
        let ready = |at: usize| self.subs[at].memory.ready_warp(now);
        let (last, warp) = self.served;
        let stays = (ready(usize::from(last)) == Some(warp)).then_some(usize::from(last));
        let others = || (1..=count).map(|step| (usize::from(last) + step) % count).find(|at| ready(*at).is_some());
        let Some(at) = stays.or_else(others) else { return };
        let Some(warp) = ready(at) else { return };
        let memory = &mut self.subs[at].memory;
        let Some(slot) = memory.take() else { return };
        operands.ready.put(super::kinds::UnitKind::Mem, at, slot);
        if memory.held() + 1 == places {
            self.subs[at].looks_at = now;
        }
        self.accepts_at = now + u64::from(self.spec.accept_interval);
        self.served = (at as u8, warp);
    }

    /// The queues, for reports of a standstill.
    pub(super) fn describe(&self) -> String {
        let queues: Vec<_> = self.subs.iter().map(|sub| sub.memory.held().to_string()).collect();
        format!("memory instructions in the queues of the sub-cores: {}", queues.join(", "))
    }
}
