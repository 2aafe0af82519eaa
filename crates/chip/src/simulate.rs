//! Runs a workload on a machine and collects the results.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use warpshard_base::{ClockDomain, Cycle};
use warpshard_config::Machine;
use warpshard_control::Controller;
use warpshard_engine::{
    Checkpoints, EngineError, EngineResult, HostTimes, MessageLog, Ranks, Scaling, Settings, StopReason, Unit, run_in_ranks,
};
use warpshard_mem::dram::control::IssuedCommand;
use warpshard_protocol::Payload;
use warpshard_stats::activity::{Activity, EventLog, RecordingSelection};
use warpshard_stats::{ApplicationStats, EndedBy, HostFacts, Outcome, RelaxedDeviations};
use warpshard_sync::{Published, StopFlag};
use warpshard_workload::{Application, Workload};

use super::activity;
use super::build::{BuiltChip, ShardCut, build};
use super::cpu_load::CpuLoad;
use super::live::Live;
use super::measure::{LaunchMeasurement, LaunchSelection};
use super::observe::Observer;
use super::progress::Progress;
use super::share::{ChipResults, collect};
use super::snapshot::CounterSchemas;
use super::system_stats::{for_machine, system_stats};
use super::unit::ChipUnit;

/// The options of a run.
pub struct RunOptions {
    /// Worker threads.
    pub threads: usize,
    /// The policy for the number of active workers.
    pub scaling: Scaling,
    /// Length of an epoch in core cycles; by default the machine's lookahead.
    pub epoch: Option<u64>,
    /// Allows epochs beyond the lookahead.
    pub relaxed: bool,
    /// The core cycle at which the run ends.
    pub max_cycles: Option<u64>,
    /// Core cycles per row of the interval series; no series by default.
    pub interval: Option<u64>,
    /// Pins workers to cores.
    pub pin: bool,
    /// Skips cycles without events.
    pub skip: bool,
    /// The grouping of units into shards.
    pub cut: ShardCut,
    /// Records every message, for checks that are independent of counters.
    pub log: bool,
    /// The host times to record.
    pub record: HostTimes,
    /// The load of the CPU cores; by default they are off.
    pub cpu: Option<CpuLoad>,
    /// Controllers, in the order in which they observe a cut.
    pub controllers: Vec<Box<dyn Controller>>,
    /// The flag that ends the run at the next cut.
    pub stop: StopFlag,
    /// The channel for progress reports.
    pub progress: Option<Published<Progress>>,
    /// The other processes of a distributed run; all have the same options except for threads.
    pub ranks: Option<Box<dyn Ranks>>,
    /// The connection to a live monitor; by default there is none. It has no effect on the simulation.
    pub live: Option<Live>,
    /// The units to record event by event; by default none. The recording has no effect on the simulation.
    pub recording: Option<RecordingSelection>,
    /// The checkpoints to write, with an interval in core cycles, and the checkpoint to resume from.
    pub checkpoints: Checkpoints,
    /// The measurement of single launches; the launches must be on one GPU and run one after another.
    pub measure: Option<LaunchSelection>,
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

/// The reason why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The machine, the workload and the options are incompatible.
    #[error("{0}")]
    Config(String),
    /// The trace is invalid; the error was found during the run.
    #[error("{0}")]
    Trace(String),
    /// The simulated machine cannot make progress, although work is left.
    #[error("the simulated machine is deadlocked: {0}")]
    Deadlock(String),
    /// A bug of the simulator.
    #[error("the simulator failed: {0}")]
    Panic(String),
    /// A checkpoint could not be written, or the checkpoint to resume from belongs to another run.
    #[error("{0}")]
    Checkpoint(String),
}

/// The result of a run, with the log of messages if requested.
#[derive(Debug)]
pub struct RunResult {
    /// The simulated results.
    pub outcome: Outcome,
    /// Facts about the host.
    pub host: HostFacts,
    /// All messages, recorded at both ends of their links; `link_names` has the names of the links.
    pub log: MessageLog<Payload>,
    /// All commands of every DRAM channel with a command-level controller, if a log was requested.
    pub dram_commands: Vec<Vec<IssuedCommand>>,
    /// The event-by-event recording.
    pub activity: Activity,
    /// The names of the links: "sm3 -> request network".
    pub link_names: Vec<String>,
    /// Host costs per epoch, if requested.
    pub costs: Option<HostRecording>,
    /// The measurements of single launches, in the order of their ends.
    pub measured: Vec<LaunchMeasurement>,
}

/// The host time of every unit in every epoch, with a description of the units.
#[derive(Debug)]
pub struct HostRecording {
    /// The recorded times.
    pub recorded: warpshard_engine::Recording,
    /// All units.
    pub units: Vec<RecordedUnit>,
}

/// The description of a unit in a recording.
#[derive(Debug)]
pub struct RecordedUnit {
    /// The name of the unit: "sm3", "request network".
    pub name: String,
    /// The kind of the unit.
    pub kind: &'static str,
    /// The shard of the unit.
    pub shard: u32,
    /// The estimated host cost relative to an SM.
    pub cost: f64,
}

/// Simulates `workload` on `machine` to its end, its limit or an interruption.
///
/// # Errors
/// See [`RunError`].
pub fn simulate(machine: &Machine, workload: &Arc<Workload>, options: RunOptions) -> Result<RunResult, RunError> {
    let started = Instant::now();
    if options.recording.is_some() && machine.each_kind().count() > 1 {
        let problem = "activity (--perfetto) can be recorded only if all GPUs are of one kind; omit --perfetto or the kinds (system.kinds)";
        return Err(RunError::Config(problem.into()));
    }
    if options.checkpoints.every.is_some() || options.checkpoints.resume.is_some() {
        can_be_saved(&options).map_err(|why| RunError::Config(why.to_string()))?;
    }
    let workload = &for_machine(machine, workload).map_err(|why| RunError::Config(why.to_string()))?;
    let BuiltChip { mut plan, layout } =
        build(machine, workload, options.cpu.as_ref(), options.cut).map_err(|why| RunError::Config(why.to_string()))?;
    let names: Vec<String> = plan.units.iter().map(|unit| unit.name.clone()).collect();
    let kinds: Vec<&'static str> = plan.units.iter().map(|unit| unit.kind).collect();
    let link_names = if options.log { (0..plan.links.len()).map(|link| plan.link_name(link)).collect() } else { Vec::new() };
    let kind_of = (0..machine.gpus()).map(|gpu| machine.kind_of(gpu)).collect();
    let schemas = CounterSchemas::of(&layout, kind_of, workload.applications.len(), |unit| {
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
            partition.record_commands(EventLog::default());
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
        .with_cpu_load(options.cpu.as_ref())
        .with_counters(schemas)
        .with_measurement(options.measure, machine)
        .with_monitor(options.live, &names);
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
    let relaxed = options.relaxed.then_some(RelaxedDeviations {
        epoch_cycles: finished.host.epoch_cycles,
        lookahead_cycles: finished.host.lookahead,
        messages: results.messages,
        late: results.late,
    });
    let EngineResult { mut units, at, reason, mut director, log, recording, .. } = finished;
    let measured = director.take_measured();
    let of_units = names.into_iter().zip(kinds).zip(planned).map(|((name, kind), (shard, cost))| RecordedUnit { name, kind, shard, cost });
    let costs = recording.map(|recorded| HostRecording { recorded, units: of_units.collect() });
    let activity =
        if options.recording.is_some() && !options.log { activity::collect_activity(&mut units, machine) } else { Activity::default() };
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
    outcome.notes.extend(serialized_note(machine, workload));
    Ok(RunResult { outcome, host, log, dram_commands, activity, link_names, costs, measured })
}

/// Checks that a run with these options can save its state.
///
/// # Errors
/// The state that cannot be saved; a message for the user.
fn can_be_saved(options: &RunOptions) -> Result<(), String> {
    if let Some(controller) = options.controllers.iter().find(|controller| !controller.can_be_saved()) {
        return Err(format!("checkpoints: the state of the controller `{}` cannot be saved", controller.name()));
    }
    if options.log || options.record != HostTimes::Nothing || options.recording.is_some() {
        return Err(
            "checkpoints: a run that records messages, host times or activity (--perfetto) cannot be saved; omit the checkpoints or the recording".into()
        );
    }
    Ok(())
}

fn host_facts(finished: &EngineResult<ChipUnit, Observer>, names: &[String], kinds: &[&str], startup: f64) -> HostFacts {
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

/// Returns a note if kernels of several streams ran one after another because of the machine.
fn serialized_note(machine: &Machine, workload: &Workload) -> Option<(String, u64)> {
    let running = workload.kernels.iter().filter(|kernel| kernel.info.copy.is_none());
    let all: BTreeSet<_> = running.map(|kernel| (kernel.info.on_gpu(), kernel.info.app, kernel.info.stream)).collect();
    // Selects, among the GPUs that run one kernel at a time, the GPU with the most streams.
    let of_gpu = |gpu: u32| all.iter().filter(|(on, ..)| u32::from(on.0) == gpu).count();
    let single = (0..machine.gpus()).filter(|gpu| machine.of_gpu(*gpu).gpu.dispatch.max_kernels == 1);
    let streams = single.map(of_gpu).max().unwrap_or(0);
    let text = format!(
        "the kernels of {} streams ran one after the other: this machine runs one kernel at a time (gpu.dispatch.max_kernels)",
        streams
    );
    (streams > 1).then_some((text, 1))
}

/// Returns the statistics of each application, if several applications shared the GPU.
fn applications(workload: &Workload, results: &ChipResults) -> Vec<ApplicationStats> {
    let ChipResults { kernels, ends, warp_instructions, thread_instructions, .. } = results;
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
    results: ChipResults,
    at: u64,
    reason: StopReason,
    observer: Observer,
    workload: &Workload,
    cpu_applications: Vec<String>,
) -> Outcome {
    let applications = applications(workload, &results);
    let ChipResults { components, kernels, latencies: dram_read_latencies, end, .. } = results;
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
