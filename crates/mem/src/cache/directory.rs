//! Finding a line: the contract of the look-ups, which store the lines of a cache with the state of their sectors.
//!
//! A look-up knows which way holds which line and which ways are empty. In what order lines make room is the business of an
//! [`Order`](super::replacement::Order); what that keeps of a set and of a line is stored here, where a look-up reads anyway.

use super::sectors::Sectors;

/// No line.
pub(super) const NONE: u16 = u16::MAX;

/// A line's place: its number, its set, and its way there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) line: u16,
    pub(super) set: u32,
    pub(super) way: u32,
}

/// The lines of a cache. They are numbered set by set, `max_ways` to each. All sectors of a way without a line are invalid.
pub(super) trait Directory {
    /// What the order of replacement keeps of a set.
    type Set: Copy;
    /// What it keeps of a line.
    type Line: Copy;

    /// No lines; [`Directory::clear`] says how many ways are in use.
    fn new(sets: u32, max_ways: u32, set: Self::Set, line: Self::Line) -> Self;

    /// Bytes of the arrays.
    fn hot_bytes(&self) -> usize;

    /// Forgets all lines, and uses `ways` ways of each set from now on; the order keeps `set` of each set.
    fn clear(&mut self, ways: u32, set: Self::Set);

    /// The line of number `tag`, which belongs to `set`.
    fn find(&self, tag: u64, set: u32) -> Option<u16>;

    /// Where a line is.
    fn spot(&self, line: u16) -> Spot;

    /// The line of way 0 of a set.
    fn first(&self, set: u32) -> u16;

    /// The number of a line.
    fn tag(&self, line: u16) -> u64;

    /// The sectors of a line.
    fn sectors(&self, line: u16) -> Sectors;

    /// The sectors of a line, to be changed; at least one remains in another state than invalid, unless [`Directory::remove`] follows.
    fn sectors_mut(&mut self, line: u16) -> &mut Sectors;

    /// The empty way with the highest number.
    fn empty(&self, set: u32) -> Option<u16>;

    /// Puts a line in the place of another or into an empty way. Returns whether there was another.
    fn put(&mut self, at: Spot, tag: u64, sectors: Sectors) -> bool;

    /// Empties the way of a line.
    fn remove(&mut self, at: Spot);

    /// What the order keeps of a set.
    fn of_set(&self, set: u32) -> &Self::Set;

    /// The same, to be changed.
    fn of_set_mut(&mut self, set: u32) -> &mut Self::Set;

    /// What the order keeps of a line.
    fn of_line(&self, line: u16) -> &Self::Line;

    /// The same, to be changed.
    fn of_line_mut(&mut self, line: u16) -> &mut Self::Line;

    /// Prefetches what look-ups begin with, whatever their address.
    fn prefetch_sets(&self);

    /// Prefetches what the look-up of a number begins with.
    fn prefetch_start(&self, tag: u64, set: u32);

    /// Prefetches the line that a look-up comes to first; what it begins with should be there.
    fn prefetch_first(&self, tag: u64);

    /// Prefetches a line.
    fn prefetch(&self, line: u16);

    /// Prefetches what the removal of a line begins with.
    fn prefetch_removal(&self, line: u16);
}
