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
use warpshard_mem::cache::{DataCache, Down, Prefetcher, Probe, Waiter};
use warpshard_seam::{CacheSite, Level, Own};

use super::coalesce::Access;
use super::net::Reply;
use bank_heads::BankHeads;
pub(super) use bank_heads::Refusals;
pub(super) use look_up::Served;
pub(super) use requester::Requester;

/// An access in a bank's pipe.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Piped {
    /// When it reaches the tags.
    at: Cycle,
    addr: Addr,
    /// Of a write its bytes, of a read its signature.
    bytes: u32,
    /// The [`Requester`].
    name: u32,
    /// The set of its line.
    set: u16,
    part: KernelSectors,
    write: bool,
    local: bool,
}

const _: () = assert!(size_of::<Piped>() == 32);

/// What the accesses of an instruction have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    /// The load or store that they belong to, and its kernel.
    pub(super) requester: Requester,
    pub(super) kernel: KernelIndex,
    pub(super) write: bool,
    /// Whether they go to local memory.
    pub(super) local: bool,
    /// How many bytes ahead of them is prefetched; 0 for nothing.
    pub(super) ahead: i32,
    /// The signature of instruction and warp, of reads.
    pub(super) signature: u32,
}

/// The L1 of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct L1 {
    cache: DataCache,
    /// The SM's port.
    port: PortId,
    line_cache: bool,
    /// What chooses the bank of a sector, where their number is a power of two.
    bank_mask: Option<u32>,
    pipes: Box<[Ring<Piped>]>,
    /// Banks whose pipe takes no more.
    full: u64,
    heads: BankHeads,
    miss_queue: u32,
    latency: u32,
    /// Lines whose sectors come in several replies, with those that came.
    partial: Vec<(Addr, SectorMask)>,
    /// Fill bandwidth in sectors per cycle; the cycle of the last fill, and the number of fills in it.
    fills: u32,
    filled: (Cycle, u32),
    pub(super) prefetcher: Option<Box<Prefetcher>>,
}

impl L1 {
    pub(super) fn new(cache: &Cache, spec: &Spec, port: PortId, own: &Own) -> Self {
        let latency = spec.latency.max(1);
        let (distance, degree) = (spec.prefetch_distance, spec.prefetch_degree);
        let site = CacheSite { distance, degree, ..CacheSite::new(Level::L1(port.0), cache.sets, max_ways(cache, spec), cache.line_bytes) };
        let banks = spec.banks.max(1) as usize;
        Self {
            cache: DataCache::at(Level::L1(port.0), cache, max_ways(cache, spec), spec.write_ratio, own),
            port,
            line_cache: !cache.sectored,
            bank_mask: banks.is_power_of_two().then_some(banks as u32 - 1),
            pipes: (0..banks).map(|_| Ring::new(latency as usize)).collect(),
            full: 0,
            heads: BankHeads::new(banks),
            miss_queue: cache.miss_queue,
            latency,
            partial: Vec::new(),
            fills: spec.fills.max(1),
            filled: (Cycle(0), 0),
            prefetcher: Prefetcher::new(spec.prefetch, &site, own).map(Box::new),
        }
    }

    /// Lines that the tags have room for.
    pub(super) fn max_lines(cache: &Cache, spec: &Spec) -> u32 {
        cache.sets * max_ways(cache, spec)
    }

    /// Whether writes come as 32, 64 or 128 bytes.
    pub(super) fn takes_segments(&self) -> bool {
        self.cache.takes_segments()
    }

    /// What the tags know of the first sector of an access.
    pub(super) fn probe(&self, addr: Addr, sectors: SectorMask, write: bool) -> Probe {
        let first = SectorMask(sectors.0 & sectors.0.wrapping_neg());
        self.cache.tags().probe(addr, self.cache.set_index(addr.0), first, write)
    }

    /// Whether `line` holds sectors of `addr`.
    pub(super) fn holds(&self, line: u16, addr: Addr) -> bool {
        self.cache.tags().holds(line, addr)
    }

    /// Bytes of its arrays.
    pub(super) fn hot_bytes(&self) -> usize {
        self.cache.hot_bytes()
            + self.pipes.iter().map(|pipe| size_of_val(pipe) + pipe.hot_bytes()).sum::<usize>()
            + self.heads.hot_bytes()
            + self.prefetcher.as_ref().map_or(0, |prefetcher| prefetcher.hot_bytes())
    }

    /// Prefetches what the next cycles begin with.
    #[inline]
    pub(super) fn prefetch(&self) {
        warpshard_base::prefetch(&*self.pipes);
        self.cache.prefetch_queue();
    }

    pub(super) fn banks(&self) -> usize {
        self.pipes.len()
    }

    #[inline]
    fn bank(&self, access: &Access) -> usize {
        let sector = (access.addr.0 / SECTOR_BYTES) as usize;
        match self.bank_mask {
            Some(mask) => sector & mask as usize,
            None => sector % self.pipes.len(),
        }
    }

    /// The bank of an access, as a set.
    #[inline]
    pub(super) fn bank_of(&self, access: &Access) -> u64 {
        1 << self.bank(access)
    }

    /// Whether a pipe of these banks has no room.
    #[inline]
    pub(super) fn is_full(&self, banks: u64) -> bool {
        self.full & banks != 0
    }

    /// Puts accesses into the pipes of their banks, from the end of `accesses` on, until one finds that its bank took one in this
    /// cycle or is full. Returns how many it took.
    // Called from one place, for every access.
    #[inline(always)]
    pub(super) fn enter(&mut self, accesses: &[Access], common: Common, now: Cycle) -> usize {
        let Common { requester, kernel, write, local, ahead, signature } = common;
        let name = requester.encode();
        let at = now.after(u64::from(self.latency));
        let (mut closed, mut count) = (self.full, 0);
        let (mut line, mut set) = (Addr(u64::MAX), 0);
        for access in accesses.iter().rev() {
            let bank = self.bank(access);
            if closed >> bank & 1 != 0 {
                break;
            }
            closed |= 1 << bank;
            count += 1;
            let pipe = &mut self.pipes[bank];
            let Access { addr, bytes, sectors, .. } = *access;
            let addr = if sectors.0 & (sectors.0 - 1) != 0 { addr.line() } else { addr };
            let bytes = if write { bytes } else { signature };
            if pipe.is_empty() {
                self.heads.follow(bank, at, now);
            }
            // Sectors of a line are looked up at the same place.
            if line != addr.line() {
                line = addr.line();
                set = self.cache.set_index(addr.0);
                self.cache.expect_address(addr, set);
            }
            pipe.push(Piped { at, addr, bytes, name, set: set as u16, part: KernelSectors::new(kernel, sectors), write, local });
            self.full |= u64::from(pipe.is_full()) << bank;
        }
        if ahead != 0 {
            self.want_ahead(&accesses[accesses.len() - count..], common, at);
        }
        count
    }

    /// Whom the next data that arrived is for.
    #[inline(always)]
    pub(super) fn next_ready(&mut self) -> Option<Requester> {
        let waiter = self.cache.next_ready()?;
        self.heads.answered(!self.cache.mshr().is_full());
        let Waiter::Request(name) = waiter else { return None };
        match Requester::decode(name) {
            Requester::Prefetch => self.next_awaited(),
            requester => Some(requester),
        }
    }

    /// Whether a request's data came.
    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        self.cache.has_ready()
    }

    /// When the fill port can take data.
    #[inline]
    pub(super) fn fill_port_free_at(&self) -> Cycle {
        self.cache.fill_port_free_at()
    }

    /// Requests to the next level that wait to be sent.
    #[inline]
    pub(super) fn queued(&self) -> usize {
        self.cache.queued()
    }

    /// The MSHR of the fetch of a sector.
    pub(super) fn entry_of(&self, addr: Addr) -> u16 {
        self.cache.entry_of(addr)
    }

    /// The buffer of stores has no place for a part of a sector: the L1 knows the bytes no more.
    pub(super) fn forget(&mut self, addr: Addr, sector: SectorMask) {
        self.cache.forget(addr, self.cache.set_index(addr.0), sector);
        self.tags_changed(addr.line(), sector);
    }

    /// The oldest request to the next level.
    pub(super) fn down(&self) -> Option<&Down> {
        self.cache.down()
    }

    /// Takes the oldest request to the next level.
    #[inline]
    pub(super) fn pop_down(&mut self) -> Option<Down> {
        let down = self.cache.pop_down()?;
        self.heads.sent(self.free());
        Some(down)
    }

    /// How many requests the miss queue takes.
    #[inline]
    fn free(&self) -> usize {
        self.miss_queue as usize - self.cache.queued()
    }

    /// Failed retries, by cause, in a cycle in which the L1 does nothing else.
    #[inline]
    pub(super) fn retries(&self) -> Refusals {
        self.heads.failed_retries()
    }

    /// Lets all refused accesses be looked up again.
    pub(super) fn admit_all(&mut self) {
        self.heads.admit_all();
    }

    /// Accesses that reach the tags at cycle `now` may be looked up.
    #[inline]
    pub(super) fn move_up_to(&mut self, now: Cycle) {
        self.heads.move_up_to(now);
    }

    /// Divides the unified memory: shared memory takes `shared` of its `total` bytes, the L1 the rest. Returns whether that changes
    /// the L1, which then is empty.
    pub(super) fn divide(&mut self, cache: &Cache, total: u32, shared: u32) -> bool {
        let ways = unified_ways(cache, total, shared).max(1);
        let changes = self.cache.tags().line_count() != ways * cache.sets;
        if changes {
            self.cache.set_ways(ways);
        }
        changes
    }

    /// Lets refused accesses be looked up again that the change of the tags of sectors may help.
    #[inline]
    fn tags_changed(&mut self, line: Addr, sectors: SectorMask) {
        self.heads.tags_changed(line, self.concerned(sectors));
    }

    /// The sectors of a line whose state one access depends on, or changes.
    #[inline]
    fn concerned(&self, sectors: SectorMask) -> SectorMask {
        if self.line_cache { SectorMask::ALL } else { sectors }
    }

    /// Empties the cache.
    pub(super) fn invalidate(&mut self) {
        self.cache.invalidate();
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.clear();
        }
    }

    /// Whether the fill port, which took a sector in this cycle, takes another.
    #[inline]
    fn fills_more(&self, now: Cycle) -> bool {
        self.filled.0 == now && self.filled.1 < self.fills
    }

    /// Takes the data of the fetch of an MSHR; `false` when the fill port is busy.
    // Called from one place, for every access.
    #[inline(always)]
    pub(super) fn fill(&mut self, entry: u16, reply: &Reply, now: Cycle) -> bool {
        if !self.cache.fill_port_free(now) && !self.fills_more(now) {
            return false;
        }
        if self.fills > 1 {
            self.filled = if self.filled.0 == now { (now, self.filled.1 + 1) } else { (now, 1) };
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

    /// The data of a fetch is coming.
    #[inline]
    pub(super) fn expect_entry(&self, entry: u16) {
        self.cache.expect_entry(entry);
    }

    /// The data of a fetch will be there soon.
    #[inline]
    pub(super) fn expect_line(&self, entry: u16) {
        self.cache.expect_line(entry);
    }

    /// Prefetches what [`L1::prefetch`]'s lines point to.
    #[inline]
    pub(super) fn prefetch_pipes(&self) {
        let mut left = self.heads.occupied();
        while left != 0 {
            self.pipes[left.trailing_zeros() as usize].prefetch();
            left &= left - 1;
        }
        self.cache.expect_look_ups();
    }

    /// The first cycle at or after `now` in which more happens than that refused accesses are tried again; `can_send` tells
    /// whether the network takes a request. What the prefetcher does comes to that: [`L1::next_prefetch`].
    #[inline]
    pub(super) fn next_event(&self, now: Cycle, can_send: bool) -> Cycle {
        let busy = self.cache.has_ready() | (can_send & (self.cache.queued() > 0));
        if busy { now } else { self.heads.next_look_up().max(now) }
    }

    /// What waits, for reports of a standstill.
    pub(super) fn describe(&self) -> String {
        let piped = self.pipes.iter().map(Ring::len).sum::<usize>();
        let (queued, misses) = (self.cache.queued(), self.cache.mshr().used());
        format!("L1 with {piped} accesses in its pipes, {misses} misses under way, {queued} requests to send")
    }
}

/// The most ways that the L1 may come to have.
fn max_ways(cache: &Cache, spec: &Spec) -> u32 {
    spec.unified.as_ref().map_or(cache.ways, |unified| unified_ways(cache, unified.total_bytes, 0).max(cache.ways))
}

/// Ways of the L1 when shared memory takes `shared` bytes of the unified memory, to the nearest.
fn unified_ways(cache: &Cache, total: u32, shared: u32) -> u32 {
    let way = cache.sets * 128;
    ((total - shared.min(total)) + way / 2) / way
}
