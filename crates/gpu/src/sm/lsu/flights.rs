//! Merging of loads of the SM that bypass the L1: a second load of a sector waits for the request of the first one.
//!
//! In: sectors that loads request. Out: the requests that have to leave, and the loads that a reply serves. Invariant: a load waits for a
//! sector only while a request for it is outstanding.

use std::collections::VecDeque;

use warpshard_base::{Addr, SECTOR_BYTES, SectorMask};
use warpshard_state::StateError;

/// The end of a list of joined loads.
const NO_LOAD: u16 = u16::MAX;

/// A slot for an outstanding sector.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct OutstandingSector {
    /// The sector; `taken_slots` is true if the slot is in use.
    addr: Addr,
    occupied: bool,
    /// True if a load joined the request that left last.
    is_joined: bool,
    /// Index of the load that joined last.
    last: u16,
}

/// Outstanding sectors of loads that bypass the L1, each in the slot that its address selects, and the loads that joined.
#[derive(Debug, warpshard_state::State)]
#[state(checked)]
pub(super) struct OutstandingSectors {
    slots: Box<[OutstandingSector]>,
    /// Joined loads, each with the index of the preceding one.
    joined_loads: Vec<(u16, u16)>,
    free: Vec<u16>,
    /// Loads whose sector arrived.
    arrived_loads: VecDeque<u16>,
}

impl OutstandingSectors {
    /// Creates `slots` slots.
    pub(super) fn new(slots: u32) -> Self {
        let none = OutstandingSector { addr: Addr(0), occupied: false, is_joined: false, last: NO_LOAD };
        // Capacity for one load per slot; a run that needs more grows the list.
        let slots = vec![none; slots as usize].into_boxed_slice();
        let count = slots.len();
        Self {
            slots,
            joined_loads: Vec::with_capacity(count),
            free: Vec::with_capacity(count),
            arrived_loads: VecDeque::with_capacity(count),
        }
    }

    /// Refuses saved lists of loads that have no end.
    fn check(&self) -> Result<(), StateError> {
        let some = |at: u16| (at != NO_LOAD).then_some(usize::from(at));
        let starts = self.slots.iter().filter(|slot| slot.occupied).filter_map(|slot| some(slot.last));
        warpshard_state::check_lists_end(self.joined_loads.len(), starts, |at| some(self.joined_loads[at].1))
    }

    /// Requests a sector for a load. Returns true if the load waits for an outstanding request that no other load joined; else it sends a
    /// separate request.
    #[inline]
    pub(super) fn join(&mut self, addr: Addr, load: u16) -> bool {
        let Some(slot) = self.slot_of(addr) else { return false };
        let flight = &mut self.slots[slot];
        if !flight.occupied {
            *flight = OutstandingSector { addr, occupied: true, is_joined: false, last: NO_LOAD };
            return false;
        }
        if flight.addr != addr {
            return false;
        }
        if std::mem::replace(&mut flight.is_joined, false) {
            // A request serves two loads. This load sends a separate request, which the next load may join.
            return false;
        }
        let entry = (load, flight.last);
        flight.last = match self.free.pop() {
            Some(number) => {
                self.joined_loads[usize::from(number)] = entry;
                number
            }
            None if self.joined_loads.len() < usize::from(NO_LOAD) => {
                self.joined_loads.push(entry);
                (self.joined_loads.len() - 1) as u16
            }
            None => return false,
        };
        flight.is_joined = true;
        true
    }

    /// Requests sectors of the line at or before `addr` for a load. Returns the sectors for which the load sends a separate request.
    #[inline]
    pub(super) fn request(&mut self, addr: Addr, sectors: SectorMask, load: u16) -> SectorMask {
        let line = addr.line();
        let mut left = sectors;
        for sector in sectors.iter() {
            if self.join(Addr(line.0 + u64::from(sector) * SECTOR_BYTES), load) {
                left.0 &= !(1 << sector);
            }
        }
        left
    }

    /// Records the arrival of a sector.
    #[inline]
    pub(super) fn record_arrival(&mut self, addr: Addr) {
        let Some(slot) = self.slot_of(addr) else { return };
        let flight = &mut self.slots[slot];
        if !flight.occupied || flight.addr != addr {
            return;
        }
        flight.occupied = false;
        let mut next = flight.last;
        while next != NO_LOAD {
            let (load, before) = self.joined_loads[usize::from(next)];
            self.arrived_loads.push_back(load);
            self.free.push(next);
            next = before;
        }
    }

    /// Returns true if a load whose sector arrived waits for completion.
    #[inline]
    pub(super) fn has_landed(&self) -> bool {
        !self.arrived_loads.is_empty()
    }

    /// Removes and returns the next load whose sector arrived.
    #[inline]
    pub(super) fn next_landed(&mut self) -> Option<u16> {
        self.arrived_loads.pop_front()
    }

    #[inline]
    fn slot_of(&self, addr: Addr) -> Option<usize> {
        // Adjacent sectors map to adjacent slots.
        let sector = addr.0 / SECTOR_BYTES;
        (sector ^ sector >> 13).checked_rem(self.slots.len() as u64).map(|slot| slot as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_join_an_outstanding_sector_until_it_arrives() {
        let mut flights = OutstandingSectors::new(16);
        assert!(!flights.join(Addr(0x40), 1));
        assert!(flights.join(Addr(0x40), 2));
        assert!(!flights.join(Addr(0x60), 3));
        assert!(!flights.join(Addr(0x40), 3), "two loads share a request");
        assert!(flights.join(Addr(0x40), 4));
        flights.record_arrival(Addr(0x60));
        assert!(!flights.has_landed());
        flights.record_arrival(Addr(0x40));
        assert_eq!([flights.next_landed(), flights.next_landed(), flights.next_landed()], [Some(4), Some(2), None]);
        assert!(!flights.join(Addr(0x40), 5), "a sector that arrived has to be requested again");
        let mut none = OutstandingSectors::new(0);
        assert!(!none.join(Addr(0x40), 1) && !none.join(Addr(0x40), 2));
    }

    #[test]
    fn a_slot_holds_one_sector() {
        let mut flights = OutstandingSectors::new(1);
        assert!(!flights.join(Addr(0x40), 1));
        assert!(!flights.join(Addr(0x80), 2));
        assert!(!flights.join(Addr(0x80), 3));
        assert!(flights.join(Addr(0x40), 4));
        flights.record_arrival(Addr(0x80));
        assert!(!flights.has_landed());
    }
}
