//! The contract of directories, which look up lines and store the state of their sectors.
//!
//! A directory maps lines to ways and records the empty ways. A [`ReplacementOrder`](super::replacement::ReplacementOrder) selects victims; its state of each
//! set and line is stored here, where a look-up reads anyway.

use super::sectors::Sectors;

/// The line number that means "no line".
pub(super) const NO_LINE: u16 = u16::MAX;

/// The position of a line: its number, its set, and its way in the set.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineSlot {
    pub(super) line: u16,
    pub(super) set: u32,
    pub(super) way: u32,
}

/// The lines of a cache. They are numbered set by set, `max_ways` per set. All sectors of an empty way are invalid.
pub(super) trait Directory {
    /// The replacement state of a set.
    type Set: Copy;
    /// The replacement state of a line.
    type Line: Copy;

    /// Returns an empty directory; [`Directory::clear`] sets the number of ways in use.
    fn new(sets: u32, max_ways: u32, set: Self::Set, line: Self::Line) -> Self;

    /// Returns the bytes of the arrays.
    fn hot_bytes(&self) -> usize;

    /// Removes all lines and sets the number of ways in use per set to `ways` and the replacement state of each set to `set`.
    fn clear(&mut self, ways: u32, set: Self::Set);

    /// Returns the line with line number `tag` in its `set`.
    fn find(&self, tag: u64, set: u32) -> Option<u16>;

    /// Returns the position of a line.
    fn slot_of(&self, line: u16) -> LineSlot;

    /// Returns the line in way 0 of a set.
    fn first(&self, set: u32) -> u16;

    /// Returns the line number (tag) of a line.
    fn tag(&self, line: u16) -> u64;

    /// Returns the state of a line's sectors.
    fn sectors(&self, line: u16) -> Sectors;

    /// Returns a mutable reference to the state of a line's sectors. At least one sector must remain in a state other than invalid, unless
    /// [`Directory::remove`] follows.
    fn sectors_mut(&mut self, line: u16) -> &mut Sectors;

    /// Returns the empty way with the highest number.
    fn empty(&self, set: u32) -> Option<u16>;

    /// Inserts a line into an empty or victim way. Returns true if it replaces a victim.
    fn place_line(&mut self, at: LineSlot, tag: u64, sectors: Sectors) -> bool;

    /// Removes a line, which leaves an empty way.
    fn remove(&mut self, at: LineSlot);

    /// Returns the replacement state of a set.
    fn set_state(&self, set: u32) -> &Self::Set;

    /// Returns a mutable reference to the replacement state of a set.
    fn set_state_mut(&mut self, set: u32) -> &mut Self::Set;

    /// Returns the replacement state of a line.
    fn line_state(&self, line: u16) -> &Self::Line;

    /// Returns a mutable reference to the replacement state of a line.
    fn line_state_mut(&mut self, line: u16) -> &mut Self::Line;

    /// Prefetches the data that every look-up reads first.
    fn prefetch_sets(&self);

    /// Prefetches the data that the look-up of `tag` reads first.
    fn prefetch_start(&self, tag: u64, set: u32);

    /// Prefetches the first line that a look-up of `tag` examines. Call [`Directory::prefetch_start`] some time before.
    fn prefetch_first(&self, tag: u64);

    /// Prefetches a line.
    fn prefetch(&self, line: u16);

    /// Prefetches the data that the removal of a line reads first.
    fn prefetch_removal(&self, line: u16);
}
