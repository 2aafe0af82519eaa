//! Small bit sets for the requests and grants of the allocators.

/// A set of numbers below `64 * W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct BitSet<const W: usize>([u64; W]);

impl<const W: usize> BitSet<W> {
    /// The empty set.
    pub(super) const EMPTY_SET: Self = Self([0; W]);

    /// Returns the index of the word that holds an element; a constant if W is 1.
    #[inline]
    fn word(i: usize) -> usize {
        if W == 1 { 0 } else { i / 64 }
    }

    #[inline]
    pub(super) fn set(&mut self, i: usize) {
        self.0[Self::word(i)] |= 1 << (i % 64);
    }

    #[inline]
    pub(super) fn clear(&mut self, i: usize) {
        self.0[Self::word(i)] &= !(1 << (i % 64));
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    #[inline]
    pub(super) fn count(&self) -> u32 {
        // Counting bits takes a dozen instructions on hosts without an instruction for it, so a set of one element is tested first.
        if W == 1 && self.0[0].is_power_of_two() {
            return 1;
        }
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    #[inline]
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut both = *self;
        for (word, other) in both.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
        both
    }

    #[inline]
    pub(super) fn or(&self, other: &Self) -> Self {
        let mut either = *self;
        for (word, other) in either.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
        either
    }

    /// Returns the elements from `first` to `first + 15` as the bits of a word; such a group never crosses words.
    #[inline]
    pub(super) fn group(&self, first: usize) -> u16 {
        (self.0[Self::word(first)] >> (first % 64)) as u16
    }

    /// Returns the element of a set with exactly one element.
    #[inline]
    pub(super) fn single(&self) -> Option<usize> {
        if W == 1 {
            let (all, rest) = (self.0[0], self.0[0] & self.0[0].wrapping_sub(1));
            return if all != 0 && rest == 0 { Some(all.trailing_zeros() as usize) } else { None };
        }
        let mut found = None;
        for (i, word) in self.0.iter().enumerate().filter(|(_, word)| **word != 0) {
            if found.is_some() || !word.is_power_of_two() {
                return None;
            }
            found = Some(i * 64 + word.trailing_zeros() as usize);
        }
        found
    }

    /// Returns the first element at or after `from`, wrapping, as a round-robin arbiter does.
    #[inline]
    pub(super) fn next_from(&self, from: usize) -> Option<usize> {
        if W == 1 {
            let (all, above) = (self.0[0], self.0[0] & u64::MAX << (from % 64));
            if all == 0 {
                return None;
            }
            return Some(if above != 0 { above } else { all }.trailing_zeros() as usize);
        }
        let (first, bit) = (Self::word(from), from % 64);
        let above = self.0[first] & u64::MAX << bit;
        if above != 0 {
            return Some(first * 64 + above.trailing_zeros() as usize);
        }
        let order = (first + 1..W).chain(0..=first);
        order.into_iter().find(|i| self.0[*i] != 0).map(|i| i * 64 + self.0[i].trailing_zeros() as usize)
    }
}

/// Returns the first set bit of `mask` at or after `from`, wrapping; `mask` is not 0.
#[inline]
pub(super) fn next_cyclic(mask: u16, from: usize) -> usize {
    let above = u32::from(mask) & u32::MAX << from;
    (if above != 0 { above } else { u32::from(mask) }).trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_robin_pick_wraps_over_words() {
        let mut bits = BitSet::<3>::EMPTY_SET;
        for i in [5, 70, 150] {
            bits.set(i);
        }
        let picks: Vec<_> = [0, 5, 6, 70, 71, 150, 151].iter().map(|from| bits.next_from(*from).unwrap()).collect();
        assert_eq!(picks, [5, 5, 70, 70, 150, 150, 5]);
        assert_eq!(bits.single(), None);
        bits.clear(5);
        bits.clear(150);
        assert_eq!((bits.single(), BitSet::<3>::EMPTY_SET.next_from(9)), (Some(70), None));
        assert_eq!((next_cyclic(0b1010, 2), next_cyclic(0b1010, 4)), (3, 1));
    }
}
