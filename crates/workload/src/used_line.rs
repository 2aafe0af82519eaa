//! A used line of device memory and its known bytes.

use warpshard_base::{Addr, SectorBytes, SectorMask};

/// A used line of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedLine {
    /// Address of the line.
    pub addr: Addr,
    /// Valid bytes of each sector, as bit sets: all bytes of read sectors, and the written bytes of others.
    pub bytes: SectorBytes,
    /// Sectors that were written.
    pub written: SectorMask,
}
