//! The register banks that an instruction reads.

use warpshard_workload::StaticInst;

/// The banks that an instruction reads.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(in crate::sm) struct SourceBanks {
    /// All banks that are read, as a set.
    pub(super) once: u64,
    /// The bank of each source, a byte for each.
    banks: u32,
    /// The set of sources that are read.
    distinct: u8,
    /// Number of registers that are read.
    pub(in crate::sm) count: u8,
    /// True if a bank holds several of the registers.
    pub(super) crowded: bool,
}

impl SourceBanks {
    /// Creates the banks: `banks` has a byte for each source, `distinct` is the set of sources that are read, and `count` is their number.
    #[inline]
    pub(super) fn new(banks: u32, distinct: u8, count: u8) -> Self {
        // No branches: the number of sources is unpredictable, and the work for an absent source costs less than a misprediction.
        let (mut once, mut twice) = (0, 0);
        for i in 0..4 {
            let read = distinct >> i & 1;
            let bit = u64::from(read) << (banks >> (8 * i) & 63);
            twice |= once & bit;
            once |= bit;
        }
        Self { once, banks, distinct, count, crowded: twice != 0 }
    }

    /// Returns the banks that hold at least two, three and four of the registers.
    pub(super) fn repeated_banks(&self) -> [u64; 3] {
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

/// The banks of a sub-core.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(in crate::sm) struct RegisterBanks {
    per_group: u32,
    /// The mask that selects the bank, if the number of banks is a power of two.
    mask: Option<u32>,
}

impl RegisterBanks {
    pub(super) fn new(per_group: u32) -> Self {
        Self { per_group, mask: per_group.is_power_of_two().then_some(per_group - 1) }
    }

    /// Returns the banks of the registers that an instruction of a warp reads, each register once even if it is a source twice, and the
    /// bank of the register that it writes (an arbitrary bank if it writes none).
    #[inline]
    pub(in crate::sm) fn source_banks_of(&self, inst: &StaticInst, warp: usize, group: usize) -> (SourceBanks, u8) {
        // Register numbers count from one here, as in the reference.
        let (first, shift) = (group as u32 * self.per_group, warp as u32 + 1);
        let (banks, written) = match self.mask {
            // All four bytes are added at the same time: none of them carries, since their sum is below 128.
            Some(mask) => {
                let each = |value: u32| value * 0x0101_0101;
                let banks = ((inst.registers.low_bits + each(shift & mask)) & each(mask)) + each(first);
                (banks, first + ((u32::from(inst.dst) + shift) & mask))
            }
            None => self.by_division(inst, first, shift),
        };
        (SourceBanks::new(banks, inst.registers.distinct, inst.registers.reads), written as u8)
    }

    /// Returns the banks of the sources, a byte for each, and of the destination, if the number of banks is not a power of two.
    // Returns plain numbers: a result in memory would force the other branch to write its result to memory, too.
    #[cold]
    fn by_division(&self, inst: &StaticInst, first: u32, shift: u32) -> (u32, u32) {
        let bank = |register: u16| first + (u32::from(register) + shift) % self.per_group;
        (u32::from_le_bytes(inst.src.map(|register| bank(register) as u8)), bank(inst.dst))
    }
}

/// Returns the number of banks in a set with few members.
#[inline]
pub(super) fn count_few(banks: u64) -> u64 {
    // The result is nearly always one; counting bits takes a dozen instructions if the features of the host's processor are not known.
    let others = banks & banks.wrapping_sub(1);
    if others == 0 { u64::from(banks != 0) } else { u64::from(banks.count_ones()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_sources_in_one_bank_are_counted() {
        for bank in [0, 1, 31, 62, 63u8] {
            let other = if bank == 63 { 0 } else { bank + 1 };
            let of = |banks: [u8; 4], distinct: u8| SourceBanks::new(u32::from_le_bytes(banks), distinct, distinct.count_ones() as u8);
            let three = of([bank, bank, other, bank], 0b1111);
            assert_eq!((three.once, three.count, three.crowded), (1 << bank | 1 << other, 4, true));
            assert_eq!(three.repeated_banks(), [1 << bank, 1 << bank, 0]);
            assert_eq!(of([bank; 4], 0b1111).repeated_banks(), [1 << bank; 3]);
            assert!(of([bank; 4], 0b1011).crowded && of([bank; 4], 0b0011).crowded);
            let one = of([bank, other, bank, bank], 0b0110);
            assert_eq!((one.once, one.count, one.crowded), (1 << bank | 1 << other, 2, false));
        }
    }
}
