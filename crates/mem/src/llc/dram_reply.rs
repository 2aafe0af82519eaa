//! Replies of a DRAM channel to its slices.

use warpshard_base::{Addr, SectorMask};

/// A reply of the DRAM channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum DramReply {
    /// The data of a fetch.
    Data {
        /// The MSHR of the fetch.
        entry: u16,
        /// The fetched address.
        addr: Addr,
        /// The fetched sectors.
        sectors: SectorMask,
    },
    /// The acknowledgement of a write.
    Written {
        /// The number of the write among the pending requests.
        number: u32,
    },
}

impl Default for DramReply {
    fn default() -> Self {
        Self::Written { number: 0 }
    }
}
