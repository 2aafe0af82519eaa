//! The core as a unit: simulated cycle by cycle, or in closed form over cycles without external input.
//!
//! Order within a cycle: credits and one reply arrive, the caches advance, a request of the L2 leaves, instructions retire, and a group is
//! fetched into the freed window entries.

use std::collections::VecDeque;
use std::convert::Infallible;

use warpshard_base::{CpuId, Cycle, LinkId};
use warpshard_config::cpu::CpuSpec;
use warpshard_cpu_load::{CpuInst, CpuOp, CpuStream};
use warpshard_engine::Unit;
use warpshard_mem::cache::DownstreamRequest;
use warpshard_protocol::{EventKind, MemOp, Outbox, Payload};
use warpshard_stats::CounterVisitor;

use super::caches::Caches;
use super::counters::{CpuCounters, CpuMarks};
use super::net::{CpuNet, CpuPorts};
use super::window::{DeferredAccess, InstructionWindow};

/// Instruction counts, from the start of the run, at which the core reports an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct CpuGoals {
    /// End of the warm-up, reported as [`EventKind::CoreWarm`].
    pub warm: Option<u64>,
    /// End of the measurement, reported as [`EventKind::CoreMeasured`]; the core keeps running.
    pub measured: Option<u64>,
}

/// The state of a core at a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct GoalMark {
    /// Cycles from the start of the run, including the cycle in which the goal is reached.
    pub cycles: u64,
    /// Instructions retired at the end of that cycle; several may retire in one cycle.
    pub instructions: u64,
    /// Reads sent up to the end of that cycle.
    pub reads: u64,
}

/// Reported statistics of a CPU core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSample {
    /// All counters.
    pub counters: CpuCounters,
    /// End of the warm-up, once reached.
    pub warm: Option<GoalMark>,
    /// End of the measurement, once reached.
    pub measured: Option<GoalMark>,
}

/// A CPU core.
#[derive(Debug, warpshard_state::State)]
pub struct CpuCore {
    id: CpuId,
    #[state(fixed)]
    pub(super) spec: CpuSpec,
    now: Cycle,
    pub(super) stream: CpuStream,
    pub(super) next: CpuInst,
    pub(super) window: InstructionWindow,
    pub(super) deferred_accesses: VecDeque<DeferredAccess>,
    pub(super) last_dependent: Option<u64>,
    /// The cycle at which the data of the load just executed is available, if known.
    pub(super) load_done: Cycle,
    pub(super) caches: Option<Caches>,
    pub(super) net: CpuNet,
    pub(super) counters: CpuCounters,
    goals: CpuGoals,
    warm: Option<GoalMark>,
    measured: Option<GoalMark>,
}

impl CpuCore {
    /// Creates core `id` at cycle 0 of its own clock; it executes `stream`.
    ///
    /// # Panics
    /// `spec` does not pass [`CpuSpec::check`].
    pub fn new(id: CpuId, spec: &CpuSpec, mut stream: CpuStream, goals: CpuGoals, ports: CpuPorts) -> Self {
        if let Err(problem) = spec.check() {
            panic!("{id}: {problem}");
        }
        Self {
            id,
            now: Cycle(0),
            next: stream.next_inst(),
            stream,
            window: InstructionWindow::new(spec.width, spec.window),
            deferred_accesses: VecDeque::with_capacity(spec.window as usize),
            last_dependent: None,
            load_done: Cycle::NEVER,
            caches: spec.caches.map(Caches::new),
            net: CpuNet::new(id, ports, spec.line_bytes),
            counters: CpuCounters::default(),
            goals,
            warm: None,
            measured: None,
            spec: spec.clone(),
        }
    }

    /// Returns the core's number.
    pub fn id(&self) -> CpuId {
        self.id
    }

    /// Returns the next cycle to simulate.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Returns the present counters.
    pub fn counters(&self) -> &CpuCounters {
        &self.counters
    }

    /// Returns the reason why the instruction stream failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        self.stream.failure()
    }

    /// Runs like [`Unit::run`], but stops after a cycle in which a request was sent; returns `true` if one was sent.
    pub fn run_to_send(&mut self, until: Cycle, skip: bool, out: &mut Outbox) -> bool {
        let sent = self.counters.reads + self.counters.writes;
        while self.now < until {
            self.advance(until, skip, out);
            if self.counters.reads + self.counters.writes > sent {
                return true;
            }
        }
        false
    }

    /// Returns the present counters and the state at each goal.
    pub fn sample(&self) -> CpuSample {
        CpuSample { counters: self.counters.clone(), warm: self.warm, measured: self.measured }
    }

    /// Returns the state of the core at its goals.
    pub fn marks(&self) -> CpuMarks {
        let warm = self.warm.unwrap_or(GoalMark { cycles: 0, instructions: 0, reads: 0 });
        let measured = self.measured.unwrap_or(warm);
        CpuMarks {
            warm_cycles: warm.cycles,
            warm_instructions: warm.instructions,
            measured_cycles: measured.cycles - warm.cycles,
            measured_instructions: measured.instructions - warm.instructions,
            measured_reads: measured.reads - warm.reads,
        }
    }

    /// Simulates one cycle, or with `skip` all cycles that can be simulated in closed form.
    #[inline]
    fn advance(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        if skip {
            let outside = self.outside_event();
            if outside > self.now {
                let limit = until.min(outside).0 - self.now.0;
                let (steady, retired) = self.window.steady_cycles(self.now);
                // The last instructions before a memory instruction may be in its fetch group.
                let fetched = self.next.bubbles.saturating_sub(1) / u64::from(self.spec.width);
                let cycles = limit.min(steady).min(fetched).min(self.before_goal(retired));
                if cycles > 0 {
                    self.next.bubbles -= cycles * u64::from(self.spec.width);
                    self.window.skip_steady(cycles, retired);
                    self.advance_cycles(cycles);
                    return;
                }
                if !self.can_fetch(self.now) {
                    let retire = self.window.next_retire(self.now).0 - self.now.0;
                    if retire > 0 {
                        self.skip_idle_cycles(limit.min(retire));
                        return;
                    }
                }
            }
        }
        self.step(out);
    }

    /// Returns the first cycle with an event other than fetching and retiring.
    #[inline]
    fn outside_event(&self) -> Cycle {
        let can_send = |down: &DownstreamRequest| self.net.can_send(op_of(down));
        let caches = self.caches.as_ref().map_or(Cycle::NEVER, |caches| caches.next_event(can_send));
        self.net.next_event().min(caches).min(self.deferred_event())
    }

    /// Returns the number of cycles with `retired` instructions each before the cycle that reaches a goal.
    #[inline]
    fn before_goal(&self, retired: u64) -> u64 {
        let open = |goal: Option<u64>, mark: Option<GoalMark>| goal.filter(|_| mark.is_none()).unwrap_or(u64::MAX);
        let goal = open(self.goals.warm, self.warm).min(open(self.goals.measured, self.measured));
        goal.saturating_sub(self.counters.instructions + 1).checked_div(retired).unwrap_or(u64::MAX)
    }

    fn step(&mut self, out: &mut Outbox) {
        let now = self.now;
        self.net.take_credits(now);
        if let Some((token, line)) = self.net.take_reply(now, out) {
            match &mut self.caches {
                Some(caches) => caches.fill(line, now, &mut self.window),
                None => self.window.complete(token, now),
            }
        }
        if let Some(caches) = &mut self.caches {
            caches.cycle(now, &mut self.window, &mut self.counters);
            if let Some(down) = caches.next_departure(now)
                && self.net.can_send(op_of(&down))
            {
                caches.pop_leaving();
                self.send(now, op_of(&down), down.addr, down.token, out);
            }
        }
        self.window.retire(now);
        if !self.fetch(now, out) {
            self.count_stall(1);
        }
        self.advance_cycles(1);
        self.reach_goals(now, out);
    }

    /// Simulates cycles without fetching and retiring.
    fn skip_idle_cycles(&mut self, cycles: u64) {
        self.count_stall(cycles);
        self.advance_cycles(cycles);
    }

    #[inline]
    fn count_stall(&mut self, cycles: u64) {
        let needs_room = self.next.bubbles > 0 || self.next.op != CpuOp::WriteBack;
        if needs_room && self.window.free_entries() == 0 {
            self.counters.window_full_cycles += cycles;
        } else {
            self.counters.memory_full_cycles += cycles;
        }
    }

    #[inline]
    fn advance_cycles(&mut self, cycles: u64) {
        self.now = self.now.after(cycles);
        self.counters.cycles += cycles;
        self.counters.read_cycles += cycles * self.net.reads_in_flight;
        let writebacks = if self.spec.count_writebacks { self.counters.trace_writebacks } else { 0 };
        self.counters.instructions = self.window.retired_count() + writebacks;
    }

    #[inline]
    fn reach_goals(&mut self, now: Cycle, out: &mut Outbox) {
        let CpuCounters { cycles, instructions, reads, .. } = self.counters;
        let reached = |goal: Option<u64>, mark: Option<GoalMark>| mark.is_none() && goal.is_some_and(|goal| instructions >= goal);
        if reached(self.goals.warm, self.warm) {
            self.warm = Some(GoalMark { cycles, instructions, reads });
            out.event(now, EventKind::CoreWarm(self.id));
        }
        if reached(self.goals.measured, self.measured) {
            self.measured = Some(GoalMark { cycles, instructions, reads });
            out.event(now, EventKind::CoreMeasured(self.id));
        }
    }
}

/// Returns the memory operation of a request of the caches.
fn op_of(down: &DownstreamRequest) -> MemOp {
    if down.is_fetch() { MemOp::Read } else { MemOp::Write }
}

impl Unit for CpuCore {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = Infallible;

    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        debug_assert!(at >= self.now, "{}: a message for {at} at {}", self.id, self.now);
        self.net.deliver(link, at, payload);
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        while self.now < until {
            self.advance(until, skip, out);
        }
    }

    fn next_event(&self) -> Cycle {
        if self.can_fetch(self.now) {
            return self.now;
        }
        self.outside_event().min(self.window.next_retire(self.now)).max(self.now)
    }

    fn settle(&mut self, at: Cycle) {
        if at > self.now {
            assert!(self.next_event() >= at, "{}: settled at {at} although something happens at {}", self.id, self.next_event());
            self.skip_idle_cycles(at.0 - self.now.0);
        }
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        visitor.component("cpu", u32::from(self.id.0));
        visitor.counters(&self.counters);
        visitor.counters(&self.marks());
    }

    fn waiting(&self) -> Vec<String> {
        if self.can_fetch(self.now) {
            return Vec::new();
        }
        let caches = self.caches.as_ref().map_or_else(String::new, |caches| format!(", {}", caches.describe()));
        let window = format!("{} of {} instructions in the window", self.window.len(), self.spec.window);
        vec![format!("{window} at {}, {}{caches}", self.now, self.net.describe())]
    }
}
