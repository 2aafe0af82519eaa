//! The victim tag arrays: for each warp, the tags of the lines that it fetched into the L1 and that were evicted last.
//!
//! In: evicted lines, and reads that miss. Out: whether the L1 had held a missing line before. Each warp has its own
//! sets, indexed by the low bits of the line number and replaced first in, first out.

use warpshard_base::{Addr, LINE_BYTES};

const EMPTY: u64 = u64::MAX;

/// The victim tags of an SM's warps.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Victims {
    /// Line numbers, by warp, set and way.
    tags: Box<[u64]>,
    /// The way that the next tag of a set goes to, by warp and set.
    next: Box<[u32]>,
    ways: usize,
    sets: usize,
}

impl Victims {
    /// Empty arrays of `tags` tags for each of so many warps, in sets of `ways`.
    pub(super) fn new(warps: usize, tags: u32, ways: u32) -> Self {
        let sets = (tags / ways) as usize;
        Self { tags: vec![EMPTY; warps * tags as usize].into(), next: vec![0; warps * sets].into(), ways: ways as usize, sets }
    }

    /// A line of `warp` made room.
    pub(super) fn insert(&mut self, warp: usize, addr: Addr) {
        let (set, line) = self.set(warp, addr);
        let way = self.next[set] as usize;
        self.tags[set * self.ways + way] = line;
        self.next[set] = if way + 1 == self.ways { 0 } else { way as u32 + 1 };
    }

    /// Whether `addr` is the line of a victim tag of `warp`; the tag leaves the array.
    pub(super) fn take(&mut self, warp: usize, addr: Addr) -> bool {
        let (set, line) = self.set(warp, addr);
        let ways = &mut self.tags[set * self.ways..(set + 1) * self.ways];
        let found = ways.iter_mut().find(|tag| **tag == line);
        found.map(|tag| *tag = EMPTY).is_some()
    }

    /// Empties the array of a warp.
    pub(super) fn clear(&mut self, warp: usize) {
        let tags = self.ways * self.sets;
        self.tags[warp * tags..(warp + 1) * tags].fill(EMPTY);
        self.next[warp * self.sets..(warp + 1) * self.sets].fill(0);
    }

    /// The set of a line, counted over all warps, and the line's number.
    fn set(&self, warp: usize, addr: Addr) -> (usize, u64) {
        let line = addr.0 / LINE_BYTES;
        (warp * self.sets + (line as usize & (self.sets - 1)), line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64) -> Addr {
        Addr(number * LINE_BYTES)
    }

    #[test]
    fn a_warp_finds_its_own_victims_once_and_those_of_others_never() {
        let mut victims = Victims::new(2, 4, 2);
        victims.insert(0, line(6));
        assert!(!victims.take(1, line(6)));
        assert!(victims.take(0, line(6)));
        assert!(!victims.take(0, line(6)), "its line is back in the L1");
    }

    #[test]
    fn of_a_full_set_the_tag_that_came_first_goes_first() {
        let mut victims = Victims::new(1, 4, 2);
        // Even lines share a set of two ways; the odd one does not disturb them.
        for number in [2, 4, 3, 6] {
            victims.insert(0, line(number));
        }
        assert!(!victims.take(0, line(2)));
        assert!(victims.take(0, line(4)) && victims.take(0, line(6)) && victims.take(0, line(3)));
    }

    #[test]
    fn a_new_warp_in_the_slot_finds_nothing() {
        let mut victims = Victims::new(2, 4, 2);
        victims.insert(0, line(2));
        victims.insert(1, line(2));
        victims.clear(0);
        assert!(!victims.take(0, line(2)) && victims.take(1, line(2)));
    }
}
