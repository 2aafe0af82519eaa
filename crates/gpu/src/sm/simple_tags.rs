//! The tags of caches with a fixed miss latency: instruction, constant and texture caches.

use warpshard_config::machine::SimpleCache;

/// The tags of a cache with a fixed miss latency and LRU replacement.
#[derive(Debug, warpshard_state::State)]
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

    /// Returns the bytes of the array.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// Invalidates all lines.
    pub(super) fn clear(&mut self) {
        self.lines.fill((u64::MAX, 0));
    }

    /// Looks up the line of `addr` and inserts it on a miss; returns true for a hit.
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
