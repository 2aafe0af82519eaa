//! A core whose dependences come from the control words of its code (`gpu.sm.style = "control-words"`). It replaces the issue stage, the
//! operand collectors and the fixed-latency units, and passes memory instructions to the load/store unit.
//!
//! A warp may issue when its stall count is over, the dependence counters (of six) for which it waits are zero, and the latch of its pipe
//! is free. The timing of a fixed-latency instruction is determined at issue: the cycle in which it leaves the allocate stage, the cycles
//! of its operand reads, and the cycle of its result. Memory instructions wait in a queue of their sub-core for its address unit. Code
//! without control words (traces, kernel models) waits for its registers instead.
//!
//! Source: R. Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025; the rules in the comments are from
//! this paper.
//!
//! Invariant: a sub-core that is not examined before `examine_at` can issue nothing before, for the same reason, unless an event touches one
//! of its warps.

mod caches;
mod code;
mod constants;
mod dependents;
mod fetch;
mod issue;
mod memory;
mod ports;
mod products;
mod warp_waits;

use warpshard_base::{Cycle, KernelIndex, LinkId};
use warpshard_config::machine::{ControlCore as Spec, CoreStyle, Sm as SmSpec};
use warpshard_protocol::Outbox;
use warpshard_workload::Pipe;

use super::core::{Core, MAX_WARPS, bits};
use super::issue::IssueStage;
use super::observers::Observers;
use super::operands::OperandCollectors;
use super::stall::StallReason;
use super::starts::CtaStage;
use super::writeback::CompletionWheel;
use caches::CodeConstantCache;
pub(super) use code::code_for_core;
use constants::ConstantCaches;
use dependents::DependentMessages;
use fetch::InstructionCaches;
use memory::MemoryQueue;
use ports::{ReadPorts, ReuseCache};
use products::GroupProducts;
use warp_waits::WarpWaits;

/// State of a sub-core that its warps share.
#[derive(Debug, warpshard_state::State)]
struct SubCore {
    ports: ReadPorts,
    reuse: ReuseCache,
    /// The cycle in which the last fixed-latency instruction leaves the allocate stage.
    allocated: u64,
    /// The first cycle in which the control stage is free.
    control_free: u64,
    /// The first cycle in which the latch of each pipe is free.
    latch_free: [u64; Pipe::COUNT],
    memory: MemoryQueue,
    /// The cycle of the next examination, if no warp is touched.
    examine_at: u64,
    /// Wait conditions of the warps at the last examination.
    waits: WarpWaits,
}

/// State of a warp slot.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct WarpControl {
    /// The cycle in which the stall count is over.
    ready_at: u64,
    /// The cycle in which the front instruction arrives.
    fetched_at: u64,
    /// The cycle in which the barrier or fence of the warp opens.
    held_until: u64,
    /// The earliest cycle in which the last wait condition ends without an event; resources of the sub-core are excluded.
    retry_at: u64,
    /// Destination of the front instruction (a pipe or memory), if the warp waits only for resources of the sub-core.
    destination: u8,
    /// True if `held_until` belongs to a fence.
    at_fence: bool,
    /// Counters that the last instruction of the warp incremented, as a set.
    incremented: u8,
    /// Counters that a memory instruction incremented last.
    by_memory: u8,
    /// The counters of `by_memory` that the L1 or the texture unit decrements.
    by_l1: u8,
    /// True if the constant that the front instruction reads has arrived.
    has_constant: bool,
    /// Launch order of the warp.
    age: u32,
}

impl WarpControl {
    const INITIAL_STATE: Self = Self {
        ready_at: 0,
        fetched_at: 0,
        held_until: 0,
        retry_at: 0,
        destination: 0,
        at_fence: false,
        incremented: 0,
        by_memory: 0,
        by_l1: 0,
        has_constant: false,
        age: u32::MAX,
    };
}

/// The core with control words.
#[derive(Debug, warpshard_state::State)]
pub(super) struct ControlCore {
    #[state(fixed)]
    spec: Spec,
    subs: Box<[SubCore]>,
    warps: Box<[WarpControl; MAX_WARPS]>,
    instructions: InstructionCaches,
    constants: ConstantCaches,
    shared_cache: CodeConstantCache,
    products: GroupProducts,
    dependents: DependentMessages,
    /// The first cycle in which the load/store unit accepts an instruction.
    accepts_at: u64,
    /// The sub-core and the warp of the instruction that the load/store unit accepted last.
    last_served: (u8, u8),
    /// The cycle in which the barrier unit has handled the last warp.
    barrier_at: u64,
    /// Warps whose fence has a wider scope than the CTA.
    wide_fences: u64,
    /// The first cycle with work for the core, if no warp is touched.
    next: u64,
}

impl ControlCore {
    /// Creates the core of an SM; returns `None` for other styles.
    pub(super) fn new(spec: &SmSpec) -> Option<Box<Self>> {
        if spec.style != CoreStyle::ControlWords {
            return None;
        }
        let sub = || SubCore {
            ports: ReadPorts::new(spec.control.products.sum_reads),
            reuse: ReuseCache::default(),
            allocated: 0,
            control_free: 0,
            latch_free: [0; Pipe::COUNT],
            memory: MemoryQueue::default(),
            examine_at: 0,
            waits: WarpWaits::default(),
        };
        Some(Box::new(Self {
            spec: spec.control,
            subs: (0..spec.schedulers).map(|_| sub()).collect(),
            warps: Box::new([WarpControl::INITIAL_STATE; MAX_WARPS]),
            instructions: InstructionCaches::new(&spec.control, spec.schedulers as usize),
            constants: ConstantCaches::new(&spec.control, spec.schedulers as usize),
            shared_cache: CodeConstantCache::new(&spec.control),
            products: GroupProducts::new(spec.control.products),
            dependents: DependentMessages::default(),
            accepts_at: 0,
            last_served: (0, 0),
            barrier_at: 0,
            wide_fences: 0,
            next: 0,
        }))
    }

    /// Returns the greatest delay that the core needs in the wheel of completions.
    pub(super) fn max_completion_delay(spec: &SmSpec) -> u64 {
        let pipes = spec.control.pipes.iter().map(|pipe| pipe.latency).max().unwrap_or(0);
        u64::from(pipes) + 2 * ports::MAX_PLANNED_READ_CYCLES
    }

    /// Returns the first cycle with work for the core, if no warp is touched.
    #[inline]
    pub(super) fn next_event(&self) -> Cycle {
        Cycle(self.next)
    }

    /// Begins a kernel: neither its code nor its constants are in the caches.
    pub(super) fn enter_kernel(&mut self, name: &str) {
        self.instructions.clear();
        self.constants.clear();
        self.shared_cache.clear(name);
    }

    /// Drops the memory instructions of `warps` and the related state of their sub-cores.
    pub(super) fn squash(&mut self, warps: u64) {
        for warp in bits(warps) {
            self.warps[warp].incremented = 0;
            self.products.clear_warp(warp);
        }
        self.wide_fences &= !warps;
        self.constants.squash(warps);
        self.subs.iter_mut().for_each(|sub| sub.memory.squash(warps));
    }

    /// Fetches the first instructions of the warps that started in the present cycle.
    pub(super) fn fetch_first_instructions(&mut self, core: &mut Core, observers: &mut Observers) {
        let now = core.now.0;
        for warp in bits(core.warps.live) {
            if self.warps[warp].age == core.warps.age[warp] {
                continue;
            }
            self.warps[warp] = WarpControl { ready_at: now + 1, age: core.warps.age[warp], ..WarpControl::INITIAL_STATE };
            let sub = warp % self.subs.len();
            self.subs[sub].reuse.clear_warp(warp as u8);
            self.products.clear_warp(warp);
            if core.warps.fetchable & !core.warps.frozen & 1 << warp != 0 {
                self.decode(warp, core, observers);
                let (kernel, pc) = self.front(warp, core);
                self.warps[warp].fetched_at = self.instructions.fetch(sub, kernel, pc, now + 1, &mut self.shared_cache);
                core.counters.sm.instruction_misses = self.instructions.misses;
                if let Some(reasons) = &mut observers.reasons {
                    reasons.set_fetch_cycles(warp, 0, self.warps[warp].fetched_at);
                }
            }
        }
    }

    /// Returns the kernel of a warp and the address of its front instruction.
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

    /// Simulates one cycle of issue. Returns true if a fence of GPU or system scope or a wait for the preceding launch ended, so that the
    /// caller invalidates the L1.
    pub(super) fn tick(
        &mut self,
        issue: &mut IssueStage,
        core: &mut Core,
        operands: &mut OperandCollectors,
        completions: &mut CompletionWheel,
        observers: &mut Observers,
        (starts, to_grid, out): (&mut CtaStage, LinkId, &mut Outbox),
    ) -> bool {
        let met = self.dependents.next_event() <= core.now.0 && self.dependents.release(core, starts);
        if std::mem::take(&mut core.warps.wait_ended) {
            issue.wait_changed(core, observers);
        }
        let over = core.warps.fence_over;
        let far = over & self.wide_fences != 0;
        if over != 0 {
            self.wide_fences &= !over;
            core.warps.leave_fences();
            issue.wait_changed(core, observers);
        }
        observers.refresh(core);
        let now = core.now.0;
        for sub in 0..self.subs.len() {
            let mine = issue.supervised_warps(sub);
            let touched = core.warps.touched & mine;
            if touched == 0 && self.subs[sub].examine_at > now {
                continue;
            }
            core.warps.touched &= !mine;
            self.examine(sub, mine, touched, core, observers.reasons.as_deref_mut());
            let eligible = self.subs[sub].waits.eligible();
            let (reason, warps) = if eligible != 0 {
                let warp = issue.pick(sub, eligible, core, observers);
                observers.set_not_selected(eligible & !(1 << warp), now);
                self.subs[sub].examine_at = now + 1;
                if self.lacks_constant(sub, warp, core, observers.reasons.as_deref_mut()) {
                    (StallReason::ScoreboardAlu, 1 << warp)
                } else {
                    self.issue(sub, warp, issue, core, operands, completions, observers);
                    (StallReason::Issued, 1 << warp)
                }
            } else {
                let of_sub = &mut self.subs[sub];
                of_sub.examine_at = of_sub.waits.retry_at;
                of_sub.waits.reason(core.warps.live & mine)
            };
            issue.begin(sub, reason, warps, core);
        }
        self.next = self.next_event_after(core, operands);
        if self.dependents.has_messages() {
            self.dependents.flush(core.now, to_grid, out);
        }
        far | met
    }

    /// Returns the first cycle after the present one with work for the core, if no warp is touched.
    fn next_event_after(&self, core: &Core, operands: &OperandCollectors) -> u64 {
        let now = core.now.0;
        let accepts = if memory::is_free(operands) { self.accepts_at } else { u64::MAX };
        let of_sub = |sub: &SubCore| sub.examine_at.min(sub.memory.next_event(accepts));
        let of_subs = self.subs.iter().map(of_sub).min().unwrap_or(u64::MAX);
        of_subs.min(self.constants.next_event()).min(self.dependents.next_event()).max(now + 1)
    }

    /// Schedules that the dependency of a programmatic dependent launch is met from cycle `at` on.
    pub(super) fn expect_dependency(&mut self, at: Cycle, kernel: KernelIndex) {
        self.dependents.schedule(at, kernel);
        self.next = self.next.min(at.0);
    }

    /// Simulates one cycle of the address units and of their pipes to the load/store unit.
    pub(super) fn tick_address_units(&mut self, core: &mut Core, operands: &mut OperandCollectors, completions: &mut CompletionWheel) {
        let now = core.now.0;
        let places = self.spec.memory_queue as usize + 1;
        while let Some(result) = self.constants.next_result(now) {
            completions.add(core.now, 1, result);
        }
        for sub in &mut self.subs {
            sub.memory.tick_address_unit(now, &self.spec, &sub.ports, core, completions);
        }
        if now < self.accepts_at || !memory::is_free(operands) {
            return;
        }
        // The load/store unit stays with a warp while the warp has instructions for it; else the sub-cores are served round robin.
        let count = self.subs.len();
        let ready = |at: usize| self.subs[at].memory.ready_warp(now);
        let (last, warp) = self.last_served;
        let stays = (ready(usize::from(last)) == Some(warp)).then_some(usize::from(last));
        let others = || (1..=count).map(|step| (usize::from(last) + step) % count).find(|at| ready(*at).is_some());
        let Some(at) = stays.or_else(others) else { return };
        let Some(warp) = ready(at) else { return };
        let memory = &mut self.subs[at].memory;
        let Some(slot) = memory.pop_from_pipe() else { return };
        operands.ready.occupy_slot(super::kinds::UnitKind::Mem, at, slot);
        if memory.unaccepted_count() + 1 == places {
            self.subs[at].examine_at = now;
        }
        self.accepts_at = now + u64::from(self.spec.accept_interval);
        self.last_served = (at as u8, warp);
    }

    /// Returns a description of the queues for the deadlock report.
    pub(super) fn describe(&self) -> String {
        let queues: Vec<_> = self.subs.iter().map(|sub| sub.memory.unaccepted_count().to_string()).collect();
        format!("memory instructions in the queues of the sub-cores: {}", queues.join(", "))
    }
}
