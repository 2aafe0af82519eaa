//! The request matrix of a crossbar: for each output, the set of requesting inputs.

use std::hint::select_unpredictable;

use warpshard_base::Slots;

/// For each output, the inputs whose oldest visible packet requests it.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct RequestMatrix {
    /// A bit per input, `words` words of 2^`shift` allocated per output.
    sets: Slots<u64>,
    words: usize,
    shift: u32,
}

impl RequestMatrix {
    pub(super) fn new(inputs: usize, outputs: usize) -> Self {
        let words = inputs.div_ceil(64);
        let places = words.next_power_of_two();
        Self { sets: Slots::new(places * outputs, 0), words, shift: places.trailing_zeros() }
    }

    /// Returns the index of a word of an output's requests.
    #[inline]
    fn place(&self, output: usize, word: usize) -> u32 {
        debug_assert!(word < self.words, "word {word} of {}", self.words);
        ((output << self.shift) + word) as u32
    }

    pub(super) fn has(&self, output: usize, input: usize) -> bool {
        self.sets.get(self.place(output, input / 64)) >> (input % 64) & 1 != 0
    }

    #[inline]
    pub(super) fn add(&mut self, output: usize, input: usize) {
        let place = self.place(output, input / 64);
        *self.sets.get_mut(place) |= 1 << (input % 64);
    }

    pub(super) fn remove(&mut self, output: usize, input: usize) {
        let place = self.place(output, input / 64);
        *self.sets.get_mut(place) &= !(1 << (input % 64));
    }

    /// Returns the pointer behind the last of `inputs` inputs.
    pub(super) fn last(inputs: usize) -> u16 {
        (inputs.next_multiple_of(64) - 1) as u16
    }

    /// Removes and returns the first input after `before`, wrapping, that requests `output`; there must be one.
    #[inline(always)]
    pub(super) fn take(&mut self, output: usize, before: u16) -> usize {
        if self.words <= 2 { self.take_of_two(output, before) } else { self.take_of_many(output, before) }
    }

    /// Does the same as [`RequestMatrix::take`] for one or two words. The word with the input is unpredictable, so both are examined
    /// without a branch.
    #[inline(always)]
    fn take_of_two(&mut self, output: usize, before: u16) -> usize {
        let (home, last) = (self.place(output, usize::from(before / 64)), (self.words - 1) as u32);
        let away = home ^ last;
        let (all, elsewhere) = (*self.sets.get(home), *self.sets.get(away));
        let behind = all & (!1 << (before % 64));
        debug_assert!(all | elsewhere != 0, "output {output} is not requested");
        let is_away = (behind == 0) & (elsewhere != 0);
        let here = select_unpredictable(behind == 0, all, behind);
        let inputs = select_unpredictable(is_away, elsewhere, here);
        let place = select_unpredictable(is_away, away, home);
        *self.sets.get_mut(place) ^= inputs & inputs.wrapping_neg();
        (place & last) as usize * 64 + inputs.trailing_zeros() as usize % 64
    }

    fn take_of_many(&mut self, output: usize, before: u16) -> usize {
        let mut word = usize::from(before / 64);
        let mut place = self.place(output, word);
        let mut inputs = *self.sets.get(place) & (!1 << (before % 64));
        // The first word is examined again at the end, for inputs up to `before`.
        let mut words = self.words;
        while inputs == 0 {
            assert!(words > 0, "output {output} is not requested");
            words -= 1;
            word = if word + 1 == self.words { 0 } else { word + 1 };
            place = self.place(output, word);
            inputs = *self.sets.get(place);
        }
        *self.sets.get_mut(place) ^= inputs & inputs.wrapping_neg();
        word * 64 + inputs.trailing_zeros() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_granted_in_rotation_for_any_number_of_words() {
        for inputs in [1, 5, 64, 65, 80, 128, 129, 320] {
            for wanting in [vec![0], vec![inputs - 1], (0..inputs).step_by(7).collect(), (0..inputs).collect()] {
                for before in [0, inputs / 3, inputs / 2, inputs - 1, usize::from(RequestMatrix::last(inputs))] {
                    let mut requests = RequestMatrix::new(inputs, 3);
                    wanting.iter().for_each(|input| requests.add(1, *input));
                    let (first, behind): (Vec<usize>, Vec<usize>) = wanting.iter().partition(|input| **input <= before);
                    for expected in behind.into_iter().chain(first) {
                        assert_eq!(requests.take(1, before as u16), expected, "of {inputs} behind {before}");
                    }
                    assert!(!(0..inputs).any(|input| (0..3).any(|output| requests.has(output, input))));
                }
            }
        }
    }
}
