//! The outputs of a crossbar: who is wanted, who has credits, and who both.
//!
//! In: what inputs want, credits under way. Out: the outputs that may be granted, ascending, and how many are wanted and stand
//! still. Invariant: an output is ready when somebody wants it and it has a credit.

use std::collections::VecDeque;

use crate::base::Cycle;

/// An output.
#[derive(Clone, Copy, Debug)]
struct Output {
    credits: u32,
    /// How many want it.
    wanting: u32,
}

/// The outputs of a crossbar.
#[derive(Clone, Debug)]
pub(super) struct Outputs {
    capacity: u32,
    outputs: Box<[Output]>,
    /// Credits under way, with the cycle in which they are seen.
    coming: Box<[VecDeque<(Cycle, u16)>]>,
    ready: Box<[u64]>,
    wanted_count: u32,
    ready_count: u32,
}

impl Outputs {
    /// `count` outputs with `capacity` credits each.
    ///
    /// # Panics
    /// When a receiver takes no packet at all.
    pub(super) fn new(count: usize, capacity: u32) -> Self {
        assert!(capacity >= 1, "a crossbar whose receivers have no room for a packet");
        Self {
            capacity,
            outputs: vec![Output { credits: capacity, wanting: 0 }; count].into(),
            coming: vec![VecDeque::new(); count].into(),
            ready: vec![0; count.div_ceil(64)].into(),
            wanted_count: 0,
            ready_count: 0,
        }
    }

    /// How many there are.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.outputs.len()
    }

    /// How many are wanted.
    #[inline]
    pub(super) fn wanted(&self) -> u32 {
        self.wanted_count
    }

    /// How many are wanted and have no credit.
    #[inline]
    pub(super) fn stalled(&self) -> u32 {
        self.wanted_count - self.ready_count
    }

    /// Whether one is ready.
    #[inline]
    pub(super) fn any_ready(&self) -> bool {
        self.ready_count != 0
    }

    /// The first ready output from `from` on.
    #[inline]
    pub(super) fn next_ready(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.ready.get(word)? & u64::MAX << (from % 64);
        while bits == 0 {
            word += 1;
            bits = *self.ready.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Whether an output has a credit.
    pub(super) fn has_credit(&self, output: usize) -> bool {
        self.outputs[output].credits > 0
    }

    /// One more wants this output.
    #[inline]
    pub(super) fn want(&mut self, output: usize) {
        let Output { credits, wanting } = &mut self.outputs[output];
        *wanting += 1;
        if *wanting == 1 {
            self.wanted_count += 1;
            if *credits > 0 {
                self.ready[output / 64] |= 1 << (output % 64);
                self.ready_count += 1;
            }
        }
    }

    /// A packet of those who want this output, which was ready, leaves by it.
    #[inline]
    pub(super) fn pass(&mut self, output: usize) {
        debug_assert!(self.ready[output / 64] >> (output % 64) & 1 != 0, "output {output} is not ready");
        let Output { credits, wanting } = &mut self.outputs[output];
        *credits -= 1;
        *wanting -= 1;
        self.wanted_count -= u32::from(*wanting == 0);
        if *wanting == 0 || *credits == 0 {
            self.ready[output / 64] &= !(1 << (output % 64));
            self.ready_count -= 1;
        }
    }

    /// Credits are on their way; says whether none were before.
    #[inline]
    pub(super) fn expect(&mut self, output: usize, at: Cycle, credits: u16) -> bool {
        let coming = &mut self.coming[output];
        coming.push_back((at, credits));
        coming.len() == 1
    }

    /// Takes the credits that are seen by `now`; says when the next ones are.
    pub(super) fn take_credits(&mut self, output: usize, now: Cycle) -> Option<Cycle> {
        let coming = &mut self.coming[output];
        while let Some((at, count)) = coming.front().copied() {
            if at > now {
                return Some(at);
            }
            coming.pop_front();
            let Output { credits, wanting } = &mut self.outputs[output];
            if *credits == 0 && count > 0 && *wanting > 0 {
                self.ready[output / 64] |= 1 << (output % 64);
                self.ready_count += 1;
            }
            *credits += u32::from(count);
            debug_assert!(*credits <= self.capacity, "output {output} has more credits than places");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_ready_while_they_are_wanted_and_have_credits() {
        let mut outputs = Outputs::new(130, 2);
        for output in [3, 64, 129] {
            outputs.want(output);
        }
        outputs.want(64);
        outputs.want(64);
        assert_eq!((outputs.wanted(), outputs.stalled()), (3, 0));
        assert_eq!([0, 3, 4, 65, 129].map(|from| outputs.next_ready(from)), [Some(3), Some(3), Some(64), Some(129), Some(129)]);
        assert_eq!([outputs.next_ready(130), outputs.next_ready(1000)], [None; 2]);
        outputs.pass(64);
        outputs.pass(64);
        outputs.pass(3);
        assert_eq!((outputs.wanted(), outputs.stalled(), outputs.next_ready(0)), (2, 1, Some(129)));
        assert!(outputs.expect(64, Cycle(5), 1) && !outputs.expect(64, Cycle(9), 1));
        assert_eq!(outputs.take_credits(64, Cycle(5)), Some(Cycle(9)));
        assert_eq!((outputs.next_ready(0), outputs.stalled()), (Some(64), 0));
        assert_eq!(outputs.take_credits(64, Cycle(9)), None);
        outputs.pass(129);
        outputs.pass(64);
        assert!(!outputs.any_ready() && outputs.has_credit(64));
        assert_eq!(outputs.wanted(), 0);
    }
}
