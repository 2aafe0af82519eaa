//! Requests that wait for data or, with their data, for the network, by number.

use warpshard_base::{Addr, SectorMask, Slots, prefetch};
use warpshard_protocol::MemPacket;

/// The end of the list of free slots: the number of no request.
const NO_REQUEST: u32 = u32::MAX;

/// A slab of requests, which grows to the largest number of waiting requests plus one.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct PendingRequests {
    /// Requests by number. The tokens of free slots form a list, from the last freed slot to the first.
    packets: Slots<MemPacket>,
    /// The first free slot, which always exists.
    free: u32,
    len: u32,
}

impl PendingRequests {
    /// Returns an empty slab.
    pub(super) fn new() -> Self {
        Self { packets: Slots::new(1, MemPacket { token: NO_REQUEST, ..MemPacket::default() }), free: 0, len: 0 }
    }

    /// Returns the number of the next request.
    #[inline]
    pub(super) fn next_number(&self) -> u32 {
        self.free
    }

    /// Stores the part of a request that concerns `sectors`, the first of which is at `addr`, under the number from [`PendingRequests::next_number`].
    #[inline]
    pub(super) fn insert(&mut self, packet: &MemPacket, addr: Addr, sectors: SectorMask) {
        let slot = self.packets.get_mut(self.free);
        self.free = slot.token;
        *slot = *packet;
        (slot.addr, slot.part) = (addr, slot.part.with(sectors));
        self.len += 1;
        if self.free == NO_REQUEST {
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let count = self.packets.count() as u32;
        self.packets = self.packets.doubled(0);
        (count..2 * count).for_each(|slot| self.free_slot(slot));
    }

    /// Returns the request with a number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &MemPacket {
        self.packets.get(number)
    }

    /// Removes a request.
    #[inline]
    pub(super) fn release(&mut self, number: u32) {
        self.free_slot(number);
        self.len -= 1;
    }

    #[inline]
    fn free_slot(&mut self, slot: u32) {
        self.packets.get_mut(slot).token = self.free;
        self.free = slot;
    }

    /// Prefetches a request into the host's caches.
    #[inline]
    pub(super) fn prefetch(&self, number: u32) {
        prefetch(&self.packets.get(number).token);
    }

    /// Returns the number of waiting requests.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_refers_to_a_request_until_its_release() {
        let mut pending = PendingRequests::new();
        let packet = |token| MemPacket { token, ..MemPacket::default() };
        let insert = |pending: &mut PendingRequests, token| {
            let number = pending.next_number();
            pending.insert(&packet(token), Addr(u64::from(token)), SectorMask(1));
            number
        };
        let numbers: Vec<u32> = (100..107).map(|token| insert(&mut pending, token)).collect();
        pending.release(numbers[3]);
        assert_eq!((pending.next_number(), pending.len()), (numbers[3], 6));
        insert(&mut pending, 50);
        insert(&mut pending, 51);
        let tokens: Vec<_> = numbers.iter().map(|number| pending.get(*number)).map(|packet| (packet.token, packet.addr.0)).collect();
        assert_eq!(tokens, [100, 101, 102, 50, 104, 105, 106].map(|token| (token, u64::from(token))));
        assert_eq!(pending.len(), 8);
    }
}
