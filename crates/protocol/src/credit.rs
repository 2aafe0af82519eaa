//! Flow control of a link between two units: the sender holds credits, the receiver returns them as places become free.
//!
//! A sender starts with as many credits as the receiver's queue has places (its *window*); those under way are part of the queue.
//! Sending spends one, and none is sent without. The receiver collects freed places and returns them in batches of a thirty-second
//! of the queue. Invariant: credits at the sender, packets and credits under way, packets in the queue and places not returned yet
//! add up to the window.
//!
//! What batching costs: up to a batch less one of the places stand empty and cannot be used, at most 1/32 (3 %) of the window, and a
//! queue of fewer than 64 places returns each place at once. What it saves: one message per batch instead of one per packet.
//! The return link's own latency is that of a slack link: see [`warpshard_engine::Latency::Slack`].

use warpshard_base::{Cycle, LinkId, Ring};

use super::{Outbox, Payload};

/// Room that became free at a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Credit {
    /// Which of the receiver's queues, as the link's two ends count them (the slice, for a memory partition).
    pub queue: u16,
    /// How many packets more may be sent.
    pub count: u16,
}

/// Batches that make up a queue.
const BATCHES: u32 = 32;

/// The sending end of a link: the packets that may still be sent.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct CreditSender {
    credits: u32,
    window: u32,
    /// When the first of the credits under way become visible.
    next: Cycle,
    under_way: Ring<(Cycle, u16)>,
}

impl CreditSender {
    /// A sender to a queue of `window` places.
    pub fn new(window: u32) -> Self {
        Self { credits: window, window, next: Cycle::NEVER, under_way: Ring::new(4) }
    }

    /// Packets that may be sent, by the credits collected so far.
    #[inline]
    pub fn available(&self) -> u32 {
        self.credits
    }

    /// Whether a packet may be sent.
    #[inline]
    pub fn can_send(&self) -> bool {
        self.credits > 0
    }

    /// Spends the credit of a packet that is sent; there is one.
    #[inline]
    pub fn spend(&mut self) {
        debug_assert!(self.credits > 0, "a packet is sent without a credit");
        self.credits -= 1;
    }

    /// Takes `count` credits that become visible at cycle `at`. Returns whether no others were under way.
    #[inline]
    pub fn deliver(&mut self, at: Cycle, count: u16) -> bool {
        let first = self.under_way.is_empty();
        if first {
            self.next = at;
        }
        self.under_way.append((at, count));
        first
    }

    /// The cycle in which the next credits become visible; [`Cycle::NEVER`] when none are under way.
    #[inline]
    pub fn next(&self) -> Cycle {
        self.next
    }

    /// Collects the credits that are visible by `now`. A sender that has credits left may do so later.
    #[inline(never)]
    pub fn collect(&mut self, now: Cycle) {
        while let Some((_, count)) = self.under_way.pop_if(|(at, _)| *at <= now) {
            self.credits += u32::from(count);
        }
        debug_assert!(self.credits <= self.window, "a sender has {} credits for {} places", self.credits, self.window);
        self.next = self.under_way.front().map_or(Cycle::NEVER, |(at, _)| *at);
    }
}

/// The receiving end of a link: the places of its queue that became free and are not returned yet.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub struct CreditReceiver {
    link: LinkId,
    queue: u16,
    freed: u16,
    batch: u16,
}

impl CreditReceiver {
    /// The receiver of queue number `queue` with `places` places, which returns credits over `link`.
    pub fn new(link: LinkId, queue: u16, places: u32) -> Self {
        Self { link, queue, freed: 0, batch: (places / BATCHES).clamp(1, u32::from(u16::MAX)) as u16 }
    }

    /// A place became free at cycle `now`; returns the batch if that completes it.
    #[inline]
    pub fn release(&mut self, now: Cycle, out: &mut Outbox) {
        self.freed += 1;
        if self.freed == self.batch {
            self.freed = 0;
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
    fn no_more_than_a_thirty_second_of_the_places_is_withheld_and_none_is_lost() {
        let clock = ClockDomain { period: 1 };
        let route = Route { to: UnitId(0), from_clock: clock, to_clock: clock, latency: Tick(1) };
        for places in [1, 2, 31, 63, 64, 100, 512, 5000, 1 << 22] {
            let mut out = Outbox::new(Arc::from(vec![route; 8]), vec![0], 1);
            let mut receiver = CreditReceiver::new(LinkId(7), 3, places);
            let mut returned = 0;
            for freed in 1..=4 * places.min(100_000) {
                receiver.release(Cycle(u64::from(freed)), &mut out);
                for sent in out.batch(0).drain(..) {
                    let Payload::Credit(Credit { queue, count }) = sent.payload else { panic!("{sent:?} is no credit") };
                    assert_eq!((sent.link, queue), (LinkId(7), 3));
                    returned += u32::from(count);
                }
                assert!(returned <= freed && freed - returned < (places / 32).max(1), "{returned} of {freed}, {places} places");
            }
        }
    }

    #[test]
    #[should_panic(expected = "3 credits for 2 places")]
    fn credits_beyond_the_window_are_an_error() {
        let mut sender = CreditSender::new(2);
        sender.deliver(Cycle(1), 1);
        sender.collect(Cycle(1));
    }
}
