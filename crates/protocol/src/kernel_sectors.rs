//! A kernel launch and the sectors of a line in three bytes, as packets carry them.

use warpshard_base::{KernelIndex, MOST_KERNELS, SectorMask};

/// The bits of the kernel; the four sectors of a line of 128 bytes follow.
const KERNEL_BITS: u32 = 20;
const _: () = assert!(MOST_KERNELS >> KERNEL_BITS == 0);

/// A kernel launch and the sectors of a line of 128 bytes, in three bytes: 20 bits and 4.
#[derive(Clone, Copy, Default, PartialEq, Eq, warpshard_state::State)]
pub struct KernelSectors([u8; 3]);

impl KernelSectors {
    /// Packs both.
    #[inline]
    pub const fn new(kernel: KernelIndex, sectors: SectorMask) -> Self {
        debug_assert!(kernel.0 >> KERNEL_BITS == 0 && sectors.0 <= SectorMask::ALL.0);
        let [low, middle, high, _] = (kernel.0 | (sectors.0 as u32) << KERNEL_BITS).to_le_bytes();
        Self([low, middle, high])
    }

    /// The kernel launch.
    #[inline]
    pub const fn kernel(self) -> KernelIndex {
        let [low, middle, high] = self.0;
        KernelIndex(u32::from_le_bytes([low, middle, high & 0xf, 0]))
    }

    /// The sectors.
    #[inline]
    pub const fn sectors(self) -> SectorMask {
        SectorMask(self.0[2] >> 4)
    }

    /// The same kernel with other sectors.
    #[inline]
    #[must_use]
    pub const fn with(self, sectors: SectorMask) -> Self {
        debug_assert!(sectors.0 <= SectorMask::ALL.0);
        let [low, middle, high] = self.0;
        Self([low, middle, high & 0xf | sectors.0 << 4])
    }
}

impl std::fmt::Debug for KernelSectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, sectors {:#06b}", self.kernel(), self.sectors().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NO_KERNEL;

    #[test]
    fn kernels_and_sectors_do_not_touch_each_other() {
        for kernel in [KernelIndex(0), KernelIndex(65_535), KernelIndex(65_536), KernelIndex(0xf_5a5a), NO_KERNEL] {
            for sectors in (0..=SectorMask::ALL.0).map(SectorMask) {
                let part = KernelSectors::new(kernel, sectors);
                assert_eq!((part.kernel(), part.sectors()), (kernel, sectors));
                let other = SectorMask(!sectors.0 & SectorMask::ALL.0);
                assert_eq!(part.with(other), KernelSectors::new(kernel, other));
            }
        }
        assert_eq!(KernelSectors::default(), KernelSectors::new(KernelIndex(0), SectorMask(0)));
    }
}
