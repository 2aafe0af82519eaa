//! The register banks that an instruction reads.

/// The banks that an instruction reads.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::gpu::sm) struct Sources {
    /// All of them, as a set.
    pub(super) once: u64,
    /// The bank of each source, a byte for each, and which sources are read.
    banks: u32,
    distinct: u8,
    /// How many registers.
    pub(in crate::gpu::sm) count: u8,
    /// Whether some bank holds several of them.
    pub(super) crowded: bool,
}

impl Sources {
    /// Those of which `banks` has a byte for each source, and `distinct` says which are read.
    #[inline]
    pub(super) fn new(banks: u32, distinct: u8) -> Self {
        // Without branches: the number of sources is unpredictable, and the work for an absent one costs less than a misprediction.
        let (mut once, mut twice, mut count) = (0, 0, 0);
        for i in 0..4 {
            let read = distinct >> i & 1;
            let bit = u64::from(read) << (banks >> (8 * i) & 63);
            twice |= once & bit;
            once |= bit;
            count += read;
        }
        Self { once, banks, distinct, count, crowded: twice != 0 }
    }

    /// The banks that hold at least two, three and four of the registers.
    pub(super) fn again(&self) -> [u64; 3] {
        let (mut once, [mut twice, mut thrice, mut four]) = (0, [0; 3]);
        for i in 0..4 {
            let bit = u64::from(self.distinct >> i & 1) << (self.banks >> (8 * i) & 63);
            four |= thrice & bit;
            thrice |= twice & bit;
            twice |= once & bit;
            once |= bit;
        }
        [twice, thrice, four]
    }
}

/// How many banks a set of a few has.
#[inline]
pub(super) fn few(banks: u64) -> u64 {
    // One, nearly always; counting bits takes a dozen instructions where the host's are not known.
    let others = banks & banks.wrapping_sub(1);
    if others == 0 { u64::from(banks != 0) } else { u64::from(banks.count_ones()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_sources_of_one_bank_are_told_whichever_it_is() {
        for bank in [0, 1, 31, 62, 63u8] {
            let other = if bank == 63 { 0 } else { bank + 1 };
            let of = |banks: [u8; 4], distinct| Sources::new(u32::from_le_bytes(banks), distinct);
            let three = of([bank, bank, other, bank], 0b1111);
            assert_eq!((three.once, three.count, three.crowded), (1 << bank | 1 << other, 4, true));
            assert_eq!(three.again(), [1 << bank, 1 << bank, 0]);
            assert_eq!(of([bank; 4], 0b1111).again(), [1 << bank; 3]);
            assert!(of([bank; 4], 0b1011).crowded && of([bank; 4], 0b0011).crowded);
            let one = of([bank, other, bank, bank], 0b0110);
            assert_eq!((one.once, one.count, one.crowded), (1 << bank | 1 << other, 2, false));
        }
    }
}
