//! One cycle of a slice, in the order of GPGPU-Sim's `memory_sub_partition::cache_cycle`: replies whose data has arrived, data from DRAM,
//! misses to DRAM, then the oldest request.
//!
//! A request that arrives in cycle t is looked up in t + 1 at the earliest, one request per cycle. A request for several sectors is looked
//! up sector by sector: up to `read_sectors` sectors of a read per cycle, or one sector of a write. Each sector has its own reply packet,
//! of which the network accepts up to `read_sectors` per cycle.
//! Invariant: each requested sector gets exactly one reply.

use warpshard_base::{Addr, Cycle, Ring, SECTOR_BYTES, SectorBytes, SectorMask, SliceId, prefetch};
use warpshard_config::machine::{Cache, PartitionQueues};
use warpshard_protocol::{AddressMap, LocalMap, MemOp, MemPacket};
use warpshard_seam::{Level, UserPolicies};
use warpshard_stats::PerKernel;

use super::dram_reply::DramReply;
use super::halves::{OtherHalf, copy_addr};
use super::pending::PendingRequests;
use super::slice_prefetcher::{SentPrefetch, SlicePrefetcher};
use super::{LlcApplicationCounters, LlcCounters, LlcKernelCounters, SetIndexTables};
use crate::cache::{
    AccessKind, AccessOrigin, AccessOutcome, AccessStatus, CacheAccess, DataCache, DownstreamKind, DownstreamRequest, FailReason,
    PrefetchCounters, Prefetcher, ReplySource, Waiter,
};

/// Effects of a cycle on the neighbours of the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceProgress {
    /// True if a request left the arrival queue.
    pub freed: bool,
    /// True if the queue to DRAM became non-empty, or the queue from DRAM is no longer full.
    pub dram: bool,
}

/// The approximate number of requests that are looked up between two calls of [`LlcSlice::prefetch`].
const PREFETCHED_REQUESTS: usize = 12;

/// An arrived request with the sectors that have not been looked up.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct ArrivedRequest {
    pub(super) packet: MemPacket,
    /// The low half of the arrival cycle.
    at: u32,
    /// The set of the line.
    set: u32,
}

const _: () = assert!(size_of::<ArrivedRequest>() == 32);

impl ArrivedRequest {
    /// Returns the arrival cycle; `now` is less than 2^31 cycles away from it.
    #[inline]
    fn arrival(&self, now: Cycle) -> Cycle {
        now.nearest(self.at)
    }
}

/// An LLC slice.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct LlcSlice {
    pub(super) id: SliceId,
    sectored: bool,
    cache: DataCache,
    pub(super) arrivals: Ring<ArrivedRequest>,
    /// The arrival cycle of the oldest request; `Cycle::NEVER` if the queue is empty.
    pub(super) oldest_arrival: Cycle,
    pub(super) pending: PendingRequests,
    /// Requests to DRAM that have left the miss queue of the cache.
    to_dram: Ring<DownstreamRequest>,
    from_dram: Ring<DramReply>,
    /// Replies that wait for the network, as numbers of pending requests.
    pub(super) out: Ring<u32>,
    /// The reason why the oldest request failed; `None` as soon as a retry may succeed.
    pub(super) failure: Option<FailReason>,
    /// Look-ups by their result, in the order of [`outcome_index`], for reads and for writes.
    outcomes: [[u64; 2]; 4],
    /// All other counters.
    pub(super) counters: LlcCounters,
    /// Counters per application, if several share the GPU.
    applications: Box<[LlcApplicationCounters]>,
    /// Counters per kernel launch.
    kernels: PerKernel<LlcKernelCounters>,
    /// The prefetcher, if the machine has one.
    prefetcher: Option<Box<SlicePrefetcher>>,
    /// The half of the LLC that does not contain this slice, if the LLC has two halves.
    pub(super) other: Option<Box<OtherHalf>>,
}

impl LlcSlice {
    /// Returns an empty slice.
    pub fn new(id: SliceId, spec: &Cache, queues: &PartitionQueues) -> Self {
        Self::with_policies(id, spec, queues, &UserPolicies::default())
    }

    /// Returns an empty slice with user-defined policies.
    pub fn with_policies(id: SliceId, spec: &Cache, queues: &PartitionQueues, own: &UserPolicies) -> Self {
        Self {
            id,
            sectored: spec.sectored,
            cache: DataCache::with_policies(Level::Llc(id.0), spec, spec.ways, 0, own),
            arrivals: Ring::new(16),
            oldest_arrival: Cycle::NEVER,
            pending: PendingRequests::new(),
            to_dram: Ring::new(queues.to_dram as usize),
            from_dram: Ring::new(queues.from_dram as usize),
            out: Ring::new(queues.out_queue as usize),
            failure: None,
            outcomes: [[0; 2]; 4],
            counters: LlcCounters::default(),
            applications: Box::default(),
            kernels: PerKernel::new(0),
            prefetcher: None,
            other: None,
        }
    }

    /// Returns the slice as part of an LLC with two halves.
    #[must_use]
    pub fn with_other_half(self, other: Option<Box<OtherHalf>>) -> Self {
        Self { other, ..self }
    }

    /// Returns the slice with a prefetcher; `map` identifies addresses of other slices.
    #[must_use]
    pub fn with_prefetcher(self, prefetcher: Option<Prefetcher>, map: &AddressMap) -> Self {
        let prefetcher = prefetcher.map(|prefetcher| Box::new(SlicePrefetcher::new(prefetcher, map)));
        Self { prefetcher, ..self }
    }

    /// Enables counters per kernel launch and per application for the given numbers of them.
    pub fn count_by(&mut self, kernels: usize, applications: usize) {
        self.kernels = PerKernel::new(kernels);
        self.applications = vec![LlcApplicationCounters::default(); applications].into();
    }

    /// Returns the counters per kernel launch.
    pub fn kernels(&self) -> &PerKernel<LlcKernelCounters> {
        &self.kernels
    }

    /// Returns the counters per application, if several share the GPU.
    pub fn applications(&self) -> &[LlcApplicationCounters] {
        &self.applications
    }

    /// Returns the bytes of the slice and of the arrays that a cycle may access, without arrays that grow with the number of requests.
    pub fn hot_bytes(&self) -> usize {
        size_of::<Self>() + self.cache.hot_bytes() + self.to_dram.hot_bytes() + self.from_dram.hot_bytes() + self.out.hot_bytes()
    }

    /// Returns the number of the slice.
    pub fn id(&self) -> SliceId {
        self.id
    }

    /// Returns the counters.
    pub fn counters(&self) -> LlcCounters {
        let [[read_hits, write_hits], pending, [read_sector_misses, write_sector_misses], [read_misses, write_misses]] = self.outcomes;
        LlcCounters {
            accesses: self.outcomes.iter().flatten().sum(),
            misses: read_sector_misses + write_sector_misses + read_misses + write_misses,
            pending_hits: pending.iter().sum(),
            read_hits,
            read_misses,
            read_sector_misses,
            write_hits,
            write_misses,
            write_sector_misses,
            ..self.counters.clone()
        }
    }

    /// Returns the counters of the prefetcher, if there is one.
    pub fn prefetches(&self) -> Option<&PrefetchCounters> {
        self.prefetcher.as_ref().map(|prefetcher| &prefetcher.inner.counters)
    }

    /// Returns the sectors of a line that the slice reads per cycle, which is also the number of packets that may leave it per cycle.
    #[inline]
    pub fn read_sectors(&self) -> u32 {
        self.cache.read_sectors()
    }

    /// Returns the cache.
    pub fn cache(&self) -> &DataCache {
        &self.cache
    }

    /// Queues a request that arrives in cycle `at`. Returns the number of requests in front of it.
    // This function is called from one place, for every request.
    #[inline(always)]
    pub fn arrive(&mut self, at: Cycle, packet: &MemPacket, sets: &SetIndexTables) -> usize {
        debug_assert!(packet.sectors().0 != 0, "{}: a request for no sector of {}", self.id, packet.addr);
        let set = sets.of(packet.addr);
        let before = self.arrivals.len();
        self.arrivals.append_with(|| ArrivedRequest { packet: *packet, at: at.0 as u32, set });
        if before == 0 {
            self.oldest_arrival = at;
        }
        before
    }

    /// Inserts sectors of a line that a copy from the host moves to DRAM, as if they had been fetched. Changes no counters.
    pub fn warm(&mut self, addr: Addr, set_addr: u64, sectors: SectorMask, now: Cycle) {
        self.cache.warm(addr, set_addr, sectors, now);
    }

    /// Calls [`DataCache::insert_warm`]. Changes no counters.
    pub fn insert_warm(&mut self, addr: Addr, set_addr: u64, bytes: SectorBytes, written: SectorMask, now: Cycle) {
        self.cache.insert_warm(addr, set_addr, bytes, written, now);
    }

    /// Calls [`DataCache::touch`].
    #[cfg(test)]
    pub(crate) fn touch(&mut self, addr: Addr, set_addr: u64, state: u8, now: Cycle) {
        self.cache.touch(addr, set_addr, state, now);
    }

    /// Returns true if a request to DRAM waits.
    #[inline]
    pub fn has_to_dram(&self) -> bool {
        !self.to_dram.is_empty()
    }

    /// Prefetches the state that the next cycles access first into the host's caches.
    #[inline]
    pub fn prefetch(&self) {
        self.arrivals.prefetch();
        self.from_dram.prefetch();
        self.out.prefetch();
        self.cache.expect_look_ups();
        for ArrivedRequest { packet, set, .. } in self.arrivals.iter().take(PREFETCHED_REQUESTS) {
            self.cache.expect_address(packet.addr, *set);
        }
        if let Some(ArrivedRequest { set, .. }) = self.arrivals.front() {
            self.cache.expect_room(*set);
        }
    }

    /// Prefetches the request behind the first `count` requests into the host's caches.
    #[inline]
    pub fn prefetch_behind(&self, count: usize) {
        if let Some(arrived) = self.arrivals.get(count) {
            prefetch(&arrived.at);
        }
    }

    /// Returns the arrival cycle of the request behind the first `count` requests; [`Cycle::NEVER`] if there is none.
    #[inline]
    pub fn blocked_from(&self, count: usize, now: Cycle) -> Cycle {
        self.arrivals.get(count).map_or(Cycle::NEVER, |arrived| arrived.arrival(now))
    }

    /// Returns true if the queue to DRAM is full.
    #[inline]
    pub fn to_dram_full(&self) -> bool {
        self.to_dram.is_full()
    }

    /// Removes and returns the oldest request to DRAM.
    #[inline]
    pub fn pop_to_dram(&mut self) -> Option<DownstreamRequest> {
        self.to_dram.pop()
    }

    /// Returns true if the queue from DRAM is full.
    #[inline]
    pub fn from_dram_full(&self) -> bool {
        self.from_dram.is_full()
    }

    /// Announces that the data of a fetch will arrive, and that [`LlcSlice::expect_data`] will be called before.
    #[inline]
    pub fn expect_entry(&self, entry: u16) {
        self.cache.expect_entry(entry);
    }

    /// Announces that the data of a fetch arrives soon.
    #[inline]
    pub fn expect_data(&self, entry: u16) {
        self.pending.prefetch(self.cache.expect_line(entry));
    }

    /// Queues a reply of the DRAM channel; the queue must not be full.
    #[inline]
    pub fn push_from_dram(&mut self, reply: DramReply) {
        self.from_dram.push(reply);
    }

    /// Removes the oldest reply for the network and passes it to `send`. Returns false if no reply waits.
    #[inline]
    pub fn pop_out(&mut self, send: impl FnOnce(&MemPacket)) -> bool {
        let Some(number) = self.out.pop() else { return false };
        send(self.pending.get(number));
        self.pending.release(number);
        true
    }

    /// Returns true if a reply waits for the network.
    #[inline]
    pub fn has_out(&self) -> bool {
        !self.out.is_empty()
    }

    /// Simulates one cycle.
    #[inline]
    pub fn cycle(&mut self, now: Cycle, map: &LocalMap) -> SliceProgress {
        for _ in 0..self.cache.read_sectors() {
            self.take_replies(now, map);
        }
        let mut dram = self.take_data(now, map);
        let waited = self.has_to_dram();
        if self.cache.queued_requests() > 0
            && !self.to_dram_full()
            && let Some(down) = self.cache.pop_down()
        {
            self.to_dram.push(down);
            match down.kind {
                DownstreamKind::Fetch { .. } => self.counters.fetches += 1,
                DownstreamKind::WriteBack => self.counters.write_backs += u64::from(down.sectors().count()),
                DownstreamKind::Write => {}
            }
            if let Some(counters) = self.applications.get_mut(down.addr.application()) {
                let sectors = u64::from(down.sectors().count());
                match down.kind {
                    DownstreamKind::Fetch { .. } => counters.dram_reads += sectors,
                    DownstreamKind::WriteBack | DownstreamKind::Write => counters.dram_writes += sectors,
                }
            }
            dram |= !waited;
            self.failure = None;
        }
        let mut freed = false;
        if self.oldest_arrival < now {
            if self.is_blocked() {
                self.count_waiting(1);
            } else if self.cache.data_port_free(now) {
                freed = self.look_up_sectors(now);
            }
        }
        if let Some(prefetcher) = &mut self.prefetcher
            && let Some(SentPrefetch { owner, sectors: [fetched, written] }) = prefetcher.look_up(self.id, &mut self.cache, now, map)
        {
            // The prefetch may have changed the state that made the oldest request fail.
            self.failure = None;
            if let Some(counters) = self.kernels.get_mut(owner.kernel.index()) {
                counters.dram_reads += fetched;
                counters.dram_writes += written;
            }
        }
        SliceProgress { freed, dram }
    }

    /// Moves the next reply from the other half, and the next reply whose data has arrived, into the queue to the network.
    // This function is called from one place, in every cycle.
    #[inline(always)]
    fn take_replies(&mut self, now: Cycle, map: &LocalMap) {
        if let Some(other) = &mut self.other
            && !self.out.is_full()
            && let Some(number) = other.pop_arrived(now)
        {
            self.out.push(number);
        }
        if self.cache.has_ready()
            && !self.out.is_full()
            && let Some(waiter) = self.cache.next_ready()
        {
            if let Waiter::Request(number) = waiter
                && (self.other.is_none() || !self.crosses(number, map, now))
            {
                self.out.push(number);
            }
            self.failure = None;
        }
    }

    /// Passes request `number`, whose data has arrived, to the other half. Returns true if its reply crosses to that half.
    // This function is not inlined, because slices of an undivided LLC do not call it.
    #[inline(never)]
    fn crosses(&mut self, number: u32, map: &LocalMap, now: Cycle) -> bool {
        let Self { other, pending, cache, .. } = self;
        let Some(other) = other else { return false };
        let packet = pending.get(number);
        let set = cache.set_index(map.within_slice(packet.addr));
        let queued = cache.queued_requests();
        let crosses = other.handle_access(number, packet, set, cache, now);
        cache.set_owner_since(queued, AccessOrigin { port: packet.port, kernel: packet.kernel() }, |_| {});
        crosses
    }

    /// Returns the first cycle at or after `from` in which [`LlcSlice::cycle`] would do more than count, if nothing arrives before.
    #[inline(always)]
    pub fn next_event(&self, from: Cycle) -> Cycle {
        let mut next = Cycle::NEVER;
        if self.cache.has_ready() && !self.out.is_full() || self.cache.queued_requests() > 0 && !self.to_dram_full() {
            return from;
        }
        match self.from_dram.front() {
            Some(DramReply::Data { .. }) => next = self.cache.fill_port_free_at(),
            Some(DramReply::Written { .. }) if !self.out.is_full() => return from,
            Some(DramReply::Written { .. }) | None => {}
        }
        if self.oldest_arrival != Cycle::NEVER && !self.is_blocked() {
            next = next.min(self.cache.data_port_free_at().max(self.oldest_arrival.after(1)));
        }
        if let Some(prefetcher) = &self.prefetcher {
            next = next.min(prefetcher.inner.next_at());
        }
        if let Some(other) = &self.other
            && !self.out.is_full()
        {
            next = next.min(other.next_arrival());
        }
        next.max(from)
    }

    /// Counts the wait of the oldest request over the skipped cycles from `from` up to, but not including, `until`.
    #[inline(always)]
    pub fn skip(&mut self, from: Cycle, until: Cycle) {
        let first = from.max(self.oldest_arrival.after(1));
        if first < until {
            self.count_waiting(until.0 - first.0);
        }
    }

    /// Takes the next reply of the DRAM channel: data fills the cache, and an acknowledgement of a write is replied to its sender. Returns
    /// true if the queue from DRAM was full.
    // This function is called from one place, for every sector.
    #[inline(always)]
    fn take_data(&mut self, now: Cycle, map: &LocalMap) -> bool {
        match self.from_dram.front() {
            Some(&DramReply::Data { entry, addr, sectors }) if self.cache.fill_port_free(now) => {
                self.cache.fill_entry(entry, addr, || map.within_slice(addr), sectors, now);
            }
            Some(&DramReply::Written { number }) if !self.out.is_full() => self.out.push(number),
            Some(_) | None => return false,
        }
        let full = self.from_dram.is_full();
        self.from_dram.drop_front();
        self.failure = None;
        full
    }

    /// Returns true if the oldest request cannot be looked up, or if its look-up would fail again.
    #[inline]
    fn is_blocked(&self) -> bool {
        self.failure.is_some() || self.to_dram_full() || self.out.is_full()
    }

    /// Looks up the oldest request: up to `read_sectors` sectors of a read, or one sector of a write. Returns true if the request left the
    /// queue.
    #[inline(always)]
    fn look_up_sectors(&mut self, now: Cycle) -> bool {
        let mut found = self.look_up(now);
        for _ in 1..self.cache.read_sectors() {
            let port = self.cache.data_port_free_at();
            if found != LookUpProgress::SectorOfRead || port > now.next() || self.is_blocked() {
                break;
            }
            found = self.look_up(now);
            self.cache.share_data_port_cycle(port, now);
        }
        found == LookUpProgress::Finished
    }

    // This function is called from two places, for every sector.
    #[inline(always)]
    fn look_up(&mut self, now: Cycle) -> LookUpProgress {
        let Some(arrived) = self.arrivals.front() else { return LookUpProgress::Failed };
        let packet = &arrived.packet;
        let (addr, sectors, rest) = if self.sectored { first_sector(packet) } else { (packet.addr, packet.sectors(), SectorMask(0)) };
        let kind = match packet.op {
            MemOp::Read => AccessKind::Read,
            MemOp::Write => AccessKind::Write,
            MemOp::Atomic | MemOp::Reduction => AccessKind::Atomic,
        };
        let set = arrived.set;
        let owner = AccessOrigin { port: packet.port, kernel: packet.kernel() };
        // A read by an SM of the other half uses the copy of that half, if there is one.
        let copied =
            self.other.as_ref().is_some_and(|other| other.is_far_read(packet)) && self.cache.has_sectors(copy_addr(addr), set, sectors);
        let at = if copied { copy_addr(addr) } else { addr };
        let access =
            CacheAccess { addr: at, set, sectors, bytes: packet.bytes, kind, local: false, token: self.pending.next_number(), owner };
        let queued = self.cache.queued_requests();
        let AccessOutcome { status, reply } = self.cache.access(&access, now);
        match reply {
            ReplySource::None => {
                if let AccessStatus::Fail(reason) = status {
                    self.failure = Some(reason);
                    self.count_waiting(1);
                }
                return LookUpProgress::Failed;
            }
            ReplySource::Cache => {
                let crosses = |other: &mut Box<OtherHalf>| {
                    let packet = MemPacket { addr, part: packet.part.with(sectors), ..*packet };
                    other.handle_access(access.token, &packet, set, &mut self.cache, now)
                };
                if copied || !self.other.as_mut().is_some_and(crosses) {
                    self.out.push(access.token);
                }
            }
            ReplySource::Fill | ReplySource::NextLevel => {}
        }
        // Numbers of fetched and of written sectors in the requests to DRAM.
        let mut sent = [0; 2];
        self.cache.set_owner_since(queued, owner, |down| sent[usize::from(!down.is_fetch())] += u64::from(down.sectors().count()));
        if let Some(counters) = self.kernels.get_mut(packet.kernel().index()) {
            counters.llc_accesses += 1;
            counters.llc_hits += u64::from(status == AccessStatus::Hit);
            counters.llc_pending_hits += u64::from(status == AccessStatus::HitReserved);
            counters.dram_reads += sent[0];
            counters.dram_writes += sent[1];
        }
        if kind == AccessKind::Read
            && let Some(prefetcher) = &mut self.prefetcher
        {
            prefetcher.inner.read(&access, status, now);
        }
        self.pending.insert(packet, addr, sectors);
        self.outcomes[outcome_index(status)][usize::from(kind == AccessKind::Write)] += 1;
        self.counters.atomics += u64::from(kind == AccessKind::Atomic);
        if let Some(counters) = self.applications.get_mut(addr.application()) {
            counters.llc_accesses += 1;
            counters.llc_hits += u64::from(status == AccessStatus::Hit);
            counters.llc_pending_hits += u64::from(status == AccessStatus::HitReserved);
        }
        if rest.0 == 0 {
            self.oldest_arrival = Cycle::NEVER;
            if let Some(next) = self.arrivals.next_front() {
                self.oldest_arrival = next.arrival(now);
                // Most consecutive requests are for sectors of one line, which have the same set.
                if next.packet.addr.line() != addr.line() {
                    self.cache.expect_room(next.set);
                }
            }
            return LookUpProgress::Finished;
        }
        if let Some(arrived) = self.arrivals.front_mut() {
            arrived.packet.addr = arrived.packet.addr.line();
            arrived.packet.part = arrived.packet.part.with(rest);
        }
        if kind == AccessKind::Read { LookUpProgress::SectorOfRead } else { LookUpProgress::SectorOfWrite }
    }
}

/// The progress of a request by a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookUpProgress {
    /// No progress: the look-up failed.
    Failed,
    /// One sector of a read was looked up; other sectors remain.
    SectorOfRead,
    /// One sector of a write or an atomic was looked up; other sectors remain.
    SectorOfWrite,
    /// The last sector of a request was looked up.
    Finished,
}

/// Returns the index of a look-up result in [`LlcSlice::outcomes`]: sector present, sector in flight, line without the sector, line absent.
#[inline]
fn outcome_index(status: AccessStatus) -> usize {
    match status {
        AccessStatus::Hit => 0,
        AccessStatus::HitReserved | AccessStatus::Fail(_) => 1,
        AccessStatus::SectorMiss => 2,
        AccessStatus::Miss => 3,
    }
}

/// Returns the address of the lowest sector of a packet, this sector, and the remaining sectors.
#[inline]
fn first_sector(packet: &MemPacket) -> (Addr, SectorMask, SectorMask) {
    let sectors = packet.sectors().0;
    let (rest, index) = (sectors & (sectors - 1), sectors.trailing_zeros());
    let addr = Addr(packet.addr.line().0 + u64::from(index) * SECTOR_BYTES);
    (addr, SectorMask(1 << index), SectorMask(rest))
}
