//! The tag array: lines, the state of their sectors, the order in which they make room, and the masks of written bytes.
//!
//! [`TagArray::probe`] changes nothing; [`TagArray::access`] applies its result. The implementation of the look-up depends on the
//! number of ways and on the replacement policy, and is not visible from outside.

use warpshard_base::{Addr, LINE_BYTES, SectorMask};
use warpshard_config::machine::{Cache, Replacement};
use warpshard_seam::{self as seam, BoxedReplacement};
use warpshard_state::StateError;

use super::directory::{Directory, NONE};
use super::hashed::Hashed;
use super::lookup::{Evicted, Probe};
use super::packed::{self, Packed};
use super::replacement::{Any, Bytes, Order};
use super::tag_lines::TagLines;

/// The tags of a cache.
#[derive(Clone, Debug, warpshard_state::State)]
#[state(checked)]
pub struct TagArray(Kind);

#[derive(Clone, Debug, warpshard_state::State)]
enum Kind {
    /// LRU of few ways.
    Few(TagLines<Packed<<Bytes as Order>::Set>, Bytes>),
    /// LRU of more, and every other replacement.
    Many(TagLines<Hashed<<Any as Order>::Set, <Any as Order>::Line>, Any>),
}

/// Calls the same function of either.
macro_rules! each {
    ($self:expr, $tags:ident => $call:expr) => {
        match $self {
            TagArray(Kind::Few($tags)) => $call,
            TagArray(Kind::Many($tags)) => $call,
        }
    };
}

impl TagArray {
    /// Empty tags for `spec`, with room for `max_ways` ways of which `spec.ways` are in use.
    ///
    /// While fewer than `write_ratio` percent of the lines are modified, modified lines are not evicted
    /// (`-gpgpu_l1_cache_write_ratio`; 0 for no such rule).
    ///
    /// # Panics
    /// When sets or bytes of a line are no power of two, lines of more than 128 bytes have sectors, or lines cannot be numbered with 16 bits.
    pub fn new(spec: &Cache, max_ways: u32, write_ratio: u32) -> Self {
        Self::of(spec, max_ways, write_ratio, None)
    }

    /// The same, with a policy of replacement that sees requests; each is told to it by [`TagArray::note`].
    ///
    /// # Panics
    /// As [`TagArray::new`].
    pub(super) fn of(spec: &Cache, max_ways: u32, write_ratio: u32, seeing: Option<BoxedReplacement>) -> Self {
        assert!(spec.sets.is_power_of_two() && spec.line_bytes.is_power_of_two(), "a cache of {} sets of {} B", spec.sets, spec.line_bytes);
        assert!(spec.line_bytes == LINE_BYTES as u16 || !spec.sectored, "{} B in sectors", spec.line_bytes);
        assert!(spec.ways >= 1 && spec.ways <= max_ways, "{} of at most {max_ways} ways", spec.ways);
        let count = spec.sets * max_ways;
        assert!(count < u32::from(NONE), "a cache of {count} lines");
        if let Some(policy) = seeing {
            return Self(Kind::Many(TagLines::around(Any::seeing(policy, max_ways), spec, max_ways, write_ratio)));
        }
        Self(match (spec.replacement, max_ways) {
            (Replacement::Lru, ..=packed::MAX_WAYS) => Kind::Few(TagLines::new(spec, max_ways, write_ratio)),
            _ => Kind::Many(TagLines::new(spec, max_ways, write_ratio)),
        })
    }

    /// Refuses saved tags in which a search for a victim would not end.
    fn check(&self) -> Result<(), StateError> {
        each!(self, tags => tags.lists_end())
    }

    /// Tells the request that comes next to a policy of replacement that sees requests.
    #[cold]
    pub(super) fn note(&mut self, access: &seam::Access) {
        if let Kind::Many(tags) = &mut self.0 {
            tags.order.note(access);
        }
    }

    /// Lines in use.
    pub fn line_count(&self) -> u32 {
        each!(self, tags => tags.line_count())
    }

    /// Sets.
    pub fn sets(&self) -> u32 {
        each!(self, tags => tags.sets)
    }

    /// The addresses of the lines that hold a sector or wait for one, in no particular order.
    pub fn lines(&self) -> Vec<Addr> {
        each!(self, tags => tags.lines().collect())
    }

    /// Whether lines make room in the order of their last access.
    pub fn is_lru(&self) -> bool {
        each!(self, tags => tags.order.is_lru())
    }

    /// Whether every set is full of lines that were used in cycle `now` or cannot be evicted: from then on a read miss of that
    /// cycle replaces the line that the miss before it placed. Never with another replacement than LRU.
    pub fn only_turns_over(&self, now: u64) -> bool {
        each!(self, tags => tags.only_turns_over(now))
    }

    /// Lines that hold a modified sector.
    pub fn dirty(&self) -> u32 {
        each!(self, tags => tags.dirty)
    }

    /// Bytes of the arrays that every access may touch.
    pub fn hot_bytes(&self) -> usize {
        each!(self, tags => tags.hot_bytes())
    }

    /// Empties the cache and uses `ways` ways from now on. What was modified is lost, as in the reference.
    ///
    /// # Panics
    /// When `ways` is zero or more than there is room for.
    pub fn set_ways(&mut self, ways: u32) {
        each!(self, tags => tags.set_ways(ways));
    }

    /// Empties the cache. What was modified is lost, as in the reference; costs nothing when nothing was accessed since.
    pub fn invalidate(&mut self) {
        each!(self, tags => tags.invalidate());
    }

    /// Looks `addr`, which belongs to `set`, up without changing anything. `sectors` is one sector of a sectored cache, and does not
    /// matter for a line cache.
    // Every access of a cache calls it.
    #[inline(always)]
    pub fn probe(&self, addr: Addr, set: u32, sectors: SectorMask, write: bool) -> Probe {
        each!(self, tags => tags.probe(addr, set, sectors, write))
    }

    /// Whether a read of a sector (of a line cache: of a line) would hit.
    #[inline]
    pub fn has(&self, addr: Addr, set: u32, sectors: SectorMask) -> bool {
        each!(self, tags => tags.has(addr, set, sectors))
    }

    /// Prefetches what look-ups begin with, whatever their address.
    #[inline]
    pub fn prefetch_sets(&self) {
        each!(self, tags => tags.directory.prefetch_sets());
    }

    /// Prefetches where a look-up of `addr` begins.
    #[inline]
    pub fn prefetch_start(&self, addr: Addr, set: u32) {
        each!(self, tags => tags.directory.prefetch_start(tags.number(addr), set));
    }

    /// Prefetches the line that a look-up of `addr` comes to first.
    #[inline]
    pub fn prefetch_first(&self, addr: Addr) {
        each!(self, tags => tags.directory.prefetch_first(tags.number(addr)));
    }

    /// Prefetches the line of a set that would have to make room.
    #[inline]
    pub fn prefetch_oldest(&self, set: u32) {
        each!(self, tags => tags.prefetch_oldest(set));
    }

    /// Prefetches a line.
    #[inline]
    pub fn prefetch(&self, line: u16) {
        each!(self, tags => tags.directory.prefetch(line));
    }

    /// Carries out a probe of the same address: renews the line, or reserves the sector where misses allocate.
    ///
    /// Returns the line that had to make room, when it was modified.
    // Every access of a cache calls it.
    #[inline(always)]
    pub fn access(&mut self, probe: Probe, addr: Addr, sectors: SectorMask, now: u64) -> Option<Evicted> {
        each!(self, tags => tags.access(probe, addr, sectors, now))
    }

    /// The data of a sector came for `line`, where misses allocate. Data whose line was evicted or emptied meanwhile is dropped.
    #[inline(always)]
    pub fn fill(&mut self, line: u16, addr: Addr, sectors: SectorMask) {
        each!(self, tags => tags.fill(line, addr, sectors));
    }

    /// The data of sectors of one line came, where fills allocate; a line makes room without being written back, as in the
    /// reference. The sectors come one after the other, in ascending order.
    pub fn fill_allocating(&mut self, addr: Addr, set: u32, sectors: SectorMask, now: u64) {
        each!(self, tags => tags.fill_allocating(addr, set, sectors, now));
    }

    /// Whether `line` holds sectors of `addr`.
    #[inline]
    pub fn holds(&self, line: u16, addr: Addr) -> bool {
        each!(self, tags => tags.holds(line, addr))
    }

    /// Marks bytes of a sector of `line` as written: `bytes` of the one sector meant, all ones for whole sectors.
    /// A line cache keeps no byte masks: its modified lines are dirty as a whole.
    pub fn write(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        each!(self, tags => tags.write(line, sectors, bytes));
    }

    /// Says after a write into an absent or reserved sector that its other bytes are unknown, unless the write covered all.
    /// With `pending`, the fetch under way will bring them, and leaves the sector modified.
    pub fn write_missed(&mut self, line: u16, sectors: SectorMask, pending: bool) {
        each!(self, tags => tags.write_missed(line, sectors, pending));
    }

    /// Says of a reserved sector that `bytes` are written into it when its data comes.
    pub fn modify_on_fill(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        each!(self, tags => tags.modify_on_fill(line, sectors, bytes));
    }

    /// Makes the modified line of a set that would make room first a clean one, and returns what was modified. Sectors of which only some bytes
    /// are known are forgotten.
    pub fn clean_oldest(&mut self, set: u32) -> Option<Evicted> {
        each!(self, tags => tags.clean_oldest(set))
    }

    /// Forgets a sector of `line`, modified or not.
    pub fn evict_sector(&mut self, line: u16, sectors: SectorMask) {
        each!(self, tags => tags.evict_sector(line, sectors));
    }
}
