//! One run: from a setup to its figures.
//!
//! Everything starts together. A CPU core is measured between two of its own instruction counts; SMs, networks and memory from
//! the cycle at which the kernel has settled to the end, which is the slowest core's. Cores run on until then. A run that would
//! take too long is cut, and the cores that are not through count with all that they executed.

use std::sync::Arc;

use crate::config::{Machine, Override};
use crate::engine::{CpuApplication, CpuEnd, CpuLoad, RunOptions, simulate};
use crate::frontend::{Workload, model};
use crate::policy::registry;
use crate::report::metrics::cpu_cores;
use crate::stats::{IntervalRow, Outcome};

use super::HeteroOptions;
use super::setup::{Cpus, KERNELS, LIGHT, LIMITS, Setup};

/// Core cycles of an interval, at whose ends figures may start.
const INTERVAL: u64 = 2048;
/// Core cycles after which a kernel has settled: three times its launch latency. A shorter run counts its second half.
const SETTLED: u64 = 8 * INTERVAL;
/// How many times as many instructions as a memory-heavy application another one retires, since it is that much faster.
const LIGHT_FACTOR: u64 = 6;

/// What a run shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// Application and instructions per cycle of every CPU core.
    pub(super) cores: Vec<(String, f64)>,
    /// Cores that the end of the run kept from being measured to their count.
    pub(super) cut: u32,
    /// Warp instructions per core cycle, over all SMs.
    pub(super) gpu_ipc: f64,
    /// Partitions that a full queue keeps a request from, mean over time.
    pub(super) stall_mc: f64,
    /// Partitions that a full reply network keeps an answer in, mean over time.
    pub(super) stall_net: f64,
    /// LLC accesses per thousand core cycles.
    pub(super) llc_accesses: f64,
    /// Share of LLC accesses whose line was absent and not on its way.
    pub(super) llc_misses: f64,
    /// Share of DRAM cycles in which data moves, over all channels.
    pub(super) bandwidth: f64,
    /// Mean cycles of the CPU cores from sending a read to its answer.
    pub(super) read_latency: f64,
}

/// Simulates `setup`.
///
/// # Errors
/// When the machine, a model or the run is not possible; a message for the user.
pub(super) fn measure(setup: &Setup, options: &HeteroOptions) -> Result<Measured, String> {
    let split = setup.split.overrides();
    let split = split.iter().map(|(key, value)| Override::new(*key, value.as_str()));
    let overrides: Vec<Override> = options.overrides.iter().cloned().chain(split).collect();
    let machine = Machine::load(&options.machine, &overrides).map_err(|errors| errors.to_string())?.machine;
    let cores = machine.cpu.as_ref().map_or(0, |cpu| cpu.count);
    let (warm, count) = instructions(setup.cpus, options);
    let load = CpuLoad {
        applications: CpuApplication::all(&setup.cpus.names(), cores)?,
        warm,
        measure: count,
        gpu_waits: false,
        end: CpuEnd::Cpu,
        seed: 1,
    };
    let alone = setup.cpus == Cpus::Off;
    let mut run = RunOptions {
        max_cycles: Some(if alone { options.gpu_cycles } else { options.longest }),
        interval: Some(INTERVAL),
        cpu: (!alone).then_some(load),
        ..RunOptions::default()
    };
    if setup.warps < LIMITS[0] {
        let policy = registry::find("static_limit").map_err(|error| error.to_string())?;
        let table = toml::Table::from_iter([("warps".to_owned(), toml::Value::Integer(setup.warps.into()))]);
        run.controllers.push((policy.build)(table).map_err(|error| error.to_string())?);
    }
    let outcome = simulate(&machine, &workload(setup.kernel)?, run).map_err(|error| error.to_string())?.outcome;
    let clocks = machine.clocks;
    let channels = f64::from(machine.mem.map.partitions) * clocks.dram.0 as f64 / clocks.core.0 as f64;
    Ok(figures(&outcome, channels))
}

/// Instructions of warm-up and measurement.
fn instructions(cpus: Cpus, options: &HeteroOptions) -> (u64, u64) {
    let light = match cpus {
        Cpus::Mix(_) => cpus == LIGHT,
        Cpus::All(name, _) => crate::frontend::cpu::builtin_profile(name).is_ok_and(|profile| profile.mpki < 3.0),
        Cpus::Off => false,
    };
    let factor = if light { LIGHT_FACTOR } else { 1 };
    (options.cpu_warm * factor, options.cpu_measure * factor)
}

fn workload(kernel: Option<&'static str>) -> Result<Arc<Workload>, String> {
    let Some(name) = kernel else {
        return Ok(Arc::new(Workload { name: "nothing".to_owned(), commands: Vec::new(), kernels: Vec::new(), notes: Vec::new() }));
    };
    let parameters = KERNELS.iter().find(|kernel| kernel.name == name).map_or(&[][..], |kernel| kernel.parameters);
    let parameters: Vec<(String, String)> = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    model::builtin(name, 1, &parameters).map(Arc::new).map_err(|error| error.to_string())
}

/// The figures of a run on a machine with `channels` DRAM cycles per core cycle, over all channels.
fn figures(outcome: &Outcome, channels: f64) -> Measured {
    let cores = cpu_cores(outcome);
    let end = outcome.intervals.last().map_or(0, |row| row.cycle);
    let from = SETTLED.min(end / 2);
    let rows = || outcome.intervals.iter().filter(|row| row.cycle > from);
    let sum = |kind: &str, name: &str| rows().map(|row| counter(row, kind, name)).sum::<u64>() as f64;
    let first = outcome.intervals.iter().map(|row| row.cycle).filter(|cycle| *cycle <= from).max().unwrap_or(0);
    let cycles = (end - first).max(1) as f64;
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let latencies: Vec<f64> = cores.iter().filter_map(|core| core.read_latency).collect();
    Measured {
        cut: cores.iter().filter(|core| !core.measured).count() as u32,
        gpu_ipc: sum("sm", "issued") / cycles,
        stall_mc: sum("stall", "stall_mc") / cycles,
        stall_net: sum("stall", "stall_net") / cycles,
        llc_accesses: sum("llc", "accesses") / cycles * 1000.0,
        llc_misses: ratio(sum("llc", "misses"), sum("llc", "accesses")),
        bandwidth: sum("dram", "data_cycles") / (cycles * channels),
        read_latency: ratio(latencies.iter().sum(), latencies.len() as f64),
        cores: cores.into_iter().map(|core| (core.application.clone(), core.ipc().unwrap_or(0.0))).collect(),
    }
}

fn counter(row: &IntervalRow, kind: &str, name: &str) -> u64 {
    row.counters.iter().find(|(of, counted)| *of == kind && counted.info.name == name).map_or(0, |(_, counted)| counted.value)
}
