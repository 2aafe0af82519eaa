//! Least recently used, for sets of few ways: the ways of a set in the order of their last access, one byte per way.

use warpshard_base::positions;
use warpshard_config::machine::Replacement;

use super::super::Lookup;
use super::super::directory::LineSlot;
use super::{DirectoryFor, ReplacementOrder};

/// Ways per word.
const WAYS_PER_WORD: usize = 8;
const WORDS_PER_SET: usize = 3;

/// The LRU order stored in bytes.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::cache) struct LruBytes;

/// The ways of a set that hold a line, least recently used first; ways that were used in the same cycle are ordered by number.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(in crate::cache) struct Recency {
    ways: WaySequence,
    /// The low half of the cycle of the last access.
    time: u32,
    /// The number of ways that hold a line, and the number of the newest of them that were used in the cycle of the last access.
    len: u8,
    newest_count: u8,
}

const _: () = assert!(size_of::<Recency>() == 32);

/// A sequence of ways, one byte per way.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct WaySequence([u64; WORDS_PER_SET]);

impl WaySequence {
    #[inline]
    fn get(&self, place: usize) -> u8 {
        (self.0[place / WAYS_PER_WORD] >> (place % WAYS_PER_WORD * 8)) as u8
    }

    /// Returns the position of `way`, which must be in the sequence.
    // The bytes after the end are zero, which is also a way, so the first position is the right one.
    #[inline]
    fn position_of(&self, way: u8) -> usize {
        positions(&self.0, way).trailing_zeros() as usize
    }

    /// Removes the way at a position; the ways after it move forward.
    #[inline]
    fn remove_at(&mut self, place: usize) {
        let [a, b, c] = self.0;
        let before = (1u64 << (place % WAYS_PER_WORD * 8)) - 1;
        let without = |word: u64, next: u64| word & before | word >> 8 & !before | next << 56;
        self.0 = match place / WAYS_PER_WORD {
            0 => [without(a, b), b >> 8 | c << 56, c >> 8],
            1 => [a, without(b, c), c >> 8],
            _ => [a, b, without(c, 0)],
        };
    }

    /// Appends a way; there must be space.
    #[inline]
    fn append(&mut self, place: usize, way: u8) {
        self.0[place / WAYS_PER_WORD] |= u64::from(way) << (place % WAYS_PER_WORD * 8);
    }

    /// Inserts a way at a position; the ways from there on move back.
    fn insert(&mut self, place: usize, way: u8) {
        let (first, shift) = (place / WAYS_PER_WORD, place % WAYS_PER_WORD * 8);
        for word in (first + 1..WORDS_PER_SET).rev() {
            self.0[word] = self.0[word] << 8 | self.0[word - 1] >> 56;
        }
        let before = (1u64 << shift) - 1;
        self.0[first] = self.0[first] & before | u64::from(way) << shift | (self.0[first] & !before) << 8;
    }
}

impl Recency {
    /// Inserts a new way at the newest end, ordered by number among the ways of the same cycle.
    #[inline]
    fn append(&mut self, way: u8, now: u32) {
        let mut place = usize::from(self.len);
        if self.time == now {
            let first = self.len - self.newest_count;
            while place > usize::from(first) && self.ways.get(place - 1) > way {
                place -= 1;
            }
            self.ways.insert(place, way);
            self.newest_count += 1;
        } else {
            self.ways.append(place, way);
            (self.time, self.newest_count) = (now, 1);
        }
        self.len += 1;
    }

    /// Removes the way at a position; if it was used in the last cycle, the count of that cycle is decremented.
    #[inline]
    fn remove_at(&mut self, place: usize) {
        self.ways.remove_at(place);
        self.newest_count -= u8::from(place >= usize::from(self.len - self.newest_count));
        self.len -= 1;
    }
}

impl ReplacementOrder for LruBytes {
    type Set = Recency;
    type Line = ();
    const EMPTY_SET: Recency = Recency { ways: WaySequence([0; WORDS_PER_SET]), time: 0, len: 0, newest_count: 0 };
    const EMPTY_WAY: () = ();

    fn new(_: Replacement, _: u32, max_ways: u32) -> Self {
        assert!(max_ways as usize <= WORDS_PER_SET * WAYS_PER_WORD, "{max_ways} ways in {} bytes", WORDS_PER_SET * WAYS_PER_WORD);
        Self
    }

    fn hot_bytes(&self) -> usize {
        0
    }

    fn clear(&mut self) {}

    #[inline]
    fn victim(&self, lines: &impl DirectoryFor<Self>, set: u32, evictable: impl Fn(u16) -> bool) -> Option<u16> {
        let (recency, first) = (lines.set_state(set), lines.first(set));
        let line = |place: usize| first + u16::from(recency.ways.get(place));
        (0..usize::from(recency.len)).map(line).find(|line| evictable(*line))
    }

    #[inline]
    fn insert(&mut self, lines: &mut impl DirectoryFor<Self>, at: LineSlot, replaced: bool, now: u64) {
        let (recency, way) = (lines.set_state_mut(at.set), at.way as u8);
        if replaced {
            // The victim is usually the oldest way.
            let place = if recency.ways.get(0) == way { 0 } else { recency.ways.position_of(way) };
            recency.remove_at(place);
        }
        recency.append(way, now as u32);
    }

    #[inline]
    fn touch(&mut self, lines: &mut impl DirectoryFor<Self>, line: u16, _: Lookup, now: u64) {
        let at = lines.slot_of(line);
        let (recency, way) = (lines.set_state_mut(at.set), at.way as u8);
        let (len, now) = (usize::from(recency.len), now as u32);
        if recency.ways.get(len - 1) == way {
            if recency.time != now {
                (recency.time, recency.newest_count) = (now, 1);
            }
            return;
        }
        let place = recency.ways.position_of(way);
        // Ways of one cycle are ordered by number, so a second access in the cycle moves nothing.
        if recency.time == now && place >= len - usize::from(recency.newest_count) {
            return;
        }
        recency.remove_at(place);
        recency.append(way, now);
    }

    fn remove(&mut self, lines: &mut impl DirectoryFor<Self>, at: LineSlot) {
        let recency = lines.set_state_mut(at.set);
        let place = recency.ways.position_of(at.way as u8);
        recency.remove_at(place);
    }

    fn is_lru(&self) -> bool {
        true
    }

    fn victim_is_new(&self, lines: &impl DirectoryFor<Self>, line: u16, now: u64) -> bool {
        let at = lines.slot_of(line);
        let recency = lines.set_state(at.set);
        recency.time == now as u32 && recency.ways.position_of(at.way as u8) >= usize::from(recency.len - recency.newest_count)
    }

    #[inline]
    fn prefetch_oldest(&self, lines: &impl DirectoryFor<Self>, set: u32) {
        lines.prefetch(lines.first(set) + u16::from(lines.set_state(set).ways.get(0)));
    }
}
