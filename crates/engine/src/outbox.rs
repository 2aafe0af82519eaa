//! The send side of units: the routes of a machine's links, and the outbox that collects messages and events during an epoch.
//!
//! Inputs: messages on links, events. Outputs: the messages in batches, one batch per destination, each in the order of sending. All times
//! are local times of units: a message sent at the sender's time t is visible at the receiver's first clock edge at or after
//! t + latency. Retiming changes the order in which the host simulates units, never these times.

use std::sync::Arc;

use warpshard_base::{ClockDomain, Cycle, LinkId, Slots, Tick, UnitId};

/// The sender's view of a link: the receiver and the arrival time of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The receiving unit.
    pub to: UnitId,
    /// Clock domain of the sender.
    pub from_clock: ClockDomain,
    /// Clock domain of the receiver.
    pub to_clock: ClockDomain,
    /// Latency in base ticks, at least 1.
    pub latency: Tick,
}

impl Route {
    /// Returns the receiver's cycle in which a message that is sent at the sender's cycle `now` becomes visible.
    #[inline]
    pub fn arrival(&self, now: Cycle) -> Cycle {
        self.to_clock.edge_at_or_after(Tick(self.from_clock.tick(now).0 + self.latency.0))
    }
}

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct SentMessage<P> {
    /// The link of the message.
    pub link: LinkId,
    /// Low 32 bits of the receiver's cycle of arrival; [`SentMessage::arrival`] restores the rest.
    pub at: u32,
    /// The payload of the message.
    pub payload: P,
}

impl<P> SentMessage<P> {
    /// Returns the receiver's full cycle of arrival, which must be less than 2^31 cycles from the receiver's present cycle `now`.
    #[inline]
    pub fn arrival(&self, now: Cycle) -> Cycle {
        now.nearest(self.at)
    }
}

/// An event that a unit reported to the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Event<E> {
    /// The unit that reported the event.
    pub unit: UnitId,
    /// Time of the event, in base ticks of the unit's local time.
    pub at: Tick,
    /// The kind of event.
    pub kind: E,
}

/// The entry of a link that the outbox reads for every message.
#[derive(Clone, Copy, Debug)]
struct LinkEntry {
    /// The batch that collects the messages of this link.
    batch: u16,
    /// True if both ends have the same clock; every message then takes `cycles` cycles.
    same_clock: bool,
    cycles: u32,
}

impl LinkEntry {
    fn new(route: &Route, batch_of: &[u16]) -> Self {
        let cycles = route.arrival(Cycle(0)).0;
        let same_clock = route.from_clock == route.to_clock && cycles <= u64::from(u32::MAX);
        Self { batch: batch_of[route.to.index()], same_clock, cycles: cycles as u32 }
    }
}

/// The messages to the units that share a batch.
#[derive(Clone, Debug)]
pub struct MessageBatch<P> {
    /// The messages. An empty batch has no allocation, so that its first message takes the slow path, which records the batch as filled.
    messages: Vec<SentMessage<P>>,
    /// The allocation that `messages` takes for its first message.
    spare: Vec<SentMessage<P>>,
}

impl<P> MessageBatch<P> {
    /// Moves all messages, in the order of sending, into `into`, which must be empty and whose allocation is reused.
    #[inline]
    pub fn collect(&mut self, into: &mut Vec<SentMessage<P>>) {
        debug_assert!(into.is_empty(), "messages are collected into a list that is not empty");
        self.spare = std::mem::replace(into, std::mem::take(&mut self.messages));
    }
}

/// Messages and events that units send in an epoch. Messages are collected in batches: one batch per receiving unit, so that a unit
/// receives all its messages in one call, or one batch for several units.
#[derive(Debug)]
pub struct Outbox<P, E> {
    routes: Arc<[Route]>,
    links: Slots<LinkEntry>,
    batches: Slots<MessageBatch<P>>,
    batch_count: usize,
    /// Batches that are not empty, in the order of their first messages.
    filled: Vec<u16>,
    events: Vec<Event<E>>,
    unit: UnitId,
    clock: ClockDomain,
}

impl<P: Copy, E> Outbox<P, E> {
    /// Creates an outbox for all links of a machine; messages to a unit go to batch `batch_of[unit]` of `batches`.
    pub fn new(routes: Arc<[Route]>, batch_of: Vec<u16>, batches: usize) -> Self {
        let mut links = Slots::new(routes.len(), LinkEntry { batch: 0, same_clock: false, cycles: 0 });
        (0..).zip(&*routes).for_each(|(link, route)| *links.get_mut(link) = LinkEntry::new(route, &batch_of));
        Self {
            routes,
            links,
            batches: Slots::new(batches, MessageBatch { messages: Vec::new(), spare: Vec::new() }),
            batch_count: batches,
            filled: Vec::with_capacity(batches),
            events: Vec::new(),
            unit: UnitId(0),
            clock: ClockDomain { period: 1 },
        }
    }

    /// Sets the sending unit and its clock.
    #[inline]
    pub fn set_sender(&mut self, unit: UnitId, clock: ClockDomain) {
        self.unit = unit;
        self.clock = clock;
    }

    /// Sends `payload` on `link` at the sender's cycle `now`.
    // Every message calls this from one of few call sites; without inlining the payload is copied twice.
    #[inline(always)]
    pub fn send(&mut self, link: LinkId, now: Cycle, payload: P) {
        self.send_with(link, now, || payload);
    }

    /// Sends the payload that the closure `payload` returns. A payload in memory is then copied only once, directly into the batch.
    // Inlined for the same reason as `send`.
    #[inline(always)]
    pub fn send_with(&mut self, link: LinkId, now: Cycle, payload: impl FnOnce() -> P) {
        debug_assert!(link.index() < self.routes.len(), "{link} of {}", self.routes.len());
        let entry = *self.links.get(u32::from(link.0));
        let at = if entry.same_clock { (now.0 as u32).wrapping_add(entry.cycles) } else { self.routes[link.index()].arrival(now).0 as u32 };
        let batch = self.batches.get_mut(u32::from(entry.batch));
        // The two branches share no code after this point, so that the payload is copied once if the batch has spare capacity.
        if batch.messages.len() == batch.messages.capacity() {
            grow_and_push(batch, &mut self.filled, entry.batch, SentMessage { link, at, payload: payload() });
        } else {
            batch.messages.push(SentMessage { link, at, payload: payload() });
        }
    }

    /// Reports an event at the sender's cycle `now` to the coordinator.
    #[inline]
    pub fn event(&mut self, now: Cycle, kind: E) {
        self.events.push(Event { unit: self.unit, at: self.clock.tick(now), kind });
    }

    /// Returns the messages of one batch, in the order of sending, for callers that visit every batch; the caller empties the vector.
    pub fn batch(&mut self, number: usize) -> &mut Vec<SentMessage<P>> {
        debug_assert!(number < self.batch_count, "batch {number} of {}", self.batch_count);
        self.filled.clear();
        &mut self.batches.get_mut(number as u32).messages
    }

    /// Returns the numbers of the batches that are not empty, and all batches. The caller [collects](MessageBatch::collect) the batches and clears
    /// the list.
    #[inline]
    pub fn filled_batches(&mut self) -> (&mut Vec<u16>, &mut Slots<MessageBatch<P>>) {
        (&mut self.filled, &mut self.batches)
    }

    /// Returns the events reported so far; the caller empties the vector.
    #[inline]
    pub fn events(&mut self) -> &mut Vec<Event<E>> {
        &mut self.events
    }
}

/// Adds a message to a batch without spare capacity, and records the batch as filled if this is its first message.
// This path is rare and therefore not inlined; the hot path has one branch per message.
#[cold]
#[inline(never)]
fn grow_and_push<P>(batch: &mut MessageBatch<P>, filled: &mut Vec<u16>, number: u16, sent: SentMessage<P>) {
    if batch.messages.capacity() == 0 {
        filled.push(number);
        batch.messages = std::mem::take(&mut batch.spare);
    }
    batch.messages.push(sent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_at_the_first_edge_after_its_latency() {
        let route = Route { to: UnitId(0), from_clock: ClockDomain { period: 7 }, to_clock: ClockDomain { period: 10 }, latency: Tick(14) };
        assert_eq!(route.arrival(Cycle(3)), Cycle(4));
    }

    #[test]
    fn the_low_half_of_an_arrival_cycle_restores_the_full_cycle() {
        let message = |at: u64| SentMessage { link: LinkId(0), at: at as u32, payload: () };
        let now = Cycle(0x3_ffff_fff0);
        assert_eq!(message(0x4_0000_0005).arrival(now), Cycle(0x4_0000_0005));
        assert_eq!(message(0x3_ffff_ffe0).arrival(now), Cycle(0x3_ffff_ffe0));
    }
}
