//! Least recently used, for sets of few ways: the ways of a set in the order of their last access, a byte each.

use warpshard_base::positions;
use warpshard_config::machine::Replacement;

use super::super::Lookup;
use super::super::directory::Spot;
use super::{Of, Order};

/// Ways in a word.
const IN_WORD: usize = 8;
const WORDS: usize = 3;

/// LRU by bytes.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::cache) struct Bytes;

/// The ways of a set with a line, the one used longest ago first; those of one cycle by their ways.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(in crate::cache) struct Recency {
    ways: Sequence,
    /// Low half of the cycle of the last access.
    time: u32,
    /// Ways with a line, and how many of the newest of them were used in that cycle.
    len: u8,
    together: u8,
}

const _: () = assert!(size_of::<Recency>() == 32);

/// A sequence of ways, a byte each.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Sequence([u64; WORDS]);

impl Sequence {
    #[inline]
    fn get(&self, place: usize) -> u8 {
        (self.0[place / IN_WORD] >> (place % IN_WORD * 8)) as u8
    }

    /// Where `way` stands, which does stand somewhere.
    // After the end stand zeros, which are no way: the first place is meant.
    #[inline]
    fn place(&self, way: u8) -> usize {
        positions(&self.0, way).trailing_zeros() as usize
    }

    /// Removes the way at a place; those after it move up.
    #[inline]
    fn take_out(&mut self, place: usize) {
        let [a, b, c] = self.0;
        let before = (1u64 << (place % IN_WORD * 8)) - 1;
        let without = |word: u64, next: u64| word & before | word >> 8 & !before | next << 56;
        self.0 = match place / IN_WORD {
            0 => [without(a, b), b >> 8 | c << 56, c >> 8],
            1 => [a, without(b, c), c >> 8],
            _ => [a, b, without(c, 0)],
        };
    }

    /// Appends a way; there is room.
    #[inline]
    fn append(&mut self, place: usize, way: u8) {
        self.0[place / IN_WORD] |= u64::from(way) << (place % IN_WORD * 8);
    }

    /// Inserts a way at a place; those from there on move back.
    fn insert(&mut self, place: usize, way: u8) {
        let (first, shift) = (place / IN_WORD, place % IN_WORD * 8);
        for word in (first + 1..WORDS).rev() {
            self.0[word] = self.0[word] << 8 | self.0[word - 1] >> 56;
        }
        let before = (1u64 << shift) - 1;
        self.0[first] = self.0[first] & before | u64::from(way) << shift | (self.0[first] & !before) << 8;
    }
}

impl Recency {
    /// Puts a way that is not among them at the new end, among those of the same cycle by way.
    #[inline]
    fn append(&mut self, way: u8, now: u32) {
        let mut place = usize::from(self.len);
        if self.time == now {
            let first = self.len - self.together;
            while place > usize::from(first) && self.ways.get(place - 1) > way {
                place -= 1;
            }
            self.ways.insert(place, way);
            self.together += 1;
        } else {
            self.ways.append(place, way);
            (self.time, self.together) = (now, 1);
        }
        self.len += 1;
    }

    /// Removes the way at a position; if it was used in the last cycle, that count falls by one.
    #[inline]
    fn take_out(&mut self, place: usize) {
        self.ways.take_out(place);
        self.together -= u8::from(place >= usize::from(self.len - self.together));
        self.len -= 1;
    }
}

impl Order for Bytes {
    type Set = Recency;
    type Line = ();
    const SET: Recency = Recency { ways: Sequence([0; WORDS]), time: 0, len: 0, together: 0 };
    const LINE: () = ();

    fn new(_: Replacement, _: u32, max_ways: u32) -> Self {
        assert!(max_ways as usize <= WORDS * IN_WORD, "{max_ways} ways in {} bytes", WORDS * IN_WORD);
        Self
    }

    fn hot_bytes(&self) -> usize {
        0
    }

    fn clear(&mut self) {}

    #[inline]
    fn victim(&self, lines: &impl Of<Self>, set: u32, may_go: impl Fn(u16) -> bool) -> Option<u16> {
        let (recency, first) = (lines.of_set(set), lines.first(set));
        let line = |place: usize| first + u16::from(recency.ways.get(place));
        (0..usize::from(recency.len)).map(line).find(|line| may_go(*line))
    }

    #[inline]
    fn place(&mut self, lines: &mut impl Of<Self>, at: Spot, replaced: bool, now: u64) {
        let (recency, way) = (lines.of_set_mut(at.set), at.way as u8);
        if replaced {
            // What makes room is mostly the oldest.
            let place = if recency.ways.get(0) == way { 0 } else { recency.ways.place(way) };
            recency.take_out(place);
        }
        recency.append(way, now as u32);
    }

    #[inline]
    fn renew(&mut self, lines: &mut impl Of<Self>, line: u16, _: Lookup, now: u64) {
        let at = lines.spot(line);
        let (recency, way) = (lines.of_set_mut(at.set), at.way as u8);
        let (len, now) = (usize::from(recency.len), now as u32);
        if recency.ways.get(len - 1) == way {
            if recency.time != now {
                (recency.time, recency.together) = (now, 1);
            }
            return;
        }
        let place = recency.ways.place(way);
        // Lines of one cycle stand by their ways, so that a second access in it moves nothing.
        if recency.time == now && place >= len - usize::from(recency.together) {
            return;
        }
        recency.take_out(place);
        recency.append(way, now);
    }

    fn remove(&mut self, lines: &mut impl Of<Self>, at: Spot) {
        let recency = lines.of_set_mut(at.set);
        let place = recency.ways.place(at.way as u8);
        recency.take_out(place);
    }

    fn is_lru(&self) -> bool {
        true
    }

    fn turns_over(&self, lines: &impl Of<Self>, line: u16, now: u64) -> bool {
        let at = lines.spot(line);
        let recency = lines.of_set(at.set);
        recency.time == now as u32 && recency.ways.place(at.way as u8) >= usize::from(recency.len - recency.together)
    }

    #[inline]
    fn prefetch_oldest(&self, lines: &impl Of<Self>, set: u32) {
        lines.prefetch(lines.first(set) + u16::from(lines.of_set(set).ways.get(0)));
    }
}
