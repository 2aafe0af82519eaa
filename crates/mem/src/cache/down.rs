//! Requests of a cache to the next level.

use warpshard_base::{Addr, KernelIndex, KernelSectors, PortId, SectorMask};

use super::AccessOrigin;

/// The kind of a request to the next level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub enum DownstreamKind {
    /// A fetch of the sectors for an MSHR. The MSHR number travels with the request, so that the data needs no look-up by address:
    /// [`DataCache::fill_entry`](super::DataCache::fill_entry) is called with it when the data arrives.
    Fetch {
        /// The MSHR number.
        entry: u16,
    },
    /// A write that is passed on; the next level replies to the requester's token.
    Write,
    /// A write-back of modified sectors, which has no reply.
    #[default]
    WriteBack,
}

/// A request to the next level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct DownstreamRequest {
    /// The address of the sector, or of the line if the request is for several sectors or comes from a line cache.
    pub addr: Addr,
    /// The token of the request that caused this request.
    pub token: u32,
    /// For one sector, the mask of the bytes written; all ones otherwise. For a fetch by a read: the signature of the read, as in
    /// [`CacheAccess::bytes`](super::CacheAccess::bytes). An LLC slice stores the requester's port here, because DRAM needs neither mask nor
    /// signature.
    pub bytes: u32,
    /// The requested sectors, and the kernel of the request that caused this request.
    pub part: KernelSectors,
    /// The kind of the request.
    pub kind: DownstreamKind,
}

const _: () = assert!(size_of::<DownstreamRequest>() == 24);

impl DownstreamRequest {
    /// Returns the kernel of the request that caused this request.
    #[inline]
    pub fn kernel(&self) -> KernelIndex {
        self.part.kernel()
    }

    /// Returns the requested sectors.
    #[inline]
    pub fn sectors(&self) -> SectorMask {
        self.part.sectors()
    }

    /// Stores the port of `owner`, whose kernel is the same, instead of the byte mask.
    #[inline]
    pub(crate) fn set_owner(&mut self, owner: AccessOrigin) {
        debug_assert!(self.kernel() == owner.kernel, "{self:?} has another kernel than {owner:?}");
        self.bytes = u32::from(owner.port.0);
    }

    /// Returns the origin, if [`DownstreamRequest::set_owner`] stored it.
    #[inline]
    pub(crate) fn owner(&self) -> AccessOrigin {
        AccessOrigin { port: PortId(self.bytes as u16), kernel: self.kernel() }
    }

    /// Returns true if the request is a fetch.
    #[inline]
    pub fn is_fetch(&self) -> bool {
        matches!(self.kind, DownstreamKind::Fetch { .. })
    }
}

/// Returns the smallest aligned segment of 32, 64 or 128 bytes that contains the sectors: the unit of writes without byte masks.
#[inline]
pub fn segment(sectors: SectorMask) -> SectorMask {
    const LOWER_HALF: u8 = 0b0011;
    match (sectors.0 & LOWER_HALF, sectors.0 & !LOWER_HALF) {
        _ if sectors.count() == 1 => sectors,
        (_, 0) => SectorMask(LOWER_HALF),
        (0, _) => SectorMask(!LOWER_HALF & SectorMask::ALL.0),
        _ => SectorMask::ALL,
    }
}
