//! The lines of a tag array and their changes by accesses, writes and data, generic over the directory and the replacement order.

use warpshard_base::{Addr, SECTORS_PER_LINE, SectorMask};
use warpshard_config::machine::{Allocate, Cache};
use warpshard_state::StateError;

use super::directory::NO_LINE;
use super::replacement::{DirectoryFor, ReplacementOrder};
use super::sectors::Sectors;
use super::{EvictedLine, Lookup, Probe};

const ALL_SECTORS: u8 = SectorMask::ALL.0;

/// Tags with directory `D` and eviction order `O`. The functions are documented at [`TagArray`](super::TagArray).
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct TagLines<D, O> {
    pub(super) directory: D,
    pub(super) order: O,
    line_bits: u8,
    /// The mask of the sectors that an access may select: all in a sectored cache, none in a line cache. `always` is the mask of the
    /// sectors that every access selects: all in a line cache.
    selected_sectors: u8,
    always_selected: u8,
    #[state(fixed)]
    allocate: Allocate,
    /// All sectors of a line.
    all_sectors: SectorMask,
    pub(super) sets: u32,
    write_ratio: u32,
    max_ways: u32,
    ways: u32,
    /// Written bytes of partly written sectors; other sectors do not use them.
    bytes: Box<[[u32; SECTORS_PER_LINE as usize]]>,
    pub(super) dirty_lines: u32,
    holds_lines: bool,
}

impl<O: ReplacementOrder, D: DirectoryFor<O>> TagLines<D, O> {
    pub(super) fn new(spec: &Cache, max_ways: u32, write_ratio: u32) -> Self {
        Self::with_order(O::new(spec.replacement, spec.sets, max_ways), spec, max_ways, write_ratio)
    }

    pub(super) fn with_order(order: O, spec: &Cache, max_ways: u32, write_ratio: u32) -> Self {
        let mut directory = D::new(spec.sets, max_ways, O::EMPTY_SET, O::EMPTY_WAY);
        directory.clear(spec.ways, O::EMPTY_SET);
        Self {
            directory,
            order,
            line_bits: spec.line_bytes.trailing_zeros() as u8,
            selected_sectors: if spec.sectored { u8::MAX } else { 0 },
            always_selected: if spec.sectored { 0 } else { ALL_SECTORS },
            allocate: spec.allocate,
            all_sectors: spec.whole_line(),
            sets: spec.sets,
            write_ratio,
            max_ways,
            ways: spec.ways,
            bytes: vec![[0; SECTORS_PER_LINE as usize]; (spec.sets * max_ways) as usize].into(),
            dirty_lines: 0,
            holds_lines: false,
        }
    }

    pub(super) fn hot_bytes(&self) -> usize {
        self.directory.hot_bytes() + self.order.hot_bytes()
    }

    /// Checks the lists as [`ReplacementOrder::lists_end`] does.
    pub(super) fn lists_end(&self) -> Result<(), StateError> {
        self.order.lists_end(&self.directory, self.sets)
    }

    /// Returns true if lines are divided into sectors.
    fn is_sectored(&self) -> bool {
        self.always_selected == 0
    }

    #[inline]
    pub(super) fn line_count(&self) -> u32 {
        self.sets * self.ways
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Addr> {
        let lines = 0..(self.sets * self.max_ways) as u16;
        lines.filter(|line| self.directory.sectors(*line).is_any_present()).map(|line| Addr(self.directory.tag(line) << self.line_bits))
    }

    pub(super) fn replaces_only_new_lines(&self, now: u64) -> bool {
        (0..self.sets).all(|set| match self.victim(set) {
            Some(line) => self.directory.sectors(line).is_any_present() && self.order.victim_is_new(&self.directory, line, now),
            None => true,
        })
    }

    pub(super) fn set_ways(&mut self, ways: u32) {
        assert!(ways >= 1 && ways <= self.max_ways, "{ways} of at most {} ways", self.max_ways);
        self.holds_lines |= ways != self.ways;
        self.ways = ways;
        self.invalidate();
    }

    pub(super) fn invalidate(&mut self) {
        if !self.holds_lines {
            return;
        }
        self.holds_lines = false;
        self.dirty_lines = 0;
        self.directory.clear(self.ways, O::EMPTY_SET);
        self.order.clear();
    }

    #[inline(always)]
    pub(super) fn probe(&self, addr: Addr, set: u32, sectors: SectorMask, write: bool) -> Probe {
        if let Some(line) = self.directory.find(self.number(addr), set) {
            return Probe { lookup: self.lookup(line, sectors, write), line };
        }
        match self.victim(set) {
            Some(line) => Probe { lookup: Lookup::Miss, line },
            None => Probe { lookup: Lookup::NoLine, line: NO_LINE },
        }
    }

    /// Returns an empty way or else the victim among the evictable lines that do not wait for data.
    #[inline]
    fn victim(&self, set: u32) -> Option<u16> {
        if let Some(line) = self.directory.empty(set) {
            return Some(line);
        }
        let any = self.dirty_lines * 100 >= self.write_ratio * self.line_count();
        let evictable = |line| {
            let sectors = self.directory.sectors(line);
            !sectors.is_reserved() && (any || !sectors.is_modified())
        };
        let line = self.order.victim(&self.directory, set, evictable)?;
        // The line will be removed if the miss gets all other resources.
        self.directory.prefetch_removal(line);
        Some(line)
    }

    #[inline]
    pub(super) fn has_sectors(&self, addr: Addr, set: u32, sectors: SectorMask) -> bool {
        self.directory.find(self.number(addr), set).is_some_and(|line| self.lookup(line, sectors, false) == Lookup::Hit)
    }

    #[inline(always)]
    fn touch(&mut self, line: u16, found: Lookup, now: u64) {
        self.order.touch(&mut self.directory, line, found, now);
    }

    #[inline]
    pub(super) fn prefetch_oldest(&self, set: u32) {
        self.order.prefetch_oldest(&self.directory, set);
    }

    /// Returns the look-up result for sectors of a line.
    #[inline(always)]
    fn lookup(&self, line: u16, sectors: SectorMask, write: bool) -> Lookup {
        self.directory.sectors(line).lookup(self.mask(sectors), write)
    }

    #[inline(always)]
    pub(super) fn access(&mut self, probe: Probe, addr: Addr, sectors: SectorMask, now: u64) -> Option<EvictedLine> {
        self.holds_lines = true;
        match probe.lookup {
            Lookup::Hit | Lookup::HitReserved => {
                self.touch(probe.line, probe.lookup, now);
                None
            }
            Lookup::SectorMiss if self.allocate == Allocate::OnMiss => {
                self.reserve_sector(probe.line, sectors, now);
                None
            }
            Lookup::Miss if self.allocate == Allocate::OnMiss => self.reserve_line(probe.line, addr, sectors, now),
            _ => None,
        }
    }

    #[inline(always)]
    pub(super) fn fill(&mut self, line: u16, addr: Addr, sectors: SectorMask) {
        if self.holds(line, addr) {
            self.complete(line, sectors);
        }
    }

    pub(super) fn fill_allocating(&mut self, addr: Addr, set: u32, sectors: SectorMask, now: u64) {
        let one = |left: u8| SectorMask(left & left.wrapping_neg());
        let mut left = sectors.0;
        let Probe { mut lookup, line } = self.probe(addr, set, one(left), false);
        if lookup == Lookup::NoLine {
            return;
        }
        self.holds_lines = true;
        loop {
            let sector = one(left);
            match lookup {
                Lookup::Miss => {
                    self.reserve_line(line, addr, sector, now);
                }
                Lookup::SectorMiss => self.reserve_sector(line, sector, now),
                Lookup::Hit | Lookup::HitReserved | Lookup::NoLine => {}
            }
            self.complete(line, sector);
            left &= left - 1;
            if left == 0 {
                return;
            }
            lookup = self.lookup(line, one(left), false);
        }
    }

    #[inline(always)]
    pub(super) fn holds(&self, line: u16, addr: Addr) -> bool {
        self.directory.tag(line) == self.number(addr) && self.directory.sectors(line).is_any_present()
    }

    pub(super) fn write(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        let mask = self.mask(sectors);
        let whole = bytes == u32::MAX || !self.is_sectored();
        let Self { directory, bytes: written, dirty_lines: dirty, .. } = self;
        let state = directory.sectors_mut(line);
        *dirty += u32::from(!state.is_modified());
        if whole { state.write_whole(mask) } else { state.write_part(mask, bytes, bytes_of(written, line, mask)) }
    }

    pub(super) fn write_missed(&mut self, line: u16, sectors: SectorMask, pending: bool) {
        let mask = self.mask(sectors);
        self.directory.sectors_mut(line).write_missed(mask, pending);
    }

    pub(super) fn modify_on_fill(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        let mask = self.mask(sectors);
        self.directory.sectors_mut(line).modify_on_fill(mask, bytes, bytes_of(&mut self.bytes, line, mask));
    }

    pub(super) fn evict_sector(&mut self, line: u16, sectors: SectorMask) {
        let mask = self.mask(sectors);
        let holds_more = self.change_written(line, |state| {
            state.invalidate(mask);
            state.is_any_present()
        });
        if !holds_more {
            self.remove(line);
        }
    }

    pub(super) fn clean_oldest(&mut self, set: u32) -> Option<EvictedLine> {
        let evictable = |line| {
            let sectors = self.directory.sectors(line);
            sectors.is_modified() && !sectors.is_reserved()
        };
        let line = self.order.victim(&self.directory, set, evictable)?;
        let written = self.modified_data(line);
        let holds_more = self.change_written(line, |state| {
            state.clean();
            state.is_any_present()
        });
        if !holds_more {
            self.remove(line);
        }
        Some(written)
    }

    /// Removes a line without valid sectors.
    fn remove(&mut self, line: u16) {
        let at = self.directory.slot_of(line);
        self.directory.remove(at);
        self.order.remove(&mut self.directory, at);
    }

    #[inline(always)]
    fn mask(&self, sectors: SectorMask) -> u8 {
        debug_assert!(!self.is_sectored() || sectors.count() == 1, "an access to a sectored cache is for one sector");
        sectors.0 & self.selected_sectors | self.always_selected
    }

    /// Returns the number of the line that holds `addr`.
    #[inline]
    pub(super) fn number(&self, addr: Addr) -> u64 {
        addr.0 >> self.line_bits
    }

    /// Changes the sectors of a line, and updates the count of modified lines.
    // The function is separate because most lines are never written.
    #[cold]
    #[inline(never)]
    fn change_written<T>(&mut self, line: u16, change: impl FnOnce(&mut Sectors) -> T) -> T {
        let state = self.directory.sectors_mut(line);
        let before = u32::from(state.is_modified());
        let result = change(state);
        self.dirty_lines = self.dirty_lines + u32::from(state.is_modified()) - before;
        result
    }

    #[inline]
    fn reserve_line(&mut self, at: u16, addr: Addr, sectors: SectorMask, now: u64) -> Option<EvictedLine> {
        let mut evicted = None;
        if self.directory.sectors(at).is_modified() {
            self.dirty_lines -= 1;
            evicted = Some(self.modified_data(at));
        }
        let slot = self.directory.slot_of(at);
        let replaced = self.directory.place_line(slot, self.number(addr), Sectors::waiting(self.mask(sectors)));
        self.order.insert(&mut self.directory, slot, replaced, now);
        evicted
    }

    // Most misses of a sectored cache take this path.
    #[inline(always)]
    fn reserve_sector(&mut self, at: u16, sectors: SectorMask, now: u64) {
        let mask = self.mask(sectors);
        let state = self.directory.sectors_mut(at);
        if state.is_written() {
            self.change_written(at, |state| state.reserve(mask));
        } else {
            state.reserve(mask);
        }
        self.touch(at, Lookup::SectorMiss, now);
    }

    #[inline(always)]
    fn complete(&mut self, at: u16, sectors: SectorMask) {
        let mask = self.mask(sectors);
        let state = self.directory.sectors_mut(at);
        if state.is_written() {
            self.change_written(at, |state| state.complete(mask));
        } else {
            state.complete(mask);
        }
    }

    /// Returns the modified sectors and bytes of a line.
    #[cold]
    fn modified_data(&self, at: u16) -> EvictedLine {
        let state = self.directory.sectors(at);
        let mut bytes = [0; SECTORS_PER_LINE as usize];
        for (i, bytes) in bytes.iter_mut().enumerate() {
            if state.modified_sectors() >> i & 1 != 0 {
                *bytes = if state.partial_sectors() >> i & 1 != 0 { self.bytes[usize::from(at)][i] } else { u32::MAX };
            }
        }
        let sectors = if self.is_sectored() { SectorMask(state.modified_sectors()) } else { self.all_sectors };
        EvictedLine { addr: Addr(self.directory.tag(at) << self.line_bits), sectors, bytes }
    }
}

/// Returns the mask of the written bytes of a sector.
#[inline]
fn bytes_of(bytes: &mut [[u32; SECTORS_PER_LINE as usize]], line: u16, mask: u8) -> &mut u32 {
    &mut bytes[usize::from(line)][mask.trailing_zeros() as usize]
}
