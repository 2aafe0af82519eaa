//! Fetch and decode: refills empty instruction buffers, and releases the slots of warps that are done.
//!
//! The stage visits the warps in rotating order, starting after the one fetched last. It releases each finished warp
//! that it visits, and stops at the first that needs instructions; it repeats this for as many warps as the machine fetches per cycle.
//! Fetched instructions are decoded before the next fetch, so the last fetch of a cycle is decoded in the next cycle.

use crate::base::{Cycle, WarpMask};
use crate::config::machine::SimpleCache;
use crate::protocol::Outbox;

use super::Sm;
use super::warps::bits;

/// State of the fetch stage.
#[derive(Debug)]
pub(super) struct Fetch {
    /// The warp whose instructions wait to be decoded.
    pub(super) fetched: Option<u8>,
    last: u8,
    icache: Option<SimpleTags>,
    /// Warps whose instructions are on their way to the instruction cache.
    missing: u64,
    arrives: Vec<(Cycle, u8)>,
}

impl Fetch {
    pub(super) fn new(icache: Option<&SimpleCache>) -> Self {
        Self { fetched: None, last: 0, icache: icache.map(SimpleTags::new), missing: 0, arrives: Vec::new() }
    }

    /// The first cycle at which instructions that missed arrive.
    pub(super) fn next_event(&self) -> Cycle {
        self.arrives.iter().map(|(at, _)| *at).min().unwrap_or(Cycle::NEVER)
    }

    /// Warps that the stage could fetch for.
    #[inline]
    pub(super) fn wanting(&self, fetchable: u64) -> u64 {
        fetchable & !self.missing
    }
}

impl Sm {
    /// Whether the stage has something to do in the present state.
    #[inline]
    pub(super) fn fetch_pending(&self) -> bool {
        self.fetch.fetched.is_some() | (self.fetch.wanting(self.warps.fetchable) | self.warps.releasable != 0)
    }

    /// One cycle of decode and fetch.
    #[inline]
    pub(super) fn fetch(&mut self, out: &mut Outbox) {
        if self.fetch_pending() | (self.fetch.missing != 0) {
            self.fetch_cycle(out);
        }
    }

    fn fetch_cycle(&mut self, out: &mut Outbox) {
        if self.fetch.missing != 0 {
            let now = self.now;
            let missing = &mut self.fetch.missing;
            self.fetch.arrives.retain(|(at, warp)| {
                *missing &= !(u64::from(*at <= now) << warp);
                *at > now
            });
        }
        for _ in 0..self.spec.fetch.warps_per_cycle {
            if let Some(warp) = self.fetch.fetched.take() {
                self.decode(usize::from(warp));
            }
            if !self.fetch_one(out) {
                break;
            }
        }
    }

    fn decode(&mut self, warp: usize) {
        self.warps.decode(warp, self.spec.fetch.buffer);
        self.look_at_front(warp);
    }

    /// Passes over the warps once; returns whether one was fetched for.
    fn fetch_one(&mut self, out: &mut Outbox) -> bool {
        let order = (u32::from(self.fetch.last) + 1) & 63;
        let wanting = self.fetch.wanting(self.warps.fetchable);
        let Some(warp) = WarpMask(wanting).first_from(order) else {
            for warp in in_order(self.warps.releasable, order) {
                self.release_warp(warp, out);
            }
            return false;
        };
        if self.warps.releasable != 0 {
            let distance = |slot: usize| (slot as u32).wrapping_sub(order) & 63;
            for done in in_order(self.warps.releasable, order) {
                if distance(done) < distance(warp) {
                    self.release_warp(done, out);
                }
            }
        }
        self.fetch.last = warp as u8;
        self.counters.sm.instruction_fetches += 1;
        if let Some(tags) = &mut self.fetch.icache {
            let code = self.ctas.code(self.warps.cta[warp]);
            let pc = self.warps.next_index(warp).map_or(0, |index| code[index as usize].pc);
            if !tags.access(u64::from(pc)) {
                self.counters.sm.instruction_misses += 1;
                self.fetch.missing |= 1 << warp;
                self.fetch.arrives.push((self.now.after(tags.miss_latency.max(1)), warp as u8));
                return true;
            }
        }
        self.warps.fetchable &= !(1 << warp);
        self.fetch.fetched = Some(warp as u8);
        true
    }
}

/// The slots of `mask` in rotating order from `from`.
fn in_order(mask: u64, from: u32) -> impl Iterator<Item = usize> {
    bits(mask.rotate_right(from)).map(move |slot| (slot + from as usize) & 63)
}

/// The tags of a cache that costs a fixed time per miss, least recently used out first.
#[derive(Debug)]
pub(super) struct SimpleTags {
    lines: Box<[(u64, u64)]>,
    ways: usize,
    sets: u64,
    line_bytes: u64,
    clock: u64,
    pub(super) miss_latency: u64,
}

impl SimpleTags {
    pub(super) fn new(spec: &SimpleCache) -> Self {
        let (sets, ways) = (u64::from(spec.sets.max(1)), spec.ways.max(1) as usize);
        Self {
            lines: vec![(u64::MAX, 0); sets as usize * ways].into(),
            ways,
            sets,
            line_bytes: u64::from(spec.line_bytes.max(1)),
            clock: 0,
            miss_latency: spec.miss_latency,
        }
    }

    /// Bytes of its array.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// Forgets all lines.
    pub(super) fn clear(&mut self) {
        self.lines.fill((u64::MAX, 0));
    }

    /// Whether the line of `addr` is there; brings it in if not.
    pub(super) fn access(&mut self, addr: u64) -> bool {
        let line = addr / self.line_bytes;
        let first = (line % self.sets) as usize * self.ways;
        self.clock += 1;
        let set = &mut self.lines[first..first + self.ways];
        if let Some(way) = set.iter_mut().find(|(tag, _)| *tag == line) {
            way.1 = self.clock;
            return true;
        }
        if let Some(victim) = set.iter_mut().min_by_key(|(_, used)| *used) {
            *victim = (line, self.clock);
        }
        false
    }
}
