//! The tag array: lines, the state of their sectors, their recency order, and the masks of written bytes.
//!
//! [`TagArray::probe`] changes nothing; [`TagArray::access`] applies its result. The implementation of the look-up depends on the
//! number of ways, and is not visible from outside.

use crate::base::{Addr, LINE_BYTES, SECTORS_PER_LINE, SectorMask};
use crate::config::machine::{Allocate, Cache};

use super::directory::{Directory, NONE};
use super::hashed::Hashed;
use super::packed::{self, Packed};
use super::sectors::Sectors;

const ALL: u8 = SectorMask::ALL.0;

/// What a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The sector is there.
    Hit,
    /// The sector is on its way.
    HitReserved,
    /// The line is there, the sector is not (or not all of it, for a read of a partly written sector).
    SectorMiss,
    /// The line is not there; another can make room.
    Miss,
    /// The line is not there, and all lines of the set are waiting for data or may not be evicted.
    NoLine,
}

/// What a probe found, and which line it concerns: the one that holds the address, or the one that can make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What was found.
    pub lookup: Lookup,
    /// The line, without meaning after [`Lookup::NoLine`].
    pub line: u16,
}

/// A modified line that had to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The line's address.
    pub addr: Addr,
    /// Its modified sectors.
    pub sectors: SectorMask,
    /// The bytes written in each sector, bit i for byte i; zero for sectors that were not modified.
    pub bytes: [u32; SECTORS_PER_LINE as usize],
}

/// The tags of a cache.
#[derive(Clone, Debug)]
pub struct TagArray(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// Of few ways.
    Packed(Tags<Packed>),
    /// Of more.
    Hashed(Tags<Hashed>),
}

/// Calls the same function of either.
macro_rules! each {
    ($self:expr, $tags:ident => $call:expr) => {
        match $self {
            TagArray(Kind::Packed($tags)) => $call,
            TagArray(Kind::Hashed($tags)) => $call,
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
        assert!(spec.sets.is_power_of_two() && spec.line_bytes.is_power_of_two(), "a cache of {} sets of {} B", spec.sets, spec.line_bytes);
        assert!(spec.line_bytes == LINE_BYTES as u16 || !spec.sectored, "{} B in sectors", spec.line_bytes);
        assert!(spec.ways >= 1 && spec.ways <= max_ways, "{} of at most {max_ways} ways", spec.ways);
        let count = spec.sets * max_ways;
        assert!(count < u32::from(NONE), "a cache of {count} lines");
        Self(match max_ways {
            ..=packed::MAX_WAYS => Kind::Packed(Tags::new(spec, max_ways, write_ratio)),
            _ => Kind::Hashed(Tags::new(spec, max_ways, write_ratio)),
        })
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

    /// Whether every set is full of lines that were used in cycle `now` or cannot be evicted: from then on a read miss of that
    /// cycle replaces the line that the miss before it placed.
    pub fn only_turns_over(&self, now: u64) -> bool {
        each!(self, tags => tags.only_turns_over(now))
    }

    /// Lines that hold a modified sector.
    pub fn dirty(&self) -> u32 {
        each!(self, tags => tags.dirty)
    }

    /// Bytes of the arrays that every access may touch.
    pub fn hot_bytes(&self) -> usize {
        each!(self, tags => tags.directory.hot_bytes())
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

    /// Asks the host for what look-ups begin with, whatever their address.
    #[inline]
    pub fn prefetch_sets(&self) {
        each!(self, tags => tags.directory.prefetch_sets());
    }

    /// Asks the host for where a look-up of `addr` begins.
    #[inline]
    pub fn prefetch_start(&self, addr: Addr, set: u32) {
        each!(self, tags => tags.directory.prefetch_start(tags.number(addr), set));
    }

    /// Asks the host for the line that a look-up of `addr` comes to first.
    #[inline]
    pub fn prefetch_first(&self, addr: Addr) {
        each!(self, tags => tags.directory.prefetch_first(tags.number(addr)));
    }

    /// Asks the host for the line of a set that would have to make room.
    #[inline]
    pub fn prefetch_oldest(&self, set: u32) {
        each!(self, tags => tags.directory.prefetch_oldest(set));
    }

    /// Asks the host for a line.
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

    /// Forgets a sector of `line`, modified or not.
    pub fn evict_sector(&mut self, line: u16, sectors: SectorMask) {
        each!(self, tags => tags.evict_sector(line, sectors));
    }
}

/// Tags whose lines are found by `D`. Its functions are those of [`TagArray`].
#[derive(Clone, Debug)]
struct Tags<D> {
    directory: D,
    line_bits: u8,
    /// Of the sectors that an access names, those that are meant, and those that are meant anyway: all, of a line cache.
    asked: u8,
    always: u8,
    allocate: Allocate,
    /// All sectors of a line.
    whole: SectorMask,
    sets: u32,
    write_ratio: u32,
    max_ways: u32,
    ways: u32,
    /// Written bytes of partly written sectors; touched for those only.
    bytes: Box<[[u32; SECTORS_PER_LINE as usize]]>,
    dirty: u32,
    used: bool,
}

impl<D: Directory> Tags<D> {
    fn new(spec: &Cache, max_ways: u32, write_ratio: u32) -> Self {
        let mut directory = D::new(spec.sets, max_ways);
        directory.clear(spec.ways);
        Self {
            directory,
            line_bits: spec.line_bytes.trailing_zeros() as u8,
            asked: if spec.sectored { u8::MAX } else { 0 },
            always: if spec.sectored { 0 } else { ALL },
            allocate: spec.allocate,
            whole: spec.whole_line(),
            sets: spec.sets,
            write_ratio,
            max_ways,
            ways: spec.ways,
            bytes: vec![[0; SECTORS_PER_LINE as usize]; (spec.sets * max_ways) as usize].into(),
            dirty: 0,
            used: false,
        }
    }

    /// Whether lines are divided into sectors.
    fn sectored(&self) -> bool {
        self.always == 0
    }

    #[inline]
    fn line_count(&self) -> u32 {
        self.sets * self.ways
    }

    fn lines(&self) -> impl Iterator<Item = Addr> {
        let lines = 0..(self.sets * self.max_ways) as u16;
        lines.filter(|line| self.directory.sectors(*line).any()).map(|line| Addr(self.directory.tag(line) << self.line_bits))
    }

    fn only_turns_over(&self, now: u64) -> bool {
        (0..self.sets).all(|set| match self.victim(set) {
            Some(line) => self.directory.sectors(line).any() && self.directory.used_at(line, now),
            None => true,
        })
    }

    fn set_ways(&mut self, ways: u32) {
        assert!(ways >= 1 && ways <= self.max_ways, "{ways} of at most {} ways", self.max_ways);
        self.used |= ways != self.ways;
        self.ways = ways;
        self.invalidate();
    }

    fn invalidate(&mut self) {
        if !self.used {
            return;
        }
        self.used = false;
        self.dirty = 0;
        self.directory.clear(self.ways);
    }

    #[inline(always)]
    fn probe(&self, addr: Addr, set: u32, sectors: SectorMask, write: bool) -> Probe {
        if let Some(line) = self.directory.find(self.number(addr), set) {
            return Probe { lookup: self.look_at(line, sectors, write), line };
        }
        match self.victim(set) {
            Some(line) => Probe { lookup: Lookup::Miss, line },
            None => Probe { lookup: Lookup::NoLine, line: NONE },
        }
    }

    /// A line that waits for no data and may be evicted.
    #[inline]
    fn victim(&self, set: u32) -> Option<u16> {
        let any = self.dirty * 100 >= self.write_ratio * self.line_count();
        self.directory.victim(set, |sectors| !sectors.is_reserved() && (any || !sectors.is_modified()))
    }

    #[inline]
    fn has(&self, addr: Addr, set: u32, sectors: SectorMask) -> bool {
        self.directory.find(self.number(addr), set).is_some_and(|line| self.look_at(line, sectors, false) == Lookup::Hit)
    }

    /// What is there of the sectors that a line may hold.
    #[inline(always)]
    fn look_at(&self, line: u16, sectors: SectorMask, write: bool) -> Lookup {
        self.directory.sectors(line).look_at(self.mask(sectors), write)
    }

    #[inline(always)]
    fn access(&mut self, probe: Probe, addr: Addr, sectors: SectorMask, now: u64) -> Option<Evicted> {
        self.used = true;
        match probe.lookup {
            Lookup::Hit | Lookup::HitReserved => {
                self.directory.renew(probe.line, now);
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
    fn fill(&mut self, line: u16, addr: Addr, sectors: SectorMask) {
        if self.holds(line, addr) {
            self.complete(line, sectors);
        }
    }

    fn fill_allocating(&mut self, addr: Addr, set: u32, sectors: SectorMask, now: u64) {
        let one = |left: u8| SectorMask(left & left.wrapping_neg());
        let mut left = sectors.0;
        let Probe { mut lookup, line } = self.probe(addr, set, one(left), false);
        if lookup == Lookup::NoLine {
            return;
        }
        self.used = true;
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
            lookup = self.look_at(line, one(left), false);
        }
    }

    #[inline(always)]
    fn holds(&self, line: u16, addr: Addr) -> bool {
        self.directory.tag(line) == self.number(addr) && self.directory.sectors(line).any()
    }

    fn write(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        let mask = self.mask(sectors);
        let whole = bytes == u32::MAX || !self.sectored();
        let Self { directory, bytes: written, dirty, .. } = self;
        let state = directory.sectors_mut(line);
        *dirty += u32::from(!state.is_modified());
        if whole { state.write_whole(mask) } else { state.write_part(mask, bytes, bytes_of(written, line, mask)) }
    }

    fn write_missed(&mut self, line: u16, sectors: SectorMask, pending: bool) {
        let mask = self.mask(sectors);
        self.directory.sectors_mut(line).write_missed(mask, pending);
    }

    fn modify_on_fill(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        let mask = self.mask(sectors);
        self.directory.sectors_mut(line).modify_on_fill(mask, bytes, bytes_of(&mut self.bytes, line, mask));
    }

    fn evict_sector(&mut self, line: u16, sectors: SectorMask) {
        let mask = self.mask(sectors);
        let holds_more = self.change_written(line, |state| {
            state.forget(mask);
            state.any()
        });
        if !holds_more {
            self.directory.remove(line);
        }
    }

    #[inline(always)]
    fn mask(&self, sectors: SectorMask) -> u8 {
        debug_assert!(!self.sectored() || sectors.count() == 1, "a sectored cache is asked for one sector at a time");
        sectors.0 & self.asked | self.always
    }

    /// The number of the line that holds `addr`.
    #[inline]
    fn number(&self, addr: Addr) -> u64 {
        addr.0 >> self.line_bits
    }

    /// Changes the sectors of a line, and counts whether it is modified before and after.
    // Apart, since most lines are never written.
    #[cold]
    #[inline(never)]
    fn change_written<T>(&mut self, line: u16, change: impl FnOnce(&mut Sectors) -> T) -> T {
        let state = self.directory.sectors_mut(line);
        let before = u32::from(state.is_modified());
        let result = change(state);
        self.dirty = self.dirty + u32::from(state.is_modified()) - before;
        result
    }

    #[inline]
    fn reserve_line(&mut self, at: u16, addr: Addr, sectors: SectorMask, now: u64) -> Option<Evicted> {
        let mut evicted = None;
        if self.directory.sectors(at).is_modified() {
            self.dirty -= 1;
            evicted = Some(self.written(at));
        }
        self.directory.place(at, self.number(addr), Sectors::waiting(self.mask(sectors)), now);
        evicted
    }

    // Most misses of a sectored cache come here.
    #[inline(always)]
    fn reserve_sector(&mut self, at: u16, sectors: SectorMask, now: u64) {
        let mask = self.mask(sectors);
        let state = self.directory.sectors_mut(at);
        if state.is_written() {
            self.change_written(at, |state| state.reserve(mask));
        } else {
            state.reserve(mask);
        }
        self.directory.renew(at, now);
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

    /// What is modified of a line.
    #[cold]
    fn written(&self, at: u16) -> Evicted {
        let state = self.directory.sectors(at);
        let mut bytes = [0; SECTORS_PER_LINE as usize];
        for (i, bytes) in bytes.iter_mut().enumerate() {
            if state.modified() >> i & 1 != 0 {
                *bytes = if state.partial() >> i & 1 != 0 { self.bytes[usize::from(at)][i] } else { u32::MAX };
            }
        }
        let sectors = if self.sectored() { SectorMask(state.modified()) } else { self.whole };
        Evicted { addr: Addr(self.directory.tag(at) << self.line_bits), sectors, bytes }
    }
}

/// Where the written bytes of a sector are kept.
#[inline]
fn bytes_of(bytes: &mut [[u32; SECTORS_PER_LINE as usize]], line: u16, mask: u8) -> &mut u32 {
    &mut bytes[usize::from(line)][mask.trailing_zeros() as usize]
}
