//! A data cache: tags, MSHRs, miss queue and ports, with the read path and the fill path.

use warpshard_base::{Addr, Cycle, KernelSectors, Ring, SECTOR_BYTES, SectorBytes, SectorMask};
use warpshard_config::machine::{Allocate, Cache, WriteMiss};
use warpshard_seam::{self as seam, CacheSite, Identity, Level, UserPolicies};

use super::access::{AccessOrigin, AccessOutcome, AccessStatus, CacheAccess, FailReason, ReplySource, Waiter};
use super::down::{DownstreamKind, DownstreamRequest};
use super::index::{hash, set_index};
use super::replacement::request_policy;
use super::write::WriteRules;
use super::{AccessKind, EvictedLine, Lookup, Mshr, PrefetchStatus, Probe, TagArray};

/// Slots of the miss queue that a fetch requires: one for the fetch, and one for a write-back.
const FETCH_QUEUE_SLOTS: usize = 2;

/// A cache with its outstanding misses and its queue to the next level.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct DataCache {
    #[state(fixed)]
    pub(super) spec: Cache,
    pub(super) rules: WriteRules,
    /// The address bits that distinguish units of fetches: sectors, or lines of a line cache.
    fetch_mask: u64,
    pub(super) tags: TagArray,
    pub(super) mshr: Mshr,
    /// Requests to the next level.
    pub(super) miss_queue: Ring<DownstreamRequest>,
    pub(super) data_port_free: Cycle,
    fill_port_free: Cycle,
    /// Cycles for which a fill occupies the fill port.
    fill_cycles: u32,
    /// Filled sectors whose time on the data port is not charged yet.
    uncharged_fills: u32,
    /// The sector of the last partial write.
    pub(super) last_partial_write: Addr,
    /// Number of modified lines above which a write cleans another line.
    pub(super) dirty_limit: u32,
    /// Cycles for which 1, 2 or more sectors occupy the data port.
    port_cycles: [u16; 8],
    /// True if the replacement policy examines requests.
    notifies_policy: bool,
    /// The request of each fetch by MSHR entry, for such a policy in a cache that allocates on fill; otherwise empty.
    fetch_requests: Box<[seam::Access]>,
}

impl DataCache {
    /// Returns an empty cache with at most `max_ways` ways; for `write_ratio` see [`TagArray::new`].
    ///
    /// # Panics
    /// If the policies are incompatible (writes that allocate require lines that are reserved at the miss), or the miss queue is too short
    /// for a fetch and the write-back that it may cause.
    pub fn new(spec: &Cache, max_ways: u32, write_ratio: u32) -> Self {
        Self::with_policies(Level::Cpu, spec, max_ways, write_ratio, &UserPolicies::default())
    }

    /// Returns an empty cache for a level of the machine, with user-defined policies.
    ///
    /// # Panics
    /// As [`DataCache::new`]. Also if the machine selects `own` and the calling program provided no policy; the assembly of a machine
    /// rejects this case.
    pub fn with_policies(level: Level, spec: &Cache, max_ways: u32, write_ratio: u32, own: &UserPolicies) -> Self {
        let policy = request_policy(spec.replacement, &CacheSite::new(level, spec.sets, max_ways, spec.line_bytes), own);
        let on_fill = policy.is_some() && spec.allocate == Allocate::OnFill;
        let rules = WriteRules::of_cache(spec);
        assert!(!rules.allocates() || spec.allocate == Allocate::OnMiss, "a cache that allocates on fill cannot allocate for writes");
        let most = rules.most_sent();
        assert!(
            spec.miss_queue >= most,
            "the miss queue has {} slots, expected at least {most}: a miss may send {most} requests",
            spec.miss_queue
        );
        let fetched = if spec.sectored { SECTOR_BYTES } else { u64::from(spec.line_bytes) };
        Self {
            spec: *spec,
            rules,
            fetch_mask: !(fetched - 1),
            notifies_policy: policy.is_some(),
            fetch_requests: vec![seam::Access::default(); if on_fill { spec.mshrs as usize } else { 0 }].into(),
            tags: TagArray::with_request_policy(spec, max_ways, write_ratio, policy),
            mshr: Mshr::new(spec.mshrs, spec.mshr_merge),
            miss_queue: Ring::new(spec.miss_queue as usize),
            data_port_free: Cycle(0),
            fill_port_free: Cycle(0),
            fill_cycles: port_cycles(spec, if spec.sectored { 1 } else { spec.whole_line().count() }) as u32,
            uncharged_fills: 0,
            last_partial_write: Addr(u64::MAX),
            dirty_limit: dirty_limit(spec),
            port_cycles: std::array::from_fn(|more| port_cycles(spec, 1 + more as u32) as u16),
        }
    }

    /// Returns the bytes of the arrays that an access may touch.
    pub fn hot_bytes(&self) -> usize {
        self.tags.hot_bytes() + self.mshr.hot_bytes() + self.miss_queue.hot_bytes()
    }

    /// Returns the tags.
    pub fn tags(&self) -> &TagArray {
        &self.tags
    }

    /// Returns the outstanding misses.
    pub fn mshr(&self) -> &Mshr {
        &self.mshr
    }

    /// Invalidates all lines. Requests for outstanding fetches still get replies, but the fetched data is not kept.
    pub fn invalidate(&mut self) {
        self.tags.invalidate();
    }

    /// Invalidates all lines and sets the number of ways.
    pub fn set_ways(&mut self, ways: u32) {
        self.tags.set_ways(ways);
    }

    /// Notifies a replacement policy that examines requests; other policies ignore requests.
    #[inline]
    pub fn notify_policy(&mut self, access: &CacheAccess, now: Cycle) {
        if self.notifies_policy {
            self.tags.record_request(&policy_access(access, now));
        }
    }

    /// Notifies a replacement policy that examines requests of sectors that are inserted without a request.
    fn notify_insertion(&mut self, addr: Addr, set: u32, now: Cycle) {
        if self.notifies_policy {
            self.tags.record_request(&seam::Access { addr, set, write: false, identity: Identity::default(), now });
        }
    }

    /// Inserts sectors of a line without a request. The victim is not written back, as in the reference.
    pub fn warm(&mut self, addr: Addr, set_addr: u64, sectors: SectorMask, now: Cycle) {
        self.notify_insertion(addr, self.set_index(set_addr), now);
        self.tags.fill_allocating(addr, self.set_index(set_addr), sectors, now.0);
    }

    /// Inserts the sectors of an access as if they had been fetched, and writes back the victim. Changes nothing if the set has no
    /// evictable line or the miss queue has no free slot.
    pub fn insert(&mut self, access: &CacheAccess, now: Cycle) {
        let CacheAccess { addr, set, sectors, .. } = *access;
        if self.spec.allocate == Allocate::OnFill {
            self.tags.fill_allocating(addr, set, sectors, now.0);
            return;
        }
        let probe = self.tags.probe(addr, set, sectors, false);
        if probe.lookup == Lookup::NoLine || self.check_slots(1).is_err() {
            return;
        }
        let evicted = self.tags.access(probe, addr, sectors, now.0);
        if probe.lookup != Lookup::Hit {
            self.tags.fill(probe.line, addr, sectors);
        }
        let written = self.send_evicted(evicted, access);
        self.use_data_port(written, now);
    }

    /// Inserts sectors of a line that remain from accesses that are not simulated. The line becomes the most recently used line; `bytes`
    /// are the known bytes of each sector, and the sectors in `written` are modified. The victim is not written back, because the
    /// write-back belongs to these accesses. Changes nothing if the set has no evictable line.
    pub fn insert_warm(&mut self, addr: Addr, set_addr: u64, bytes: SectorBytes, written: SectorMask, now: Cycle) {
        let set = self.set_index(set_addr);
        self.notify_insertion(addr, set, now);
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
            // A reserved sector gets its data from its outstanding fetch.
            if written.0 & sector.0 != 0 && probe.lookup != Lookup::HitReserved {
                self.tags.write(probe.line, sector, if in_part { bytes } else { u32::MAX });
                if missed && in_part {
                    self.tags.write_missed(probe.line, sector, false);
                }
            }
        }
    }

    /// Puts a sector into one of the states that accesses cause: 0 present, 1 waiting for data, 2 written, 3 partly written.
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

    /// Returns true if the data port accepts an access at `now`.
    #[inline]
    pub fn data_port_free(&self, now: Cycle) -> bool {
        self.data_port_free <= now
    }

    /// Returns the first cycle in which the data port accepts an access.
    #[inline]
    pub fn data_port_free_at(&self) -> Cycle {
        self.data_port_free
    }

    /// Releases the data-port cycle of the last access, which passed the port in cycle `now` at the same time as the access before it.
    /// `before` is the cycle from which the port was free before the last access.
    #[inline]
    pub fn share_data_port_cycle(&mut self, before: Cycle, now: Cycle) {
        if self.data_port_free == before.max(now).next() {
            self.data_port_free = before;
        }
    }

    /// Returns the sectors of a line that the cache reads per cycle.
    #[inline]
    pub fn read_sectors(&self) -> u32 {
        self.spec.read_sectors
    }

    /// Returns true if the fill port accepts data at `now`.
    #[inline]
    pub fn fill_port_free(&self, now: Cycle) -> bool {
        self.fill_port_free <= now
    }

    /// Returns true if a read of sectors in `set` would hit.
    #[inline]
    pub fn has_sectors(&self, addr: Addr, set: u32, sectors: SectorMask) -> bool {
        self.tags.has_sectors(addr, set, sectors)
    }

    /// Returns the first cycle in which the fill port accepts data.
    #[inline]
    pub fn fill_port_free_at(&self) -> Cycle {
        self.fill_port_free
    }

    /// Invalidates a sector, modified or not, unless it is being fetched.
    pub fn invalidate_sector(&mut self, addr: Addr, set: u32, sector: SectorMask) {
        let probe = self.tags.probe(addr, set, sector, true);
        if probe.lookup == Lookup::Hit {
            self.tags.evict_sector(probe.line, sector);
        }
    }

    /// Returns the oldest request to the next level.
    #[inline]
    pub fn oldest_down(&self) -> Option<&DownstreamRequest> {
        self.miss_queue.front()
    }

    /// Removes and returns the oldest request to the next level.
    #[inline]
    pub fn pop_down(&mut self) -> Option<DownstreamRequest> {
        self.miss_queue.pop()
    }

    /// Returns the number of requests that wait for the next level.
    #[inline]
    pub fn queued_requests(&self) -> usize {
        self.miss_queue.len()
    }

    /// Stores `owner` instead of the byte mask in all requests to the next level after the first `count`, and calls `see` for each of these
    /// requests.
    #[inline]
    pub(crate) fn set_owner_since(&mut self, count: usize, owner: AccessOrigin, mut see: impl FnMut(&DownstreamRequest)) {
        for place in count..self.queued_requests() {
            if let Some(down) = self.miss_queue.get_mut(place) {
                down.set_owner(owner);
                see(down);
            }
        }
    }

    /// Returns true if the data of a waiting request has arrived.
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.mshr.has_ready()
    }

    /// Removes and returns the next request whose data has arrived.
    #[inline]
    pub fn next_ready(&mut self) -> Option<Waiter> {
        self.mshr.next_ready().map(Waiter::decode)
    }

    /// Returns the set for `set_addr`, the input of the set index function: an address, or its bits within a slice.
    #[inline(always)]
    pub fn set_index(&self, set_addr: u64) -> u32 {
        set_index(set_addr, self.spec.line_bytes.trailing_zeros(), self.spec.sets, self.spec.index)
    }

    /// Looks up a request without any change of state.
    // This function is called for every access.
    #[inline(always)]
    pub fn probe(&self, access: &CacheAccess) -> Probe {
        self.tags.probe(access.addr, access.set, access.sectors, access.kind == AccessKind::Write)
    }

    /// Performs a request in cycle `now`. A request that fails changes nothing and must be retried.
    // This function is called from two places, for every access.
    #[inline(always)]
    pub fn access(&mut self, access: &CacheAccess, now: Cycle) -> AccessOutcome {
        self.notify_policy(access, now);
        if access.kind == AccessKind::Write {
            // The write path gets a copy, so that the compiler can keep the access of a read in registers.
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
                    self.hold_data_port(self.spec.atomic_cycles * access.bytes.count_ones().div_ceil(16), now);
                }
                return AccessOutcome { status: AccessStatus::Hit, reply: ReplySource::Cache };
            }
            Lookup::NoLine => return AccessOutcome { status: AccessStatus::Fail(FailReason::NoLine), reply: ReplySource::None },
            Lookup::HitReserved => AccessStatus::HitReserved,
            Lookup::SectorMiss => AccessStatus::SectorMiss,
            Lookup::Miss => AccessStatus::Miss,
        };
        match self.fetch(probe, access, now) {
            Ok(evicted) => {
                self.use_data_port(evicted, now);
                AccessOutcome { status, reply: ReplySource::Fill }
            }
            Err(reason) => AccessOutcome { status: AccessStatus::Fail(reason), reply: ReplySource::None },
        }
    }

    /// Fetches sectors without a request, unless they are present or being fetched. A prefetch leaves enough slots of the miss queue free
    /// for the fetch of a request.
    pub fn prefetch(&mut self, access: &CacheAccess, now: Cycle) -> PrefetchStatus {
        self.notify_policy(access, now);
        let probe = self.probe(access);
        let missing = match probe.lookup {
            Lookup::Hit | Lookup::HitReserved => return PrefetchStatus::Present,
            Lookup::NoLine => false,
            Lookup::SectorMiss | Lookup::Miss => self.mshr.find(self.key(access.addr)).is_none(),
        };
        if !missing || self.free_slots() < 2 * FETCH_QUEUE_SLOTS {
            return PrefetchStatus::Dropped;
        }
        match self.fetch(probe, access, now) {
            Ok(evicted) => {
                self.use_data_port(evicted, now);
                PrefetchStatus::Sent
            }
            Err(_) => PrefetchStatus::Dropped,
        }
    }

    /// Returns true if writes are sent to the next level as segments of 32, 64 or 128 bytes without byte masks.
    #[inline]
    pub fn sends_segments(&self) -> bool {
        self.spec.write_miss == WriteMiss::NoAllocateWaits
    }

    /// Returns the reason if a read would fail because the miss queue or the MSHRs are full. Other reasons for a failure are not checked,
    /// so that this function is cheaper than an access.
    // This function is called from one place, for every access.
    #[inline(always)]
    pub fn read_failure(&self, addr: Addr, set: u32, sectors: SectorMask) -> Option<FailReason> {
        let reason = match (self.free_slots() < FETCH_QUEUE_SLOTS, self.mshr.is_full()) {
            (true, _) => FailReason::QueueFull,
            (false, true) => FailReason::NoMshr,
            (false, false) => return None,
        };
        let needs =
            !self.tags.has_sectors(addr, set, sectors) && (reason == FailReason::QueueFull || self.mshr.find(self.key(addr)).is_none());
        needs.then_some(reason)
    }

    /// Inserts the data of a fetch that arrives in cycle `now`: the sectors become valid, and the requests for them become ready.
    ///
    /// # Panics
    /// If no fetch of `addr` is outstanding.
    pub fn fill(&mut self, addr: Addr, set_addr: u64, sectors: SectorMask, now: Cycle) {
        self.fill_entry(self.outstanding_entry(addr), addr, || set_addr, sectors, now);
    }

    /// Returns the MSHR entry of the outstanding fetch of `addr`.
    pub fn outstanding_entry(&self, addr: Addr) -> u16 {
        let Some(at) = self.mshr.find(self.key(addr)) else { panic!("data of {addr} arrived without an outstanding fetch") };
        at
    }

    /// Inserts the data of a fetch with MSHR entry `at`, as [`DataCache::fill`] does. `set_addr` is called only if fills allocate lines.
    ///
    /// The entry must belong to a fetch of `addr`.
    // This function is called from two places, for every sector that arrives.
    #[inline(always)]
    pub fn fill_entry(&mut self, at: u16, addr: Addr, set_addr: impl FnOnce() -> u64, sectors: SectorMask, now: Cycle) {
        debug_assert!(self.mshr.key(at) == self.key(addr), "data of {addr} arrived at {now} without an outstanding fetch");
        let (line, atomic) = self.mshr.reserved_line(at);
        match self.spec.allocate {
            Allocate::OnMiss => self.tags.fill(line, addr, sectors),
            Allocate::OnFill => {
                if let Some(request) = self.fetch_requests.get(usize::from(at)) {
                    self.tags.record_request(&seam::Access { now, ..*request });
                }
                // In a line without sectors, the first sector represents the whole line.
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
            // Consecutive sectors share a use of the data port.
            self.uncharged_fills += sectors.count();
            let cycles = self.uncharged_fills / self.spec.read_sectors * self.spec.fill_cycles;
            self.uncharged_fills %= self.spec.read_sectors;
            self.data_port_free = self.data_port_free.max(now).after(u64::from(cycles));
        }
    }

    /// Returns the key of an address in the MSHRs: the sector number, or in a line cache the number of the line's first sector.
    #[inline]
    pub(super) fn key(&self, addr: Addr) -> u64 {
        self.fetch_unit_addr(addr).0 / SECTOR_BYTES
    }

    /// Returns the address of the unit of a fetch: the sector that contains `addr`, or the line in a line cache.
    #[inline]
    fn fetch_unit_addr(&self, addr: Addr) -> Addr {
        Addr(addr.0 & self.fetch_mask)
    }

    #[inline]
    pub(super) fn use_data_port(&mut self, sectors: u32, now: Cycle) {
        if sectors > 0 {
            let cycles = self.port_cycles[(sectors as usize - 1) % self.port_cycles.len()];
            self.data_port_free = self.data_port_free.max(now).after(u64::from(cycles));
        }
    }

    /// Keeps the data port busy until `cycles` after `now` or later.
    #[inline]
    pub(super) fn hold_data_port(&mut self, cycles: u32, now: Cycle) {
        self.data_port_free = self.data_port_free.max(now.after(u64::from(cycles)));
    }

    /// Returns the number of free slots in the miss queue.
    #[inline]
    fn free_slots(&self) -> usize {
        self.miss_queue.free()
    }

    /// Checks that the miss queue has `count` free slots.
    #[inline]
    pub(super) fn check_slots(&self, count: usize) -> Result<(), FailReason> {
        if self.free_slots() >= count { Ok(()) } else { Err(FailReason::QueueFull) }
    }

    /// Writes back the modified sectors of a victim, unless the cache writes through. Returns their number.
    #[inline]
    pub(super) fn send_evicted(&mut self, evicted: Option<EvictedLine>, access: &CacheAccess) -> u32 {
        match evicted {
            Some(evicted) if self.rules.writes_back() => self.write_back(&evicted, access),
            _ => 0,
        }
    }

    fn write_back(&mut self, evicted: &EvictedLine, access: &CacheAccess) -> u32 {
        // If a partly written sector is the only modified sector, its byte mask is sent, too.
        let bytes = if evicted.sectors.count() == 1 { evicted.bytes[evicted.sectors.0.trailing_zeros() as usize] } else { u32::MAX };
        let EvictedLine { addr, sectors, .. } = *evicted;
        let part = KernelSectors::new(access.owner.kernel, sectors);
        self.miss_queue.append(DownstreamRequest { addr, token: access.token, bytes, part, kind: DownstreamKind::WriteBack });
        sectors.count()
    }

    /// Checks that the MSHRs accept a request; `found` is the entry of an outstanding fetch of its data, if there is one.
    #[inline]
    pub(super) fn check_mshr(&self, found: Option<u16>) -> Result<(), FailReason> {
        match found {
            Some(at) if !self.mshr.can_merge(at) => Err(FailReason::MergeFull),
            None if self.mshr.is_full() => Err(FailReason::NoMshr),
            _ => Ok(()),
        }
    }

    /// Adds a request to the MSHRs, and sends a fetch unless the sector is already being fetched. As in the reference, the miss queue must
    /// have a free slot for a write-back, even if none is needed. Returns the number of sectors that were written back.
    // This function is inlined into the read path; writes call it through `fetch_for_write`.
    #[inline(always)]
    pub(super) fn fetch(&mut self, probe: Probe, access: &CacheAccess, now: Cycle) -> Result<u32, FailReason> {
        let CacheAccess { addr, sectors, token, kind, .. } = *access;
        self.check_slots(FETCH_QUEUE_SLOTS)?;
        let atomic = kind == AccessKind::Atomic;
        let key = self.key(addr);
        let bucket = hash(key);
        let found = self.mshr.find_in(bucket, key);
        self.check_mshr(found)?;
        let evicted = self.tags.access(probe, addr, sectors, now.0);
        match found {
            Some(at) => self.mshr.merge(at, probe.line, token, atomic),
            None => {
                let entry = self.mshr.insert(bucket, key, probe.line, token, atomic);
                if let Some(request) = self.fetch_requests.get_mut(usize::from(entry)) {
                    *request = policy_access(access, now);
                }
                let sectors = if self.spec.sectored { sectors } else { self.spec.whole_line() };
                let bytes = if kind == AccessKind::Read { access.bytes } else { u32::MAX };
                let part = KernelSectors::new(access.owner.kernel, sectors);
                self.miss_queue.append(DownstreamRequest {
                    addr: self.fetch_unit_addr(addr),
                    token,
                    bytes,
                    part,
                    kind: DownstreamKind::Fetch { entry },
                });
            }
        }
        Ok(self.send_evicted(evicted, access))
    }
}

/// Converts a request into the form that replacement policies examine.
#[cold]
fn policy_access(access: &CacheAccess, now: Cycle) -> seam::Access {
    let CacheAccess { addr, set, bytes, kind, owner: AccessOrigin { port, kernel }, .. } = *access;
    let identity = if kind == AccessKind::Read { Identity::of(kernel, port, bytes) } else { Identity::of_write(kernel, port) };
    seam::Access { addr, set, write: kind != AccessKind::Read, identity, now }
}

/// Returns the number of modified lines above which a write cleans another line.
fn dirty_limit(spec: &Cache) -> u32 {
    let lines = u64::from(spec.sets) * u64::from(spec.ways);
    if spec.dirty_ratio >= 100 { u32::MAX } else { (lines * u64::from(spec.dirty_ratio) / 100) as u32 }
}

/// Returns the cycles for which sectors occupy the data port.
#[inline]
fn port_cycles(spec: &Cache, sectors: u32) -> u64 {
    (u64::from(sectors) * SECTOR_BYTES).div_ceil(u64::from(spec.port_bytes))
}
