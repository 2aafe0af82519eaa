//! Set index functions, and the hash of directory keys.

use warpshard_config::machine::SetIndex;
use warpshard_protocol::ipoly;

/// Returns the set of an address in a cache of `sets` (a power of two) sets and lines of 2^`line_bits` bytes.
///
/// `addr` is a byte address. For a slice of a cache, it is the address within the slice, from
/// [`AddressMap::within_slice`](warpshard_protocol::AddressMap::within_slice). The Fermi hash is defined for 32 and 64 sets of 128 bytes;
/// other sizes use their low bits.
#[inline]
pub fn set_index(addr: u64, line_bits: u32, sets: u32, function: SetIndex) -> u32 {
    let bits = sets.trailing_zeros();
    let line = addr >> line_bits;
    let low = line & (u64::from(sets) - 1);
    let set = match function {
        SetIndex::Linear => low,
        SetIndex::Ipoly => ipoly(line >> bits, low, bits),
        SetIndex::Fermi => {
            // Bits 7 to 11 are XORed with bits 13, 14, 15, 17 and 19; with 64 sets, bit 12 is prepended (Nugteren et al., HPCA 2014).
            let upper = (addr >> 13 & 0b111) | (addr >> 17 & 1) << 3 | (addr >> 19 & 1) << 4;
            (line & 0x1f ^ upper | (addr >> 12 & 1) << 5) & (u64::from(sets) - 1)
        }
    };
    set as u32
}

/// Returns the hash of a line or sector number; its low bits select the bucket.
///
/// Neighbouring numbers have neighbouring buckets, which share cache lines of the host. The higher bits are multiplied and mixed in, so
/// that strides of powers of two are spread.
#[inline]
pub(super) fn hash(number: u64) -> u32 {
    // The constants spread strides best among some hundred odd numbers of 31 bits and shifts.
    const HASH_MULTIPLIER: u64 = 0x49cf_b889;
    (number ^ (number >> 7).wrapping_mul(HASH_MULTIPLIER) >> 26) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE_BITS: u32 = 7;

    #[test]
    fn both_halves_of_a_wide_line_are_in_one_set() {
        let set = |addr: u64| set_index(addr, 8, 64, SetIndex::Linear);
        assert_eq!([set(0), set(0x80), set(0x100), set(0x1ff), set(0x4000)], [0, 0, 1, 1, 0]);
    }

    #[test]
    fn consecutive_lines_fill_all_sets_evenly_under_every_function() {
        for function in [SetIndex::Linear, SetIndex::Ipoly, SetIndex::Fermi] {
            for sets in [32, 64] {
                let mut count = vec![0; sets as usize];
                for line in 0..u64::from(sets) * 4 {
                    count[set_index(line * 128 + 5, LINE_BITS, sets, function) as usize] += 1;
                }
                assert!(count.iter().all(|n| *n == 4), "{function:?} over {sets} sets: {count:?}");
            }
        }
    }

    #[test]
    fn strides_of_powers_of_two_spread_over_the_buckets() {
        for shift in 0..30 {
            let mut count = [0; 1024];
            for i in 0..512 {
                count[hash(i << shift) as usize % 1024] += 1;
            }
            assert!(count.iter().all(|n| *n <= 8), "stride 2^{shift}: {}", count.iter().max().unwrap());
        }
    }

    #[test]
    fn the_fermi_hash_mixes_the_measured_bits() {
        assert_eq!(set_index(1 << 13, LINE_BITS, 32, SetIndex::Fermi), 1);
        assert_eq!(set_index(1 << 15, LINE_BITS, 32, SetIndex::Fermi), 4);
        assert_eq!(set_index(1 << 16, LINE_BITS, 32, SetIndex::Fermi), 0);
        assert_eq!(set_index(1 << 17, LINE_BITS, 32, SetIndex::Fermi), 8);
        assert_eq!(set_index(1 << 19, LINE_BITS, 64, SetIndex::Fermi), 16);
        assert_eq!(set_index(1 << 12, LINE_BITS, 64, SetIndex::Fermi), 32);
    }

    #[test]
    fn a_power_of_two_stride_stays_off_one_set_with_the_polynomial() {
        let sets: std::collections::BTreeSet<_> = (0..32).map(|i| set_index(i << 12, LINE_BITS, 32, SetIndex::Ipoly)).collect();
        assert_eq!(sets.len(), 32);
    }
}
