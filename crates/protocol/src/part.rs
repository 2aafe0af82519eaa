//! The kernel and sectors of a packet, in three bytes.

use warpshard_base::{KernelIndex, MAX_KERNELS, SectorMask};
use warpshard_state::{Reader, State, StateError, Writer};

/// Bits of the kernel; the bits of the four sectors of a line of 128 bytes follow.
const KERNEL_BITS: u32 = 20;
const _: () = assert!(MAX_KERNELS >> KERNEL_BITS == 0);

/// A kernel launch and the sectors of a line of 128 bytes, packed into three bytes: 20 bits and 4.
// The type is copied as two numbers; an array of three bytes would be copied byte by byte.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, packed)]
pub struct PacketPart {
    /// The low bits of the kernel.
    low: u16,
    /// The high bits of the kernel, and the sectors above them.
    high: u8,
}

const _: () = assert!(size_of::<PacketPart>() == 3);

impl PacketPart {
    /// Packs a kernel launch and a set of sectors.
    #[inline]
    pub const fn new(kernel: KernelIndex, sectors: SectorMask) -> Self {
        debug_assert!(kernel.0 >> KERNEL_BITS == 0 && sectors.0 <= SectorMask::ALL.0);
        Self { low: kernel.0 as u16, high: (kernel.0 >> 16) as u8 | sectors.0 << 4 }
    }

    /// Returns the kernel launch.
    #[inline]
    pub const fn kernel(self) -> KernelIndex {
        KernelIndex(self.low as u32 | ((self.high & 0xf) as u32) << 16)
    }

    /// Returns the set of sectors.
    #[inline]
    pub const fn sectors(self) -> SectorMask {
        SectorMask(self.high >> 4)
    }

    /// Returns a copy with the same kernel and other sectors.
    #[inline]
    #[must_use]
    pub const fn with(self, sectors: SectorMask) -> Self {
        debug_assert!(sectors.0 <= SectorMask::ALL.0);
        Self { high: self.high & 0xf | sectors.0 << 4, ..self }
    }
}

impl State for PacketPart {
    fn save(&self, to: &mut Writer) {
        (self.kernel(), self.sectors()).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = Self::read(from)?;
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (kernel, sectors): (KernelIndex, SectorMask) = State::read(from)?;
        if kernel.0 >> KERNEL_BITS != 0 || sectors.0 > SectorMask::ALL.0 {
            return Err(StateError::new(format!("a packet of {kernel} with sectors {:#x}", sectors.0)));
        }
        Ok(Self::new(kernel, sectors))
    }
}

impl std::fmt::Debug for PacketPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, sectors {:#06b}", self.kernel(), self.sectors().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NO_KERNEL;

    #[test]
    fn kernels_and_sectors_do_not_overlap() {
        for kernel in [KernelIndex(0), KernelIndex(65_535), KernelIndex(65_536), KernelIndex(0xf_5a5a), NO_KERNEL] {
            for sectors in (0..=SectorMask::ALL.0).map(SectorMask) {
                let part = PacketPart::new(kernel, sectors);
                assert_eq!((part.kernel(), part.sectors()), (kernel, sectors));
                let other = SectorMask(!sectors.0 & SectorMask::ALL.0);
                assert_eq!(part.with(other), PacketPart::new(kernel, other));
            }
        }
        assert_eq!(PacketPart::default(), PacketPart::new(KernelIndex(0), SectorMask(0)));
    }
}
