//! What one worker owns and does in an epoch: take messages in, step units, hand messages out.
//!
//! A worker's units lie on a tray. Those that have something to do in an epoch are offered there, and a worker that has
//! finished its own takes some of another's: who steps a unit is a matter of host time alone, since everything that a unit
//! sends in an epoch goes out in its order and is seen in the next.

use std::time::{Duration, Instant};

use warpshard_sync::{Receiver, Sender, TrayOwner};

use crate::base::{ClockDomain, Cycle, Tick, UnitId};
use crate::protocol::{Event, Outbox, Sent};
use crate::stats::LateMessages;

use super::Unit;
use super::agenda::Agenda;
use super::control::Shared;
use super::log::{Logged, MessageLog};

/// Fewer units than this are not offered to others: fetching their state costs more than waiting for them.
const WORTH_OFFERING: usize = 4;
/// Units that a worker leaves to their owner, which by then is in the middle of another one.
const LEAVE: u64 = 1;

/// A unit at its worker.
#[derive(Debug)]
pub(super) struct Slot<U> {
    pub(super) id: UnitId,
    pub(super) unit: U,
    /// Index into the epoch's bounds: units of equal clock and offset have equal bounds.
    pub(super) class: u16,
    /// The unit's next event, a delivered message included.
    pub(super) next: Cycle,
    /// Measured host nanoseconds, sampled.
    pub(super) nanos: u64,
    /// The same of all the run.
    pub(super) all_nanos: u64,
}

/// A clock, an offset and a turn that several units share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeClass {
    pub(super) clock: ClockDomain,
    pub(super) offset: u64,
    /// The group of units that are stepped together.
    pub(super) group: u8,
}

impl TimeClass {
    /// The global tick of a local cycle.
    #[inline]
    pub(super) fn global(self, cycle: Cycle) -> Tick {
        if cycle == Cycle::NEVER { Tick::NEVER } else { Tick(self.clock.tick(cycle).0 + self.offset) }
    }
}

/// All that one worker sent to one unit in an epoch.
type Parcel<U> = Vec<Sent<<U as Unit>::Payload>>;

/// All that one worker sent to the units of another in an epoch.
pub(super) struct Delivery<U: Unit> {
    /// A parcel for each unit, by place.
    parcels: Vec<Parcel<U>>,
    /// Places of the units whose parcels are not empty.
    filled: Vec<u32>,
}

impl<U: Unit> Default for Delivery<U> {
    fn default() -> Self {
        Self { parcels: Vec::new(), filled: Vec::new() }
    }
}

/// Where a unit lives.
#[derive(Clone, Copy, Debug, Default)]
struct Home {
    worker: u16,
    place: u16,
}

/// One worker's share of the machine and its report to the control step.
pub(super) struct Worker<U: Unit> {
    index: usize,
    pub(super) tray: TrayOwner<Slot<U>>,
    agenda: Agenda,
    /// Places of the units that were due in the last epoch; their next events are on the tray, not yet in the agenda.
    due: Vec<u32>,
    /// Place of each unit that lives here.
    place: Vec<u32>,
    /// What its units and those that it takes over send, in a box for each unit of the machine.
    outbox: Outbox<U::Payload>,
    /// Where each unit of the machine lives, and how many live with each worker.
    homes: Vec<Home>,
    residents: Vec<u16>,
    /// To and from each worker, one delivery at a time.
    senders: Vec<Sender<Delivery<U>>>,
    receivers: Vec<Receiver<Delivery<U>>>,
    pub(super) log: Option<MessageLog<U::Payload>>,
    /// Messages sent in this epoch and in all.
    pub(super) sent: u64,
    pub(super) messages: u64,
    /// Units of others that it stepped, in all.
    pub(super) taken: u64,
    /// Least next event of the units that it stepped and of its own that nobody did, in global ticks.
    pub(super) next: Tick,
    pub(super) events: Vec<Event>,
    pub(super) samples: Vec<(UnitId, U::Sample)>,
    pub(super) waiting: Vec<(UnitId, Vec<String>)>,
    pub(super) late: LateMessages,
    pub(super) busy: Duration,
    pub(super) waited: Duration,
    applied: Option<u64>,
}

impl<U: Unit> Worker<U> {
    /// Worker `index`, still without units, of a machine of `units` units.
    pub(super) fn new(
        index: usize,
        units: usize,
        tray: TrayOwner<Slot<U>>,
        outbox: Outbox<U::Payload>,
        senders: Vec<Sender<Delivery<U>>>,
        receivers: Vec<Receiver<Delivery<U>>>,
        log: bool,
    ) -> Self {
        Self {
            index,
            tray,
            agenda: Agenda::default(),
            due: Vec::new(),
            place: vec![u32::MAX; units],
            outbox,
            homes: vec![Home::default(); units],
            residents: vec![0; senders.len()],
            senders,
            receivers,
            log: log.then(MessageLog::default),
            sent: 0,
            messages: 0,
            taken: 0,
            next: Tick::NEVER,
            events: Vec::new(),
            samples: Vec::new(),
            waiting: Vec::new(),
            late: LateMessages::default(),
            busy: Duration::ZERO,
            waited: Duration::ZERO,
            applied: None,
        }
    }

    /// Fills the tables by place after units have come or gone; `worker_of[unit]` has that unit, each worker its units in their order.
    pub(super) fn index_slots(&mut self, classes: &[TimeClass], worker_of: &[u16]) {
        self.place.fill(u32::MAX);
        self.due.clear();
        let mut entries = Vec::with_capacity(self.tray.len());
        for (index, slot) in self.tray.iter_mut().enumerate() {
            self.place[slot.id.index()] = index as u32;
            entries.push((slot.class, classes[usize::from(slot.class)].global(slot.next)));
        }
        self.agenda.reset(entries.into_iter());
        self.residents.fill(0);
        for (home, &worker) in self.homes.iter_mut().zip(worker_of) {
            let residents = &mut self.residents[usize::from(worker)];
            *home = Home { worker, place: *residents };
            *residents += 1;
        }
    }

    /// Has its units for itself again, and enters into the agenda what those who stepped them left.
    fn take_back<D>(&mut self, shared: &Shared<U, D>) {
        self.tray.close();
        for place in self.due.drain(..) {
            let slot = self.tray.get_mut(place as usize);
            self.agenda.set(place as usize, shared.classes[usize::from(slot.class)].global(slot.next));
        }
    }

    /// Takes in what was sent in the epoch before.
    pub(super) fn receive<D>(&mut self, shared: &Shared<U, D>) {
        self.take_back(shared);
        let Self { tray, agenda, receivers, log, late, .. } = self;
        for receiver in receivers {
            receiver.empty(shared.epoch, |delivery| {
                let Some(Delivery { parcels, filled }) = delivery.first_mut() else { return };
                for place in filled.drain(..).map(|place| place as usize) {
                    let parcel = &mut parcels[place];
                    let slot = tray.get_mut(place);
                    let class = usize::from(slot.class);
                    let first = take_in(&mut slot.unit, parcel, shared.presents[class], shared.classes[class], shared, log, late);
                    if first < slot.next {
                        slot.next = first;
                        agenda.lower(place, shared.classes[class].global(first));
                    }
                    parcel.clear();
                }
            });
        }
    }

    /// Applies the decisions that were published since the last call.
    fn apply<D>(&mut self, shared: &Shared<U, D>) {
        let Some(published) = shared.decisions.read(shared.last_cut.0) else { return };
        if self.applied == Some(published.value.0) {
            return;
        }
        self.applied = Some(published.value.0);
        for (unit, decision) in &published.value.1 {
            let place = self.place[unit.index()];
            if place != u32::MAX {
                let slot = self.tray.get_mut(place as usize);
                slot.unit.apply(shared.presents[usize::from(slot.class)], decision);
                slot.next = slot.unit.next_event();
                self.agenda.set(place as usize, shared.classes[usize::from(slot.class)].global(slot.next));
            }
        }
    }

    /// Steps every unit up to its bound, then units of others that have not come so far.
    pub(super) fn run<D>(&mut self, shared: &Shared<U, D>) {
        self.receive(shared);
        self.apply(shared);
        self.next = self.agenda.due(&shared.limits, &mut self.due);
        if !shared.skip {
            self.due.clear();
            self.due.extend(0..self.tray.len() as u32);
            self.next = Tick::NEVER;
        }
        if shared.backwards {
            self.due.reverse();
        }
        let mut stepper = Stepper { shared, outbox: &mut self.outbox, next: self.next, mark: None };
        if shared.measured {
            stepper.mark = Some(Instant::now());
        }
        if shared.trays.len() == 1 || self.due.len() < WORTH_OFFERING {
            for (i, &place) in self.due.iter().enumerate() {
                if let Some(&far) = self.due.get(i + 2) {
                    self.tray.get_mut(far as usize).unit.prefetch(false);
                }
                if let Some(&near) = self.due.get(i + 1) {
                    self.tray.get_mut(near as usize).unit.prefetch(true);
                }
                stepper.step(self.tray.get_mut(place as usize));
            }
        } else {
            self.tray.offer(&self.due);
            while let Some(mut slot) = self.tray.take() {
                slot.unit.prefetch(false);
                slot.unit.prefetch(true);
                stepper.step(&mut slot);
            }
        }
        for distance in 1..shared.trays.len() {
            let other = &shared.trays[(self.index + distance) % shared.trays.len()];
            while other.left() > LEAVE
                && let Some(mut slot) = other.take()
            {
                stepper.step(&mut slot);
                self.taken += 1;
            }
        }
        self.next = stepper.next;
        self.send(shared);
    }

    /// Hands out what was sent in this epoch.
    fn send<D>(&mut self, shared: &Shared<U, D>) {
        self.sent = 0;
        let Self { outbox, homes, residents, senders, log, .. } = self;
        let (units, boxes) = outbox.boxes();
        for (worker, sender) in senders.iter_mut().enumerate() {
            let mut to_worker =
                units.iter().map(|&unit| usize::from(unit)).filter(|unit| usize::from(homes[*unit].worker) == worker).peekable();
            if to_worker.peek().is_none() {
                continue;
            }
            sender.fill(shared.epoch, |delivery| {
                delivery.resize_with(1, Delivery::default);
                let Delivery { parcels, filled } = &mut delivery[0];
                parcels.resize_with(usize::from(residents[worker]), Vec::new);
                for unit in to_worker {
                    let place = homes[unit].place;
                    let parcel = &mut parcels[usize::from(place)];
                    boxes.get_mut(unit as u32).collect(parcel);
                    self.sent += parcel.len() as u64;
                    if let Some(log) = log {
                        let logged = |sent: &Sent<U::Payload>| Logged { link: sent.link, at: u64::from(sent.at), payload: sent.payload };
                        log.sent.extend(parcel.iter().map(logged));
                    }
                    filled.push(u32::from(place));
                }
            });
        }
        units.clear();
        self.messages += self.sent;
        self.events.append(self.outbox.events());
    }

    /// Brings all units to the cut and, where the director wants them, reads their samples.
    pub(super) fn settle<D>(&mut self, shared: &Shared<U, D>) {
        self.take_back(shared);
        self.samples.clear();
        let tick = shared.reference.tick(shared.last_cut);
        for slot in self.tray.iter_mut() {
            let at = shared.classes[usize::from(slot.class)].clock.edge_at_or_after(tick);
            slot.unit.settle(at);
            if shared.sampled {
                self.samples.push((slot.id, slot.unit.sample()));
            }
        }
    }

    /// Asks every unit what it waits for.
    pub(super) fn explain(&mut self) {
        self.tray.close();
        self.waiting = self.tray.iter_mut().map(|slot| (slot.id, slot.unit.waiting())).collect();
    }
}

/// Steps units one after the other.
struct Stepper<'a, U: Unit, D> {
    shared: &'a Shared<U, D>,
    outbox: &'a mut Outbox<U::Payload>,
    next: Tick,
    /// When the last unit was done, in an epoch that is measured.
    mark: Option<Instant>,
}

impl<U: Unit, D> Stepper<'_, U, D> {
    #[inline]
    fn step(&mut self, slot: &mut Slot<U>) {
        let shared = self.shared;
        let class = usize::from(slot.class);
        let until = shared.bounds[class];
        if until > shared.presents[class] {
            self.outbox.sender(slot.id, shared.classes[class].clock);
            slot.unit.run(until, shared.skip, self.outbox);
            slot.next = slot.unit.next_event();
            if let Some(mark) = &mut self.mark {
                let now = Instant::now();
                slot.nanos += (now - *mark).as_nanos() as u64;
                *mark = now;
            }
        }
        self.next = self.next.min(shared.classes[class].global(slot.next));
    }
}

/// Gives a unit at `present` a parcel; says when the first message is seen.
#[inline]
fn take_in<U: Unit, D>(
    unit: &mut U,
    parcel: &Parcel<U>,
    present: Cycle,
    class: TimeClass,
    shared: &Shared<U, D>,
    log: &mut Option<MessageLog<U::Payload>>,
    late: &mut LateMessages,
) -> Cycle {
    if let Some(log) = log {
        let seen = |sent: &Sent<U::Payload>| sent.arrival(present).max(present).0;
        log.delivered.extend(parcel.iter().map(|sent| Logged { link: sent.link, at: seen(sent), payload: sent.payload }));
    }
    let mut first = Cycle::NEVER;
    unit.deliver_all(parcel, |sent| {
        let mut at = sent.arrival(present);
        if at < present {
            at = arrive_late(shared, sent, at, present, class, late);
        }
        first = first.min(at);
        at
    });
    first
}

/// When a message is seen whose time has passed: at once, which only a relaxed run allows.
#[cold]
fn arrive_late<U: Unit, D>(
    shared: &Shared<U, D>,
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
