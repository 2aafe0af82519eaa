//! Messages from SMs in the order in which they take effect.
//!
//! In: messages in any order of links. Out: the same messages ordered by (arrival, SM, sequence of the
//! link), so that the grid scheduler cannot depend on the order of delivery.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpshard_base::{CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_protocol::WarpContext;

/// What an SM reports of a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
pub(super) enum Word {
    /// It started.
    Started,
    /// Stores of a CTA that ends are not acknowledged, the first on the SM.
    StoresLeft,
    /// It ended.
    Done,
    /// All such stores of the SM are acknowledged.
    StoresAnswered,
    /// A warp of a CTA that leaves the SM; the CTA follows.
    Context(WarpContext),
    /// It was taken away before it started.
    Returned,
    /// It was taken away after it started.
    Preempted,
    /// The hub finished a copy.
    Copied,
    /// A kernel of another GPU ended.
    EndedElsewhere,
    /// It triggered the launch that depends on its own.
    Triggered,
}

/// A message from an SM. The order of the fields is the order of handling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
pub(super) struct Notice {
    pub(super) at: Cycle,
    pub(super) sm: SmId,
    sequence: u32,
    pub(super) word: Word,
    pub(super) kernel: KernelIndex,
    pub(super) cta: CtaIndex,
}

/// Messages that are not yet handled.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Inbox {
    waiting: BinaryHeap<Reverse<Notice>>,
    sequence: Box<[u32]>,
}

impl Inbox {
    pub(super) fn new(sms: usize) -> Self {
        Self { waiting: BinaryHeap::with_capacity(4 * sms), sequence: vec![0; sms + 1].into() }
    }

    pub(super) fn put(&mut self, at: Cycle, sm: SmId, word: Word, kernel: KernelIndex, cta: CtaIndex) {
        let sequence = &mut self.sequence[sm.index()];
        self.waiting.push(Reverse(Notice { at, sm, sequence: *sequence, word, kernel, cta }));
        *sequence = sequence.wrapping_add(1);
    }

    /// The arrival of the next message.
    #[inline]
    pub(super) fn next_at(&self) -> Cycle {
        self.waiting.peek().map_or(Cycle::NEVER, |notice| notice.0.at)
    }

    /// The next message that arrived at or before `now`.
    #[inline]
    pub(super) fn take(&mut self, now: Cycle) -> Option<Notice> {
        if self.next_at() > now {
            return None;
        }
        self.waiting.pop().map(|notice| notice.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_leave_by_arrival_then_sm_then_the_order_of_their_link() {
        let mut inbox = Inbox::new(2);
        let word = |inbox: &mut Inbox, at, sm, word, cta| inbox.put(Cycle(at), SmId(sm), word, KernelIndex(0), CtaIndex(cta));
        word(&mut inbox, 5, 1, Word::Done, 0);
        word(&mut inbox, 5, 1, Word::Started, 1);
        word(&mut inbox, 5, 0, Word::Started, 2);
        word(&mut inbox, 5, 0, Word::Done, 3);
        word(&mut inbox, 6, 0, Word::Done, 2);
        let mut order = Vec::new();
        while let Some(notice) = inbox.take(Cycle(5)) {
            order.push((notice.sm, notice.word, notice.cta.0));
        }
        let (first, second) = (SmId(0), SmId(1));
        assert_eq!(order, [(first, Word::Started, 2), (first, Word::Done, 3), (second, Word::Done, 0), (second, Word::Started, 1)]);
        assert_eq!(inbox.next_at(), Cycle(6));
    }
}
