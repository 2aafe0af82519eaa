//! One cycle of a slice, in the order of GPGPU-Sim's `memory_sub_partition::cache_cycle`: replies whose data has arrived, data from
//! DRAM, misses to DRAM, then the oldest request.
//!
//! A request that arrives in cycle t is looked up in t + 1 at the earliest, one per cycle. A request of several sectors is looked up
//! sector by sector: up to `read_sectors` sectors of a read in a cycle, and one of a write. Each sector has a reply packet; the network
//! takes up to `read_sectors` of them in a cycle.
//! Invariant: each requested sector is replied to exactly once.

use warpshard_base::{Addr, Cycle, Ring, SECTOR_BYTES, SectorBytes, SectorMask, SliceId, prefetch};
use warpshard_config::machine::{Cache, PartitionQueues};
use warpshard_protocol::{AddressMap, LocalMap, MemOp, MemPacket};
use warpshard_seam::{Level, Own};
use warpshard_stats::PerKernel;

use super::ahead::{Ahead, Sent};
use super::from_dram::FromDram;
use super::halves::{OtherHalf, copy_of};
use super::pending::Pending;
use super::{LlcApplicationCounters, LlcCounters, LlcKernelCounters, Sets};
use crate::cache::{
    Access, AccessKind, Answer, DataCache, Down, DownKind, FailReason, Outcome, Owner, PrefetchCounters, Prefetcher, Status, Waiter,
};

/// What a cycle did that others must hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acted {
    /// Whether a request left the arrival queue.
    pub freed: bool,
    /// Whether the queue to DRAM is no longer empty, or the queue from DRAM no longer full.
    pub dram: bool,
}

/// Requests that may be looked up in a span between two calls of [`Slice::prefetch`], more or less.
const EXPECTED: usize = 12;

/// A request that arrives, with the sectors that are not yet looked up.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct Arrived {
    pub(super) packet: MemPacket,
    /// Low half of the cycle in which it is seen.
    at: u32,
    /// The set of its line.
    set: u32,
}

const _: () = assert!(size_of::<Arrived>() == 32);

impl Arrived {
    /// The whole of that cycle, given one less than 2^31 cycles from it.
    #[inline]
    fn seen(&self, now: Cycle) -> Cycle {
        now.nearest(self.at)
    }
}

/// An LLC slice.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Slice {
    pub(super) id: SliceId,
    sectored: bool,
    cache: DataCache,
    pub(super) arrivals: Ring<Arrived>,
    /// When the oldest of them arrived; never where there is none.
    pub(super) since: Cycle,
    pub(super) pending: Pending,
    /// What left the miss queue of the cache for DRAM.
    to_dram: Ring<Down>,
    from_dram: Ring<FromDram>,
    /// Answers for the network, as numbers of `pending`.
    pub(super) out: Ring<u32>,
    /// Why the oldest request failed, while nothing changed since.
    pub(super) stuck: Option<FailReason>,
    /// Requests by what was found, in the order of [`found`], and whether they read or write.
    outcomes: [[u64; 2]; 4],
    /// What else is counted.
    pub(super) counters: LlcCounters,
    /// What is counted by application, where several share the GPU.
    applications: Box<[LlcApplicationCounters]>,
    /// What is counted by kernel launch.
    kernels: PerKernel<LlcKernelCounters>,
    /// What it fetches in advance, where it does.
    ahead: Option<Box<Ahead>>,
    /// The half of the LLC to which it does not belong, where there are two.
    pub(super) other: Option<Box<OtherHalf>>,
}

impl Slice {
    /// An empty slice.
    pub fn new(id: SliceId, spec: &Cache, queues: &PartitionQueues) -> Self {
        Self::with_own(id, spec, queues, &Own::default())
    }

    /// The same with the policies of the calling program.
    pub fn with_own(id: SliceId, spec: &Cache, queues: &PartitionQueues, own: &Own) -> Self {
        Self {
            id,
            sectored: spec.sectored,
            cache: DataCache::at(Level::Llc(id.0), spec, spec.ways, 0, own),
            arrivals: Ring::new(16),
            since: Cycle::NEVER,
            pending: Pending::new(),
            to_dram: Ring::new(queues.to_dram as usize),
            from_dram: Ring::new(queues.from_dram as usize),
            out: Ring::new(queues.out_queue as usize),
            stuck: None,
            outcomes: [[0; 2]; 4],
            counters: LlcCounters::default(),
            applications: Box::default(),
            kernels: PerKernel::new(0),
            ahead: None,
            other: None,
        }
    }

    /// The same as a part of one of two halves.
    #[must_use]
    pub fn beside(self, other: Option<Box<OtherHalf>>) -> Self {
        Self { other, ..self }
    }

    /// The same with a prefetcher; `map` tells which addresses belong to the slice.
    #[must_use]
    pub fn with_prefetcher(self, prefetcher: Option<Prefetcher>, map: &AddressMap) -> Self {
        let ahead = prefetcher.map(|prefetcher| Box::new(Ahead::new(prefetcher, map)));
        Self { ahead, ..self }
    }

    /// Counts for each of so many kernel launches and applications, too.
    pub fn count_by(&mut self, kernels: usize, applications: usize) {
        self.kernels = PerKernel::new(kernels);
        self.applications = vec![LlcApplicationCounters::default(); applications].into();
    }

    /// What was counted for each kernel launch.
    pub fn kernels(&self) -> &PerKernel<LlcKernelCounters> {
        &self.kernels
    }

    /// What was counted for each application, where several share the GPU.
    pub fn applications(&self) -> &[LlcApplicationCounters] {
        &self.applications
    }

    /// Bytes of the slice and of the arrays that its cycles may touch, without what grows with the requests inside.
    pub fn hot_bytes(&self) -> usize {
        size_of::<Self>() + self.cache.hot_bytes() + self.to_dram.hot_bytes() + self.from_dram.hot_bytes() + self.out.hot_bytes()
    }

    /// Which slice this is.
    pub fn id(&self) -> SliceId {
        self.id
    }

    /// What was counted so far.
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

    /// What its prefetcher did, where it has one.
    pub fn prefetches(&self) -> Option<&PrefetchCounters> {
        self.ahead.as_ref().map(|ahead| &ahead.prefetcher.counters)
    }

    /// Sectors of a line that it reads in a cycle: packets that may leave it in one.
    #[inline]
    pub fn read_sectors(&self) -> u32 {
        self.cache.read_sectors()
    }

    /// The cache.
    pub fn cache(&self) -> &DataCache {
        &self.cache
    }

    /// Takes a request that is seen at `at`. Returns how many are in front of it.
    // Called from one place, for every request.
    #[inline(always)]
    pub fn arrive(&mut self, at: Cycle, packet: &MemPacket, sets: &Sets) -> usize {
        debug_assert!(packet.sectors().0 != 0, "{}: a request for no sector of {}", self.id, packet.addr);
        let set = sets.of(packet.addr);
        let before = self.arrivals.len();
        self.arrivals.append_with(|| Arrived { packet: *packet, at: at.0 as u32, set });
        if before == 0 {
            self.since = at;
        }
        before
    }

    /// Sectors of a line that pass on their way from the host to DRAM stay, as if they had been fetched. Counts nothing.
    pub fn warm(&mut self, addr: Addr, set_addr: u64, sectors: SectorMask, now: Cycle) {
        self.cache.warm(addr, set_addr, sectors, now);
    }

    /// As [`DataCache::leave`]. Counts nothing.
    pub fn leave(&mut self, addr: Addr, set_addr: u64, bytes: SectorBytes, written: SectorMask, now: Cycle) {
        self.cache.leave(addr, set_addr, bytes, written, now);
    }

    /// As [`DataCache::touch`].
    #[cfg(test)]
    pub(crate) fn touch(&mut self, addr: Addr, set_addr: u64, state: u8, now: Cycle) {
        self.cache.touch(addr, set_addr, state, now);
    }

    /// Whether a request to DRAM waits.
    #[inline]
    pub fn has_to_dram(&self) -> bool {
        !self.to_dram.is_empty()
    }

    /// Prefetches what the next cycles begin with.
    #[inline]
    pub fn prefetch(&self) {
        self.arrivals.prefetch();
        self.from_dram.prefetch();
        self.out.prefetch();
        self.cache.expect_look_ups();
        for Arrived { packet, set, .. } in self.arrivals.iter().take(EXPECTED) {
            self.cache.expect_address(packet.addr, *set);
        }
        if let Some(Arrived { set, .. }) = self.arrivals.front() {
            self.cache.expect_room(*set);
        }
    }

    /// Prefetches the request after the first `places`.
    #[inline]
    pub fn prefetch_behind(&self, places: usize) {
        if let Some(arrived) = self.arrivals.get(places) {
            prefetch(&arrived.at);
        }
    }

    /// The cycle of arrival of the request after the first `places`; [`Cycle::NEVER`] if there is none.
    #[inline]
    pub fn blocked_from(&self, places: usize, now: Cycle) -> Cycle {
        self.arrivals.get(places).map_or(Cycle::NEVER, |arrived| arrived.seen(now))
    }

    /// Whether the queue to DRAM takes nothing more.
    #[inline]
    pub fn to_dram_full(&self) -> bool {
        self.to_dram.is_full()
    }

    /// Takes the oldest request to DRAM.
    #[inline]
    pub fn pop_to_dram(&mut self) -> Option<Down> {
        self.to_dram.pop()
    }

    /// Whether nothing more can come from DRAM.
    #[inline]
    pub fn from_dram_full(&self) -> bool {
        self.from_dram.is_full()
    }

    /// The data of a fetch is on DRAM's data bus, and [`Slice::expect_data`] will be called before it comes.
    #[inline]
    pub fn expect_entry(&self, entry: u16) {
        self.cache.expect_entry(entry);
    }

    /// The data of a fetch comes next, or soon.
    #[inline]
    pub fn expect_data(&self, entry: u16) {
        self.pending.prefetch(self.cache.expect_line(entry));
    }

    /// Takes something that came from DRAM; there is room.
    #[inline]
    pub fn push_from_dram(&mut self, what: FromDram) {
        self.from_dram.push(what);
    }

    /// Takes the oldest answer for the network, where there is one, and hands it on.
    #[inline]
    pub fn pop_out(&mut self, hand_on: impl FnOnce(&MemPacket)) -> bool {
        let Some(number) = self.out.pop() else { return false };
        hand_on(self.pending.get(number));
        self.pending.release(number);
        true
    }

    /// Whether an answer waits for the network.
    #[inline]
    pub fn has_out(&self) -> bool {
        !self.out.is_empty()
    }

    /// One cycle.
    #[inline]
    pub fn cycle(&mut self, now: Cycle, map: &LocalMap) -> Acted {
        for _ in 0..self.cache.read_sectors() {
            self.take_answers(now, map);
        }
        let mut dram = self.take_data(now, map);
        let waited = self.has_to_dram();
        if self.cache.queued() > 0
            && !self.to_dram_full()
            && let Some(down) = self.cache.pop_down()
        {
            self.to_dram.push(down);
            match down.kind {
                DownKind::Fetch { .. } => self.counters.fetches += 1,
                DownKind::WriteBack => self.counters.write_backs += u64::from(down.sectors().count()),
                DownKind::Write => {}
            }
            if let Some(counters) = self.applications.get_mut(down.addr.application()) {
                let sectors = u64::from(down.sectors().count());
                match down.kind {
                    DownKind::Fetch { .. } => counters.dram_reads += sectors,
                    DownKind::WriteBack | DownKind::Write => counters.dram_writes += sectors,
                }
            }
            dram |= !waited;
            self.stuck = None;
        }
        let mut freed = false;
        if self.since < now {
            if self.is_blocked() {
                self.count_waiting(1);
            } else if self.cache.data_port_free(now) {
                freed = self.look_up_sectors(now);
            }
        }
        if let Some(ahead) = &mut self.ahead
            && let Some(Sent { owner, sectors: [fetched, written] }) = ahead.look_up(self.id, &mut self.cache, now, map)
        {
            // The oldest request may find now what it lacked.
            self.stuck = None;
            if let Some(counters) = self.kernels.get_mut(owner.kernel.index()) {
                counters.dram_reads += fetched;
                counters.dram_writes += written;
            }
        }
        Acted { freed, dram }
    }

    /// The next answer from the other half and the next whose data came enter the queue to the network.
    // Called from one place, in every cycle.
    #[inline(always)]
    fn take_answers(&mut self, now: Cycle, map: &LocalMap) {
        if let Some(other) = &mut self.other
            && !self.out.is_full()
            && let Some(number) = other.arrived(now)
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
            self.stuck = None;
        }
    }

    /// Whether the answer to request `number`, whose data came, sets out for the other half.
    // Apart: an LLC that is one does not come here.
    #[inline(never)]
    fn crosses(&mut self, number: u32, map: &LocalMap, now: Cycle) -> bool {
        let Self { other, pending, cache, .. } = self;
        let Some(other) = other else { return false };
        let packet = pending.get(number);
        let set = cache.set_index(map.within_slice(packet.addr));
        let queued = cache.queued();
        let crosses = other.takes(number, packet, set, cache, now);
        cache.own_since(queued, Owner { port: packet.port, kernel: packet.kernel() }, |_| {});
        crosses
    }

    /// The first cycle at or after `from` in which [`Slice::cycle`] would do more than count, provided that nothing comes.
    #[inline(always)]
    pub fn next_event(&self, from: Cycle) -> Cycle {
        let mut next = Cycle::NEVER;
        if self.cache.has_ready() && !self.out.is_full() || self.cache.queued() > 0 && !self.to_dram_full() {
            return from;
        }
        match self.from_dram.front() {
            Some(FromDram::Data { .. }) => next = self.cache.fill_port_free_at(),
            Some(FromDram::Written { .. }) if !self.out.is_full() => return from,
            Some(FromDram::Written { .. }) | None => {}
        }
        if self.since != Cycle::NEVER && !self.is_blocked() {
            next = next.min(self.cache.data_port_free_at().max(self.since.after(1)));
        }
        if let Some(ahead) = &self.ahead {
            next = next.min(ahead.prefetcher.next_at());
        }
        if let Some(other) = &self.other
            && !self.out.is_full()
        {
            next = next.min(other.next_at());
        }
        next.max(from)
    }

    /// Counts the waiting of the oldest request over cycles from `from` up to and without `until`, which are not simulated.
    #[inline(always)]
    pub fn skip(&mut self, from: Cycle, until: Cycle) {
        let first = from.max(self.since.after(1));
        if first < until {
            self.count_waiting(until.0 - first.0);
        }
    }

    /// Data from DRAM goes into the cache, an acknowledged write to its sender. Returns whether the queue it
    /// came from was full.
    // Called from one place, for every sector.
    #[inline(always)]
    fn take_data(&mut self, now: Cycle, map: &LocalMap) -> bool {
        match self.from_dram.front() {
            Some(&FromDram::Data { entry, addr, sectors }) if self.cache.fill_port_free(now) => {
                self.cache.fill_entry(entry, addr, || map.within_slice(addr), sectors, now);
            }
            Some(&FromDram::Written { number }) if !self.out.is_full() => self.out.push(number),
            Some(_) | None => return false,
        }
        let full = self.from_dram.is_full();
        self.from_dram.drop_front();
        self.stuck = None;
        full
    }

    /// Whether the oldest request cannot be looked up, or would fail again.
    #[inline]
    fn is_blocked(&self) -> bool {
        self.stuck.is_some() || self.to_dram_full() || self.out.is_full()
    }

    /// Looks up the oldest request: up to `read_sectors` sectors of a read, one sector of a write. Returns whether the request left the queue.
    #[inline(always)]
    fn look_up_sectors(&mut self, now: Cycle) -> bool {
        let mut found = self.look_up(now);
        for _ in 1..self.cache.read_sectors() {
            let port = self.cache.data_port_free_at();
            if found != LookedUp::Part || port > now.next() || self.is_blocked() {
                break;
            }
            found = self.look_up(now);
            self.cache.passed_beside(port, now);
        }
        found == LookedUp::Whole
    }

    // Called from one place, for every sector.
    #[inline(always)]
    fn look_up(&mut self, now: Cycle) -> LookedUp {
        let Some(arrived) = self.arrivals.front() else { return LookedUp::Nothing };
        let packet = &arrived.packet;
        let (addr, sectors, rest) = if self.sectored { first_sector(packet) } else { (packet.addr, packet.sectors(), SectorMask(0)) };
        let kind = match packet.op {
            MemOp::Read => AccessKind::Read,
            MemOp::Write => AccessKind::Write,
            MemOp::Atomic | MemOp::Reduction => AccessKind::Atomic,
        };
        let set = arrived.set;
        let owner = Owner { port: packet.port, kernel: packet.kernel() };
        // A copy in the other half answers where that has one.
        let copied = self.other.as_ref().is_some_and(|other| other.is_far_read(packet)) && self.cache.has(copy_of(addr), set, sectors);
        let at = if copied { copy_of(addr) } else { addr };
        let access = Access { addr: at, set, sectors, bytes: packet.bytes, kind, local: false, token: self.pending.next(), owner };
        let queued = self.cache.queued();
        let Outcome { status, answer } = self.cache.access(&access, now);
        match answer {
            Answer::None => {
                if let Status::Fail(reason) = status {
                    self.stuck = Some(reason);
                    self.count_waiting(1);
                }
                return LookedUp::Nothing;
            }
            Answer::Now => {
                let crosses = |other: &mut Box<OtherHalf>| {
                    let packet = MemPacket { addr, part: packet.part.with(sectors), ..*packet };
                    other.takes(access.token, &packet, set, &mut self.cache, now)
                };
                if copied || !self.other.as_mut().is_some_and(crosses) {
                    self.out.push(access.token);
                }
            }
            Answer::AtFill | Answer::FromBelow => {}
        }
        // Fetched and written sectors of the requests that it sent down.
        let mut sent = [0; 2];
        self.cache.own_since(queued, owner, |down| sent[usize::from(!down.is_fetch())] += u64::from(down.sectors().count()));
        if let Some(counters) = self.kernels.get_mut(packet.kernel().index()) {
            counters.llc_accesses += 1;
            counters.llc_hits += u64::from(status == Status::Hit);
            counters.llc_pending_hits += u64::from(status == Status::HitReserved);
            counters.dram_reads += sent[0];
            counters.dram_writes += sent[1];
        }
        if kind == AccessKind::Read
            && let Some(ahead) = &mut self.ahead
        {
            ahead.prefetcher.read(&access, status, now);
        }
        self.pending.keep(packet, addr, sectors);
        self.outcomes[found(status)][usize::from(kind == AccessKind::Write)] += 1;
        self.counters.atomics += u64::from(kind == AccessKind::Atomic);
        if let Some(counters) = self.applications.get_mut(addr.application()) {
            counters.llc_accesses += 1;
            counters.llc_hits += u64::from(status == Status::Hit);
            counters.llc_pending_hits += u64::from(status == Status::HitReserved);
        }
        if rest.0 == 0 {
            self.since = Cycle::NEVER;
            if let Some(next) = self.arrivals.next_front() {
                self.since = next.seen(now);
                // Sectors of a line come one after the other, mostly, and are looked up at the same place.
                if next.packet.addr.line() != addr.line() {
                    self.cache.expect_room(next.set);
                }
            }
            return LookedUp::Whole;
        }
        if let Some(arrived) = self.arrivals.front_mut() {
            arrived.packet.addr = arrived.packet.addr.line();
            arrived.packet.part = arrived.packet.part.with(rest);
        }
        if kind == AccessKind::Read { LookedUp::Part } else { LookedUp::PartOfWrite }
    }
}

/// What a look-up did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookedUp {
    /// Nothing: the request could not be served.
    Nothing,
    /// One sector of a read; others remain.
    Part,
    /// One sector of a write or an atomic; others remain.
    PartOfWrite,
    /// The last sector of a request.
    Whole,
}

/// What was found, as the slice counts it: the sector, that it is on its way, its line without it, or nothing.
#[inline]
fn found(status: Status) -> usize {
    match status {
        Status::Hit => 0,
        Status::HitReserved | Status::Fail(_) => 1,
        Status::SectorMiss => 2,
        Status::Miss => 3,
    }
}

/// The address of the lowest of a packet's sectors, that sector, and those that remain.
#[inline]
fn first_sector(packet: &MemPacket) -> (Addr, SectorMask, SectorMask) {
    let sectors = packet.sectors().0;
    let (rest, index) = (sectors & (sectors - 1), sectors.trailing_zeros());
    let addr = Addr(packet.addr.line().0 + u64::from(index) * SECTOR_BYTES);
    (addr, SectorMask(1 << index), SectorMask(rest))
}
