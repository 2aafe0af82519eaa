//! One run, from its setup to its figures.
//!
//! With memory-heavy applications everything starts at the same time. A CPU core is measured between two counts of its own instructions.
//! SMs, networks and memory are measured from the cycle at which the kernel has settled until the slowest core has reached its count; the
//! other cores run until then. A run that takes too long is cut, and the cores that have not reached their count are measured over all
//! their instructions. Light applications need long to fill their caches and then hardly miss: with them the kernel waits until the
//! caches are warm, and all components are measured between two cycles.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_lab::error::TaskError;
use warpshard_chip::{CpuApplication, CpuEnd, CpuLoad, RunOptions, simulate};
use warpshard_config::{Loaded, Machine, Override};
use warpshard_workload::Workload;
use warpshard_report::metrics::cpu_cores;
use warpshard_stats::{ComponentStats, IntervalRow, Outcome};
use warpshard_lab::Task;

use super::options::HeteroOptions;
use super::published::directions;
use super::setup::{Cpus, LIGHT_MIX, WARP_LIMITS, ChipSetup};

/// Core cycles of an interval; a measurement starts at the end of one.
const INTERVAL_CYCLES: u64 = 2048;
/// Core cycles after which a kernel has settled: three times its launch latency. Of a shorter run the second half is measured.
const SETTLED_AFTER_CYCLES: u64 = 8 * INTERVAL_CYCLES;

/// Measurements of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SetupMeasurements {
    /// The application and the instructions per cycle of every CPU core.
    pub(super) cores: Vec<(String, f64)>,
    /// CPU cores that had not reached their count when the run ended.
    pub(super) cut: u32,
    /// Warp instructions per core cycle, over all SMs.
    pub(super) gpu_ipc: f64,
    /// Partitions whose full queue refuses a request, on average over time.
    pub(super) stall_mc: f64,
    /// Partitions that cannot send a reply because the reply network is full, on average over time.
    pub(super) stall_net: f64,
    /// LLC accesses per thousand core cycles.
    pub(super) llc_accesses: f64,
    /// Share of LLC accesses that miss; accesses to an already requested line do not count as misses.
    pub(super) llc_misses: f64,
    /// Share of DRAM cycles in which data moves, over all channels.
    pub(super) bandwidth: f64,
    /// Mean latency of a CPU core's read, from its request to its reply, in CPU cycles.
    pub(super) read_latency: f64,
}

/// The window over which CPU cores are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MeasurementWindow {
    /// A count of instructions per core; kernel and cores start at the same time.
    Instructions {
        /// Instructions before the measurement.
        warm: u64,
        /// Instructions of the measurement.
        count: u64,
    },
    /// Two cycles, the same for all cores; kernels start when the slowest core has retired `warm` instructions.
    Cycles {
        /// Instructions of the slowest core before kernels start.
        warm: u64,
    },
}

/// A setup with the options of the study.
#[derive(Clone, Debug)]
pub(super) struct MeasurementTask<'a> {
    pub(super) setup: ChipSetup,
    pub(super) options: &'a HeteroOptions,
}

impl fmt::Display for MeasurementTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.setup.fmt(f)
    }
}

impl Task for MeasurementTask<'_> {
    type Result = SetupMeasurements;

    fn key(&self) -> Result<String, TaskError> {
        let kernel = self.setup.kernel.unwrap_or_default();
        let (parameters, text) = (parameters(kernel), crate::catalogue().model_text(kernel));
        Ok(format!("{self:?} {parameters:?} {text:?}\n{}", load(&self.setup, self.options)?.provenance.to_toml()))
    }

    fn run(&self) -> Result<SetupMeasurements, TaskError> {
        measure(&self.setup, self.options)
    }
}

fn load(setup: &ChipSetup, options: &HeteroOptions) -> Result<Loaded, TaskError> {
    let split = setup.split.overrides();
    let split = split.iter().map(|(key, value)| Override::new(*key, value.as_str()));
    let overrides: Vec<Override> = options.overrides.iter().cloned().chain(split).collect();
    crate::machine(&options.machine, &overrides).map_err(TaskError::from)
}

/// Simulates `setup` and measures it.
///
/// # Errors
/// Fails if the machine, a model or the run is invalid; a message for the user.
pub(super) fn measure(setup: &ChipSetup, options: &HeteroOptions) -> Result<SetupMeasurements, TaskError> {
    let machine = load(setup, options)?.machine;
    let clocks = machine.clocks;
    let channels = f64::from(machine.mem.map.partitions) * clocks.dram.0 as f64 / clocks.core.0 as f64;
    let run = |window, until| simulate_until(setup, &machine, window, until);
    if setup.cpus == Cpus::Off {
        let outcome = run(MeasurementWindow::Instructions { warm: 0, count: 1 }, options.gpu_cycles)?;
        return Ok(figures(&outcome, SETTLED_AFTER_CYCLES.min(options.gpu_cycles / 2), channels));
    }
    if !is_light(setup.cpus) {
        let outcome = run(MeasurementWindow::Instructions { warm: options.cpu_warm, count: options.cpu_measure }, options.longest)?;
        let end = outcome.intervals.last_cycle().unwrap_or(0);
        return Ok(figures(&outcome, SETTLED_AFTER_CYCLES.min(end / 2), channels));
    }
    // A simulation does not depend on its end, so a shorter run has the same counts as a longer one up to that cycle.
    let window = MeasurementWindow::Cycles { warm: options.light_warm };
    let (before, outcome) = (run(window, options.light_from)?, run(window, options.light_until)?);
    let started = outcome.kernels.first().map_or(Some(0), |kernel| kernel.started);
    if started.is_none_or(|started| started + SETTLED_AFTER_CYCLES / 2 > options.light_from) {
        return Err(format!("the kernel had not settled by cycle {}; the slowest core was not warm in time", options.light_from).into());
    }
    let mut measured = figures(&outcome, options.light_from, channels);
    let counts = |outcome: &Outcome| -> Vec<(u64, u64)> {
        let cores = outcome.components.iter().filter(|component| component.kind == "cpu");
        let get = |core: &ComponentStats, name| core.counters.iter().find(|c| c.info.name == name).map_or(0, |c| c.value);
        cores.map(|core| (get(core, "instructions"), get(core, "cycles"))).collect()
    };
    for ((core, from), to) in measured.cores.iter_mut().zip(counts(&before)).zip(counts(&outcome)) {
        core.1 = (to.0 - from.0) as f64 / (to.1 - from.1).max(1) as f64;
    }
    measured.cut = 0;
    Ok(measured)
}

/// Returns `true` if the CPU cores miss so seldom that short instruction counts would measure cold caches.
fn is_light(cpus: Cpus) -> bool {
    match cpus {
        Cpus::Mix(_) => cpus == LIGHT_MIX,
        Cpus::All(name, _) => warpshard_cpu_load::builtin_profile(name).is_ok_and(|profile| profile.mpki < 3.0),
        Cpus::Off => false,
    }
}

fn simulate_until(setup: &ChipSetup, machine: &Machine, window: MeasurementWindow, until: u64) -> Result<Outcome, TaskError> {
    let cores = machine.cpu.as_ref().map_or(0, |cpu| cpu.count);
    let (warm, measure, gpu_waits) = match window {
        MeasurementWindow::Instructions { warm, count } => (warm, count, false),
        MeasurementWindow::Cycles { warm } => (warm, 1 << 40, true),
    };
    let applications = CpuApplication::all(&setup.cpus.application_names(), cores)?;
    let load = CpuLoad { applications, warm, measure, gpu_waits, end: CpuEnd::Cpu, seed: 1 };
    let mut run = RunOptions {
        max_cycles: Some(until),
        interval: Some(INTERVAL_CYCLES),
        cpu: (setup.cpus != Cpus::Off).then_some(load),
        ..RunOptions::default()
    };
    if setup.warps < WARP_LIMITS[0] {
        let policy = crate::catalogue().policies().find("static_limit")?;
        let table = toml::Table::from_iter([("warps".to_owned(), toml::Value::Integer(setup.warps.into()))]);
        run.controllers.push((policy.build)(table)?);
    }
    simulate(machine, &workload(setup.kernel)?, run).map(|result| result.outcome).map_err(TaskError::from)
}

fn parameters(kernel: &str) -> Vec<(String, String)> {
    directions().own.kernels.get(kernel).into_iter().flatten().map(|(key, value)| (key.clone(), value.to_string())).collect()
}

fn workload(kernel: Option<&'static str>) -> Result<Arc<Workload>, TaskError> {
    let Some(name) = kernel else {
        return Ok(Arc::new(Workload {
            name: "nothing".to_owned(),
            commands: Vec::new(),
            kernels: Vec::new(),
            applications: Vec::new(),
            notes: Vec::new(),
            homes: Vec::new(),
        }));
    };
    let parameters = parameters(name);
    crate::catalogue().model(name, 1, &parameters).map(|model| Arc::new(model.workload())).map_err(TaskError::from)
}

/// Returns the figures of a run from cycle `from` on. `channels` is the DRAM cycles per core cycle over all channels.
fn figures(outcome: &Outcome, from: u64, channels: f64) -> SetupMeasurements {
    let cores = cpu_cores(outcome);
    let end = outcome.intervals.last_cycle().unwrap_or(0);
    let rows = || outcome.intervals.iter().filter(|row| row.cycle > from);
    let sum = |kind: &str, name: &str| rows().map(|row| counter(&row, kind, name)).sum::<u64>() as f64;
    let first = outcome.intervals.iter().map(|row| row.cycle).filter(|cycle| *cycle <= from).max().unwrap_or(0);
    let cycles = (end - first).max(1) as f64;
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let latencies: Vec<f64> = cores.iter().filter_map(|core| core.read_latency).collect();
    SetupMeasurements {
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
