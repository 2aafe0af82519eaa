//! What one worker owns and does in an epoch: take messages in, step units, hand messages out.

use std::time::{Duration, Instant};

use warpshard_sync::{Receiver, Sender};

use crate::base::{ClockDomain, Cycle, LinkId, Tick, UnitId};
use crate::protocol::{Event, Outbox, Sent};
use crate::stats::LateMessages;

use super::Unit;
use super::control::Shared;

/// Host time of single units is measured in one epoch of this many, since reading the clock costs as much as an idle unit.
const MEASURE_EVERY: u64 = 16;

/// A unit at its worker.
#[derive(Debug)]
pub(super) struct Slot<U> {
    pub(super) id: UnitId,
    pub(super) unit: U,
    /// Index into the epoch's bounds: units of equal clock and offset have equal bounds.
    pub(super) class: usize,
    /// The unit's next event, a delivered message included.
    pub(super) next: Cycle,
    /// How far it has been simulated, or skipped.
    pub(super) reached: Cycle,
    /// Measured host nanoseconds, sampled.
    pub(super) nanos: u64,
}

/// A clock and an offset that several units share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeClass {
    pub(super) clock: ClockDomain,
    pub(super) offset: u64,
}

/// A message as the log keeps it: link, arrival in the receiver's cycles, content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged<P> {
    /// The link.
    pub link: LinkId,
    /// The receiver's cycle at which it is seen (its low half for messages that were sent).
    pub at: u64,
    /// What it carries.
    pub payload: P,
}

/// Everything sent and everything delivered, for observers that do not trust counters.
#[derive(Clone, Debug)]
pub struct MessageLog<P> {
    /// In the order of sending, worker by worker.
    pub sent: Vec<Logged<P>>,
    /// In the order of delivery, worker by worker.
    pub delivered: Vec<Logged<P>>,
}

impl<P> Default for MessageLog<P> {
    fn default() -> Self {
        Self { sent: Vec::new(), delivered: Vec::new() }
    }
}

/// One worker's share of the machine and its report to the control step.
pub(super) struct Worker<U: Unit> {
    pub(super) slots: Vec<Slot<U>>,
    /// Slot of each unit that lives here.
    pub(super) place: Vec<u32>,
    pub(super) outbox: Outbox<U::Payload>,
    pub(super) senders: Vec<Sender<Sent<U::Payload>>>,
    pub(super) receivers: Vec<Receiver<Sent<U::Payload>>>,
    pub(super) log: Option<MessageLog<U::Payload>>,
    /// Messages sent in this epoch and in all.
    pub(super) sent: u64,
    pub(super) messages: u64,
    /// Least next event of its units, in global ticks.
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
    pub(super) fn new(
        units: usize,
        outbox: Outbox<U::Payload>,
        senders: Vec<Sender<Sent<U::Payload>>>,
        receivers: Vec<Receiver<Sent<U::Payload>>>,
        log: bool,
    ) -> Self {
        Self {
            slots: Vec::new(),
            place: vec![u32::MAX; units],
            outbox,
            senders,
            receivers,
            log: log.then(MessageLog::default),
            sent: 0,
            messages: 0,
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

    /// Fills the table from units to slots after slots have come or gone.
    pub(super) fn index_slots(&mut self) {
        self.place.fill(u32::MAX);
        for (index, slot) in self.slots.iter().enumerate() {
            self.place[slot.id.index()] = index as u32;
        }
    }

    /// Takes in what was sent in the epoch before.
    pub(super) fn receive<D>(&mut self, shared: &Shared<U, D>) {
        let Self { slots, place, receivers, log, late, .. } = self;
        for receiver in receivers {
            receiver.receive(shared.epoch, |sent: Sent<U::Payload>| {
                let link = &shared.links[sent.link.index()];
                let slot = &mut slots[place[link.to.index()] as usize];
                let mut at = sent.arrival(slot.reached);
                if at < slot.reached {
                    assert!(
                        shared.relaxed,
                        "a message into the past: {} sent {:?} to {} for {at}, which is at {} already",
                        shared.names[link.from.index()],
                        sent.payload,
                        shared.names[link.to.index()],
                        slot.reached,
                    );
                    let by = shared.classes[slot.class].clock.tick(Cycle(slot.reached.0 - at.0));
                    late.note(shared.reference.edge_at_or_after(by).0);
                    at = slot.reached;
                }
                if let Some(log) = log {
                    log.delivered.push(Logged { link: sent.link, at: at.0, payload: sent.payload });
                }
                slot.next = slot.next.min(at);
                slot.unit.deliver(sent.link, at, sent.payload);
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
                let slot = &mut self.slots[place as usize];
                slot.unit.apply(slot.reached, decision);
                slot.next = slot.unit.next_event();
            }
        }
    }

    /// Steps every unit up to its bound.
    pub(super) fn run<D>(&mut self, shared: &Shared<U, D>) {
        self.receive(shared);
        self.apply(shared);
        let measure = shared.epoch.is_multiple_of(MEASURE_EVERY);
        let mut next = Tick::NEVER;
        for slot in &mut self.slots {
            let until = shared.bounds[slot.class];
            let TimeClass { clock, offset } = shared.classes[slot.class];
            if until > slot.reached {
                if slot.next < until || !shared.skip {
                    self.outbox.sender(slot.id, clock);
                    if measure {
                        let start = Instant::now();
                        slot.unit.run(until, shared.skip, &mut self.outbox);
                        slot.nanos += start.elapsed().as_nanos() as u64;
                    } else {
                        slot.unit.run(until, shared.skip, &mut self.outbox);
                    }
                    slot.next = slot.unit.next_event();
                }
                slot.reached = until;
            }
            if slot.next != Cycle::NEVER {
                next = next.min(Tick(clock.tick(slot.next).0 + offset));
            }
        }
        self.next = next;
        self.sent = 0;
        for (worker, sender) in self.senders.iter_mut().enumerate() {
            let batch = self.outbox.for_worker(worker);
            self.sent += batch.len() as u64;
            if let Some(log) = &mut self.log {
                log.sent.extend(batch.iter().map(|sent| Logged { link: sent.link, at: u64::from(sent.at), payload: sent.payload }));
            }
            if !batch.is_empty() {
                sender.send(shared.epoch, batch);
            }
        }
        self.messages += self.sent;
        self.events.append(self.outbox.events());
    }

    /// Brings all units to the cut and reads their samples.
    pub(super) fn settle<D>(&mut self, shared: &Shared<U, D>) {
        self.samples.clear();
        let tick = shared.reference.tick(shared.last_cut);
        for slot in &mut self.slots {
            let at = shared.classes[slot.class].clock.edge_at_or_after(tick);
            slot.unit.settle(at);
            slot.reached = slot.reached.max(at);
            self.samples.push((slot.id, slot.unit.sample()));
        }
    }

    /// Asks every unit what it waits for.
    pub(super) fn explain(&mut self) {
        self.waiting = self.slots.iter().map(|slot| (slot.id, slot.unit.waiting())).collect();
    }
}
