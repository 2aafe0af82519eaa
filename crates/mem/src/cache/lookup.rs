//! Results of tag look-ups: the state of the sector, the line, and an evicted line.

use warpshard_base::{Addr, SECTORS_PER_LINE, SectorMask};

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The sector is present.
    Hit,
    /// The sector is being fetched.
    HitReserved,
    /// The line is present without the sector, or with only some of its bytes for a read of a partly written sector.
    SectorMiss,
    /// The line is absent, and there is an empty way or a victim for it.
    Miss,
    /// The line is absent, and all lines of the set wait for data or are not evictable.
    NoLine,
}

/// The result of a probe, with the line that holds the address or the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The result.
    pub lookup: Lookup,
    /// The line; undefined after [`Lookup::NoLine`].
    pub line: u16,
}

/// An evicted line with modified sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictedLine {
    /// The address of the line.
    pub addr: Addr,
    /// The modified sectors of the line.
    pub sectors: SectorMask,
    /// The bytes written in each sector, bit i for byte i; zero for sectors that were not modified.
    pub bytes: [u32; SECTORS_PER_LINE as usize],
}
