//! Where a policy works: what its maker is told.

use warpshard_base::Rng;

/// Which cache it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The L1 of the SM of this number.
    L1(u16),
    /// The LLC slice of this number.
    Llc(u16),
    /// A private cache of a CPU core.
    Cpu,
}

/// A cache, for which a policy of replacement or a prefetcher is made.
#[derive(Clone, Debug)]
pub struct CacheSite {
    /// Which one.
    pub level: Level,
    /// Sets.
    pub sets: u32,
    /// The most ways that it may come to have.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u16,
    /// What the machine's keys `prefetch_distance` and `prefetch_degree` say; 1 for a policy of replacement.
    pub distance: u32,
    /// See `distance`.
    pub degree: u32,
    /// Random numbers of this site alone.
    pub rng: Rng,
}

/// Keys these draws apart from others.
const SEED: u64 = 0x7365_616d_2063_6163;

impl CacheSite {
    /// The site of a cache, with distance and degree 1.
    pub fn new(level: Level, sets: u32, ways: u32, line_bytes: u16) -> Self {
        let key = match level {
            Level::L1(number) => [1, u64::from(number)],
            Level::Llc(number) => [2, u64::from(number)],
            Level::Cpu => [3, 0],
        };
        Self { level, sets, ways, line_bytes, distance: 1, degree: 1, rng: Rng::keyed(SEED, &key) }
    }
}
