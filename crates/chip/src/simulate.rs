//! Runs a workload on a machine and collects the results.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use warpshard_base::{ClockDomain, Cycle};
use warpshard_config::Machine;
use warpshard_control::Controller;
use warpshard_engine::{
    Checkpoints, EngineError, Finished, HostTimes, MessageLog, Ranks, Scaling, Settings, StopReason, Unit, run_in_ranks,
};
use warpshard_mem::dram::control::Issued;
use warpshard_protocol::Payload;
use warpshard_stats::activity::{Activity, Log, Recording};
use warpshard_stats::{ApplicationStats, EndedBy, HostFacts, Outcome, Relaxed};
use warpshard_sync::{Published, StopFlag};
use warpshard_workload::{Application, Workload};

use super::activity;
use super::build::{Built, ShardCut, build};
use super::cpu_load::CpuLoad;
use super::live::Live;
use super::measure::{Measure, Measured};
use super::observe::Observer;
use super::progress::Progress;
use super::share::{Results, collect};
use super::snapshot::Schemas;
use super::system_stats::{for_machine, system_stats};
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
    /// What is recorded of the host's time.
    pub record: HostTimes,
    /// The load of the CPU cores; they are off when not given.
    pub cpu: Option<CpuLoad>,
    /// Controllers, in the order in which they see a cut.
    pub controllers: Vec<Box<dyn Controller>>,
    /// Ends the run at the next cut.
    pub stop: StopFlag,
    /// Where the run publishes its progress.
    pub progress: Option<Published<Progress>>,
    /// The other processes that simulate the same machine, where there are any; all have the same options but for threads.
    pub ranks: Option<Box<dyn Ranks>>,
    /// Who watches the run while it goes on; nobody when not given. Has no effect on anything simulated.
    pub live: Option<Live>,
    /// What is recorded event by event; nothing when not given. Has no effect on anything simulated.
    pub recording: Option<Recording>,
    /// Whether and where the run saves its state, and the state with which it begins; every in core cycles.
    pub checkpoints: Checkpoints,
    /// Measures every launch on its own; launches of one GPU that run one after the other.
    pub measure: Option<Measure>,
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
            record: HostTimes::Nothing,
            cpu: None,
            controllers: Vec::new(),
            stop: StopFlag::new(),
            progress: None,
            ranks: None,
            live: None,
            recording: None,
            checkpoints: Checkpoints::default(),
            measure: None,
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
    /// A checkpoint could not be kept, or the one to begin with is of another run.
    #[error("{0}")]
    Checkpoint(String),
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
    /// What was recorded event by event.
    pub activity: Activity,
    /// The names of the links: "sm3 -> request network".
    pub link_names: Vec<String>,
    /// What the run cost epoch by epoch, where that was asked for.
    pub costs: Option<HostRecording>,
    /// What was measured of single launches, in the order of their ends.
    pub measured: Vec<Measured>,
}

/// The host's time of every unit in every epoch, with what is known of the units.
#[derive(Debug)]
pub struct HostRecording {
    /// What was recorded.
    pub recorded: warpshard_engine::Recording,
    /// All units.
    pub units: Vec<RecordedUnit>,
}

/// What a recording says of a unit.
#[derive(Debug)]
pub struct RecordedUnit {
    /// Its name: "sm3", "request network".
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The shard that it belongs to.
    pub shard: u32,
    /// Its estimated host cost, relative to an SM.
    pub cost: f64,
}

/// Simulates `workload` on `machine` to its end, its limit or an interruption.
///
/// # Errors
/// See [`RunError`].
pub fn simulate(machine: &Machine, workload: &Arc<Workload>, options: RunOptions) -> Result<RunResult, RunError> {
    let started = Instant::now();
    if options.recording.is_some() && machine.each_kind().count() > 1 {
        let problem = "activity (--perfetto) is recorded where all GPUs are of one kind; leave it out, or the kinds (system.kinds)";
        return Err(RunError::Config(problem.into()));
    }
    if options.checkpoints.every.is_some() || options.checkpoints.resume.is_some() {
        can_be_saved(&options).map_err(|why| RunError::Config(why.to_string()))?;
    }
    let workload = &for_machine(machine, workload).map_err(|why| RunError::Config(why.to_string()))?;
    let Built { mut plan, layout } =
        build(machine, workload, options.cpu.as_ref(), options.cut).map_err(|why| RunError::Config(why.to_string()))?;
    let names: Vec<String> = plan.units.iter().map(|unit| unit.name.clone()).collect();
    let kinds: Vec<&'static str> = plan.units.iter().map(|unit| unit.kind).collect();
    let link_names = if options.log { (0..plan.links.len()).map(|link| plan.link_name(link)).collect() } else { Vec::new() };
    let kind_of = (0..machine.gpus()).map(|gpu| machine.kind_of(gpu)).collect();
    let schemas = Schemas::of(&layout, kind_of, workload.applications.len(), |unit| {
        let mut components = Vec::new();
        plan.units[unit.index()].unit.visit_counters(&mut components);
        components
    });
    let clocks: Vec<ClockDomain> = layout.gpus.iter().map(|gpu| plan.units[gpu.grid().index()].clock).collect();
    for planned in &mut plan.units {
        if let Some(recording) = &options.recording {
            activity::record(&mut planned.unit, machine, recording);
        }
        let controlled = machine.of_gpu(u32::from(planned.part)).mem.dram.control.is_some();
        if let (ChipUnit::Partition(partition), true) = (&mut planned.unit, options.log && controlled) {
            partition.record_commands(Log::default());
        }
    }
    let planned: Vec<(u32, f64)> = plan.units.iter().map(|unit| (unit.shard, unit.cost)).collect();
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
        record: options.record,
        stop: options.stop,
    };
    let observer = Observer::new(machine, Arc::clone(workload), layout.clone(), options.interval, options.controllers, options.progress)
        .map_err(|why| RunError::Config(why.to_string()))?
        .watching(options.cpu.as_ref())
        .counting(schemas)
        .measuring(options.measure, machine)
        .shown(options.live, &names);
    let startup = started.elapsed().as_secs_f64();
    let mut finished = run_in_ranks(plan, observer, &settings, options.ranks, options.checkpoints).map_err(|error| match error {
        EngineError::Plan(text) => RunError::Config(text),
        EngineError::Deadlock(text) => RunError::Deadlock(text),
        EngineError::Failure(text) => RunError::Trace(text),
        EngineError::Panic(text) => RunError::Panic(text),
        EngineError::Checkpoint(text) => RunError::Checkpoint(text),
    })?;
    let host = host_facts(&finished, &names, &kinds, startup);
    let counted = (finished.late, finished.host.messages);
    let results = collect((&finished.units, &layout, &clocks), &finished.owned, workload, counted, finished.ranks.as_mut());
    let results = results.map_err(|why| RunError::Trace(why.to_string()))?;
    let relaxed = options.relaxed.then_some(Relaxed {
        epoch_cycles: finished.host.epoch_cycles,
        lookahead_cycles: finished.host.lookahead,
        messages: results.messages,
        late: results.late,
    });
    let Finished { mut units, at, reason, mut director, log, recording, .. } = finished;
    let measured = director.take_measured();
    let of_units = names.into_iter().zip(kinds).zip(planned).map(|((name, kind), (shard, cost))| RecordedUnit { name, kind, shard, cost });
    let costs = recording.map(|recorded| HostRecording { recorded, units: of_units.collect() });
    let activity = if options.recording.is_some() && !options.log { activity::take(&mut units, machine) } else { Activity::default() };
    let names = options.cpu.map_or_else(Vec::new, |load| load.applications.into_iter().map(|application| application.name).collect());
    let dram_commands = units.iter_mut().filter_map(|unit| match unit {
        ChipUnit::Partition(partition) => Some(partition.take_commands().events),
        _ => None,
    });
    let dram_commands = dram_commands.filter(|commands| !commands.is_empty()).collect();
    let mut results = results;
    let ids = std::mem::take(&mut results.ids);
    let mut outcome = Outcome { relaxed, ..outcome(results, at.0, reason, director, workload, names) };
    outcome.system = machine.system.as_ref().and_then(|system| system_stats(system, workload, &ids, &outcome));
    outcome.notes.extend(one_by_one(machine, workload));
    Ok(RunResult { outcome, host, log, dram_commands, activity, link_names, costs, measured })
}

/// Whether a run with these options can save its state.
///
/// # Errors
/// What cannot be saved; a message for the user.
fn can_be_saved(options: &RunOptions) -> Result<(), String> {
    if let Some(controller) = options.controllers.iter().find(|controller| !controller.can_be_saved()) {
        return Err(format!("checkpoints: the state of the controller `{}` cannot be saved", controller.name()));
    }
    if options.log || options.record != HostTimes::Nothing || options.recording.is_some() {
        return Err(
            "checkpoints: a run that records messages, host times or activity (--perfetto) cannot be saved; leave one of both out".into()
        );
    }
    Ok(())
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
        moves: host.moves,
        coordinator_seconds: host.coordinator_seconds,
        epoch_cycles: host.epoch_cycles,
        halves: host.halves,
        lookahead_cycles: host.lookahead,
        limiting_link: host.limit.clone(),
        workers: host.workers.clone(),
        network_share: names
            .iter()
            .zip(kinds)
            .zip(&host.unit_share)
            .filter(|((_, kind), _)| **kind == "network")
            .map(|((name, _), share)| (name.clone(), *share))
            .collect(),
        messages: host.messages,
        ranks: host.ranks,
        peak_memory_bytes: None,
    }
}

/// A note where kernels that could run at once ran one after the other.
fn one_by_one(machine: &Machine, workload: &Workload) -> Option<(String, u64)> {
    let running = workload.kernels.iter().filter(|kernel| kernel.info.copy.is_none());
    let all: BTreeSet<_> = running.map(|kernel| (kernel.info.on_gpu(), kernel.info.app, kernel.info.stream)).collect();
    // The GPU with the most of them, of those that run one kernel at a time.
    let of_gpu = |gpu: u32| all.iter().filter(|(on, ..)| u32::from(on.0) == gpu).count();
    let single = (0..machine.gpus()).filter(|gpu| machine.of_gpu(*gpu).gpu.dispatch.max_kernels == 1);
    let streams = single.map(of_gpu).max().unwrap_or(0);
    let text = format!(
        "the kernels of {} streams ran one after the other: this machine runs one kernel at a time (gpu.dispatch.max_kernels)",
        streams
    );
    (streams > 1).then_some((text, 1))
}

/// What is known of each application, where several shared the GPU.
fn applications(workload: &Workload, results: &Results) -> Vec<ApplicationStats> {
    let Results { kernels, ends, warp_instructions, thread_instructions, .. } = results;
    let sum = |range: &Range<u32>, counts: &[u64]| -> u64 { counts[range.start as usize..range.end as usize].iter().sum() };
    let one = |(app, (executions, ended)): (&Application, &(u32, Option<Cycle>))| {
        let own = &kernels[app.kernels.start as usize..app.kernels.end as usize];
        ApplicationStats {
            name: app.name.clone(),
            kernels: own.len() as u32,
            launched: own.iter().filter_map(|kernel| kernel.launched).min(),
            ended: ended.map(|cycle| cycle.0),
            executions: *executions,
            warp_instructions: sum(&app.kernels, warp_instructions),
            thread_instructions: sum(&app.kernels, thread_instructions),
            later_warp_instructions: sum(&app.again, warp_instructions),
            alone: None,
        }
    };
    workload.applications.iter().zip(ends).map(one).collect()
}

fn outcome(
    results: Results,
    at: u64,
    reason: StopReason,
    observer: Observer,
    workload: &Workload,
    cpu_applications: Vec<String>,
) -> Outcome {
    let applications = applications(workload, &results);
    let Results { components, kernels, latencies: dram_read_latencies, end, .. } = results;
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
        sampled: None,
        system: None,
        notes,
    }
}
