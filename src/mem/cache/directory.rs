//! The line storage of a tag array: look-up, choice of the victim, and recency order.

use super::sectors::Sectors;

/// No line.
pub(super) const NONE: u16 = u16::MAX;

/// The lines of a cache. They are numbered set by set, `max_ways` to each.
///
/// All sectors of a way without a line are invalid. Lines of a set stand in the order of their last access, those of one
/// cycle by their ways.
pub(super) trait Directory {
    /// No lines; [`Directory::clear`] says how many ways are in use.
    fn new(sets: u32, max_ways: u32) -> Self;

    /// Bytes of the arrays.
    fn hot_bytes(&self) -> usize;

    /// Forgets all lines, and uses `ways` ways of each set from now on.
    fn clear(&mut self, ways: u32);

    /// The line of number `tag`, which belongs to `set`.
    fn find(&self, tag: u64, set: u32) -> Option<u16>;

    /// The number of a line.
    fn tag(&self, line: u16) -> u64;

    /// The sectors of a line.
    fn sectors(&self, line: u16) -> Sectors;

    /// The sectors of a line, to be changed; at least one remains in another state than invalid, unless [`Directory::remove`] follows.
    fn sectors_mut(&mut self, line: u16) -> &mut Sectors;

    /// The line that makes room: the empty way of the highest number, else the line whose last access is the longest ago
    /// (of several, the lowest way) among those that may go.
    fn victim(&self, set: u32, may_go: impl Fn(Sectors) -> bool) -> Option<u16>;

    /// Whether the last access of a line was in cycle `now`, as far as the low 32 bits tell.
    fn used_at(&self, line: u16, now: u64) -> bool;

    /// Puts a line in the place of another or into an empty way, as the newest of its set.
    fn place(&mut self, line: u16, tag: u64, sectors: Sectors, now: u64);

    /// Makes a line the newest of its set.
    fn renew(&mut self, line: u16, now: u64);

    /// Empties the way of a line.
    fn remove(&mut self, line: u16);

    /// Asks the host for what look-ups begin with, whatever their address.
    fn prefetch_sets(&self);

    /// Asks the host for what the look-up of a number begins with.
    fn prefetch_start(&self, tag: u64, set: u32);

    /// Asks the host for the line that a look-up comes to first; what it begins with should be there.
    fn prefetch_first(&self, tag: u64);

    /// Asks the host for the line that would have to make room; what a look-up begins with should be there.
    fn prefetch_oldest(&self, set: u32);

    /// Asks the host for a line.
    fn prefetch(&self, line: u16);
}
