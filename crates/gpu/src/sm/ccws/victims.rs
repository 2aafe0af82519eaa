//! The victim tag arrays: for each warp, the tags of the most recently evicted lines that it fetched into the L1.
//!
//! In: evicted lines, and reads that miss. Out: true for a missing line that the L1 had held. Each warp has private sets, indexed by the
//! low bits of the line number, with FIFO replacement.

use warpshard_base::{Addr, LINE_BYTES};

const NO_TAG: u64 = u64::MAX;

/// The victim tags of the warps of an SM.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct VictimTags {
    /// Line numbers, by warp, set and way.
    tags: Box<[u64]>,
    /// The way of the next tag of a set, by warp and set.
    next: Box<[u32]>,
    ways: usize,
    sets: usize,
}

impl VictimTags {
    /// Creates empty arrays of `tags` tags for each of `warps` warps, in sets of `ways`.
    pub(super) fn new(warps: usize, tags: u32, ways: u32) -> Self {
        let sets = (tags / ways) as usize;
        Self { tags: vec![NO_TAG; warps * tags as usize].into(), next: vec![0; warps * sets].into(), ways: ways as usize, sets }
    }

    /// Inserts the tag of an evicted line of `warp`.
    pub(super) fn insert(&mut self, warp: usize, addr: Addr) {
        let (set, line) = self.set(warp, addr);
        let way = self.next[set] as usize;
        self.tags[set * self.ways + way] = line;
        self.next[set] = if way + 1 == self.ways { 0 } else { way as u32 + 1 };
    }

    /// Removes the victim tag of `addr` from the array of `warp`; returns true if it was there.
    pub(super) fn take(&mut self, warp: usize, addr: Addr) -> bool {
        let (set, line) = self.set(warp, addr);
        let ways = &mut self.tags[set * self.ways..(set + 1) * self.ways];
        let found = ways.iter_mut().find(|tag| **tag == line);
        found.map(|tag| *tag = NO_TAG).is_some()
    }

    /// Empties the array of a warp.
    pub(super) fn clear(&mut self, warp: usize) {
        let tags = self.ways * self.sets;
        self.tags[warp * tags..(warp + 1) * tags].fill(NO_TAG);
        self.next[warp * self.sets..(warp + 1) * self.sets].fill(0);
    }

    /// Returns the index of the set of a line, counted over all warps, and the line number.
    fn set(&self, warp: usize, addr: Addr) -> (usize, u64) {
        let line = addr.0 / LINE_BYTES;
        (warp * self.sets + (line as usize & (self.sets - 1)), line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_addr(number: u64) -> Addr {
        Addr(number * LINE_BYTES)
    }

    #[test]
    fn a_warp_hits_its_victims_once_and_never_the_victims_of_others() {
        let mut victims = VictimTags::new(2, 4, 2);
        victims.insert(0, line_addr(6));
        assert!(!victims.take(1, line_addr(6)));
        assert!(victims.take(0, line_addr(6)));
        assert!(!victims.take(0, line_addr(6)), "the tag was removed, since its line is in the L1 again");
    }

    #[test]
    fn a_full_set_replaces_the_first_inserted_tag() {
        let mut victims = VictimTags::new(1, 4, 2);
        // Even lines share a set of two ways; the odd line does not affect them.
        for number in [2, 4, 3, 6] {
            victims.insert(0, line_addr(number));
        }
        assert!(!victims.take(0, line_addr(2)));
        assert!(victims.take(0, line_addr(4)) && victims.take(0, line_addr(6)) && victims.take(0, line_addr(3)));
    }

    #[test]
    fn clearing_a_slot_removes_its_victims() {
        let mut victims = VictimTags::new(2, 4, 2);
        victims.insert(0, line_addr(2));
        victims.insert(1, line_addr(2));
        victims.clear(0);
        assert!(!victims.take(0, line_addr(2)) && victims.take(1, line_addr(2)));
    }
}
