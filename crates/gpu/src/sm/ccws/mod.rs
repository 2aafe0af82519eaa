//! CCWS, cache-conscious wavefront scheduling (Rogers, O'Connor and Aamodt, MICRO 2012): while some warps lose L1 lines that they read
//! again, other warps may not load.
//!
//! In: issued instructions, and the effects of reads and fills on the lines of the L1. Out: the warps whose next instruction is a load that
//! they may not issue. The tag of an evicted line enters the victim tags of the warp that fetched it (`lines.rs`, `victims.rs`). A read
//! that misses and finds its tag there has lost locality and raises the score of its warp; the warps with the lowest scores are held back
//! (`score.rs`). The warp order remains the one of `gpu.sm.order`.
//!
//! For details that the paper leaves open, this module follows its authors' published simulator: hits and instructions are totals over the
//! resident warps, and each warp has sixteen victim tags in two sets with FIFO replacement. Three choices are ours: a victim tag that hits
//! is removed, since its line is fetched again; only loads that access the L1 are held back; and the tags, score and counts of a warp end
//! with the warp.
//!
//! Invariants: the set of held warps changes only in the issue stage of cycle `refresh_at`; every score is a function of the cycle, so that
//! cycles without events may be skipped.

mod lines;
mod score;
mod victims;

use warpshard_base::{Addr, Cycle};
use warpshard_config::machine::{Ccws as Spec, Machine};
use warpshard_mem::cache::{AccessStatus, Lookup, Probe};
use warpshard_stats::counters;
use warpshard_workload::{CachePolicy, MemKind, MemSpace, StaticInst};

use super::core::{NO_WARP, Warps};
use super::l1::L1;
use lines::LineOwners;
use score::LocalityScores;
use victims::VictimTags;

counters! {
    /// Counters of CCWS in an SM.
    pub struct CcwsCounters {
        ccws_victim_hits: "misses", "Reads that missed in the L1 and hit in the victim tags of their warp.";
        ccws_throttled_cycles: "cycles", "Cycles in which CCWS forbade loads of at least one warp.";
        ccws_throttled_warp_cycles: "warps x cycles", "Warps whose loads CCWS forbade, summed over the cycles.";
        ccws_held_load_cycles: "cycles", "Cycles in which CCWS held back a load that was the next instruction of a warp.";
    }
}

/// An access that the L1 accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineAccess {
    /// State of the tags before the access.
    pub(super) before: Probe,
    pub(super) addr: Addr,
    pub(super) warp: u8,
    pub(super) write: bool,
    pub(super) status: AccessStatus,
}

/// The state of CCWS in an SM.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Ccws {
    victims: VictimTags,
    lines: LineOwners,
    scores: LocalityScores,
    /// Warps whose next instruction is a load that accesses the L1.
    loading_warps: u64,
    /// Warps that may not issue loads.
    held_warps: u64,
    /// Warps that may issue according to all other limits.
    admitted_warps: u64,
    /// The first cycle in which the set of held warps may change.
    refresh_at: Cycle,
    /// True if texture loads bypass the L1.
    texture_cache: bool,
    counters: CcwsCounters,
    /// The first cycle for which the counters are not updated.
    counted_until: Cycle,
}

impl Ccws {
    /// Creates the state without lost locality, for the L1 of a machine.
    pub(super) fn new(spec: &Spec, machine: &Machine) -> Self {
        let sm = &machine.gpu.sm;
        let (lines, fetches) = sm.l1.cache.as_ref().map_or((0, 0), |cache| (L1::max_lines(cache, &sm.l1), cache.mshrs));
        Self {
            victims: VictimTags::new(sm.warps as usize, spec.victim_tags, spec.victim_ways),
            lines: LineOwners::new(lines, fetches),
            scores: LocalityScores::new(u64::from(spec.base_score), u64::from(spec.k_throttle)),
            loading_warps: 0,
            held_warps: 0,
            admitted_warps: u64::MAX,
            refresh_at: Cycle::NEVER,
            texture_cache: sm.texture.is_some(),
            counters: CcwsCounters::default(),
            counted_until: Cycle(0),
        }
    }

    /// Returns the first cycle in which the set of held warps may change.
    #[inline]
    pub(super) fn refresh_at(&self) -> Cycle {
        self.refresh_at
    }

    /// Returns the counters.
    pub(super) fn counters(&self) -> &CcwsCounters {
        &self.counters
    }

    /// Returns the warps that could issue if they were not held.
    #[inline]
    fn blocked_warps(&self) -> u64 {
        self.held_warps & self.loading_warps
    }

    /// Returns the warps of `admitted` that may issue.
    #[inline]
    pub(super) fn admitted_warps(&mut self, admitted: u64) -> u64 {
        self.admitted_warps = admitted;
        admitted & !self.blocked_warps()
    }

    /// Records that a warp started in its slot in cycle `now`.
    pub(super) fn start(&mut self, warp: usize, now: Cycle) {
        self.victims.clear(warp);
        self.scores.clear(warp);
        self.look_again(now.after(1));
    }

    /// Records that a warp issued its last instruction in cycle `now`.
    pub(super) fn finish(&mut self, now: Cycle) {
        self.look_again(now.after(1));
    }

    /// Records that a warp left its slot.
    pub(super) fn end(&mut self, warp: usize) {
        self.scores.clear(warp);
    }

    /// Records that a warp issued its front instruction in cycle `now`.
    #[inline]
    pub(super) fn record_issue(&mut self, warp: usize, now: Cycle) {
        self.scores.record_issue(warp);
        self.set_front(warp, false, now);
    }

    /// Counts the uncounted cycles before `until`.
    pub(super) fn count(&mut self, until: Cycle) {
        let cycles = until.0.saturating_sub(self.counted_until.0);
        self.counters.ccws_throttled_cycles += cycles * u64::from(self.held_warps != 0);
        self.counters.ccws_throttled_warp_cycles += cycles * u64::from(self.held_warps.count_ones());
        self.counters.ccws_held_load_cycles += cycles * u64::from(self.blocked_warps() != 0);
        self.counted_until = self.counted_until.max(until);
    }

    fn look_again(&mut self, at: Cycle) {
        self.refresh_at = self.refresh_at.min(at);
    }

    #[inline]
    fn set_front(&mut self, warp: usize, loads: bool, now: Cycle) {
        if self.loading_warps >> warp & 1 != u64::from(loads) {
            if self.held_warps >> warp & 1 != 0 {
                self.count(now);
            }
            self.loading_warps ^= 1 << warp;
        }
    }

    /// Sets the front instruction of a warp to `inst`.
    #[inline]
    pub(super) fn front_changed(&mut self, warp: usize, inst: &StaticInst, now: Cycle) {
        self.set_front(warp, is_load(inst, self.texture_cache), now);
    }

    /// Recomputes the set of held warps, if it may have changed by cycle `now`.
    #[inline]
    pub(super) fn refresh(&mut self, warps: &mut Warps, now: Cycle) {
        if self.refresh_at <= now {
            self.count(now);
            (self.held_warps, self.refresh_at) = self.scores.held_warps(warps.live & !warps.finished, now);
            self.restrict_issue(warps);
        }
    }

    /// Restricts issue to the warps that CCWS admits.
    pub(super) fn restrict_issue(&mut self, warps: &mut Warps) {
        let allowed = self.admitted_warps(self.admitted_warps);
        warps.restrict_issue(allowed);
    }

    /// Records an access that the L1 accepted.
    pub(super) fn access(&mut self, l1: &L1, access: &LineAccess, warps: &Warps, now: Cycle) {
        let LineAccess { before, addr, warp, write, status } = *access;
        if !write && warp != NO_WARP && status == AccessStatus::Miss && self.victims.take(usize::from(warp), addr.line()) {
            self.counters.ccws_victim_hits += 1;
            let active = warps.live & !warps.finished;
            self.scores.record_loss(usize::from(warp), active.count_ones(), now);
            self.look_again(now);
        }
        match before.lookup {
            Lookup::Miss if l1.holds(before.line, addr) => self.line_filled(before.line, addr, warp),
            Lookup::Hit if write && !l1.holds(before.line, addr) => self.lines.clear_line(before.line),
            _ => {}
        }
    }

    /// Records that the L1 sent fetch number `entry` for a warp.
    pub(super) fn fetch(&mut self, entry: u16, warp: u8) {
        self.lines.fetch(entry, warp);
    }

    /// Records that the L1 accepted the data of fetch number `entry`; `before` is the previous state of its tags for the address.
    pub(super) fn fill(&mut self, l1: &L1, before: Probe, addr: Addr, entry: u16) {
        if before.lookup == Lookup::Miss && l1.holds(before.line, addr) {
            self.line_filled(before.line, addr, self.lines.fetcher(entry));
        }
    }

    /// Records that the L1 was invalidated.
    pub(super) fn invalidate(&mut self) {
        self.lines.clear();
    }

    /// Records that `line` of the L1 holds `addr` for `warp`; the previous content enters the victim tags.
    fn line_filled(&mut self, line: u16, addr: Addr, warp: u8) {
        if let Some((victim, owner)) = self.lines.fill(line, addr.line(), warp)
            && owner != NO_WARP
        {
            self.victims.insert(usize::from(owner), victim);
        }
    }
}

/// Returns true if an instruction reads data from the L1; texture loads do if there is no texture cache.
fn is_load(inst: &StaticInst, texture_cache: bool) -> bool {
    inst.mem.is_some_and(|mem| {
        mem.kind == MemKind::Load
            && mem.cache != CachePolicy::Global
            && match mem.space {
                MemSpace::Global | MemSpace::Local | MemSpace::Generic => true,
                MemSpace::Texture => !texture_cache,
                MemSpace::Shared | MemSpace::Constant => false,
            }
    })
}
