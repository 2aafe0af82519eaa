//! Bank conflicts of shared memory: the number of cycles of an access.
//!
//! Lanes that read the same word share it; different words of a bank take one cycle each. Of an access wider than a bank only the first
//! word counts, as in the reference.

/// Returns the cycles of the access `base + i * stride` of `lanes` lanes.
#[inline]
pub(super) fn affine_cycles(base: u64, stride: i32, lanes: u32, banks: u32) -> Option<u32> {
    if stride % 4 != 0 || !base.is_multiple_of(4) || !banks.is_power_of_two() {
        return None;
    }
    let step = stride.unsigned_abs() / 4;
    if step == 0 {
        return Some(1);
    }
    let visited = banks >> step.trailing_zeros().min(banks.trailing_zeros());
    Some(lanes.div_ceil(visited))
}

/// Returns the cycles of an access to at least one arbitrary address.
pub(super) fn cycles(addresses: &[u64], banks: u32) -> u32 {
    debug_assert!(addresses.len() <= 32 && (1..=64).contains(&banks));
    let mask = u64::from(banks) - 1;
    if !banks.is_power_of_two() {
        return max_words_per_bank(addresses, |word| (word % u64::from(banks)) as usize);
    }
    // In most accesses no bank receives requests for two words; then nothing has to be counted.
    let (mut asked, mut first) = (0u64, [0; 64]);
    for address in addresses {
        let word = address / 4;
        let bank = (word & mask) as usize;
        if asked >> bank & 1 == 0 {
            asked |= 1 << bank;
            first[bank] = word;
        } else if first[bank] != word {
            return max_words_per_bank(addresses, |word| (word & mask) as usize);
        }
    }
    1
}

/// Returns the maximum number of different words that are requested from one bank.
fn max_words_per_bank(addresses: &[u64], bank_of: impl Fn(u64) -> usize) -> u32 {
    const NONE: u8 = u8::MAX;
    let mut first = [NONE; 64];
    let mut next = [NONE; 32];
    let mut count = [0u8; 64];
    let mut most = 1;
    for (lane, address) in addresses.iter().enumerate() {
        let word = address / 4;
        let bank = bank_of(word);
        let mut at = first[bank];
        while at != NONE && addresses[usize::from(at)] / 4 != word {
            at = next[usize::from(at)];
        }
        if at == NONE {
            next[lane] = first[bank];
            first[bank] = lane as u8;
            count[bank] += 1;
            most = most.max(count[bank]);
        }
    }
    u32::from(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_conflict_by_their_power_of_two() {
        for (stride, expected) in [(4, 1), (0, 1), (8, 2), (12, 1), (16, 4), (128, 32), (132, 1), (-64, 16)] {
            let addresses: Vec<u64> = (0..32i64).map(|i| (0x4000 + i * stride) as u64).collect();
            assert_eq!(cycles(&addresses, 32), expected, "stride {stride}");
            assert_eq!(affine_cycles(0x4000, stride as i32, 32, 32), Some(expected), "stride {stride}");
        }
    }

    #[test]
    fn lanes_of_one_word_take_one_cycle() {
        let addresses: Vec<u64> = (0..32).map(|i| (i % 2) * 128).collect();
        assert_eq!(cycles(&addresses, 32), 2);
        assert_eq!(cycles(&[0, 1, 2, 3, 128], 32), 2);
    }

    #[test]
    fn conflicts_are_counted_for_any_number_of_banks() {
        let addresses: Vec<u64> = (0..32).map(|i| i * 4).collect();
        assert_eq!([1, 16, 24, 32, 64].map(|banks| cycles(&addresses, banks)), [32, 2, 2, 1, 1]);
        assert_eq!(cycles(&[0, 0, 96, 192], 24), 3);
    }
}
