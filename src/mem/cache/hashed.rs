//! Lines found by a hash of their number: for sets of hundreds of ways, where a look-up must not scan the set.
//!
//! A look-up walks a short chain, regardless of the associativity; recency is a linked list of the lines of a set.

use crate::base::{Slots, prefetch};

use super::directory::{Directory, NONE};
use super::index::hash;
use super::sectors::Sectors;

#[derive(Clone, Copy, Debug)]
struct Line {
    /// Line number (address / bytes of a line) while any sector is not invalid.
    tag: u64,
    /// Low half of the cycle of the last access; compared for equality only.
    time: u32,
    /// Neighbours in the recency order of the set.
    older: u16,
    newer: u16,
    /// The next line of the same bucket.
    chain: u16,
    sectors: Sectors,
}

const _: () = assert!(size_of::<Line>() == 24);

#[derive(Clone, Copy, Debug)]
struct Set {
    oldest: u16,
    newest: u16,
}

/// Lines in buckets, with a list per set.
#[derive(Clone, Debug)]
pub(super) struct Hashed {
    max_ways: u32,
    /// 2^32 divided by the ways, rounded up: lines have less than 16 bits, so that the product gives the set without division.
    per_way: u64,
    lines: Box<[Line]>,
    /// The first line of those whose numbers' hashes lead here.
    buckets: Slots<u16>,
    sets: Box<[Set]>,
    /// Ways without a line, `words` words per set.
    empty: Box<[u64]>,
    words: usize,
}

impl Hashed {
    #[inline]
    fn set_of(&self, line: u16) -> usize {
        ((u64::from(line) * self.per_way) >> 32) as usize
    }

    /// Notes whether a way holds a line.
    #[inline]
    fn set_empty(&mut self, line: u16, empty: bool) {
        let set = self.set_of(line);
        let way = usize::from(line) - set * self.max_ways as usize;
        let (word, bit) = (set * self.words + way / 64, 1 << (way % 64));
        if empty { self.empty[word] |= bit } else { self.empty[word] &= !bit }
    }

    /// Puts a line at the new end of its set, among those of the same cycle by way.
    #[inline]
    fn link(&mut self, at: u16, set: usize, now: u64) {
        let time = now as u32;
        let mut newer = NONE;
        let mut older = self.sets[set].newest;
        while older != NONE && older > at && self.lines[usize::from(older)].time == time {
            newer = older;
            older = self.lines[usize::from(older)].older;
        }
        let line = &mut self.lines[usize::from(at)];
        line.time = time;
        line.older = older;
        line.newer = newer;
        match older {
            NONE => self.sets[set].oldest = at,
            _ => self.lines[usize::from(older)].newer = at,
        }
        match newer {
            NONE => self.sets[set].newest = at,
            _ => self.lines[usize::from(newer)].older = at,
        }
    }

    #[inline]
    fn unlink(&mut self, at: u16, set: usize) {
        let Line { older, newer, .. } = self.lines[usize::from(at)];
        match older {
            NONE => self.sets[set].oldest = newer,
            _ => self.lines[usize::from(older)].newer = newer,
        }
        match newer {
            NONE => self.sets[set].newest = older,
            _ => self.lines[usize::from(newer)].older = older,
        }
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

impl Directory for Hashed {
    fn new(sets: u32, max_ways: u32) -> Self {
        let count = (sets * max_ways) as usize;
        let words = max_ways.div_ceil(64) as usize;
        let line = Line { tag: 0, time: 0, older: NONE, newer: NONE, chain: NONE, sectors: Sectors::default() };
        Self {
            max_ways,
            per_way: (1u64 << 32).div_ceil(u64::from(max_ways)),
            lines: vec![line; count].into(),
            buckets: Slots::new(count, NONE),
            sets: vec![Set { oldest: NONE, newest: NONE }; sets as usize].into(),
            empty: vec![0; words * sets as usize].into(),
            words,
        }
    }

    fn hot_bytes(&self) -> usize {
        size_of_val(&*self.lines) + size_of_val(self.buckets.as_slice()) + size_of_val(&*self.sets) + size_of_val(&*self.empty)
    }

    fn clear(&mut self, ways: u32) {
        self.buckets.fill(NONE);
        self.sets.fill(Set { oldest: NONE, newest: NONE });
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
        while at != NONE {
            let line = &self.lines[usize::from(at)];
            if line.tag == tag {
                return Some(at);
            }
            at = line.chain;
        }
        None
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

    fn victim(&self, set: u32, may_go: impl Fn(Sectors) -> bool) -> Option<u16> {
        for word in (0..self.words).rev() {
            let empty = self.empty[set as usize * self.words + word];
            if empty != 0 {
                return Some((set * self.max_ways + word as u32 * 64 + 63 - empty.leading_zeros()) as u16);
            }
        }
        let mut at = self.sets[set as usize].oldest;
        while at != NONE {
            let line = &self.lines[usize::from(at)];
            if may_go(line.sectors) {
                // The line will be taken out of its bucket, if the miss finds room everywhere else.
                prefetch(self.buckets.get(hash(line.tag)));
                return Some(at);
            }
            at = line.newer;
        }
        None
    }

    fn used_at(&self, line: u16, now: u64) -> bool {
        self.lines[usize::from(line)].time == now as u32
    }

    fn place(&mut self, at: u16, tag: u64, sectors: Sectors, now: u64) {
        let set = self.set_of(at);
        if self.lines[usize::from(at)].sectors.any() {
            self.unlink(at, set);
            self.unchain(at);
        } else {
            self.set_empty(at, false);
        }
        let line = &mut self.lines[usize::from(at)];
        line.tag = tag;
        line.sectors = sectors;
        line.chain = std::mem::replace(self.buckets.get_mut(hash(tag)), at);
        self.link(at, set, now);
    }

    #[inline]
    fn renew(&mut self, at: u16, now: u64) {
        let line = &mut self.lines[usize::from(at)];
        // Lines of one cycle stand by their ways, so that a second access in it moves nothing. (Nor does one that comes 2^32 cycles
        // after the last, which cannot be told from it.)
        if line.newer == NONE || line.time == now as u32 {
            line.time = now as u32;
            return;
        }
        let set = self.set_of(at);
        self.unlink(at, set);
        self.link(at, set, now);
    }

    fn remove(&mut self, at: u16) {
        self.unlink(at, self.set_of(at));
        self.unchain(at);
        self.set_empty(at, true);
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
        if let Some(line) = self.lines.get(usize::from(*self.buckets.get(hash(tag)))) {
            prefetch(&line.time);
        }
    }

    #[inline]
    fn prefetch_oldest(&self, set: u32) {
        if let Some(line) = self.lines.get(usize::from(self.sets[set as usize].oldest)) {
            prefetch(&line.time);
        }
    }

    #[inline]
    fn prefetch(&self, line: u16) {
        prefetch(&self.lines[usize::from(line)].time);
    }
}
