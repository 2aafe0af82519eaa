//! Loads of the SM past the L1 for the same sector, of which one waits for the request of the other.
//!
//! In: sectors that loads want. Out: whether a request has to leave, and the loads that an answer is for. Invariant: a load waits for a sector
//! only while a request for it is under way.

use std::collections::VecDeque;

use warpshard_base::{Addr, SECTOR_BYTES, SectorMask};
use warpshard_state::StateError;

/// No sector, no follower.
const NONE: u16 = u16::MAX;

/// A place for a sector under way.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Flight {
    /// The sector, and whether one is there.
    addr: Addr,
    taken: bool,
    /// Whether a load joined the request that left last.
    shared: bool,
    /// The load that joined last.
    last: u16,
}

/// Sectors under way for loads past the L1, each at the place that its address chooses, and the loads that joined.
#[derive(Debug, warpshard_state::State)]
#[state(checked)]
pub(super) struct Flights {
    places: Box<[Flight]>,
    /// Loads that joined, each with the one before it.
    joined: Vec<(u16, u16)>,
    free: Vec<u16>,
    /// Loads whose sector came.
    landed: VecDeque<u16>,
}

impl Flights {
    /// So many places.
    pub(super) fn new(places: u32) -> Self {
        let none = Flight { addr: Addr(0), taken: false, shared: false, last: NONE };
        // Room for a load at every place; a run that needs more grows the list.
        let places = vec![none; places as usize].into_boxed_slice();
        let count = places.len();
        Self { places, joined: Vec::with_capacity(count), free: Vec::with_capacity(count), landed: VecDeque::with_capacity(count) }
    }

    /// Refuses saved lists of loads that would not end.
    fn check(&self) -> Result<(), StateError> {
        let some = |at: u16| (at != NONE).then_some(usize::from(at));
        let starts = self.places.iter().filter(|place| place.taken).filter_map(|place| some(place.last));
        warpshard_state::lists_end(self.joined.len(), starts, |at| some(self.joined[at].1))
    }

    /// A load wants a sector. Returns whether it waits for a request that is under way and that no other load joined; else its own request leaves now.
    #[inline]
    pub(super) fn join(&mut self, addr: Addr, load: u16) -> bool {
        let Some(place) = self.place(addr) else { return false };
        let flight = &mut self.places[place];
        if !flight.taken {
            *flight = Flight { addr, taken: true, shared: false, last: NONE };
            return false;
        }
        if flight.addr != addr {
            return false;
        }
        if std::mem::replace(&mut flight.shared, false) {
            // A request serves two loads; this one's own leaves, and the next may join it.
            return false;
        }
        let entry = (load, flight.last);
        flight.last = match self.free.pop() {
            Some(number) => {
                self.joined[usize::from(number)] = entry;
                number
            }
            None if self.joined.len() < usize::from(NONE) => {
                self.joined.push(entry);
                (self.joined.len() - 1) as u16
            }
            None => return false,
        };
        flight.shared = true;
        true
    }

    /// A load wants sectors of the line at or before `addr`. Returns those for which its own request leaves now.
    #[inline]
    pub(super) fn left(&mut self, addr: Addr, sectors: SectorMask, load: u16) -> SectorMask {
        let line = addr.line();
        let mut left = sectors;
        for sector in sectors.iter() {
            if self.join(Addr(line.0 + u64::from(sector) * SECTOR_BYTES), load) {
                left.0 &= !(1 << sector);
            }
        }
        left
    }

    /// A sector came.
    #[inline]
    pub(super) fn land(&mut self, addr: Addr) {
        let Some(place) = self.place(addr) else { return };
        let flight = &mut self.places[place];
        if !flight.taken || flight.addr != addr {
            return;
        }
        flight.taken = false;
        let mut next = flight.last;
        while next != NONE {
            let (load, before) = self.joined[usize::from(next)];
            self.landed.push_back(load);
            self.free.push(next);
            next = before;
        }
    }

    /// Whether a load whose sector came waits to be answered.
    #[inline]
    pub(super) fn has_landed(&self) -> bool {
        !self.landed.is_empty()
    }

    /// The next load whose sector came.
    #[inline]
    pub(super) fn next_landed(&mut self) -> Option<u16> {
        self.landed.pop_front()
    }

    #[inline]
    fn place(&self, addr: Addr) -> Option<usize> {
        // Adjacent sectors lie at adjacent places.
        let sector = addr.0 / SECTOR_BYTES;
        (sector ^ sector >> 13).checked_rem(self.places.len() as u64).map(|place| place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_join_a_sector_under_way_until_it_comes() {
        let mut flights = Flights::new(16);
        assert!(!flights.join(Addr(0x40), 1));
        assert!(flights.join(Addr(0x40), 2));
        assert!(!flights.join(Addr(0x60), 3));
        assert!(!flights.join(Addr(0x40), 3), "two loads share a request");
        assert!(flights.join(Addr(0x40), 4));
        flights.land(Addr(0x60));
        assert!(!flights.has_landed());
        flights.land(Addr(0x40));
        assert_eq!([flights.next_landed(), flights.next_landed(), flights.next_landed()], [Some(4), Some(2), None]);
        assert!(!flights.join(Addr(0x40), 5), "what came has to be asked for again");
        let mut none = Flights::new(0);
        assert!(!none.join(Addr(0x40), 1) && !none.join(Addr(0x40), 2));
    }

    #[test]
    fn a_place_has_one_sector() {
        let mut flights = Flights::new(1);
        assert!(!flights.join(Addr(0x40), 1));
        assert!(!flights.join(Addr(0x80), 2));
        assert!(!flights.join(Addr(0x80), 3));
        assert!(flights.join(Addr(0x40), 4));
        flights.land(Addr(0x80));
        assert!(!flights.has_landed());
    }
}
