//! The outputs of a crossbar: who is wanted, who has credits, and who both.
//!
//! In: what inputs want, credits under way. Out: the outputs that may be granted, ascending, and how many are wanted and stand
//! still. Invariant: an output is ready when somebody wants it and it has a credit.

use crate::base::{Cycle, Slots};
use crate::protocol::CreditSender;

/// How far the outputs of a crossbar were looked at in a cycle, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    word: u32,
    /// The outputs of the word that were not.
    left: u64,
}

impl Turn {
    /// The beginning of a cycle.
    pub(super) fn first() -> Self {
        Self { word: 0, left: u64::MAX }
    }
}

/// An output.
#[derive(Clone, Debug)]
struct Output {
    /// Places at its receiver.
    credits: CreditSender,
    /// How many want it.
    wanting: u32,
    /// The input that it served last.
    served: u16,
}

/// The outputs of a crossbar.
#[derive(Clone, Debug)]
pub(super) struct Outputs {
    count: usize,
    outputs: Slots<Output>,
    /// A bit for each that is ready, in `words` words.
    ready: Slots<u64>,
    words: u32,
    wanted_count: u32,
    ready_count: u32,
}

impl Outputs {
    /// `count` outputs with `capacity` credits each, which served input `served` last.
    ///
    /// # Panics
    /// When a receiver takes no packet at all.
    pub(super) fn new(count: usize, capacity: u32, served: u16) -> Self {
        assert!(capacity >= 1, "a crossbar whose receivers have no room for a packet");
        Self {
            count,
            outputs: Slots::new(count, Output { credits: CreditSender::new(capacity), wanting: 0, served }),
            ready: Slots::new(count.div_ceil(64), 0),
            words: count.div_ceil(64) as u32,
            wanted_count: 0,
            ready_count: 0,
        }
    }

    /// How many there are.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
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

    /// The next ready output of a cycle's turn.
    #[inline]
    pub(super) fn next_ready(&self, turn: &mut Turn) -> Option<usize> {
        while turn.word < self.words {
            let bits = self.ready.get(turn.word) & turn.left;
            if bits != 0 {
                let bit = bits.trailing_zeros();
                turn.left = !1 << bit;
                return Some((turn.word * 64 + bit) as usize);
            }
            *turn = Turn { word: turn.word + 1, left: u64::MAX };
        }
        None
    }

    /// The input that an output served last.
    #[inline]
    pub(super) fn served(&self, output: usize) -> u16 {
        self.outputs.get(output as u32).served
    }

    /// Whether an output has a credit.
    pub(super) fn has_credit(&self, output: usize) -> bool {
        self.outputs.get(output as u32).credits.can_send()
    }

    /// One more wants this output.
    #[inline]
    pub(super) fn want(&mut self, output: usize) {
        debug_assert!(output < self.count, "output {output} of {}", self.count);
        let Output { credits, wanting, .. } = self.outputs.get_mut(output as u32);
        *wanting += 1;
        // Without branches, which would be unpredictable.
        let first = *wanting == 1;
        let becomes_ready = first & credits.can_send();
        self.wanted_count += u32::from(first);
        self.ready_count += u32::from(becomes_ready);
        *self.ready.get_mut(output as u32 / 64) |= u64::from(becomes_ready) << (output % 64);
    }

    /// A packet of those who want this output, which was ready, leaves by it: that of `input`.
    #[inline]
    pub(super) fn pass(&mut self, output: usize, input: u16) {
        debug_assert!(self.ready.get(output as u32 / 64) >> (output % 64) & 1 != 0, "output {output} is not ready");
        let Output { credits, wanting, served } = self.outputs.get_mut(output as u32);
        *served = input;
        credits.spend();
        *wanting -= 1;
        // As in `want`.
        let last = *wanting == 0;
        let stops = last | !credits.can_send();
        self.wanted_count -= u32::from(last);
        self.ready_count -= u32::from(stops);
        *self.ready.get_mut(output as u32 / 64) ^= u64::from(stops) << (output % 64);
    }

    /// Takes credits for an output that become visible at cycle `at`. Returns whether no others were under way.
    #[inline]
    pub(super) fn expect(&mut self, output: usize, at: Cycle, credits: u16) -> bool {
        self.outputs.get_mut(output as u32).credits.deliver(at, credits)
    }

    /// Collects the credits that are visible by `now`; returns when the next ones are.
    pub(super) fn take_credits(&mut self, output: usize, now: Cycle) -> Option<Cycle> {
        let Output { credits, wanting, .. } = self.outputs.get_mut(output as u32);
        let stood = !credits.can_send();
        credits.collect(now);
        if stood && credits.can_send() && *wanting > 0 {
            *self.ready.get_mut(output as u32 / 64) |= 1 << (output % 64);
            self.ready_count += 1;
        }
        Some(credits.next()).filter(|next| *next != Cycle::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_ready_while_they_are_wanted_and_have_credits() {
        let mut outputs = Outputs::new(130, 2, 0);
        for output in [3, 64, 129] {
            outputs.want(output);
        }
        outputs.want(64);
        outputs.want(64);
        assert_eq!((outputs.wanted(), outputs.stalled()), (3, 0));
        let mut turn = Turn::first();
        assert_eq!([(); 3].map(|()| outputs.next_ready(&mut turn)), [3, 64, 129].map(Some));
        outputs.want(63);
        assert_eq!([(); 2].map(|()| outputs.next_ready(&mut turn)), [None; 2], "a turn does not go back");
        outputs.pass(63, 7);
        outputs.pass(64, 7);
        outputs.pass(64, 7);
        outputs.pass(3, 7);
        assert_eq!((outputs.wanted(), outputs.stalled(), outputs.next_ready(&mut Turn::first())), (2, 1, Some(129)));
        assert!(outputs.expect(64, Cycle(5), 1) && !outputs.expect(64, Cycle(9), 1));
        assert_eq!(outputs.take_credits(64, Cycle(5)), Some(Cycle(9)));
        assert_eq!((outputs.next_ready(&mut Turn::first()), outputs.stalled()), (Some(64), 0));
        assert_eq!(outputs.take_credits(64, Cycle(9)), None);
        outputs.pass(129, 7);
        outputs.pass(64, 7);
        assert!(!outputs.any_ready() && outputs.has_credit(64));
        assert_eq!((outputs.wanted(), outputs.served(63), outputs.served(62)), (0, 7, 0));
    }
}
