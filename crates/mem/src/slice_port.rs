//! A slice with its coalescer, where the machine has one, and its network ports: credits for its replies, credits for its requests, and the next
//! cycle with work.
//!
//! In: what [`Slice::cycle`] says it did, and credits. Out: answers and credits on their links. Invariant: before [`SlicePort::due`]
//! neither the slice nor its answers do more than wait, and that is counted up to and without [`SlicePort::counted`].

use warpshard_base::{Cycle, LinkId};
use warpshard_protocol::{CreditReceiver, CreditSender, LocalMap, MemPacket, Outbox, Payload};

use super::llc::{Acted, Coalescer, Sets, Slice, Taken};
use super::ports::PartitionPorts;

/// What the slices of a partition have in common and nothing changes.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Common {
    #[state(fixed)]
    pub(super) local: LocalMap,
    pub(super) sets: Sets,
    pub(super) ports: PartitionPorts,
    /// Requests that a slice's own queue holds.
    pub(super) in_queue: usize,
}

/// A slice and the network's side of it.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct SlicePort {
    pub(super) slice: Slice,
    /// What stands in front of it, where the machine has one.
    pub(super) coalescer: Option<Box<Coalescer>>,
    /// Places for answers at the reply subnet; collected only when fewer than two are left.
    pub(super) answers: CreditSender,
    /// Places of the arrival queue, which requests leave.
    returns: CreditReceiver,
    /// The first cycle in which the slice or its answers may do more than wait.
    pub(super) due: Cycle,
    /// Up to which cycle the slice's waiting is counted.
    counted: Cycle,
    /// Whether an answer waits for credits.
    stands: bool,
    /// Since which cycle a packet waits in the network's ejection, behind the partition's own queue; never where none does.
    pub(super) blocked: Cycle,
}

impl SlicePort {
    /// An idle slice, and what is in front of it, between these two ends of its links.
    pub(super) fn new(slice: Slice, coalescer: Option<Box<Coalescer>>, answers: CreditSender, returns: CreditReceiver) -> Self {
        Self { slice, coalescer, answers, returns, due: Cycle::NEVER, counted: Cycle(0), stands: false, blocked: Cycle::NEVER }
    }

    /// Counts the slice's waiting up to and without `until`; what it waits for has not changed since the last time.
    #[inline]
    pub(super) fn catch_up(&mut self, until: Cycle) {
        if self.counted < until {
            self.slice.skip(self.counted, until);
            self.counted = until;
        }
    }

    /// One cycle of slice number `i` and its side of the network. Returns whether the DRAM side may have more to do.
    // Called from one place, for every slice that has something to do.
    #[inline(always)]
    pub(super) fn cycle(&mut self, i: u16, now: Cycle, common: &Common, standing: &mut u32, out: &mut Outbox) -> bool {
        self.catch_up(now);
        if self.coalescer.is_some() {
            self.coalesce(now, common, out);
        }
        let slice = &mut self.slice;
        let Acted { freed, dram } = slice.cycle(now, &common.local);
        if freed {
            self.blocked = slice.blocked_from(common.in_queue, now);
            // Whether it waits is asked for when one more has left.
            slice.prefetch_behind(common.in_queue + 1);
            self.returns.release(now, out);
        }
        let width = slice.read_sectors();
        // With more than leave in a cycle, further credits do not matter yet, and a branch on their arrival would be unpredictable.
        if self.answers.available() <= width {
            self.answers.collect(now);
        }
        let reply_out = LinkId(common.ports.reply_out.0 + i);
        let coalescer = &mut self.coalescer;
        let mut hand_on = |packet: &MemPacket| {
            out.send_with(reply_out, now, || Payload::Mem(*packet));
            if let Some(coalescer) = coalescer {
                coalescer.answer(packet);
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
        let stands = !self.answers.can_send() && self.has_out();
        if stands != self.stands {
            self.stands = stands;
            *standing = if stands { *standing + 1 } else { *standing - 1 };
        }
        let next = now.next();
        self.counted = next;
        self.due = self.due_from(next);
        dram
    }

    /// The coalescer takes a request.
    #[cold]
    #[inline(never)]
    fn coalesce(&mut self, now: Cycle, common: &Common, out: &mut Outbox) {
        let Some(coalescer) = &mut self.coalescer else { return };
        match coalescer.take(now) {
            Some(Taken::GoesOn(packet)) => {
                let at = now.after(coalescer.latency());
                if self.slice.arrive(at, &packet, &common.sets) == common.in_queue {
                    self.blocked = at;
                }
            }
            Some(Taken::Joined) => self.returns.release(now, out),
            None => {}
        }
    }

    /// Copies of answers leave, as many in a cycle as share a read, with the answer itself.
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

    /// Whether an answer or a copy of one waits for the network.
    #[inline]
    pub(super) fn has_out(&self) -> bool {
        self.slice.has_out() || self.coalescer.as_ref().is_some_and(|coalescer| coalescer.has_copies())
    }

    /// From which cycle on, `from` or later, there is something to do.
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
