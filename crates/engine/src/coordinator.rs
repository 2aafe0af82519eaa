//! The coordinator: work that the last worker to arrive at the barrier does for all workers.
//!
//! It sets the bounds of the next epoch, makes cuts for the director or an event, passes decisions to the workers,
//! balances shards, and ends the run. Only its cuts and decisions affect simulated behaviour.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use warpshard_base::{Cycle, Tick, UnitId};
use warpshard_stats::LateMessages;
use warpshard_sync::{Locals, StopFlag};

use super::checkpoint::{Checkpoints, EncodedState, SavedRun, SavedUnit};
use super::director::{Cut, CutEvent, Director, View};
use super::placement::{ShardCost, assign_shards, max_imbalance, move_shards};
use super::ranks::{EpochReport, RankDivision, UnitValues};
use super::record::Recorder;
use super::scaling::{ActiveWorkers, EpochFacts};
use super::shared::{Decisions, SharedState, StopReason, TimeClass, WorkerStep};
use super::worker::{REMOTE_WORKER, Worker, WorkerReport};
use super::{Unit, Work};

/// The engine measures the host time of single units once per this many epochs, since reading the clock costs as much as an idle unit.
const MEASURE_EVERY: u64 = 4;
/// Epochs between two checks of the load balance of the workers.
const BALANCE_EVERY: u64 = 16;
/// Minimum of measured host nanoseconds for a check of the load balance.
const MIN_BALANCE_NANOS: u64 = 1_000_000;
/// Minimum host time between two progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// Host time between two views while an observer has paused the run.
const PAUSED_VIEW_INTERVAL: Duration = Duration::from_millis(20);
/// Epochs between two checks of the host clock and of failures.
const CLOCK_CHECK_EVERY: u64 = 64;
/// Successive cuts without effect after which an idle machine counts as deadlocked.
const MAX_IDLE_CUTS: u32 = 1000;

/// The reason for the end of a run, as the coordinator records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    /// The run ended at a cut.
    Cut(StopReason),
    /// No unit can proceed, but work is left; holds the deadlock report.
    Deadlock(String),
    /// The director reported a failure.
    Failure(String),
    /// A checkpoint could not be stored.
    Unsaved(String),
}

/// The state that workers share, including the coordinator's private state.
pub(super) type CoordinatedState<U, D> = SharedState<U, Coordinator<U, D>>;

/// The coordinator's private state.
pub(super) struct Coordinator<U: Unit, D> {
    pub(super) director: D,
    pub(super) stop: StopFlag,
    pub(super) max_cycles: Option<Cycle>,
    /// Base ticks by which a group of units may run ahead of every other group; with one group, the length of an epoch.
    pub(super) stride: u64,
    /// Global tick that each group has reached or reaches in the current epoch.
    pub(super) reached: Vec<Tick>,
    /// Base ticks by which the last unit lags behind the first unit.
    pub(super) skew: u64,
    /// Base ticks from an event to its effect.
    pub(super) event_latency: u64,
    pub(super) decision_latency: u64,
    /// Pending events with the cycle of their effect.
    pub(super) events: Vec<(Cycle, CutEvent<U::Event>)>,
    pub(super) delayed: Vec<(Cycle, Decisions<U>)>,
    pub(super) stop_at: Option<Cycle>,
    pub(super) end_reason: Option<EndReason>,
    pub(super) idle_cuts: u32,
    pub(super) epochs: u64,
    pub(super) cuts: u64,
    /// Number of times that shards moved to other workers.
    pub(super) moves: u64,
    pub(super) shard_of: Vec<u32>,
    /// The worker of each shard, for each number of active workers used so far; empty for the present number.
    pub(super) placements: Vec<Vec<u16>>,
    pub(super) worker_of_shard: Vec<u16>,
    /// The other ranks of the run, if any, and the rank of each unit.
    pub(super) division: Option<RankDivision>,
    pub(super) remote_units: Vec<(UnitId, U)>,
    /// Recorder of the host time of each epoch, if the settings request it.
    pub(super) recorder: Option<Recorder>,
    pub(super) shard_costs: Vec<ShardCost>,
    pub(super) workers: ActiveWorkers,
    /// The period and the sink of checkpoints.
    pub(super) checkpoints: Checkpoints,
    /// True if the present cut only makes a checkpoint; and true if the state is to be saved after all messages are delivered.
    pub(super) only_saves: bool,
    pub(super) saves: bool,
    pub(super) began: Instant,
    pub(super) last_report: Instant,
    /// Host time spent in the coordinator while all workers wait.
    pub(super) spent: Duration,
}

/// Coordinates the workers after each epoch; runs in the worker that arrived last.
pub(super) fn coordinate<U: Unit, D: Director<U>>(shared: &mut CoordinatedState<U, D>, workers: &mut Locals<'_, Worker<U>>) {
    match shared.step {
        WorkerStep::Run => {
            shared.from_ranks.iter_mut().for_each(Vec::clear);
            after_run(shared, workers);
        }
        WorkerStep::Deliver => {
            shared.from_ranks.iter_mut().for_each(Vec::clear);
            if std::mem::take(&mut shared.coordinator().saves)
                && let Err(ending) = save(shared, workers)
            {
                shared.coordinator().end_reason = Some(ending);
                shared.step = WorkerStep::Stop;
            } else {
                rescale(shared, workers);
                balance(shared, workers);
                shared.step = WorkerStep::Run;
                shared.epoch += 1;
            }
        }
        WorkerStep::Settle => after_settle(shared, workers),
        WorkerStep::CollectWaitReasons => {
            let waiting: Vec<_> = workers.iter_mut().flat_map(|worker| worker.waiting.drain(..)).collect();
            let gathered = shared.coordinator().gather_wait_reasons(waiting);
            let ending = gathered.map_or_else(EndReason::Failure, |waiting| EndReason::Deadlock(deadlock_report(&shared.names, waiting)));
            shared.coordinator().end_reason = Some(ending);
            shared.step = WorkerStep::Stop;
        }
        WorkerStep::Stop => {}
    }
    if shared.step == WorkerStep::Stop {
        // Retired workers stop, too.
        workers.set_active(workers.len());
    }
}

fn after_run<U: Unit, D: Director<U>>(shared: &mut CoordinatedState<U, D>, workers: &mut Locals<'_, Worker<U>>) {
    let period = shared.reference.period;
    shared.presents.iter_mut().zip(&shared.bounds).for_each(|(present, bound)| *present = (*present).max(*bound));
    shared.decisions.clear();
    let own = shared.coordinator.get_mut().unwrap_or_else(PoisonError::into_inner);
    own.epochs += 1;
    if let Some(recorder) = &mut own.recorder {
        let sent = workers.iter_mut().map(|worker| worker.report.sent).sum();
        let spent: Vec<_> = workers.iter_mut().map(|worker| (worker.exchanging, worker.stepping)).collect();
        let of_units = if recorder.units { workers.len() } else { 0 };
        let units = workers.iter_mut().take(of_units).flat_map(|worker| {
            worker.work.close();
            worker.work.iter_mut().map(|slot| (slot.id, slot.nanos + slot.decayed_nanos, slot.taken))
        });
        recorder.note(units, spent.into_iter(), sent);
    }
    let report = match own.epoch_report(workers, shared.active, &mut shared.from_ranks) {
        Ok(report) => report,
        Err(failure) => {
            own.end_reason = Some(EndReason::Failure(failure));
            shared.step = WorkerStep::Stop;
            return;
        }
    };
    let EpochReport { sent, next, .. } = report;
    for event in report.events.into_iter().filter(|event| own.director.causes_cut(event.kind)) {
        let effect = Cycle((event.at.0 + own.event_latency).div_ceil(period));
        let at = Cycle(event.at.0 / period);
        let cut = shared.reference.tick(effect);
        let passed = |(present, class): (&Cycle, &TimeClass)| *present > class.clock.edge_at_or_after(cut);
        debug_assert!(!shared.presents.iter().zip(&shared.classes).any(passed), "an event at {at} takes effect in the past");
        own.events.push((effect, CutEvent { unit: event.unit, at, kind: event.kind }));
    }
    if let Some(work) = report.work
        && own.last_report.elapsed() >= PROGRESS_EVERY
    {
        own.last_report = Instant::now();
        own.director.progress(Cycle(own.foremost().0 / period), work);
        own.show_units(Cycle(own.foremost().0 / period), work, workers);
    }
    if let Some(failure) = report.failure {
        own.end_reason = Some(EndReason::Failure(failure));
        shared.step = WorkerStep::Stop;
        return;
    }
    if own.stop_at.is_none() && report.stop {
        own.stop_at = Some(Cycle(own.foremost().0.div_ceil(period)));
    }
    let idle = sent == 0 && next == Tick::NEVER;
    let wake = own.director.can_wake_idle() && own.director.next_cut(shared.last_cut).is_some() && own.idle_cuts < MAX_IDLE_CUTS;
    if idle && own.events.is_empty() && own.delayed.is_empty() && own.stop_at.is_none() && !wake {
        shared.step = WorkerStep::CollectWaitReasons;
        return;
    }
    own.idle_cuts = if idle { own.idle_cuts } else { 0 };
    if sent == 0 {
        own.reached.iter_mut().for_each(|reached| *reached = (*reached).max(next));
    }
    let looks = std::mem::take(&mut shared.sums_costs) && measured_nanos(workers) >= MIN_BALANCE_NANOS;
    shared.halves_costs = looks;
    if own.workers.varies() {
        own.record_epoch(workers);
    }
    let rescaled = own.workers.count() != shared.active;
    set_bounds(shared);
    let own = shared.coordinator.get_mut().unwrap_or_else(PoisonError::into_inner);
    if shared.step == WorkerStep::Run && (rescaled || looks && own.rebalances(shared.active, &shared.classes, workers)) {
        shared.step = WorkerStep::Deliver;
    }
}

/// Sets the bounds of the next epoch, which steps the group that lags most, or makes the cut that all groups have reached.
pub(super) fn set_bounds<U: Unit, D: Director<U>>(shared: &mut CoordinatedState<U, D>) {
    let own = shared.coordinator.get_mut().unwrap_or_else(PoisonError::into_inner);
    let wanted = [
        own.max_cycles,
        own.stop_at,
        own.director.next_cut(shared.last_cut),
        own.events.iter().map(|(effect, _)| *effect).min(),
        own.delayed.iter().map(|(effect, _)| *effect).min(),
    ]
    .into_iter()
    .flatten()
    .min();
    let cut = wanted.into_iter().chain(own.checkpoints.next_after(shared.last_cut)).min();
    let cut_tick = cut.map_or(Tick::NEVER, |cut| shared.reference.tick(cut));
    let horizon = cut_tick.0.saturating_add(own.skew);
    let groups = own.reached.len();
    let turn = (0..groups).min_by_key(|&group| own.reached[group]).unwrap_or(0);
    if own.reached[turn].0 >= horizon {
        shared.last_cut = cut.unwrap_or_default();
        own.only_saves = wanted != cut;
        shared.reads_counters = !own.only_saves && own.director.reads_counters();
        shared.reads_tasks = !own.only_saves && own.director.reads_tasks();
        shared.step = WorkerStep::Settle;
        return;
    }
    // A message that another group sends arrives at least one stride after that group's present. A message between units of this group
    // would pass through the other groups.
    let alone = own.reached[turn].0 + groups as u64 * own.stride;
    let others = (0..groups).filter(|&group| group != turn).map(|group| own.reached[group].0 + own.stride);
    let end = others.fold(alone, u64::min).min(horizon);
    own.reached[turn] = Tick(end);
    let times = shared.bounds.iter_mut().zip(&mut shared.limits).zip(&shared.presents);
    for (((bound, limit), present), class) in times.zip(&shared.classes) {
        *bound = if usize::from(class.group) == turn {
            class.clock.edge_at_or_after(Tick(end.saturating_sub(class.offset).min(cut_tick.0)))
        } else {
            *present
        };
        *limit = class.global(*bound);
    }
    let round = own.epochs / groups as u64;
    shared.measured = own.recorder.is_some() || round.is_multiple_of(MEASURE_EVERY);
    shared.backwards = round % 2 == 1;
    shared.sums_costs = shared.active > 1 && (own.epochs + 1).is_multiple_of(BALANCE_EVERY);
    shared.step = WorkerStep::Run;
    shared.epoch += 1;
}

/// Returns the host nanoseconds of all units, from the sums in the workers' reports.
fn measured_nanos<U: Unit>(workers: &mut Locals<'_, Worker<U>>) -> u64 {
    workers.iter_mut().flat_map(|worker| worker.report.load).sum()
}

/// Returns true if the measured loads of the workers differ so little in a group that no shard moves.
fn is_balanced(reports: &[WorkerReport], group: usize) -> bool {
    let loads = || reports.iter().map(|report| report.load[group]);
    let units: u32 = reports.iter().map(|report| report.weighed_units[group]).sum();
    let gap = loads().max().unwrap_or(0) - loads().min().unwrap_or(0);
    gap <= max_imbalance(loads().sum(), units as usize, reports.len())
}

/// Returns the values that workers read from their units, in the order of the units.
fn values_by_unit(mut read: UnitValues) -> Vec<Vec<u64>> {
    read.sort_by_key(|(unit, _)| *unit);
    read.into_iter().map(|(_, values)| values).collect()
}

fn after_settle<U: Unit, D: Director<U>>(shared: &mut CoordinatedState<U, D>, workers: &mut Locals<'_, Worker<U>>) {
    let at = shared.last_cut;
    let mut values: [UnitValues; 2] = [
        workers.iter_mut().flat_map(|worker| worker.counters.drain(..)).collect(),
        workers.iter_mut().flat_map(|worker| worker.tasks.drain(..)).collect(),
    ];
    let own = shared.coordinator.get_mut().unwrap_or_else(PoisonError::into_inner);
    if (shared.reads_counters || shared.reads_tasks)
        && let Some(Err(failure)) = own.division.as_mut().map(|division| division.gather(&mut values))
    {
        own.end_reason = Some(EndReason::Failure(failure));
        shared.step = WorkerStep::Stop;
        return;
    }
    let [counters, tasks] = values.map(values_by_unit);
    for (present, class) in shared.presents.iter_mut().zip(&shared.classes) {
        *present = (*present).max(class.clock.edge_at_or_after(shared.reference.tick(at)));
    }
    own.cuts += 1;
    own.saves = own.checkpoints.is_due(at);
    if own.only_saves {
        // The cut must be invisible to the director and the units.
        resume_after_cut(shared);
        return;
    }
    own.idle_cuts += 1;
    let mut events: Vec<CutEvent<U::Event>> = own.events.extract_if(.., |(effect, _)| *effect <= at).map(|(_, event)| event).collect();
    events.sort_by_key(|event| (event.at, event.unit));
    let ended = own.director.is_over(&events);
    let reason = if ended {
        Some(StopReason::Ended)
    } else if own.max_cycles == Some(at) {
        Some(StopReason::MaxCycles)
    } else if own.stop_at == Some(at) {
        Some(StopReason::Interrupted)
    } else {
        None
    };
    let cut = Cut { at, counters: &counters, tasks: &tasks, events: &events, last: reason.is_some() };
    let decisions = own.director.at_cut(&cut);
    if let Some(reason) = reason {
        own.end_reason = Some(match own.director.failure() {
            Some(failure) => EndReason::Failure(failure),
            None => EndReason::Cut(reason),
        });
        shared.step = WorkerStep::Stop;
        return;
    }
    if !decisions.is_empty() {
        own.delayed.push((at.after(own.decision_latency), decisions));
    }
    let due: Vec<_> = own.delayed.extract_if(.., |(effect, _)| *effect <= at).flat_map(|(_, decisions)| decisions).collect();
    if !due.is_empty() {
        shared.decisions = due;
    }
    resume_after_cut(shared);
}

/// Resumes the run after a cut; if the state is to be saved, has all messages delivered first.
fn resume_after_cut<U: Unit, D: Director<U>>(shared: &mut CoordinatedState<U, D>) {
    let at = shared.reference.tick(shared.last_cut);
    shared.coordinator().reached.fill(at);
    set_bounds(shared);
    if shared.coordinator().saves {
        debug_assert_eq!(shared.step, WorkerStep::Run, "a cut follows a cut in the same cycle");
        shared.step = WorkerStep::Deliver;
    }
}

impl<U: Unit, D: Director<U>> Coordinator<U, D> {
    /// Returns the report of an epoch over all ranks; puts the messages of the other ranks into `from_ranks`.
    fn epoch_report(
        &mut self,
        workers: &mut Locals<'_, Worker<U>>,
        active: usize,
        from_ranks: &mut Vec<Vec<u8>>,
    ) -> Result<EpochReport<U::Event>, String> {
        let alone = self.division.is_none();
        let looks = self.epochs.is_multiple_of(CLOCK_CHECK_EVERY) && (!alone || self.last_report.elapsed() >= PROGRESS_EVERY);
        let mut report = EpochReport {
            sent: 0,
            next: Tick::NEVER,
            events: Vec::new(),
            work: looks.then(|| work_of(workers)),
            stop: self.stop.requested(),
            failure: looks.then(|| self.director.failure()).flatten(),
        };
        for worker in workers.iter_mut().take(active) {
            report.sent += worker.report.sent;
            report.next = report.next.min(worker.report.next);
            if worker.report.has_events {
                report.events.append(&mut worker.events);
            }
        }
        let Some(division) = &mut self.division else { return Ok(report) };
        for worker in workers.iter_mut() {
            for (all, own) in division.messages.iter_mut().zip(&mut worker.to_ranks) {
                if all.is_empty() { std::mem::swap(all, own) } else { all.append(own) }
            }
        }
        for other in division.exchange(&report, from_ranks)? {
            report.sent += other.sent;
            report.next = report.next.min(other.next);
            report.events.extend(other.events);
            report.stop |= other.stop;
            report.failure = report.failure.or(other.failure);
            if let (Some(work), Some(other)) = (&mut report.work, other.work) {
                work.instructions += other.instructions;
                work.tasks += other.tasks;
            }
        }
        Ok(report)
    }

    /// Adds the wait reasons of the units of other ranks.
    fn gather_wait_reasons(&mut self, mut waiting: Vec<(UnitId, Vec<String>)>) -> Result<Vec<(UnitId, Vec<String>)>, String> {
        if let Some(division) = &mut self.division {
            for other in division.exchange(&waiting, &mut Vec::new())? {
                waiting.extend(other);
            }
        }
        Ok(waiting)
    }
}

/// Returns the work that the units of this rank have done.
fn work_of<U: Unit>(workers: &mut Locals<'_, Worker<U>>) -> Work {
    let mut work = Work::default();
    for worker in workers.iter_mut() {
        worker.work.close();
        for part in worker.work.iter_mut().map(|slot| slot.unit.progress()) {
            work.instructions += part.instructions;
            work.tasks += part.tasks;
        }
    }
    work
}

impl<U: Unit, D> Coordinator<U, D> {
    /// Returns the global tick of the group that is furthest ahead.
    fn foremost(&self) -> Tick {
        self.reached.iter().copied().max().unwrap_or_default()
    }

    /// Returns the worker of each unit; [`REMOTE_WORKER`] for a unit of another rank.
    pub(super) fn worker_of(&self) -> Vec<u16> {
        let own = |unit: usize| self.division.as_ref().is_none_or(|division| division.owns(unit));
        let worker = |(unit, &shard): (usize, &u32)| if own(unit) { self.worker_of_shard[shard as usize] } else { REMOTE_WORKER };
        self.shard_of.iter().enumerate().map(worker).collect()
    }

    /// Shows the units to an observer, and pauses the run as long as the observer requests it.
    fn show_units<U2: Unit>(&mut self, now: Cycle, work: Work, workers: &mut Locals<'_, Worker<U2>>)
    where
        D: Director<U2>,
    {
        while self.director.is_watched() {
            let counters = values_by_unit(workers.iter_mut().flat_map(|worker| worker.present_counters()).collect());
            let waiting = self.director.shows_waiting().then(|| {
                let mut waiting: Vec<_> = workers.iter_mut().flat_map(|worker| worker.wait_reasons()).collect();
                waiting.sort_by_key(|(unit, _)| *unit);
                waiting
            });
            let stays = self.director.view(&View { now, work, counters: &counters, waiting: waiting.as_deref() });
            if !stays || self.stop.requested() {
                return;
            }
            std::thread::sleep(PAUSED_VIEW_INTERVAL);
        }
    }

    /// Chooses the number of active workers for the next epochs.
    fn record_epoch(&mut self, workers: &mut Locals<'_, Worker<U>>) {
        let (mut steps, mut busy) = (0, Duration::ZERO);
        for worker in workers.iter_mut() {
            steps += u64::from(worker.report.due);
            busy += Duration::from_nanos(worker.report.busy_nanos);
        }
        self.workers.note(EpochFacts { now: self.began.elapsed(), steps, busy });
    }

    /// Replaces the assignment of shards to `before` workers by an assignment to `now` workers: the last such assignment, if there is one.
    fn switch_placement(&mut self, before: usize, now: usize) {
        let next = std::mem::take(&mut self.placements[now]);
        let next = if next.is_empty() { assign_shards(&self.shard_costs, now) } else { next };
        self.placements[before] = std::mem::replace(&mut self.worker_of_shard, next);
    }

    /// Returns true if the measured host time requires shards to move to other workers; `worker_of_shard` then holds the new assignment.
    /// Each group is stepped separately and therefore balanced separately.
    fn rebalances(&mut self, active: usize, classes: &[TimeClass], workers: &mut Locals<'_, Worker<U>>) -> bool {
        let reports: Vec<WorkerReport> = workers.iter_mut().take(active).map(|worker| worker.report).collect();
        let groups = 0..self.reached.len();
        if groups.clone().all(|group| is_balanced(&reports, group)) {
            return false;
        }
        let mut costs = vec![vec![0; self.worker_of_shard.len()]; groups.len()];
        for worker in workers.iter_mut() {
            worker.work.close();
            for slot in worker.work.iter_mut() {
                let group = usize::from(classes[usize::from(slot.class)].group);
                costs[group][self.shard_of[slot.id.index()] as usize] += slot.nanos;
            }
        }
        let mut improved = false;
        for costs in &costs {
            improved |= move_shards(costs, &mut self.worker_of_shard, active);
        }
        improved
    }
}

/// Sets the number of active workers that the coordinator has chosen, by retiring or reactivating workers.
fn rescale<U: Unit, D: Director<U>>(shared: &mut CoordinatedState<U, D>, workers: &mut Locals<'_, Worker<U>>) {
    let own = shared.coordinator.get_mut().unwrap_or_else(PoisonError::into_inner);
    let (before, now) = (shared.active, own.workers.count());
    if before != now {
        own.switch_placement(before, now);
        shared.active = now;
        workers.set_active(now);
    }
}

/// Moves shards to the workers that `worker_of_shard` assigns. All mailboxes must be empty.
fn balance<U: Unit, D: Director<U>>(shared: &mut CoordinatedState<U, D>, workers: &mut Locals<'_, Worker<U>>) {
    let own = shared.coordinator.get_mut().unwrap_or_else(PoisonError::into_inner);
    own.moves += 1;
    let mut slots: Vec<_> = workers.iter_mut().flat_map(|worker| worker.work.drain()).collect();
    slots.sort_by_key(|slot| slot.id);
    let worker_of = own.worker_of();
    for slot in slots {
        let worker = usize::from(worker_of[slot.id.index()]);
        workers.get_mut(worker).work.push(slot);
    }
    for worker in workers.iter_mut() {
        worker.index_slots(&shared.classes, &worker_of);
    }
}

/// Saves a checkpoint of the present cut. All messages must have been delivered.
fn save<U: Unit, D: Director<U>>(shared: &mut CoordinatedState<U, D>, workers: &mut Locals<'_, Worker<U>>) -> Result<(), EndReason> {
    let mut units: Vec<SavedUnit> = Vec::new();
    let (mut messages, mut late) = (0, LateMessages::default());
    for worker in workers.iter_mut() {
        messages += worker.messages;
        late.add(&worker.late);
        units.extend(worker.work.iter_mut().map(|slot| (slot.id, slot.next, EncodedState::of(&slot.unit))));
    }
    let (at, decisions) = (shared.last_cut, shared.decisions.clone());
    let own = shared.coordinator();
    let director = EncodedState::of(&own.director);
    if let Some(division) = &mut own.division {
        division.gather_states(&mut units, &mut messages, &mut late).map_err(EndReason::Failure)?;
        if division.ranks.rank() != 0 {
            return Ok(());
        }
    }
    units.sort_by_key(|(unit, ..)| *unit);
    let (events, delayed) = (own.events.clone(), own.delayed.clone());
    let saved = SavedRun::<U> { at, units, events, delayed, decisions, idle_cuts: own.idle_cuts, messages, late, director };
    match &mut own.checkpoints.store {
        Some(keep) => keep(at, EncodedState::of(&saved).into_bytes()).map_err(EndReason::Unsaved),
        None => Ok(()),
    }
}

fn deadlock_report(names: &[String], mut waiting: Vec<(UnitId, Vec<String>)>) -> String {
    waiting.sort_by_key(|(unit, _)| *unit);
    let mut report = String::from("nothing in the machine can proceed, but work is left:\n");
    for (unit, lines) in waiting {
        for line in lines {
            report.push_str(&format!("  {}: {line}\n", names[unit.index()]));
        }
    }
    report
}
