//! The outputs of a crossbar: which of them are requested, and which have credits.
//!
//! Input: requests of inputs, and credits. Output: the outputs that can grant, ascending, and the number of outputs that are requested and
//! lack a credit. Invariant: an output is ready if it is requested and has a credit.

use warpshard_base::{Cycle, Slots};
use warpshard_protocol::CreditSender;

/// A position in an ascending iteration over the ready outputs of a cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputScan {
    word: u32,
    /// The remaining outputs of the present word.
    remaining_outputs: u64,
}

impl OutputScan {
    /// Returns the start of an iteration.
    pub(super) fn start() -> Self {
        Self { word: 0, remaining_outputs: u64::MAX }
    }
}

/// An output of a crossbar.
#[derive(Clone, Debug, warpshard_state::State)]
struct CrossbarOutput {
    /// Credits for the queue of its receiver.
    credits: CreditSender,
    /// The number of inputs that request the output.
    requests: u32,
    /// The input that was granted last.
    last_granted: u16,
}

/// The outputs of a crossbar.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct CrossbarOutputs {
    outputs: Slots<CrossbarOutput>,
    /// A bit per ready output, in `words` words.
    ready: Slots<u64>,
    words: u32,
    requested_count: u32,
    ready_count: u32,
}

impl CrossbarOutputs {
    /// Returns `count` outputs with `capacity` credits each, whose last grant was to input `last_granted`.
    ///
    /// # Panics
    /// If a receiver has no space for a packet.
    pub(super) fn new(count: usize, capacity: u32, last_granted: u16) -> Self {
        assert!(capacity >= 1, "a crossbar whose receivers have no slot for a packet");
        Self {
            outputs: Slots::new(count, CrossbarOutput { credits: CreditSender::new(capacity), requests: 0, last_granted }),
            ready: Slots::new(count.div_ceil(64), 0),
            words: count.div_ceil(64) as u32,
            requested_count: 0,
            ready_count: 0,
        }
    }

    /// Returns the number of requested outputs.
    #[inline]
    pub(super) fn requested_outputs(&self) -> u32 {
        self.requested_count
    }

    /// Returns the number of requested outputs without a credit.
    #[inline]
    pub(super) fn stalled_outputs(&self) -> u32 {
        self.requested_count - self.ready_count
    }

    /// Returns true if an output is ready.
    #[inline]
    pub(super) fn any_ready(&self) -> bool {
        self.ready_count != 0
    }

    /// Returns the next ready output of the iteration.
    #[inline]
    pub(super) fn next_ready(&self, scan: &mut OutputScan) -> Option<usize> {
        while scan.word < self.words {
            let bits = self.ready.get(scan.word) & scan.remaining_outputs;
            if bits != 0 {
                let bit = bits.trailing_zeros();
                scan.remaining_outputs = !1 << bit;
                return Some((scan.word * 64 + bit) as usize);
            }
            *scan = OutputScan { word: scan.word + 1, remaining_outputs: u64::MAX };
        }
        None
    }

    /// Returns the input that an output granted last.
    #[inline]
    pub(super) fn last_granted(&self, output: usize) -> u16 {
        self.outputs.get(output as u32).last_granted
    }

    /// Returns true if an output has a credit.
    pub(super) fn has_credit(&self, output: usize) -> bool {
        self.outputs.get(output as u32).credits.can_send()
    }

    /// Adds a request for an output.
    #[inline]
    pub(super) fn request(&mut self, output: usize) {
        debug_assert!(output < 64 * self.words as usize, "output {output} of {} words", self.words);
        let CrossbarOutput { credits, requests, .. } = self.outputs.get_mut(output as u32);
        *requests += 1;
        // The code has no branches, because they would be unpredictable.
        let first = *requests == 1;
        let becomes_ready = first & credits.can_send();
        self.requested_count += u32::from(first);
        self.ready_count += u32::from(becomes_ready);
        *self.ready.get_mut(output as u32 / 64) |= u64::from(becomes_ready) << (output % 64);
    }

    /// Grants a ready output to `input`, whose packet leaves.
    #[inline]
    pub(super) fn grant(&mut self, output: usize, input: u16) {
        debug_assert!(self.ready.get(output as u32 / 64) >> (output % 64) & 1 != 0, "output {output} is not ready");
        let CrossbarOutput { credits, requests, last_granted } = self.outputs.get_mut(output as u32);
        *last_granted = input;
        credits.spend();
        *requests -= 1;
        // The code has no branches here either, because they would be unpredictable.
        let last = *requests == 0;
        let stops = last | !credits.can_send();
        self.requested_count -= u32::from(last);
        self.ready_count -= u32::from(stops);
        *self.ready.get_mut(output as u32 / 64) ^= u64::from(stops) << (output % 64);
    }

    /// Receives credits for an output that become visible at cycle `at`. Returns true if no other credits were in flight.
    #[inline]
    pub(super) fn receive_credits(&mut self, output: usize, at: Cycle, credits: u16) -> bool {
        self.outputs.get_mut(output as u32).credits.deliver(at, credits)
    }

    /// Collects the credits that are visible by `now`; returns the cycle in which the next credits become visible.
    pub(super) fn take_credits(&mut self, output: usize, now: Cycle) -> Option<Cycle> {
        let CrossbarOutput { credits, requests, .. } = self.outputs.get_mut(output as u32);
        let stood = !credits.can_send();
        credits.collect(now);
        if stood && credits.can_send() && *requests > 0 {
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
    fn outputs_are_ready_while_they_are_requested_and_have_credits() {
        let mut outputs = CrossbarOutputs::new(130, 2, 0);
        for output in [3, 64, 129] {
            outputs.request(output);
        }
        outputs.request(64);
        outputs.request(64);
        assert_eq!((outputs.requested_outputs(), outputs.stalled_outputs()), (3, 0));
        let mut scan = OutputScan::start();
        assert_eq!([(); 3].map(|()| outputs.next_ready(&mut scan)), [3, 64, 129].map(Some));
        outputs.request(63);
        assert_eq!([(); 2].map(|()| outputs.next_ready(&mut scan)), [None; 2], "an iteration does not move backwards");
        outputs.grant(63, 7);
        outputs.grant(64, 7);
        outputs.grant(64, 7);
        outputs.grant(3, 7);
        assert_eq!(
            (outputs.requested_outputs(), outputs.stalled_outputs(), outputs.next_ready(&mut OutputScan::start())),
            (2, 1, Some(129))
        );
        assert!(outputs.receive_credits(64, Cycle(5), 1) && !outputs.receive_credits(64, Cycle(9), 1));
        assert_eq!(outputs.take_credits(64, Cycle(5)), Some(Cycle(9)));
        assert_eq!((outputs.next_ready(&mut OutputScan::start()), outputs.stalled_outputs()), (Some(64), 0));
        assert_eq!(outputs.take_credits(64, Cycle(9)), None);
        outputs.grant(129, 7);
        outputs.grant(64, 7);
        assert!(!outputs.any_ready() && outputs.has_credit(64));
        assert_eq!((outputs.requested_outputs(), outputs.last_granted(63), outputs.last_granted(62)), (0, 7, 0));
    }
}
