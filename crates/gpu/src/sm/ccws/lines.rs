//! The owners of the lines of the L1: the address of every line and the warp that fetched it, and the warp that first requested every
//! outstanding fetch.
//!
//! In: fills and evictions of the L1. Out: the address and the owner of an evicted line.

use warpshard_base::Addr;

const NO_LINE: Addr = Addr(u64::MAX);

/// Addresses and owners of the lines of an L1.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct LineOwners {
    contents: Box<[(Addr, u8)]>,
    fetchers: Box<[u8]>,
}

impl LineOwners {
    /// Creates `lines` empty lines, with at most `fetches` outstanding fetches.
    pub(super) fn new(lines: u32, fetches: u32) -> Self {
        Self { contents: vec![(NO_LINE, 0); lines as usize].into(), fetchers: vec![0; fetches as usize].into() }
    }

    /// Records that a line holds `addr` for `warp`; returns the address and the owner of its previous content.
    pub(super) fn fill(&mut self, line: u16, addr: Addr, warp: u8) -> Option<(Addr, u8)> {
        let before = std::mem::replace(&mut self.contents[usize::from(line)], (addr, warp));
        (before.0 != NO_LINE && before.0 != addr).then_some(before)
    }

    /// Clears a line that was invalidated without an eviction.
    pub(super) fn clear_line(&mut self, line: u16) {
        self.contents[usize::from(line)].0 = NO_LINE;
    }

    /// Clears all lines.
    pub(super) fn clear(&mut self) {
        self.contents.fill((NO_LINE, 0));
    }

    /// Records the warp that requested fetch number `entry`.
    pub(super) fn fetch(&mut self, entry: u16, warp: u8) {
        self.fetchers[usize::from(entry)] = warp;
    }

    /// Returns the warp that requested a fetch.
    pub(super) fn fetcher(&self, entry: u16) -> u8 {
        self.fetchers[usize::from(entry)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_returns_the_previous_line_and_its_owner() {
        let mut lines = LineOwners::new(2, 1);
        assert_eq!(lines.fill(0, Addr(0x80), 3), None);
        assert_eq!(lines.fill(0, Addr(0x100), 5), Some((Addr(0x80), 3)));
        assert_eq!(lines.fill(0, Addr(0x100), 7), None, "a line that is filled again evicts nothing");
        lines.clear_line(0);
        assert_eq!(lines.fill(0, Addr(0x80), 3), None, "a line that a write removed is no victim");
        lines.clear();
        assert_eq!(lines.fill(0, Addr(0x180), 3), None);
    }
}
