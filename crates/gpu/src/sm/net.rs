//! The SM's ends of its links: credits towards the request subnet, replies from the reply subnet, credits returned for them.
//!
//! A reply waits at the network's output (whose places the reply subnet's credits stand for), moves to the ejection queue
//! and from there to the response queue of the load/store unit, one packet per cycle each. As none overtakes another, the
//! three are one queue in which two bounds move.

use warpshard_base::{Addr, Cycle, LinkId, Ring, SectorMask};
use warpshard_config::machine::Machine;
use warpshard_protocol::{CreditReceiver, CreditSender, MemPacket, Outbox, Payload};

/// The links of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct SmPorts {
    /// Out: memory requests to the request subnet.
    pub to_request_net: LinkId,
    /// Out: notices to the grid scheduler.
    pub to_grid: LinkId,
    /// Out: credits to the reply subnet.
    pub reply_credit: LinkId,
    /// In: replies from the reply subnet.
    pub from_reply_net: LinkId,
    /// In: credits from the request subnet.
    pub request_credit: LinkId,
    /// In: CTAs from the grid scheduler.
    pub from_grid: LinkId,
    /// Out and in: the network between the SMs of clusters, where the workload has clusters.
    pub peers: Option<(LinkId, LinkId)>,
}

/// What the SM needs to know of a reply.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct Reply {
    pub(super) addr: Addr,
    pub(super) token: u32,
    pub(super) sectors: SectorMask,
}

/// Requests out, replies in.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Net {
    ports: SmPorts,
    /// Places for requests at the request subnet.
    requests: CreditSender,
    /// Places of the network's output, which replies leave.
    returns: CreditReceiver,
    /// The response queue, after it the ejection queue, after that what waits at the network's output.
    replies: Ring<(Cycle, Reply)>,
    /// Replies that left the network, and those of them that are in the response queue.
    arrived: u32,
    responses: u32,
    /// How many these take.
    response_queue: u32,
    ejection_queue: u32,
    /// Replies that move on in a cycle.
    width: u32,
    /// When the first reply gets to the network's output.
    next_reply: Cycle,
    /// The first cycle in which a reply or credits move on; a cycle that passed stands for the present.
    due: Cycle,
}

impl Net {
    pub(super) fn new(machine: &Machine, ports: SmPorts, queue: u16) -> Self {
        Self {
            requests: CreditSender::new(machine.noc.input_queue),
            returns: CreditReceiver::new(ports.reply_credit, queue, machine.noc.output_queue),
            ports,
            replies: Ring::new(16),
            arrived: 0,
            responses: 0,
            response_queue: machine.gpu.sm.lsu.response_queue.max(1),
            ejection_queue: machine.gpu.sm.lsu.ejection_queue.max(1),
            width: machine.gpu.sm.lsu.replies.max(1),
            next_reply: Cycle::NEVER,
            due: Cycle::NEVER,
        }
    }

    /// Where notices to the grid scheduler go.
    pub(super) fn to_grid(&self) -> LinkId {
        self.ports.to_grid
    }

    #[inline]
    pub(super) fn credit(&mut self, at: Cycle, count: u16) {
        self.requests.deliver(at, count);
        self.due = self.due.min(at);
    }

    #[inline]
    pub(super) fn reply(&mut self, at: Cycle, packet: &MemPacket) {
        let (addr, token, sectors) = (packet.addr, packet.token, packet.sectors());
        self.replies.append((at, Reply { addr, token, sectors }));
        self.next_reply = self.next_reply.min(at);
        self.due = self.due.min(at);
    }

    /// Prefetches what the next cycles begin with.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.replies.prefetch_first(8);
    }

    /// Whether a request can be sent.
    #[inline]
    pub(super) fn can_send(&self) -> bool {
        self.requests.can_send()
    }

    /// Sends a request; there is a credit.
    // Every request goes through here; otherwise it is written twice.
    #[inline(always)]
    pub(super) fn send(&mut self, now: Cycle, packet: MemPacket, out: &mut Outbox) {
        self.requests.spend();
        out.send(self.ports.to_request_net, now, Payload::Mem(packet));
    }

    /// The reply that the load/store unit takes next.
    #[inline]
    pub(super) fn response(&self) -> Option<&Reply> {
        if self.responses == 0 { None } else { self.replies.front().map(|(_, reply)| reply) }
    }

    /// The load/store unit took a reply.
    #[inline]
    pub(super) fn pop_response(&mut self) {
        debug_assert!(self.responses > 0, "a reply is taken that is not there");
        self.arrived -= 1;
        self.responses -= 1;
        self.replies.drop_front();
    }

    /// Takes the credits that came; returns whether there were none before.
    fn take_credits(&mut self, now: Cycle) -> bool {
        let none = !self.requests.can_send();
        self.requests.collect(now);
        none
    }

    /// Replies in the ejection queue.
    #[inline]
    fn ejected(&self) -> u32 {
        self.arrived - self.responses
    }

    /// Moves a reply into the response queue; returns whether one moved.
    #[inline]
    fn respond(&mut self) -> bool {
        let moves = (self.ejected() > 0) & (self.responses < self.response_queue);
        self.responses += u32::from(moves);
        moves
    }

    /// Moves a reply that is at the network's output into the ejection queue; returns its name.
    #[inline]
    fn eject(&mut self, now: Cycle, out: &mut Outbox) -> Option<u32> {
        if (self.next_reply > now) | (self.ejected() >= self.ejection_queue) {
            return None;
        }
        let token = self.replies.get(self.arrived as usize)?.1.token;
        self.arrived += 1;
        self.next_reply = self.replies.get(self.arrived as usize).map_or(Cycle::NEVER, |(at, _)| *at);
        self.returns.release(now, out);
        Some(token)
    }

    /// Replies that are ejected may move on in every cycle, since the load/store unit takes those in front of them.
    #[inline]
    fn find_due(&self) -> Cycle {
        if self.ejected() > 0 { Cycle(0) } else { self.next_reply.min(self.requests.next()) }
    }

    /// The first cycle at or after `now` in which a reply or credits move on.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle) -> Cycle {
        self.due.max(now)
    }

    /// Replies that wait, and credits left, for reports of a standstill.
    pub(super) fn describe(&self) -> String {
        let at_output = self.replies.len() - self.arrived as usize;
        format!(
            "{} credits for requests, {at_output} replies at the network's output, {} in the ejection queue, {} for the load/store unit",
            self.requests.available(),
            self.ejected(),
            self.responses
        )
    }

    /// Whether credits or replies move on in cycle `now`.
    #[inline]
    pub(super) fn is_due(&self, now: Cycle) -> bool {
        self.due <= now
    }

    /// Takes the credits that came, and moves one reply into the response queue and one into the ejection queue, or as many as the machine says. Returns whether the
    /// load/store unit has something new to look at, the name of the reply that left the network, and how many others did.
    // In most cycles.
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Cycle, out: &mut Outbox) -> (bool, Option<u32>, u64) {
        let credited = self.requests.next() <= now && self.take_credits(now);
        let moves = self.respond() | credited;
        let ejected = self.eject(now, out);
        let more = if self.width > 1 { self.move_more(now, out) } else { (false, 0) };
        self.due = self.find_due();
        (moves | more.0, ejected, more.1)
    }

    /// Moves the further replies of a cycle; returns whether the load/store unit has something new to look at, and how many left the network.
    #[inline(never)]
    fn move_more(&mut self, now: Cycle, out: &mut Outbox) -> (bool, u64) {
        let (mut moved, mut ejected) = (false, 0);
        for _ in 1..self.width {
            moved |= self.respond();
            ejected += u64::from(self.eject(now, out).is_some());
        }
        (moved, ejected)
    }
}
