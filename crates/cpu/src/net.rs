//! The core's ends of its links: credits towards the request network, replies from the reply network, credits returned.

use std::collections::VecDeque;

use warpshard_base::{Addr, CpuId, Cycle, LinkId, PortId, SectorMask, SliceId};
use warpshard_protocol::{AddressMap, Credit, CreditReceiver, CreditSender, MemOp, MemPacket, NO_KERNEL, Outbox, PacketPart, Payload};

/// Address bits of a core's own space.
const SPACE_BITS: u32 = 48;

/// Distance in DRAM of the same address of neighbouring cores, so that copies of one program do not share rows: a number of
/// 8 KB rows that is odd, so that all banks are reached.
const SPACE_STRIDE: u64 = 9371 << 13;

/// Where an address of `core` lies in the machine: the core's number, counted from 1, stands in the bits from 48 up. Below,
/// spaces of different cores are shifted against each other; that of core 0 is not.
#[inline]
pub fn place(core: CpuId, addr: Addr) -> Addr {
    let core = u64::from(core.0);
    let within = addr.0.wrapping_add(core * SPACE_STRIDE) & ((1 << SPACE_BITS) - 1);
    Addr((core + 1) << SPACE_BITS | within)
}

/// The links of a CPU core, and what it must know of the far ends.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CpuPorts {
    /// Out: memory requests to the request network.
    pub to_request_net: LinkId,
    /// Out: credits to the reply network.
    pub reply_credit: LinkId,
    /// In: replies from the reply network.
    pub from_reply_net: LinkId,
    /// In: credits from the request network.
    pub request_credit: LinkId,
    /// The core's port at the networks: packets carry it as their requester, and credits for replies name it as the queue.
    pub port: PortId,
    /// Requests that the far end takes before it returns credits.
    pub credits: u32,
    /// Writes that the far end also takes, if it keeps them in a separate queue, whose credits come with
    /// queue number 1; `None` where reads and writes share the credits.
    pub write_credits: Option<u32>,
    /// Replies that wait at the far end of the reply network for this core.
    pub reply_queue: u32,
    /// Where addresses lie; `None` sends everything to slice 0.
    #[state(fixed)]
    pub map: Option<AddressMap>,
}

/// Requests out, replies in.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Net {
    core: CpuId,
    ports: CpuPorts,
    line_bytes: u64,
    /// Places for reads (or all requests) and for writes.
    requests: [CreditSender; 2],
    /// Places for replies.
    returns: CreditReceiver,
    replies: VecDeque<(Cycle, MemPacket)>,
    /// Requests answered in part: their name, line, and the sectors that are still missing.
    partial: Vec<(u32, Addr, u8)>,
    /// Outstanding reads.
    pub(super) reading: u64,
}

impl Net {
    pub(super) fn new(core: CpuId, ports: CpuPorts, line_bytes: u32) -> Self {
        Self {
            core,
            line_bytes: u64::from(line_bytes),
            requests: [ports.credits, ports.write_credits.unwrap_or(0)].map(CreditSender::new),
            returns: CreditReceiver::new(ports.reply_credit, ports.port.0, ports.reply_queue),
            replies: VecDeque::with_capacity(64),
            partial: Vec::with_capacity(16),
            reading: 0,
            ports,
        }
    }

    pub(super) fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        match *payload {
            Payload::Mem(packet) if link == self.ports.from_reply_net => self.replies.push_back((at, packet)),
            Payload::Credit(Credit { queue, count }) if link == self.ports.request_credit => {
                let pool = if self.ports.write_credits.is_some() { usize::from(queue & 1) } else { 0 };
                self.requests[pool].deliver(at, count);
            }
            other => panic!("{}: {link} brings {other:?} at {at}, which no CPU core expects", self.core),
        }
    }

    #[inline]
    fn pool(&self, op: MemOp) -> usize {
        usize::from(op == MemOp::Write && self.ports.write_credits.is_some())
    }

    #[inline]
    pub(super) fn can_send(&self, op: MemOp) -> bool {
        self.requests[self.pool(op)].can_send()
    }

    /// Sends a request for the line of `addr`, an address of the core's own space; there is a credit.
    #[inline]
    pub(super) fn send(&mut self, now: Cycle, op: MemOp, addr: Addr, token: u32, out: &mut Outbox) {
        let pool = self.pool(op);
        self.requests[pool].spend();
        self.reading += u64::from(op == MemOp::Read);
        let placed = place(self.core, addr);
        let sectors = match self.line_bytes {
            32 => SectorMask::of(placed),
            64 => SectorMask(3 << (placed.sector_index() & 2)),
            _ => SectorMask::ALL,
        };
        let packet = MemPacket {
            addr: if self.line_bytes == 32 { placed.sector() } else { placed.line() },
            token,
            bytes: u32::MAX,
            port: self.ports.port,
            slice: self.ports.map.as_ref().map_or(SliceId(0), |map| map.slice_of(placed)),
            part: PacketPart::new(NO_KERNEL, sectors),
            op,
        };
        out.send(self.ports.to_request_net, now, Payload::Mem(packet));
    }

    /// Takes the credits that came by `now`.
    #[inline]
    pub(super) fn take_credits(&mut self, now: Cycle) {
        for pool in &mut self.requests {
            if pool.next() <= now {
                pool.collect(now);
            }
        }
    }

    /// Takes one reply, and returns the name of a read that is complete with it and its line in the core's own space.
    #[inline]
    pub(super) fn take_reply(&mut self, now: Cycle, out: &mut Outbox) -> Option<(u32, Addr)> {
        let &(_, packet) = self.replies.front().filter(|(at, _)| *at <= now)?;
        self.replies.pop_front();
        self.returns.release(now, out);
        if packet.op != MemOp::Read || !self.is_whole(&packet) {
            return None;
        }
        self.reading -= 1;
        let line = packet.addr.line().0.wrapping_sub(u64::from(self.core.0) * SPACE_STRIDE) & ((1 << SPACE_BITS) - 1);
        Some((packet.token, Addr(line)))
    }

    /// Whether the sectors of `packet` are the last that its request waited for.
    fn is_whole(&mut self, packet: &MemPacket) -> bool {
        let wanted = (self.line_bytes / warpshard_base::SECTOR_BYTES) as u32;
        if packet.sectors().count() == wanted {
            return true;
        }
        let line = packet.addr.line();
        let known = self.partial.iter().position(|(token, addr, _)| *token == packet.token && *addr == line);
        let at = known.unwrap_or_else(|| {
            let all = if wanted == 4 { SectorMask::ALL.0 } else { 3 << (packet.sectors().0.trailing_zeros() & 2) };
            self.partial.push((packet.token, line, all));
            self.partial.len() - 1
        });
        self.partial[at].2 &= !packet.sectors().0;
        let whole = self.partial[at].2 == 0;
        if whole {
            self.partial.swap_remove(at);
        }
        whole
    }

    /// The first cycle at which a credit or a reply is to be taken.
    #[inline]
    pub(super) fn next_event(&self) -> Cycle {
        let reply = self.replies.front().map_or(Cycle::NEVER, |(at, _)| *at);
        let [reads, writes] = &self.requests;
        reply.min(reads.next()).min(writes.next())
    }

    /// Credits and replies, for reports of a standstill.
    pub(super) fn describe(&self) -> String {
        format!(
            "{} credits for requests, {} reads under way, {} replies waiting",
            self.requests[0].available(),
            self.reading,
            self.replies.len()
        )
    }
}
