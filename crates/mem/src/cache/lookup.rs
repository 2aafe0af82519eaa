//! What the tags answer: whether a line is there, which one, and which one left.

use warpshard_base::{Addr, SECTORS_PER_LINE, SectorMask};

/// What a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The sector is there.
    Hit,
    /// The sector is on its way.
    HitReserved,
    /// The line is there, the sector is not (or not all of it, for a read of a partly written sector).
    SectorMiss,
    /// The line is not there; another can make room.
    Miss,
    /// The line is not there, and all lines of the set are waiting for data or may not be evicted.
    NoLine,
}

/// What a probe found, and which line it concerns: the one that holds the address, or the one that can make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What was found.
    pub lookup: Lookup,
    /// The line, without meaning after [`Lookup::NoLine`].
    pub line: u16,
}

/// A modified line that had to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The line's address.
    pub addr: Addr,
    /// Its modified sectors.
    pub sectors: SectorMask,
    /// The bytes written in each sector, bit i for byte i; zero for sectors that were not modified.
    pub bytes: [u32; SECTORS_PER_LINE as usize],
}
