//! Runs a plan on worker threads until its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use warpshard_base::{Cycle, Tick, UnitId};
use warpshard_state::StateError;
use warpshard_stats::{LateMessages, RankFacts, WorkerFacts};
use warpshard_sync::{EpochBarrier, Locals, Party, Role, StopFlag, WaitPolicy, mailbox, worklist};

use super::Unit;
use super::checkpoint::{Checkpoints, SavedRun};
use super::coordinator::{CoordinatedState, Coordinator, EndReason, coordinate, set_bounds};
use super::director::Director;
use super::log::MessageLog;
use super::outbox::{Outbox, Route};
use super::placement::{LONG_UNIT_COST, ShardCost, assign_shards};
use super::plan::Plan;
use super::ranks::{RankDivision, Ranks, share};
use super::record::{HostTimes, Recorder, Recording};
use super::retime::{Retiming, retime};
use super::scaling::{ActiveWorkers, Scaling};
use super::shared::{SharedState, StopReason, TimeClass, UnitSlot, WorkerStep};
use super::unit_groups::UnitGroups;
use super::worker::Worker;

/// Host settings of a run. Only `relaxed`, `max_cycles`, `decision_latency` and `stop` affect results.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Worker threads, at least 1. The engine starts at most one thread per shard.
    pub threads: usize,
    /// Policy for the number of workers that are active at a time.
    pub scaling: Scaling,
    /// Reference cycles of an epoch. By default the engine uses the lookahead, or it steps the units in two alternating halves if this
    /// suits the number of threads.
    pub epoch: Option<u64>,
    /// Allows epochs longer than the lookahead; messages may then arrive late and are counted.
    pub relaxed: bool,
    /// Reference cycle at which the run ends.
    pub max_cycles: Option<u64>,
    /// Reference cycles between a decision and its effect.
    pub decision_latency: u64,
    /// Skips cycles in which nothing happens.
    pub skip: bool,
    /// Pins worker i to the i-th core that the process may use.
    pub pin: bool,
    /// Logs every message at both ends of its link.
    pub log: bool,
    /// Host times that the run records.
    pub record: HostTimes,
    /// Flag that ends the run at the next cut.
    pub stop: StopFlag,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: 1,
            scaling: Scaling::default(),
            epoch: None,
            relaxed: false,
            max_cycles: None,
            decision_latency: 0,
            skip: true,
            pin: false,
            log: false,
            record: HostTimes::Nothing,
            stop: StopFlag::new(),
        }
    }
}

/// The result of a finished run.
#[derive(Debug)]
pub struct EngineResult<U: Unit, D> {
    /// The units, settled at the last cut, indexed by identifier.
    pub units: Vec<U>,
    /// Reference cycle of the last cut.
    pub at: Cycle,
    /// The reason why the run ended at this cut.
    pub reason: StopReason,
    /// The director after its last cut.
    pub director: D,
    /// All messages, if [`Settings::log`] is true.
    pub log: MessageLog<U::Payload>,
    /// Messages that arrived late in a relaxed run.
    pub late: LateMessages,
    /// Host statistics of the run.
    pub host: EngineFacts,
    /// Host times of each epoch, if [`Settings::record`] requests them.
    pub recording: Option<Recording>,
    /// The ranks of the run, if there are several; units of other ranks are in their planned state.
    pub ranks: Option<Box<dyn Ranks>>,
    /// True for each unit that this rank stepped, indexed by identifier.
    pub owned: Vec<bool>,
}

/// Host statistics of a run.
#[derive(Clone, Debug, Default)]
pub struct EngineFacts {
    /// Seconds from the first epoch to the last.
    pub seconds: f64,
    /// Number of stepped epochs.
    pub epochs: u64,
    /// Number of cuts.
    pub cuts: u64,
    /// Number of times that shards moved to other workers.
    pub moves: u64,
    /// Seconds spent in the coordinator, for which all workers wait.
    pub coordinator_seconds: f64,
    /// Number of exchanged messages.
    pub messages: u64,
    /// Maximum of reference cycles per step of a unit.
    pub epoch_cycles: u64,
    /// True if two halves of the units alternated by epoch.
    pub halves: bool,
    /// Lookahead in reference cycles.
    pub lookahead: u64,
    /// Names of the links of the loop that limits the lookahead.
    pub limit: String,
    /// Statistics of each worker.
    pub workers: Vec<WorkerFacts>,
    /// Mean number of active workers over the run time.
    pub mean_workers: f64,
    /// Number of changes of the number of active workers.
    pub worker_changes: u64,
    /// Statistics of the exchanges between ranks, if there are several ranks.
    pub ranks: Option<RankFacts>,
    /// Share of each unit in the measured stepping time.
    pub unit_share: Vec<f64>,
}

/// The reason why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineError {
    /// The machine cannot be simulated with these settings.
    Plan(String),
    /// No unit can proceed, but work is left; holds a report of the wait reasons of each unit.
    Deadlock(String),
    /// The director reported a failure.
    Failure(String),
    /// A checkpoint could not be stored, or the initial state does not fit this plan.
    Checkpoint(String),
    /// A worker panicked because of a bug in the simulator.
    Panic(String),
}

/// Runs `plan` until its end.
///
/// # Errors
/// See [`EngineError`].
pub fn run<U: Unit, D: Director<U>>(plan: Plan<U>, director: D, settings: &Settings) -> Result<EngineResult<U, D>, EngineError> {
    run_in_ranks(plan, director, settings, None, Checkpoints::default())
}

/// Runs `plan` until its end as one of several ranks, or alone if `ranks` is `None`. All ranks call this function with the same plan,
/// director and settings, except for the number of threads. The run may start from the state of an earlier run and save its own state; see
/// [`Checkpoints`].
///
/// # Errors
/// See [`EngineError`].
pub fn run_in_ranks<U: Unit, D: Director<U>>(
    plan: Plan<U>,
    director: D,
    settings: &Settings,
    mut ranks: Option<Box<dyn Ranks>>,
    checkpoints: Checkpoints,
) -> Result<EngineResult<U, D>, EngineError> {
    let retiming = retime(&plan).map_err(|why| EngineError::Plan(why.to_string()))?;
    let epoch_cycles = settings.epoch.unwrap_or(retiming.lookahead);
    if epoch_cycles == 0 || settings.threads == 0 {
        return Err(EngineError::Plan("an epoch needs at least one cycle, and a run needs at least one thread".into()));
    }
    if checkpoints.every == Some(0) {
        return Err(EngineError::Plan("checkpoints are at least one cycle apart".into()));
    }
    if epoch_cycles > retiming.lookahead && !settings.relaxed {
        return Err(EngineError::Plan(format!(
            "an epoch of {epoch_cycles} cycles is longer than the lookahead of {} cycles, which the loop {} limits; \
             --relaxed would allow it, but messages then come late and results are approximate",
            retiming.lookahead, retiming.limit
        )));
    }
    // Ranks may have different numbers of threads, but must step the same units in an epoch.
    let workers = match &mut ranks {
        Some(ranks) => {
            share(ranks.as_mut(), &settings.threads).map_err(|why| EngineError::Failure(why.to_string()))?.iter().sum::<usize>()
                + settings.threads
        }
        None => settings.threads,
    };
    let halves = if settings.epoch.is_none() { UnitGroups::in_halves(&plan, &retiming, workers) } else { None };
    let turns = halves.unwrap_or_else(|| UnitGroups::together(plan.units.len(), epoch_cycles));
    let resumes = checkpoints.resume.is_some();
    let whole =
        || WorkerParties::new(plan, director, &retiming, &turns, settings, ranks, checkpoints)?.run(&retiming, &turns, settings.pin);
    if !resumes {
        return whole();
    }
    // Validation of a saved state cannot check every invariant that units rely on.
    let failed = match catch_unwind(AssertUnwindSafe(whole)) {
        Ok(Err(EngineError::Panic(text))) => text,
        Ok(ended) => return ended,
        Err(panic) => panic_text(panic.as_ref()),
    };
    let help = "take another checkpoint, or start again; if no one has changed the file, please report this";
    Err(EngineError::Checkpoint(format!("the saved state contradicts itself, so that the run failed: {failed}\n  {help}")))
}

/// The workers and the shared state, returned by the last worker that leaves the barrier.
type FinalState<U, D> = (Vec<Worker<U>>, CoordinatedState<U, D>);

struct WorkerParties<U: Unit, D: Send> {
    parties: Vec<Party<Worker<U>, CoordinatedState<U, D>>>,
}

impl<U: Unit, D: Director<U>> WorkerParties<U, D> {
    /// # Errors
    /// Fails if the initial state does not fit the plan.
    fn new(
        plan: Plan<U>,
        mut director: D,
        retiming: &Retiming,
        turns: &UnitGroups,
        settings: &Settings,
        ranks: Option<Box<dyn Ranks>>,
        mut checkpoints: Checkpoints,
    ) -> Result<Self, EngineError> {
        let unfit = |error: StateError| EngineError::Checkpoint(error.to_string());
        let mut resumed = checkpoints.resume.take().map(|bytes| SavedRun::<U>::of(&bytes)).transpose().map_err(unfit)?;
        if let Some(saved) = &mut resumed {
            std::mem::take(&mut saved.director).load(&mut director).map_err(unfit)?;
            if !saved.units.iter().map(|(unit, ..)| unit.index()).eq(0..plan.units.len()) {
                let other = format!("the saved state has {} units, the machine {}", saved.units.len(), plan.units.len());
                return Err(EngineError::Checkpoint(other));
            }
            saved.check(plan.units.len()).map_err(unfit)?;
            if let Some(limit) = settings.max_cycles.filter(|limit| *limit <= saved.at.0) {
                let passed = format!("the saved state is from cycle {}, but the run is to end at cycle {limit}", saved.at.0);
                return Err(EngineError::Checkpoint(passed));
            }
        }
        let present = resumed.as_ref().map_or(Tick(0), |saved| plan.reference.tick(saved.at));
        let shards = plan.units.iter().map(|unit| unit.shard as usize + 1).max().unwrap_or(0);
        let threads = settings.threads.min(shards.max(1));
        let routes: Arc<[Route]> = plan
            .links
            .iter()
            .zip(&retiming.latencies)
            .map(|(link, &latency)| Route {
                to: link.to,
                from_clock: plan.units[link.from.index()].clock,
                to_clock: plan.units[link.to.index()].clock,
                latency,
            })
            .collect();
        let mut costs = vec![ShardCost { kind: "", cost: 0.0 }; shards];
        for unit in &plan.units {
            let shard = &mut costs[unit.shard as usize];
            *shard = ShardCost { kind: unit.kind, cost: shard.cost + unit.cost };
        }
        let shard_of: Vec<u32> = plan.units.iter().map(|unit| unit.shard).collect();
        let part_of: Vec<u16> = plan.units.iter().map(|unit| unit.part).collect();
        let division = ranks.map(|ranks| RankDivision::new(ranks, &costs, &shard_of, &part_of, &turns.group_of));
        if let Some(division) = &division {
            // Units of other ranks cost no host time here.
            let elsewhere = (0..shard_of.len()).filter(|unit| !division.owns(*unit));
            elsewhere.for_each(|unit| costs[shard_of[unit] as usize].cost = 0.0);
        }
        let worker_of_shard = assign_shards(&costs, threads);

        let mut senders: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        let mut receivers: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        for sender in &mut senders {
            for receiver in &mut receivers {
                let (tx, rx) = mailbox();
                sender.push(tx);
                receiver.push(rx);
            }
        }
        let units = plan.units.len();
        let (owners, stealers): (Vec<_>, Vec<_>) = (0..threads).map(|_| worklist(Vec::new())).unzip();
        let mut workers: Vec<Worker<U>> = senders
            .into_iter()
            .zip(receivers)
            .zip(owners)
            .enumerate()
            .map(|(index, ((senders, receivers), work))| {
                let outbox = Outbox::new(Arc::clone(&routes), (0..units as u16).collect(), units);
                Worker::new(index, units, work, outbox, senders, receivers, settings.log)
            })
            .collect();

        let mut classes: Vec<TimeClass> = Vec::new();
        let (mut names, mut elsewhere) = (Vec::new(), Vec::new());
        for (index, mut planned) in plan.units.into_iter().enumerate() {
            let class = TimeClass { clock: planned.clock, offset: retiming.offsets[index], group: turns.group_of[index] };
            let class = classes.iter().position(|c| *c == class).unwrap_or_else(|| {
                classes.push(class);
                classes.len() - 1
            });
            names.push(planned.name);
            if division.as_ref().is_some_and(|division| !division.owns(index)) {
                elsewhere.push((UnitId(index as u16), planned.unit));
                continue;
            }
            let mut next = planned.unit.next_event();
            if let Some((_, saved_next, state)) = resumed.as_mut().map(|saved| &mut saved.units[index]) {
                let of_unit = |error: StateError| EngineError::Checkpoint(format!("{}: {error}", names[index]));
                std::mem::take(state).load(&mut planned.unit).map_err(of_unit)?;
                if *saved_next < planned.clock.edge_at_or_after(present) {
                    return Err(of_unit(StateError::new(format!("its next event, at {saved_next}, is before the saved cut"))));
                }
                next = *saved_next;
            }
            let class = class as u16;
            let long = planned.cost >= LONG_UNIT_COST;
            let slot =
                UnitSlot { id: UnitId(index as u16), unit: planned.unit, class, long, next, nanos: 0, decayed_nanos: 0, taken: false };
            workers[usize::from(worker_of_shard[shard_of[index] as usize])].work.push(slot);
        }

        let period = plan.reference.period;
        let stride = turns.stride * period;
        let (starts_with_cut, reads_counters, reads_tasks) =
            (director.starts_with_cut(), director.reads_counters(), director.reads_tasks());
        if let Some(saved) = &resumed {
            // The engine sums these counts over all workers at the end, so only one worker starts with the saved counts.
            let counts = division.as_ref().is_none_or(|division| division.ranks.rank() == 0);
            (workers[0].messages, workers[0].late) = if counts { (saved.messages, saved.late) } else { Default::default() };
        }
        let coordinator = Coordinator {
            director,
            stop: settings.stop.clone(),
            max_cycles: settings.max_cycles.map(Cycle),
            stride,
            reached: vec![Tick(0); usize::from(turns.groups)],
            skew: retiming.skew(),
            // Only a relaxed run has strides longer than the lookahead.
            event_latency: retiming.event_latency(period).max(retiming.skew() + stride),
            decision_latency: settings.decision_latency,
            events: Vec::new(),
            delayed: Vec::new(),
            stop_at: None,
            end_reason: None,
            idle_cuts: 0,
            epochs: 0,
            cuts: 0,
            moves: 0,
            shard_of,
            placements: vec![Vec::new(); threads + 1],
            worker_of_shard,
            division,
            remote_units: elsewhere,
            recorder: Recorder::new(settings.record, units),
            shard_costs: costs,
            workers: ActiveWorkers::new(settings.scaling, threads),
            checkpoints,
            only_saves: false,
            saves: false,
            began: Instant::now(),
            last_report: Instant::now(),
            spent: Duration::ZERO,
        };
        let worker_of = coordinator.worker_of();
        for worker in &mut workers {
            if settings.record == HostTimes::Units {
                worker.traffic = vec![0; plan.links.len()];
            }
            if let Some(division) = &coordinator.division {
                worker.in_ranks(division.ranks.count(), &division.rank_of);
            }
            worker.index_slots(&classes, &worker_of);
        }
        let mut shared = SharedState {
            step: if starts_with_cut { WorkerStep::Settle } else { WorkerStep::Run },
            epoch: 1,
            presents: vec![Cycle(0); classes.len()],
            bounds: vec![Cycle(0); classes.len()],
            limits: vec![Tick(0); classes.len()],
            active: threads,
            stealers,
            measured: true,
            backwards: false,
            sums_costs: false,
            halves_costs: false,
            reads_counters,
            reads_tasks,
            classes,
            reference: plan.reference,
            last_cut: Cycle(0),
            decisions: Vec::new(),
            skip: settings.skip,
            relaxed: settings.relaxed,
            links: plan.links,
            names,
            from_ranks: Vec::new(),
            coordinator: Mutex::new(coordinator),
        };
        if let Some(saved) = resumed {
            resume_from(&mut shared, saved);
        }
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self { parties: EpochBarrier::new(workers, shared, WaitPolicy::for_threads(threads, cores)).into_iter().collect() })
    }

    fn run(self, retiming: &Retiming, turns: &UnitGroups, pin: bool) -> Result<EngineResult<U, D>, EngineError> {
        let started = Instant::now();
        let cores = if pin { core_affinity::get_core_ids().unwrap_or_default() } else { Vec::new() };
        let core = |index: usize| if cores.is_empty() { None } else { Some(cores[index % cores.len()]) };
        let mut parties = self.parties.into_iter().enumerate();
        // The calling thread is the first worker, so that a run on one thread allocates from the same arena as the machine. With pinning, a
        // new thread is the first worker, because the caller may continue on any core afterwards.
        let own = if pin { None } else { parties.next() };
        let results: Vec<std::thread::Result<Option<FinalState<U, D>>>> = std::thread::scope(|scope| {
            let handles: Vec<_> = parties
                .map(|(index, party)| {
                    let core = core(index);
                    std::thread::Builder::new()
                        .name(format!("worker {index}"))
                        .spawn_scoped(scope, move || {
                            if let Some(core) = core {
                                core_affinity::set_for_current(core);
                            }
                            run_worker(party)
                        })
                        .expect("the host can start a thread")
                })
                .collect();
            let own = own.map(|(_, party)| catch_unwind(AssertUnwindSafe(|| run_worker(party))));
            own.into_iter().chain(handles.into_iter().map(std::thread::ScopedJoinHandle::join)).collect()
        });
        let mut left = None;
        for result in results {
            match result {
                Ok(Some(parts)) => left = Some(parts),
                Ok(None) => {}
                Err(panic) => return Err(EngineError::Panic(panic_text(panic.as_ref()))),
            }
        }
        let (workers, shared) = left.ok_or_else(|| EngineError::Panic("the workers stopped without a result".into()))?;
        finish(workers, shared, retiming, turns, started.elapsed())
    }
}

/// Restores the shared state of the saved cut and resumes from it.
fn resume_from<U: Unit, D: Director<U>>(shared: &mut CoordinatedState<U, D>, saved: SavedRun<U>) {
    let tick = shared.reference.tick(saved.at);
    shared.last_cut = saved.at;
    shared.decisions = saved.decisions;
    shared.presents = shared.classes.iter().map(|class| class.clock.edge_at_or_after(tick)).collect();
    shared.bounds.clone_from(&shared.presents);
    let own = shared.coordinator();
    own.reached.fill(tick);
    (own.events, own.delayed, own.idle_cuts) = (saved.events, saved.delayed, saved.idle_cuts);
    set_bounds(shared);
}

fn run_worker<U: Unit, D: Director<U>>(mut party: Party<Worker<U>, CoordinatedState<U, D>>) -> Option<FinalState<U, D>> {
    let mut mark = Instant::now();
    loop {
        let (worker, shared) = party.local_and_shared();
        match shared.step {
            WorkerStep::Run => worker.run(shared),
            WorkerStep::Deliver => worker.receive(shared),
            WorkerStep::Settle => worker.settle(shared),
            WorkerStep::CollectWaitReasons => worker.collect_wait_reasons(),
            WorkerStep::Stop => return party.finish(),
        }
        let arrived = Instant::now();
        worker.report.busy_nanos += (arrived - mark).as_nanos() as u64;
        let control = |shared: &mut CoordinatedState<U, D>, workers: &mut Locals<'_, Worker<U>>| {
            let began = Instant::now();
            coordinate(shared, workers);
            shared.coordinator().spent += began.elapsed();
        };
        let Ok(role) = party.wait(control) else { return None };
        mark = Instant::now();
        let sleeps = party.sleeps();
        let worker = party.local();
        worker.sleeps = sleeps;
        if role != Role::Retired {
            worker.wait_time += mark - arrived;
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a worker panicked without a message").to_owned()
}

fn finish<U: Unit, D>(
    workers: Vec<Worker<U>>,
    shared: CoordinatedState<U, D>,
    retiming: &Retiming,
    turns: &UnitGroups,
    elapsed: Duration,
) -> Result<EngineResult<U, D>, EngineError> {
    let coordinator = shared.coordinator.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let reason = match coordinator.end_reason {
        Some(EndReason::Cut(reason)) => reason,
        Some(EndReason::Deadlock(report)) => return Err(EngineError::Deadlock(report)),
        Some(EndReason::Failure(failure)) => return Err(EngineError::Failure(failure)),
        Some(EndReason::Unsaved(why)) => return Err(EngineError::Checkpoint(why)),
        None => return Err(EngineError::Panic("the workers stopped before the end".into())),
    };
    let (mean_workers, worker_changes) = coordinator.workers.history(coordinator.began.elapsed());
    let mut host = EngineFacts {
        seconds: elapsed.as_secs_f64(),
        epochs: coordinator.epochs,
        cuts: coordinator.cuts,
        moves: coordinator.moves,
        epoch_cycles: turns.epoch_cycles(),
        halves: turns.groups > 1,
        mean_workers,
        worker_changes,
        coordinator_seconds: coordinator.spent.as_secs_f64(),
        lookahead: retiming.lookahead,
        limit: retiming.limit.clone(),
        ..EngineFacts::default()
    };
    let mut traffic = vec![0; shared.links.len()];
    let (mut log, mut late) = (MessageLog::default(), LateMessages::default());
    let mut slots = Vec::new();
    for mut worker in workers {
        worker.work.close();
        traffic.iter_mut().zip(&worker.traffic).for_each(|(all, sent)| *all += sent);
        let held = worker.work.drain();
        let shards: std::collections::BTreeSet<u32> = held.iter().map(|slot| coordinator.shard_of[slot.id.index()]).collect();
        host.workers.push(WorkerFacts {
            busy_seconds: worker.report.busy_nanos as f64 / 1e9,
            wait_seconds: worker.wait_time.as_secs_f64(),
            sleeps: worker.sleeps,
            shards: shards.len() as u32,
            taken: worker.taken,
        });
        host.messages += worker.messages;
        late.add(&worker.late);
        if let Some(part) = worker.log {
            log.sent.extend(part.sent);
            log.delivered.extend(part.delivered);
        }
        slots.extend(held);
    }
    let recording = coordinator.recorder.map(|recorder| {
        let sent = shared.links.iter().zip(&traffic).filter(|(_, sent)| **sent > 0);
        recorder.finish(sent.map(|(link, sent)| (link.from, link.to, *sent)).collect())
    });
    slots.sort_by_key(|slot| slot.id);
    let nanos: Vec<u64> = slots.iter().map(|slot| slot.decayed_nanos + slot.nanos).collect();
    let all = nanos.iter().sum::<u64>().max(1);
    host.unit_share = nanos.iter().map(|&nanos| nanos as f64 / all as f64).collect();
    let mut owned = vec![true; slots.len() + coordinator.remote_units.len()];
    coordinator.remote_units.iter().for_each(|(unit, _)| owned[unit.index()] = false);
    let mut units: Vec<(UnitId, U)> = slots.into_iter().map(|slot| (slot.id, slot.unit)).chain(coordinator.remote_units).collect();
    units.sort_by_key(|(id, _)| *id);
    let units = units.into_iter().map(|(_, unit)| unit).collect();
    host.ranks = coordinator.division.as_ref().map(|division| division.facts);
    let ranks = coordinator.division.map(|division| division.ranks);
    Ok(EngineResult { units, at: shared.last_cut, reason, director: coordinator.director, log, late, host, recording, ranks, owned })
}
