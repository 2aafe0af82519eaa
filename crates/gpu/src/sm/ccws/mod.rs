//! CCWS, cache-conscious wavefront scheduling (Rogers, O'Connor and Aamodt, MICRO 2012): while some warps lose L1 lines that they
//! read again, other warps may not load.
//!
//! In: issued instructions, and the effects of reads and fills on the L1's lines. Out: the warps whose next instruction is a load
//! that they may not issue. The tag of an evicted line enters the victim tags of the warp that fetched it
//! (`lines.rs`, `victims.rs`). A read that misses and finds its tag there has lost locality and raises its warp's score; the
//! warps with the lowest scores are held back (`score.rs`). The warp order remains that of `gpu.sm.order`.
//!
//! Where the paper leaves a detail open, this follows its authors' published simulator: hits and instructions are those
//! of the resident warps, and each warp has sixteen victim tags in two sets, replaced first in, first out. Three choices are ours:
//! a victim tag that hits is removed, since its line is fetched again; only loads that access the L1 are
//! held back; and a warp's tags, score and counts end with it.
//!
//! Invariants: the set of held warps changes only in the issue stage of cycle `refresh_at`; every score is a function of the
//! cycle, so that cycles without events may be skipped.

mod lines;
mod score;
mod victims;

use warpshard_base::{Addr, Cycle};
use warpshard_config::machine::{Ccws as Spec, Machine};
use warpshard_mem::cache::{Lookup, Probe, Status};
use warpshard_stats::counters;
use warpshard_workload::{CachePolicy, MemKind, MemSpace, StaticInst};

use super::core::{NOBODY, Warps};
use super::l1::L1;
use lines::Lines;
use score::Scores;
use victims::Victims;

counters! {
    /// What CCWS did in an SM.
    pub struct CcwsCounters {
        ccws_victim_hits: "misses", "Reads that missed in the L1 and found their line among their warp's victim tags.";
        ccws_throttled_cycles: "cycles", "Cycles in which some warp might not load.";
        ccws_throttled_warp_cycles: "warps x cycles", "Warps that might not load, summed over the cycles.";
        ccws_held_load_cycles: "cycles", "Cycles in which the next instruction of some warp was a load that was held back.";
    }
}

/// An access that the L1 took.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineAccess {
    /// What the tags knew before.
    pub(super) before: Probe,
    pub(super) addr: Addr,
    pub(super) warp: u8,
    pub(super) write: bool,
    pub(super) status: Status,
}

/// The state of CCWS in an SM.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Ccws {
    victims: Victims,
    lines: Lines,
    scores: Scores,
    /// Warps whose next instruction is a load that looks into the L1.
    loading: u64,
    /// Warps that may not load.
    held: u64,
    /// Warps that may issue as far as others have a say.
    admitted: u64,
    /// The first cycle in which others may be held than are now.
    refresh_at: Cycle,
    /// Whether loads of textures go past the L1.
    texture_cache: bool,
    counters: CcwsCounters,
    /// From which cycle on the counters of the present state are not counted.
    counted: Cycle,
}

impl Ccws {
    /// Nobody has lost anything; for an L1 of `lines` lines that waits for `fetches` of them at most.
    pub(super) fn new(spec: &Spec, machine: &Machine) -> Self {
        let sm = &machine.gpu.sm;
        let (lines, fetches) = sm.l1.cache.as_ref().map_or((0, 0), |cache| (L1::max_lines(cache, &sm.l1), cache.mshrs));
        Self {
            victims: Victims::new(sm.warps as usize, spec.victim_tags, spec.victim_ways),
            lines: Lines::new(lines, fetches),
            scores: Scores::new(u64::from(spec.base_score), u64::from(spec.k_throttle)),
            loading: 0,
            held: 0,
            admitted: u64::MAX,
            refresh_at: Cycle::NEVER,
            texture_cache: sm.texture.is_some(),
            counters: CcwsCounters::default(),
            counted: Cycle(0),
        }
    }

    /// The first cycle in which others may be held than are now.
    #[inline]
    pub(super) fn refresh_at(&self) -> Cycle {
        self.refresh_at
    }

    /// The counters.
    pub(super) fn counters(&self) -> &CcwsCounters {
        &self.counters
    }

    /// Warps that might issue but for what they would load.
    #[inline]
    fn blocked(&self) -> u64 {
        self.held & self.loading
    }

    /// Which of the `admitted` warps may issue.
    #[inline]
    pub(super) fn admit(&mut self, admitted: u64) -> u64 {
        self.admitted = admitted;
        admitted & !self.blocked()
    }

    /// A warp took its slot in cycle `now`.
    pub(super) fn start(&mut self, warp: usize, now: Cycle) {
        self.victims.clear(warp);
        self.scores.clear(warp);
        self.look_again(now.after(1));
    }

    /// A warp issued its last instruction in cycle `now`.
    pub(super) fn finish(&mut self, now: Cycle) {
        self.look_again(now.after(1));
    }

    /// A warp left its slot.
    pub(super) fn end(&mut self, warp: usize) {
        self.scores.clear(warp);
    }

    /// A warp issued its front instruction in cycle `now`.
    #[inline]
    pub(super) fn issued(&mut self, warp: usize, now: Cycle) {
        self.scores.issued(warp);
        self.set_front(warp, false, now);
    }

    /// Counts the cycles before `until` that are not counted yet.
    pub(super) fn count(&mut self, until: Cycle) {
        let cycles = until.0.saturating_sub(self.counted.0);
        self.counters.ccws_throttled_cycles += cycles * u64::from(self.held != 0);
        self.counters.ccws_throttled_warp_cycles += cycles * u64::from(self.held.count_ones());
        self.counters.ccws_held_load_cycles += cycles * u64::from(self.blocked() != 0);
        self.counted = self.counted.max(until);
    }

    fn look_again(&mut self, at: Cycle) {
        self.refresh_at = self.refresh_at.min(at);
    }

    #[inline]
    fn set_front(&mut self, warp: usize, loads: bool, now: Cycle) {
        if self.loading >> warp & 1 != u64::from(loads) {
            if self.held >> warp & 1 != 0 {
                self.count(now);
            }
            self.loading ^= 1 << warp;
        }
    }

    /// The new front instruction of a warp is `inst`.
    #[inline]
    pub(super) fn front_changed(&mut self, warp: usize, inst: &StaticInst, now: Cycle) {
        self.set_front(warp, is_load(inst, self.texture_cache), now);
    }

    /// Finds out again which warps are held back, if that may have changed by cycle `now`.
    #[inline]
    pub(super) fn refresh(&mut self, warps: &mut Warps, now: Cycle) {
        if self.refresh_at <= now {
            self.count(now);
            (self.held, self.refresh_at) = self.scores.held(warps.live & !warps.finished, now);
            self.allow(warps);
        }
    }

    /// Lets only those warps issue that may.
    pub(super) fn allow(&mut self, warps: &mut Warps) {
        let allowed = self.admit(self.admitted);
        warps.allow(allowed);
    }

    /// The L1 took an access.
    pub(super) fn access(&mut self, l1: &L1, access: &LineAccess, warps: &Warps, now: Cycle) {
        let LineAccess { before, addr, warp, write, status } = *access;
        if !write && warp != NOBODY && status == Status::Miss && self.victims.take(usize::from(warp), addr.line()) {
            self.counters.ccws_victim_hits += 1;
            let active = warps.live & !warps.finished;
            self.scores.lost(usize::from(warp), active.count_ones(), now);
            self.look_again(now);
        }
        match before.lookup {
            Lookup::Miss if l1.holds(before.line, addr) => self.brought(before.line, addr, warp),
            Lookup::Hit if write && !l1.holds(before.line, addr) => self.lines.forget(before.line),
            _ => {}
        }
    }

    /// The L1 sent fetch number `entry` for a warp.
    pub(super) fn fetch(&mut self, entry: u16, warp: u8) {
        self.lines.fetch(entry, warp);
    }

    /// The L1 took the data of fetch number `entry`, before which its tags knew `before` of the address.
    pub(super) fn fill(&mut self, l1: &L1, before: Probe, addr: Addr, entry: u16) {
        if before.lookup == Lookup::Miss && l1.holds(before.line, addr) {
            self.brought(before.line, addr, self.lines.fetcher(entry));
        }
    }

    /// The L1 was emptied.
    pub(super) fn invalidate(&mut self) {
        self.lines.clear();
    }

    /// `line` of the L1 holds `addr` from now on, on behalf of `warp`.
    fn brought(&mut self, line: u16, addr: Addr, warp: u8) {
        if let Some((victim, owner)) = self.lines.bring(line, addr.line(), warp)
            && owner != NOBODY
        {
            self.victims.insert(usize::from(owner), victim);
        }
    }
}

/// Whether an instruction looks into the L1 for data; loads of textures do where there is no texture cache.
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
