//! The caches of code and of constants: set-associative, least recently used out first, each behind a path with a latency and an interval.

use warpshard_config::machine::ControlCore as Spec;

/// Bytes of a line of code.
pub(super) const LINE_BYTES: u32 = 128;
/// Ways of the cache of both (the configuration of Huerta et al.'s artifact: N:64:128:16).
const WAYS: usize = 16;

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

/// A cache.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Cache {
    lines: Box<[Line]>,
    ways: usize,
    /// Look-ups so far.
    clock: u64,
    pub(super) latency: u64,
    interval: u64,
    /// When its last line comes.
    last: u64,
}

impl Cache {
    /// A cache of at least `ways` lines: a number of sets of as many ways.
    pub(super) fn new(lines: u32, ways: usize, latency: u32, interval: u32) -> Self {
        let ways = ways.min(lines as usize);
        let sets = lines as usize / ways;
        Self { lines: vec![NONE; sets * ways].into(), ways, clock: 0, latency: latency.into(), interval: interval.into(), last: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.lines.fill(NONE);
        self.last = 0;
    }

    /// The ways that a line can be in.
    fn set(&mut self, number: u64) -> &mut [Line] {
        let first = (number % (self.lines.len() / self.ways) as u64) as usize * self.ways;
        &mut self.lines[first..first + self.ways]
    }

    /// When a line came or comes, if it is there or under way.
    pub(super) fn find(&mut self, number: u64) -> Option<u64> {
        self.clock += 1;
        let clock = self.clock;
        let line = self.set(number).iter_mut().find(|line| line.number == number)?;
        line.used = clock;
        Some(line.at)
    }

    /// Asks for a line in cycle `now`, which the level behind has from cycle `there` on; returns when it comes.
    pub(super) fn ask(&mut self, number: u64, now: u64, there: u64) -> u64 {
        let at = (now + self.latency).max(there).max(self.last + self.interval);
        self.last = at;
        self.put(number, at);
        at
    }

    /// Puts a line that comes in cycle `at` into the place of the one that was used least recently.
    fn put(&mut self, number: u64, at: u64) {
        let used = self.clock;
        if let Some(victim) = self.set(number).iter_mut().min_by_key(|line| line.used) {
            *victim = Line { number, at, used };
        }
    }
}

/// The cache behind those of code and those of constants, and the way from it to the LLC. No code of a kernel is in it when the kernel
/// begins. Its arguments (bank 0) are taken to be: a kernel that reads some ends 38 cycles after an empty one, less than a way to the LLC (rows: bfs,
/// setLevel). Constants of the program (other banks) are not: warps of gpgpusim/cp, sdk/convolutionSeparable and rodinia/cfd (initialize) wait for
/// theirs 300 to 600 cycles a line (Nsight's `imc_miss` and `short_scoreboard`).
#[derive(Debug, warpshard_state::State)]
pub(super) struct Behind {
    cache: Cache,
    ahead: u64,
    /// Latency of a line that the LLC has, and of code that is in memory, in core cycles.
    far: [u64; 2],
    /// Latency of a line of the program's constants at its first read by a kernel that the SM has executed before, and by another one.
    first: [u64; 2],
    /// The names of the kernels whose code the SM has executed.
    known: Vec<String>,
    /// The present kernel's code and constants are in memory.
    in_memory: bool,
    /// The lines of constants that were asked for since the kernel began, ascending.
    constants: Vec<u64>,
}

/// Lines of a bank of constants: the first bank has the arguments of the kernel.
const BANK_LINES: u32 = (1 << 16) / LINE_BYTES;
/// Marks the lines of constants.
const CONSTANT: u64 = 1 << 63;

impl Behind {
    pub(super) fn new(spec: &Spec) -> Self {
        let [_, _, far, farthest] = spec.fetch_latency;
        Self {
            cache: Cache::new(spec.fetch_lines[2], WAYS, far, spec.fetch_interval[2]),
            ahead: spec.fetch_ahead[1].into(),
            far: [far.into(), farthest.into()],
            first: [spec.constant_latency[2].into(), spec.constant_latency[3].into()],
            known: Vec::new(),
            in_memory: false,
            constants: Vec::new(),
        }
    }

    /// A kernel begins: its code is in the LLC if the SM has executed it before, else in memory.
    pub(super) fn clear(&mut self, name: &str) {
        self.in_memory = !self.known.iter().any(|known| known == name);
        if self.in_memory {
            self.known.push(name.to_owned());
        }
        self.cache.clear();
        self.constants.clear();
    }

    /// Requests a line of code in cycle `now` and prefetches the lines after it; returns the cycle in which the line arrives.
    pub(super) fn code(&mut self, line: u64, now: u64) -> u64 {
        self.cache.latency = self.far[usize::from(self.in_memory)];
        let first = self.line_at(line, now);
        for next in line + 1..=line + self.ahead {
            self.line_at(next, now);
        }
        first
    }

    /// Requests a line of 128 bytes of constants in cycle `now`; returns the cycle in which it arrives.
    pub(super) fn constants(&mut self, kernel: u32, line: u32, now: u64) -> u64 {
        let number = CONSTANT | u64::from(kernel) << 32 | u64::from(line);
        if let Err(place) = self.constants.binary_search(&number) {
            self.constants.insert(place, number);
            if line < BANK_LINES {
                self.cache.put(number, now);
                return now;
            }
            self.cache.latency = self.first[usize::from(self.in_memory)];
            return self.cache.ask(number, now, 0);
        }
        self.cache.latency = self.far[0];
        self.line_at(number, now)
    }

    fn line_at(&mut self, number: u64, now: u64) -> u64 {
        match self.cache.find(number) {
            Some(at) => at,
            None => self.cache.ask(number, now, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
