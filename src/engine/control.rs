//! The control step: what the last worker to arrive at the barrier does for all.
//!
//! It exchanges nothing that simulated time can see: it sets the bounds of the next epoch, makes cuts where the director
//! or an event asks for them, publishes decisions, balances shards, and ends the run.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use warpshard_sync::{Board, Locals, StopFlag, TrayGuest};

use crate::base::{ClockDomain, Cycle, Tick, UnitId};

use super::director::{Cut, Director, SeenEvent};
use super::placement::improve;
use super::plan::PlannedLink;
use super::worker::{Slot, TimeClass, Worker};
use super::{Unit, Work};

/// Host time of single units is measured in one epoch of this many, since reading the clock costs as much as an idle unit.
const MEASURE_EVERY: u64 = 4;
/// Epochs between two looks at the balance of the workers.
const BALANCE_EVERY: u64 = 16;
/// Measured host nanoseconds that a look at the balance is based on, at least.
const ENOUGH_NANOS: u64 = 1_000_000;
/// Host time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// Epochs between two looks at the host's clock and at failures.
const LOOK_EVERY: u64 = 64;
/// Cuts in a row that set nothing going before an idle machine counts as dead.
const PATIENCE: u32 = 1000;

/// What every worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Step units to the bounds.
    Run,
    /// Take messages in, so that units can change hands.
    Deliver,
    /// Settle at the cut and sample.
    Settle,
    /// Say what units wait for: the machine is dead.
    Explain,
    /// Leave.
    Stop,
}

/// Why the run ended, before the machine's own view of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// At a cut.
    Cut(StopReason),
    /// Nothing can happen any more, but work is left: the report.
    Deadlock(String),
    /// The director reported a failure.
    Failure(String),
}

/// Why a run ended at its last cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// A unit said that nothing is left to simulate.
    Ended,
    /// The cycle limit was reached.
    MaxCycles,
    /// The user interrupted the run.
    Interrupted,
}

/// Decisions with the units that they are for.
pub(super) type Decisions<U> = Vec<(UnitId, <U as Unit>::Decision)>;

/// Decisions with a number of their own.
pub(super) type Published<U> = (u64, Decisions<U>);

/// What all workers read in an epoch; written by the control step alone.
pub(super) struct Shared<U: Unit, D> {
    pub(super) step: Step,
    pub(super) epoch: u64,
    /// The cycle up to which the units of each class have come.
    pub(super) presents: Vec<Cycle>,
    /// The cycle up to which the epoch takes them, and the same as a global tick.
    pub(super) bounds: Vec<Cycle>,
    pub(super) limits: Vec<Tick>,
    pub(super) classes: Vec<TimeClass>,
    /// Where each worker offers its units to the others.
    pub(super) trays: Vec<TrayGuest<Slot<U>>>,
    /// Whether the host time of single units is measured in the epoch.
    pub(super) measured: bool,
    /// Whether workers go through their units from the last to the first: every other time, so that those whose state the host's
    /// caches still hold come first. Nobody in the machine can tell.
    pub(super) backwards: bool,
    /// Whether the director looks at the samples of the cut.
    pub(super) sampled: bool,
    pub(super) reference: ClockDomain,
    pub(super) last_cut: Cycle,
    pub(super) decisions: Board<Published<U>>,
    pub(super) skip: bool,
    pub(super) relaxed: bool,
    pub(super) links: Vec<PlannedLink>,
    pub(super) names: Vec<String>,
    /// Only the control step locks it; it has exclusive access and so never waits.
    pub(super) control: Mutex<Control<U, D>>,
}

/// The control step's own state.
pub(super) struct Control<U: Unit, D> {
    pub(super) director: D,
    pub(super) stop: StopFlag,
    pub(super) max_cycles: Option<Cycle>,
    /// Base ticks by which a group of units may go beyond every other one; alone, by which it goes in an epoch.
    pub(super) stride: u64,
    /// The global tick that each group has come to, or comes to in the current epoch.
    pub(super) reached: Vec<Tick>,
    /// Base ticks by which the last unit lags behind the first.
    pub(super) skew: u64,
    /// Base ticks from an event to its effect.
    pub(super) event_latency: u64,
    pub(super) decision_latency: u64,
    pub(super) events: Vec<(Cycle, SeenEvent)>,
    pub(super) delayed: Vec<(Cycle, Decisions<U>)>,
    pub(super) published: u64,
    pub(super) stop_at: Option<Cycle>,
    pub(super) ending: Option<Ending>,
    pub(super) idle_cuts: u32,
    pub(super) epochs: u64,
    pub(super) cuts: u64,
    pub(super) shard_of: Vec<u32>,
    pub(super) worker_of_shard: Vec<u16>,
    pub(super) looked: Instant,
}

/// Runs after every epoch, in the worker that arrived last.
pub(super) fn control_step<U: Unit, D: Director<U>>(shared: &mut Shared<U, D>, workers: &mut Locals<'_, Worker<U>>) {
    let Shared { step, control, .. } = shared;
    let control = control.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
    let done = *step;
    match done {
        Step::Run => after_run(shared, workers),
        Step::Deliver => {
            balance(shared, workers);
            shared.step = Step::Run;
            shared.epoch += 1;
        }
        Step::Settle => after_settle(shared, workers),
        Step::Explain => {
            let report = deadlock_report(&shared.names, workers);
            control.ending = Some(Ending::Deadlock(report));
            shared.step = Step::Stop;
        }
        Step::Stop => {}
    }
}

fn after_run<U: Unit, D: Director<U>>(shared: &mut Shared<U, D>, workers: &mut Locals<'_, Worker<U>>) {
    let period = shared.reference.period;
    shared.presents.iter_mut().zip(&shared.bounds).for_each(|(present, bound)| *present = (*present).max(*bound));
    let (mut sent, mut next) = (0, Tick::NEVER);
    let control = shared.control.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
    control.epochs += 1;
    for worker in workers.iter_mut() {
        sent += worker.sent;
        next = next.min(worker.next);
        for event in worker.events.drain(..) {
            if control.director.wants(event.kind) {
                let effect = Cycle((event.at.0 + control.event_latency).div_ceil(period));
                let at = Cycle(event.at.0 / period);
                let cut = shared.reference.tick(effect);
                let behind = |(present, class): (&Cycle, &TimeClass)| *present > class.clock.edge_at_or_after(cut);
                debug_assert!(!shared.presents.iter().zip(&shared.classes).any(behind), "an event at {at} takes effect in the past");
                control.events.push((effect, SeenEvent { unit: event.unit, at, kind: event.kind }));
            }
        }
    }
    if control.epochs.is_multiple_of(LOOK_EVERY) && control.looked.elapsed() >= PROGRESS_EVERY {
        control.looked = Instant::now();
        let mut work = Work::default();
        for worker in workers.iter_mut() {
            worker.tray.close();
            for part in worker.tray.iter_mut().map(|slot| slot.unit.progress()) {
                work.instructions += part.instructions;
                work.tasks += part.tasks;
            }
        }
        control.director.progress(Cycle(control.foremost().0 / period), work);
        if let Some(failure) = control.director.failure() {
            control.ending = Some(Ending::Failure(failure));
            shared.step = Step::Stop;
            return;
        }
    }
    if control.stop_at.is_none() && control.stop.requested() {
        control.stop_at = Some(Cycle(control.foremost().0.div_ceil(period)));
    }
    let idle = sent == 0 && next == Tick::NEVER;
    let wake = control.director.may_wake() && control.director.next_cut(shared.last_cut).is_some() && control.idle_cuts < PATIENCE;
    if idle && control.events.is_empty() && control.delayed.is_empty() && control.stop_at.is_none() && !wake {
        shared.step = Step::Explain;
        return;
    }
    control.idle_cuts = if idle { control.idle_cuts } else { 0 };
    if sent == 0 {
        control.reached.iter_mut().for_each(|reached| *reached = (*reached).max(next));
    }
    let look = workers.len() > 1 && control.epochs.is_multiple_of(BALANCE_EVERY);
    set_bounds(shared);
    let control = shared.control.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
    if look && shared.step == Step::Run && control.unbalanced(&shared.classes, workers) {
        shared.step = Step::Deliver;
    }
}

/// Lets the group that is furthest behind go on in the next epoch, or makes the cut that everybody has reached.
fn set_bounds<U: Unit, D: Director<U>>(shared: &mut Shared<U, D>) {
    let control = shared.control.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
    let cut = [
        control.max_cycles,
        control.stop_at,
        control.director.next_cut(shared.last_cut),
        control.events.iter().map(|(effect, _)| *effect).min(),
        control.delayed.iter().map(|(effect, _)| *effect).min(),
    ]
    .into_iter()
    .flatten()
    .min();
    let cut_tick = cut.map_or(Tick::NEVER, |cut| shared.reference.tick(cut));
    let horizon = cut_tick.0.saturating_add(control.skew);
    let groups = control.reached.len();
    let turn = (0..groups).min_by_key(|&group| control.reached[group]).unwrap_or(0);
    if control.reached[turn].0 >= horizon {
        shared.last_cut = cut.unwrap_or_default();
        shared.sampled = control.director.wants_samples();
        shared.step = Step::Settle;
        return;
    }
    // What others send from now on comes a stride behind where they are, and what the group itself sends goes through them.
    let own = control.reached[turn].0 + groups as u64 * control.stride;
    let others = (0..groups).filter(|&group| group != turn).map(|group| control.reached[group].0 + control.stride);
    let end = others.fold(own, u64::min).min(horizon);
    control.reached[turn] = Tick(end);
    let times = shared.bounds.iter_mut().zip(&mut shared.limits).zip(&shared.presents);
    for (((bound, limit), present), class) in times.zip(&shared.classes) {
        *bound = if usize::from(class.group) == turn {
            class.clock.edge_at_or_after(Tick(end.saturating_sub(class.offset).min(cut_tick.0)))
        } else {
            *present
        };
        *limit = class.global(*bound);
    }
    let round = control.epochs / groups as u64;
    shared.measured = round.is_multiple_of(MEASURE_EVERY);
    shared.backwards = round % 2 == 1;
    shared.step = Step::Run;
    shared.epoch += 1;
}

fn after_settle<U: Unit, D: Director<U>>(shared: &mut Shared<U, D>, workers: &mut Locals<'_, Worker<U>>) {
    let at = shared.last_cut;
    let mut samples: Vec<_> = workers.iter_mut().flat_map(|worker| worker.samples.drain(..)).collect();
    samples.sort_by_key(|(unit, _)| *unit);
    let samples: Vec<_> = samples.into_iter().map(|(_, sample)| sample).collect();
    let control = shared.control.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (present, class) in shared.presents.iter_mut().zip(&shared.classes) {
        *present = (*present).max(class.clock.edge_at_or_after(shared.reference.tick(at)));
    }
    control.cuts += 1;
    control.idle_cuts += 1;
    let mut events: Vec<SeenEvent> = control.events.extract_if(.., |(effect, _)| *effect <= at).map(|(_, event)| event).collect();
    events.sort_by_key(|event| (event.at, event.unit));
    let ended = control.director.is_over(&events);
    let reason = if ended {
        Some(StopReason::Ended)
    } else if control.max_cycles == Some(at) {
        Some(StopReason::MaxCycles)
    } else if control.stop_at == Some(at) {
        Some(StopReason::Interrupted)
    } else {
        None
    };
    let cut = Cut { at, samples: &samples, events: &events, last: reason.is_some() };
    let decisions = control.director.at_cut(&cut);
    if let Some(reason) = reason {
        control.ending = Some(match control.director.failure() {
            Some(failure) => Ending::Failure(failure),
            None => Ending::Cut(reason),
        });
        shared.step = Step::Stop;
        return;
    }
    if !decisions.is_empty() {
        control.delayed.push((at.after(control.decision_latency), decisions));
    }
    let due: Vec<_> = control.delayed.extract_if(.., |(effect, _)| *effect <= at).flat_map(|(_, decisions)| decisions).collect();
    if !due.is_empty() {
        control.published += 1;
        shared.decisions.publish(at.0, (control.published, due));
    }
    control.reached.fill(shared.reference.tick(at));
    set_bounds(shared);
}

impl<U: Unit, D> Control<U, D> {
    /// The global tick that the foremost group has come to.
    fn foremost(&self) -> Tick {
        self.reached.iter().copied().max().unwrap_or_default()
    }

    /// Whether measured host time says that shards should change hands; if so, `worker_of_shard` is as it should be. Each group
    /// is balanced for itself, since it is stepped by itself.
    fn unbalanced(&mut self, classes: &[TimeClass], workers: &mut Locals<'_, Worker<U>>) -> bool {
        let mut costs = vec![vec![0; self.worker_of_shard.len()]; self.reached.len()];
        for worker in workers.iter_mut() {
            worker.tray.close();
            for slot in worker.tray.iter_mut() {
                let group = usize::from(classes[usize::from(slot.class)].group);
                costs[group][self.shard_of[slot.id.index()] as usize] += slot.nanos;
            }
        }
        if costs.iter().flatten().sum::<u64>() < ENOUGH_NANOS {
            return false;
        }
        let mut improved = false;
        for costs in &costs {
            improved |= improve(costs, &mut self.worker_of_shard, workers.len());
        }
        for slot in workers.iter_mut().flat_map(|worker| worker.tray.iter_mut()) {
            // What was measured last counts most, but one disturbed measurement alone moves nothing.
            slot.all_nanos += slot.nanos - slot.nanos / 2;
            slot.nanos /= 2;
        }
        improved
    }
}

/// Moves shards to the workers that they are to be at. All mailboxes are empty.
fn balance<U: Unit, D: Director<U>>(shared: &mut Shared<U, D>, workers: &mut Locals<'_, Worker<U>>) {
    let control = shared.control.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut slots: Vec<_> = workers.iter_mut().flat_map(|worker| worker.tray.drain()).collect();
    slots.sort_by_key(|slot| slot.id);
    let worker_of: Vec<u16> = control.shard_of.iter().map(|&shard| control.worker_of_shard[shard as usize]).collect();
    for slot in slots {
        let worker = usize::from(worker_of[slot.id.index()]);
        workers.get_mut(worker).tray.push(slot);
    }
    for worker in workers.iter_mut() {
        worker.index_slots(&shared.classes, &worker_of);
    }
}

fn deadlock_report<U: Unit>(names: &[String], workers: &mut Locals<'_, Worker<U>>) -> String {
    let mut waiting: Vec<_> = workers.iter_mut().flat_map(|worker| worker.waiting.drain(..)).collect();
    waiting.sort_by_key(|(unit, _)| *unit);
    let mut report = String::from("nothing in the machine can go on, but work is left:\n");
    for (unit, lines) in waiting {
        for line in lines {
            report.push_str(&format!("  {}: {line}\n", names[unit.index()]));
        }
    }
    report
}
