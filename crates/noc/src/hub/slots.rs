//! ReplySlots of requests that wait for replies of the GPU's memory: requester, token and missing sectors.

use warpshard_base::{GpuId, PortId, SectorMask};

/// The requester of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct RemoteRequester {
    /// The GPU of the requester.
    pub(super) gpu: GpuId,
    /// The port of the requester in its GPU.
    pub(super) port: PortId,
    /// The token that the requester gave the request.
    pub(super) token: u32,
}

/// The slots of requests in flight.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct ReplySlots {
    places: Vec<(RemoteRequester, SectorMask)>,
    free: Vec<u32>,
    max_slots: usize,
}

impl ReplySlots {
    pub(super) fn new(most: u32) -> Self {
        Self { places: Vec::new(), free: Vec::new(), max_slots: most as usize }
    }

    /// Returns true if a slot is free.
    #[inline]
    pub(super) fn has_free_slot(&self) -> bool {
        !self.free.is_empty() || self.places.len() < self.max_slots
    }

    /// Returns the number of slots in use.
    pub(super) fn used(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Allocates a slot for a request and returns the request's new token.
    pub(super) fn allocate(&mut self, requester: RemoteRequester, sectors: SectorMask) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = (requester, sectors);
                place
            }
            None => {
                self.places.push((requester, sectors));
                self.places.len() as u32 - 1
            }
        }
    }

    /// Records a reply with these sectors; returns the requester, and true if the reply completes the request.
    pub(super) fn record_reply(&mut self, name: u32, sectors: SectorMask) -> (RemoteRequester, bool) {
        let (requester, left) = &mut self.places[name as usize];
        debug_assert!(left.0 != 0, "a reply without a request: {name}");
        left.0 &= !sectors.0;
        let (requester, whole) = (*requester, left.0 == 0);
        if whole {
            self.free.push(name);
        }
        (requester, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_after_all_sectors_arrived() {
        let mut slots = ReplySlots::new(1);
        let requester = RemoteRequester { gpu: GpuId(3), port: PortId(7), token: 99 };
        let name = slots.allocate(requester, SectorMask(0b1010));
        assert!(!slots.has_free_slot() && slots.used() == 1);
        assert_eq!(slots.record_reply(name, SectorMask(0b0010)), (requester, false));
        assert_eq!(slots.record_reply(name, SectorMask(0b1000)), (requester, true));
        assert!(slots.has_free_slot() && slots.used() == 0);
    }
}
