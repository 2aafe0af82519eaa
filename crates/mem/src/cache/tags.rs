//! The tag array: lines, the state of their sectors, the eviction order, and the masks of written bytes.
//!
//! [`TagArray::probe`] changes nothing; [`TagArray::access`] applies its result. The kind of directory depends on the number of ways and on
//! the replacement policy, and is not visible from outside.

use warpshard_base::{Addr, LINE_BYTES, SectorMask};
use warpshard_config::machine::{Cache, Replacement};
use warpshard_seam::{self as seam, BoxedReplacement};
use warpshard_state::StateError;

use super::directory::{Directory, NO_LINE};
use super::hashed::HashedDirectory;
use super::lookup::{EvictedLine, Probe};
use super::packed::{self, PackedDirectory};
use super::replacement::{AnyReplacementOrder, LruBytes, ReplacementOrder};
use super::tag_lines::TagLines;

/// The tags of a cache.
#[derive(Clone, Debug, warpshard_state::State)]
#[state(checked)]
pub struct TagArray(TagArrayKind);

#[derive(Clone, Debug, warpshard_state::State)]
enum TagArrayKind {
    /// LRU with few ways.
    Few(TagLines<PackedDirectory<<LruBytes as ReplacementOrder>::Set>, LruBytes>),
    /// LRU with more ways, and every other replacement policy.
    Many(
        TagLines<
            HashedDirectory<<AnyReplacementOrder as ReplacementOrder>::Set, <AnyReplacementOrder as ReplacementOrder>::Line>,
            AnyReplacementOrder,
        >,
    ),
}

/// Calls the same function of either variant.
macro_rules! each {
    ($self:expr, $tags:ident => $call:expr) => {
        match $self {
            TagArray(TagArrayKind::Few($tags)) => $call,
            TagArray(TagArrayKind::Many($tags)) => $call,
        }
    };
}

impl TagArray {
    /// Returns empty tags for `spec`, with space for `max_ways` ways of which `spec.ways` are in use.
    ///
    /// While fewer than `write_ratio` percent of the lines are modified, modified lines are not evicted (`-gpgpu_l1_cache_write_ratio`; 0
    /// disables the rule).
    ///
    /// # Panics
    /// If the number of sets or the bytes of a line are not a power of two, lines of more than 128 bytes have sectors, or lines cannot be
    /// numbered with 16 bits.
    pub fn new(spec: &Cache, max_ways: u32, write_ratio: u32) -> Self {
        Self::with_request_policy(spec, max_ways, write_ratio, None)
    }

    /// Returns empty tags as [`TagArray::new`] does, with a replacement policy that examines requests; [`TagArray::record_request`] passes them to
    /// it.
    ///
    /// # Panics
    /// In the same cases as [`TagArray::new`].
    pub(super) fn with_request_policy(spec: &Cache, max_ways: u32, write_ratio: u32, request_policy: Option<BoxedReplacement>) -> Self {
        assert!(spec.sets.is_power_of_two() && spec.line_bytes.is_power_of_two(), "a cache of {} sets of {} B", spec.sets, spec.line_bytes);
        assert!(spec.line_bytes == LINE_BYTES as u16 || !spec.sectored, "{} B in sectors", spec.line_bytes);
        assert!(spec.ways >= 1 && spec.ways <= max_ways, "{} of at most {max_ways} ways", spec.ways);
        let count = spec.sets * max_ways;
        assert!(count < u32::from(NO_LINE), "a cache of {count} lines");
        if let Some(policy) = request_policy {
            return Self(TagArrayKind::Many(TagLines::with_order(
                AnyReplacementOrder::with_request_policy(policy, max_ways),
                spec,
                max_ways,
                write_ratio,
            )));
        }
        Self(match (spec.replacement, max_ways) {
            (Replacement::Lru, ..=packed::MAX_WAYS) => TagArrayKind::Few(TagLines::new(spec, max_ways, write_ratio)),
            _ => TagArrayKind::Many(TagLines::new(spec, max_ways, write_ratio)),
        })
    }

    /// Rejects saved tags in which a search for a victim would not terminate.
    fn check(&self) -> Result<(), StateError> {
        each!(self, tags => tags.lists_end())
    }

    /// Passes the next request to a replacement policy that examines requests.
    #[cold]
    pub(super) fn record_request(&mut self, access: &seam::Access) {
        if let TagArrayKind::Many(tags) = &mut self.0 {
            tags.order.record_request(access);
        }
    }

    /// Returns the number of lines in use.
    pub fn line_count(&self) -> u32 {
        each!(self, tags => tags.line_count())
    }

    /// Returns the number of sets.
    pub fn sets(&self) -> u32 {
        each!(self, tags => tags.sets)
    }

    /// Returns the addresses of the lines with a sector that is present or being fetched, in no particular order.
    pub fn lines(&self) -> Vec<Addr> {
        each!(self, tags => tags.lines().collect())
    }

    /// Returns true if lines are evicted in the order of their last access.
    pub fn is_lru(&self) -> bool {
        each!(self, tags => tags.order.is_lru())
    }

    /// Returns true if every set is full of lines that were used in cycle `now` or are not evictable: then each further read miss of that
    /// cycle replaces the line that the previous miss inserted. Always false for replacement policies other than LRU.
    pub fn replaces_only_new_lines(&self, now: u64) -> bool {
        each!(self, tags => tags.replaces_only_new_lines(now))
    }

    /// Returns the number of lines with a modified sector.
    pub fn dirty(&self) -> u32 {
        each!(self, tags => tags.dirty_lines)
    }

    /// Returns the bytes of the arrays that every access may read.
    pub fn hot_bytes(&self) -> usize {
        each!(self, tags => tags.hot_bytes())
    }

    /// Empties the cache and sets the number of ways in use to `ways`. Modified data is lost, as in GPGPU-Sim.
    ///
    /// # Panics
    /// If `ways` is zero or exceeds the allocated ways.
    pub fn set_ways(&mut self, ways: u32) {
        each!(self, tags => tags.set_ways(ways));
    }

    /// Empties the cache. Modified data is lost, as in GPGPU-Sim. The call costs nothing if there was no access since the last one.
    pub fn invalidate(&mut self) {
        each!(self, tags => tags.invalidate());
    }

    /// Looks up `addr` in its `set` without changing anything. `sectors` is one sector of a sectored cache; a line cache ignores it.
    // Every access of a cache calls this function.
    #[inline(always)]
    pub fn probe(&self, addr: Addr, set: u32, sectors: SectorMask, write: bool) -> Probe {
        each!(self, tags => tags.probe(addr, set, sectors, write))
    }

    /// Returns true if a read of a sector (of a line cache: of a line) would hit.
    #[inline]
    pub fn has_sectors(&self, addr: Addr, set: u32, sectors: SectorMask) -> bool {
        each!(self, tags => tags.has_sectors(addr, set, sectors))
    }

    /// Prefetches the data that every look-up reads first.
    #[inline]
    pub fn prefetch_sets(&self) {
        each!(self, tags => tags.directory.prefetch_sets());
    }

    /// Prefetches the data that a look-up of `addr` reads first.
    #[inline]
    pub fn prefetch_start(&self, addr: Addr, set: u32) {
        each!(self, tags => tags.directory.prefetch_start(tags.number(addr), set));
    }

    /// Prefetches the first line that a look-up of `addr` examines.
    #[inline]
    pub fn prefetch_first(&self, addr: Addr) {
        each!(self, tags => tags.directory.prefetch_first(tags.number(addr)));
    }

    /// Prefetches the line of a set that would be evicted.
    #[inline]
    pub fn prefetch_oldest(&self, set: u32) {
        each!(self, tags => tags.prefetch_oldest(set));
    }

    /// Prefetches a line.
    #[inline]
    pub fn prefetch(&self, line: u16) {
        each!(self, tags => tags.directory.prefetch(line));
    }

    /// Applies a probe of the same address: updates the line's last use, or reserves the sector if misses allocate.
    ///
    /// Returns the evicted line if it was modified.
    // Every access of a cache calls this function.
    #[inline(always)]
    pub fn access(&mut self, probe: Probe, addr: Addr, sectors: SectorMask, now: u64) -> Option<EvictedLine> {
        each!(self, tags => tags.access(probe, addr, sectors, now))
    }

    /// Fills a sector of `line`, if misses allocate. The data is dropped if the line was evicted or emptied in the meantime.
    #[inline(always)]
    pub fn fill(&mut self, line: u16, addr: Addr, sectors: SectorMask) {
        each!(self, tags => tags.fill(line, addr, sectors));
    }

    /// Fills sectors of one line, if fills allocate. The victim is not written back, as in GPGPU-Sim. The sectors are filled one after the
    /// other, in ascending order.
    pub fn fill_allocating(&mut self, addr: Addr, set: u32, sectors: SectorMask, now: u64) {
        each!(self, tags => tags.fill_allocating(addr, set, sectors, now));
    }

    /// Returns true if `line` holds sectors of `addr`.
    #[inline]
    pub fn holds(&self, line: u16, addr: Addr) -> bool {
        each!(self, tags => tags.holds(line, addr))
    }

    /// Marks bytes of a sector of `line` as written: `bytes` for a single sector, all ones for whole sectors. A line cache has no byte
    /// masks: its modified lines are dirty as a whole.
    pub fn write(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        each!(self, tags => tags.write(line, sectors, bytes));
    }

    /// Marks a sector after a write that missed or hit a reserved sector: its other bytes are unknown unless the write covered all of them.
    /// With `pending`, the outstanding fetch brings them and leaves the sector modified.
    pub fn write_missed(&mut self, line: u16, sectors: SectorMask, pending: bool) {
        each!(self, tags => tags.write_missed(line, sectors, pending));
    }

    /// Records that `bytes` are written into a reserved sector when its data arrives.
    pub fn modify_on_fill(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        each!(self, tags => tags.modify_on_fill(line, sectors, bytes));
    }

    /// Cleans the modified line of a set that would be evicted first, and returns its modified sectors. Sectors of which only some bytes
    /// are present are invalidated.
    pub fn clean_oldest(&mut self, set: u32) -> Option<EvictedLine> {
        each!(self, tags => tags.clean_oldest(set))
    }

    /// Invalidates a sector of `line`, whether modified or not.
    pub fn evict_sector(&mut self, line: u16, sectors: SectorMask) {
        each!(self, tags => tags.evict_sector(line, sectors));
    }
}
