//! The instruction caches: one of each sub-core with a stream buffer, and one of the SM before the next level. Nothing of a kernel is in them
//! when it begins.
//!
//! A line that a warp reaches is there, under way, or asked for; with it the lines after it are asked for, one after the other. Lines come out of
//! the SM's cache, and into it, one per interval.

use warpshard_config::machine::ControlCore as Spec;

/// Bytes of a line.
const LINE_BYTES: u32 = 128;
/// Stands for no line.
const NO_LINE: u64 = u64::MAX;

/// A line of one of the caches, and the cycle in which it is there.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Line {
    number: u64,
    at: u64,
}

/// A cache whose lines have one place each, behind a path with a latency and an interval.
#[derive(Debug, warpshard_state::State)]
struct Cache {
    lines: Box<[Line]>,
    latency: u64,
    interval: u64,
    /// When its last line comes.
    last: u64,
}

impl Cache {
    fn new(lines: u32, latency: u32, interval: u32) -> Self {
        let none = Line { number: NO_LINE, at: 0 };
        Self { lines: vec![none; lines as usize].into(), latency: latency.into(), interval: interval.into(), last: 0 }
    }

    fn clear(&mut self) {
        self.lines.fill(Line { number: NO_LINE, at: 0 });
        self.last = 0;
    }

    fn find(&self, number: u64) -> Option<u64> {
        let line = self.lines[(number % self.lines.len() as u64) as usize];
        (line.number == number).then_some(line.at)
    }

    /// Asks for a line in cycle `now`, which the level behind has from cycle `there` on; returns when it comes.
    fn ask(&mut self, number: u64, now: u64, there: u64) -> u64 {
        let at = (now + self.latency).max(there).max(self.last + self.interval);
        self.last = at;
        let place = (number % self.lines.len() as u64) as usize;
        self.lines[place] = Line { number, at };
        at
    }
}

/// The instruction caches of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Instructions {
    of_sub: Box<[Cache]>,
    of_sm: Cache,
    ahead: u64,
    /// From a taken branch to its target.
    redirect: u64,
    /// Lines that a sub-core asked for.
    pub(super) misses: u64,
}

impl Instructions {
    pub(super) fn new(spec: &Spec, subs: usize) -> Self {
        let [own, shared] = spec.fetch_lines;
        let ([near, far], [often, seldom]) = (spec.fetch_latency, spec.fetch_interval);
        Self {
            of_sub: (0..subs).map(|_| Cache::new(own, near, often)).collect(),
            of_sm: Cache::new(shared, far, seldom),
            ahead: spec.fetch_ahead.into(),
            redirect: spec.redirect.into(),
            misses: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.of_sub.iter_mut().for_each(Cache::clear);
        self.of_sm.clear();
    }

    /// The line of an instruction of a kernel.
    fn line(kernel: u16, pc: u32) -> u64 {
        u64::from(kernel) << 32 | u64::from(pc / LINE_BYTES)
    }

    /// Asks for the line of an instruction, and those after it, in cycle `now`; returns when the instruction is there.
    pub(super) fn fetch(&mut self, sub: usize, kernel: u16, pc: u32, now: u64) -> u64 {
        let line = Self::line(kernel, pc);
        let first = self.line_at(sub, line, now);
        for next in line + 1..=line + self.ahead {
            self.line_at(sub, next, now);
        }
        first.max(now)
    }

    fn line_at(&mut self, sub: usize, line: u64, now: u64) -> u64 {
        let own = &mut self.of_sub[sub];
        if let Some(at) = own.find(line) {
            return at;
        }
        self.misses += 1;
        let there = match self.of_sm.find(line) {
            Some(at) => at,
            None => self.of_sm.ask(line, now, 0),
        };
        own.ask(line, now, there)
    }

    /// A warp issued the instruction at `pc` in cycle `now` and goes on at `next`; returns when that is there.
    pub(super) fn follow(&mut self, sub: usize, kernel: u16, pc: u32, next: u32, now: u64) -> u64 {
        let begins = if next == pc + 16 { now + 1 } else { now + self.redirect };
        if next / LINE_BYTES == pc / LINE_BYTES { begins } else { self.fetch(sub, kernel, next, begins) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_per_interval_after_the_latency() {
        let spec = Spec {
            fetch_lines: [4, 16],
            fetch_ahead: 1,
            fetch_latency: [10, 100],
            fetch_interval: [3, 20],
            redirect: 5,
            ..Spec::default()
        };
        let mut caches = Instructions::new(&spec, 2);
        assert_eq!(caches.fetch(0, 0, 0, 50), 150, "from the next level");
        assert_eq!(caches.fetch(0, 0, 128, 151), 170, "asked for with the first, it comes an interval later");
        assert_eq!(caches.fetch(1, 0, 0, 200), 210, "another sub-core finds it in the SM's");
        assert_eq!(caches.follow(1, 0, 112, 128, 210), 213, "which gives a line in every third cycle");
        assert_eq!(caches.follow(1, 0, 0, 64, 300), 305, "a branch inside of a line");
        caches.clear();
        assert_eq!(caches.fetch(0, 0, 0, 400), 500);
    }
}
