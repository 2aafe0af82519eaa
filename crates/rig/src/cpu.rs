//! One CPU core with a memory: the core runs until it sends a request, then the memory is simulated up to the same cycle, and replies
//! return.

use std::fmt;
use std::sync::Arc;

use warpshard_base::{ClockDomain, CpuId, Cycle, LinkId, PortId, Tick, UnitId};
use warpshard_config::cpu::CpuSpec;
use warpshard_cpu::{CpuCore, CpuGoals, CpuPorts, CpuSample, GoalMark};
use warpshard_cpu_load::CpuStream;
use warpshard_engine::{Route, Unit};
use warpshard_mem::dram::standard::{STANDARDS, Standard};
use warpshard_protocol::{EventKind, Outbox, Payload};

use super::cpu_dram::DramMemory;
use super::cpu_memory::{CoreMemory, FixedLatencyMemory, REPLY_LINK, REQUEST_CREDIT_LINK};
use crate::RigError;

pub use super::cpu_memory::ClockRatio;

const REQUEST_LINK: LinkId = LinkId(0);
const REPLY_CREDIT_LINK: LinkId = LinkId(1);

/// Memories of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMemory {
    /// Data is available in the cycle after the request.
    Ideal,
    /// Data is available this number of cycles after the request, regardless of other requests; at least 1.
    Fixed(u64),
    /// One DRAM channel with Ramulator 1's controller, and the ratio of the clocks.
    Dram(&'static Standard, ClockRatio),
}

impl CpuMemory {
    /// Parses "ideal", "fixed:N", or the name of a DRAM standard with an optional ratio of the clocks: "ddr4-2400r@8:3".
    ///
    /// # Errors
    /// Fails if the text has another form; the message lists the valid forms.
    pub fn parse(text: &str) -> Result<Self, RigError> {
        let (name, ratio) = text.split_once('@').map_or((text, None), |(name, ratio)| (name, Some(ratio)));
        if let Some(standard) = Standard::named(name) {
            return match ratio.map(ClockRatio::parse) {
                None => Ok(Self::Dram(standard, ClockRatio::of(standard))),
                Some(Some(ratio)) => Ok(Self::Dram(standard, ratio)),
                Some(None) => Err("expected @core:dram, the ratio of the clocks, as in ddr4-2400r@8:3".to_owned().into()),
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
            .map_err(Into::into)
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

/// Parameters of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuRun {
    /// Parameters of the core.
    pub spec: CpuSpec,
    /// Memory of the core.
    pub memory: CpuMemory,
    /// Instructions before the measurement.
    pub warm: u64,
    /// Total instructions, including `warm`.
    pub instructions: u64,
    /// True if cycles without events are simulated in closed form, which does not change results.
    pub skip: bool,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuResult {
    /// Measured instructions.
    pub instructions: u64,
    /// Measured cycles of the CPU clock.
    pub cycles: u64,
    /// Reads that left the core during the measurement.
    pub reads: u64,
    /// Counters of the core at the end.
    pub sample: CpuSample,
    /// Mean latency of reads in cycles of the CPU clock, from leaving the core to the reply, over the whole run.
    pub read_latency: f64,
}

impl CpuResult {
    /// Returns the measured instructions per cycle.
    pub fn ipc(&self) -> f64 {
        self.instructions as f64 / self.cycles as f64
    }

    /// Returns the reads that left the core per thousand measured instructions: misses of the L2, if the core has private caches.
    pub fn mpki(&self) -> f64 {
        self.reads as f64 * 1000.0 / self.instructions as f64
    }
}

/// Runs `stream` on one core.
///
/// # Errors
/// Fails if the core cannot be simulated, or the stream's file changed during the run, with a message for the user.
pub fn run(stream: CpuStream, run: &CpuRun) -> Result<CpuResult, RigError> {
    run.spec.check()?;
    if run.instructions <= run.warm {
        return Err(format!("{} instructions with a warm-up of {}: nothing is left to measure", run.instructions, run.warm).into());
    }
    match run.memory {
        CpuMemory::Ideal => run_with_memory(stream, run, &mut FixedLatencyMemory::new(1)).map_err(Into::into),
        CpuMemory::Fixed(latency) => run_with_memory(stream, run, &mut FixedLatencyMemory::new(latency.max(1))).map_err(Into::into),
        CpuMemory::Dram(standard, ratio) => run_with_memory(stream, run, &mut DramMemory::new(standard, ratio)).map_err(Into::into),
    }
}

fn run_with_memory(stream: CpuStream, run: &CpuRun, memory: &mut impl CoreMemory) -> Result<CpuResult, String> {
    let (credits, write_credits) = memory.credits();
    let ports = CpuPorts {
        to_request_net: REQUEST_LINK,
        reply_credit: REPLY_CREDIT_LINK,
        from_reply_net: REPLY_LINK,
        request_credit: REQUEST_CREDIT_LINK,
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
    let none = GoalMark { cycles: 0, instructions: 0, reads: 0 };
    let (start, end) = (sample.warm.unwrap_or(none), sample.measured.unwrap_or(none));
    let counters = &sample.counters;
    let read_latency = if counters.reads == 0 { 0.0 } else { counters.read_cycles as f64 / counters.reads as f64 };
    let (instructions, cycles) = (end.instructions - start.instructions, end.cycles - start.cycles);
    Ok(CpuResult { instructions, cycles, reads: end.reads - start.reads, read_latency, sample })
}
