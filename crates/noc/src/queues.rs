//! The input queues of a subnet, one ring per input. Memory use follows the packets that wait, not the capacity: 320 queues of 512 packets
//! would need five megabytes, of which only a few kilobytes are ever in use at the same time. Queued packets are contiguous.

use warpshard_base::{Cycle, Ring, prefetch};
use warpshard_protocol::MemPacket;

/// A waiting packet.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct WaitingPacket {
    pub(super) packet: MemPacket,
    /// The low half of the cycle of arrival.
    at: u32,
}

const _: () = assert!(size_of::<WaitingPacket>() == 32);

impl WaitingPacket {
    /// Returns the cycle of arrival, given a cycle less than 2^31 cycles away from it.
    #[inline]
    pub(super) fn arrival(&self, now: Cycle) -> Cycle {
        now.nearest(self.at)
    }

    /// Returns the cycles since the arrival, given a cycle less than 2^31 cycles away from it; negative if the packet has not arrived.
    #[inline]
    pub(super) fn wait_cycles(&self, now: Cycle) -> i64 {
        i64::from((now.0 as u32).wrapping_sub(self.at) as i32)
    }
}

/// A first-in first-out queue, which grows to the largest number of packets that it has held.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct PacketQueue {
    packets: Ring<WaitingPacket>,
}

impl PacketQueue {
    /// Returns an empty queue.
    pub(super) fn new() -> Self {
        Self { packets: Ring::new(1) }
    }

    /// Returns `count` empty queues.
    pub(super) fn new_queues(count: usize) -> Box<[Self]> {
        (0..count).map(|_| Self::new()).collect()
    }

    /// Returns the number of waiting packets.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    /// Returns the number of allocated slots.
    #[cfg(test)]
    pub(super) fn allocated_slots(&self) -> usize {
        self.packets.hot_bytes() / size_of::<WaitingPacket>()
    }

    /// Appends a packet; returns true if it is the only one.
    #[inline]
    pub(super) fn push(&mut self, at: Cycle, packet: &MemPacket) -> bool {
        self.packets.append_with(|| WaitingPacket { packet: *packet, at: at.0 as u32 });
        self.packets.len() == 1
    }

    /// Returns the oldest packet.
    #[inline]
    pub(super) fn front(&self) -> Option<&WaitingPacket> {
        self.packets.front()
    }

    /// Prefetches the second packet.
    #[inline]
    pub(super) fn prefetch_second(&self) {
        if let Some(second) = self.packets.get(1) {
            prefetch(&second.at);
        }
    }

    /// Removes the oldest packet.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<WaitingPacket> {
        self.packets.pop()
    }

    /// Removes the oldest packet and returns the next one.
    #[inline]
    pub(super) fn next_front(&mut self) -> Option<&WaitingPacket> {
        self.packets.next_front()
    }
}
