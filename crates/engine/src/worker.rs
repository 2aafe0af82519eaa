//! What one worker owns and does in an epoch: deliver messages, step units, hand messages on.
//!
//! A worker's units are the items of its work list. Those that have something to do in an epoch are offered there, and a worker that has
//! finished its own takes some of another's. Which worker steps a unit has no effect on anything simulated, since all messages of
//! a unit in an epoch leave in their order and become visible in the next epoch.

use std::time::{Duration, Instant};

use warpshard_base::{Cycle, Tick, UnitId};
use warpshard_stats::LateMessages;
use warpshard_sync::{Receiver, Sender, WorkOwner};

use super::Unit;
use super::agenda::Agenda;
use super::log::{Logged, MessageLog};
use super::outbox::{Event, Outbox, Sent};
use super::placement::{WORTH_OFFERING, left_to_owner};
use super::ranks::{read_messages, write_messages};
use super::shared::{Shared, Slot, TimeClass};

/// Counters that most units have; lists of values start with room for so many.
const TYPICAL_COUNTERS: usize = 128;

/// Stands for the worker of a unit that another rank steps.
pub(super) const REMOTE: u16 = u16::MAX;

/// All messages from one worker to one unit in an epoch.
type Messages<U> = Vec<Sent<<U as Unit>::Payload>>;

/// All messages from one worker to the units of another in an epoch.
pub(super) struct Transfer<U: Unit> {
    /// The messages to each unit, by place.
    messages: Vec<Messages<U>>,
    /// Places of the units that have messages.
    filled: Vec<u32>,
}

impl<U: Unit> Default for Transfer<U> {
    fn default() -> Self {
        Self { messages: Vec::new(), filled: Vec::new() }
    }
}

/// The worker that owns a unit, and the unit's place among those that it owns; [`REMOTE`] and the rank, where another rank steps it.
#[derive(Clone, Copy, Debug, Default)]
struct Assignment {
    worker: u16,
    place: u16,
}

/// What a worker did in an epoch, as the coordinator reads it of every worker between two epochs while all wait: one cache line, since it
/// comes from another core.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Report {
    /// Messages sent.
    pub(super) sent: u64,
    /// Least next event of the units that it stepped and of its own units that no worker stepped, in global ticks.
    pub(super) next: Tick,
    /// Host nanoseconds that it has spent busy in all.
    pub(super) busy_nanos: u64,
    /// Units of its own that were due.
    pub(super) due: u32,
    /// Whether units reported events.
    pub(super) has_events: bool,
    /// Measured host nanoseconds of its units, by group, in an epoch in which workers weigh them.
    pub(super) load: [u64; 2],
    /// How many units they are of.
    pub(super) weighed: [u32; 2],
}

const _: () = assert!(size_of::<Report>() == 64);

impl Default for Report {
    fn default() -> Self {
        Self { sent: 0, next: Tick::NEVER, busy_nanos: 0, due: 0, has_events: false, load: [0; 2], weighed: [0; 2] }
    }
}

/// One worker's share of the machine and its report to the coordinator.
pub(super) struct Worker<U: Unit> {
    index: usize,
    pub(super) work: WorkOwner<Slot<U>>,
    agenda: Agenda,
    /// Places of the units that were due in the last epoch; their next events are in the list, not yet in the agenda.
    due: Vec<u32>,
    /// Places of the units that take long, which the worker steps itself before it offers the others.
    long: Vec<u32>,
    offered: Vec<u32>,
    /// Place of each unit that the worker owns.
    place: Vec<u32>,
    /// What its units and those that it takes over send, in a batch per unit of the machine.
    outbox: Outbox<U::Payload, U::Event>,
    /// Who owns each unit of the machine, and how many units each worker owns.
    assignments: Vec<Assignment>,
    owned: Vec<u16>,
    /// The rank of each unit, where there are several.
    rank_of: Vec<u16>,
    /// Messages to the units of each other rank, encoded.
    pub(super) to_ranks: Vec<Vec<u8>>,
    /// Messages of another rank to one unit, decoded.
    came: Messages<U>,
    /// To and from each worker, one transfer at a time.
    senders: Vec<Sender<Transfer<U>>>,
    receivers: Vec<Receiver<Transfer<U>>>,
    pub(super) log: Option<MessageLog<U::Payload>>,
    /// Host time of delivering and handing on messages in the last epoch, where the time of units is measured.
    pub(super) exchanging: Duration,
    /// Host time of stepping units in that epoch.
    pub(super) stepping: Duration,
    /// Messages on each link, where they are counted.
    pub(super) traffic: Vec<u64>,
    pub(super) report: Report,
    pub(super) events: Vec<Event<U::Event>>,
    /// Messages sent in all.
    pub(super) messages: u64,
    /// Units of others that it stepped, in all.
    pub(super) taken: u64,
    /// The values of the counters of its units at the cut, by unit.
    pub(super) counters: Vec<(UnitId, Vec<u64>)>,
    /// How far their tasks are, likewise.
    pub(super) tasks: Vec<(UnitId, Vec<u64>)>,
    pub(super) waiting: Vec<(UnitId, Vec<String>)>,
    pub(super) late: LateMessages,
    pub(super) waited: Duration,
    /// Waits at the barrier that slept.
    pub(super) sleeps: u64,
    /// Mean host nanoseconds of a step, in the last epoch in which it was measured.
    step_nanos: u64,
}

impl<U: Unit> Worker<U> {
    /// Worker `index`, still without units, of a machine of `units` units.
    pub(super) fn new(
        index: usize,
        units: usize,
        work: WorkOwner<Slot<U>>,
        outbox: Outbox<U::Payload, U::Event>,
        senders: Vec<Sender<Transfer<U>>>,
        receivers: Vec<Receiver<Transfer<U>>>,
        log: bool,
    ) -> Self {
        Self {
            index,
            work,
            agenda: Agenda::default(),
            due: Vec::new(),
            long: Vec::new(),
            offered: Vec::new(),
            place: vec![u32::MAX; units],
            outbox,
            assignments: vec![Assignment::default(); units],
            owned: vec![0; senders.len()],
            rank_of: Vec::new(),
            to_ranks: Vec::new(),
            came: Vec::new(),
            senders,
            receivers,
            log: log.then(MessageLog::default),
            exchanging: Duration::ZERO,
            stepping: Duration::ZERO,
            traffic: Vec::new(),
            report: Report::default(),
            events: Vec::new(),
            messages: 0,
            taken: 0,
            counters: Vec::new(),
            tasks: Vec::new(),
            waiting: Vec::new(),
            late: LateMessages::default(),
            waited: Duration::ZERO,
            sleeps: 0,
            step_nanos: 0,
        }
    }

    /// One of several ranks, which step the units that `rank_of` says.
    pub(super) fn in_ranks(&mut self, ranks: usize, rank_of: &[u16]) {
        self.to_ranks = vec![Vec::new(); ranks];
        self.rank_of = rank_of.to_vec();
    }

    /// Fills the tables by place after units have moved; worker `worker_of[unit]` owns that unit, and each worker holds its units in
    /// ascending order.
    pub(super) fn index_slots(&mut self, classes: &[TimeClass], worker_of: &[u16]) {
        self.place.fill(u32::MAX);
        self.due.clear();
        // A worker that is retired has no units until it is active again.
        (self.report.due, self.report.load, self.report.weighed) = Default::default();
        self.long.clear();
        let mut entries = Vec::with_capacity(self.work.len());
        for (index, slot) in self.work.iter_mut().enumerate() {
            self.place[slot.id.index()] = index as u32;
            if slot.long {
                self.long.push(index as u32);
            }
            entries.push((slot.class, classes[usize::from(slot.class)].global(slot.next)));
        }
        self.agenda.reset(entries.into_iter());
        self.owned.fill(0);
        for (unit, (assignment, &worker)) in self.assignments.iter_mut().zip(worker_of).enumerate() {
            if worker == REMOTE {
                *assignment = Assignment { worker, place: self.rank_of[unit] };
                continue;
            }
            let owned = &mut self.owned[usize::from(worker)];
            *assignment = Assignment { worker, place: *owned };
            *owned += 1;
        }
    }

    /// Ends the offer of its units, and enters the next events of those that were stepped into the agenda.
    fn take_back<C>(&mut self, shared: &Shared<U, C>) {
        self.work.close();
        for place in self.due.drain(..) {
            let slot = self.work.get_mut(place as usize);
            self.agenda.set(place as usize, shared.classes[usize::from(slot.class)].global(slot.next));
        }
    }

    /// Delivers what was sent in the epoch before.
    pub(super) fn receive<C>(&mut self, shared: &Shared<U, C>) {
        self.take_back(shared);
        let Self { work, agenda, receivers, log, late, .. } = self;
        for receiver in receivers {
            receiver.empty(shared.epoch, |transfer| {
                let Some(Transfer { messages, filled }) = transfer.first_mut() else { return };
                for place in filled.drain(..).map(|place| place as usize) {
                    let to_unit = &mut messages[place];
                    let slot = work.get_mut(place);
                    let class = usize::from(slot.class);
                    let first = deliver(&mut slot.unit, to_unit, shared.presents[class], shared.classes[class], shared, log, late);
                    if first < slot.next {
                        slot.next = first;
                        agenda.lower(place, shared.classes[class].global(first));
                    }
                    to_unit.clear();
                }
            });
        }
        let (place, messages) = (&self.place, &mut self.came);
        for bytes in &shared.from_ranks {
            let own = |unit: UnitId| place[unit.index()] != u32::MAX;
            read_messages::<U>(bytes, messages, own, |unit, messages| {
                let place = place[unit.index()] as usize;
                let slot = work.get_mut(place);
                let class = usize::from(slot.class);
                let first = deliver(&mut slot.unit, messages, shared.presents[class], shared.classes[class], shared, log, late);
                if first < slot.next {
                    slot.next = first;
                    agenda.lower(place, shared.classes[class].global(first));
                }
            });
        }
    }

    /// Applies the decisions that take effect now, to its own units.
    fn apply<C>(&mut self, shared: &Shared<U, C>) {
        for (unit, decision) in &shared.decisions {
            let place = self.place[unit.index()];
            if place != u32::MAX {
                let slot = self.work.get_mut(place as usize);
                slot.unit.apply(shared.presents[usize::from(slot.class)], decision);
                slot.next = slot.unit.next_event();
                self.agenda.set(place as usize, shared.classes[usize::from(slot.class)].global(slot.next));
            }
        }
    }

    /// Steps its units up to their bounds, then units of other workers that have not been stepped yet.
    pub(super) fn run<C>(&mut self, shared: &Shared<U, C>) {
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
        if shared.weighs || shared.forgets {
            self.weigh(shared);
        }
        if shared.backwards {
            self.due.reverse();
        }
        let mut stepper = Stepper { shared, outbox: &mut self.outbox, next, steps: 0, mark: shared.measured.then(Instant::now) };
        let first = stepper.mark;
        let before = began.zip(stepper.mark).map(|(began, mark)| mark - began);
        if shared.active == 1 || self.due.len() < WORTH_OFFERING {
            for (i, &place) in self.due.iter().enumerate() {
                if let Some(&far) = self.due.get(i + 2) {
                    self.work.get_mut(far as usize).unit.prefetch(false);
                }
                if let Some(&near) = self.due.get(i + 1) {
                    self.work.get_mut(near as usize).unit.prefetch(true);
                }
                stepper.step(self.work.get_mut(place as usize), false);
            }
        } else {
            // Begun last, a long unit would keep this worker busy while all others wait.
            for place in self.long.iter().filter(|place| self.due.contains(place)) {
                stepper.step(self.work.get_mut(*place as usize), false);
            }
            self.offered.clear();
            self.offered.extend(self.due.iter().filter(|place| !self.long.contains(place)));
            self.work.offer(&self.offered);
            while let Some(mut slot) = self.work.take() {
                slot.unit.prefetch(false);
                slot.unit.prefetch(true);
                stepper.step(&mut slot, false);
            }
        }
        let leave = left_to_owner(self.step_nanos) as u64;
        for distance in 1..shared.active {
            let other = &shared.stealers[(self.index + distance) % shared.active];
            while other.left() > leave
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

    /// Hands the messages of this epoch to the workers that own the receiving units.
    fn send<C>(&mut self, shared: &Shared<U, C>) {
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
                transfer.resize_with(1, Transfer::default);
                let Transfer { messages, filled } = &mut transfer[0];
                messages.resize_with(usize::from(owned[worker]), Vec::new);
                for unit in to_worker {
                    let place = assignments[unit].place;
                    let to_unit = &mut messages[usize::from(place)];
                    batches.get_mut(unit as u32).collect(to_unit);
                    sent += to_unit.len() as u64;
                    if let Some(log) = log {
                        let logged = |sent: &Sent<U::Payload>| Logged { link: sent.link, at: u64::from(sent.at), payload: sent.payload };
                        log.sent.extend(to_unit.iter().map(logged));
                    }
                    if !traffic.is_empty() {
                        to_unit.iter().for_each(|sent| traffic[sent.link.index()] += 1);
                    }
                    filled.push(u32::from(place));
                }
            });
        }
        if !self.to_ranks.is_empty() {
            let mut messages = Vec::new();
            for &unit in units.iter().filter(|unit| assignments[usize::from(**unit)].worker == REMOTE) {
                batches.get_mut(u32::from(unit)).collect(&mut messages);
                sent += messages.len() as u64;
                let rank = usize::from(assignments[usize::from(unit)].place);
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

    /// Sums up what its units have cost, or gives it less weight.
    fn weigh<C>(&mut self, shared: &Shared<U, C>) {
        let Report { load, weighed, .. } = &mut self.report;
        (*load, *weighed) = Default::default();
        for slot in self.work.iter_mut().filter(|slot| slot.nanos > 0) {
            let group = usize::from(shared.classes[usize::from(slot.class)].group);
            if shared.forgets {
                // The last measurement has the largest weight, but a single disturbed one moves nothing.
                slot.all_nanos += slot.nanos - slot.nanos / 2;
                slot.nanos /= 2;
            }
            load[group] += slot.nanos;
            weighed[group] += 1;
        }
    }

    /// Settles all units at the cut and, where the director wants them, reads their counters and how far their tasks are.
    pub(super) fn settle<C>(&mut self, shared: &Shared<U, C>) {
        self.take_back(shared);
        self.counters.clear();
        self.tasks.clear();
        let tick = shared.reference.tick(shared.last_cut);
        for slot in self.work.iter_mut() {
            let at = shared.classes[usize::from(slot.class)].clock.edge_at_or_after(tick);
            slot.unit.settle(at);
            if shared.sampled {
                let mut values = Vec::with_capacity(TYPICAL_COUNTERS);
                slot.unit.visit_counters(&mut values);
                self.counters.push((slot.id, values));
            }
            if shared.sees_tasks {
                let mut values = Vec::new();
                slot.unit.visit_tasks(&mut values);
                self.tasks.push((slot.id, values));
            }
        }
    }

    /// The counters of its units as they are, without spans that are not over.
    pub(super) fn present_counters(&mut self) -> Vec<(UnitId, Vec<u64>)> {
        let values = |slot: &mut Slot<U>| {
            let mut values = Vec::with_capacity(TYPICAL_COUNTERS);
            slot.unit.visit_counters(&mut values);
            (slot.id, values)
        };
        self.work.iter_mut().map(values).collect()
    }

    /// What its units wait for.
    pub(super) fn present_waiting(&mut self) -> Vec<(UnitId, Vec<String>)> {
        self.work.iter_mut().map(|slot| (slot.id, slot.unit.waiting())).collect()
    }

    /// Collects what every unit waits for.
    pub(super) fn explain(&mut self) {
        self.work.close();
        self.waiting = self.work.iter_mut().map(|slot| (slot.id, slot.unit.waiting())).collect();
    }
}

/// Steps units one after the other.
struct Stepper<'a, U: Unit, C> {
    shared: &'a Shared<U, C>,
    outbox: &'a mut Outbox<U::Payload, U::Event>,
    next: Tick,
    /// Units that were stepped.
    steps: u64,
    /// When the last unit was done, in an epoch that is measured.
    mark: Option<Instant>,
}

impl<U: Unit, C> Stepper<'_, U, C> {
    #[inline]
    fn step(&mut self, slot: &mut Slot<U>, taken: bool) {
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

/// Delivers messages to a unit whose present is `present`; returns the cycle of the first arrival.
#[inline]
fn deliver<U: Unit, C>(
    unit: &mut U,
    messages: &[Sent<U::Payload>],
    present: Cycle,
    class: TimeClass,
    shared: &Shared<U, C>,
    log: &mut Option<MessageLog<U::Payload>>,
    late: &mut LateMessages,
) -> Cycle {
    if let Some(log) = log {
        let arrival = |sent: &Sent<U::Payload>| sent.arrival(present).max(present).0;
        log.delivered.extend(messages.iter().map(|sent| Logged { link: sent.link, at: arrival(sent), payload: sent.payload }));
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

/// The arrival of a message whose time has passed: at once, which only a relaxed run allows.
#[cold]
fn arrive_late<U: Unit, C>(
    shared: &Shared<U, C>,
    sent: &Sent<U::Payload>,
    at: Cycle,
    present: Cycle,
    class: TimeClass,
    late: &mut LateMessages,
) -> Cycle {
    let link = &shared.links[sent.link.index()];
    assert!(
        shared.relaxed,
        "a message into the past: {} sent {:?} to {} for {at}, which is at {present} already",
        shared.names[link.from.index()],
        sent.payload,
        shared.names[link.to.index()],
    );
    let by = class.clock.tick(Cycle(present.0 - at.0));
    late.note(shared.reference.edge_at_or_after(by).0);
    present
}
