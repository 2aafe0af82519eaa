//! How a packet finds its way between GPUs.
//!
//! A packet under way between hubs keeps its form. Its slice, which only the GPU that has the address can name, makes room for the path:
//! the GPU it comes from, the GPU it goes to, the links it has passed, and whether it is a reply.

use warpshard_base::{GpuId, PortId, SliceId};

/// The requester of a copy engine's packets.
pub const COPY_PORT: PortId = PortId(u16::MAX);
/// The requester of signals between grid schedulers.
pub const SIGNAL_PORT: PortId = PortId(u16::MAX - 1);
/// The requester of lookups in the page directory.
pub const PAGE_PORT: PortId = PortId(u16::MAX - 2);

/// The token of a reply that nobody asked for: it tells an SM that the page of its address lies on the SM's GPU. SMs name no request so.
pub const OWN_PAGE: u32 = 0b11 << 30 | 1 << 27;

/// The path of a packet between GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The GPU that it comes from.
    pub from: GpuId,
    /// The GPU that it goes to.
    pub to: GpuId,
    /// Links that it has passed, the present one not included.
    pub hop: u8,
    /// Whether it is a reply.
    pub reply: bool,
}

impl Path {
    /// Most GPUs of a system.
    pub const MOST_GPUS: u32 = 64;
    /// Most links of a path.
    pub const MOST_HOPS: u32 = 8;

    /// The path in place of a slice.
    #[inline]
    pub fn encode(self) -> SliceId {
        SliceId(u16::from(self.from.0) | u16::from(self.to.0) << 6 | u16::from(self.hop) << 12 | u16::from(self.reply) << 15)
    }

    /// Reads it back.
    #[inline]
    pub fn decode(slice: SliceId) -> Self {
        let bits = slice.0;
        Self { from: GpuId(bits as u8 & 63), to: GpuId((bits >> 6) as u8 & 63), hop: (bits >> 12) as u8 & 7, reply: bits >> 15 != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for (from, to, hop, reply) in [(0, 63, 7, true), (63, 0, 0, false), (5, 6, 3, true)] {
            let path = Path { from: GpuId(from), to: GpuId(to), hop, reply };
            assert_eq!(Path::decode(path.encode()), path);
        }
    }
}
