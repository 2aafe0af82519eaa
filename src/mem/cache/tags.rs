//! The tag array: lines with a state per sector, a recency order per set, and the masks of written bytes.
//!
//! Looking a line up costs a short chain walk whatever the associativity, so that the 256 ways of a large L1 are as cheap
//! as the 24 of an LLC slice. [`TagArray::probe`] changes nothing; [`TagArray::access`] carries out what it found.

use crate::base::{Addr, LINE_BYTES, SECTORS_PER_LINE, SectorMask, Slots, touch};
use crate::config::machine::{Allocate, Cache};

use super::index::{hash, set_index};

const NONE: u16 = u16::MAX;
const ALL: u8 = SectorMask::ALL.0;

/// The states of a line's sectors, one bit per sector in each mask.
///
/// A sector is in at most one of reserved, valid and modified; in none of them it is invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sectors {
    reserved: u8,
    valid: u8,
    modified: u8,
    /// Modified, but not all of it is known: a read must fetch.
    unreadable: u8,
    /// Low half: becomes modified when its data comes. High half: becomes readable then.
    on_fill: u8,
    /// Modified, and the bytes written are in the byte masks; otherwise all of it is dirty.
    partial: u8,
}

impl Sectors {
    fn any(self) -> u8 {
        self.reserved | self.valid | self.modified
    }

    /// Whether nothing was written here, nor will be when data comes.
    fn is_clean(self) -> bool {
        self.modified | self.unreadable | self.on_fill == 0
    }
}

#[derive(Clone, Copy, Debug)]
struct Line {
    /// Line number (address / bytes of a line) while any sector is not invalid.
    tag: u64,
    /// Low half of the cycle of the last access; tells equal times apart from others, no more.
    time: u32,
    /// Neighbours in the recency order of the set.
    older: u16,
    newer: u16,
    /// The next line of the same bucket.
    chain: u16,
    sectors: Sectors,
}

const _: () = assert!(size_of::<Line>() == 24);

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

#[derive(Clone, Copy, Debug)]
struct Set {
    oldest: u16,
    newest: u16,
}

/// The tags of a cache.
#[derive(Clone, Debug)]
pub struct TagArray {
    spec: Cache,
    write_ratio: u32,
    max_ways: u32,
    /// 2^32 divided by the ways, rounded up: lines have less than 16 bits, so that the product tells the set without division.
    per_way: u64,
    ways: u32,
    lines: Box<[Line]>,
    /// The first line of those whose numbers' hashes lead here.
    buckets: Slots<u16>,
    sets: Box<[Set]>,
    /// Ways without a line, `words` words per set.
    empty: Box<[u64]>,
    words: usize,
    /// Written bytes of partly written sectors; touched for those only.
    bytes: Box<[[u32; SECTORS_PER_LINE as usize]]>,
    dirty: u32,
    used: bool,
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
        let line = Line { tag: 0, time: 0, older: NONE, newer: NONE, chain: NONE, sectors: Sectors::default() };
        let words = max_ways.div_ceil(64) as usize;
        let mut tags = Self {
            spec: *spec,
            write_ratio,
            max_ways,
            per_way: (1u64 << 32).div_ceil(u64::from(max_ways)),
            ways: spec.ways,
            lines: vec![line; count as usize].into(),
            buckets: Slots::new(count as usize, NONE),
            sets: vec![Set { oldest: NONE, newest: NONE }; spec.sets as usize].into(),
            empty: vec![0; words * spec.sets as usize].into(),
            words,
            bytes: vec![[0; SECTORS_PER_LINE as usize]; count as usize].into(),
            dirty: 0,
            used: true,
        };
        tags.invalidate();
        tags
    }

    /// Lines in use.
    pub fn line_count(&self) -> u32 {
        self.spec.sets * self.ways
    }

    /// Lines that hold a modified sector.
    pub fn dirty(&self) -> u32 {
        self.dirty
    }

    /// Bytes of the arrays that every access may touch.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(&*self.lines) + size_of_val(self.buckets.as_slice()) + size_of_val(&*self.sets) + size_of_val(&*self.empty)
    }

    /// Empties the cache and uses `ways` ways from now on. What was modified is lost, as in the reference.
    ///
    /// # Panics
    /// When `ways` is zero or more than there is room for.
    pub fn set_ways(&mut self, ways: u32) {
        assert!(ways >= 1 && ways <= self.max_ways, "{ways} of at most {} ways", self.max_ways);
        self.used |= ways != self.ways;
        self.ways = ways;
        self.invalidate();
    }

    /// Empties the cache. What was modified is lost, as in the reference; costs nothing when nothing was accessed since.
    pub fn invalidate(&mut self) {
        if !self.used {
            return;
        }
        self.used = false;
        self.dirty = 0;
        self.buckets.fill(NONE);
        self.sets.fill(Set { oldest: NONE, newest: NONE });
        for line in &mut self.lines {
            line.sectors = Sectors::default();
        }
        for (i, word) in self.empty.iter_mut().enumerate() {
            let first = (i % self.words) as u32 * 64;
            let here = self.ways.saturating_sub(first).min(64);
            *word = if here == 0 { 0 } else { u64::MAX >> (64 - here) };
        }
    }

    /// Looks `addr` up without changing anything. `set_addr` is what the set index function sees; `sectors` is one sector of
    /// a sectored cache, and does not matter for a line cache.
    // Every access of a cache calls it.
    #[inline(always)]
    pub fn probe(&self, addr: Addr, set_addr: u64, sectors: SectorMask, write: bool) -> Probe {
        if let Some(line) = self.find(self.number(addr)) {
            return Probe { lookup: self.look_at(line, sectors, write), line };
        }
        match self.victim(self.set_index(set_addr)) {
            Some(line) => Probe { lookup: Lookup::Miss, line },
            None => Probe { lookup: Lookup::NoLine, line: NONE },
        }
    }

    /// Whether a read of a sector (of a line cache: of a line) would hit.
    #[inline]
    pub fn has(&self, addr: Addr, sectors: SectorMask) -> bool {
        self.find(self.number(addr)).is_some_and(|line| self.look_at(line, sectors, false) == Lookup::Hit)
    }

    /// Asks the host for what misses look at besides, whatever their address.
    #[inline]
    pub fn touch_sets(&self) {
        touch(&*self.sets);
        touch(&*self.empty);
    }

    /// Asks the host for where a look-up of `addr` begins.
    #[inline]
    pub fn touch_bucket(&self, addr: Addr) {
        touch(self.buckets.get(hash(self.number(addr))));
    }

    /// Asks the host for the line that a look-up of `addr` comes to first.
    #[inline]
    pub fn touch_first(&self, addr: Addr) {
        if let Some(line) = self.lines.get(usize::from(*self.buckets.get(hash(self.number(addr))))) {
            touch(&line.time);
        }
    }

    /// Asks the host for the line that would have to make room for one of `set_addr`, unless that is known to be cheap.
    // Every access of a cache calls it.
    #[inline(always)]
    pub fn touch_oldest(&self, set_addr: u64) {
        let set = self.set_index(set_addr);
        if let Some(line) = self.lines.get(usize::from(self.sets[set as usize].oldest)) {
            touch(&line.time);
        }
    }

    /// Asks the host for a line.
    #[inline]
    pub fn touch(&self, line: u16) {
        touch(&self.lines[usize::from(line)].time);
    }

    /// What is there of the sectors that a line may hold.
    #[inline]
    fn look_at(&self, line: u16, sectors: SectorMask, write: bool) -> Lookup {
        let state = &self.lines[usize::from(line)].sectors;
        let mask = self.mask(sectors);
        if state.reserved & mask != 0 {
            Lookup::HitReserved
        } else if state.valid & mask != 0 || state.modified & mask != 0 && (write || state.unreadable & mask == 0) {
            Lookup::Hit
        } else {
            Lookup::SectorMiss
        }
    }

    /// Carries out a probe of the same address: renews the line, or reserves the sector where misses allocate.
    ///
    /// Returns the line that had to make room, when it was modified.
    // Every access of a cache calls it.
    #[inline(always)]
    pub fn access(&mut self, probe: Probe, addr: Addr, sectors: SectorMask, now: u64) -> Option<Evicted> {
        self.used = true;
        match probe.lookup {
            Lookup::Hit | Lookup::HitReserved => {
                self.renew(probe.line, now);
                None
            }
            Lookup::SectorMiss if self.spec.allocate == Allocate::OnMiss => {
                self.reserve_sector(probe.line, sectors, now);
                None
            }
            Lookup::Miss if self.spec.allocate == Allocate::OnMiss => self.reserve_line(probe.line, addr, sectors, now),
            _ => None,
        }
    }

    /// The data of a sector came for `line`, where misses allocate. Data whose line was evicted or emptied meanwhile is dropped.
    #[inline]
    pub fn fill(&mut self, line: u16, addr: Addr, sectors: SectorMask) {
        if self.holds(line, addr) {
            self.complete(line, sectors);
        }
    }

    /// The data of sectors of one line came, where fills allocate; a line makes room without being written back, as in the
    /// reference. The sectors come one after the other, in ascending order.
    pub fn fill_allocating(&mut self, addr: Addr, set_addr: u64, sectors: SectorMask, now: u64) {
        let one = |left: u8| SectorMask(left & left.wrapping_neg());
        let mut left = sectors.0;
        let Probe { mut lookup, line } = self.probe(addr, set_addr, one(left), false);
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

    /// Whether `line` holds sectors of `addr`.
    #[inline]
    pub fn holds(&self, line: u16, addr: Addr) -> bool {
        let line = &self.lines[usize::from(line)];
        line.tag == self.number(addr) && line.sectors.any() != 0
    }

    /// Marks bytes of a sector of `line` as written: `bytes` of the one sector meant, all ones for whole sectors.
    /// A line cache keeps no byte masks: its modified lines are dirty as a whole.
    pub fn write(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        let mask = self.mask(sectors);
        let state = &mut self.lines[usize::from(line)].sectors;
        self.dirty += u32::from(state.modified == 0);
        let fresh = mask & !state.modified;
        state.reserved &= !mask;
        state.valid &= !mask;
        state.modified |= mask;
        if bytes == u32::MAX || !self.spec.sectored {
            state.partial &= !mask;
            state.unreadable &= !mask;
            return;
        }
        let index = mask.trailing_zeros() as usize;
        let written = &mut self.bytes[usize::from(line)][index];
        if fresh != 0 && state.on_fill & fresh == 0 {
            state.partial |= fresh;
            *written = bytes;
        } else if state.partial & mask != 0 {
            *written |= bytes;
        }
        if state.partial & mask != 0 && *written == u32::MAX {
            state.partial &= !mask;
            state.unreadable &= !mask;
        }
    }

    /// Says after a write into an absent or reserved sector that its other bytes are unknown, unless the write covered all.
    /// With `pending`, the fetch under way will bring them, and leaves the sector modified.
    pub fn write_missed(&mut self, line: u16, sectors: SectorMask, pending: bool) {
        let mask = self.mask(sectors);
        let state = &mut self.lines[usize::from(line)].sectors;
        let unknown = mask & state.partial;
        state.unreadable |= unknown;
        if pending {
            state.on_fill |= mask | unknown << SECTORS_PER_LINE;
        }
    }

    /// Says of a reserved sector that `bytes` are written into it when its data comes.
    pub fn modify_on_fill(&mut self, line: u16, sectors: SectorMask, bytes: u32) {
        let mask = self.mask(sectors);
        let state = &mut self.lines[usize::from(line)].sectors;
        let first = state.on_fill & mask == 0;
        state.on_fill |= mask;
        let written = &mut self.bytes[usize::from(line)][mask.trailing_zeros() as usize];
        *written = if first { bytes } else { *written | bytes };
        if *written == u32::MAX { state.partial &= !mask } else { state.partial |= mask }
    }

    /// Forgets a sector of `line`, modified or not.
    pub fn evict_sector(&mut self, line: u16, sectors: SectorMask) {
        let keep = !self.mask(sectors);
        let state = &mut self.lines[usize::from(line)].sectors;
        let was_dirty = state.modified != 0;
        state.reserved &= keep;
        state.valid &= keep;
        state.modified &= keep;
        state.unreadable &= keep;
        state.on_fill &= !(!keep | !keep << SECTORS_PER_LINE);
        state.partial &= keep;
        self.dirty -= u32::from(was_dirty && state.modified == 0);
        if state.any() == 0 {
            self.unlink(line, self.set_of(line));
            self.unchain(line);
            self.set_empty(line, true);
        }
    }

    #[inline]
    fn mask(&self, sectors: SectorMask) -> u8 {
        debug_assert!(!self.spec.sectored || sectors.count() == 1, "a sectored cache is asked for one sector at a time");
        if self.spec.sectored { sectors.0 } else { ALL }
    }

    #[inline]
    fn line_bits(&self) -> u32 {
        self.spec.line_bytes.trailing_zeros()
    }

    /// The number of the line that holds `addr`.
    #[inline]
    fn number(&self, addr: Addr) -> u64 {
        addr.0 >> self.line_bits()
    }

    #[inline]
    fn set_index(&self, set_addr: u64) -> u32 {
        set_index(set_addr, self.line_bits(), self.spec.sets, self.spec.index)
    }

    #[inline]
    fn set_of(&self, line: u16) -> usize {
        ((u64::from(line) * self.per_way) >> 32) as usize
    }

    /// Notes whether a way holds a line.
    #[inline]
    fn set_empty(&mut self, line: u16, empty: bool) {
        let set = self.set_of(line);
        let way = usize::from(line) - set * self.max_ways as usize;
        let (word, bit) = (set * self.words + way / 64, 1 << (way % 64));
        if empty { self.empty[word] |= bit } else { self.empty[word] &= !bit }
    }

    #[inline]
    fn find(&self, tag: u64) -> Option<u16> {
        let mut at = *self.buckets.get(hash(tag));
        while at != NONE {
            let line = &self.lines[usize::from(at)];
            if line.tag == tag {
                return Some(at);
            }
            at = line.chain;
        }
        None
    }

    /// The line that makes room: the empty way of the highest number, else the line whose last access is the longest ago
    /// (of several, the lowest way) among those that wait for no data and may be evicted.
    fn victim(&self, set: u32) -> Option<u16> {
        for word in (0..self.words).rev() {
            let empty = self.empty[set as usize * self.words + word];
            if empty != 0 {
                return Some((set * self.max_ways + word as u32 * 64 + 63 - empty.leading_zeros()) as u16);
            }
        }
        let any = self.dirty * 100 >= self.write_ratio * self.line_count();
        let mut at = self.sets[set as usize].oldest;
        while at != NONE {
            let line = &self.lines[usize::from(at)];
            if line.sectors.reserved == 0 && (any || line.sectors.modified == 0) {
                // The line will be taken out of its bucket, if the miss finds room everywhere else.
                touch(self.buckets.get(hash(line.tag)));
                return Some(at);
            }
            at = line.newer;
        }
        None
    }

    fn reserve_line(&mut self, at: u16, addr: Addr, sectors: SectorMask, now: u64) -> Option<Evicted> {
        let (old, set) = (self.lines[usize::from(at)], self.set_of(at));
        let mut evicted = None;
        if old.sectors.any() != 0 {
            self.unlink(at, set);
            self.unchain(at);
            if old.sectors.modified != 0 {
                self.dirty -= 1;
                evicted = Some(self.written(at));
            }
        } else {
            self.set_empty(at, false);
        }
        let tag = self.number(addr);
        let reserved = self.mask(sectors);
        let line = &mut self.lines[usize::from(at)];
        line.tag = tag;
        line.sectors = Sectors { reserved, ..Sectors::default() };
        line.chain = std::mem::replace(self.buckets.get_mut(hash(tag)), at);
        self.link(at, set, now);
        evicted
    }

    // Most misses of a sectored cache come here.
    #[inline(always)]
    fn reserve_sector(&mut self, at: u16, sectors: SectorMask, now: u64) {
        let mask = self.mask(sectors);
        let state = &mut self.lines[usize::from(at)].sectors;
        if state.is_clean() {
            state.valid &= !mask;
            state.reserved |= mask;
            self.renew(at, now);
            return;
        }
        let was_dirty = state.modified != 0;
        // A partly written sector stays so when the rest of it comes.
        state.on_fill = state.on_fill & !(mask | mask << SECTORS_PER_LINE) | state.modified & mask;
        state.modified &= !mask;
        state.valid &= !mask;
        state.unreadable &= !mask;
        state.reserved |= mask;
        self.dirty -= u32::from(was_dirty && state.modified == 0);
        self.renew(at, now);
    }

    #[inline]
    fn complete(&mut self, at: u16, sectors: SectorMask) {
        let mask = self.mask(sectors);
        let state = &mut self.lines[usize::from(at)].sectors;
        if state.is_clean() {
            state.reserved &= !mask;
            state.valid |= mask;
            return;
        }
        let was_dirty = state.modified != 0;
        let modified = state.on_fill & mask;
        state.reserved &= !mask;
        state.modified = state.modified & !mask | modified;
        state.valid = state.valid & !mask | mask & !modified;
        state.unreadable &= !(state.on_fill >> SECTORS_PER_LINE & mask);
        state.on_fill &= !(mask | mask << SECTORS_PER_LINE);
        self.dirty += u32::from(!was_dirty && state.modified != 0);
    }

    fn written(&self, at: u16) -> Evicted {
        let line = &self.lines[usize::from(at)];
        let mut bytes = [0; SECTORS_PER_LINE as usize];
        for (i, bytes) in bytes.iter_mut().enumerate() {
            if line.sectors.modified >> i & 1 != 0 {
                *bytes = if line.sectors.partial >> i & 1 != 0 { self.bytes[usize::from(at)][i] } else { u32::MAX };
            }
        }
        let sectors = if self.spec.sectored { SectorMask(line.sectors.modified) } else { self.spec.whole_line() };
        Evicted { addr: Addr(line.tag << self.line_bits()), sectors, bytes }
    }

    /// Makes a line the newest of its set.
    #[inline]
    fn renew(&mut self, at: u16, now: u64) {
        let line = &mut self.lines[usize::from(at)];
        // Lines of one cycle stand by their ways, so that a second access in it moves nothing. (Nor does one that comes 2^32 cycles
        // after the last, which cannot be told from it.)
        if line.newer == NONE || line.time == now as u32 {
            line.time = now as u32;
            return;
        }
        let set = self.set_of(at);
        self.unlink(at, set);
        self.link(at, set, now);
    }

    /// Puts a line at the new end of its set, among those of the same cycle by way.
    #[inline]
    fn link(&mut self, at: u16, set: usize, now: u64) {
        let time = now as u32;
        let mut newer = NONE;
        let mut older = self.sets[set].newest;
        while older != NONE && older > at && self.lines[usize::from(older)].time == time {
            newer = older;
            older = self.lines[usize::from(older)].older;
        }
        let line = &mut self.lines[usize::from(at)];
        line.time = time;
        line.older = older;
        line.newer = newer;
        match older {
            NONE => self.sets[set].oldest = at,
            _ => self.lines[usize::from(older)].newer = at,
        }
        match newer {
            NONE => self.sets[set].newest = at,
            _ => self.lines[usize::from(newer)].older = at,
        }
    }

    #[inline]
    fn unlink(&mut self, at: u16, set: usize) {
        let Line { older, newer, .. } = self.lines[usize::from(at)];
        match older {
            NONE => self.sets[set].oldest = newer,
            _ => self.lines[usize::from(older)].newer = newer,
        }
        match newer {
            NONE => self.sets[set].newest = older,
            _ => self.lines[usize::from(newer)].older = older,
        }
    }

    #[inline]
    fn unchain(&mut self, at: u16) {
        let line = &self.lines[usize::from(at)];
        let after = line.chain;
        let first = self.buckets.get_mut(hash(line.tag));
        if *first == at {
            *first = after;
            return;
        }
        let mut before = *first;
        while self.lines[usize::from(before)].chain != at {
            before = self.lines[usize::from(before)].chain;
        }
        self.lines[usize::from(before)].chain = after;
    }
}
