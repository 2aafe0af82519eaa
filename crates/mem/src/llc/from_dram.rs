//! What a slice hears from its DRAM channel.

use warpshard_base::{Addr, SectorMask};

/// What comes back from DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum FromDram {
    /// The data of a fetch.
    Data {
        /// The MSHR that it is for.
        entry: u16,
        /// The address that was asked for.
        addr: Addr,
        /// Its sectors.
        sectors: SectorMask,
    },
    /// A write that is answered is done.
    Written {
        /// The request that it was, by its number among those that wait.
        number: u32,
    },
}

impl Default for FromDram {
    fn default() -> Self {
        Self::Written { number: 0 }
    }
}
