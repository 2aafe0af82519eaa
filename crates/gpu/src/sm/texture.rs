//! The texture cache: tags that are updated at access, lines that arrive later, and results in the order of the accesses.
//!
//! Input: the accesses of texture loads, a line each. Output: requests for lines, and results for the load/store unit.
//! An accepted access looks up and updates the tags: a miss allocates its line immediately, requests it, and takes
//! an entry of the reorder buffer. Then it enters the queue of fragments. The first fragment leaves when its line is present. For a
//! hit that is the case once the fragments before it have left; so no misses are merged, and a hit may wait for earlier misses.
//! This is GPGPU-Sim's `tex_cache`, after Igehy et al., "Prefetching in a texture cache architecture" (1998).
//! Invariant: the reorder buffer holds a line for each fragment that missed, in the same order.

use warpshard_base::{Addr, Cycle, LINE_BYTES, Ring, SectorMask};
use warpshard_config::machine::{SimpleCache, TextureCache as Spec};
use warpshard_stats::counters;

use super::simple_tags::SimpleTags;

counters! {
    /// Counters of the texture cache of an SM.
    pub struct TextureCounters {
        texture_instructions: "instructions", "Texture loads that used the texture cache.";
        texture_hits: "accesses", "Accesses of texture loads, one line each, that hit in the texture cache; the line was present or outstanding.";
        texture_misses: "accesses", "Accesses of texture loads that missed in the texture cache.";
        texture_full_cycles: "cycles", "Cycles in which an access found the fragment queue, the request queue or the reorder buffer full.";
    }
}

/// An access in the queue of fragments.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Fragment {
    load: u16,
    missed: bool,
}

/// A line to request.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct TextureRequest {
    line: Addr,
    load: u16,
    /// The slot of the line in the reorder buffer.
    slot: u16,
}

/// The texture cache of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct TextureCache {
    tags: SimpleTags,
    fragments: Ring<Fragment>,
    requests: Ring<TextureRequest>,
    /// The sectors that have arrived of each outstanding line: `len` slots from `head` on, as a ring.
    lines: Box<[SectorMask]>,
    head: u16,
    len: u16,
    results: Ring<u16>,
    pub(super) counters: TextureCounters,
}

impl TextureCache {
    pub(super) fn new(spec: &Spec) -> Self {
        let Spec { sets, ways, fragments, requests, reorder, results } = *spec;
        let tags = SimpleCache { sets, ways, line_bytes: LINE_BYTES as u32, miss_latency: 0 };
        Self {
            tags: SimpleTags::new(&tags),
            fragments: Ring::new(fragments as usize),
            requests: Ring::new(requests as usize),
            lines: vec![SectorMask(0); reorder as usize].into(),
            head: 0,
            len: 0,
            results: Ring::new(results as usize),
            counters: TextureCounters::default(),
        }
    }

    /// Returns the bytes of the cache and of its arrays.
    pub(super) fn hot_bytes(&self) -> usize {
        let queues = self.fragments.hot_bytes() + self.requests.hot_bytes() + self.results.hot_bytes();
        size_of::<Self>() + self.tags.hot_bytes() + size_of_val(&*self.lines) + queues
    }

    /// Returns true if the cache accepts no access.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.fragments.is_full() || self.requests.is_full() || usize::from(self.len) == self.lines.len()
    }

    /// Accepts an access of a load, for which the cache has capacity.
    pub(super) fn enter(&mut self, addr: Addr, load: u16) {
        debug_assert!(!self.is_full(), "an access to a full texture cache");
        let missed = !self.tags.access(addr.0);
        self.fragments.push(Fragment { load, missed });
        if !missed {
            self.counters.texture_hits += 1;
            return;
        }
        self.counters.texture_misses += 1;
        let slot = (usize::from(self.head) + usize::from(self.len)) % self.lines.len();
        self.lines[slot] = SectorMask(0);
        self.len += 1;
        self.requests.push(TextureRequest { line: addr.line(), load, slot: slot as u16 });
    }

    /// Returns true if the first fragment can leave.
    #[inline]
    fn can_leave(&self) -> bool {
        let ready = |fragment: &Fragment| !fragment.missed || self.lines[usize::from(self.head)] == SectorMask::ALL;
        !self.results.is_full() && self.fragments.front().is_some_and(ready)
    }

    /// Moves the first fragment to the results, if it can leave.
    pub(super) fn advance(&mut self) {
        if self.can_leave()
            && let Some(fragment) = self.fragments.pop()
        {
            if fragment.missed {
                self.head = ((usize::from(self.head) + 1) % self.lines.len()) as u16;
                self.len -= 1;
            }
            self.results.push(fragment.load);
        }
    }

    /// Records the arrival of sectors of a line with a slot in the reorder buffer.
    pub(super) fn fill(&mut self, slot: u16, sectors: SectorMask) {
        let came = &mut self.lines[usize::from(slot)];
        debug_assert!(came.0 & sectors.0 == 0, "sectors of a texture line arrived twice");
        came.0 |= sectors.0;
    }

    /// Returns true if a result waits to be written back.
    #[inline]
    pub(super) fn has_result(&self) -> bool {
        !self.results.is_empty()
    }

    /// Removes the oldest result and returns its load.
    pub(super) fn next_result(&mut self) -> Option<u16> {
        self.results.pop()
    }

    /// Returns the number of requests that wait to be sent.
    #[inline]
    pub(super) fn queued_requests(&self) -> usize {
        self.requests.len()
    }

    /// Removes and returns the oldest request: a line, the load that needs it, and its slot in the reorder buffer.
    pub(super) fn pop_request(&mut self) -> Option<(Addr, u16, u16)> {
        self.requests.pop().map(|TextureRequest { line, load, slot }| (line, load, slot))
    }

    /// Returns the first cycle at or after `now` with work if no line arrives; `can_send` is true if the network accepts a request.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle, can_send: bool) -> Cycle {
        if self.has_result() || can_send && self.queued_requests() > 0 || self.can_leave() { now } else { Cycle::NEVER }
    }

    /// Invalidates all lines; outstanding lines still serve the fragments that wait for them.
    pub(super) fn invalidate(&mut self) {
        self.tags.clear();
    }

    /// Returns a description of the waiting accesses for the deadlock report.
    pub(super) fn describe(&self) -> String {
        format!(
            "texture cache with {} accesses, {} outstanding lines, {} requests to send",
            self.fragments.len(),
            self.len,
            self.queued_requests()
        )
    }
}
