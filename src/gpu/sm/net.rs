//! The SM's ends of its links: credits towards the request subnet, replies from the reply subnet, credits returned for them.
//!
//! A reply waits at the network's output (whose places the reply subnet's credits stand for), moves to the ejection queue
//! and from there to the response queue of the load/store unit, one packet per cycle each.

use std::collections::VecDeque;

use crate::base::{Addr, Cycle, LinkId, Ring, SectorMask};
use crate::config::machine::Machine;
use crate::protocol::{Credit, MemPacket, Outbox, Payload};

/// The links of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// What the SM needs to know of a reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    pub(super) addr: Addr,
    pub(super) token: u32,
    pub(super) sectors: SectorMask,
}

/// Requests out, replies in.
#[derive(Debug)]
pub(super) struct Net {
    ports: SmPorts,
    queue: u16,
    credits: u32,
    credits_coming: VecDeque<(Cycle, u16)>,
    at_output: VecDeque<(Cycle, Reply)>,
    ejection: Ring<Reply>,
    freed: u16,
    batch: u16,
}

impl Net {
    pub(super) fn new(machine: &Machine, ports: SmPorts, queue: u16) -> Self {
        Self {
            ports,
            queue,
            credits: machine.noc.input_queue,
            credits_coming: VecDeque::with_capacity(8),
            at_output: VecDeque::with_capacity(64),
            ejection: Ring::new((machine.gpu.sm.lsu.ejection_queue as usize).max(1)),
            freed: 0,
            batch: (machine.noc.output_queue / 32).clamp(1, u32::from(u16::MAX)) as u16,
        }
    }

    pub(super) fn credit(&mut self, at: Cycle, count: u16) {
        self.credits_coming.push_back((at, count));
    }

    pub(super) fn reply(&mut self, at: Cycle, packet: &MemPacket) {
        let MemPacket { addr, token, sectors, .. } = *packet;
        self.at_output.push_back((at, Reply { addr, token, sectors }));
    }

    /// Whether a request can be sent.
    #[inline]
    pub(super) fn can_send(&self) -> bool {
        self.credits > 0
    }

    /// Sends a request; there is a credit.
    #[inline]
    pub(super) fn send(&mut self, now: Cycle, packet: MemPacket, out: &mut Outbox) {
        debug_assert!(self.credits > 0, "a request without a credit");
        self.credits -= 1;
        out.send(self.ports.to_request_net, now, Payload::Mem(packet));
    }

    /// Takes the credits that came, and moves one reply to `responses` and one into the ejection queue.
    /// Returns how many replies left the network.
    #[inline]
    pub(super) fn cycle(&mut self, now: Cycle, responses: &mut Ring<Reply>, out: &mut Outbox) -> u64 {
        while let Some(&(_, count)) = self.credits_coming.front().filter(|(at, _)| *at <= now) {
            self.credits_coming.pop_front();
            self.credits += u32::from(count);
        }
        if !responses.is_full()
            && let Some(reply) = self.ejection.pop()
        {
            responses.push(reply);
        }
        if self.ejection.is_full() {
            return 0;
        }
        let Some(&(_, reply)) = self.at_output.front().filter(|(at, _)| *at <= now) else { return 0 };
        self.at_output.pop_front();
        self.ejection.push(reply);
        self.freed += 1;
        if self.freed == self.batch {
            let credit = Credit { queue: self.queue, count: self.freed };
            out.send(self.ports.reply_credit, now, Payload::Credit(credit));
            self.freed = 0;
        }
        1
    }

    /// The first cycle at or after `now` in which [`Net::cycle`] has something to do.
    #[inline]
    pub(super) fn next_event(&self, now: Cycle) -> Cycle {
        if !self.ejection.is_empty() {
            return now;
        }
        let reply = self.at_output.front().map_or(Cycle::NEVER, |(at, _)| *at);
        let credit = self.credits_coming.front().map_or(Cycle::NEVER, |(at, _)| *at);
        reply.min(credit).max(now)
    }

    /// Replies that wait, and credits left, for reports of a standstill.
    pub(super) fn describe(&self) -> String {
        format!(
            "{} credits for requests, {} replies at the network's output, {} in the ejection queue",
            self.credits,
            self.at_output.len(),
            self.ejection.len()
        )
    }
}
