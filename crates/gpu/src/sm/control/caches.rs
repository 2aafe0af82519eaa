//! The caches of code and of constants: set-associative with LRU replacement, each in front of a path with a latency and an interval.

use warpshard_config::machine::ControlCore as Spec;

/// Bytes per line of code.
pub(super) const LINE_BYTES: u32 = 128;
/// Ways of the cache that code and constants share (the configuration of Huerta et al.'s artifact: N:64:128:16).
const SHARED_CACHE_WAYS: usize = 16;

/// A line of one of the caches.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct CacheLine {
    number: u64,
    /// The cycle in which the data of the line arrives.
    arrival: u64,
    /// Clock of the last look-up of the line.
    last_use: u64,
}

/// An invalid line.
const INVALID_LINE: CacheLine = CacheLine { number: u64::MAX, arrival: 0, last_use: 0 };

/// A set-associative cache with LRU replacement.
#[derive(Debug, warpshard_state::State)]
pub(super) struct LruCache {
    lines: Box<[CacheLine]>,
    ways: usize,
    /// Number of look-ups since the start.
    clock: u64,
    pub(super) latency: u64,
    interval: u64,
    /// The cycle in which the last requested line arrives.
    last_request: u64,
}

impl LruCache {
    /// Creates a cache of at least `lines` lines in sets of `ways` ways.
    pub(super) fn new(lines: u32, ways: usize, latency: u32, interval: u32) -> Self {
        let ways = ways.min(lines as usize);
        let sets = lines as usize / ways;
        Self {
            lines: vec![INVALID_LINE; sets * ways].into(),
            ways,
            clock: 0,
            latency: latency.into(),
            interval: interval.into(),
            last_request: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.lines.fill(INVALID_LINE);
        self.last_request = 0;
    }

    /// Returns the set of a line.
    fn set_of_line(&mut self, number: u64) -> &mut [CacheLine] {
        let first = (number % (self.lines.len() / self.ways) as u64) as usize * self.ways;
        &mut self.lines[first..first + self.ways]
    }

    /// Returns the arrival cycle of a line that is present or outstanding.
    pub(super) fn find(&mut self, number: u64) -> Option<u64> {
        self.clock += 1;
        let clock = self.clock;
        let line = self.set_of_line(number).iter_mut().find(|line| line.number == number)?;
        line.last_use = clock;
        Some(line.arrival)
    }

    /// Requests a line in cycle `now` that the next level has from cycle `there` on; returns the cycle of its arrival.
    pub(super) fn request(&mut self, number: u64, now: u64, there: u64) -> u64 {
        let at = (now + self.latency).max(there).max(self.last_request + self.interval);
        self.last_request = at;
        self.insert(number, at);
        at
    }

    /// Replaces the least recently used line of the set with a line that arrives in cycle `at`.
    fn insert(&mut self, number: u64, at: u64) {
        let used = self.clock;
        if let Some(victim) = self.set_of_line(number).iter_mut().min_by_key(|line| line.last_use) {
            *victim = CacheLine { number, arrival: at, last_use: used };
        }
    }
}

/// The cache behind the caches of code and of constants, and the path from this cache to the LLC. When a kernel begins, the cache holds
/// none of its code. The arguments of the kernel (bank 0) are assumed to be present: a kernel that reads some ends 38 cycles after an empty
/// kernel, less than the latency of the LLC (rows: bfs, setLevel). Constants of the program (other banks) are not present: warps of
/// gpgpusim/cp, sdk/convolutionSeparable and rodinia/cfd (initialize) wait 300 to 600 cycles per line for their constants (Nsight's
/// `imc_miss` and `short_scoreboard`).
#[derive(Debug, warpshard_state::State)]
pub(super) struct CodeConstantCache {
    cache: LruCache,
    prefetch_lines: u64,
    /// Latency of a line in the LLC, and latency of code in memory, in core cycles.
    latencies: [u64; 2],
    /// Latency of the first read of a line of program constants by a kernel that the SM has executed before, and by another kernel.
    first_read_latencies: [u64; 2],
    /// Names of the kernels whose code the SM has executed.
    executed_kernels: Vec<String>,
    /// True if the code and constants of the present kernel are in memory.
    in_memory: bool,
    /// Lines of constants that have been requested since the kernel began, in ascending order.
    constants: Vec<u64>,
}

/// Lines per bank of constants; the first bank holds the arguments of the kernel.
const LINES_PER_CONSTANT_BANK: u32 = (1 << 16) / LINE_BYTES;
/// The bit that distinguishes lines of constants from lines of code.
const CONSTANT_LINE_BIT: u64 = 1 << 63;

impl CodeConstantCache {
    pub(super) fn new(spec: &Spec) -> Self {
        let [_, _, far, farthest] = spec.fetch_latency;
        Self {
            cache: LruCache::new(spec.fetch_lines[2], SHARED_CACHE_WAYS, far, spec.fetch_interval[2]),
            prefetch_lines: spec.fetch_ahead[1].into(),
            latencies: [far.into(), farthest.into()],
            first_read_latencies: [spec.constant_latency[2].into(), spec.constant_latency[3].into()],
            executed_kernels: Vec::new(),
            in_memory: false,
            constants: Vec::new(),
        }
    }

    /// Begins a kernel: its code is in the LLC if the SM has executed it before, else in memory.
    pub(super) fn clear(&mut self, name: &str) {
        self.in_memory = !self.executed_kernels.iter().any(|executed_kernels| executed_kernels == name);
        if self.in_memory {
            self.executed_kernels.push(name.to_owned());
        }
        self.cache.clear();
        self.constants.clear();
    }

    /// Requests a line of code in cycle `now` and prefetches the lines after it; returns the cycle in which the line arrives.
    pub(super) fn request_code(&mut self, line: u64, now: u64) -> u64 {
        self.cache.latency = self.latencies[usize::from(self.in_memory)];
        let first = self.line_at(line, now);
        for next in line + 1..=line + self.prefetch_lines {
            self.line_at(next, now);
        }
        first
    }

    /// Requests a line of 128 bytes of constants in cycle `now`; returns the cycle in which it arrives.
    pub(super) fn request_constants(&mut self, kernel: u32, line: u32, now: u64) -> u64 {
        let number = CONSTANT_LINE_BIT | u64::from(kernel) << 32 | u64::from(line);
        if let Err(place) = self.constants.binary_search(&number) {
            self.constants.insert(place, number);
            if line < LINES_PER_CONSTANT_BANK {
                self.cache.insert(number, now);
                return now;
            }
            self.cache.latency = self.first_read_latencies[usize::from(self.in_memory)];
            return self.cache.request(number, now, 0);
        }
        self.cache.latency = self.latencies[0];
        self.line_at(number, now)
    }

    fn line_at(&mut self, number: u64, now: u64) -> u64 {
        match self.cache.find(number) {
            Some(at) => at,
            None => self.cache.request(number, now, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_line_of_a_set_is_evicted() {
        let mut cache = LruCache::new(4, 2, 10, 1);
        for number in [0, 2] {
            assert_eq!(cache.find(number), None);
            cache.request(number, 0, 0);
        }
        assert!(cache.find(0).is_some() && cache.find(2).is_some() && cache.find(0).is_some());
        cache.request(4, 100, 0);
        assert!(cache.find(0).is_some() && cache.find(2).is_none() && cache.find(4) == Some(110));
    }
}
