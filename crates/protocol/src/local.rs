//! The address map as used by the partitions of a chip: the fields of [`AddressMap`], precomputed as shifts and masks.
//!
//! Input: an address of the partition. Output: the address within its slice, its bank and its row. Invariant: the results equal
//! [`AddressMap::within_slice`] and [`AddressMap::locate`] for every address.

use warpshard_base::Addr;

use super::AddressMap;

/// A run of adjacent bits that moves to another position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BitRun {
    /// The number of positions by which the bits are rotated right before the mask is applied.
    rotation: u32,
    mask: u64,
}

/// A field of an address: runs that do not overlap. Most fields have one to three runs, which are gathered without a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AddressField {
    first: [BitRun; 3],
    others: Box<[BitRun]>,
}

impl AddressField {
    /// Returns the field whose bit `to` comes from bit `from` of the address, for each pair in `bits`, with as few runs as possible.
    fn new(bits: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut runs: Vec<BitRun> = Vec::new();
        for (to, from) in bits {
            let (by, bit) = (from.wrapping_sub(to) % 64, 1 << to);
            match runs.last_mut() {
                Some(run) if run.rotation == by => run.mask |= bit,
                _ => runs.push(BitRun { rotation: by, mask: bit }),
            }
        }
        let others = runs.split_off(runs.len().min(3)).into();
        runs.resize(3, BitRun::default());
        Self { first: [runs[0], runs[1], runs[2]], others }
    }

    #[inline]
    fn gather_from(&self, value: u64) -> u64 {
        let part = |run: BitRun| value.rotate_right(run.rotation) & run.mask;
        let [a, b, c] = self.first;
        let first = part(a) | part(b) | part(c);
        if self.others.is_empty() { first } else { self.others.iter().fold(first, |all, run| all | part(*run)) }
    }
}

/// The lowest bit of the bank in [`LocalMap::location`]; the row is below.
const BANK_SHIFT: u32 = 32;

/// An address map, precomputed for addresses that belong to one of its partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalMap {
    /// The lowest bit of the partition number and the divisor, if the number of partitions is not a power of two.
    division: Option<(u32, u64)>,
    /// The run of bits that is removed before the division: they are equal in all of the GPU's memory.
    constant_bits: (u8, u8),
    address_within_slice: AddressField,
    /// The field of row and bank.
    location: AddressField,
}

impl LocalMap {
    /// Precomputes the shifts and masks of `map`.
    pub fn new(map: &AddressMap) -> Self {
        let partitions = map.partitions;
        let divided = (!partitions.is_power_of_two()).then_some((map.interleave_bit, u64::from(partitions)));
        // Bits of the address without the partition bits, as bits of the value from which the fields are taken.
        let (lowest, constant) = if divided.is_some() { (0, 0) } else { map.constant_bits };
        let (lowest, constant) = (u32::from(lowest), u32::from(constant));
        let of_partition = if divided.is_some() { 0 } else { partitions.trailing_zeros() };
        let removed = of_partition + constant;
        let varying = |bit: u32| if bit < lowest { bit } else { bit + constant };
        let source = |bit: u32| varying(if bit < map.interleave_bit { bit } else { bit + of_partition });
        let under = |mask: u64| -> Vec<u32> { (0..64 - removed).filter(|bit| mask >> bit & 1 != 0).map(source).collect() };
        let mut slice_bits = Vec::new();
        let mut banks = map.bank_mask;
        for _ in 0..map.slices_per_partition.trailing_zeros() {
            slice_bits.push(banks.trailing_zeros());
            banks &= banks - 1;
        }
        let within = (0..64 - removed).filter(|bit| !slice_bits.contains(bit)).map(source);
        let (row, bank) = (under(map.row_mask), under(map.bank_mask));
        assert!(
            row.len() <= BANK_SHIFT as usize && bank.len() <= BANK_SHIFT as usize,
            "an address map of {} row and {} bank bits",
            row.len(),
            bank.len()
        );
        let constant_bits = if divided.is_some() { map.constant_bits } else { (0, 0) };
        Self {
            division: divided,
            constant_bits,
            address_within_slice: AddressField::new((0..).zip(within)),
            location: AddressField::new((0..).zip(row).chain((BANK_SHIFT..).zip(bank))),
        }
    }

    /// Returns true if the map only moves bits, without a division.
    pub fn shifts(&self) -> bool {
        self.division.is_none() && self.constant_bits.1 == 0
    }

    #[inline]
    fn divided_addr(&self, addr: Addr) -> u64 {
        match self.division {
            None => addr.0,
            Some((bit, partitions)) => {
                let addr = match self.constant_bits {
                    (_, 0) => addr,
                    (from, count) => Addr(addr.0 >> (from + count) << from | addr.0 & ((1 << from) - 1)),
                };
                ((addr.0 >> bit) / partitions) << bit | addr.0 & ((1 << bit) - 1)
            }
        }
    }

    /// Returns the address within its slice, as [`AddressMap::within_slice`] does.
    #[inline]
    pub fn within_slice(&self, addr: Addr) -> u64 {
        self.address_within_slice.gather_from(self.divided_addr(addr))
    }

    /// Returns the bank and row of an address, as [`AddressMap::locate`] does.
    #[inline]
    pub fn bank_and_row(&self, addr: Addr) -> (u32, u32) {
        let location = self.location.gather_from(self.divided_addr(addr));
        ((location >> BANK_SHIFT) as u32, location as u32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::PartitionHash;

    proptest! {
        #[test]
        fn the_precomputed_map_equals_the_map(
            addrs in prop::collection::vec(any::<u64>(), 1..50),
            partitions in 1u32..40,
            slice_bits in 0u32..3,
            interleave_bit in 7u32..12,
            banks in 2u32..6,
            constant_bits in (12u8..22, 0u8..4),
        ) {
            let bank_mask = ((1u64 << banks) - 1) << 12 | 1 << 8;
            let map = AddressMap {
                partitions,
                slices_per_partition: 1 << slice_bits,
                interleave_bit,
                row_mask: 0x0fff_0000 << banks,
                bank_mask,
                column_mask: 0x0eff,
                hash: PartitionHash::Linear,
                constant_bits,
                ..AddressMap::default()
            };
            let local = LocalMap::new(&map);
            for addr in addrs.into_iter().map(Addr) {
                let location = map.locate(addr);
                prop_assert_eq!(local.within_slice(addr), map.within_slice(addr));
                prop_assert_eq!(local.bank_and_row(addr), (location.bank, location.row));
            }
        }
    }
}
