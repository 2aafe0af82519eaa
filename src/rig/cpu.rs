//! One CPU core on one memory: the core runs until it sends a request, the memory catches up, and replies return.

use std::fmt;
use std::sync::Arc;

use crate::base::{ClockDomain, CpuId, Cycle, LinkId, PortId, Tick, UnitId};
use crate::config::cpu::CpuSpec;
use crate::cpu::{CpuCore, CpuGoals, CpuPorts, CpuSample, Mark};
use crate::engine::{Route, Unit};
use crate::frontend::cpu::CpuStream;
use crate::mem::dram::standard::{STANDARDS, Standard};
use crate::protocol::{Credit, EventKind, MemOp, MemPacket, Outbox, Payload};

use super::cpu_dram::Dram;

const REQUESTS: LinkId = LinkId(0);
const REPLY_CREDITS: LinkId = LinkId(1);
pub(super) const REPLIES: LinkId = LinkId(2);
pub(super) const REQUEST_CREDITS: LinkId = LinkId(3);

/// The memory of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMemory {
    /// Data is available in the cycle after the request.
    Ideal,
    /// Data is available this many cycles after the request, regardless of other requests; at least 1.
    Fixed(u64),
    /// One DRAM channel with Ramulator 1's controller, and the ratio of the clocks.
    Dram(&'static Standard, ClockRatio),
}

/// Cycles of the core and of the DRAM's command clock in the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockRatio {
    /// Cycles of the core, at least 1.
    pub core: u32,
    /// Cycles of the command clock, at least 1.
    pub dram: u32,
}

impl ClockRatio {
    /// The ratio for `standard` when none is given: a core of 3.2 GHz on DDR4-2400 (8:3), of twice the command clock on others.
    pub fn of(standard: &Standard) -> Self {
        if standard.name == "ddr4-2400r" { Self { core: 8, dram: 3 } } else { Self { core: 2, dram: 1 } }
    }
}

impl CpuMemory {
    /// Parses "ideal", "fixed:N", or the name of a DRAM standard with an optional ratio of the clocks: "ddr4-2400r@8:3".
    ///
    /// # Errors
    /// When the text is none of these; the message lists them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, ratio) = text.split_once('@').map_or((text, None), |(name, ratio)| (name, Some(ratio)));
        if let Some(standard) = Standard::named(name) {
            return match ratio.map(ClockRatio::parse) {
                None => Ok(Self::Dram(standard, ClockRatio::of(standard))),
                Some(Some(ratio)) => Ok(Self::Dram(standard, ratio)),
                Some(None) => Err("after @ belongs core:dram, cycles in the same time, as in ddr4-2400r@8:3".to_owned()),
            };
        }
        if text == "ideal" {
            return Ok(Self::Ideal);
        }
        let fixed = text.strip_prefix("fixed:").and_then(|cycles| cycles.parse().ok()).filter(|&cycles| cycles >= 1);
        let names = STANDARDS.iter().map(|standard| standard.name).collect::<Vec<_>>().join(", ");
        fixed
            .map(Self::Fixed)
            .ok_or_else(|| format!("expected \"ideal\", \"fixed:N\" with a latency of at least 1 cycle, or one of {names}"))
    }
}

impl ClockRatio {
    fn parse(text: &str) -> Option<Self> {
        let (core, dram) = text.split_once(':')?;
        let (core, dram) = (core.parse().ok()?, dram.parse().ok()?);
        (1..=1000).contains(&core).then_some(())?;
        (1..=1000).contains(&dram).then_some(Self { core, dram })
    }
}

impl fmt::Display for CpuMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ideal => f.write_str("ideal"),
            Self::Fixed(latency) => write!(f, "fixed:{latency}"),
            Self::Dram(standard, ratio) => write!(f, "{}@{}:{}", standard.name, ratio.core, ratio.dram),
        }
    }
}

/// How to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuRun {
    /// The core.
    pub spec: CpuSpec,
    /// Its memory.
    pub memory: CpuMemory,
    /// Instructions that are not measured.
    pub warm: u64,
    /// Instructions in all, `warm` included.
    pub instructions: u64,
    /// Whether cycles without events are simulated in closed form; results are the same.
    pub skip: bool,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuResult {
    /// Measured instructions and the cycles that they took.
    pub instructions: u64,
    /// Cycles of the core's clock, of the measured part.
    pub cycles: u64,
    /// Reads that left the core in the measured part.
    pub reads: u64,
    /// The core at the end.
    pub sample: CpuSample,
    /// Mean latency of reads in cycles of the core's clock, from leaving the core to the reply, over the whole run.
    pub read_latency: f64,
}

impl CpuResult {
    /// Measured instructions per cycle.
    pub fn ipc(&self) -> f64 {
        self.instructions as f64 / self.cycles as f64
    }

    /// Reads that left the core per thousand measured instructions: misses of the L2, where there are private caches.
    pub fn mpki(&self) -> f64 {
        self.reads as f64 * 1000.0 / self.instructions as f64
    }
}

/// A memory: accepts requests and returns replies.
pub(super) trait Memory {
    /// Initial credits of a core: for reads or all requests, and for writes where these have their own.
    fn credits(&self) -> (u32, Option<u32>);
    /// Accepts a request sent at the core's cycle `at`.
    fn accept(&mut self, at: Cycle, packet: MemPacket);
    /// The first cycle of the core in which a reply may arrive if nothing more is sent.
    fn horizon(&self) -> Cycle;
    /// Simulates the memory up to the core's present and delivers the replies, with the cycles at which they become visible.
    fn catch_up(&mut self, now: Cycle, deliver: &mut dyn FnMut(Cycle, LinkId, Payload));
}

/// A memory of fixed latency that accepts every request.
struct Fixed {
    latency: u64,
    answers: Vec<(Cycle, MemPacket)>,
    taken: u32,
}

impl Memory for Fixed {
    fn credits(&self) -> (u32, Option<u32>) {
        (1 << 20, None)
    }

    fn accept(&mut self, at: Cycle, packet: MemPacket) {
        self.taken += 1;
        if packet.op == MemOp::Read {
            self.answers.push((at.after(self.latency), packet));
        }
    }

    fn horizon(&self) -> Cycle {
        Cycle::NEVER
    }

    fn catch_up(&mut self, now: Cycle, deliver: &mut dyn FnMut(Cycle, LinkId, Payload)) {
        for (at, packet) in self.answers.drain(..) {
            deliver(at, REPLIES, Payload::Mem(packet));
        }
        // The core has more credits than a batch, so that it never waits for one.
        const BATCH: u16 = 1 << 12;
        if self.taken >= u32::from(BATCH) {
            self.taken -= u32::from(BATCH);
            deliver(now, REQUEST_CREDITS, Payload::Credit(Credit { queue: 0, count: BATCH }));
        }
    }
}

/// Runs `stream` on one core.
///
/// # Errors
/// When the core cannot be simulated, or the stream's file changed during the run; a message for the user.
pub fn run(stream: CpuStream, run: &CpuRun) -> Result<CpuResult, String> {
    run.spec.check()?;
    if run.instructions <= run.warm {
        return Err(format!("{} instructions with a warm-up of {}: nothing is left to measure", run.instructions, run.warm));
    }
    match run.memory {
        CpuMemory::Ideal => drive(stream, run, &mut Fixed { latency: 1, answers: Vec::new(), taken: 0 }),
        CpuMemory::Fixed(latency) => drive(stream, run, &mut Fixed { latency: latency.max(1), answers: Vec::new(), taken: 0 }),
        CpuMemory::Dram(standard, ratio) => drive(stream, run, &mut Dram::new(standard, ratio)),
    }
}

fn drive(stream: CpuStream, run: &CpuRun, memory: &mut impl Memory) -> Result<CpuResult, String> {
    let (credits, write_credits) = memory.credits();
    let ports = CpuPorts {
        to_request_net: REQUESTS,
        reply_credit: REPLY_CREDITS,
        from_reply_net: REPLIES,
        request_credit: REQUEST_CREDITS,
        port: PortId(0),
        credits,
        write_credits,
        reply_queue: 1 << 16,
        map: None,
    };
    let clock = ClockDomain { period: 1 };
    let route = Route { to: UnitId(1), from_clock: clock, to_clock: clock, latency: Tick(1) };
    let mut out = Outbox::new(Arc::from([route, route]), vec![0, 0], 1);
    out.set_sender(UnitId(0), clock);
    let goals = CpuGoals { warm: (run.warm > 0).then_some(run.warm), measured: Some(run.instructions) };
    let mut core = CpuCore::new(CpuId(0), &run.spec, stream, goals, ports);
    while out.events().iter().all(|event| !matches!(event.kind, EventKind::CoreMeasured(_))) {
        let span = core.now().after(1 << 16);
        let until = memory.horizon().min(span).max(core.now().after(1));
        core.run_to_send(until, run.skip, &mut out);
        for sent in out.batch(0).drain(..) {
            if let Payload::Mem(packet) = sent.payload {
                memory.accept(Cycle(sent.arrival(core.now()).0 - 1), packet);
            }
        }
        let now = core.now();
        memory.catch_up(now, &mut |at, link, payload| core.deliver(link, at, &payload));
        if let Some(failure) = core.failure() {
            return Err(failure.to_owned());
        }
    }
    let sample = core.sample();
    let none = Mark { cycles: 0, instructions: 0, reads: 0 };
    let (start, end) = (sample.warm.unwrap_or(none), sample.measured.unwrap_or(none));
    let counters = &sample.counters;
    let read_latency = if counters.reads == 0 { 0.0 } else { counters.read_cycles as f64 / counters.reads as f64 };
    let (instructions, cycles) = (end.instructions - start.instructions, end.cycles - start.cycles);
    Ok(CpuResult { instructions, cycles, reads: end.reads - start.reads, read_latency, sample })
}
