//! The route of a packet between GPUs.
//!
//! A packet between hubs keeps its format. Only the GPU that has the address can compute the slice, so the slice field holds the path
//! instead: the source GPU, the destination GPU, the links passed, and whether the packet is a reply.

use warpshard_base::{GpuId, PortId, SliceId};

/// The requester port in packets of a copy engine.
pub const COPY_PORT: PortId = PortId(u16::MAX);
/// The requester port in signals between grid schedulers.
pub const SIGNAL_PORT: PortId = PortId(u16::MAX - 1);
/// The requester port in lookups of the page directory.
pub const PAGE_PORT: PortId = PortId(u16::MAX - 2);

/// The token of an unsolicited reply, which notifies an SM that the page of its address lies on the SM's GPU. SMs do not use this token for
/// requests.
pub const OWN_PAGE_TOKEN: u32 = 0b11 << 30 | 1 << 27;

/// The path of a packet between GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuPath {
    /// The source GPU.
    pub from: GpuId,
    /// The destination GPU.
    pub to: GpuId,
    /// Links that the packet has passed, without the present one.
    pub hop: u8,
    /// True if the packet is a reply.
    pub reply: bool,
}

impl GpuPath {
    /// The largest number of GPUs in a system.
    pub const MAX_GPUS: u32 = 64;
    /// The largest number of links on a path.
    pub const MAX_HOPS: u32 = 8;

    /// Returns the path encoded as a slice number.
    #[inline]
    pub fn encode(self) -> SliceId {
        SliceId(u16::from(self.from.0) | u16::from(self.to.0) << 6 | u16::from(self.hop) << 12 | u16::from(self.reply) << 15)
    }

    /// Decodes a path from a slice number.
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
    fn encoded_paths_are_decoded() {
        for (from, to, hop, reply) in [(0, 63, 7, true), (63, 0, 0, false), (5, 6, 3, true)] {
            let path = GpuPath { from: GpuId(from), to: GpuId(to), hop, reply };
            assert_eq!(GpuPath::decode(path.encode()), path);
        }
    }
}
