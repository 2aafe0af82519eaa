//! A cache, resolved: geometry and policies of the L1, an LLC slice, and the private caches of a CPU core.

use warpshard_base::{LINE_BYTES, SECTOR_BYTES, SectorMask};

use super::choices::{Allocate, Replacement, SetIndex, WriteMiss, WritePolicy};

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Bytes of a line, 128 or 256.
    pub line_bytes: u16,
    /// Whether lines are filled sector by sector.
    pub sectored: bool,
    /// When a write updates the next level: at once, or when its line is evicted.
    pub write: WritePolicy,
    /// What a write miss does.
    pub write_miss: WriteMiss,
    /// Whether a miss reserves its line when sent or when filled.
    pub allocate: Allocate,
    /// Set index function.
    pub index: SetIndex,
    /// Which line of a full set makes room.
    pub replacement: Replacement,
    /// Outstanding misses (sectors, or lines of a line cache).
    pub mshrs: u32,
    /// Requests merged into one outstanding miss.
    pub mshr_merge: u32,
    /// Misses waiting to leave for the next level.
    pub miss_queue: u32,
    /// Bytes that the data port moves in a cycle.
    pub port_bytes: u32,
    /// Sectors of a line that one cycle reads.
    pub read_sectors: u32,
    /// Cycles that a write takes the data port for each sector.
    pub write_cycles: u32,
    /// Further cycles of a write to a part of a sector, which is read and merged with it.
    pub merge_cycles: u32,
    /// Minimum cycles of the data port for a write to a part of a sector, if the previous such write was to the same sector.
    pub merge_latency: u32,
    /// Cycles of the data port for each 16 bytes that an atomic changes; an atomic takes at least as long as a read.
    pub atomic_cycles: u32,
    /// Cycles of the data port for a fill of `read_sectors` sectors; 0 if fills use the fill port only.
    pub fill_cycles: u32,
    /// Lines that may be modified, in percent; a write beyond that cleans the oldest modified line of its set.
    pub dirty_ratio: u32,
}

/// A cache without size whose lines are the machine's.
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
    /// The sectors of a whole line, of which one of 256 bytes has eight.
    pub fn whole_line(&self) -> SectorMask {
        SectorMask((1u16 << (u64::from(self.line_bytes) / SECTOR_BYTES)).wrapping_sub(1) as u8)
    }
}
