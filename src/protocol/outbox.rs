//! How a unit sends: links with their latencies, and the boxes that a worker empties after each epoch.

use std::sync::Arc;

use crate::base::{ClockDomain, Cycle, LinkId, Slots, Tick, UnitId};

use super::EventKind;

/// A link as its sender needs it: the far end and when messages get there.
///
/// All times are the units' local ones: a message sent at the sender's time t is seen at the receiver's first edge at or
/// after t + latency. Retiming shifts when units are simulated, never these times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The receiving unit.
    pub to: UnitId,
    /// Clock of the sender.
    pub from_clock: ClockDomain,
    /// Clock of the receiver.
    pub to_clock: ClockDomain,
    /// Latency in base ticks, at least 1.
    pub latency: Tick,
}

impl Route {
    /// When a message sent at the sender's cycle `now` is seen, in the receiver's cycles.
    #[inline]
    pub fn arrival(&self, now: Cycle) -> Cycle {
        self.to_clock.edge_at_or_after(Tick(self.from_clock.tick(now).0 + self.latency.0))
    }
}

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<P> {
    /// The link it travels on.
    pub link: LinkId,
    /// Low half of the receiver's cycle at which it is seen; the receiver knows the rest from its present.
    pub at: u32,
    /// What it carries.
    pub payload: P,
}

const _: () = assert!(size_of::<Sent<super::Payload>>() <= 32);

impl<P> Sent<P> {
    /// The receiver's full cycle of arrival, given the receiver's present `now` (they lie less than 2^31 cycles apart).
    #[inline]
    pub fn arrival(&self, now: Cycle) -> Cycle {
        now.nearest(self.at)
    }
}

/// Something that a unit told the control step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who saw it.
    pub unit: UnitId,
    /// When, in base ticks of the unit's local time.
    pub at: Tick,
    /// What.
    pub kind: EventKind,
}

/// A link as the outbox looks it up for every message.
#[derive(Clone, Copy, Debug)]
struct Post {
    /// The box of the receiver.
    to: u16,
    /// Whether both ends have one clock, so that every message takes `cycles`.
    steady: bool,
    cycles: u32,
}

impl Post {
    fn new(route: &Route, box_of: &[u16]) -> Self {
        let cycles = route.arrival(Cycle(0)).0;
        let steady = route.from_clock == route.to_clock && cycles <= u64::from(u32::MAX);
        Self { to: box_of[route.to.index()], steady, cycles: cycles as u32 }
    }
}

/// What was sent to those who share a box.
#[derive(Clone, Debug)]
pub struct Letters<P> {
    /// The messages; without an allocation while there were none, so that the first one is not overlooked.
    messages: Vec<Sent<P>>,
    /// The allocation for them meanwhile.
    spare: Vec<Sent<P>>,
}

impl<P> Letters<P> {
    /// Puts all messages, in the order of sending, into `parcel`, which is empty and whose allocation stays here.
    #[inline]
    pub fn collect(&mut self, parcel: &mut Vec<Sent<P>>) {
        debug_assert!(parcel.is_empty(), "a parcel is filled twice");
        self.spare = std::mem::replace(parcel, std::mem::take(&mut self.messages));
    }
}

/// What units send while they are stepped, in boxes: one for each receiver, so that it can be given all its messages at once, or
/// one for several.
#[derive(Debug)]
pub struct Outbox<P = super::Payload> {
    routes: Arc<[Route]>,
    posts: Slots<Post>,
    boxes: Slots<Letters<P>>,
    /// How many boxes there are.
    count: usize,
    /// The boxes that hold something, in the order of their first messages.
    filled: Vec<u16>,
    events: Vec<Event>,
    unit: UnitId,
    clock: ClockDomain,
}

impl<P: Copy> Outbox<P> {
    /// An outbox over all links of a machine; what is sent to a unit comes into `box_of[unit]` of `boxes` boxes.
    pub fn new(routes: Arc<[Route]>, box_of: Vec<u16>, boxes: usize) -> Self {
        let mut posts = Slots::new(routes.len(), Post { to: 0, steady: false, cycles: 0 });
        (0..).zip(&*routes).for_each(|(link, route)| *posts.get_mut(link) = Post::new(route, &box_of));
        Self {
            routes,
            posts,
            boxes: Slots::new(boxes, Letters { messages: Vec::new(), spare: Vec::new() }),
            count: boxes,
            filled: Vec::with_capacity(boxes),
            events: Vec::new(),
            unit: UnitId(0),
            clock: ClockDomain { period: 1 },
        }
    }

    /// The unit that sends from now on, with its clock.
    #[inline]
    pub fn sender(&mut self, unit: UnitId, clock: ClockDomain) {
        self.unit = unit;
        self.clock = clock;
    }

    /// Sends `payload` on `link` at the sender's cycle `now`.
    // Called for every message from few places; otherwise the payload is written twice.
    #[inline(always)]
    pub fn send(&mut self, link: LinkId, now: Cycle, payload: P) {
        self.send_with(link, now, || payload);
    }

    /// The same; a payload that lies somewhere is then copied but once, after there is room for it.
    // As `send`.
    #[inline(always)]
    pub fn send_with(&mut self, link: LinkId, now: Cycle, payload: impl FnOnce() -> P) {
        debug_assert!(link.index() < self.routes.len(), "{link} of {}", self.routes.len());
        let post = *self.posts.get(u32::from(link.0));
        let at = if post.steady { (now.0 as u32).wrapping_add(post.cycles) } else { self.routes[link.index()].arrival(now).0 as u32 };
        let letters = self.boxes.get_mut(u32::from(post.to));
        // Two branches that have nothing in common behind, so that the payload is copied once where there is room.
        if letters.messages.len() == letters.messages.capacity() {
            make_room(letters, &mut self.filled, post.to, Sent { link, at, payload: payload() });
        } else {
            letters.messages.push(Sent { link, at, payload: payload() });
        }
    }

    /// Tells the control step that something happened at the sender's cycle `now`.
    #[inline]
    pub fn event(&mut self, now: Cycle, kind: EventKind) {
        self.events.push(Event { unit: self.unit, at: self.clock.tick(now), kind });
    }

    /// The messages in a box, in the order of sending; whoever reads them empties the vector. For those who look at all boxes anyway.
    pub fn in_box(&mut self, number: usize) -> &mut Vec<Sent<P>> {
        debug_assert!(number < self.count, "box {number} of {}", self.count);
        self.filled.clear();
        &mut self.boxes.get_mut(number as u32).messages
    }

    /// The numbers of the boxes that hold something, and all boxes. Whoever [collects](Letters::collect) from them empties the list.
    #[inline]
    pub fn boxes(&mut self) -> (&mut Vec<u16>, &mut Slots<Letters<P>>) {
        (&mut self.filled, &mut self.boxes)
    }

    /// The events told so far; whoever reads them empties the vector.
    #[inline]
    pub fn events(&mut self) -> &mut Vec<Event> {
        &mut self.events
    }
}

/// Makes room for a message in a box, where it puts it, and notes the first one.
// Apart, since it is rare: nothing but this one question is asked per message.
#[cold]
#[inline(never)]
fn make_room<P>(letters: &mut Letters<P>, filled: &mut Vec<u16>, number: u16, sent: Sent<P>) {
    if letters.messages.capacity() == 0 {
        filled.push(number);
        letters.messages = std::mem::take(&mut letters.spare);
    }
    letters.messages.push(sent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_seen_at_the_first_edge_after_its_latency() {
        let route = Route { to: UnitId(0), from_clock: ClockDomain { period: 7 }, to_clock: ClockDomain { period: 10 }, latency: Tick(14) };
        assert_eq!(route.arrival(Cycle(3)), Cycle(4));
    }

    #[test]
    fn the_low_half_of_a_cycle_is_enough_to_know_the_whole() {
        let message = |at: u64| Sent { link: LinkId(0), at: at as u32, payload: () };
        let now = Cycle(0x3_ffff_fff0);
        assert_eq!(message(0x4_0000_0005).arrival(now), Cycle(0x4_0000_0005));
        assert_eq!(message(0x3_ffff_ffe0).arrival(now), Cycle(0x3_ffff_ffe0));
    }
}
