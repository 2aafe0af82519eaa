//! Lines stored set by set: for caches of few ways, where the data of a look-up is contiguous.
//!
//! The head of a set has one byte of each line's hash, and the recency order of the lines. So
//! a look-up reads one host cache line for the head and one for each line whose byte matches, mostly one or none.

use crate::base::{Slots, positions, prefetch};

use super::directory::Directory;
use super::sectors::Sectors;

/// Ways that a head has room for.
pub(super) const MAX_WAYS: u32 = 24;
/// Ways in a word of a head.
const IN_WORD: usize = 8;
const WORDS: usize = MAX_WAYS as usize / IN_WORD;

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Line number (address / bytes of a line) while any sector is not invalid.
    tag: u64,
    sectors: Sectors,
}

const _: () = assert!(size_of::<Line>() == 16);

/// What a look-up begins with.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Head {
    /// A byte for each way, zero for one without a line.
    prints: [u64; WORDS],
    /// The ways with a line, the one used longest ago first.
    order: Order,
    /// Ways without a line.
    empty: u32,
    /// Low half of the cycle of the last access.
    time: u32,
    /// Ways with a line, and how many of the newest of them were used in that cycle.
    len: u8,
    together: u8,
}

const _: () = assert!(size_of::<Head>() == 64);

/// A sequence of ways, a byte each.
#[derive(Clone, Copy, Debug, Default)]
struct Order([u64; WORDS]);

impl Order {
    #[inline]
    fn get(&self, place: usize) -> u8 {
        (self.0[place / IN_WORD] >> (place % IN_WORD * 8)) as u8
    }

    /// Where `way` stands, which does stand somewhere.
    // Behind the end stand zeros, which are no way: the first place is meant.
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

impl Head {
    /// Puts a way that is not among them at the new end, among those of the same cycle by way.
    #[inline]
    fn append(&mut self, way: u8, now: u32) {
        let mut place = usize::from(self.len);
        if self.time == now {
            let first = self.len - self.together;
            while place > usize::from(first) && self.order.get(place - 1) > way {
                place -= 1;
            }
            self.order.insert(place, way);
            self.together += 1;
        } else {
            self.order.append(place, way);
            (self.time, self.together) = (now, 1);
        }
        self.len += 1;
    }

    /// Takes the way at a place out; where it was used in the last cycle, one fewer was.
    #[inline]
    fn take_out(&mut self, place: usize) {
        self.order.take_out(place);
        self.together -= u8::from(place >= usize::from(self.len - self.together));
        self.len -= 1;
    }

    #[inline]
    fn set_print(&mut self, way: u8, print: u8) {
        let (word, shift) = (usize::from(way) / IN_WORD, usize::from(way) % IN_WORD * 8);
        self.prints[word] = self.prints[word] & !(0xff << shift) | u64::from(print) << shift;
    }
}

/// Lines by set.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    ways: u32,
    /// 2^32 divided by the ways, rounded up: lines have less than 16 bits, so that the product gives the set without division.
    per_way: u64,
    heads: Slots<Head>,
    lines: Slots<Line>,
}

impl Packed {
    /// The set of a line, and its way there.
    #[inline]
    fn place_of(&self, line: u16) -> (u32, u8) {
        let set = (u64::from(line) * self.per_way) >> 32;
        (set as u32, (u32::from(line) - set as u32 * self.ways) as u8)
    }
}

impl Directory for Packed {
    fn new(sets: u32, max_ways: u32) -> Self {
        assert!(max_ways <= MAX_WAYS, "{max_ways} ways in a head of {MAX_WAYS}");
        Self {
            ways: max_ways,
            per_way: (1u64 << 32).div_ceil(u64::from(max_ways)),
            heads: Slots::new(sets as usize, Head::default()),
            lines: Slots::new((sets * max_ways) as usize, Line::default()),
        }
    }

    fn hot_bytes(&self) -> usize {
        self.heads.count() * (size_of::<Head>() + self.ways as usize * size_of::<Line>())
    }

    fn clear(&mut self, ways: u32) {
        self.heads.fill(Head { empty: u32::MAX >> (32 - ways), ..Head::default() });
        self.lines.fill(Line::default());
    }

    // Every access of an LLC slice calls it.
    #[inline(always)]
    fn find(&self, tag: u64, set: u32) -> Option<u16> {
        let (head, first) = (self.heads.get(set), set * self.ways);
        let mut fits = positions(&head.prints, print(tag));
        while fits != 0 {
            let line = first + fits.trailing_zeros();
            if self.lines.get(line).tag == tag {
                return Some(line as u16);
            }
            fits &= fits - 1;
        }
        None
    }

    #[inline]
    fn tag(&self, line: u16) -> u64 {
        self.lines.get(u32::from(line)).tag
    }

    #[inline]
    fn sectors(&self, line: u16) -> Sectors {
        self.lines.get(u32::from(line)).sectors
    }

    #[inline]
    fn sectors_mut(&mut self, line: u16) -> &mut Sectors {
        &mut self.lines.get_mut(u32::from(line)).sectors
    }

    #[inline]
    fn victim(&self, set: u32, may_go: impl Fn(Sectors) -> bool) -> Option<u16> {
        let (head, first) = (self.heads.get(set), set * self.ways);
        if head.empty != 0 {
            return Some((first + 31 - head.empty.leading_zeros()) as u16);
        }
        for place in 0..usize::from(head.len) {
            let line = first + u32::from(head.order.get(place));
            if may_go(self.lines.get(line).sectors) {
                return Some(line as u16);
            }
        }
        None
    }

    fn used_at(&self, line: u16, now: u64) -> bool {
        let (set, way) = self.place_of(line);
        let head = self.heads.get(set);
        head.time == now as u32 && head.order.place(way) >= usize::from(head.len - head.together)
    }

    #[inline]
    fn place(&mut self, line: u16, tag: u64, sectors: Sectors, now: u64) {
        let (set, way) = self.place_of(line);
        let head = self.heads.get_mut(set);
        if head.empty >> way & 1 != 0 {
            head.empty &= !(1 << way);
        } else {
            // What makes room is mostly the oldest.
            let place = if head.order.get(0) == way { 0 } else { head.order.place(way) };
            head.take_out(place);
        }
        head.append(way, now as u32);
        head.set_print(way, print(tag));
        *self.lines.get_mut(u32::from(line)) = Line { tag, sectors };
    }

    #[inline]
    fn renew(&mut self, line: u16, now: u64) {
        let (set, way) = self.place_of(line);
        let head = self.heads.get_mut(set);
        let (len, now) = (usize::from(head.len), now as u32);
        if head.order.get(len - 1) == way {
            if head.time != now {
                (head.time, head.together) = (now, 1);
            }
            return;
        }
        let place = head.order.place(way);
        // Lines of one cycle stand by their ways, so that a second access in it moves nothing.
        if head.time == now && place >= len - usize::from(head.together) {
            return;
        }
        head.take_out(place);
        head.append(way, now);
    }

    fn remove(&mut self, line: u16) {
        let (set, way) = self.place_of(line);
        let head = self.heads.get_mut(set);
        let place = head.order.place(way);
        head.take_out(place);
        head.set_print(way, 0);
        head.empty |= 1 << way;
    }

    #[inline]
    fn prefetch_sets(&self) {}

    #[inline]
    fn prefetch_start(&self, _tag: u64, set: u32) {
        prefetch(&self.heads.get(set).time);
    }

    #[inline]
    fn prefetch_first(&self, _tag: u64) {}

    #[inline]
    fn prefetch_oldest(&self, set: u32) {
        let oldest = self.heads.get(set).order.get(0);
        prefetch(&self.lines.get(set * self.ways + u32::from(oldest)).tag);
    }

    #[inline]
    fn prefetch(&self, line: u16) {
        prefetch(&self.lines.get(u32::from(line)).tag);
    }
}

/// The byte by which a line is looked for; never zero.
#[inline]
fn print(tag: u64) -> u8 {
    ((tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).max(1)
}
