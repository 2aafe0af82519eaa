//! The owners of the L1's lines: for every line its address and the warp that fetched it, and for every outstanding fetch
//! the warp that requested it first.
//!
//! In: fills and evictions of the L1. Out: the address and the owner of an evicted line.

use warpshard_base::Addr;

const NOTHING: Addr = Addr(u64::MAX);

/// Addresses and owners of an L1's lines.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Lines {
    held: Box<[(Addr, u8)]>,
    fetchers: Box<[u8]>,
}

impl Lines {
    /// Empty lines; of fetches, at most `fetches` are under way.
    pub(super) fn new(lines: u32, fetches: u32) -> Self {
        Self { held: vec![(NOTHING, 0); lines as usize].into(), fetchers: vec![0; fetches as usize].into() }
    }

    /// A line comes to hold `addr` for `warp`; returns what it held before, and for whom.
    pub(super) fn bring(&mut self, line: u16, addr: Addr, warp: u8) -> Option<(Addr, u8)> {
        let before = std::mem::replace(&mut self.held[usize::from(line)], (addr, warp));
        (before.0 != NOTHING && before.0 != addr).then_some(before)
    }

    /// A line was invalidated, without being evicted for another.
    pub(super) fn forget(&mut self, line: u16) {
        self.held[usize::from(line)].0 = NOTHING;
    }

    /// No line holds anything.
    pub(super) fn clear(&mut self) {
        self.held.fill((NOTHING, 0));
    }

    /// Fetch number `entry` is made for `warp`.
    pub(super) fn fetch(&mut self, entry: u16, warp: u8) {
        self.fetchers[usize::from(entry)] = warp;
    }

    /// The warp that a fetch is made for.
    pub(super) fn fetcher(&self, entry: u16) -> u8 {
        self.fetchers[usize::from(entry)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_makes_room_is_the_line_that_was_there_and_belongs_to_who_brought_it() {
        let mut lines = Lines::new(2, 1);
        assert_eq!(lines.bring(0, Addr(0x80), 3), None);
        assert_eq!(lines.bring(0, Addr(0x100), 5), Some((Addr(0x80), 3)));
        assert_eq!(lines.bring(0, Addr(0x100), 7), None, "a line that comes again makes no room");
        lines.forget(0);
        assert_eq!(lines.bring(0, Addr(0x80), 3), None, "a line that a write removed is no victim");
        lines.clear();
        assert_eq!(lines.bring(0, Addr(0x180), 3), None);
    }
}
