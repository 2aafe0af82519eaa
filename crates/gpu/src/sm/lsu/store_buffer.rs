//! Parts of sectors that stores wrote and that wait for the rest, between the L1 and the network.
//!
//! In: sectors of stores that the L1 passes on. Out: sectors that leave for the network. A sector of which a store wrote every byte leaves at
//! once; a part of one waits for further stores of the SM, of any warp, until it is whole, its line has waited long enough or a younger line
//! needs the place. The L1 has the bytes, and forgets the sectors of a line that a younger one drives out. Stores that join one that waits are
//! answered at once; the LLC answers the one that began. Source: an H100's counters (docs/validation/silicon.md, "Stores").

use std::collections::VecDeque;

use warpshard_base::{Addr, Cycle};
use warpshard_mem::cache::Down;

/// Sectors of a line.
const SECTORS: usize = 4;

/// All bytes of a sector.
const WHOLE: u32 = u32::MAX;

/// A line of which parts of sectors wait.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Line {
    addr: Addr,
    /// When it leaves.
    at: Cycle,
    sectors: [Option<Down>; SECTORS],
}

/// What becomes of a sector of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It leaves now: it is whole.
    Leaves(Down),
    /// It waits.
    Waits,
    /// It joined one that waits, and is answered.
    Joined,
    /// It joined one that waits, and is answered; the other is whole now and leaves.
    Completed(Down),
}

/// Parts of sectors that wait.
#[derive(Debug, warpshard_state::State)]
pub(super) struct StoreBuffer {
    places: usize,
    /// In core cycles.
    wait: u64,
    /// In the order in which they came.
    lines: VecDeque<Line>,
    /// Sectors of a line that gave up its place.
    leaving: VecDeque<Down>,
    /// Whether a younger line drove it out.
    driven_out: bool,
}

impl StoreBuffer {
    /// Room for so many lines, each of which waits for so many cycles.
    pub(super) fn new(places: u32, wait: u32) -> Self {
        let places = places as usize;
        Self {
            places,
            wait: u64::from(wait),
            lines: VecDeque::with_capacity(places),
            leaving: VecDeque::with_capacity(SECTORS),
            driven_out: false,
        }
    }

    /// Whether a sector may come: none of an older line still has to leave.
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.leaving.is_empty()
    }

    /// When a sector leaves, `now` or later, if no store comes.
    #[inline]
    pub(super) fn due(&self, now: Cycle) -> Cycle {
        match self.lines.front() {
            _ if !self.leaving.is_empty() => now,
            Some(line) => now.max(line.at),
            None => Cycle::NEVER,
        }
    }

    /// Takes a sector that has to leave; says whether it is of a line that was driven out.
    #[inline]
    pub(super) fn pop(&mut self, now: Cycle) -> Option<(Down, bool)> {
        if self.leaving.is_empty() && self.lines.front().is_some_and(|line| line.at <= now) {
            self.give_up_oldest(false);
        }
        Some((self.leaving.pop_front()?, self.driven_out))
    }

    /// A sector of a store comes from the L1; the buffer [is free](Self::is_free).
    pub(super) fn take(&mut self, down: Down, now: Cycle) -> Fate {
        let (addr, sector) = (down.addr.line(), (down.addr.0 % warpshard_base::LINE_BYTES / warpshard_base::SECTOR_BYTES) as usize);
        if let Some(line) = self.lines.iter_mut().rev().find(|line| line.addr == addr) {
            let place = &mut line.sectors[sector];
            match place {
                Some(other) => {
                    other.bytes |= down.bytes;
                    if other.bytes != WHOLE {
                        return Fate::Joined;
                    }
                    let whole = *other;
                    *place = None;
                    if line.sectors.iter().all(Option::is_none) {
                        self.lines.retain(|line| line.addr != addr);
                    }
                    return Fate::Completed(whole);
                }
                None if down.bytes != WHOLE => {
                    *place = Some(down);
                    return Fate::Waits;
                }
                None => {}
            }
        }
        if down.bytes == WHOLE {
            return Fate::Leaves(down);
        }
        if self.lines.len() == self.places {
            self.give_up_oldest(true);
        }
        let mut line = Line { addr, at: now.after(self.wait), sectors: [None; SECTORS] };
        line.sectors[sector] = Some(down);
        self.lines.push_back(line);
        Fate::Waits
    }

    fn give_up_oldest(&mut self, driven_out: bool) {
        let Some(line) = self.lines.pop_front() else { return };
        self.driven_out = driven_out;
        self.leaving.extend(line.sectors.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use warpshard_base::{KernelIndex, KernelSectors, SectorMask};
    use warpshard_mem::cache::DownKind;

    use super::*;

    fn write(addr: u64, bytes: u32, token: u32) -> Down {
        let part = KernelSectors::new(KernelIndex(0), SectorMask(1));
        Down { addr: Addr(addr), part, bytes, token, kind: DownKind::Write }
    }

    #[test]
    fn parts_of_a_sector_wait_for_the_rest() {
        let mut buffer = StoreBuffer::new(2, 10);
        assert_eq!(buffer.take(write(0x40, 0xffff, 1), Cycle(5)), Fate::Waits);
        assert_eq!(buffer.take(write(0x60, 0xff, 1), Cycle(6)), Fate::Waits);
        assert_eq!(buffer.take(write(0x60, 0xff00, 2), Cycle(6)), Fate::Joined, "another warp's");
        assert_eq!(buffer.take(write(0x40, 0xffff_0000, 2), Cycle(7)), Fate::Completed(write(0x40, WHOLE, 1)));
        assert_eq!(buffer.take(write(0x40, WHOLE, 2), Cycle(7)), Fate::Leaves(write(0x40, WHOLE, 2)));
        assert_eq!((buffer.due(Cycle(8)), buffer.pop(Cycle(14))), (Cycle(15), None), "the line came in cycle 5");
        assert_eq!(buffer.pop(Cycle(15)), Some((write(0x60, 0xffff, 1), false)));
        assert_eq!((buffer.due(Cycle(16)), buffer.pop(Cycle(100))), (Cycle::NEVER, None));
    }

    #[test]
    fn a_younger_line_takes_the_place_of_the_oldest() {
        let mut buffer = StoreBuffer::new(2, 100);
        for (at, addr) in [0x000, 0x020, 0x080].into_iter().enumerate() {
            assert_eq!(buffer.take(write(addr, 1, 0), Cycle(at as u64)), Fate::Waits);
        }
        assert!(buffer.is_free());
        assert_eq!(buffer.take(write(0x100, 1, 0), Cycle(3)), Fate::Waits);
        assert!(!buffer.is_free());
        let leaves = |buffer: &mut StoreBuffer| buffer.pop(Cycle(4)).map(|(down, driven_out)| (down.addr.0, driven_out));
        assert_eq!([0; 3].map(|_| leaves(&mut buffer)), [Some((0x000, true)), Some((0x020, true)), None]);
        assert_eq!(buffer.take(write(0x000, 2, 0), Cycle(5)), Fate::Waits, "what left is waited for no longer");
    }
}
