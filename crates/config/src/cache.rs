//! Cache parameters: geometry and policies of the L1, of an LLC slice, and of the private caches of a CPU core.

use warpshard_base::{LINE_BYTES, SECTOR_BYTES, SectorMask};

use super::choices::{Allocate, Replacement, SetIndex, WriteMiss, WritePolicy};

/// The geometry and the policies of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Number of sets.
    pub sets: u32,
    /// Associativity: ways of a set.
    pub ways: u32,
    /// Line size in bytes, 128 or 256.
    pub line_bytes: u16,
    /// `true` if lines are filled sector by sector.
    pub sectored: bool,
    /// The write policy: write-back or write-through.
    pub write: WritePolicy,
    /// The policy for write misses.
    pub write_miss: WriteMiss,
    /// The allocation policy: a miss reserves its line when it is sent or when it is filled.
    pub allocate: Allocate,
    /// The set index function.
    pub index: SetIndex,
    /// The replacement policy, which selects the victim line of a full set.
    pub replacement: Replacement,
    /// Number of MSHRs: outstanding misses of sectors, or of lines if the cache has no sectors.
    pub mshrs: u32,
    /// Maximum number of requests merged into one outstanding miss.
    pub mshr_merge: u32,
    /// Capacity of the miss queue to the next level.
    pub miss_queue: u32,
    /// Width of the data port in bytes per cycle.
    pub port_bytes: u32,
    /// Sectors of a line that can be read in one cycle.
    pub read_sectors: u32,
    /// Cycles for which a write occupies the data port, per sector.
    pub write_cycles: u32,
    /// Additional cycles for a write to a part of a sector, which reads the sector and merges the data.
    pub merge_cycles: u32,
    /// Minimum cycles for which a write to a part of a sector occupies the data port if the previous such write was to the same sector.
    pub merge_latency: u32,
    /// Cycles for which an atomic occupies the data port, per 16 bytes that it changes; never less than a read.
    pub atomic_cycles: u32,
    /// Cycles for which a fill of `read_sectors` sectors occupies the data port; 0 if fills use the fill port only.
    pub fill_cycles: u32,
    /// Maximum share of modified lines, in percent; a write beyond it cleans the oldest modified line of its set.
    pub dirty_ratio: u32,
}

/// A cache without sets or ways, with lines of the default size.
impl Default for Cache {
    fn default() -> Self {
        Self {
            sets: 0,
            ways: 0,
            line_bytes: LINE_BYTES as u16,
            sectored: false,
            write: WritePolicy::default(),
            write_miss: WriteMiss::default(),
            allocate: Allocate::default(),
            index: SetIndex::default(),
            replacement: Replacement::default(),
            mshrs: 0,
            mshr_merge: 0,
            miss_queue: 0,
            port_bytes: 0,
            read_sectors: 1,
            write_cycles: 1,
            merge_cycles: 0,
            merge_latency: 0,
            atomic_cycles: 0,
            fill_cycles: 0,
            dirty_ratio: 100,
        }
    }
}

impl Cache {
    /// Returns the mask of all sectors of a line: eight sectors if a line has 256 bytes.
    pub fn whole_line(&self) -> SectorMask {
        SectorMask((1u16 << (u64::from(self.line_bytes) / SECTOR_BYTES)).wrapping_sub(1) as u8)
    }
}
