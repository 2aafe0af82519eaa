//! The instruction caches: one of each sub-core with a stream buffer, and one of the SM before the cache that code shares with constants. Nothing
//! of a kernel is in them when it begins.
//!
//! A line that a warp reaches is there, under way, or asked for; with it the lines after it are asked for, one after the other. Lines come out of
//! each cache one per interval.

use warpshard_config::machine::ControlCore as Spec;

use super::caches::{Behind, Cache, LINE_BYTES};

/// Ways of the caches of a sub-core and of the SM.
const WAYS: [usize; 2] = [16, 4];

/// The instruction caches of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Instructions {
    of_sub: Box<[Cache]>,
    of_sm: Cache,
    ahead: u64,
    /// Lines that a sub-core asked for.
    pub(super) misses: u64,
}

impl Instructions {
    pub(super) fn new(spec: &Spec, subs: usize) -> Self {
        let [own, shared, _] = spec.fetch_lines;
        let ([near, far, ..], [often, seldom, _]) = (spec.fetch_latency, spec.fetch_interval);
        Self {
            of_sub: (0..subs).map(|_| Cache::new(own, WAYS[0], near, often)).collect(),
            of_sm: Cache::new(shared, WAYS[1], far, seldom),
            ahead: spec.fetch_ahead[0].into(),
            misses: 0,
        }
    }

    /// A kernel begins.
    pub(super) fn clear(&mut self) {
        self.of_sub.iter_mut().for_each(Cache::clear);
        self.of_sm.clear();
    }

    /// The line of an instruction of a kernel.
    fn line(kernel: u32, pc: u32) -> u64 {
        u64::from(kernel) << 32 | u64::from(pc / LINE_BYTES)
    }

    /// Asks for the line of an instruction, and those after it, in cycle `now`; returns when the instruction is there.
    pub(super) fn fetch(&mut self, sub: usize, kernel: u32, pc: u32, now: u64, behind: &mut Behind) -> u64 {
        let line = Self::line(kernel, pc);
        let first = self.line_at(sub, line, now, behind);
        for next in line + 1..=line + self.ahead {
            self.line_at(sub, next, now, behind);
        }
        first.max(now)
    }

    fn line_at(&mut self, sub: usize, line: u64, now: u64, behind: &mut Behind) -> u64 {
        let own = &mut self.of_sub[sub];
        if let Some(at) = own.find(line) {
            return at;
        }
        self.misses += 1;
        let there = match self.of_sm.find(line) {
            Some(at) => at,
            None => {
                let there = behind.code(line, now);
                self.of_sm.ask(line, now, there)
            }
        };
        own.ask(line, now, there)
    }

    /// A warp issued the instruction at `pc` and goes on at `next` in cycle `begins` at the earliest; returns when that is there.
    pub(super) fn follow(&mut self, sub: usize, kernel: u32, (pc, next): (u32, u32), begins: u64, behind: &mut Behind) -> u64 {
        if next / LINE_BYTES == pc / LINE_BYTES { begins } else { self.fetch(sub, kernel, next, begins, behind) }
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
        let (mut caches, mut behind) = (Instructions::new(&spec, 2), Behind::new(&spec));
        let enter = |caches: &mut Instructions, behind: &mut Behind| {
            caches.clear();
            behind.clear("kernel");
        };
        enter(&mut caches, &mut behind);
        assert_eq!(caches.fetch(0, 0, 0, 50, &mut behind), 350, "from memory the first time");
        enter(&mut caches, &mut behind);
        assert_eq!(caches.fetch(0, 0, 0, 50, &mut behind), 150, "from the LLC");
        assert_eq!(caches.fetch(0, 0, 128, 151, &mut behind), 170, "asked for with the first, it comes an interval later");
        assert_eq!(caches.fetch(1, 0, 0, 200, &mut behind), 210, "another sub-core finds it in the SM's");
        assert_eq!(caches.follow(1, 0, (112, 128), 211, &mut behind), 213, "which gives a line in every third cycle");
        assert_eq!(caches.follow(1, 0, (0, 64), 305, &mut behind), 305, "a branch inside of a line waits for nothing");
        caches.clear();
        assert_eq!(caches.fetch(0, 0, 0, 400, &mut behind), 440, "from the cache before the LLC");
        assert_eq!(caches.fetch(0, 0, 128, 441, &mut behind), 448, "which gives a line in every eighth cycle");
    }
}
