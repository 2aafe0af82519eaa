//! The instruction caches: one per sub-core with a stream buffer, and one per SM in front of the cache that code shares with constants. All
//! are empty when a kernel begins.
//!
//! A line that a warp needs is present, outstanding, or requested; the following lines are requested with it, one after the other. Each
//! cache delivers one line per interval.

use warpshard_config::machine::ControlCore as Spec;

use super::caches::{CodeConstantCache, LINE_BYTES, LruCache};

/// Ways of the caches of a sub-core and of the SM.
const INSTRUCTION_CACHE_WAYS: [usize; 2] = [16, 4];

/// The instruction caches of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct InstructionCaches {
    of_sub: Box<[LruCache]>,
    sm_cache: LruCache,
    prefetch_lines: u64,
    /// Lines that the sub-cores requested.
    pub(super) misses: u64,
}

impl InstructionCaches {
    pub(super) fn new(spec: &Spec, subs: usize) -> Self {
        let [own, shared, _] = spec.fetch_lines;
        let ([near, far, ..], [often, seldom, _]) = (spec.fetch_latency, spec.fetch_interval);
        Self {
            of_sub: (0..subs).map(|_| LruCache::new(own, INSTRUCTION_CACHE_WAYS[0], near, often)).collect(),
            sm_cache: LruCache::new(shared, INSTRUCTION_CACHE_WAYS[1], far, seldom),
            prefetch_lines: spec.fetch_ahead[0].into(),
            misses: 0,
        }
    }

    /// Empties the caches at the start of a kernel.
    pub(super) fn clear(&mut self) {
        self.of_sub.iter_mut().for_each(LruCache::clear);
        self.sm_cache.clear();
    }

    /// Returns the line number of an instruction of a kernel.
    fn line_number(kernel: u32, pc: u32) -> u64 {
        u64::from(kernel) << 32 | u64::from(pc / LINE_BYTES)
    }

    /// Requests the line of an instruction and the following lines in cycle `now`; returns the cycle in which the instruction arrives.
    pub(super) fn fetch(&mut self, sub: usize, kernel: u32, pc: u32, now: u64, shared_cache: &mut CodeConstantCache) -> u64 {
        let line = Self::line_number(kernel, pc);
        let first = self.line_at(sub, line, now, shared_cache);
        for next in line + 1..=line + self.prefetch_lines {
            self.line_at(sub, next, now, shared_cache);
        }
        first.max(now)
    }

    fn line_at(&mut self, sub: usize, line: u64, now: u64, shared_cache: &mut CodeConstantCache) -> u64 {
        let own = &mut self.of_sub[sub];
        if let Some(at) = own.find(line) {
            return at;
        }
        self.misses += 1;
        let there = match self.sm_cache.find(line) {
            Some(at) => at,
            None => {
                let there = shared_cache.request_code(line, now);
                self.sm_cache.request(line, now, there)
            }
        };
        own.request(line, now, there)
    }

    /// Fetches the instruction `next` after a warp issued the instruction at `pc`, in cycle `begins` at the earliest; returns the cycle in
    /// which it arrives.
    pub(super) fn fetch_next(
        &mut self,
        sub: usize,
        kernel: u32,
        (pc, next): (u32, u32),
        begins: u64,
        shared_cache: &mut CodeConstantCache,
    ) -> u64 {
        if next / LINE_BYTES == pc / LINE_BYTES { begins } else { self.fetch(sub, kernel, next, begins, shared_cache) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_per_interval_after_the_latency() {
        let spec = Spec {
            fetch_lines: [4, 16, 64],
            fetch_ahead: [1, 1],
            fetch_latency: [10, 40, 100, 300],
            fetch_interval: [3, 8, 20],
            ..Spec::default()
        };
        let (mut caches, mut shared_cache) = (InstructionCaches::new(&spec, 2), CodeConstantCache::new(&spec));
        let enter = |caches: &mut InstructionCaches, shared_cache: &mut CodeConstantCache| {
            caches.clear();
            shared_cache.clear("kernel");
        };
        enter(&mut caches, &mut shared_cache);
        assert_eq!(caches.fetch(0, 0, 0, 50, &mut shared_cache), 350, "from memory the first time");
        enter(&mut caches, &mut shared_cache);
        assert_eq!(caches.fetch(0, 0, 0, 50, &mut shared_cache), 150, "from the LLC");
        assert_eq!(caches.fetch(0, 0, 128, 151, &mut shared_cache), 170, "requested with the first line, it arrives an interval later");
        assert_eq!(caches.fetch(1, 0, 0, 200, &mut shared_cache), 210, "another sub-core finds it in the cache of the SM");
        assert_eq!(
            caches.fetch_next(1, 0, (112, 128), 211, &mut shared_cache),
            213,
            "the cache of the SM delivers a line every third cycle"
        );
        assert_eq!(caches.fetch_next(1, 0, (0, 64), 305, &mut shared_cache), 305, "a branch within a line does not wait");
        caches.clear();
        assert_eq!(caches.fetch(0, 0, 0, 400, &mut shared_cache), 440, "the line is in the cache before the LLC");
        assert_eq!(caches.fetch(0, 0, 128, 441, &mut shared_cache), 448, "the cache before the LLC delivers a line every eighth cycle");
    }
}
