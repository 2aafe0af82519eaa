//! A streaming multiprocessor: warps, schedulers, operand collectors, units, load/store unit and L1, with the timing of GPGPU-Sim's shader
//! core as Accel-Sim drives it with traces.
//!
//! Inputs: CTAs bound to the SM, replies and credits. Outputs: memory requests, credits, notices about CTAs. A cycle runs the stages from
//! the last to the first, so that an instruction passes one stage per cycle (`Sm::later_stages`, `Sm::earlier_stages`). Each stage owns its
//! state; all stages share the warps (`core::Core`) and change them by its signals; an observer (`observers::Observers`) watches the stages
//! without being a stage.
//!
//! Invariants: results depend only on the messages and their cycles, not on the division of a span into calls; a cycle before the next
//! event of all stages changes span counters only.

mod ccws;
mod coalesce;
mod control;
mod core;
mod counters;
mod decision;
mod fetch;
mod hints;
mod issue;
mod kinds;
mod l1;
mod lsu;
mod net;
mod observers;
mod operands;
mod peers;
mod phases;
mod power;
mod preempt;
mod progress;
mod record;
mod simple_tags;
mod squash;
mod stall;
mod starts;
#[cfg(test)]
mod tests;
mod texture;
mod units;
mod warp_reasons;
mod warp_states;
mod writeback;

use std::sync::Arc;

use warpshard_base::{Cycle, LinkId, SmId};
use warpshard_config::machine::{CoreStyle, Machine};
use warpshard_engine::{Unit, Work};
use warpshard_protocol::{AddressMap, EventKind, Homes, Outbox, Payload};
use warpshard_stats::{CounterVisitor, PerKernel};
use warpshard_workload::Workload;
use warpshard_workload::phases::Phases;

pub use ccws::CcwsCounters;
pub use counters::{ClassCounters, ClassCounts, KernelCounters, SmCounters, SmKernelStats, SmStats, StallCounters};
pub use counters::{add_classes, visit_classes, visit_stalls};
pub use decision::SmDecision;
pub use net::SmPorts;
pub use stall::{StallCounts, StallReason};
pub use texture::TextureCounters;
pub use warp_reasons::{WarpReasonCounters, WarpReasonCounts, visit_warp_reasons};
pub use warp_states::WarpStateCounters;
pub use warpshard_mem::cache::PrefetchCounters;

use control::ControlCore;
use core::{Core, MAX_BUFFER, MAX_WARPS};
use fetch::FetchStage;
use issue::IssueStage;
use lsu::Lsu;
use observers::Observers;
use operands::OperandCollectors;
use peers::PeerPort;
use phases::PhaseView;
use power::SmPower;
use preempt::{PreemptStage, SmParts};
use squash::OutstandingParts;
use starts::CtaStage;
use units::ExecutionUnits;
use writeback::CompletionWheel;

/// Maximum number of schedulers of an SM.
const MAX_SCHEDULERS: usize = 8;

/// Minimum number of instructions in a span with which an SM counts as lively.
const MIN_LIVELY_INSTRUCTIONS: u32 = 8;

/// A streaming multiprocessor: its stages in the order of the pipeline, and their shared state.
#[derive(Debug, warpshard_state::State)]
pub struct Sm {
    core: Core,
    starts: CtaStage,
    fetch: FetchStage,
    issue: IssueStage,
    /// The core with control words, which replaces the collectors and units, if the machine has such cores.
    control: Option<Box<ControlCore>>,
    operands: OperandCollectors,
    units: ExecutionUnits,
    completions: CompletionWheel,
    lsu: Lsu,
    preempt: PreemptStage,
    power: SmPower,
    observers: Observers,
    ports: SmPorts,
    #[state(fixed)]
    workload: Arc<Workload>,
    /// True if the last span issued many instructions, so that prefetching the arrays of warps is worthwhile.
    lively: bool,
}

impl Sm {
    /// Creates SM number `id` of `machine`, empty, at cycle 0.
    ///
    /// # Panics
    /// If the machine has more warps or schedulers or longer latencies than the fixed tables of the model hold.
    pub fn new(id: SmId, machine: &Machine, workload: Arc<Workload>, ports: SmPorts) -> Self {
        let spec = machine.gpu.sm.clone();
        assert!(spec.warps as usize <= MAX_WARPS, "{id}: {} warp slots, at most {MAX_WARPS} are supported", spec.warps);
        assert!(
            (1..=MAX_SCHEDULERS as u32).contains(&spec.schedulers),
            "{id}: {} schedulers, 1 to {MAX_SCHEDULERS} are supported",
            spec.schedulers
        );
        assert!((1..=MAX_BUFFER as u32).contains(&spec.fetch.buffer), "{id}: an instruction buffer of {}", spec.fetch.buffer);
        let mut core = Core::new(id, spec, workload.kernels.len());
        core.peers = ports.peers.map(|(to, _)| Box::new(PeerPort::new(id, to, core.spec.max_ctas)));
        let longest = core.routes.iter().map(|route| u64::from(route.latency)).max().unwrap_or(1);
        let constant = core.spec.fetch.ccache.map_or(0, |cache| cache.miss_latency);
        let ahead = if core.spec.style == CoreStyle::ControlWords { ControlCore::max_completion_delay(&core.spec) } else { 0 };
        Self {
            starts: CtaStage::new(&core.spec, &machine.gpu.dispatch, &workload),
            fetch: FetchStage::new(core.spec.fetch.icache.as_ref(), ports.to_grid),
            issue: IssueStage::new(&core.spec, id, &machine.own),
            control: ControlCore::new(&core.spec),
            operands: OperandCollectors::new(&core.spec),
            units: ExecutionUnits::new(&core.spec),
            completions: CompletionWheel::new((longest + 2).max(constant).max(ahead + constant) as usize),
            lsu: Lsu::new(machine, ports, id.0),
            preempt: PreemptStage::new(machine),
            power: SmPower::new(),
            observers: Observers::new(machine, workload.kernels.len()),
            ports,
            workload,
            lively: false,
            core,
        }
    }

    /// Returns the SM with the phases of the kernels of the workload, by `KernelIndex`.
    #[must_use]
    pub fn with_phases(mut self, kernels: Arc<[Phases]>) -> Self {
        self.observers.set_phases(PhaseView::new(kernels));
        self
    }

    /// Returns the SM in a system of several GPUs with the pages of `homes`; `map` is the memory map of its GPU.
    #[must_use]
    pub fn with_homes(mut self, map: AddressMap, homes: &Homes) -> Self {
        self.lsu.set_homes(map, homes);
        self
    }

    /// Runs the stages of a cycle from the last to the load/store unit; `Sm::earlier_stages` runs the others.
    #[inline]
    fn later_stages(&mut self, out: &mut Outbox) {
        let now = self.core.now;
        self.lsu.receive(&mut self.core, out);
        // The last instruction may leave the arithmetic units, or the first enter one, in this cycle.
        self.lsu.watch_arithmetic(&self.completions);
        self.lsu.count_loads(now, &mut self.core);
        if self.completions.tick(&mut self.core, &mut self.operands) {
            self.units.written_back(now);
        }
        self.units.tick(now, &mut self.operands, &mut self.completions);
        if self.lsu.next_step() <= now {
            self.load_store(out);
        }
    }

    /// Runs the stages of a cycle before the units in the pipeline, of which the operand collectors are the last.
    // There is one caller, in every cycle.
    #[inline(always)]
    fn earlier_stages(&mut self, out: &mut Outbox) {
        self.operands.tick();
        let waits_ended = if self.control.is_some() {
            self.control_stages(out)
        } else {
            self.lsu.schedule_entry(&self.operands, self.core.now);
            self.issue.tick(&mut self.core, &mut self.operands, &mut self.observers)
        };
        if waits_ended && self.core.spec.l1.flush_at_kernel {
            // After the invalidation the warp sees the writes of others.
            self.lsu.invalidate_l1(&mut self.core, &mut self.observers);
        }
        self.fetch.tick(&mut self.core, &mut self.observers, out);
        if self.preempt.next_event(&self.core) <= self.core.now {
            self.preempt_ctas(out);
        }
        if self.core.ctas.is_emptied() || self.starts.next_event(self.core.now, &self.core.ctas) == self.core.now {
            self.start_cta(out);
        }
        if self.power.is_event_pending() {
            self.power.report_quiet(&self.core, out);
        }
        if let Some(peers) = &mut self.core.peers
            && peers.has_messages()
        {
            peers.flush(self.core.now, out);
        }
        self.observers.cycle_ended(&self.core, &self.operands);
    }

    /// Runs issue and the address units of a core with control words. Returns true if waits ended after which the L1 must drop its older
    /// data.
    // Not inlined: the code would occupy registers in the cycles of other cores.
    #[inline(never)]
    fn control_stages(&mut self, out: &mut Outbox) -> bool {
        let Some(control) = &mut self.control else { return false };
        // The core starts arithmetic in this cycle; the cycles before are counted by the state of the wheel.
        self.lsu.watch_arithmetic(&self.completions);
        self.lsu.count_loads(self.core.now, &mut self.core);
        control.tick_address_units(&mut self.core, &mut self.operands, &mut self.completions);
        self.lsu.schedule_entry(&self.operands, self.core.now);
        let grid = (&mut self.starts, self.ports.to_grid, out);
        control.tick(&mut self.issue, &mut self.core, &mut self.operands, &mut self.completions, &mut self.observers, grid)
    }

    /// Simulates one cycle of the load/store unit; returns true if an instruction entered.
    #[inline]
    fn load_store(&mut self, out: &mut Outbox) -> bool {
        self.lsu.tick(&mut self.core, &mut self.operands, &mut self.completions, &mut self.observers, out)
    }

    /// Runs the preemption stage: CTAs leave before their end, and warps of restored CTAs continue.
    fn preempt_ctas(&mut self, out: &mut Outbox) {
        let Self { preempt, core, starts, fetch, control, operands, completions, lsu, observers, workload, ports, .. } = self;
        let under_way = OutstandingParts { core, fetch, control: control.as_deref_mut(), operands, completions, lsu };
        if preempt.tick(SmParts { under_way, starts, observers, workload }, (ports.to_grid, out)) {
            self.issue.limit_warps(&mut self.core, &mut self.observers);
        }
    }

    /// Starts the next bound CTA, and handles the end of the last resident CTA.
    // Not inlined: it runs in few cycles.
    #[inline(never)]
    fn start_cta(&mut self, out: &mut Outbox) {
        if self.core.ctas.take_emptied() {
            self.power.handle_drained(&mut self.core, &self.starts);
        }
        let Some(started) = self.starts.tick(&mut self.core, &mut self.observers, &self.workload, self.ports.to_grid, out) else { return };
        if started.is_new {
            let info = &self.workload.kernel(started.kernel).info;
            self.lsu.enter_kernel(info, &mut self.core, &mut self.observers);
            if let Some(control) = &mut self.control {
                control.enter_kernel(&info.name);
            }
        }
        if started.restored != 0 {
            self.preempt.restore(started.restored, &mut self.core, &mut self.lsu, &self.workload);
        }
        if let Some(control) = &mut self.control {
            control.fetch_first_instructions(&mut self.core, &mut self.observers);
        }
        self.issue.limit_warps(&mut self.core, &mut self.observers);
        if self.core.ctas.take_emptied() {
            self.power.handle_drained(&mut self.core, &self.starts);
        }
    }

    /// Simulates cycles before `until` in which only memory has work, up to `until` or until memory creates work for one of the earlier
    /// stages. In the second case returns true, and the caller has to run the earlier stages in the same cycle.
    ///
    /// Most cycles of an SM that waits for memory are of this kind: replies advance by a queue, accesses by a stage.
    fn run_memory(&mut self, until: Cycle, out: &mut Outbox) -> bool {
        while self.core.now < until {
            let next = self.memory_event().min(until);
            self.core.now = next;
            if next == until {
                return false;
            }
            self.lsu.receive(&mut self.core, out);
            if self.lsu.next_step() <= next && (self.load_store(out) || self.is_woken()) {
                return true;
            }
            self.operands.advance_register_file();
            self.core.now = next.next();
        }
        false
    }

    /// Returns true if the load/store unit, without accepting an instruction, created work for another stage.
    #[inline]
    fn is_woken(&self) -> bool {
        let (warps, now) = (&self.core.warps, self.core.now);
        debug_assert!(!self.operands.is_active(), "{}, {now}: the collectors are active while only memory is stepped", self.core.id);
        warps.touched | warps.releasable | warps.fence_over | self.core.contexts_moved != 0 || self.observers.needs_line_events()
    }

    /// Returns the first cycle in which a stage other than the load/store unit has work, if the load/store unit does nothing.
    #[inline]
    fn pipeline_event(&self) -> Cycle {
        let warps = &self.core.warps;
        let busy = (warps.touched | warps.fence_over != 0) | self.operands.is_active() | self.fetch.is_pending(&self.core);
        if busy | self.power.is_event_pending() { self.core.now } else { self.next_pipeline_event() }
    }

    /// Returns the first cycle with work for the stages other than the load/store unit, if none of them has work in the present cycle.
    #[inline(never)]
    fn next_pipeline_event(&self) -> Cycle {
        let Core { now, ctas, .. } = &self.core;
        let now = *now;
        let control = self.control.as_ref().map_or(Cycle::NEVER, |control| control.next_event().max(now));
        let next = control
            .min(self.completions.next(now))
            .min(self.units.next_event(now, &self.operands.ready))
            .min(self.observers.next_event(now));
        next.min(self.starts.next_event(now, ctas)).min(self.fetch.next_event().max(now)).min(self.preempt.next_event(&self.core).max(now))
    }

    /// Returns the first cycle in which the load/store unit or the network ports have work, if nothing else does.
    #[inline]
    fn memory_event(&self) -> Cycle {
        let (now, load_store) = (self.core.now, self.lsu.next_step());
        if load_store <= now { now } else { load_store.min(self.lsu.net.next_event(now)) }
    }

    /// Makes every stage examine its whole state in the present cycle.
    fn wake(&mut self) {
        self.issue.wake(&mut self.core);
        self.operands.wake();
        self.lsu.wake(self.core.now, &mut self.core);
    }

    /// Returns all counters except those of CCWS, the texture cache, the prefetcher and the warp states.
    pub fn stats(&self) -> &SmStats {
        &self.core.counters
    }

    /// Returns the warp cycles by state and launch, for a core with control words that counts them.
    pub fn warp_reasons(&self) -> Option<&PerKernel<WarpReasonCounts>> {
        self.observers.reasons.as_ref().and_then(|reasons| reasons.counts())
    }

    /// Returns the number of resident CTAs.
    #[cfg(test)]
    pub(super) fn resident_ctas(&self) -> u32 {
        self.core.ctas.resident_count()
    }
}

impl Unit for Sm {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = SmDecision;

    // This function runs for every message, from one loop.
    #[inline(always)]
    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        debug_assert!(at >= self.core.now, "{}: a message for {at} arrived at {}", self.core.id, self.core.now);
        match *payload {
            Payload::Mem(packet) if link == self.ports.from_reply_net => {
                self.lsu.expect_reply(packet.token);
                self.lsu.net.reply(at, &packet);
            }
            Payload::Credit(credit) if link == self.ports.request_credit => self.lsu.net.credit(at, credit.count),
            Payload::Launch(launch) if link == self.ports.from_grid => {
                let program = self.workload.kernel(launch.kernel).source.cta(launch.cta);
                self.power.cta_bound(at, &self.core, &mut self.starts);
                let contexts = if launch.resumes { self.preempt.take_contexts() } else { Vec::new() };
                self.starts.bind(at, launch, program, contexts);
            }
            Payload::Context(context) if link == self.ports.from_grid => self.preempt.add_context(context),
            Payload::DependencyMet(kernel) if link == self.ports.from_grid => {
                // Only warps of cores with control words wait for a dependency.
                if let Some(control) = &mut self.control {
                    control.expect_dependency(at, kernel);
                }
            }
            Payload::Peer(packet) if self.ports.peers.is_some_and(|(_, from)| link == from) => self.lsu.receive_peer(at, packet),
            other => panic!("{}, {at}: {other:?} does not belong on {link}", self.core.id),
        }
    }

    // Without `skip`, every stage examines its whole state in every cycle, with or without a reason.
    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        self.lsu.prefetch_pipes();
        let issued = self.issue.issued_count();
        while self.core.now < until {
            if !skip {
                self.wake();
            }
            let others = self.pipeline_event().min(until);
            if others <= self.core.now {
                self.later_stages(out);
            } else if !self.run_memory(others, out) {
                continue;
            }
            self.earlier_stages(out);
            self.core.now = self.core.now.next();
        }
        self.lively = self.issue.issued_count().wrapping_sub(issued) >= MIN_LIVELY_INSTRUCTIONS;
    }

    #[inline]
    fn prefetch(&self, deep: bool) {
        hints::prefetch_sm(self, deep);
    }

    fn next_event(&self) -> Cycle {
        let pipeline = self.pipeline_event();
        if pipeline == self.core.now { pipeline } else { pipeline.min(self.memory_event()) }
    }

    fn settle(&mut self, at: Cycle) {
        if self.core.now < at {
            debug_assert!(self.next_event() >= at, "{}: something happens before {at}, but {} is the present", self.core.id, self.core.now);
            self.core.now = at;
        }
        let core = &mut self.core;
        self.issue.count(core.now, &mut core.counters);
        core.count_residency(core.now);
        core.counters.sm.cycles = core.now.0;
        core.counters.sm.active_cycles = core.active_cycle();
        self.lsu.count_stalls(at, core);
        self.lsu.watch_arithmetic(&self.completions);
        self.lsu.count_loads(at, core);
        self.observers.count(at);
        core.counters.sm.operand_conflicts = self.operands.conflicts;
        self.power.count(at, core);
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.component("sm", u32::from(self.core.id.0));
        self.core.counters.visit(&mut |info, value| visitor.counter(info, value));
        self.observers.visit_counters(visitor);
        self.lsu.visit_counters(visitor);
        self.core.counters.visit_applications(u32::from(self.core.id.0), &self.workload, visitor);
    }

    fn visit_tasks(&self, values: &mut Vec<u64>) {
        progress::progress(&self.core, &self.preempt).encode(values);
    }

    fn apply(&mut self, at: Cycle, decision: &SmDecision) {
        debug_assert_eq!(at, self.core.now, "{}: a decision for another cycle", self.core.id);
        match *decision {
            SmDecision::CtaLimit(limit) => self.starts.set_limit(limit, &mut self.core.ctas),
            SmDecision::WarpLimit(limit) => self.issue.set_warp_limit(limit, &mut self.core, &mut self.observers),
            SmDecision::Bypass { kernel, ctas } => self.starts.set_bypass(kernel, ctas),
            SmDecision::Power(state) => {
                let paused = self.power.apply_decision(at, state, &mut self.core, &mut self.starts);
                self.issue.set_paused(paused, &mut self.core, &mut self.observers);
            }
            SmDecision::Preempt(how) | SmDecision::PreemptCta(.., how) => {
                let named = if let SmDecision::PreemptCta(kernel, cta, _) = *decision { Some((kernel, cta)) } else { None };
                self.preempt.begin(at, named, how, &mut self.core);
                self.issue.limit_warps(&mut self.core, &mut self.observers);
            }
        }
    }

    fn progress(&self) -> Work {
        Work { instructions: self.core.counters.kernels.parts().map(|kernel| kernel.warp_instructions).sum(), tasks: 0 }
    }

    fn waiting(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.starts.describe(&mut lines);
        self.core.ctas.describe(&mut lines);
        self.core.describe_warps(&mut lines);
        if !lines.is_empty() {
            lines.extend(self.control.as_ref().map(|control| control.describe()));
            lines.extend([self.operands.describe(), self.lsu.describe(), self.lsu.net.describe()]);
        }
        lines
    }
}
