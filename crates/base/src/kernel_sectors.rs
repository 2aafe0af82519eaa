//! A kernel launch and the sectors of a line, packed into one word for requests that are stored by the thousand.

use super::{KernelIndex, MAX_KERNELS, SectorMask};

/// Bits of the sector mask; the bits of the kernel follow.
const SECTOR_BITS: u32 = 8;
const _: () = assert!(MAX_KERNELS << SECTOR_BITS <= u32::MAX as usize);

/// The sectors of a request and its kernel launch, packed into one word: 8 bits and 24.
#[derive(Clone, Copy, Default, PartialEq, Eq, warpshard_state::State)]
pub struct KernelSectors(u32);

impl KernelSectors {
    /// Packs a kernel launch and a set of sectors.
    #[inline]
    pub const fn new(kernel: KernelIndex, sectors: SectorMask) -> Self {
        debug_assert!(kernel.0 as usize <= MAX_KERNELS);
        Self(kernel.0 << SECTOR_BITS | sectors.0 as u32)
    }

    /// Returns the kernel launch.
    #[inline]
    pub const fn kernel(self) -> KernelIndex {
        KernelIndex(self.0 >> SECTOR_BITS)
    }

    /// Returns the set of sectors.
    #[inline]
    pub const fn sectors(self) -> SectorMask {
        SectorMask(self.0 as u8)
    }

    /// Returns a copy with the same kernel and other sectors.
    #[inline]
    #[must_use]
    pub const fn with(self, sectors: SectorMask) -> Self {
        Self(self.0 >> SECTOR_BITS << SECTOR_BITS | sectors.0 as u32)
    }
}

impl std::fmt::Debug for KernelSectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, sectors {:#010b}", self.kernel(), self.sectors().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_sectors_do_not_overlap() {
        for kernel in [0, 1, 65_535, 65_536, 0xf_5a5a, MAX_KERNELS as u32].map(KernelIndex) {
            for sectors in [0, 1, 0x0f, 0xa5, 0xff].map(SectorMask) {
                let part = KernelSectors::new(kernel, sectors);
                assert_eq!((part.kernel(), part.sectors()), (kernel, sectors));
                assert_eq!(part.with(SectorMask(!sectors.0)), KernelSectors::new(kernel, SectorMask(!sectors.0)));
            }
        }
        assert_eq!(KernelSectors::default(), KernelSectors::new(KernelIndex(0), SectorMask(0)));
    }
}
