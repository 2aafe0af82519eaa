//! Stall counters of packets before and after a partition: spans, counted in core cycles when they end.

use warpshard_base::Cycle;
use warpshard_stats::counters;

use super::Partition;

/// The reasons of stalls: the reply network accepts no reply, or the partition accepts no request.
const REPLY_STALL: usize = 0;
const REQUEST_STALL: usize = 1;

counters! {
    /// Stalls of packets before and after a partition, in core cycles. Each counts a cycle at most once.
    pub struct PartitionStallCounts {
        stall_mc: "cycles", "Core cycles in which the packet at the head of the request network's ejection buffer could not enter because the partition's queue was full.";
        stall_net: "cycles", "Core cycles in which a reply was ready and the injection queue into the reply network was full.";
    }
}

impl Partition {
    /// Records whether packets stall, based on the state at the end of the LLC cycle in which slices were last examined, which holds up to
    /// the present, and counts a stall that has ended. The queue of the network's ejection begins behind the partition's `in_queue`.
    #[inline]
    pub(super) fn watch_stalls(&mut self) {
        if self.slices.now == self.watched_until {
            return;
        }
        let net = (self.stalled_ports > 0) != (self.stalled_since[REPLY_STALL] != Cycle::NEVER);
        let mc = if self.stalled_since[REQUEST_STALL] == Cycle::NEVER {
            self.blocked_since < self.slices.now
        } else {
            self.blocked_since > self.watched_until
        };
        if net || mc {
            self.note_stalls();
        }
        self.watched_until = self.slices.now;
    }

    /// Begins and ends stall spans.
    #[cold]
    #[inline(never)]
    fn note_stalls(&mut self) {
        let net = if self.stalled_ports > 0 { self.watched_until } else { Cycle::NEVER };
        // A request that becomes visible within the span begins to wait in that cycle.
        let mc = self.blocked_since.max(self.watched_until);
        for (reason, from) in [net, mc].into_iter().enumerate() {
            if self.stalled_since[reason] != Cycle::NEVER && from > self.watched_until {
                self.count_stall(reason, self.watched_until);
            }
            if self.stalled_since[reason] == Cycle::NEVER && from < self.slices.now {
                self.stalled_since[reason] = from;
            }
        }
    }

    /// Counts a stall span up to, but not including, `until`.
    fn count_stall(&mut self, reason: usize, until: Cycle) {
        let since = std::mem::replace(&mut self.stalled_since[reason], Cycle::NEVER);
        let cycles = self.llc_to_core.first_at_or_after(until).0 - self.llc_to_core.first_at_or_after(since).0;
        *(if reason == REPLY_STALL { &mut self.stalls.stall_net } else { &mut self.stalls.stall_mc }) += cycles;
    }

    /// Counts the stall spans that are still open, up to the present.
    pub(super) fn settle_stalls(&mut self) {
        for reason in [REPLY_STALL, REQUEST_STALL] {
            if self.stalled_since[reason] != Cycle::NEVER {
                self.count_stall(reason, self.slices.now);
                self.stalled_since[reason] = self.slices.now;
            }
        }
    }
}
