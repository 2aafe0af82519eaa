//! The private L1 and L2 caches, and the paths between them with their latencies.
//!
//! An L1 miss enters the L2 after the L1 latency, one access per cycle; a request of the L2 leaves after the L2 latency. Both caches are
//! write-back and allocate on reads and writes; neither includes the other.

use warpshard_base::{Addr, Cycle, Ring, SectorMask};
use warpshard_config::cpu::PrivateCaches;
use warpshard_mem::cache::{AccessKind, AccessOrigin, AccessStatus, CacheAccess, DataCache, DownstreamRequest, ReplySource, Waiter};

use super::counters::CpuCounters;
use super::window::InstructionWindow;

/// The token of stores, which complete without a notification.
pub(super) const STORE_TOKEN: u32 = Waiter::NoRequest.encode();

/// The result of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessResult {
    /// The data is available at this cycle.
    At(Cycle),
    /// The data arrives when the line is filled.
    AtFill,
    /// The access failed and must be retried after a reply.
    Rejected,
}

/// The L1 and L2 caches of a core.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Caches {
    #[state(fixed)]
    spec: PrivateCaches,
    l1: DataCache,
    l2: DataCache,
    /// For each request in the miss queues of the L1 and the L2, in queue order, the cycle from which it may leave.
    l1_leave: Ring<Cycle>,
    l2_leave: Ring<Cycle>,
    /// Lines in flight from the L2 to the L1.
    hits: Ring<(Cycle, Addr)>,
    l1_refused: bool,
    l2_refused: bool,
}

impl Caches {
    pub(super) fn new(spec: PrivateCaches) -> Self {
        Self {
            spec,
            l1: DataCache::new(&spec.l1, spec.l1.ways, 0),
            l2: DataCache::new(&spec.l2, spec.l2.ways, 0),
            l1_leave: Ring::new(spec.l1.miss_queue as usize),
            l2_leave: Ring::new(spec.l2.miss_queue as usize),
            hits: Ring::new(spec.l1.mshrs as usize),
            l1_refused: false,
            l2_refused: false,
        }
    }

    /// Returns `true` if a retry of a failed access would fail again.
    #[inline]
    pub(super) fn is_refusing(&self) -> bool {
        self.l1_refused
    }

    /// Performs a load with this `token`, or a store.
    #[inline]
    pub(super) fn access(&mut self, now: Cycle, addr: Addr, write: bool, token: u32, counters: &mut CpuCounters) -> AccessResult {
        let (kind, bytes) = if write { (AccessKind::Write, 1) } else { (AccessKind::Read, u32::MAX) };
        let access = CacheAccess {
            addr,
            set: self.l1.set_index(addr.0),
            sectors: SectorMask::ALL,
            bytes,
            kind,
            local: false,
            token,
            owner: AccessOrigin::default(),
        };
        let outcome = self.l1.access(&access, now);
        match outcome.status {
            AccessStatus::Hit => counters.l1_hits += 1,
            AccessStatus::HitReserved => counters.l1_pending_hits += 1,
            AccessStatus::SectorMiss | AccessStatus::Miss => counters.l1_misses += 1,
            AccessStatus::Fail(_) => {
                self.l1_refused = true;
                return AccessResult::Rejected;
            }
        }
        while self.l1_leave.len() < self.l1.queued_requests() {
            self.l1_leave.push(now.after(self.spec.l1_latency));
        }
        if outcome.reply == ReplySource::Cache { AccessResult::At(now.after(self.spec.l1_latency)) } else { AccessResult::AtFill }
    }

    /// Simulates a cycle: lines from the L2 arrive, and one request enters the L2.
    #[inline]
    pub(super) fn cycle(&mut self, now: Cycle, window: &mut InstructionWindow, counters: &mut CpuCounters) {
        while self.hits.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, addr)) = self.hits.pop() {
                self.fill_l1(addr, now, window);
            }
        }
        if self.l2_refused || self.l1_leave.front().is_none_or(|at| *at > now) {
            return;
        }
        let Some(&down) = self.l1.oldest_down() else { return };
        let (DownstreamRequest { addr, token, .. }, fetch) = (down, down.is_fetch());
        let kind = if fetch { AccessKind::Read } else { AccessKind::Write };
        let access = CacheAccess {
            addr,
            set: self.l2.set_index(addr.0),
            sectors: SectorMask::ALL,
            bytes: u32::MAX,
            kind,
            local: false,
            token,
            owner: AccessOrigin::default(),
        };
        let outcome = self.l2.access(&access, now);
        if matches!(outcome.status, AccessStatus::Fail(_)) {
            self.l2_refused = true;
            return;
        }
        self.l1.pop_down();
        self.l1_leave.pop();
        self.l1_refused = false;
        while self.l2_leave.len() < self.l2.queued_requests() {
            self.l2_leave.push(now.after(self.spec.l2_latency));
        }
        if fetch && outcome.reply == ReplySource::Cache {
            counters.l2_hits += 1;
            self.hits.push((now.after(self.spec.l2_latency), addr));
        } else if fetch {
            counters.l2_misses += 1;
        }
    }

    /// Returns the request that the L2 sends at `now`, if any.
    #[inline]
    pub(super) fn next_departure(&self, now: Cycle) -> Option<DownstreamRequest> {
        self.l2_leave.front().filter(|at| **at <= now).and_then(|_| self.l2.oldest_down().copied())
    }

    /// Removes the request returned by [`Caches::next_departure`].
    #[inline]
    pub(super) fn pop_leaving(&mut self) {
        self.l2.pop_down();
        self.l2_leave.pop();
        self.l2_refused = false;
    }

    /// Fills a line from memory into both caches and completes the accesses that wait for it.
    pub(super) fn fill(&mut self, addr: Addr, now: Cycle, window: &mut InstructionWindow) {
        self.l2.fill(addr, addr.0, SectorMask::ALL, now);
        self.l2_refused = false;
        while self.l2.next_ready().is_some() {
            self.fill_l1(addr, now, window);
        }
    }

    fn fill_l1(&mut self, addr: Addr, now: Cycle, window: &mut InstructionWindow) {
        self.l1.fill(addr, addr.0, SectorMask::ALL, now);
        self.l1_refused = false;
        while let Some(waiter) = self.l1.next_ready() {
            if let Waiter::Request(load) = waiter {
                window.complete(load, now);
            }
        }
    }

    /// Returns the first cycle in which [`Caches::cycle`] has an effect or, with `can_send`, the L2 can send a request.
    #[inline]
    pub(super) fn next_event(&self, can_send: impl Fn(&DownstreamRequest) -> bool) -> Cycle {
        let at = |ring: &Ring<Cycle>| ring.front().copied().unwrap_or(Cycle::NEVER);
        let enter = if self.l2_refused { Cycle::NEVER } else { at(&self.l1_leave) };
        let leave = if self.l2.oldest_down().is_some_and(can_send) { at(&self.l2_leave) } else { Cycle::NEVER };
        self.hits.front().map_or(Cycle::NEVER, |(at, _)| *at).min(enter).min(leave)
    }

    /// Describes outstanding misses, for deadlock reports.
    pub(super) fn describe(&self) -> String {
        format!("{} misses of the L1 and {} of the L2 outstanding", self.l1.mshr().used_entries(), self.l2.mshr().used_entries())
    }
}
