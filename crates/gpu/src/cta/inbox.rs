//! Queue of messages from SMs in the order in which they take effect.
//!
//! In: messages in any order of links. Out: the same messages ordered by (arrival, SM, sequence number of the link), so that the grid
//! scheduler cannot depend on the order of delivery.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpshard_base::{CtaIndex, Cycle, KernelIndex, SmId};
use warpshard_protocol::WarpContext;

/// Kinds of messages to the grid scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
pub(super) enum NoticeKind {
    /// A CTA started.
    Started,
    /// An SM has its first unacknowledged stores of an ending CTA.
    StoresOutstanding,
    /// A CTA ended.
    Done,
    /// All stores of ended CTAs of the SM are acknowledged.
    StoresAcknowledged,
    /// The context of a warp of a preempted CTA; the message for the CTA follows.
    Context(WarpContext),
    /// A CTA was preempted before it started.
    Returned,
    /// A CTA was preempted after it started.
    Preempted,
    /// The hub finished a copy.
    Copied,
    /// A kernel of another GPU ended.
    KernelEndedOnOtherGpu,
    /// A CTA triggered the launch that depends on its kernel.
    Triggered,
}

/// A message from an SM. The order of the fields is the order in which messages are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, warpshard_state::State)]
pub(super) struct GridNotice {
    pub(super) at: Cycle,
    pub(super) sm: SmId,
    sequence: u32,
    pub(super) kind: NoticeKind,
    pub(super) kernel: KernelIndex,
    pub(super) cta: CtaIndex,
}

/// Messages that have not been handled.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Inbox {
    waiting: BinaryHeap<Reverse<GridNotice>>,
    sequence: Box<[u32]>,
}

impl Inbox {
    pub(super) fn new(sms: usize) -> Self {
        Self { waiting: BinaryHeap::with_capacity(4 * sms), sequence: vec![0; sms + 1].into() }
    }

    pub(super) fn insert(&mut self, at: Cycle, sm: SmId, kind: NoticeKind, kernel: KernelIndex, cta: CtaIndex) {
        let sequence = &mut self.sequence[sm.index()];
        self.waiting.push(Reverse(GridNotice { at, sm, sequence: *sequence, kind, kernel, cta }));
        *sequence = sequence.wrapping_add(1);
    }

    /// Returns the arrival cycle of the next message.
    #[inline]
    pub(super) fn next_at(&self) -> Cycle {
        self.waiting.peek().map_or(Cycle::NEVER, |notice| notice.0.at)
    }

    /// Removes and returns the next message that arrived at or before `now`.
    #[inline]
    pub(super) fn pop_arrived(&mut self, now: Cycle) -> Option<GridNotice> {
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
    fn messages_are_ordered_by_arrival_then_sm_then_link_order() {
        let mut inbox = Inbox::new(2);
        let put = |inbox: &mut Inbox, at, sm, kind, cta| inbox.insert(Cycle(at), SmId(sm), kind, KernelIndex(0), CtaIndex(cta));
        put(&mut inbox, 5, 1, NoticeKind::Done, 0);
        put(&mut inbox, 5, 1, NoticeKind::Started, 1);
        put(&mut inbox, 5, 0, NoticeKind::Started, 2);
        put(&mut inbox, 5, 0, NoticeKind::Done, 3);
        put(&mut inbox, 6, 0, NoticeKind::Done, 2);
        let mut order = Vec::new();
        while let Some(notice) = inbox.pop_arrived(Cycle(5)) {
            order.push((notice.sm, notice.kind, notice.cta.0));
        }
        let (first, second) = (SmId(0), SmId(1));
        assert_eq!(
            order,
            [
                (first, NoticeKind::Started, 2),
                (first, NoticeKind::Done, 3),
                (second, NoticeKind::Done, 0),
                (second, NoticeKind::Started, 1)
            ]
        );
        assert_eq!(inbox.next_at(), Cycle(6));
    }
}
