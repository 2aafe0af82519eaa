//! What a cache sends to the next level.

use warpshard_base::{Addr, KernelIndex, KernelSectors, PortId, SectorMask};

use super::Owner;

/// What a cache sends to the next level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub enum DownKind {
    /// Fetch the sectors for an MSHR, which travels with the request so that the data need not be looked up by address:
    /// [`DataCache::fill_entry`](super::DataCache::fill_entry) is called with it when they are there.
    Fetch {
        /// The MSHR.
        entry: u16,
    },
    /// Write what the requester named by the token wrote; the next level answers it.
    Write,
    /// Write modified sectors back; it has no reply.
    #[default]
    WriteBack,
}

/// A request to the next level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Down {
    /// Address of the sector, or of the line where several sectors or a line cache are meant.
    pub addr: Addr,
    /// Token of the request that caused it.
    pub token: u32,
    /// Bytes written in the one sector meant; all ones otherwise. Of a fetch for a read: the read's signature, as in
    /// [`Access::bytes`](super::Access::bytes). An LLC slice, below which nobody asks for either, keeps the requester's port here.
    pub bytes: u32,
    /// The sectors meant, and the kernel of the request that caused it.
    pub part: KernelSectors,
    /// What is to be done.
    pub kind: DownKind,
}

const _: () = assert!(size_of::<Down>() == 24);

impl Down {
    /// The kernel of the request that caused it.
    #[inline]
    pub fn kernel(&self) -> KernelIndex {
        self.part.kernel()
    }

    /// The sectors meant.
    #[inline]
    pub fn sectors(&self) -> SectorMask {
        self.part.sectors()
    }

    /// Notes whose it is, which is of the same kernel: the port in place of the bytes.
    #[inline]
    pub(crate) fn set_owner(&mut self, owner: Owner) {
        debug_assert!(self.kernel() == owner.kernel, "{self:?} is of {owner:?}");
        self.bytes = u32::from(owner.port.0);
    }

    /// Whose it is, once [`Down::set_owner`] noted that.
    #[inline]
    pub(crate) fn owner(&self) -> Owner {
        Owner { port: PortId(self.bytes as u16), kernel: self.kernel() }
    }

    /// Whether data is fetched.
    #[inline]
    pub fn is_fetch(&self) -> bool {
        matches!(self.kind, DownKind::Fetch { .. })
    }
}

/// The smallest of 32, 64 and 128 aligned bytes that holds the sectors: what a write without byte masks moves.
#[inline]
pub fn segment(sectors: SectorMask) -> SectorMask {
    const LOW: u8 = 0b0011;
    match (sectors.0 & LOW, sectors.0 & !LOW) {
        _ if sectors.count() == 1 => sectors,
        (_, 0) => SectorMask(LOW),
        (0, _) => SectorMask(!LOW & SectorMask::ALL.0),
        _ => SectorMask::ALL,
    }
}
