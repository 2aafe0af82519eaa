//! A packed directory, which stores lines set by set: for caches of few ways, where the data of a look-up is contiguous.
//!
//! The head of a set has one byte of each line's hash, and the replacement state of the set. So a look-up reads one host cache line for the
//! head and one for each line whose byte matches, usually one or none.

use warpshard_base::{Slots, positions, prefetch};

use super::directory::{Directory, LineSlot};
use super::sectors::Sectors;

/// The largest number of ways of a head.
pub(super) const MAX_WAYS: u32 = 24;
/// Ways per word of a head.
const WAYS_PER_WORD: usize = 8;
const WORDS_PER_SET: usize = MAX_WAYS as usize / WAYS_PER_WORD;

#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct PackedLine {
    /// The line number (address / bytes of a line), if a sector is not invalid.
    tag: u64,
    sectors: Sectors,
    /// The replacement state of the line, which is empty for all orders of this directory.
    order: (),
}

/// The head of a set, which a look-up reads first.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
#[repr(align(64))]
struct SetHead<S> {
    /// A byte of the hash of each way's line; zero for an empty way.
    prints: [u64; WORDS_PER_SET],
    /// The replacement state of the set.
    order: S,
    /// Empty ways, as bits.
    empty: u32,
}

impl<S> SetHead<S> {
    #[inline]
    fn set_print(&mut self, way: u32, print: u8) {
        let (word, shift) = (way as usize / WAYS_PER_WORD, way as usize % WAYS_PER_WORD * 8);
        self.prints[word] = self.prints[word] & !(0xff << shift) | u64::from(print) << shift;
    }
}

/// A directory that stores lines by set.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct PackedDirectory<S> {
    ways: u32,
    /// 2^32 divided by the number of ways, rounded up. Line numbers have less than 16 bits, so the product gives the set without a
    /// division.
    per_way: u64,
    heads: Slots<SetHead<S>>,
    lines: Slots<PackedLine>,
}

impl<S: Copy> Directory for PackedDirectory<S> {
    type Set = S;
    type Line = ();

    fn new(sets: u32, max_ways: u32, set: S, (): ()) -> Self {
        assert!(max_ways <= MAX_WAYS, "{max_ways} ways in a head of {MAX_WAYS}");
        Self {
            ways: max_ways,
            per_way: (1u64 << 32).div_ceil(u64::from(max_ways)),
            heads: Slots::new(sets as usize, SetHead { prints: [0; WORDS_PER_SET], order: set, empty: 0 }),
            lines: Slots::new((sets * max_ways) as usize, PackedLine::default()),
        }
    }

    fn hot_bytes(&self) -> usize {
        self.heads.count() * (size_of::<SetHead<S>>() + self.ways as usize * size_of::<PackedLine>())
    }

    fn clear(&mut self, ways: u32, set: S) {
        self.heads.fill(SetHead { prints: [0; WORDS_PER_SET], order: set, empty: u32::MAX >> (32 - ways) });
        self.lines.fill(PackedLine::default());
    }

    // Every access of an LLC slice calls this function.
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
    fn slot_of(&self, line: u16) -> LineSlot {
        let set = ((u64::from(line) * self.per_way) >> 32) as u32;
        LineSlot { line, set, way: u32::from(line) - set * self.ways }
    }

    #[inline]
    fn first(&self, set: u32) -> u16 {
        (set * self.ways) as u16
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
    fn empty(&self, set: u32) -> Option<u16> {
        let empty = self.heads.get(set).empty;
        if empty == 0 { None } else { Some((set * self.ways + 31 - empty.leading_zeros()) as u16) }
    }

    #[inline]
    fn place_line(&mut self, at: LineSlot, tag: u64, sectors: Sectors) -> bool {
        let head = self.heads.get_mut(at.set);
        let replaced = head.empty >> at.way & 1 == 0;
        head.empty &= !(1 << at.way);
        head.set_print(at.way, print(tag));
        let line = self.lines.get_mut(u32::from(at.line));
        (line.tag, line.sectors) = (tag, sectors);
        replaced
    }

    fn remove(&mut self, at: LineSlot) {
        let head = self.heads.get_mut(at.set);
        head.set_print(at.way, 0);
        head.empty |= 1 << at.way;
    }

    #[inline]
    fn set_state(&self, set: u32) -> &S {
        &self.heads.get(set).order
    }

    #[inline]
    fn set_state_mut(&mut self, set: u32) -> &mut S {
        &mut self.heads.get_mut(set).order
    }

    #[inline]
    fn line_state(&self, line: u16) -> &() {
        &self.lines.get(u32::from(line)).order
    }

    #[inline]
    fn line_state_mut(&mut self, line: u16) -> &mut () {
        &mut self.lines.get_mut(u32::from(line)).order
    }

    #[inline]
    fn prefetch_sets(&self) {}

    #[inline]
    fn prefetch_start(&self, _tag: u64, set: u32) {
        prefetch(&self.heads.get(set).empty);
    }

    #[inline]
    fn prefetch_first(&self, _tag: u64) {}

    #[inline]
    fn prefetch(&self, line: u16) {
        prefetch(&self.lines.get(u32::from(line)).tag);
    }

    #[inline]
    fn prefetch_removal(&self, _line: u16) {}
}

/// Returns the byte that a look-up compares; never zero.
#[inline]
fn print(tag: u64) -> u8 {
    ((tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).max(1)
}
