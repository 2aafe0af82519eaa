//! The L1 data cache: a pipe per bank in front of the tags, and the requests that misses send.
//!
//! An access waits `latency` cycles in its bank's pipe before the tags are looked up. An access that the cache cannot accept
//! stays at the end of the pipe and is retried every cycle; the accesses after it close up and wait.

mod bank_heads;
mod look_up;
mod prefetch;
mod requester;

use warpshard_base::{Addr, Cycle, KernelIndex, KernelSectors, PortId, Ring, SECTOR_BYTES, SectorMask};
use warpshard_config::machine::{Cache, L1 as Spec};
use warpshard_mem::cache::{DataCache, DownstreamRequest, Prefetcher, Probe, Waiter};
use warpshard_seam::{CacheSite, Level, UserPolicies};

use super::coalesce::CoalescedAccess;
use super::net::MemoryReply;
use bank_heads::BankHeads;
pub(super) use bank_heads::Refusals;
pub(super) use look_up::AcceptedAccess;
pub(super) use requester::Requester;

/// An access in the pipe of a bank.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct PipeEntry {
    /// The cycle in which the access reaches the tags.
    at: Cycle,
    addr: Addr,
    /// Bytes of a write; signature of a read.
    bytes: u32,
    /// The encoded [`Requester`].
    requester_bits: u32,
    /// The set of the line.
    set: u16,
    part: KernelSectors,
    write: bool,
    local: bool,
}

const _: () = assert!(size_of::<PipeEntry>() == 32);

/// Properties that the accesses of an instruction share.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessGroup {
    /// The load or store of the accesses.
    pub(super) requester: Requester,
    /// The kernel of the load or store.
    pub(super) kernel: KernelIndex,
    pub(super) write: bool,
    /// True if the accesses go to local memory.
    pub(super) local: bool,
    /// Distance in bytes by which the L1 prefetches ahead of the accesses; 0 disables the prefetch.
    pub(super) ahead: i32,
    /// The signature of instruction and warp, for reads.
    pub(super) signature: u32,
}

/// The L1 of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct L1 {
    cache: DataCache,
    /// The port of the SM.
    port: PortId,
    line_cache: bool,
    /// The mask that selects the bank of a sector, if the number of banks is a power of two.
    bank_mask: Option<u32>,
    pipes: Box<[Ring<PipeEntry>]>,
    /// Banks whose pipe is full.
    full_banks: u64,
    heads: BankHeads,
    miss_queue: u32,
    latency: u32,
    /// Lines whose sectors arrive in several replies, with the sectors that have arrived.
    partial: Vec<(Addr, SectorMask)>,
    /// Fill bandwidth in sectors per cycle.
    fills: u32,
    /// The cycle of the last fill, and the number of fills in it.
    sectors_filled: (Cycle, u32),
    pub(super) prefetcher: Option<Box<Prefetcher>>,
}

impl L1 {
    pub(super) fn new(cache: &Cache, spec: &Spec, port: PortId, own: &UserPolicies) -> Self {
        let latency = spec.latency.max(1);
        let (distance, degree) = (spec.prefetch_distance, spec.prefetch_degree);
        let site = CacheSite { distance, degree, ..CacheSite::new(Level::L1(port.0), cache.sets, max_ways(cache, spec), cache.line_bytes) };
        let banks = spec.banks.max(1) as usize;
        Self {
            cache: DataCache::with_policies(Level::L1(port.0), cache, max_ways(cache, spec), spec.write_ratio, own),
            port,
            line_cache: !cache.sectored,
            bank_mask: banks.is_power_of_two().then_some(banks as u32 - 1),
            pipes: (0..banks).map(|_| Ring::new(latency as usize)).collect(),
            full_banks: 0,
            heads: BankHeads::new(banks),
            miss_queue: cache.miss_queue,
            latency,
            partial: Vec::new(),
            fills: spec.fills.max(1),
            sectors_filled: (Cycle(0), 0),
            prefetcher: Prefetcher::new(spec.prefetch, &site, own).map(Box::new),
        }
    }

    /// Returns the maximum number of lines of the tags.
    pub(super) fn max_lines(cache: &Cache, spec: &Spec) -> u32 {
        cache.sets * max_ways(cache, spec)
    }

    /// Returns true if writes come as segments of 32, 64 or 128 bytes.
    pub(super) fn sends_segments(&self) -> bool {
        self.cache.sends_segments()
    }

    /// Returns the state of the tags for the first sector of an access.
    pub(super) fn probe(&self, addr: Addr, sectors: SectorMask, write: bool) -> Probe {
        let first = SectorMask(sectors.0 & sectors.0.wrapping_neg());
        self.cache.tags().probe(addr, self.cache.set_index(addr.0), first, write)
    }

    /// Returns true if `line` holds sectors of `addr`.
    pub(super) fn holds(&self, line: u16, addr: Addr) -> bool {
        self.cache.tags().holds(line, addr)
    }

    /// Returns the bytes of the arrays.
    pub(super) fn hot_bytes(&self) -> usize {
        self.cache.hot_bytes()
            + self.pipes.iter().map(|pipe| size_of_val(pipe) + pipe.hot_bytes()).sum::<usize>()
            + self.heads.hot_bytes()
            + self.prefetcher.as_ref().map_or(0, |prefetcher| prefetcher.hot_bytes())
    }

    /// Prefetches the data that the next cycles need first.
    #[inline]
    pub(super) fn prefetch(&self) {
        warpshard_base::prefetch(&*self.pipes);
        self.cache.prefetch_queue();
    }

    pub(super) fn banks(&self) -> usize {
        self.pipes.len()
    }

    #[inline]
    fn bank(&self, access: &CoalescedAccess) -> usize {
        let sector = (access.addr.0 / SECTOR_BYTES) as usize;
        match self.bank_mask {
            Some(mask) => sector & mask as usize,
            None => sector % self.pipes.len(),
        }
    }

    /// Returns the bank of an access, as a set.
    #[inline]
    pub(super) fn bank_of(&self, access: &CoalescedAccess) -> u64 {
        1 << self.bank(access)
    }

    /// Returns true if a pipe of `banks` is full.
    #[inline]
    pub(super) fn is_full(&self, banks: u64) -> bool {
        self.full_banks & banks != 0
    }

    /// Inserts accesses into the pipes of their banks, from the end of `accesses` on, until the bank of an access is full or already
    /// accepted one in this cycle. Returns the number of inserted accesses.
    // There is one caller, which runs for every access.
    #[inline(always)]
    pub(super) fn enter(&mut self, accesses: &[CoalescedAccess], group: AccessGroup, now: Cycle) -> usize {
        let AccessGroup { requester, kernel, write, local, ahead, signature } = group;
        let requester_bits = requester.encode();
        let at = now.after(u64::from(self.latency));
        let (mut closed, mut count) = (self.full_banks, 0);
        let (mut line, mut set) = (Addr(u64::MAX), 0);
        for access in accesses.iter().rev() {
            let bank = self.bank(access);
            if closed >> bank & 1 != 0 {
                break;
            }
            closed |= 1 << bank;
            count += 1;
            let pipe = &mut self.pipes[bank];
            let CoalescedAccess { addr, bytes, sectors, .. } = *access;
            let addr = if sectors.0 & (sectors.0 - 1) != 0 { addr.line() } else { addr };
            let bytes = if write { bytes } else { signature };
            if pipe.is_empty() {
                self.heads.set_first(bank, at, now);
            }
            // Sectors of a line are in the same set.
            if line != addr.line() {
                line = addr.line();
                set = self.cache.set_index(addr.0);
                self.cache.expect_address(addr, set);
            }
            pipe.push(PipeEntry {
                at,
                addr,
                bytes,
                requester_bits,
                set: set as u16,
                part: KernelSectors::new(kernel, sectors),
                write,
                local,
            });
            self.full_banks |= u64::from(pipe.is_full()) << bank;
        }
        if ahead != 0 {
            self.request_prefetches(&accesses[accesses.len() - count..], group, at);
        }
        count
    }

    /// Returns the requester of the next data that arrived.
    #[inline(always)]
    pub(super) fn next_ready(&mut self) -> Option<Requester> {
        let waiter = self.cache.next_ready()?;
        self.heads.reply_delivered(!self.cache.mshr().is_full());
        let Waiter::Request(name) = waiter else { return None };
        match Requester::decode(name) {
            Requester::Prefetch => self.next_demand(),
            requester => Some(requester),
        }
    }

    /// Returns true if the data of a request arrived.
    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        self.cache.has_ready()
    }

    /// Returns the cycle in which the fill port can accept data.
    #[inline]
    pub(super) fn fill_port_free_at(&self) -> Cycle {
        self.cache.fill_port_free_at()
    }

    /// Returns the number of requests to the next level that wait to be sent.
    #[inline]
    pub(super) fn queued_requests(&self) -> usize {
        self.cache.queued_requests()
    }

    /// Returns the MSHR of the fetch of a sector.
    pub(super) fn outstanding_entry(&self, addr: Addr) -> u16 {
        self.cache.outstanding_entry(addr)
    }

    /// Invalidates a sector because the store buffer has no entry for a part of it: the L1 would hold outdated bytes.
    pub(super) fn invalidate_sector(&mut self, addr: Addr, sector: SectorMask) {
        self.cache.invalidate_sector(addr, self.cache.set_index(addr.0), sector);
        self.tags_changed(addr.line(), sector);
    }

    /// Returns the oldest request to the next level.
    pub(super) fn oldest_down(&self) -> Option<&DownstreamRequest> {
        self.cache.oldest_down()
    }

    /// Removes and returns the oldest request to the next level.
    #[inline]
    pub(super) fn pop_down(&mut self) -> Option<DownstreamRequest> {
        let down = self.cache.pop_down()?;
        self.heads.request_sent(self.free_queue_entries());
        Some(down)
    }

    /// Returns the number of free entries in the miss queue.
    #[inline]
    fn free_queue_entries(&self) -> usize {
        self.miss_queue as usize - self.cache.queued_requests()
    }

    /// Returns the failed retries, by cause, of a cycle in which the L1 does nothing else.
    #[inline]
    pub(super) fn failed_retries(&self) -> Refusals {
        self.heads.failed_retries()
    }

    /// Makes all refused accesses due for a look-up.
    pub(super) fn retry_all(&mut self) {
        self.heads.retry_all();
    }

    /// Makes accesses that reach the tags at cycle `now` due for a look-up.
    #[inline]
    pub(super) fn move_up_to(&mut self, now: Cycle) {
        self.heads.move_up_to(now);
    }

    /// Divides the unified memory: shared memory gets `shared` of its `total` bytes, and the L1 gets the rest. Returns true if this changes
    /// the L1, which then is empty.
    pub(super) fn resize(&mut self, cache: &Cache, total: u32, shared: u32) -> bool {
        let ways = unified_ways(cache, total, shared).max(1);
        let changes = self.cache.tags().line_count() != ways * cache.sets;
        if changes {
            self.cache.set_ways(ways);
        }
        changes
    }

    /// Makes refused accesses due that a change of the tags of sectors may help.
    #[inline]
    fn tags_changed(&mut self, line: Addr, sectors: SectorMask) {
        self.heads.tags_changed(line, self.affected_sectors(sectors));
    }

    /// Returns the sectors of a line on whose state an access depends, or that it changes.
    #[inline]
    fn affected_sectors(&self, sectors: SectorMask) -> SectorMask {
        if self.line_cache { SectorMask::ALL } else { sectors }
    }

    /// Invalidates all lines of the cache.
    pub(super) fn invalidate(&mut self) {
        self.cache.invalidate();
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.clear();
        }
    }

    /// Returns true if the fill port, which accepted a sector in this cycle, accepts another one.
    #[inline]
    fn can_fill_more(&self, now: Cycle) -> bool {
        self.sectors_filled.0 == now && self.sectors_filled.1 < self.fills
    }

    /// Writes the data of the fetch of an MSHR into the cache; returns `false` if the fill port is busy.
    // There is one caller, which runs for every access.
    #[inline(always)]
    pub(super) fn fill(&mut self, entry: u16, reply: &MemoryReply, now: Cycle) -> bool {
        if !self.cache.fill_port_free(now) && !self.can_fill_more(now) {
            return false;
        }
        if self.fills > 1 {
            self.sectors_filled = if self.sectors_filled.0 == now { (now, self.sectors_filled.1 + 1) } else { (now, 1) };
        }
        self.tags_changed(reply.addr.line(), reply.sectors);
        if self.line_cache {
            let line = reply.addr.line();
            let at = self.partial.iter().position(|(addr, _)| *addr == line);
            let came = at.map_or(0, |at| self.partial[at].1.0) | reply.sectors.0;
            if came != SectorMask::ALL.0 {
                match at {
                    Some(at) => self.partial[at].1.0 = came,
                    None => self.partial.push((line, SectorMask(came))),
                }
                return true;
            }
            if let Some(at) = at {
                self.partial.swap_remove(at);
            }
            self.cache.fill_entry(entry, line, || line.0, SectorMask::ALL, now);
        } else {
            self.cache.fill_entry(entry, reply.addr, || reply.addr.0, reply.sectors, now);
        }
        true
    }

    /// Prefetches the entry of a fetch whose data is in flight.
    #[inline]
    pub(super) fn expect_entry(&self, entry: u16) {
        self.cache.expect_entry(entry);
    }

    /// Prefetches the line of a fetch whose data arrives soon.
    #[inline]
    pub(super) fn expect_line(&self, entry: u16) {
        self.cache.expect_line(entry);
    }

    /// Prefetches the data to which the lines of [`L1::prefetch`] point.
    #[inline]
    pub(super) fn prefetch_pipes(&self) {
        let mut left = self.heads.occupied_banks();
        while left != 0 {
            self.pipes[left.trailing_zeros() as usize].prefetch();
            left &= left - 1;
        }
        self.cache.expect_look_ups();
    }

    /// Returns the first cycle at or after `now` with an event other than retries of refused accesses; `can_send` is true if the network
    /// accepts a request. The prefetcher is excluded: see [`L1::next_prefetch`].
    #[inline]
    pub(super) fn next_event(&self, now: Cycle, can_send: bool) -> Cycle {
        let busy = self.cache.has_ready() | (can_send & (self.cache.queued_requests() > 0));
        if busy { now } else { self.heads.next_look_up().max(now) }
    }

    /// Returns a description of the waiting accesses for the deadlock report.
    pub(super) fn describe(&self) -> String {
        let piped = self.pipes.iter().map(Ring::len).sum::<usize>();
        let (queued, misses) = (self.cache.queued_requests(), self.cache.mshr().used_entries());
        format!("L1 with {piped} accesses in its pipes, {misses} outstanding misses, {queued} requests to send")
    }
}

/// Returns the maximum number of ways of the L1.
fn max_ways(cache: &Cache, spec: &Spec) -> u32 {
    spec.unified.as_ref().map_or(cache.ways, |unified| unified_ways(cache, unified.total_bytes, 0).max(cache.ways))
}

/// Returns the ways of the L1 if shared memory takes `shared` bytes of the unified memory, rounded to the nearest number.
fn unified_ways(cache: &Cache, total: u32, shared: u32) -> u32 {
    let way = cache.sets * 128;
    ((total - shared.min(total)) + way / 2) / way
}
