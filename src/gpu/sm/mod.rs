//! A streaming multiprocessor: warps, schedulers, operand collectors, units, load/store unit and L1, in the timing of
//! GPGPU-Sim's shader core as Accel-Sim drives it with traces.
//!
//! Inputs: CTAs bound to it, replies and credits. Outputs: memory requests, credits, notices about CTAs. A cycle runs the
//! stages from the last to the first, so that an instruction passes one stage per cycle: writeback, units, load/store unit,
//! operand collectors, issue, fetch, and at its end the start of a CTA.
//!
//! Invariants: results depend only on the messages and their cycles, not on how a span is divided into calls; a cycle before
//! [`Sm::next_event`] changes span counters only.

mod bank_heads;
mod ccws;
mod counters;
mod cta;
mod fetch;
mod issue;
mod l1;
mod lsu;
mod net;
mod operands;
mod power;
mod sched;
mod scoreboard;
mod stall;
#[cfg(test)]
mod tests;
mod texture;
mod units;
mod warps;
mod writeback;

use std::sync::Arc;

use crate::base::{Cycle, LinkId, SmId, prefetch};
use crate::config::machine::{Machine, Sm as Spec};
use crate::engine::{Unit, Work};
use crate::frontend::phases::Phases;
use crate::frontend::{OpClass, Workload};
use crate::protocol::{EventKind, NearSlices, Outbox, Payload, PowerState};
use crate::stats::CounterVisitor;

pub use ccws::CcwsCounters;
pub use counters::{ClassCounters, ClassCounts, KernelCounters, SmCounters, SmStats, StallCounters, add_classes, visit_classes};
pub use net::SmPorts;
pub use stall::{StallCounts, StallReason};
pub use texture::TextureCounters;

use ccws::Ccws;
use cta::Ctas;
use fetch::Fetch;
use lsu::Lsu;
use net::Net;
use operands::Operands;
use power::Power;
use sched::{PhaseView, TwoLevel};
use scoreboard::Scoreboard;
use units::{ClassRoute, Flights, Units};
use warps::{MAX_WARPS, Warps};
use writeback::Wheel;

/// Schedulers that an SM can have.
const MAX_SCHEDULERS: usize = 8;

/// From how many instructions in a span on an SM counts as lively.
const LIVELY: u32 = 8;

/// What a controller may ask of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmDecision {
    /// No further CTA starts while this many are resident; at least 1.
    CtaLimit(u32),
    /// Only this many of the oldest warps may issue; at least 1.
    WarpLimit(u32),
    /// Whether it works, stands still or is turned off.
    Power(PowerState),
}

/// A streaming multiprocessor.
#[derive(Debug)]
pub struct Sm {
    id: SmId,
    now: Cycle,
    spec: Spec,
    sms: u32,
    slices: NearSlices,
    workload: Arc<Workload>,
    ports: SmPorts,
    routes: [ClassRoute; OpClass::COUNT],
    /// The warp slots of each scheduler.
    supervised: [u64; MAX_SCHEDULERS],
    last_issued: [Option<u8>; MAX_SCHEDULERS],
    /// What each scheduler does, and since which cycle that is not counted.
    doing: [StallReason; MAX_SCHEDULERS],
    doing_since: [Cycle; MAX_SCHEDULERS],
    /// Schedulers with warps that only wait for the registers before the collectors.
    held_up: u8,
    /// From which cycle on resident warps are not counted.
    live_since: Cycle,
    issued_count: u32,
    /// Whether much was issued in the last span that was run, so that the arrays of warps are worth asking the host for.
    lively: bool,
    /// Warps at a fence whose registers are all written.
    fence_over: u64,
    warp_limit: Option<u32>,
    power: Power,
    /// The queues of two-level schedulers.
    queues: Option<Box<TwoLevel>>,
    /// What phase-aware schedulers know of the front instructions.
    phases: Option<Box<PhaseView>>,
    /// What throttles loads by lost locality.
    ccws: Option<Box<Ccws>>,
    warps: Warps,
    scoreboard: Scoreboard,
    flights: Flights,
    operands: Operands,
    units: Units,
    wheel: Wheel,
    lsu: Lsu,
    fetch: Fetch,
    ctas: Ctas,
    net: Net,
    counters: SmStats,
    /// Cycles with a CTA before the present residency, and the first cycle of it.
    active_before: u64,
    active_since: Cycle,
}

impl Sm {
    /// SM number `id` of `machine`, empty, at cycle 0.
    ///
    /// # Panics
    /// When the machine has more warps, schedulers or latencies than the model's fixed tables hold.
    pub fn new(id: SmId, machine: &Machine, workload: Arc<Workload>, ports: SmPorts) -> Self {
        let spec = machine.gpu.sm.clone();
        assert!(spec.warps as usize <= MAX_WARPS, "{id}: {} warp slots, at most {MAX_WARPS} are supported", spec.warps);
        assert!(
            (1..=MAX_SCHEDULERS as u32).contains(&spec.schedulers),
            "{id}: {} schedulers, 1 to {MAX_SCHEDULERS} are supported",
            spec.schedulers
        );
        assert!((1..=warps::MAX_BUFFER as u32).contains(&spec.fetch.buffer), "{id}: an instruction buffer of {}", spec.fetch.buffer);
        let schedulers = spec.schedulers as usize;
        let mut supervised = [0; MAX_SCHEDULERS];
        for warp in 0..spec.warps {
            supervised[(warp % spec.schedulers) as usize] |= 1 << warp;
        }
        let routes = units::routes(&spec);
        let longest = routes.iter().map(|route| u64::from(route.latency)).max().unwrap_or(1);
        let constant = spec.fetch.ccache.map_or(0, |cache| cache.miss_latency);
        Self {
            id,
            now: Cycle(0),
            sms: machine.gpu.sms,
            slices: NearSlices::new(machine.mem.map.of_gpu()),
            ports,
            routes,
            supervised,
            last_issued: [None; MAX_SCHEDULERS],
            doing: [StallReason::NoWarps; MAX_SCHEDULERS],
            doing_since: [Cycle(0); MAX_SCHEDULERS],
            held_up: 0,
            live_since: Cycle(0),
            issued_count: 0,
            lively: false,
            fence_over: 0,
            warp_limit: None,
            power: Power::new(),
            queues: sched::sort(spec.order).map(|sort| Box::new(TwoLevel::new(sort, spec.ready_queue, &supervised[..schedulers]))),
            phases: None,
            ccws: spec.ccws.as_ref().map(|ccws| Box::new(Ccws::new(ccws, machine))),
            warps: Warps::new(spec.warps as usize),
            scoreboard: Scoreboard::new(),
            flights: Flights::new(&spec),
            operands: Operands::new(&spec),
            units: Units::new(&spec),
            wheel: Wheel::new((longest + 2).max(constant) as usize),
            lsu: Lsu::new(machine),
            fetch: Fetch::new(spec.fetch.icache.as_ref()),
            ctas: Ctas::new(spec.max_ctas),
            net: Net::new(machine, ports, id.0),
            counters: SmStats::new(workload.kernels.len()),
            active_before: 0,
            active_since: Cycle(0),
            workload,
            spec,
        }
    }

    /// The same, knowing the phases of the workload's kernels, by `KernelIndex`.
    #[must_use]
    pub fn with_phases(self, kernels: Arc<[Phases]>) -> Self {
        Self { phases: Some(Box::new(PhaseView::new(kernels))), ..self }
    }

    /// Which SM this is.
    pub fn id(&self) -> SmId {
        self.id
    }

    /// Bytes of the SM and of the arrays that its cycles may touch, without what grows with the loads under way.
    pub fn hot_bytes(&self) -> usize {
        let l1 = self.lsu.l1.as_ref().map_or(0, l1::L1::hot_bytes);
        let texture = self.lsu.texture.as_ref().map_or(0, |texture| texture.hot_bytes());
        let pipeline = self.operands.hot_bytes() + self.flights.hot_bytes() + self.units.hot_bytes() + self.wheel.hot_bytes();
        size_of::<Self>() + self.warps.hot_bytes() + self.scoreboard.hot_bytes() + pipeline + l1 + texture
    }

    /// Simulates cycles before `until`, in which only memory has something to do: until then, or until it has set one of the
    /// other stages going.
    ///
    /// Most cycles of an SM that waits for memory are of this kind: replies move on by a queue, accesses by a stage.
    fn run_memory(&mut self, until: Cycle, out: &mut Outbox) {
        while self.now < until {
            let next = self.memory_event().min(until);
            self.pass(next);
            if next == until {
                return;
            }
            self.receive(out);
            if self.load_store_at() <= self.now && (self.load_store_due(out) || self.is_woken()) {
                self.later_stages(out);
                self.now = self.now.next();
                return;
            }
            self.operands.pass();
            self.now = self.now.next();
        }
    }

    /// Whether the load/store unit, without accepting an instruction, created work for a later stage.
    #[inline]
    fn is_woken(&self) -> bool {
        debug_assert!(!self.operands.is_active(), "{}, {}: the collectors work while only memory is stepped", self.id, self.now);
        let warps = &self.warps;
        warps.touched | warps.releasable | self.fence_over != 0 || self.ccws.is_some()
    }

    /// One cycle.
    fn step(&mut self, out: &mut Outbox) {
        self.receive(out);
        // The last instruction may leave the arithmetic units now, or the first enter one.
        self.count_loads(self.now);
        self.writeback();
        self.units.execute(self.now, &mut self.operands.ready, &mut self.flights, &mut self.wheel);
        if self.load_store_at() <= self.now {
            self.load_store_due(out);
        }
        self.later_stages(out);
    }

    /// The stages of a cycle after the load/store unit.
    #[inline]
    fn later_stages(&mut self, out: &mut Outbox) {
        self.operands.cycle(&self.flights);
        self.offer_to_load_store();
        self.issue();
        self.fetch(out);
        self.start_cta(out);
        if self.power.is_asked() {
            self.tell_quiet(out);
        }
    }

    /// Lets every stage look at everything in the present cycle.
    fn wake(&mut self) {
        self.warps.touched |= self.supervised.iter().fold(0, |all, warps| all | warps);
        self.operands.wake();
        self.wake_load_store(self.now);
    }

    /// Passes over cycles in which nothing happens.
    fn pass(&mut self, to: Cycle) {
        self.now = to;
    }

    /// The first cycle in which a stage other than the load/store unit has something to do, if that does nothing.
    fn pipeline_event(&self) -> Cycle {
        let now = self.now;
        let busy = (self.warps.touched | self.fence_over != 0) | self.operands.is_active() | self.fetch_pending();
        if busy | self.power.is_asked() {
            return now;
        }
        let next = self.wheel.next(now).min(self.units.next_event(now, &self.operands.ready));
        let next = self.ccws.as_ref().map_or(next, |ccws| next.min(ccws.refresh_at().max(now)));
        next.min(self.ctas.next_event(now)).min(self.fetch.next_event().max(now))
    }

    /// The first cycle in which the load/store unit or the network's ends have something to do, if nothing else does.
    #[inline]
    fn memory_event(&self) -> Cycle {
        let load_store = self.load_store_at();
        if load_store <= self.now { self.now } else { load_store.min(self.net.next_event(self.now)) }
    }

    /// All counters but those of CCWS and of the texture cache.
    pub fn stats(&self) -> &SmStats {
        &self.counters
    }

    /// CTAs that it holds.
    #[cfg(test)]
    pub(super) fn resident_ctas(&self) -> u32 {
        self.ctas.resident()
    }

    /// The counters of CCWS, where the SM has it.
    pub fn ccws_counters(&self) -> Option<&CcwsCounters> {
        self.ccws.as_ref().map(|ccws| ccws.counters())
    }

    /// The counters of the texture cache, where the SM has one.
    pub fn texture_counters(&self) -> Option<&TextureCounters> {
        self.lsu.texture.as_ref().map(|texture| &texture.counters)
    }

    /// Cycles with a CTA resident before the present one: what rotates with the SM's own clock counts these, because the
    /// reference does not step an SM without CTAs.
    #[inline]
    fn active_cycle(&self) -> u64 {
        if self.ctas.resident() > 0 { self.active_before + (self.now.0 - self.active_since.0) } else { self.active_before }
    }

    /// The first CTA starts at the end of this cycle.
    fn resume_active(&mut self) {
        self.active_since = self.now.after(1);
    }

    /// The last CTA ended in this cycle.
    fn pause_active(&mut self) {
        self.active_before += self.now.0 + 1 - self.active_since.0;
    }
}

impl Unit for Sm {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = SmDecision;

    // Called for every message, from one loop.
    #[inline(always)]
    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        debug_assert!(at >= self.now, "{}: a message for {at} came at {}", self.id, self.now);
        match *payload {
            Payload::Mem(packet) if link == self.ports.from_reply_net => {
                self.lsu.expect_reply(packet.token);
                self.net.reply(at, &packet);
            }
            Payload::Credit(credit) if link == self.ports.request_credit => self.net.credit(at, credit.count),
            Payload::Launch(launch) if link == self.ports.from_grid => {
                let program = self.workload.kernel(launch.kernel).source.cta(launch.cta);
                self.woken(at);
                self.ctas.bind(at, launch, program);
            }
            other => panic!("{}, {at}: {other:?} does not belong on {link}", self.id),
        }
    }

    // Without `skip`, every stage looks at everything in every cycle, whether it has reason to or not.
    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        self.lsu.prefetch_pipes();
        let issued = self.issued_count;
        while self.now < until {
            if skip {
                let others = self.pipeline_event().min(until);
                if others > self.now {
                    self.run_memory(others, out);
                    continue;
                }
            } else {
                self.wake();
            }
            self.step(out);
            self.now = self.now.next();
        }
        self.lively = self.issued_count.wrapping_sub(issued) >= LIVELY;
    }

    #[inline]
    fn prefetch(&self, deep: bool) {
        if deep {
            self.net.prefetch();
            self.lsu.prefetch();
            self.wheel.prefetch(self.now);
            if self.lively {
                self.warps.prefetch_arrays();
                self.scoreboard.prefetch(self.warps.live);
                self.flights.prefetch();
            }
        } else {
            prefetch(&self.now);
            prefetch(&self.lsu);
            prefetch(&self.net);
            prefetch(&self.wheel);
            prefetch(&self.fetch);
            prefetch(&self.ctas);
            prefetch(&self.units);
            prefetch(&self.counters);
            prefetch(&self.power);
            self.warps.prefetch();
            self.operands.prefetch();
        }
    }

    fn next_event(&self) -> Cycle {
        let pipeline = self.pipeline_event();
        if pipeline == self.now { pipeline } else { pipeline.min(self.memory_event()) }
    }

    fn settle(&mut self, at: Cycle) {
        if self.now < at {
            debug_assert!(self.next_event() >= at, "{}: something happens before {at}, but {} is the present", self.id, self.now);
            self.pass(at);
        }
        self.close_spans();
        self.count_blocked(at);
        self.count_loads(at);
        if let Some(ccws) = &mut self.ccws {
            ccws.count(at);
        }
        self.counters.sm.operand_conflicts = self.operands.conflicts;
        self.count_power(at);
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.component("sm", u32::from(self.id.0));
        self.counters.visit(&mut |info, value| visitor.counter(info, value));
        if let Some(ccws) = self.ccws_counters() {
            visitor.counters(ccws);
        }
        if let Some(texture) = self.texture_counters() {
            visitor.counters(texture);
        }
    }

    fn apply(&mut self, at: Cycle, decision: &SmDecision) {
        debug_assert_eq!(at, self.now, "{}: a decision for another cycle", self.id);
        match *decision {
            SmDecision::CtaLimit(limit) => self.ctas.set_limit(limit),
            SmDecision::WarpLimit(limit) => {
                self.warp_limit = Some(limit.max(1)).filter(|limit| *limit < self.spec.warps);
                self.limit_warps();
            }
            SmDecision::Power(state) => self.set_power(at, state),
        }
    }

    fn progress(&self) -> Work {
        Work { instructions: self.counters.kernels.iter().map(|kernel| kernel.warp_instructions).sum(), tasks: 0 }
    }

    fn waiting(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.ctas.describe(&mut lines);
        self.describe_warps(&mut lines);
        if !lines.is_empty() {
            lines.push(self.operands.describe());
            lines.push(self.lsu.describe());
            lines.push(self.net.describe());
        }
        lines.iter().map(|line| format!("{}: {line}", self.id)).collect()
    }
}
