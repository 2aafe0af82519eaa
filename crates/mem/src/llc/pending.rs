//! Requests that wait for data or, with their data, for the network, by index.

use warpshard_base::{Addr, SectorMask, Slots, prefetch};
use warpshard_protocol::MemPacket;

/// No number.
const NONE: u32 = u32::MAX;

/// A slab of requests; grows to the most that ever waited, and one.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Pending {
    /// By number. Free places follow each other by token, the one freed last first.
    packets: Slots<MemPacket>,
    /// The first free place; there is one.
    free: u32,
    len: u32,
}

impl Pending {
    /// No requests.
    pub(super) fn new() -> Self {
        Self { packets: Slots::new(1, MemPacket { token: NONE, ..MemPacket::default() }), free: 0, len: 0 }
    }

    /// The number that the next request will get.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        self.free
    }

    /// Keeps what a request asks of some of its sectors, the first of which is at `addr`, under the number that [`Pending::next`] told.
    #[inline]
    pub(super) fn keep(&mut self, packet: &MemPacket, addr: Addr, sectors: SectorMask) {
        let place = self.packets.get_mut(self.free);
        self.free = place.token;
        *place = *packet;
        (place.addr, place.part) = (addr, place.part.with(sectors));
        self.len += 1;
        if self.free == NONE {
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let count = self.packets.count() as u32;
        self.packets = self.packets.doubled(0);
        (count..2 * count).for_each(|place| self.release_place(place));
    }

    /// A request.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &MemPacket {
        self.packets.get(number)
    }

    /// Forgets a request.
    #[inline]
    pub(super) fn release(&mut self, number: u32) {
        self.release_place(number);
        self.len -= 1;
    }

    #[inline]
    fn release_place(&mut self, place: u32) {
        self.packets.get_mut(place).token = self.free;
        self.free = place;
    }

    /// Prefetches a request.
    #[inline]
    pub(super) fn prefetch(&self, number: u32) {
        prefetch(&self.packets.get(number).token);
    }

    /// Requests that wait.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_a_request_until_it_is_released() {
        let mut pending = Pending::new();
        let packet = |token| MemPacket { token, ..MemPacket::default() };
        let keep = |pending: &mut Pending, token| {
            let number = pending.next();
            pending.keep(&packet(token), Addr(u64::from(token)), SectorMask(1));
            number
        };
        let numbers: Vec<u32> = (100..107).map(|token| keep(&mut pending, token)).collect();
        pending.release(numbers[3]);
        assert_eq!((pending.next(), pending.len()), (numbers[3], 6));
        keep(&mut pending, 50);
        keep(&mut pending, 51);
        let tokens: Vec<_> = numbers.iter().map(|number| pending.get(*number)).map(|packet| (packet.token, packet.addr.0)).collect();
        assert_eq!(tokens, [100, 101, 102, 50, 104, 105, 106].map(|token| (token, u64::from(token))));
        assert_eq!(pending.len(), 8);
    }
}
