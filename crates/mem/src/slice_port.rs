//! A slice with its optional coalescer and its network ports: credits for its replies, credits for its requests, and the next cycle with
//! work.
//!
//! Input: the results of [`LlcSlice::cycle`], and credits. Output: replies and credits on their links. Invariant: before [`SlicePort::due`]
//! the slice and its replies only wait, and waiting is counted up to, but not including, [`SlicePort::counted_until`].

use warpshard_base::{Cycle, LinkId};
use warpshard_protocol::{CreditReceiver, CreditSender, LocalMap, MemPacket, Outbox, Payload};

use super::llc::{Coalescer, CoalescerOutcome, LlcSlice, SetIndexTables, SliceProgress};
use super::ports::PartitionPorts;

/// Constant parameters that all slices of a partition share.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct SliceParameters {
    #[state(fixed)]
    pub(super) local: LocalMap,
    pub(super) sets: SetIndexTables,
    pub(super) ports: PartitionPorts,
    /// Requests that the input queue of a slice holds.
    pub(super) in_queue: usize,
}

/// A slice and its ports at the networks.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct SlicePort {
    pub(super) slice: LlcSlice,
    /// The coalescer in front of the slice, if the machine has one.
    pub(super) coalescer: Option<Box<Coalescer>>,
    /// Credits for replies at the reply subnet; collected only if fewer than two are left.
    pub(super) answers: CreditSender,
    /// Slots of the arrival queue that requests have left.
    returns: CreditReceiver,
    /// The first cycle in which the slice or its replies may have work other than waiting.
    pub(super) due: Cycle,
    /// The cycle up to which the slice's waiting is counted.
    counted_until: Cycle,
    /// True if a reply waits for credits.
    stalled: bool,
    /// The cycle since which a packet waits in the network's ejection queue, behind the partition's own queue; `NEVER` if none waits.
    pub(super) blocked: Cycle,
}

impl SlicePort {
    /// Returns an idle slice with its optional coalescer, between the two ends of its links.
    pub(super) fn new(slice: LlcSlice, coalescer: Option<Box<Coalescer>>, answers: CreditSender, returns: CreditReceiver) -> Self {
        Self { slice, coalescer, answers, returns, due: Cycle::NEVER, counted_until: Cycle(0), stalled: false, blocked: Cycle::NEVER }
    }

    /// Counts the slice's waiting up to, but not including, `until`; the reason for waiting has not changed since the last call.
    #[inline]
    pub(super) fn catch_up(&mut self, until: Cycle) {
        if self.counted_until < until {
            self.slice.skip(self.counted_until, until);
            self.counted_until = until;
        }
    }

    /// Simulates one cycle of slice number `i` and its network ports. Returns true if the DRAM side may have more work.
    // This function is called from one place, for every slice with work.
    #[inline(always)]
    pub(super) fn cycle(&mut self, i: u16, now: Cycle, common: &SliceParameters, stalled_ports: &mut u32, out: &mut Outbox) -> bool {
        self.catch_up(now);
        if self.coalescer.is_some() {
            self.coalesce(now, common, out);
        }
        let slice = &mut self.slice;
        let SliceProgress { freed, dram } = slice.cycle(now, &common.local);
        if freed {
            self.blocked = slice.blocked_from(common.in_queue, now);
            // The wait of a request is checked when one more request has left.
            slice.prefetch_behind(common.in_queue + 1);
            self.returns.release(now, out);
        }
        let width = slice.read_sectors();
        // With more credits than replies that leave in a cycle, further credits do not matter yet, and a branch on their arrival would be
        // unpredictable.
        if self.answers.available() <= width {
            self.answers.collect(now);
        }
        let reply_out = LinkId(common.ports.reply_out.0 + i);
        let coalescer = &mut self.coalescer;
        let mut hand_on = |packet: &MemPacket| {
            out.send_with(reply_out, now, || Payload::Mem(*packet));
            if let Some(coalescer) = coalescer {
                coalescer.copy_reply(packet);
            }
        };
        for _ in 0..width {
            if !self.answers.can_send() || !slice.pop_out(&mut hand_on) {
                break;
            }
            self.answers.spend();
        }
        if self.coalescer.is_some() {
            self.send_copies(now, reply_out, out);
        }
        let stalled = !self.answers.can_send() && self.has_out();
        if stalled != self.stalled {
            self.stalled = stalled;
            *stalled_ports = if stalled { *stalled_ports + 1 } else { *stalled_ports - 1 };
        }
        let next = now.next();
        self.counted_until = next;
        self.due = self.due_from(next);
        dram
    }

    /// Moves a request into the coalescer.
    #[cold]
    #[inline(never)]
    fn coalesce(&mut self, now: Cycle, common: &SliceParameters, out: &mut Outbox) {
        let Some(coalescer) = &mut self.coalescer else { return };
        match coalescer.take(now) {
            Some(CoalescerOutcome::Forwarded(packet)) => {
                let at = now.after(coalescer.latency());
                if self.slice.arrive(at, &packet, &common.sets) == common.in_queue {
                    self.blocked = at;
                }
            }
            Some(CoalescerOutcome::Joined) => self.returns.release(now, out),
            None => {}
        }
    }

    /// Sends copies of replies, as many per cycle as share a read, together with the original reply.
    #[cold]
    #[inline(never)]
    fn send_copies(&mut self, now: Cycle, reply_out: LinkId, out: &mut Outbox) {
        let Some(coalescer) = &mut self.coalescer else { return };
        self.answers.collect(now);
        for _ in 1..coalescer.requesters() {
            if !self.answers.can_send() {
                return;
            }
            let Some(copy) = coalescer.pop_copy() else { return };
            out.send_with(reply_out, now, || Payload::Mem(copy));
            self.answers.spend();
        }
    }

    /// Returns true if a reply or a copy of one waits for the network.
    #[inline]
    pub(super) fn has_out(&self) -> bool {
        self.slice.has_out() || self.coalescer.as_ref().is_some_and(|coalescer| coalescer.has_copies())
    }

    /// Returns the first cycle at or after `from` with work.
    #[inline]
    fn due_from(&self, from: Cycle) -> Cycle {
        let arrival = self.coalescer.as_ref().map_or(Cycle::NEVER, |coalescer| coalescer.next_event().max(from));
        if !self.has_out() {
            return self.slice.next_event(from).min(arrival);
        }
        if self.answers.can_send() {
            return from;
        }
        self.answers.next().min(self.slice.next_event(from)).min(arrival).max(from)
    }
}
