//! The site of a policy: the arguments of its maker.

use warpshard_base::Rng;

/// The level and number of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The L1 of the SM with this number.
    L1(u16),
    /// The LLC slice with this number.
    Llc(u16),
    /// A private cache of a CPU core.
    Cpu,
}

/// The cache for which a replacement policy or a prefetcher is made.
#[derive(Clone, Debug)]
pub struct CacheSite {
    /// The level and number of the cache.
    pub level: Level,
    /// The number of sets.
    pub sets: u32,
    /// The largest number of ways that the cache may get.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u16,
    /// The value of the machine's key `prefetch_distance`; 1 for a replacement policy.
    pub distance: u32,
    /// The value of the machine's key `prefetch_degree`; 1 for a replacement policy.
    pub degree: u32,
    /// A random number generator for this site only.
    pub rng: Rng,
}

/// The key that distinguishes these random numbers from others.
const SEED: u64 = 0x7365_616d_2063_6163;

impl CacheSite {
    /// Returns the site of a cache, with a distance and degree of 1.
    pub fn new(level: Level, sets: u32, ways: u32, line_bytes: u16) -> Self {
        let key = match level {
            Level::L1(number) => [1, u64::from(number)],
            Level::Llc(number) => [2, u64::from(number)],
            Level::Cpu => [3, 0],
        };
        Self { level, sets, ways, line_bytes, distance: 1, degree: 1, rng: Rng::keyed(SEED, &key) }
    }
}
