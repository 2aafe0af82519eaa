//! A data cache: tags, MSHRs, miss queue and data ports, the path of a read, and that of data which comes.

use warpshard_base::{Addr, Cycle, KernelSectors, Ring, SECTOR_BYTES, SectorBytes, SectorMask};
use warpshard_config::machine::{Allocate, Cache, WriteMiss};
use warpshard_seam::{self as seam, CacheSite, Identity, Level, Own};

use super::access::{Access, Answer, FailReason, Outcome, Owner, Status, Waiter};
use super::down::{Down, DownKind};
use super::index::{hash, set_index};
use super::replacement::seeing_requests;
use super::write::Rules;
use super::{AccessKind, Evicted, Lookup, Mshr, Prefetched, Probe, TagArray};

/// Places in the miss queue that a fetch asks for: itself, and a write-back.
const ROOM_FOR_FETCH: usize = 2;

/// A cache with its outstanding misses and its queue to the next level.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct DataCache {
    #[state(fixed)]
    pub(super) spec: Cache,
    pub(super) rules: Rules,
    /// The bits of an address that tell apart what is fetched as one.
    fetch_mask: u64,
    pub(super) tags: TagArray,
    pub(super) mshr: Mshr,
    /// Requests to the next level.
    pub(super) miss_queue: Ring<Down>,
    pub(super) data_port_free: Cycle,
    fill_port_free: Cycle,
    /// Cycles that a fill occupies its port, and that one sector and more occupy the data port.
    fill_cycles: u32,
    /// Sectors filled since the last fill that was charged to the data port.
    filled: u32,
    /// The sector of which a part was written last.
    pub(super) merged: Addr,
    /// Modified lines beyond which a write cleans another.
    pub(super) dirty_limit: u32,
    port_cycles: [u16; 8],
    /// Whether the policy of replacement sees requests, and where lines come with their data, the request that each fetch is for.
    seeing: bool,
    fetchers: Box<[seam::Access]>,
}

impl DataCache {
    /// An empty cache for `spec` with room for `max_ways` ways; `write_ratio` as in [`TagArray::new`].
    ///
    /// # Panics
    /// When the policies do not go together (writes that allocate need lines reserved at the miss), or the miss queue is
    /// too short for a fetch and the write-back that it may cause.
    pub fn new(spec: &Cache, max_ways: u32, write_ratio: u32) -> Self {
        Self::at(Level::Cpu, spec, max_ways, write_ratio, &Own::default())
    }

    /// The same at a place of the machine, with the policies of the calling program.
    ///
    /// # Panics
    /// As [`DataCache::new`]; when the machine says `own` and the calling program brought no policy, which the assembly of a machine refuses.
    pub fn at(level: Level, spec: &Cache, max_ways: u32, write_ratio: u32, own: &Own) -> Self {
        let seeing = seeing_requests(spec.replacement, &CacheSite::new(level, spec.sets, max_ways, spec.line_bytes), own);
        let late = seeing.is_some() && spec.allocate == Allocate::OnFill;
        let rules = Rules::of(spec);
        assert!(!rules.allocates() || spec.allocate == Allocate::OnMiss, "a cache that allocates on fill cannot allocate for writes");
        let most = rules.most_sent();
        assert!(spec.miss_queue >= most, "a miss queue of {} takes no miss, which may send {most} requests", spec.miss_queue);
        let fetched = if spec.sectored { SECTOR_BYTES } else { u64::from(spec.line_bytes) };
        Self {
            spec: *spec,
            rules,
            fetch_mask: !(fetched - 1),
            seeing: seeing.is_some(),
            fetchers: vec![seam::Access::default(); if late { spec.mshrs as usize } else { 0 }].into(),
            tags: TagArray::of(spec, max_ways, write_ratio, seeing),
            mshr: Mshr::new(spec.mshrs, spec.mshr_merge),
            miss_queue: Ring::new(spec.miss_queue as usize),
            data_port_free: Cycle(0),
            fill_port_free: Cycle(0),
            fill_cycles: port_cycles(spec, if spec.sectored { 1 } else { spec.whole_line().count() }) as u32,
            filled: 0,
            merged: Addr(u64::MAX),
            dirty_limit: dirty_limit(spec),
            port_cycles: std::array::from_fn(|more| port_cycles(spec, 1 + more as u32) as u16),
        }
    }

    /// Bytes of the arrays that accesses may touch.
    pub fn hot_bytes(&self) -> usize {
        self.tags.hot_bytes() + self.mshr.hot_bytes() + self.miss_queue.hot_bytes()
    }

    /// The tags.
    pub fn tags(&self) -> &TagArray {
        &self.tags
    }

    /// The outstanding misses.
    pub fn mshr(&self) -> &Mshr {
        &self.mshr
    }

    /// Empties the tags; outstanding fetches are answered, but their data is not kept.
    pub fn invalidate(&mut self) {
        self.tags.invalidate();
    }

    /// Empties the tags and uses `ways` ways from now on.
    pub fn set_ways(&mut self, ways: u32) {
        self.tags.set_ways(ways);
    }

    /// Tells a request to a policy of replacement that sees requests; every other has no use for it.
    #[inline]
    pub fn note(&mut self, access: &Access, now: Cycle) {
        if self.seeing {
            self.tags.note(&seen(access, now));
        }
    }

    /// The same for what nobody asks for.
    fn note_nobody(&mut self, addr: Addr, set: u32, now: Cycle) {
        if self.seeing {
            self.tags.note(&seam::Access { addr, set, write: false, identity: Identity::default(), now });
        }
    }

    /// Fills sectors of a line without a request: a line is evicted without being written back, as in the reference.
    pub fn warm(&mut self, addr: Addr, set_addr: u64, sectors: SectorMask, now: Cycle) {
        self.note_nobody(addr, self.set_index(set_addr), now);
        self.tags.fill_allocating(addr, self.set_index(set_addr), sectors, now.0);
    }

    /// Keeps the sectors of an access, which are at hand, as if they had been fetched. The line that makes room is written back. Changes nothing where no line
    /// can make room, or the write-back finds none.
    pub fn keep(&mut self, access: &Access, now: Cycle) {
        let Access { addr, set, sectors, .. } = *access;
        if self.spec.allocate == Allocate::OnFill {
            self.tags.fill_allocating(addr, set, sectors, now.0);
            return;
        }
        let probe = self.tags.probe(addr, set, sectors, false);
        if probe.lookup == Lookup::NoLine || self.room(1).is_err() {
            return;
        }
        let evicted = self.tags.access(probe, addr, sectors, now.0);
        if probe.lookup != Lookup::Hit {
            self.tags.fill(probe.line, addr, sectors);
        }
        let written = self.send_evicted(evicted, access);
        self.use_data_port(written, now);
    }

    /// Leaves sectors of a line as accesses that are not simulated would have: used last, with these bytes of each known, and modified where they
    /// were `written`. A line that makes room is not written back, which was done while they went on. Changes nothing where no line can make
    /// room.
    pub fn leave(&mut self, addr: Addr, set_addr: u64, bytes: SectorBytes, written: SectorMask, now: Cycle) {
        let set = self.set_index(set_addr);
        self.note_nobody(addr, set, now);
        for (sector, bytes) in (0..).map(|index| SectorMask(1 << index)).zip(bytes).filter(|(_, bytes)| *bytes != 0) {
            let in_part = bytes != u32::MAX && self.rules.fetches_later();
            if bytes != u32::MAX && !self.rules.allocates() {
                continue;
            }
            let probe = self.tags.probe(addr, set, sector, in_part);
            if probe.lookup == Lookup::NoLine {
                return;
            }
            self.tags.access(probe, addr, sector, now.0);
            let missed = matches!(probe.lookup, Lookup::Miss | Lookup::SectorMiss);
            if missed && !in_part {
                self.tags.fill(probe.line, addr, sector);
            }
            // What is reserved gets its data as it would.
            if written.0 & sector.0 != 0 && probe.lookup != Lookup::HitReserved {
                self.tags.write(probe.line, sector, if in_part { bytes } else { u32::MAX });
                if missed && in_part {
                    self.tags.write_missed(probe.line, sector, false);
                }
            }
        }
    }

    /// Brings a sector into one of the states that accesses leave: 0 there, 1 waiting for data, 2 written, 3 written in part.
    #[cfg(test)]
    pub(crate) fn touch(&mut self, addr: Addr, set_addr: u64, state: u8, now: Cycle) {
        let sectors = SectorMask::of(addr);
        let probe = self.tags.probe(addr, self.set_index(set_addr), sectors, state >= 2);
        if probe.lookup == Lookup::NoLine {
            return;
        }
        self.tags.access(probe, addr, sectors, now.0);
        match state {
            0 => self.tags.fill(probe.line, addr, sectors),
            1 => {}
            _ => {
                self.tags.write(probe.line, sectors, if state == 2 { u32::MAX } else { 0xff });
                self.tags.write_missed(probe.line, sectors, probe.lookup == Lookup::HitReserved);
            }
        }
    }

    /// Whether the data port can take an access at `now`.
    #[inline]
    pub fn data_port_free(&self, now: Cycle) -> bool {
        self.data_port_free <= now
    }

    /// When the data port can take an access.
    #[inline]
    pub fn data_port_free_at(&self) -> Cycle {
        self.data_port_free
    }

    /// The last access passed the data port in cycle `now` beside another one, after which the port was free at `before`: a cycle of its own, which it
    /// took, is given back.
    #[inline]
    pub fn passed_beside(&mut self, before: Cycle, now: Cycle) {
        if self.data_port_free == before.max(now).next() {
            self.data_port_free = before;
        }
    }

    /// Sectors of a line that are read in a cycle.
    #[inline]
    pub fn read_sectors(&self) -> u32 {
        self.spec.read_sectors
    }

    /// Whether the fill port can take data at `now`.
    #[inline]
    pub fn fill_port_free(&self, now: Cycle) -> bool {
        self.fill_port_free <= now
    }

    /// Whether a read of a sector, which belongs to `set`, would hit.
    #[inline]
    pub fn has(&self, addr: Addr, set: u32, sectors: SectorMask) -> bool {
        self.tags.has(addr, set, sectors)
    }

    /// When the fill port can take data.
    #[inline]
    pub fn fill_port_free_at(&self) -> Cycle {
        self.fill_port_free
    }

    /// Forgets a sector, modified or not, unless its data is on its way.
    pub fn forget(&mut self, addr: Addr, set: u32, sector: SectorMask) {
        let probe = self.tags.probe(addr, set, sector, true);
        if probe.lookup == Lookup::Hit {
            self.tags.evict_sector(probe.line, sector);
        }
    }

    /// The oldest request to the next level.
    #[inline]
    pub fn down(&self) -> Option<&Down> {
        self.miss_queue.front()
    }

    /// Takes the oldest request to the next level.
    #[inline]
    pub fn pop_down(&mut self) -> Option<Down> {
        self.miss_queue.pop()
    }

    /// Requests that wait for the next level.
    #[inline]
    pub fn queued(&self) -> usize {
        self.miss_queue.len()
    }

    /// The requests to the next level that were appended since there were `count` of them; they now keep their owner in place of their bytes.
    #[inline]
    pub(crate) fn own_since(&mut self, count: usize, owner: Owner, mut see: impl FnMut(&Down)) {
        for place in count..self.queued() {
            if let Some(down) = self.miss_queue.get_mut(place) {
                down.set_owner(owner);
                see(down);
            }
        }
    }

    /// Whether a request whose data came can be answered.
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.mshr.has_ready()
    }

    /// Takes the next request whose data came.
    #[inline]
    pub fn next_ready(&mut self) -> Option<Waiter> {
        self.mshr.next_ready().map(Waiter::decode)
    }

    /// The set of an address of which the set index function sees `set_addr`: the address, or its bits within a slice.
    #[inline(always)]
    pub fn set_index(&self, set_addr: u64) -> u32 {
        set_index(set_addr, self.spec.line_bytes.trailing_zeros(), self.spec.sets, self.spec.index)
    }

    /// Looks a request up without changing anything.
    // Every access calls it.
    #[inline(always)]
    pub fn probe(&self, access: &Access) -> Probe {
        self.tags.probe(access.addr, access.set, access.sectors, access.kind == AccessKind::Write)
    }

    /// Makes a request at cycle `now`. A request that fails changes nothing and is to be made again.
    // Called from two places, for every access.
    #[inline(always)]
    pub fn access(&mut self, access: &Access, now: Cycle) -> Outcome {
        self.note(access, now);
        if access.kind == AccessKind::Write {
            // Of a copy, so that the access itself need not lie in memory for those that read.
            let access = *access;
            return self.write_access(&access, now);
        }
        let probe = self.probe(access);
        let status = match probe.lookup {
            Lookup::Hit => {
                self.tags.access(probe, access.addr, access.sectors, now.0);
                self.use_data_port(access.sectors.count(), now);
                if access.kind == AccessKind::Atomic {
                    self.tags.write(probe.line, access.sectors, access.bytes);
                    self.take_data_port(self.spec.atomic_cycles * access.bytes.count_ones().div_ceil(16), now);
                }
                return Outcome { status: Status::Hit, answer: Answer::Now };
            }
            Lookup::NoLine => return Outcome { status: Status::Fail(FailReason::NoLine), answer: Answer::None },
            Lookup::HitReserved => Status::HitReserved,
            Lookup::SectorMiss => Status::SectorMiss,
            Lookup::Miss => Status::Miss,
        };
        match self.fetch(probe, access, now) {
            Ok(evicted) => {
                self.use_data_port(evicted, now);
                Outcome { status, answer: Answer::AtFill }
            }
            Err(reason) => Outcome { status: Status::Fail(reason), answer: Answer::None },
        }
    }

    /// Fetches sectors that no request asks for, unless they are there or on their way. The room of one fetch of a request is left.
    pub fn prefetch(&mut self, access: &Access, now: Cycle) -> Prefetched {
        self.note(access, now);
        let probe = self.probe(access);
        let wants = match probe.lookup {
            Lookup::Hit | Lookup::HitReserved => return Prefetched::Present,
            Lookup::NoLine => false,
            Lookup::SectorMiss | Lookup::Miss => self.mshr.find(self.key(access.addr)).is_none(),
        };
        if !wants || self.free_places() < 2 * ROOM_FOR_FETCH {
            return Prefetched::Dropped;
        }
        match self.fetch(probe, access, now) {
            Ok(evicted) => {
                self.use_data_port(evicted, now);
                Prefetched::Sent
            }
            Err(_) => Prefetched::Dropped,
        }
    }

    /// Whether writes that are sent on come as 32, 64 or 128 bytes without byte masks.
    #[inline]
    pub fn takes_segments(&self) -> bool {
        self.spec.write_miss == WriteMiss::NoAllocateWaits
    }

    /// Why a read would fail for want of room in the miss queue or the MSHRs, whatever else it would find; cheaper than to try.
    // Called from one place, for every access.
    #[inline(always)]
    pub fn refuses_read(&self, addr: Addr, set: u32, sectors: SectorMask) -> Option<FailReason> {
        let reason = match (self.free_places() < ROOM_FOR_FETCH, self.mshr.is_full()) {
            (true, _) => FailReason::QueueFull,
            (false, true) => FailReason::NoMshr,
            (false, false) => return None,
        };
        let needs = !self.tags.has(addr, set, sectors) && (reason == FailReason::QueueFull || self.mshr.find(self.key(addr)).is_none());
        needs.then_some(reason)
    }

    /// The data of a fetch came at cycle `now`: the sector becomes valid and its requests become ready.
    ///
    /// # Panics
    /// When no fetch of `addr` is outstanding.
    pub fn fill(&mut self, addr: Addr, set_addr: u64, sectors: SectorMask, now: Cycle) {
        self.fill_entry(self.entry_of(addr), addr, || set_addr, sectors, now);
    }

    /// The MSHR entry of the fetch of `addr`, which is under way.
    pub fn entry_of(&self, addr: Addr) -> u16 {
        let Some(at) = self.mshr.find(self.key(addr)) else { panic!("data of {addr} came, which nobody fetched") };
        at
    }

    /// The same for data that names its MSHR entry; the set is asked for only where fills allocate.
    ///
    /// The entry is that of a fetch of `addr`.
    // Called from two places, for every sector that comes.
    #[inline(always)]
    pub fn fill_entry(&mut self, at: u16, addr: Addr, set_addr: impl FnOnce() -> u64, sectors: SectorMask, now: Cycle) {
        debug_assert!(self.mshr.key(at) == self.key(addr), "data of {addr} came at {now}, which nobody fetched");
        let (line, atomic) = self.mshr.reserved(at);
        match self.spec.allocate {
            Allocate::OnMiss => self.tags.fill(line, addr, sectors),
            Allocate::OnFill => {
                if let Some(fetcher) = self.fetchers.get(usize::from(at)) {
                    self.tags.note(&seam::Access { now, ..*fetcher });
                }
                // Any sector stands for the whole line where lines are not divided.
                let sectors = if self.spec.sectored { sectors } else { SectorMask(1) };
                self.tags.fill_allocating(addr, self.set_index(set_addr()), sectors, now.0);
            }
        }
        if atomic && self.spec.allocate == Allocate::OnMiss && self.tags.holds(line, addr) {
            self.tags.write(line, sectors, u32::MAX);
        }
        self.mshr.mark_ready(at);
        self.fill_port_free = now.after(u64::from(self.fill_cycles));
        if self.spec.fill_cycles > 0 {
            // Sectors that come one after the other pass the port together.
            self.filled += sectors.count();
            let cycles = self.filled / self.spec.read_sectors * self.spec.fill_cycles;
            self.filled %= self.spec.read_sectors;
            self.data_port_free = self.data_port_free.max(now).after(u64::from(cycles));
        }
    }

    /// The key of the MSHRs: sector number, or line number of a line cache.
    #[inline]
    pub(super) fn key(&self, addr: Addr) -> u64 {
        self.fetched(addr).0 / SECTOR_BYTES
    }

    /// The address of what is fetched as one: the sector that holds `addr`, or the line of a line cache.
    #[inline]
    fn fetched(&self, addr: Addr) -> Addr {
        Addr(addr.0 & self.fetch_mask)
    }

    #[inline]
    pub(super) fn use_data_port(&mut self, sectors: u32, now: Cycle) {
        if sectors > 0 {
            let cycles = self.port_cycles[(sectors as usize - 1) % self.port_cycles.len()];
            self.data_port_free = self.data_port_free.max(now).after(u64::from(cycles));
        }
    }

    /// Keeps the data port busy until at least `cycles` after `now`.
    #[inline]
    pub(super) fn take_data_port(&mut self, cycles: u32, now: Cycle) {
        self.data_port_free = self.data_port_free.max(now.after(u64::from(cycles)));
    }

    /// Places that are free in the miss queue.
    #[inline]
    fn free_places(&self) -> usize {
        self.miss_queue.free()
    }

    /// Whether the miss queue takes `count` requests more.
    #[inline]
    pub(super) fn room(&self, count: usize) -> Result<(), FailReason> {
        if self.free_places() >= count { Ok(()) } else { Err(FailReason::QueueFull) }
    }

    /// Writes back what had to make room, where modified lines are; returns its sectors.
    #[inline]
    pub(super) fn send_evicted(&mut self, evicted: Option<Evicted>, access: &Access) -> u32 {
        match evicted {
            Some(evicted) if self.rules.writes_back() => self.write_back(&evicted, access),
            _ => 0,
        }
    }

    fn write_back(&mut self, evicted: &Evicted, access: &Access) -> u32 {
        // A partly written sector goes down with its byte mask when it is the only one.
        let bytes = if evicted.sectors.count() == 1 { evicted.bytes[evicted.sectors.0.trailing_zeros() as usize] } else { u32::MAX };
        let Evicted { addr, sectors, .. } = *evicted;
        let part = KernelSectors::new(access.owner.kernel, sectors);
        self.miss_queue.append(Down { addr, token: access.token, bytes, part, kind: DownKind::WriteBack });
        sectors.count()
    }

    /// Whether the MSHRs take a request for data whose fetch `found` is outstanding, or none.
    #[inline]
    pub(super) fn mshr_takes(&self, found: Option<u16>) -> Result<(), FailReason> {
        match found {
            Some(at) if !self.mshr.can_merge(at) => Err(FailReason::MergeFull),
            None if self.mshr.is_full() => Err(FailReason::NoMshr),
            _ => Ok(()),
        }
    }

    /// Waits for the sector, and fetches it unless it is already on its way. Asks for room for a write-back too, as the
    /// reference does, whether one is needed or not. Returns the sectors that were written back.
    // Otherwise reads and writes call it, and every miss is a read first of all.
    #[inline(always)]
    pub(super) fn fetch(&mut self, probe: Probe, access: &Access, now: Cycle) -> Result<u32, FailReason> {
        let Access { addr, sectors, token, kind, .. } = *access;
        self.room(ROOM_FOR_FETCH)?;
        let atomic = kind == AccessKind::Atomic;
        let key = self.key(addr);
        let bucket = hash(key);
        let found = self.mshr.find_in(bucket, key);
        self.mshr_takes(found)?;
        let evicted = self.tags.access(probe, addr, sectors, now.0);
        match found {
            Some(at) => self.mshr.merge(at, probe.line, token, atomic),
            None => {
                let entry = self.mshr.insert(bucket, key, probe.line, token, atomic);
                if let Some(fetcher) = self.fetchers.get_mut(usize::from(entry)) {
                    *fetcher = seen(access, now);
                }
                let sectors = if self.spec.sectored { sectors } else { self.spec.whole_line() };
                let bytes = if kind == AccessKind::Read { access.bytes } else { u32::MAX };
                let part = KernelSectors::new(access.owner.kernel, sectors);
                self.miss_queue.append(Down { addr: self.fetched(addr), token, bytes, part, kind: DownKind::Fetch { entry } });
            }
        }
        Ok(self.send_evicted(evicted, access))
    }
}

/// A request, as a policy of replacement sees it.
#[cold]
fn seen(access: &Access, now: Cycle) -> seam::Access {
    let Access { addr, set, bytes, kind, owner: Owner { port, kernel }, .. } = *access;
    let identity = if kind == AccessKind::Read { Identity::of(kernel, port, bytes) } else { Identity::of_write(kernel, port) };
    seam::Access { addr, set, write: kind != AccessKind::Read, identity, now }
}

/// Modified lines beyond which writes clean others.
fn dirty_limit(spec: &Cache) -> u32 {
    let lines = u64::from(spec.sets) * u64::from(spec.ways);
    if spec.dirty_ratio >= 100 { u32::MAX } else { (lines * u64::from(spec.dirty_ratio) / 100) as u32 }
}

/// Cycles that sectors occupy a data port.
#[inline]
fn port_cycles(spec: &Cache, sectors: u32) -> u64 {
    (u64::from(sectors) * SECTOR_BYTES).div_ceil(u64::from(spec.port_bytes))
}
