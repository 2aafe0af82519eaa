//! The private caches: first level, second level, and the paths between them with their latencies.
//!
//! A miss of the first level enters the second after the first one's latency, one access per cycle; what the second level
//! sends leaves after its latency. Both write back and allocate on reads and writes; neither includes the other.

use warpshard_base::{Addr, Cycle, Ring, SectorMask};
use warpshard_config::cpu::PrivateCaches;
use warpshard_mem::cache::{Access, AccessKind, Answer, DataCache, Down, Owner, Status, Waiter};

use super::counters::CpuCounters;
use super::window::Window;

/// The token of stores, which complete without a notification.
pub(super) const STORE: u32 = Waiter::Nobody.encode();

/// The result of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accessed {
    /// The data is available at this cycle.
    At(Cycle),
    /// The data arrives when the line is filled.
    AtFill,
    /// The access failed and has to be retried after a reply.
    Refused,
}

/// Both levels.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Caches {
    #[state(fixed)]
    spec: PrivateCaches,
    l1: DataCache,
    l2: DataCache,
    /// When the requests in the queues of the two levels may leave, in the same order.
    l1_leave: Ring<Cycle>,
    l2_leave: Ring<Cycle>,
    /// Lines on their way from the second level to the first.
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

    /// Whether an access that failed would fail again.
    #[inline]
    pub(super) fn is_refusing(&self) -> bool {
        self.l1_refused
    }

    /// A load with this `token`, or a store.
    #[inline]
    pub(super) fn access(&mut self, now: Cycle, addr: Addr, write: bool, token: u32, counters: &mut CpuCounters) -> Accessed {
        let (kind, bytes) = if write { (AccessKind::Write, 1) } else { (AccessKind::Read, u32::MAX) };
        let access = Access {
            addr,
            set: self.l1.set_index(addr.0),
            sectors: SectorMask::ALL,
            bytes,
            kind,
            local: false,
            token,
            owner: Owner::default(),
        };
        let outcome = self.l1.access(&access, now);
        match outcome.status {
            Status::Hit => counters.l1_hits += 1,
            Status::HitReserved => counters.l1_pending_hits += 1,
            Status::SectorMiss | Status::Miss => counters.l1_misses += 1,
            Status::Fail(_) => {
                self.l1_refused = true;
                return Accessed::Refused;
            }
        }
        while self.l1_leave.len() < self.l1.queued() {
            self.l1_leave.push(now.after(self.spec.l1_latency));
        }
        if outcome.answer == Answer::Now { Accessed::At(now.after(self.spec.l1_latency)) } else { Accessed::AtFill }
    }

    /// Lines from the second level arrive, and one request enters it.
    #[inline]
    pub(super) fn cycle(&mut self, now: Cycle, window: &mut Window, counters: &mut CpuCounters) {
        while self.hits.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, addr)) = self.hits.pop() {
                self.fill_l1(addr, now, window);
            }
        }
        if self.l2_refused || self.l1_leave.front().is_none_or(|at| *at > now) {
            return;
        }
        let Some(&down) = self.l1.down() else { return };
        let (Down { addr, token, .. }, fetch) = (down, down.is_fetch());
        let kind = if fetch { AccessKind::Read } else { AccessKind::Write };
        let access = Access {
            addr,
            set: self.l2.set_index(addr.0),
            sectors: SectorMask::ALL,
            bytes: u32::MAX,
            kind,
            local: false,
            token,
            owner: Owner::default(),
        };
        let outcome = self.l2.access(&access, now);
        if matches!(outcome.status, Status::Fail(_)) {
            self.l2_refused = true;
            return;
        }
        self.l1.pop_down();
        self.l1_leave.pop();
        self.l1_refused = false;
        while self.l2_leave.len() < self.l2.queued() {
            self.l2_leave.push(now.after(self.spec.l2_latency));
        }
        if fetch && outcome.answer == Answer::Now {
            counters.l2_hits += 1;
            self.hits.push((now.after(self.spec.l2_latency), addr));
        } else if fetch {
            counters.l2_misses += 1;
        }
    }

    /// The request that the second level sends at `now`, if any.
    #[inline]
    pub(super) fn leaving(&self, now: Cycle) -> Option<Down> {
        self.l2_leave.front().filter(|at| **at <= now).and_then(|_| self.l2.down().copied())
    }

    /// Removes the request of [`Caches::leaving`].
    #[inline]
    pub(super) fn left(&mut self) {
        self.l2.pop_down();
        self.l2_leave.pop();
        self.l2_refused = false;
    }

    /// A line arrived from memory: it fills both levels and completes the accesses that wait for it.
    pub(super) fn fill(&mut self, addr: Addr, now: Cycle, window: &mut Window) {
        self.l2.fill(addr, addr.0, SectorMask::ALL, now);
        self.l2_refused = false;
        while self.l2.next_ready().is_some() {
            self.fill_l1(addr, now, window);
        }
    }

    fn fill_l1(&mut self, addr: Addr, now: Cycle, window: &mut Window) {
        self.l1.fill(addr, addr.0, SectorMask::ALL, now);
        self.l1_refused = false;
        while let Some(waiter) = self.l1.next_ready() {
            if let Waiter::Request(load) = waiter {
                window.complete(load, now);
            }
        }
    }

    /// The first cycle in which [`Caches::cycle`] or, with `can_send`, the second level's queue has something to do.
    #[inline]
    pub(super) fn next_event(&self, can_send: impl Fn(&Down) -> bool) -> Cycle {
        let at = |ring: &Ring<Cycle>| ring.front().copied().unwrap_or(Cycle::NEVER);
        let enter = if self.l2_refused { Cycle::NEVER } else { at(&self.l1_leave) };
        let leave = if self.l2.down().is_some_and(can_send) { at(&self.l2_leave) } else { Cycle::NEVER };
        self.hits.front().map_or(Cycle::NEVER, |(at, _)| *at).min(enter).min(leave)
    }

    /// Outstanding misses, for reports of a standstill.
    pub(super) fn describe(&self) -> String {
        format!("{} misses of the L1 and {} of the L2 outstanding", self.l1.mshr().used(), self.l2.mshr().used())
    }
}
