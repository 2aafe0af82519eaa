//! The store buffer: partly written sectors that wait for further stores, between the L1 and the network.
//!
//! In: sectors of stores that the L1 passes on. Out: sectors that leave for the network. A completely written sector leaves immediately; a
//! partly written one waits for further stores of the SM, of any warp, until it is complete, the wait time of its line is over, or a
//! younger line needs the entry. The L1 has the bytes, and invalidates the sectors of a line that a younger one evicts. Stores that join a
//! waiting sector are acknowledged immediately; the LLC acknowledges the store that began it. Source: an H100's counters
//! (docs/validation/silicon.md, "Stores").

use std::collections::VecDeque;

use warpshard_base::{Addr, Cycle};
use warpshard_mem::cache::DownstreamRequest;

/// Number of sectors of a line.
const SECTORS_PER_LINE: usize = 4;

/// The mask of all bytes of a sector.
const ALL_BYTES: u32 = u32::MAX;

/// A line with waiting partly written sectors.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct BufferedLine {
    addr: Addr,
    /// The cycle in which the line leaves.
    at: Cycle,
    sectors: [Option<DownstreamRequest>; SECTORS_PER_LINE],
}

/// Outcome of a store of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreOutcome {
    /// The sector is complete and leaves immediately.
    Leaves(DownstreamRequest),
    /// The sector waits in the buffer.
    Stalls,
    /// The store joined a waiting sector and is acknowledged.
    Joined,
    /// The store joined a waiting sector and is acknowledged; the waiting sector is complete and leaves.
    Completed(DownstreamRequest),
}

/// The buffer of partly written sectors.
#[derive(Debug, warpshard_state::State)]
pub(super) struct StoreBuffer {
    capacity: usize,
    /// Wait time of a line in core cycles.
    wait: u64,
    /// Waiting lines in order of arrival.
    lines: VecDeque<BufferedLine>,
    /// Sectors of an evicted or expired line that have to leave.
    leaving: VecDeque<DownstreamRequest>,
    /// True if a younger line evicted the line of `leaving`.
    evicted: bool,
}

impl StoreBuffer {
    /// Creates a buffer of `capacity` lines, each of which waits for `wait` cycles.
    pub(super) fn new(capacity: u32, wait: u32) -> Self {
        let capacity = capacity as usize;
        Self {
            capacity,
            wait: u64::from(wait),
            lines: VecDeque::with_capacity(capacity),
            leaving: VecDeque::with_capacity(SECTORS_PER_LINE),
            evicted: false,
        }
    }

    /// Returns true if the buffer accepts a sector: no sector of an older line has to leave first.
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.leaving.is_empty()
    }

    /// Returns the cycle, `now` or later, in which a sector leaves if no store arrives.
    #[inline]
    pub(super) fn next_departure(&self, now: Cycle) -> Cycle {
        match self.lines.front() {
            _ if !self.leaving.is_empty() => now,
            Some(line) => now.max(line.at),
            None => Cycle::NEVER,
        }
    }

    /// Removes and returns a sector that has to leave; the flag is true if its line was evicted.
    #[inline]
    pub(super) fn pop(&mut self, now: Cycle) -> Option<(DownstreamRequest, bool)> {
        if self.leaving.is_empty() && self.lines.front().is_some_and(|line| line.at <= now) {
            self.evict_oldest(false);
        }
        Some((self.leaving.pop_front()?, self.evicted))
    }

    /// Adds a sector of a store from the L1; the buffer [is free](Self::is_free).
    pub(super) fn buffer_store(&mut self, down: DownstreamRequest, now: Cycle) -> StoreOutcome {
        let (addr, sector) = (down.addr.line(), (down.addr.0 % warpshard_base::LINE_BYTES / warpshard_base::SECTOR_BYTES) as usize);
        if let Some(line) = self.lines.iter_mut().rev().find(|line| line.addr == addr) {
            let place = &mut line.sectors[sector];
            match place {
                Some(other) => {
                    other.bytes |= down.bytes;
                    if other.bytes != ALL_BYTES {
                        return StoreOutcome::Joined;
                    }
                    let whole = *other;
                    *place = None;
                    if line.sectors.iter().all(Option::is_none) {
                        self.lines.retain(|line| line.addr != addr);
                    }
                    return StoreOutcome::Completed(whole);
                }
                None if down.bytes != ALL_BYTES => {
                    *place = Some(down);
                    return StoreOutcome::Stalls;
                }
                None => {}
            }
        }
        if down.bytes == ALL_BYTES {
            return StoreOutcome::Leaves(down);
        }
        if self.lines.len() == self.capacity {
            self.evict_oldest(true);
        }
        let mut line = BufferedLine { addr, at: now.after(self.wait), sectors: [None; SECTORS_PER_LINE] };
        line.sectors[sector] = Some(down);
        self.lines.push_back(line);
        StoreOutcome::Stalls
    }

    fn evict_oldest(&mut self, evicted: bool) {
        let Some(line) = self.lines.pop_front() else { return };
        self.evicted = evicted;
        self.leaving.extend(line.sectors.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use warpshard_base::{KernelIndex, KernelSectors, SectorMask};
    use warpshard_mem::cache::DownstreamKind;

    use super::*;

    fn store_request(addr: u64, bytes: u32, token: u32) -> DownstreamRequest {
        let part = KernelSectors::new(KernelIndex(0), SectorMask(1));
        DownstreamRequest { addr: Addr(addr), part, bytes, token, kind: DownstreamKind::Write }
    }

    #[test]
    fn partly_written_sectors_wait_until_they_are_complete() {
        let mut buffer = StoreBuffer::new(2, 10);
        assert_eq!(buffer.buffer_store(store_request(0x40, 0xffff, 1), Cycle(5)), StoreOutcome::Stalls);
        assert_eq!(buffer.buffer_store(store_request(0x60, 0xff, 1), Cycle(6)), StoreOutcome::Stalls);
        assert_eq!(buffer.buffer_store(store_request(0x60, 0xff00, 2), Cycle(6)), StoreOutcome::Joined, "the store is of another warp");
        assert_eq!(
            buffer.buffer_store(store_request(0x40, 0xffff_0000, 2), Cycle(7)),
            StoreOutcome::Completed(store_request(0x40, ALL_BYTES, 1))
        );
        assert_eq!(
            buffer.buffer_store(store_request(0x40, ALL_BYTES, 2), Cycle(7)),
            StoreOutcome::Leaves(store_request(0x40, ALL_BYTES, 2))
        );
        assert_eq!((buffer.next_departure(Cycle(8)), buffer.pop(Cycle(14))), (Cycle(15), None), "the line arrived in cycle 5");
        assert_eq!(buffer.pop(Cycle(15)), Some((store_request(0x60, 0xffff, 1), false)));
        assert_eq!((buffer.next_departure(Cycle(16)), buffer.pop(Cycle(100))), (Cycle::NEVER, None));
    }

    #[test]
    fn a_younger_line_evicts_the_oldest() {
        let mut buffer = StoreBuffer::new(2, 100);
        for (at, addr) in [0x000, 0x020, 0x080].into_iter().enumerate() {
            assert_eq!(buffer.buffer_store(store_request(addr, 1, 0), Cycle(at as u64)), StoreOutcome::Stalls);
        }
        assert!(buffer.is_free());
        assert_eq!(buffer.buffer_store(store_request(0x100, 1, 0), Cycle(3)), StoreOutcome::Stalls);
        assert!(!buffer.is_free());
        let leaves = |buffer: &mut StoreBuffer| buffer.pop(Cycle(4)).map(|(down, evicted)| (down.addr.0, evicted));
        assert_eq!([0; 3].map(|_| leaves(&mut buffer)), [Some((0x000, true)), Some((0x020, true)), None]);
        assert_eq!(
            buffer.buffer_store(store_request(0x000, 2, 0), Cycle(5)),
            StoreOutcome::Stalls,
            "the sector that left does not wait any more"
        );
    }
}
