//! The instruction caches: one of each sub-core with a stream buffer, and one of the SM before the next level. Nothing of a kernel is in them
//! when it begins.
//!
//! A line that a warp reaches is there, under way, or asked for; with it the lines after it are asked for, one after the other. Lines come out of
//! the SM's cache, and into it, one per interval.

use warpshard_config::machine::ControlCore as Spec;

/// Bytes of a line.
const LINE_BYTES: u32 = 128;
/// Ways of the caches of a sub-core and of the SM (the configuration of Huerta et al.'s artifact: N:8:128:32 and N:64:128:16).
const WAYS: [usize; 2] = [32, 16];

/// A line of one of the caches.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Line {
    number: u64,
    /// The cycle in which it is there.
    at: u64,
    /// When it was looked up last.
    used: u64,
}

/// No line.
const NONE: Line = Line { number: u64::MAX, at: 0, used: 0 };

/// A set-associative cache, least recently used out first, behind a path with a latency and an interval.
#[derive(Debug, warpshard_state::State)]
struct Cache {
    lines: Box<[Line]>,
    ways: usize,
    /// Look-ups so far.
    clock: u64,
    latency: u64,
    interval: u64,
    /// When its last line comes.
    last: u64,
}

impl Cache {
    fn new(lines: u32, ways: usize, latency: u32, interval: u32) -> Self {
        let ways = ways.min(lines as usize);
        let sets = lines as usize / ways;
        Self { lines: vec![NONE; sets * ways].into(), ways, clock: 0, latency: latency.into(), interval: interval.into(), last: 0 }
    }

    fn clear(&mut self) {
        self.lines.fill(NONE);
        self.last = 0;
    }

    /// The ways that a line can be in.
    fn set(&mut self, number: u64) -> &mut [Line] {
        let first = (number % (self.lines.len() / self.ways) as u64) as usize * self.ways;
        &mut self.lines[first..first + self.ways]
    }

    /// When a line came or comes, if it is there or under way.
    fn find(&mut self, number: u64) -> Option<u64> {
        self.clock += 1;
        let clock = self.clock;
        let line = self.set(number).iter_mut().find(|line| line.number == number)?;
        line.used = clock;
        Some(line.at)
    }

    /// Asks for a line in cycle `now`, which the level behind has from cycle `there` on; returns when it comes.
    fn ask(&mut self, number: u64, now: u64, there: u64) -> u64 {
        let at = (now + self.latency).max(there).max(self.last + self.interval);
        self.last = at;
        let used = self.clock;
        if let Some(victim) = self.set(number).iter_mut().min_by_key(|line| line.used) {
            *victim = Line { number, at, used };
        }
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
    /// Latency of a line that the LLC has, and of one that is in memory, in core cycles.
    far: [u64; 2],
    /// The names of the kernels whose code the SM has executed.
    known: Vec<String>,
    /// Lines that a sub-core asked for.
    pub(super) misses: u64,
}

impl Instructions {
    pub(super) fn new(spec: &Spec, subs: usize) -> Self {
        let [own, shared] = spec.fetch_lines;
        let ([near, far, farthest], [often, seldom]) = (spec.fetch_latency, spec.fetch_interval);
        Self {
            of_sub: (0..subs).map(|_| Cache::new(own, WAYS[0], near, often)).collect(),
            of_sm: Cache::new(shared, WAYS[1], far, seldom),
            ahead: spec.fetch_ahead.into(),
            redirect: spec.redirect.into(),
            far: [far.into(), farthest.into()],
            known: Vec::new(),
            misses: 0,
        }
    }

    /// A kernel begins: its code is in the LLC if the SM has executed it before, else in memory.
    pub(super) fn clear(&mut self, name: &str) {
        let known = self.known.iter().any(|known| known == name);
        if !known {
            self.known.push(name.to_owned());
        }
        self.of_sm.latency = self.far[usize::from(!known)];
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

    /// When the branch at `pc`, issued in cycle `now`, is resolved; 0 where what follows is no target of a branch.
    pub(super) fn resolves(&self, pc: u32, next: u32, now: u64) -> u64 {
        if next == pc + 16 { 0 } else { now + self.redirect }
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
            fetch_latency: [10, 100, 300],
            fetch_interval: [3, 20],
            redirect: 5,
            ..Spec::default()
        };
        let mut caches = Instructions::new(&spec, 2);
        caches.clear("kernel");
        assert_eq!(caches.fetch(0, 0, 0, 50), 350, "from memory the first time");
        caches.clear("kernel");
        assert_eq!(caches.fetch(0, 0, 0, 50), 150, "from the next level");
        assert_eq!(caches.fetch(0, 0, 128, 151), 170, "asked for with the first, it comes an interval later");
        assert_eq!(caches.fetch(1, 0, 0, 200), 210, "another sub-core finds it in the SM's");
        assert_eq!(caches.follow(1, 0, 112, 128, 210), 213, "which gives a line in every third cycle");
        assert_eq!(caches.follow(1, 0, 0, 64, 300), 305, "a branch inside of a line");
        caches.clear("kernel");
        assert_eq!(caches.fetch(0, 0, 0, 400), 500);
    }

    #[test]
    fn lines_of_one_set_stay_together_and_the_least_recently_used_goes() {
        let mut cache = Cache::new(4, 2, 10, 1);
        for number in [0, 2] {
            assert_eq!(cache.find(number), None);
            cache.ask(number, 0, 0);
        }
        assert!(cache.find(0).is_some() && cache.find(2).is_some() && cache.find(0).is_some());
        cache.ask(4, 100, 0);
        assert!(cache.find(0).is_some() && cache.find(2).is_none() && cache.find(4) == Some(110));
    }
}
