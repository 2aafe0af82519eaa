//! Runs a workload on a machine and collects the results.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use warpshard_sync::{Published, StopFlag};

use crate::base::{Cycle, UnitId};
use crate::config::Machine;
use crate::control::Controller;
use crate::engine::{EngineError, Finished, MessageLog, Scaling, Settings, StopReason, Unit, run};
use crate::frontend::{Application, Workload};
use crate::gpu::sm::{ClassCounts, KernelCounters, StallCounts, add_classes, visit_classes, visit_stalls};
use crate::mem::dram::control::Issued;
use crate::mem::llc::LlcKernelCounters;
use crate::protocol::Payload;
use crate::stats::{ApplicationStats, Counted, Counters, EndedBy, HostFacts, KernelStats, Outcome, Relaxed, WorkerFacts};

use super::build::{Built, ShardCut, build};
use super::cpu_load::CpuLoad;
use super::layout::ChipLayout;
use super::observe::{Observer, Progress};
use super::snapshot::Schemas;
use super::system_stats::{Ids, for_machine, system_stats, take_ends, take_kernels};
use super::unit::ChipUnit;

/// The options of a run.
pub struct RunOptions {
    /// Worker threads.
    pub threads: usize,
    /// How many of them take part at a time.
    pub scaling: Scaling,
    /// Core cycles of an epoch; the machine's lookahead when not given.
    pub epoch: Option<u64>,
    /// Allows epochs beyond the lookahead.
    pub relaxed: bool,
    /// Ends the run at this core cycle.
    pub max_cycles: Option<u64>,
    /// Core cycles of a row of the interval series; no series when not given.
    pub interval: Option<u64>,
    /// Pins workers to cores.
    pub pin: bool,
    /// Jumps over cycles in which nothing happens.
    pub skip: bool,
    /// How units are grouped into shards.
    pub cut: ShardCut,
    /// Records every message, for checks that are independent of counters.
    pub log: bool,
    /// The load of the CPU cores; they are off when not given.
    pub cpu: Option<CpuLoad>,
    /// Controllers, in the order in which they see a cut.
    pub controllers: Vec<Box<dyn Controller>>,
    /// Ends the run at the next cut.
    pub stop: StopFlag,
    /// Where the run publishes its progress.
    pub progress: Option<Published<Progress>>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            scaling: Scaling::default(),
            epoch: None,
            relaxed: false,
            max_cycles: None,
            interval: None,
            pin: false,
            skip: true,
            cut: ShardCut::default(),
            log: false,
            cpu: None,
            controllers: Vec::new(),
            stop: StopFlag::new(),
            progress: None,
        }
    }
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The machine and the workload, or the options, do not work together.
    #[error("{0}")]
    Config(String),
    /// The trace was found broken while it was running.
    #[error("{0}")]
    Trace(String),
    /// Nothing in the simulated machine can proceed, but work is left.
    #[error("the simulated machine is deadlocked: {0}")]
    Deadlock(String),
    /// A bug of the simulator.
    #[error("the simulator failed: {0}")]
    Panic(String),
}

/// A run's result, with the log of messages where one was requested.
#[derive(Debug)]
pub struct RunResult {
    /// Everything simulated.
    pub outcome: Outcome,
    /// What the host did.
    pub host: HostFacts,
    /// Every message, at both ends of its link; the links as names.
    pub log: MessageLog<Payload>,
    /// Every command of every DRAM channel with a command-level controller, where a log was requested.
    pub dram_commands: Vec<Vec<Issued>>,
    /// The names of the links: "sm3 -> request network".
    pub link_names: Vec<String>,
}

/// Simulates `workload` on `machine` to its end, its limit or an interruption.
///
/// # Errors
/// See [`RunError`].
pub fn simulate(machine: &Machine, workload: &Arc<Workload>, options: RunOptions) -> Result<RunResult, RunError> {
    let started = Instant::now();
    let workload = &for_machine(machine, workload).map_err(RunError::Config)?;
    let Built { mut plan, layout } = build(machine, workload, options.cpu.as_ref(), options.cut).map_err(RunError::Config)?;
    let names: Vec<String> = plan.units.iter().map(|unit| unit.name.clone()).collect();
    let kinds: Vec<&'static str> = plan.units.iter().map(|unit| unit.kind).collect();
    let link_names = if options.log { (0..plan.links.len()).map(|link| plan.link_name(link)).collect() } else { Vec::new() };
    let schemas = Schemas::of(layout, workload.applications.len(), |unit| {
        let mut components = Vec::new();
        plan.units[unit].unit.visit_counters(&mut components);
        components
    });
    for planned in plan.units.iter_mut().filter(|_| options.log) {
        if let ChipUnit::Partition(partition) = &mut planned.unit {
            partition.record_commands();
        }
    }
    let settings = Settings {
        threads: options.threads,
        scaling: options.scaling,
        epoch: options.epoch,
        relaxed: options.relaxed,
        max_cycles: options.max_cycles,
        decision_latency: machine.decision_latency,
        skip: options.skip,
        pin: options.pin,
        log: options.log,
        stop: options.stop,
    };
    let observer = Observer::new(machine, Arc::clone(workload), layout, options.interval, options.controllers, options.progress)
        .map_err(RunError::Config)?
        .watching(options.cpu.as_ref())
        .counting(schemas);
    let startup = started.elapsed().as_secs_f64();
    let finished = run(plan, observer, &settings).map_err(|error| match error {
        EngineError::Plan(text) => RunError::Config(text),
        EngineError::Deadlock(text) => RunError::Deadlock(text),
        EngineError::Failure(text) => RunError::Trace(text),
        EngineError::Panic(text) => RunError::Panic(text),
    })?;
    let host = host_facts(&finished, &names, &kinds, startup);
    let relaxed = options.relaxed.then_some(Relaxed {
        epoch_cycles: finished.host.epoch_cycles,
        lookahead_cycles: finished.host.lookahead,
        messages: finished.host.messages,
        late: finished.late,
    });
    let Finished { mut units, at, reason, director, log, .. } = finished;
    let names = options.cpu.map_or_else(Vec::new, |load| load.applications.into_iter().map(|application| application.name).collect());
    let dram_commands = units.iter_mut().filter_map(|unit| match unit {
        ChipUnit::Partition(partition) => Some(partition.take_commands()),
        _ => None,
    });
    let dram_commands = dram_commands.filter(|commands| !commands.is_empty()).collect();
    let mut outcome = Outcome { relaxed, ..outcome(units, at.0, reason, director, workload, names, &layout) };
    outcome.system = machine.system.as_ref().and_then(|system| system_stats(system, workload, &outcome));
    outcome.notes.extend(one_by_one(machine, workload));
    Ok(RunResult { outcome, host, log, dram_commands, link_names })
}

fn host_facts(finished: &Finished<ChipUnit, Observer>, names: &[String], kinds: &[&str], startup: f64) -> HostFacts {
    let host = &finished.host;
    HostFacts {
        startup_seconds: startup,
        decode_seconds: 0.0,
        simulate_seconds: host.seconds,
        threads: host.workers.len() as u32,
        mean_workers: host.mean_workers,
        worker_changes: host.worker_changes,
        epochs: host.epochs,
        cuts: host.cuts,
        epoch_cycles: host.epoch_cycles,
        halves: host.halves,
        lookahead_cycles: host.lookahead,
        limiting_link: host.limit.clone(),
        workers: host
            .workers
            .iter()
            .map(|&(busy_seconds, wait_seconds, shards, taken)| WorkerFacts { busy_seconds, wait_seconds, shards, taken })
            .collect(),
        network_share: names
            .iter()
            .zip(kinds)
            .zip(&host.unit_share)
            .filter(|((_, kind), _)| **kind == "network")
            .map(|((name, _), share)| (name.clone(), *share))
            .collect(),
        messages: host.messages,
        peak_memory_bytes: None,
    }
}

/// A note where kernels that could run at once ran one after the other.
fn one_by_one(machine: &Machine, workload: &Workload) -> Option<(String, u64)> {
    let running = workload.kernels.iter().filter(|kernel| kernel.info.copy.is_none());
    let all: BTreeSet<_> = running.map(|kernel| (kernel.info.on_gpu(), kernel.info.app, kernel.info.stream)).collect();
    // The GPU with the most of them.
    let of_gpu = |gpu: u32| all.iter().filter(|(on, ..)| u32::from(on.0) == gpu).count();
    let streams = (0..machine.gpus()).map(of_gpu).max().unwrap_or(0);
    let text = format!(
        "the kernels of {} streams ran one after the other: this machine runs one kernel at a time (gpu.dispatch.max_kernels)",
        streams
    );
    (machine.gpu.dispatch.max_kernels == 1 && streams > 1).then_some((text, 1))
}

/// What is known of each application, where several shared the GPU.
fn applications(
    workload: &Workload,
    kernels: &[KernelStats],
    counted: &[OfKernel],
    ends: &[(u32, Option<Cycle>)],
) -> Vec<ApplicationStats> {
    let sum = |kernels: &Range<u16>, of: fn(&KernelCounters) -> u64| -> u64 {
        counted[usize::from(kernels.start)..usize::from(kernels.end)].iter().map(|counted| of(&counted.sm)).sum()
    };
    let one = |(app, (executions, ended)): (&Application, &(u32, Option<Cycle>))| {
        let own = &kernels[usize::from(app.kernels.start)..usize::from(app.kernels.end)];
        ApplicationStats {
            name: app.name.clone(),
            kernels: own.len() as u32,
            launched: own.iter().filter_map(|kernel| kernel.launched).min(),
            ended: ended.map(|cycle| cycle.0),
            executions: *executions,
            warp_instructions: sum(&app.kernels, |counters| counters.warp_instructions),
            thread_instructions: sum(&app.kernels, |counters| counters.thread_instructions),
            later_warp_instructions: sum(&app.again, |counters| counters.warp_instructions),
            alone: None,
        }
    };
    workload.applications.iter().zip(ends).map(one).collect()
}

/// What SMs and LLC slices counted for a kernel launch.
#[derive(Clone, Default)]
struct OfKernel {
    sm: KernelCounters,
    classes: ClassCounts,
    stalls: StallCounts,
    llc: LlcKernelCounters,
}

fn outcome(
    units: Vec<ChipUnit>,
    at: u64,
    reason: StopReason,
    observer: Observer,
    workload: &Workload,
    cpu_applications: Vec<String>,
    layout: &ChipLayout,
) -> Outcome {
    let mut components = Vec::new();
    let mut dram_read_latencies = Vec::new();
    let mut kernels: Vec<KernelStats> = Vec::new();
    let mut per_kernel = vec![OfKernel::default(); workload.kernels.len()];
    let mut ends: Vec<(u32, Option<Cycle>)> = Vec::new();
    let mut end = Some(0);
    let mut ids = Ids::default();
    for (number, unit) in (0..).zip(&units) {
        let first = components.len();
        unit.visit_counters(&mut components);
        let gpu = layout.gpu_of(UnitId(number)).unwrap_or_default();
        if layout.gpus > 1 {
            ids.count_over_gpus(gpu, &mut components[first..]);
        }
        match unit {
            ChipUnit::Sm(sm) => {
                let parts = sm.stats().kernels.iter().zip(&sm.stats().classes).zip(&sm.stats().stalls);
                for (sum, ((part, of_class), stalls)) in per_kernel.iter_mut().zip(parts) {
                    sum.sm.add(part);
                    add_classes(&mut sum.classes, of_class);
                    sum.stalls.iter_mut().zip(stalls).for_each(|(sum, part)| *sum += part);
                }
            }
            ChipUnit::Grid(grid) => {
                take_kernels(&mut kernels, grid.kernel_stats(), workload, gpu);
                take_ends(&mut ends, grid.application_ends(), workload, gpu);
                end = end.zip(grid.end_cycle()).map(|(latest, cycle)| cycle.0.max(latest));
            }
            ChipUnit::Partition(partition) => {
                for slice in partition.kernels() {
                    per_kernel.iter_mut().zip(slice).for_each(|(sum, part)| sum.llc.add(part));
                }
                if partition.channel().command_level().is_some() {
                    dram_read_latencies.push(partition.channel().read_latency().clone());
                }
            }
            ChipUnit::Fifo(_) | ChipUnit::OutputQueued(_) | ChipUnit::Mesh(_) | ChipUnit::Cpu(_) | ChipUnit::Hub(_) => {}
        }
    }
    let applications = applications(workload, &kernels, &per_kernel, &ends);
    for (kernel, counted) in kernels.iter_mut().zip(&per_kernel) {
        let mut push = |info, value| kernel.counters.push(Counted { info, value });
        counted.sm.visit(&mut push);
        visit_classes(&counted.classes, &mut push);
        visit_stalls(&counted.stalls, &mut push);
        counted.llc.visit(&mut push);
    }
    let ended_by = match (reason, end) {
        (StopReason::Ended, None) if observer.ended_by_controller() => EndedBy::Controller,
        (StopReason::Ended, _) | (_, Some(_)) => EndedBy::Completed,
        (StopReason::MaxCycles, None) => EndedBy::MaxCycles,
        (StopReason::Interrupted, None) => EndedBy::Interrupted,
    };
    let notes = workload.notes.clone();
    let (intervals, timeline) = observer.into_series();
    Outcome {
        ended_by,
        cycles: end.unwrap_or(at),
        counted_until: at,
        kernels,
        applications,
        components,
        dram_read_latencies,
        cpu_applications,
        intervals,
        timeline,
        relaxed: None,
        system: None,
        notes,
    }
}
