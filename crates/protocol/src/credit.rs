//! Flow control of a link between two units: the sender holds credits, and the receiver returns them as slots become free.
//!
//! A sender starts with as many credits as the receiver's queue has slots (its *window*); packets in flight count as part of the queue.
//! Sending a packet spends one credit; a sender without credits does not send. The receiver collects freed slots and returns them in
//! batches of a thirty-second of the queue. Invariant: the credits at the sender, the packets and credits in flight, the packets in the
//! queue and the slots not yet returned add up to the window.
//!
//! Batching leaves up to one batch less one slot unused, at most 1/32 (3 %) of the window; a queue of fewer than 64 slots returns each slot
//! immediately. In return, a batch needs one message instead of one per packet. The return link has the latency of a slack link: see
//! [`warpshard_engine::Latency::Slack`].

use warpshard_base::{Cycle, LinkId, Ring};

use super::{Outbox, Payload};

/// A notification of slots that became free at a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Credit {
    /// The receiver's queue, numbered alike at both ends of the link (the slice, for a memory partition).
    pub queue: u16,
    /// The number of additional packets that the sender may send.
    pub count: u16,
}

/// Number of batches that make up a queue.
const BATCHES_PER_QUEUE: u32 = 32;

/// The sending end of a link, with its count of credits.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct CreditSender {
    credits: u32,
    window: u32,
    /// The cycle in which the first credits in flight become visible.
    next: Cycle,
    credits_in_flight: Ring<(Cycle, u16)>,
}

impl CreditSender {
    /// Returns a sender to a queue of `window` slots.
    pub fn new(window: u32) -> Self {
        Self { credits: window, window, next: Cycle::NEVER, credits_in_flight: Ring::new(4) }
    }

    /// Returns the number of packets that may be sent with the credits collected so far.
    #[inline]
    pub fn available(&self) -> u32 {
        self.credits
    }

    /// Returns true if a packet may be sent.
    #[inline]
    pub fn can_send(&self) -> bool {
        self.credits > 0
    }

    /// Spends the credit of a packet; at least one credit is available.
    #[inline]
    pub fn spend(&mut self) {
        debug_assert!(self.credits > 0, "a packet is sent without a credit");
        self.credits -= 1;
    }

    /// Receives `count` credits that become visible at cycle `at`. Returns true if no other credits were in flight.
    #[inline]
    pub fn deliver(&mut self, at: Cycle, count: u16) -> bool {
        let first = self.credits_in_flight.is_empty();
        if first {
            self.next = at;
        }
        self.credits_in_flight.append((at, count));
        first
    }

    /// Returns the cycle in which the next credits become visible; [`Cycle::NEVER`] if none are in flight.
    #[inline]
    pub fn next(&self) -> Cycle {
        self.next
    }

    /// Collects the credits that are visible by `now`. A sender with credits left may defer this call.
    #[inline(never)]
    pub fn collect(&mut self, now: Cycle) {
        while let Some((_, count)) = self.credits_in_flight.pop_if(|(at, _)| *at <= now) {
            self.credits += u32::from(count);
        }
        debug_assert!(self.credits <= self.window, "a sender has {} credits for {} slots", self.credits, self.window);
        self.next = self.credits_in_flight.front().map_or(Cycle::NEVER, |(at, _)| *at);
    }
}

/// The receiving end of a link, with the slots of its queue that are free and not yet returned.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub struct CreditReceiver {
    link: LinkId,
    queue: u16,
    freed_slots: u16,
    batch: u16,
}

impl CreditReceiver {
    /// Returns the receiver of queue number `queue` with `places` slots, which returns credits over `link`.
    pub fn new(link: LinkId, queue: u16, places: u32) -> Self {
        Self { link, queue, freed_slots: 0, batch: (places / BATCHES_PER_QUEUE).clamp(1, u32::from(u16::MAX)) as u16 }
    }

    /// Records a slot that became free at cycle `now`, and returns the batch if this slot completes it.
    #[inline]
    pub fn release(&mut self, now: Cycle, out: &mut Outbox) {
        self.freed_slots += 1;
        if self.freed_slots == self.batch {
            self.freed_slots = 0;
            out.send(self.link, now, Payload::Credit(Credit { queue: self.queue, count: self.batch }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use warpshard_base::{ClockDomain, Tick, UnitId};
    use warpshard_engine::Route;

    #[test]
    fn credits_become_visible_in_their_cycle() {
        let mut sender = CreditSender::new(2);
        sender.spend();
        sender.spend();
        assert!(!sender.can_send());
        assert!(sender.deliver(Cycle(5), 1) && !sender.deliver(Cycle(9), 1));
        assert_eq!(sender.next(), Cycle(5));
        sender.collect(Cycle(4));
        assert_eq!((sender.available(), sender.next()), (0, Cycle(5)));
        sender.collect(Cycle(5));
        assert_eq!((sender.available(), sender.next()), (1, Cycle(9)));
        sender.collect(Cycle(10));
        assert_eq!((sender.available(), sender.next()), (2, Cycle::NEVER));
    }

    #[test]
    fn at_most_a_thirty_second_of_the_slots_is_withheld_and_none_is_lost() {
        let clock = ClockDomain { period: 1 };
        let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) };
        for places in [1, 2, 31, 63, 64, 100, 512, 5000, 1 << 22] {
            let mut out = Outbox::new(Arc::from(vec![route; 8]), vec![0], 1);
            let mut receiver = CreditReceiver::new(LinkId(7), 3, places);
            let mut returned = 0;
            for freed in 1..=4 * places.min(100_000) {
                receiver.release(Cycle(u64::from(freed)), &mut out);
                for sent in out.batch(0).drain(..) {
                    let Payload::Credit(Credit { queue, count }) = sent.payload else { panic!("{sent:?} is not a credit") };
                    assert_eq!((sent.link, queue), (LinkId(7), 3));
                    returned += u32::from(count);
                }
                assert!(returned <= freed && freed - returned < (places / 32).max(1), "{returned} of {freed}, {places} slots");
            }
        }
    }

    #[test]
    #[should_panic(expected = "3 credits for 2 slots")]
    fn credits_beyond_the_window_are_an_error() {
        let mut sender = CreditSender::new(2);
        sender.deliver(Cycle(1), 1);
        sender.collect(Cycle(1));
    }
}
