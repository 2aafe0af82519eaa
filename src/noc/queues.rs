//! The input queues of a subnet, a ring each: memory follows the packets that wait, not the capacity (320 queues of 512 packets
//! would be five megabytes, of which a few kilobytes are ever used at once), and packets that wait behind each other lie side by side.

use crate::base::{Cycle, Ring, touch};
use crate::protocol::MemPacket;

/// A packet that waits.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    packet: MemPacket,
    /// Low half of the cycle of arrival.
    at: u32,
}

const _: () = assert!(size_of::<Waiting>() == 32);

impl Waiting {
    #[inline]
    fn arrival(&self, now: Cycle) -> Cycle {
        Cycle(now.0.wrapping_add_signed(i64::from(self.at.wrapping_sub(now.0 as u32) as i32)))
    }
}

/// First-in first-out queues, each of which grows to the most packets that ever waited in it.
#[derive(Clone, Debug)]
pub(super) struct Queues(Box<[Ring<Waiting>]>);

impl Queues {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Ring::new(1)).collect())
    }

    #[inline]
    pub(super) fn len(&self, queue: usize) -> u32 {
        self.0[queue].len() as u32
    }

    /// The most places for packets that a queue has.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.0.iter().map(|queue| queue.hot_bytes() / size_of::<Waiting>()).max().unwrap_or(0)
    }

    /// Adds a packet; returns whether it is the only one.
    #[inline]
    pub(super) fn push(&mut self, queue: usize, at: Cycle, packet: MemPacket) -> bool {
        let queue = &mut self.0[queue];
        queue.append(Waiting { packet, at: at.0 as u32 });
        queue.len() == 1
    }

    /// The oldest packet and its arrival, given a cycle less than 2^31 cycles from it.
    #[inline]
    pub(super) fn front(&self, queue: usize, now: Cycle) -> Option<(Cycle, &MemPacket)> {
        self.0[queue].front().map(|waiting| (waiting.arrival(now), &waiting.packet))
    }

    /// Asks the host for the packet behind the oldest.
    #[inline]
    pub(super) fn touch_second(&self, queue: usize) {
        if let Some(second) = self.0[queue].get(1) {
            touch(&second.at);
        }
    }

    /// Takes the oldest packet, with its arrival as in [`Queues::front`].
    #[inline]
    pub(super) fn pop(&mut self, queue: usize, now: Cycle) -> Option<(Cycle, MemPacket)> {
        self.0[queue].pop().map(|waiting| (waiting.arrival(now), waiting.packet))
    }
}
