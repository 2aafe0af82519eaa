//! Byte addresses and the sectors of a line.

use std::fmt;

use super::AppId;

/// Bytes of a cache line.
pub const LINE_BYTES: u64 = 128;
/// Bytes of a sector, the unit of transfer between caches and memory.
pub const SECTOR_BYTES: u64 = 32;
/// Sectors of a line.
pub const SECTORS_PER_LINE: u32 = 4;
/// Bytes of each sector of a line, as masks with a bit per byte.
pub type SectorBytes = [u32; SECTORS_PER_LINE as usize];

/// The lowest address bit that holds the number of an application. The number of a CPU core lies below, from bit 48 up.
const APPLICATION_BIT: u32 = 56;
/// Bytes between the address spaces of two applications. Their low bits differ too, because a DRAM device is smaller than an address space:
/// equal addresses of two applications lie in different rows.
const SPACE_BYTES: u64 = 1 << APPLICATION_BIT | 1 << 28;

/// The largest number of applications with separate address spaces.
pub const MAX_APPLICATIONS: usize = 1 << (u64::BITS - APPLICATION_BIT);

/// Returns the start of the address space of an application. The addresses of an application are offset by this value, so that no two
/// applications share a line.
pub fn address_space(app: AppId) -> u64 {
    u64::from(app.0).wrapping_mul(SPACE_BYTES)
}

/// A byte address of the device's global address space.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, warpshard_state::State,
)]
pub struct Addr(pub u64);

impl Addr {
    /// Returns the address of the line that contains this byte.
    #[inline]
    #[must_use]
    pub fn line(self) -> Self {
        Self(self.0 & !(LINE_BYTES - 1))
    }

    /// Returns the address of the sector that contains this byte.
    #[inline]
    #[must_use]
    pub fn sector(self) -> Self {
        Self(self.0 & !(SECTOR_BYTES - 1))
    }

    /// Returns the index of the application whose address space contains this address; see [`address_space`].
    #[inline]
    pub fn application(self) -> usize {
        (self.0 >> APPLICATION_BIT) as usize
    }

    /// Returns the index within its line, 0 to 3, of the sector that contains this byte.
    #[inline]
    pub fn sector_index(self) -> u32 {
        ((self.0 / SECTOR_BYTES) & 3) as u32
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A set of sectors of one line, bit i for sector i; a line of 256 bytes, which an LLC may have, has eight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, warpshard_state::State)]
pub struct SectorMask(pub u8);

impl SectorMask {
    /// All four sectors of a line of 128 bytes.
    pub const ALL: Self = Self(0xf);

    /// Returns the set of the one sector that contains `addr`.
    #[inline]
    pub fn of(addr: Addr) -> Self {
        Self(1 << addr.sector_index())
    }

    /// Returns the number of sectors in the set.
    // A table is used because counting bits takes ten times as long on a target without an instruction for it.
    #[inline]
    pub fn count(self) -> u32 {
        const COUNTS: [u8; 256] = {
            let mut counts = [0; 256];
            let mut mask = 0;
            while mask < 256 {
                counts[mask] = mask.count_ones() as u8;
                mask += 1;
            }
            counts
        };
        u32::from(COUNTS[usize::from(self.0)])
    }

    /// Returns the indices of the sectors in the set, ascending.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..SECTORS_PER_LINE).filter(move |i| self.0 >> i & 1 != 0)
    }
}
