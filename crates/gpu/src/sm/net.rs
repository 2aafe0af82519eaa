//! The ports of the SM to its links: credits for the request subnet, replies from the reply subnet, and credits returned for replies.
//!
//! A reply waits at the output of the network (whose slots the credits of the reply subnet represent), moves to the ejection queue and from
//! there to the response queue of the load/store unit, one packet per cycle each. Replies never overtake each other, so the three queues
//! are one queue with two moving bounds.

use warpshard_base::{Addr, Cycle, LinkId, Ring, SectorMask};
use warpshard_config::machine::Machine;
use warpshard_protocol::{CreditReceiver, CreditSender, MemPacket, Outbox, Payload};

/// The links of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct SmPorts {
    /// Outgoing link: memory requests to the request subnet.
    pub to_request_net: LinkId,
    /// Outgoing link: notices to the grid scheduler.
    pub to_grid: LinkId,
    /// Outgoing link: credits to the reply subnet.
    pub reply_credit: LinkId,
    /// Incoming link: replies from the reply subnet.
    pub from_reply_net: LinkId,
    /// Incoming link: credits from the request subnet.
    pub request_credit: LinkId,
    /// Incoming link: CTAs from the grid scheduler.
    pub from_grid: LinkId,
    /// Outgoing and incoming link of the network between the SMs of clusters, if the workload has clusters.
    pub peers: Option<(LinkId, LinkId)>,
}

/// The part of a reply that the SM uses.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct MemoryReply {
    pub(super) addr: Addr,
    pub(super) token: u32,
    pub(super) sectors: SectorMask,
}

/// The request and reply ports of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct SmNet {
    ports: SmPorts,
    /// Credits for requests to the request subnet.
    request_credits: CreditSender,
    /// Credits for slots of the network output that replies have left.
    reply_credits: CreditReceiver,
    /// The replies of the response queue, then of the ejection queue, then those at the network output.
    replies: Ring<(Cycle, MemoryReply)>,
    /// Replies that have left the network.
    arrived: u32,
    /// Replies in the response queue.
    responses: u32,
    /// Capacity of the response queue.
    response_queue: u32,
    /// Capacity of the ejection queue.
    ejection_queue: u32,
    /// Replies that advance per cycle.
    width: u32,
    /// The cycle in which the first reply arrives at the network output.
    next_reply: Cycle,
    /// The first cycle in which a reply or credits advance; a past cycle means the present.
    next_due: Cycle,
}

impl SmNet {
    pub(super) fn new(machine: &Machine, ports: SmPorts, queue: u16) -> Self {
        Self {
            request_credits: CreditSender::new(machine.noc.input_queue),
            reply_credits: CreditReceiver::new(ports.reply_credit, queue, machine.noc.output_queue),
            ports,
            replies: Ring::new(16),
            arrived: 0,
            responses: 0,
            response_queue: machine.gpu.sm.lsu.response_queue.max(1),
            ejection_queue: machine.gpu.sm.lsu.ejection_queue.max(1),
            width: machine.gpu.sm.lsu.replies.max(1),
            next_reply: Cycle::NEVER,
            next_due: Cycle::NEVER,
        }
    }

    /// Returns the link for notices to the grid scheduler.
    pub(super) fn to_grid(&self) -> LinkId {
        self.ports.to_grid
    }

    #[inline]
    pub(super) fn credit(&mut self, at: Cycle, count: u16) {
        self.request_credits.deliver(at, count);
        self.next_due = self.next_due.min(at);
    }

    #[inline]
    pub(super) fn reply(&mut self, at: Cycle, packet: &MemPacket) {
        let (addr, token, sectors) = (packet.addr, packet.token, packet.sectors());
        self.replies.append((at, MemoryReply { addr, token, sectors }));
        self.next_reply = self.next_reply.min(at);
        self.next_due = self.next_due.min(at);
    }

    /// Prefetches the data that the next cycles need first.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.replies.prefetch_first(8);
    }

    /// Returns true if a request can be sent.
    #[inline]
    pub(super) fn can_send(&self) -> bool {
        self.request_credits.can_send()
    }

    /// Sends a request; there is a credit.
    // Every request uses this function; without inlining it is written twice.
    #[inline(always)]
    pub(super) fn send(&mut self, now: Cycle, packet: MemPacket, out: &mut Outbox) {
        self.request_credits.spend();
        out.send(self.ports.to_request_net, now, Payload::Mem(packet));
    }

    /// Returns the reply that the load/store unit accepts next.
    #[inline]
    pub(super) fn next_response(&self) -> Option<&MemoryReply> {
        if self.responses == 0 { None } else { self.replies.front().map(|(_, reply)| reply) }
    }

    /// Removes the reply that the load/store unit accepted.
    #[inline]
    pub(super) fn pop_response(&mut self) {
        debug_assert!(self.responses > 0, "a reply is taken from an empty response queue");
        self.arrived -= 1;
        self.responses -= 1;
        self.replies.drop_front();
    }

    /// Adds the credits that arrived; returns true if there were none before.
    fn take_credits(&mut self, now: Cycle) -> bool {
        let none = !self.request_credits.can_send();
        self.request_credits.collect(now);
        none
    }

    /// Returns the number of replies in the ejection queue.
    #[inline]
    fn ejected_replies(&self) -> u32 {
        self.arrived - self.responses
    }

    /// Moves a reply into the response queue; returns true if one moved.
    #[inline]
    fn move_to_response_queue(&mut self) -> bool {
        let moves = (self.ejected_replies() > 0) & (self.responses < self.response_queue);
        self.responses += u32::from(moves);
        moves
    }

    /// Moves a reply at the network output into the ejection queue; returns its token.
    #[inline]
    fn eject(&mut self, now: Cycle, out: &mut Outbox) -> Option<u32> {
        if (self.next_reply > now) | (self.ejected_replies() >= self.ejection_queue) {
            return None;
        }
        let token = self.replies.get(self.arrived as usize)?.1.token;
        self.arrived += 1;
        self.next_reply = self.replies.get(self.arrived as usize).map_or(Cycle::NEVER, |(at, _)| *at);
        self.reply_credits.release(now, out);
        Some(token)
    }

    /// Ejected replies may advance in every cycle, since the load/store unit accepts the replies in front of them.
    #[inline]
    fn find_due(&self) -> Cycle {
        if self.ejected_replies() > 0 { Cycle(0) } else { self.next_reply.min(self.request_credits.next()) }
    }

    /// Returns the first cycle at or after `now` in which a reply or credits advance.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle) -> Cycle {
        self.next_due.max(now)
    }

    /// Returns a description of waiting replies and credits for the deadlock report.
    pub(super) fn describe(&self) -> String {
        let at_output = self.replies.len() - self.arrived as usize;
        format!(
            "{} credits for requests, {at_output} replies at the network's output, {} in the ejection queue, {} for the load/store unit",
            self.request_credits.available(),
            self.ejected_replies(),
            self.responses
        )
    }

    /// Returns true if credits or replies advance in cycle `now`.
    #[inline]
    pub(super) fn is_due(&self, now: Cycle) -> bool {
        self.next_due <= now
    }

    /// Adds the credits that arrived, and moves replies into the response queue and into the ejection queue, one each or up to the width of
    /// the machine. Returns true if the load/store unit has new input, the token of the first reply that left the network, and the number
    /// of further replies that left it.
    // Inlined: it runs in most cycles.
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Cycle, out: &mut Outbox) -> (bool, Option<u32>, u64) {
        let credited = self.request_credits.next() <= now && self.take_credits(now);
        let moves = self.move_to_response_queue() | credited;
        let ejected = self.eject(now, out);
        let more = if self.width > 1 { self.move_more(now, out) } else { (false, 0) };
        self.next_due = self.find_due();
        (moves | more.0, ejected, more.1)
    }

    /// Moves the further replies of a cycle; returns true if the load/store unit has new input, and the number of replies that left the
    /// network.
    #[inline(never)]
    fn move_more(&mut self, now: Cycle, out: &mut Outbox) -> (bool, u64) {
        let (mut moved, mut ejected) = (false, 0);
        for _ in 1..self.width {
            moved |= self.move_to_response_queue();
            ejected += u64::from(self.eject(now, out).is_some());
        }
        (moved, ejected)
    }
}
