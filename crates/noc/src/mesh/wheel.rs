//! A timing wheel of the flits and credits on channels, by their cycle of arrival.

use warpshard_base::Cycle;

/// A flit: the handle of its packet, and flags for the first and the last flit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Flit(u32);

impl Flit {
    #[inline]
    pub(super) fn new(packet: u32, head: bool, tail: bool) -> Self {
        Self(packet << 2 | u32::from(tail) << 1 | u32::from(head))
    }

    #[inline]
    pub(super) fn packet(self) -> u32 {
        self.0 >> 2
    }

    #[inline]
    pub(super) fn is_head(self) -> bool {
        self.0 & 1 != 0
    }

    #[inline]
    pub(super) fn is_tail(self) -> bool {
        self.0 & 2 != 0
    }
}

/// A virtual channel of a router's port or of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct VcAddress(u32);

const TERMINAL_BIT: u32 = 1 << 31;

impl VcAddress {
    /// The missing neighbour at the edge of the mesh.
    pub(super) const NO_NEIGHBOUR: Self = Self(u32::MAX);

    /// Returns virtual channel `channel`, numbered over all ports, of a router.
    pub(super) fn router(router: usize, channel: usize) -> Self {
        Self((router << 16 | channel) as u32)
    }

    /// Returns virtual channel `channel` of a terminal.
    pub(super) fn terminal(terminal: usize, channel: usize) -> Self {
        Self((terminal << 16 | channel) as u32 | TERMINAL_BIT)
    }

    #[inline]
    pub(super) fn is_terminal(self) -> bool {
        self.0 & TERMINAL_BIT != 0
    }

    /// Returns the number of the router or terminal.
    #[inline]
    pub(super) fn node(self) -> usize {
        ((self.0 & !TERMINAL_BIT) >> 16) as usize
    }

    /// Returns the virtual channel at the router or terminal.
    #[inline]
    pub(super) fn channel(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    /// Returns the virtual channel `vc` positions after this one.
    #[inline]
    #[must_use]
    pub(super) fn offset_by(self, vc: usize) -> Self {
        Self(self.0 + vc as u32)
    }
}

/// Arrivals in each of the coming cycles.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct ArrivalWheel<T> {
    slots: Box<[Vec<T>]>,
    mask: u64,
    filled_slots: Box<[u64]>,
}

impl<T: Clone> ArrivalWheel<T> {
    /// Returns a wheel for arrivals less than `horizon` cycles ahead.
    pub(super) fn new(horizon: usize) -> Self {
        let size = horizon.next_power_of_two().max(64);
        Self { slots: vec![Vec::new(); size].into(), mask: size as u64 - 1, filled_slots: vec![0; size / 64].into() }
    }

    #[inline]
    pub(super) fn schedule(&mut self, at: Cycle, what: T) {
        let index = (at.0 & self.mask) as usize;
        self.filled_slots[index / 64] |= 1 << (index % 64);
        self.slots[index].push(what);
    }

    /// Adds all elements of `what` at cycle `at`, and empties it.
    #[inline]
    pub(super) fn put_all(&mut self, at: Cycle, what: &mut Vec<T>) {
        if what.is_empty() {
            return;
        }
        let index = (at.0 & self.mask) as usize;
        self.filled_slots[index / 64] |= 1 << (index % 64);
        let slot = &mut self.slots[index];
        if slot.is_empty() {
            std::mem::swap(slot, what);
        } else {
            slot.append(what);
        }
    }

    /// Takes the arrivals of cycle `now` and leaves the buffer `empty` instead; the caller passes the emptied buffer in the next call.
    /// Returns true if there are arrivals.
    #[inline]
    pub(super) fn take(&mut self, now: Cycle, empty: &mut Vec<T>) -> bool {
        let index = (now.0 & self.mask) as usize;
        let bit = 1 << (index % 64);
        if self.filled_slots[index / 64] & bit == 0 {
            return false;
        }
        self.filled_slots[index / 64] &= !bit;
        std::mem::swap(&mut self.slots[index], empty);
        true
    }

    /// Returns the first cycle at or after `now` with an arrival.
    pub(super) fn next(&self, now: Cycle) -> Cycle {
        let words = self.filled_slots.len();
        let first = (now.0 & self.mask) as usize;
        for step in 0..=words {
            let word = (first / 64 + step) % words;
            let mask = match step {
                0 => u64::MAX << (first % 64),
                _ if step == words => !(u64::MAX << (first % 64)),
                _ => u64::MAX,
            };
            let found = self.filled_slots[word] & mask;
            if found != 0 {
                let index = word as u64 * 64 + u64::from(found.trailing_zeros());
                return now.after(index.wrapping_sub(first as u64) & self.mask);
            }
        }
        Cycle::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_taken_in_their_cycle() {
        let mut wheel = ArrivalWheel::new(100);
        let now = Cycle(1000);
        wheel.schedule(Cycle(1090), (VcAddress::terminal(3, 2), Flit::new(8, true, true)));
        wheel.schedule(Cycle(1001), (VcAddress::router(5, 7), Flit::new(9, true, false)));
        assert_eq!(wheel.next(now), Cycle(1001));
        let mut arrived = Vec::new();
        assert!(!wheel.take(now, &mut arrived) && wheel.take(Cycle(1001), &mut arrived));
        let (place, flit) = arrived[0];
        assert_eq!((place.node(), place.channel(), place.is_terminal()), (5, 7, false));
        assert_eq!((flit.packet(), flit.is_head(), flit.is_tail()), (9, true, false));
        assert_eq!(wheel.next(Cycle(1002)), Cycle(1090));
        assert_eq!(wheel.next(Cycle(1090)), Cycle(1090));
    }
}
