//! A line of device memory that was used, and what is known of it.

use warpshard_base::{Addr, SectorBytes, SectorMask};

/// A line of device memory that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedLine {
    /// Its address.
    pub addr: Addr,
    /// The bytes of each sector that are known: all that were read, and those that were written.
    pub bytes: SectorBytes,
    /// The sectors that were written.
    pub written: SectorMask,
}
