//! A hashed directory, for sets of hundreds of ways that a look-up must not scan.
//!
//! A look-up walks a short chain, whose length does not depend on the associativity.

use warpshard_base::{Slots, prefetch};
use warpshard_state::StateError;

use super::directory::{Directory, LineSlot, NO_LINE};
use super::index::hash;
use super::sectors::Sectors;

#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct HashedLine<L> {
    /// The line number (address / bytes of a line), if a sector is not invalid.
    tag: u64,
    /// The replacement state of the line.
    order: L,
    /// The next line in the same bucket.
    chain: u16,
    sectors: Sectors,
}

/// A directory that stores lines in hash buckets.
#[derive(Clone, Debug, warpshard_state::State)]
#[state(checked)]
pub(super) struct HashedDirectory<S, L> {
    max_ways: u32,
    /// 2^32 divided by the number of ways, rounded up. Line numbers have less than 16 bits, so the product gives the set without a
    /// division.
    per_way: u64,
    lines: Box<[HashedLine<L>]>,
    /// The first line of each bucket.
    buckets: Slots<u16>,
    /// The replacement state of each set.
    sets: Box<[S]>,
    /// Empty ways, `words` words per set.
    empty: Box<[u64]>,
    words: usize,
}

impl<S, L> HashedDirectory<S, L> {
    /// Rejects saved lines whose look-ups would not terminate.
    fn check(&self) -> Result<(), StateError> {
        let some = |at: u16| (at != NO_LINE).then_some(usize::from(at));
        let starts = self.buckets.as_slice().iter().copied().filter_map(some);
        warpshard_state::check_lists_end(self.lines.len(), starts, |at| some(self.lines[at].chain))
    }

    /// Records whether a way is empty.
    #[inline]
    fn set_empty(&mut self, at: LineSlot, empty: bool) {
        let way = at.way as usize;
        let (word, bit) = (at.set as usize * self.words + way / 64, 1 << (way % 64));
        if empty { self.empty[word] |= bit } else { self.empty[word] &= !bit }
    }

    #[inline]
    fn unchain(&mut self, at: u16) {
        let line = &self.lines[usize::from(at)];
        let after = line.chain;
        let first = self.buckets.get_mut(hash(line.tag));
        if *first == at {
            *first = after;
            return;
        }
        let mut before = *first;
        while self.lines[usize::from(before)].chain != at {
            before = self.lines[usize::from(before)].chain;
        }
        self.lines[usize::from(before)].chain = after;
    }
}

impl<S: Copy, L: Copy> Directory for HashedDirectory<S, L> {
    type Set = S;
    type Line = L;

    fn new(sets: u32, max_ways: u32, set: S, line: L) -> Self {
        let count = (sets * max_ways) as usize;
        let words = max_ways.div_ceil(64) as usize;
        Self {
            max_ways,
            per_way: (1u64 << 32).div_ceil(u64::from(max_ways)),
            lines: vec![HashedLine { tag: 0, order: line, chain: NO_LINE, sectors: Sectors::default() }; count].into(),
            buckets: Slots::new(count, NO_LINE),
            sets: vec![set; sets as usize].into(),
            empty: vec![0; words * sets as usize].into(),
            words,
        }
    }

    fn hot_bytes(&self) -> usize {
        size_of_val(&*self.lines) + size_of_val(self.buckets.as_slice()) + size_of_val(&*self.sets) + size_of_val(&*self.empty)
    }

    fn clear(&mut self, ways: u32, set: S) {
        self.buckets.fill(NO_LINE);
        self.sets.fill(set);
        for line in &mut self.lines {
            line.sectors = Sectors::default();
        }
        for (i, word) in self.empty.iter_mut().enumerate() {
            let first = (i % self.words) as u32 * 64;
            let here = ways.saturating_sub(first).min(64);
            *word = if here == 0 { 0 } else { u64::MAX >> (64 - here) };
        }
    }

    #[inline]
    fn find(&self, tag: u64, _set: u32) -> Option<u16> {
        let mut at = *self.buckets.get(hash(tag));
        while at != NO_LINE {
            let line = &self.lines[usize::from(at)];
            if line.tag == tag {
                return Some(at);
            }
            at = line.chain;
        }
        None
    }

    #[inline]
    fn slot_of(&self, line: u16) -> LineSlot {
        let set = ((u64::from(line) * self.per_way) >> 32) as u32;
        LineSlot { line, set, way: u32::from(line) - set * self.max_ways }
    }

    #[inline]
    fn first(&self, set: u32) -> u16 {
        (set * self.max_ways) as u16
    }

    #[inline]
    fn tag(&self, line: u16) -> u64 {
        self.lines[usize::from(line)].tag
    }

    #[inline]
    fn sectors(&self, line: u16) -> Sectors {
        self.lines[usize::from(line)].sectors
    }

    #[inline]
    fn sectors_mut(&mut self, line: u16) -> &mut Sectors {
        &mut self.lines[usize::from(line)].sectors
    }

    #[inline]
    fn empty(&self, set: u32) -> Option<u16> {
        for word in (0..self.words).rev() {
            let empty = self.empty[set as usize * self.words + word];
            if empty != 0 {
                return Some((set * self.max_ways + word as u32 * 64 + 63 - empty.leading_zeros()) as u16);
            }
        }
        None
    }

    #[inline(always)]
    fn place_line(&mut self, at: LineSlot, tag: u64, sectors: Sectors) -> bool {
        let replaced = self.lines[usize::from(at.line)].sectors.is_any_present();
        if replaced {
            self.unchain(at.line);
        } else {
            self.set_empty(at, false);
        }
        let line = &mut self.lines[usize::from(at.line)];
        line.tag = tag;
        line.sectors = sectors;
        line.chain = std::mem::replace(self.buckets.get_mut(hash(tag)), at.line);
        replaced
    }

    fn remove(&mut self, at: LineSlot) {
        self.unchain(at.line);
        self.set_empty(at, true);
    }

    #[inline]
    fn set_state(&self, set: u32) -> &S {
        &self.sets[set as usize]
    }

    #[inline]
    fn set_state_mut(&mut self, set: u32) -> &mut S {
        &mut self.sets[set as usize]
    }

    #[inline]
    fn line_state(&self, line: u16) -> &L {
        &self.lines[usize::from(line)].order
    }

    #[inline]
    fn line_state_mut(&mut self, line: u16) -> &mut L {
        &mut self.lines[usize::from(line)].order
    }

    #[inline]
    fn prefetch_sets(&self) {
        prefetch(&*self.sets);
        prefetch(&*self.empty);
    }

    #[inline]
    fn prefetch_start(&self, tag: u64, _set: u32) {
        prefetch(self.buckets.get(hash(tag)));
    }

    #[inline]
    fn prefetch_first(&self, tag: u64) {
        self.prefetch(*self.buckets.get(hash(tag)));
    }

    #[inline]
    fn prefetch(&self, line: u16) {
        if let Some(line) = self.lines.get(usize::from(line)) {
            prefetch(&line.order);
        }
    }

    #[inline]
    fn prefetch_removal(&self, line: u16) {
        prefetch(self.buckets.get(hash(self.lines[usize::from(line)].tag)));
    }
}
