//! A worker and its part of an epoch: deliver messages, step units, send messages.
//!
//! A worker's units are the items of its work list. The worker offers the due units of an epoch there, and a worker that has finished its
//! own units steals units from others. The choice of the worker that steps a unit has no effect on simulated behaviour, since all messages
//! of a unit in an epoch keep their order and become visible in the next epoch.

use std::time::{Duration, Instant};

use warpshard_base::{Cycle, Tick, UnitId};
use warpshard_stats::LateMessages;
use warpshard_sync::{Receiver, Sender, WorkOwner};

use super::Unit;
use super::agenda::Agenda;
use super::log::{LoggedMessage, MessageLog};
use super::outbox::{Event, Outbox, SentMessage};
use super::placement::{MIN_OFFERED_UNITS, units_left_to_owner};
use super::ranks::{read_messages, write_messages};
use super::shared::{SharedState, TimeClass, UnitSlot};

/// Initial capacity of lists of counter values; most units have fewer counters.
const TYPICAL_COUNTERS: usize = 128;

/// Marks a unit that another rank steps; used instead of the number of a worker.
pub(super) const REMOTE_WORKER: u16 = u16::MAX;

/// The messages from one worker to one unit in an epoch.
type Messages<U> = Vec<SentMessage<<U as Unit>::Payload>>;

/// The messages from one worker to the units of another worker in an epoch.
pub(super) struct WorkerTransfer<U: Unit> {
    /// The messages to each unit, indexed by the receiver's slots.
    messages: Vec<Messages<U>>,
    /// Slots of the units that have messages.
    filled: Vec<u32>,
}

impl<U: Unit> Default for WorkerTransfer<U> {
    fn default() -> Self {
        Self { messages: Vec::new(), filled: Vec::new() }
    }
}

/// The worker that owns a unit, and the unit's slot in that worker; for a unit of another rank, [`REMOTE_WORKER`] and the rank.
#[derive(Clone, Copy, Debug, Default)]
struct Assignment {
    worker: u16,
    slot_index: u16,
}

/// A worker's report of an epoch, which the coordinator reads between two epochs while all workers wait. It fits one cache line, since the
/// line comes from another core.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct WorkerReport {
    /// Messages sent.
    pub(super) sent: u64,
    /// Earliest next event, in global ticks, of the units that the worker stepped and of its own units that no worker stepped.
    pub(super) next: Tick,
    /// Total busy host nanoseconds of the worker.
    pub(super) busy_nanos: u64,
    /// Number of the worker's own units that were due.
    pub(super) due: u32,
    /// True if units reported events.
    pub(super) has_events: bool,
    /// Measured host nanoseconds of the worker's units, by group; updated in epochs that sum the costs.
    pub(super) load: [u64; 2],
    /// Number of units in `load`, by group.
    pub(super) weighed_units: [u32; 2],
}

const _: () = assert!(size_of::<WorkerReport>() == 64);

impl Default for WorkerReport {
    fn default() -> Self {
        Self { sent: 0, next: Tick::NEVER, busy_nanos: 0, due: 0, has_events: false, load: [0; 2], weighed_units: [0; 2] }
    }
}

/// A worker's share of the machine and its report to the coordinator.
pub(super) struct Worker<U: Unit> {
    index: usize,
    pub(super) work: WorkOwner<UnitSlot<U>>,
    agenda: Agenda,
    /// Slots of the units that were due in the last epoch; the work list has their next events, the agenda does not.
    due: Vec<u32>,
    /// Slots of the units with long steps, which the worker steps itself before it offers the other units.
    long: Vec<u32>,
    offered: Vec<u32>,
    /// Slot of each unit that the worker owns.
    slot_index: Vec<u32>,
    /// Messages and events of the units that the worker steps, with a batch per unit of the machine.
    outbox: Outbox<U::Payload, U::Event>,
    /// The owner of each unit of the machine, and the number of units of each worker.
    assignments: Vec<Assignment>,
    owned: Vec<u16>,
    /// The rank of each unit, if there are several ranks.
    rank_of: Vec<u16>,
    /// Encoded messages to the units of each other rank.
    pub(super) to_ranks: Vec<Vec<u8>>,
    /// Decoded messages of another rank to one unit.
    received: Messages<U>,
    /// Mailboxes to and from each worker, each for one transfer at a time.
    senders: Vec<Sender<WorkerTransfer<U>>>,
    receivers: Vec<Receiver<WorkerTransfer<U>>>,
    pub(super) log: Option<MessageLog<U::Payload>>,
    /// Host time of delivering and sending messages in the last measured epoch.
    pub(super) exchanging: Duration,
    /// Host time of stepping units in the last measured epoch.
    pub(super) stepping: Duration,
    /// Messages on each link; empty if they are not counted.
    pub(super) traffic: Vec<u64>,
    pub(super) report: WorkerReport,
    pub(super) events: Vec<Event<U::Event>>,
    /// Total number of sent messages.
    pub(super) messages: u64,
    /// Total number of stolen units, which the worker stepped for other workers.
    pub(super) taken: u64,
    /// Values of the counters of the worker's units at the cut, by unit.
    pub(super) counters: Vec<(UnitId, Vec<u64>)>,
    /// Progress of the tasks of the worker's units at the cut, by unit.
    pub(super) tasks: Vec<(UnitId, Vec<u64>)>,
    pub(super) waiting: Vec<(UnitId, Vec<String>)>,
    pub(super) late: LateMessages,
    pub(super) wait_time: Duration,
    /// Number of waits at the barrier in which the thread slept.
    pub(super) sleeps: u64,
    /// Mean host nanoseconds per step in the last measured epoch.
    step_nanos: u64,
}

impl<U: Unit> Worker<U> {
    /// Creates worker `index`, without units, for a machine of `units` units.
    pub(super) fn new(
        index: usize,
        units: usize,
        work: WorkOwner<UnitSlot<U>>,
        outbox: Outbox<U::Payload, U::Event>,
        senders: Vec<Sender<WorkerTransfer<U>>>,
        receivers: Vec<Receiver<WorkerTransfer<U>>>,
        log: bool,
    ) -> Self {
        Self {
            index,
            work,
            agenda: Agenda::default(),
            due: Vec::new(),
            long: Vec::new(),
            offered: Vec::new(),
            slot_index: vec![u32::MAX; units],
            outbox,
            assignments: vec![Assignment::default(); units],
            owned: vec![0; senders.len()],
            rank_of: Vec::new(),
            to_ranks: Vec::new(),
            received: Vec::new(),
            senders,
            receivers,
            log: log.then(MessageLog::default),
            exchanging: Duration::ZERO,
            stepping: Duration::ZERO,
            traffic: Vec::new(),
            report: WorkerReport::default(),
            events: Vec::new(),
            messages: 0,
            taken: 0,
            counters: Vec::new(),
            tasks: Vec::new(),
            waiting: Vec::new(),
            late: LateMessages::default(),
            wait_time: Duration::ZERO,
            sleeps: 0,
            step_nanos: 0,
        }
    }

    /// Prepares the worker for a run with several ranks; `rank_of` is the rank of each unit.
    pub(super) fn in_ranks(&mut self, ranks: usize, rank_of: &[u16]) {
        self.to_ranks = vec![Vec::new(); ranks];
        self.rank_of = rank_of.to_vec();
    }

    /// Rebuilds the slot tables after units have moved; worker `worker_of[unit]` owns the unit, and each worker holds its units in
    /// ascending order.
    pub(super) fn index_slots(&mut self, classes: &[TimeClass], worker_of: &[u16]) {
        self.slot_index.fill(u32::MAX);
        self.due.clear();
        // A retired worker has no units until it is active again.
        (self.report.due, self.report.load, self.report.weighed_units) = Default::default();
        self.long.clear();
        let mut entries = Vec::with_capacity(self.work.len());
        for (index, slot) in self.work.iter_mut().enumerate() {
            self.slot_index[slot.id.index()] = index as u32;
            if slot.long {
                self.long.push(index as u32);
            }
            entries.push((slot.class, classes[usize::from(slot.class)].global(slot.next)));
        }
        self.agenda.reset(entries.into_iter());
        self.owned.fill(0);
        for (unit, (assignment, &worker)) in self.assignments.iter_mut().zip(worker_of).enumerate() {
            if worker == REMOTE_WORKER {
                *assignment = Assignment { worker, slot_index: self.rank_of[unit] };
                continue;
            }
            let owned = &mut self.owned[usize::from(worker)];
            *assignment = Assignment { worker, slot_index: *owned };
            *owned += 1;
        }
    }

    /// Closes the offer of the worker's units, and enters the next events of stepped units into the agenda.
    fn close_offer<C>(&mut self, shared: &SharedState<U, C>) {
        self.work.close();
        for slot_index in self.due.drain(..) {
            let slot = self.work.get_mut(slot_index as usize);
            self.agenda.set(slot_index as usize, shared.classes[usize::from(slot.class)].global(slot.next));
        }
    }

    /// Delivers the messages of the previous epoch.
    pub(super) fn receive<C>(&mut self, shared: &SharedState<U, C>) {
        self.close_offer(shared);
        let Self { work, agenda, receivers, log, late, .. } = self;
        for receiver in receivers {
            receiver.empty(shared.epoch, |transfer| {
                let Some(WorkerTransfer { messages, filled }) = transfer.first_mut() else { return };
                for slot_index in filled.drain(..).map(|slot_index| slot_index as usize) {
                    let to_unit = &mut messages[slot_index];
                    let slot = work.get_mut(slot_index);
                    let class = usize::from(slot.class);
                    let first = deliver(&mut slot.unit, to_unit, shared.presents[class], shared.classes[class], shared, log, late);
                    if first < slot.next {
                        slot.next = first;
                        agenda.lower(slot_index, shared.classes[class].global(first));
                    }
                    to_unit.clear();
                }
            });
        }
        let (slot_index, messages) = (&self.slot_index, &mut self.received);
        for bytes in &shared.from_ranks {
            let own = |unit: UnitId| slot_index[unit.index()] != u32::MAX;
            read_messages::<U>(bytes, messages, own, |unit, messages| {
                let slot_index = slot_index[unit.index()] as usize;
                let slot = work.get_mut(slot_index);
                let class = usize::from(slot.class);
                let first = deliver(&mut slot.unit, messages, shared.presents[class], shared.classes[class], shared, log, late);
                if first < slot.next {
                    slot.next = first;
                    agenda.lower(slot_index, shared.classes[class].global(first));
                }
            });
        }
    }

    /// Applies the decisions that take effect at the beginning of this epoch to the worker's units.
    fn apply<C>(&mut self, shared: &SharedState<U, C>) {
        for (unit, decision) in &shared.decisions {
            let slot_index = self.slot_index[unit.index()];
            if slot_index != u32::MAX {
                let slot = self.work.get_mut(slot_index as usize);
                slot.unit.apply(shared.presents[usize::from(slot.class)], decision);
                slot.next = slot.unit.next_event();
                self.agenda.set(slot_index as usize, shared.classes[usize::from(slot.class)].global(slot.next));
            }
        }
    }

    /// Steps the worker's units up to their bounds, then steals units of other workers that have not been stepped yet.
    pub(super) fn run<C>(&mut self, shared: &SharedState<U, C>) {
        let began = shared.measured.then(Instant::now);
        self.receive(shared);
        self.apply(shared);
        let mut next = self.agenda.due(&shared.limits, &mut self.due);
        if !shared.skip {
            self.due.clear();
            self.due.extend(0..self.work.len() as u32);
            next = Tick::NEVER;
        }
        self.report.due = self.due.len() as u32;
        if shared.sums_costs || shared.halves_costs {
            self.weigh(shared);
        }
        if shared.backwards {
            self.due.reverse();
        }
        let mut stepper = UnitStepper { shared, outbox: &mut self.outbox, next, steps: 0, mark: shared.measured.then(Instant::now) };
        let first = stepper.mark;
        let before = began.zip(stepper.mark).map(|(began, mark)| mark - began);
        if shared.active == 1 || self.due.len() < MIN_OFFERED_UNITS {
            for (i, &slot_index) in self.due.iter().enumerate() {
                if let Some(&far) = self.due.get(i + 2) {
                    self.work.get_mut(far as usize).unit.prefetch(false);
                }
                if let Some(&near) = self.due.get(i + 1) {
                    self.work.get_mut(near as usize).unit.prefetch(true);
                }
                stepper.step(self.work.get_mut(slot_index as usize), false);
            }
        } else {
            // A long unit that started last would keep this worker busy while all other workers wait.
            for slot_index in self.long.iter().filter(|slot_index| self.due.contains(slot_index)) {
                stepper.step(self.work.get_mut(*slot_index as usize), false);
            }
            self.offered.clear();
            self.offered.extend(self.due.iter().filter(|slot_index| !self.long.contains(slot_index)));
            self.work.offer(&self.offered);
            while let Some(mut slot) = self.work.take() {
                slot.unit.prefetch(false);
                slot.unit.prefetch(true);
                stepper.step(&mut slot, false);
            }
        }
        let leave = units_left_to_owner(self.step_nanos) as u64;
        for distance in 1..shared.active {
            let other = &shared.stealers[(self.index + distance) % shared.active];
            while other.remaining() > leave
                && let Some(mut slot) = other.steal()
            {
                stepper.step(&mut slot, true);
                self.taken += 1;
            }
        }
        self.report.next = stepper.next;
        let stepped = stepper.mark;
        if let (Some(first), Some(last)) = (first, stepped) {
            self.stepping = last - first;
            self.step_nanos = self.stepping.as_nanos() as u64 / stepper.steps.max(1);
        }
        self.send(shared);
        if let (Some(before), Some(stepped)) = (before, stepped) {
            self.exchanging = before + stepped.elapsed();
        }
    }

    /// Sends the messages of this epoch to the workers that own the receiving units.
    fn send<C>(&mut self, shared: &SharedState<U, C>) {
        let mut sent = 0;
        let Self { outbox, assignments, owned, senders, log, traffic, .. } = self;
        let (units, batches) = outbox.filled_batches();
        for (worker, sender) in senders.iter_mut().enumerate() {
            let of_worker = |unit: &usize| usize::from(assignments[*unit].worker) == worker;
            let mut to_worker = units.iter().map(|&unit| usize::from(unit)).filter(of_worker).peekable();
            if to_worker.peek().is_none() {
                continue;
            }
            sender.fill(shared.epoch, |transfer| {
                transfer.resize_with(1, WorkerTransfer::default);
                let WorkerTransfer { messages, filled } = &mut transfer[0];
                messages.resize_with(usize::from(owned[worker]), Vec::new);
                for unit in to_worker {
                    let slot_index = assignments[unit].slot_index;
                    let to_unit = &mut messages[usize::from(slot_index)];
                    batches.get_mut(unit as u32).collect(to_unit);
                    sent += to_unit.len() as u64;
                    if let Some(log) = log {
                        let logged = |sent: &SentMessage<U::Payload>| LoggedMessage {
                            link: sent.link,
                            at: u64::from(sent.at),
                            payload: sent.payload,
                        };
                        log.sent.extend(to_unit.iter().map(logged));
                    }
                    if !traffic.is_empty() {
                        to_unit.iter().for_each(|sent| traffic[sent.link.index()] += 1);
                    }
                    filled.push(u32::from(slot_index));
                }
            });
        }
        if !self.to_ranks.is_empty() {
            let mut messages = Vec::new();
            for &unit in units.iter().filter(|unit| assignments[usize::from(**unit)].worker == REMOTE_WORKER) {
                batches.get_mut(u32::from(unit)).collect(&mut messages);
                sent += messages.len() as u64;
                let rank = usize::from(assignments[usize::from(unit)].slot_index);
                write_messages::<U>(unit, &messages, &mut self.to_ranks[rank]);
                messages.clear();
            }
        }
        units.clear();
        self.messages += sent;
        self.report.sent = sent;
        self.events.append(self.outbox.events());
        self.report.has_events = !self.events.is_empty();
    }

    /// Sums the costs of the worker's units; halves their weight first if the epoch requests it.
    fn weigh<C>(&mut self, shared: &SharedState<U, C>) {
        let WorkerReport { load, weighed_units, .. } = &mut self.report;
        (*load, *weighed_units) = Default::default();
        for slot in self.work.iter_mut().filter(|slot| slot.nanos > 0) {
            let group = usize::from(shared.classes[usize::from(slot.class)].group);
            if shared.halves_costs {
                // The last measurement has the largest weight, but one disturbed measurement alone moves no shard.
                slot.decayed_nanos += slot.nanos - slot.nanos / 2;
                slot.nanos /= 2;
            }
            load[group] += slot.nanos;
            weighed_units[group] += 1;
        }
    }

    /// Settles all units at the cut and, if the director requests them, reads their counters and the progress of their tasks.
    pub(super) fn settle<C>(&mut self, shared: &SharedState<U, C>) {
        self.close_offer(shared);
        self.counters.clear();
        self.tasks.clear();
        let tick = shared.reference.tick(shared.last_cut);
        for slot in self.work.iter_mut() {
            let at = shared.classes[usize::from(slot.class)].clock.edge_at_or_after(tick);
            slot.unit.settle(at);
            if shared.reads_counters {
                let mut values = Vec::with_capacity(TYPICAL_COUNTERS);
                slot.unit.visit_counters(&mut values);
                self.counters.push((slot.id, values));
            }
            if shared.reads_tasks {
                let mut values = Vec::new();
                slot.unit.visit_tasks(&mut values);
                self.tasks.push((slot.id, values));
            }
        }
    }

    /// Returns the present counters of the worker's units, without time spans that are still open.
    pub(super) fn present_counters(&mut self) -> Vec<(UnitId, Vec<u64>)> {
        let values = |slot: &mut UnitSlot<U>| {
            let mut values = Vec::with_capacity(TYPICAL_COUNTERS);
            slot.unit.visit_counters(&mut values);
            (slot.id, values)
        };
        self.work.iter_mut().map(values).collect()
    }

    /// Returns the wait reasons of the worker's units.
    pub(super) fn wait_reasons(&mut self) -> Vec<(UnitId, Vec<String>)> {
        self.work.iter_mut().map(|slot| (slot.id, slot.unit.waiting())).collect()
    }

    /// Collects the wait reasons of every unit of the worker.
    pub(super) fn collect_wait_reasons(&mut self) {
        self.work.close();
        self.waiting = self.work.iter_mut().map(|slot| (slot.id, slot.unit.waiting())).collect();
    }
}

/// Steps units one after another.
struct UnitStepper<'a, U: Unit, C> {
    shared: &'a SharedState<U, C>,
    outbox: &'a mut Outbox<U::Payload, U::Event>,
    next: Tick,
    /// Number of stepped units.
    steps: u64,
    /// Host time at which the last unit was done, in a measured epoch.
    mark: Option<Instant>,
}

impl<U: Unit, C> UnitStepper<'_, U, C> {
    #[inline]
    fn step(&mut self, slot: &mut UnitSlot<U>, taken: bool) {
        let shared = self.shared;
        let class = usize::from(slot.class);
        let until = shared.bounds[class];
        if until > shared.presents[class] {
            self.outbox.set_sender(slot.id, shared.classes[class].clock);
            slot.unit.run(until, shared.skip, self.outbox);
            slot.next = slot.unit.next_event();
            self.steps += 1;
            if let Some(mark) = &mut self.mark {
                let now = Instant::now();
                slot.nanos += (now - *mark).as_nanos() as u64;
                slot.taken = taken;
                *mark = now;
            }
        }
        self.next = self.next.min(shared.classes[class].global(slot.next));
    }
}

/// Delivers messages to a unit whose present cycle is `present`; returns the cycle of the first arrival.
#[inline]
fn deliver<U: Unit, C>(
    unit: &mut U,
    messages: &[SentMessage<U::Payload>],
    present: Cycle,
    class: TimeClass,
    shared: &SharedState<U, C>,
    log: &mut Option<MessageLog<U::Payload>>,
    late: &mut LateMessages,
) -> Cycle {
    if let Some(log) = log {
        let arrival = |sent: &SentMessage<U::Payload>| sent.arrival(present).max(present).0;
        log.delivered.extend(messages.iter().map(|sent| LoggedMessage { link: sent.link, at: arrival(sent), payload: sent.payload }));
    }
    let mut first = Cycle::NEVER;
    unit.deliver_all(messages, |sent| {
        let mut at = sent.arrival(present);
        if at < present {
            at = arrive_late(shared, sent, at, present, class, late);
        }
        first = first.min(at);
        at
    });
    first
}

/// Returns the arrival cycle of a message that is late: the receiver's present cycle. Only a relaxed run allows late messages.
#[cold]
fn arrive_late<U: Unit, C>(
    shared: &SharedState<U, C>,
    sent: &SentMessage<U::Payload>,
    at: Cycle,
    present: Cycle,
    class: TimeClass,
    late: &mut LateMessages,
) -> Cycle {
    let link = &shared.links[sent.link.index()];
    assert!(
        shared.relaxed,
        "a message into the past: {} sent {:?} to {} for {at}, but the receiver is already at {present}",
        shared.names[link.from.index()],
        sent.payload,
        shared.names[link.to.index()],
    );
    let by = class.clock.tick(Cycle(present.0 - at.0));
    late.note(shared.reference.edge_at_or_after(by).0);
    present
}
