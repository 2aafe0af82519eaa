//! Small sets as words of bits: the requests and grants of the allocators.

/// A set of numbers below `64 * W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits<const W: usize>([u64; W]);

impl<const W: usize> Bits<W> {
    /// The empty set.
    pub(super) const EMPTY: Self = Self([0; W]);

    #[inline]
    pub(super) fn set(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    #[inline]
    pub(super) fn clear(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }

    #[inline]
    pub(super) fn has(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 != 0
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    #[inline]
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut both = *self;
        for (word, other) in both.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
        both
    }

    /// The element of a set of exactly one.
    #[inline]
    pub(super) fn single(&self) -> Option<usize> {
        if W == 1 {
            return self.0[0].is_power_of_two().then(|| self.0[0].trailing_zeros() as usize);
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

    /// The first element at or after `from`, wrapping: what a round-robin arbiter picks.
    #[inline]
    pub(super) fn next_from(&self, from: usize) -> Option<usize> {
        let (first, bit) = (from / 64, from % 64);
        let above = self.0[first] & u64::MAX << bit;
        if above != 0 {
            return Some(first * 64 + above.trailing_zeros() as usize);
        }
        let order = (first + 1..W).chain(0..=first);
        order.into_iter().find(|i| self.0[*i] != 0).map(|i| i * 64 + self.0[i].trailing_zeros() as usize)
    }

    /// The elements, ascending.
    #[inline]
    pub(super) fn iter(self) -> Elements<W> {
        Elements { left: self, word: 0 }
    }
}

/// The elements of a set, ascending.
pub(super) struct Elements<const W: usize> {
    left: Bits<W>,
    word: usize,
}

impl<const W: usize> Iterator for Elements<W> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word < W {
            let word = &mut self.left.0[self.word];
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(self.word * 64 + bit);
            }
            self.word += 1;
        }
        None
    }
}

/// The first set bit of `mask` at or after `from`, wrapping; `mask` is not 0.
#[inline]
pub(super) fn cyclic(mask: u16, from: usize) -> usize {
    let above = u32::from(mask) & u32::MAX << from;
    (if above != 0 { above } else { u32::from(mask) }).trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_robin_pick_wraps_over_words() {
        let mut bits = Bits::<3>::EMPTY;
        for i in [5, 70, 150] {
            bits.set(i);
        }
        let picks: Vec<_> = [0, 5, 6, 70, 71, 150, 151].iter().map(|from| bits.next_from(*from).unwrap()).collect();
        assert_eq!(picks, [5, 5, 70, 70, 150, 150, 5]);
        assert_eq!(bits.iter().collect::<Vec<_>>(), [5, 70, 150]);
        assert_eq!(bits.single(), None);
        bits.clear(5);
        bits.clear(150);
        assert_eq!((bits.single(), Bits::<3>::EMPTY.next_from(9)), (Some(70), None));
        assert_eq!((cyclic(0b1010, 2), cyclic(0b1010, 4)), (3, 1));
    }
}
