//! Fetch and decode: refills empty instruction buffers, and releases the slots of finished warps.
//!
//! The stage visits the warps round robin, starting after the warp fetched last. It releases each finished warp that it visits, and stops
//! at the first warp that needs instructions; it repeats this for the number of warps that the machine fetches per cycle. Fetched
//! instructions are decoded before the next fetch, so the last fetch of a cycle is decoded in the next cycle.

use warpshard_base::{Cycle, LinkId, WarpMask};
use warpshard_config::machine::SimpleCache;
use warpshard_protocol::Outbox;

use super::core::{Core, Warps, bits};
use super::observers::Observers;
use super::simple_tags::SimpleTags;

/// The fetch stage.
#[derive(Debug, warpshard_state::State)]
pub(super) struct FetchStage {
    /// The link to the grid scheduler for ends of CTAs.
    to_grid: LinkId,
    /// The warp whose fetched instructions wait for decode.
    fetched_warp: Option<u8>,
    last_warp: u8,
    icache: Option<SimpleTags>,
    /// Warps with an outstanding miss of the instruction cache.
    missing_warps: u64,
    arrivals: Vec<(Cycle, u8)>,
}

impl FetchStage {
    pub(super) fn new(icache: Option<&SimpleCache>, to_grid: LinkId) -> Self {
        Self { to_grid, fetched_warp: None, last_warp: 0, icache: icache.map(SimpleTags::new), missing_warps: 0, arrivals: Vec::new() }
    }

    /// Returns the first cycle in which instructions of a miss arrive.
    #[inline]
    pub(super) fn next_event(&self) -> Cycle {
        self.arrivals.iter().map(|(at, _)| *at).min().unwrap_or(Cycle::NEVER)
    }

    /// Returns the warps for which the stage could fetch.
    #[inline]
    fn fetchable_warps(&self, warps: &Warps) -> u64 {
        warps.fetchable & !self.missing_warps & !warps.frozen
    }

    /// Returns true if a fetch for a warp of `mask` is outstanding.
    pub(super) fn is_fetching(&self, mask: u64) -> bool {
        self.missing_warps & mask != 0 || self.fetched_warp.is_some_and(|warp| mask >> warp & 1 != 0)
    }

    /// Drops the fetched instructions and the outstanding fetches of the warps of `mask`.
    pub(super) fn squash(&mut self, mask: u64) {
        self.fetched_warp = self.fetched_warp.filter(|warp| mask >> warp & 1 == 0);
        self.missing_warps &= !mask;
        self.arrivals.retain(|(_, warp)| mask >> warp & 1 == 0);
    }

    /// Returns true if the stage has work in the present state.
    #[inline]
    pub(super) fn is_pending(&self, core: &Core) -> bool {
        self.fetched_warp.is_some() | (self.fetchable_warps(&core.warps) | core.warps.releasable != 0)
    }

    /// Simulates one cycle of decode and fetch.
    // There is one caller, in every cycle.
    #[inline(always)]
    pub(super) fn tick(&mut self, core: &mut Core, observers: &mut Observers, out: &mut Outbox) {
        if self.is_pending(core) | (self.missing_warps != 0) {
            self.cycle(core, observers, out);
        }
    }

    #[inline(always)]
    fn cycle(&mut self, core: &mut Core, observers: &mut Observers, out: &mut Outbox) {
        if self.missing_warps != 0 {
            let (now, missing) = (core.now, &mut self.missing_warps);
            self.arrivals.retain(|(at, warp)| {
                *missing &= !(u64::from(*at <= now) << warp);
                *at > now
            });
        }
        for _ in 0..core.spec.fetch.warps_per_cycle {
            if let Some(warp) = self.fetched_warp.take() {
                let warp = usize::from(warp);
                core.warps.decode(warp, core.spec.fetch.buffer);
                core.front_changed(warp);
                observers.front_changed(core, warp);
            }
            if !self.fetch_one(core, observers, out) {
                break;
            }
        }
    }

    /// Visits the warps once; returns true if it fetched for one of them.
    // There is one caller, in nearly every cycle.
    #[inline(always)]
    fn fetch_one(&mut self, core: &mut Core, observers: &mut Observers, out: &mut Outbox) -> bool {
        let order = (u32::from(self.last_warp) + 1) & 63;
        let wanting = WarpMask(self.fetchable_warps(&core.warps)).first_from(order);
        if core.warps.releasable != 0 {
            self.release_before(wanting, order, core, observers, out);
        }
        let Some(warp) = wanting else { return false };
        self.last_warp = warp as u8;
        core.counters.sm.instruction_fetches += 1;
        if let Some(tags) = &mut self.icache {
            let pc = core.warps.next_index(warp).map_or(0, |index| core.code_of(warp)[index as usize].pc);
            if !tags.access(u64::from(pc)) {
                core.counters.sm.instruction_misses += 1;
                self.missing_warps |= 1 << warp;
                self.arrivals.push((core.now.after(tags.miss_latency.max(1)), warp as u8));
                return true;
            }
        }
        core.warps.fetchable &= !(1 << warp);
        self.fetched_warp = Some(warp as u8);
        true
    }

    /// Releases the finished warps before `wanting` in the order that begins with slot `order`; all finished warps if `wanting` is `None`.
    // Not inlined: ends of warps are far rarer than fetches.
    #[inline(never)]
    fn release_before(&self, wanting: Option<usize>, order: u32, core: &mut Core, observers: &mut Observers, out: &mut Outbox) {
        let distance = |slot: usize| (slot as u32).wrapping_sub(order) & 63;
        for done in slots_from(core.warps.releasable, order) {
            if wanting.is_none_or(|warp| distance(done) < distance(warp)) {
                self.release(done, core, observers, out);
            }
        }
    }

    /// Removes a finished warp from its slot; the CTA ends with its last warp.
    fn release(&self, warp: usize, core: &mut Core, observers: &mut Observers, out: &mut Outbox) {
        core.count_residency(core.now.after(1));
        core.end_warp(warp, self.to_grid, out);
        observers.warp_ended(warp, core.now);
        if let Some(ended) = core.ctas.release_warp(core.warps.cta[warp], warp) {
            core.cta_ended(ended, self.to_grid, out);
        }
    }
}

/// Returns the slots of `mask` in rotating order from `from`.
fn slots_from(mask: u64, from: u32) -> impl Iterator<Item = usize> {
    bits(mask.rotate_right(from)).map(move |slot| (slot + from as usize) & 63)
}
