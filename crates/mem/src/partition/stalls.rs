//! Why packets stand still in front of a partition and after it: spans, counted in core cycles when they end.

use warpshard_base::Cycle;
use warpshard_stats::counters;

use super::Partition;

/// Reasons to stand still: the reply network takes no answer, the partition takes no request.
const NET: usize = 0;
const MC: usize = 1;

counters! {
    /// Why packets stand still in front of and behind a partition, in core cycles: 0 or 1 in each.
    pub struct StallCounts {
        stall_mc: "cycles", "Core cycles in which the packet at the head of the request network's ejection buffer could not enter because the partition's queue was full.";
        stall_net: "cycles", "Core cycles in which an answer was ready and the injection queue into the reply network was full.";
    }
}

impl Partition {
    /// Notes whether packets stand still in the state at the end of the LLC cycle in which slices were looked at last, which holds up
    /// to the present, and counts a span of standing still that is over. The queue of the network's ejection begins behind the partition's own
    /// `in_queue`.
    #[inline]
    pub(super) fn watch_stalls(&mut self) {
        if self.slices.now == self.watched {
            return;
        }
        let net = (self.standing_sides > 0) != (self.standing[NET] != Cycle::NEVER);
        let mc = if self.standing[MC] == Cycle::NEVER { self.blocked < self.slices.now } else { self.blocked > self.watched };
        if net || mc {
            self.note_stalls();
        }
        self.watched = self.slices.now;
    }

    /// Begins and ends spans of standing still.
    #[cold]
    #[inline(never)]
    fn note_stalls(&mut self) {
        let net = if self.standing_sides > 0 { self.watched } else { Cycle::NEVER };
        // A request that becomes visible within the span begins to wait there.
        let mc = self.blocked.max(self.watched);
        for (reason, from) in [net, mc].into_iter().enumerate() {
            if self.standing[reason] != Cycle::NEVER && from > self.watched {
                self.count_stall(reason, self.watched);
            }
            if self.standing[reason] == Cycle::NEVER && from < self.slices.now {
                self.standing[reason] = from;
            }
        }
    }

    /// Counts a span of standing still up to and without `until`.
    fn count_stall(&mut self, reason: usize, until: Cycle) {
        let since = std::mem::replace(&mut self.standing[reason], Cycle::NEVER);
        let cycles = self.llc_to_core.first_at_or_after(until).0 - self.llc_to_core.first_at_or_after(since).0;
        *(if reason == NET { &mut self.stalls.stall_net } else { &mut self.stalls.stall_mc }) += cycles;
    }

    /// Counts the spans that are not over, up to the present.
    pub(super) fn settle_stalls(&mut self) {
        for reason in [NET, MC] {
            if self.standing[reason] != Cycle::NEVER {
                self.count_stall(reason, self.slices.now);
                self.standing[reason] = self.slices.now;
            }
        }
    }
}
