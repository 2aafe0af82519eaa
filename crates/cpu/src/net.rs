//! The core's network interface: requests with their credits, and replies with the credits that the core returns.

use std::collections::VecDeque;

use warpshard_base::{Addr, CpuId, Cycle, LinkId, PortId, SectorMask, SliceId};
use warpshard_protocol::{AddressMap, Credit, CreditReceiver, CreditSender, MemOp, MemPacket, NO_KERNEL, Outbox, PacketPart, Payload};

/// Number of address bits of a core's address space.
const SPACE_BITS: u32 = 48;

/// Distance in DRAM between equal addresses of neighbouring cores, so that copies of one program do not share rows: an odd number of 8 KB
/// rows, so that all banks are used.
const SPACE_STRIDE: u64 = 9371 << 13;

/// Returns the machine address of an address of `core`: bits 48 and up contain the core's number, counted from 1, and the lower bits are
/// offset by a different amount for each core (0 for core 0).
#[inline]
pub fn machine_addr(core: CpuId, addr: Addr) -> Addr {
    let core = u64::from(core.0);
    let within = addr.0.wrapping_add(core * SPACE_STRIDE) & ((1 << SPACE_BITS) - 1);
    Addr((core + 1) << SPACE_BITS | within)
}

/// The links of a CPU core, and the parameters of their far ends.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct CpuPorts {
    /// Outgoing link: memory requests to the request network.
    pub to_request_net: LinkId,
    /// Outgoing link: credits to the reply network.
    pub reply_credit: LinkId,
    /// Incoming link: replies from the reply network.
    pub from_reply_net: LinkId,
    /// Incoming link: credits from the request network.
    pub request_credit: LinkId,
    /// The core's port at the networks. Packets name it as their requester, and credits for replies as their queue.
    pub port: PortId,
    /// Initial credits: requests that the far end accepts before it returns a credit.
    pub credits: u32,
    /// Initial credits for writes, if the far end has a separate queue for writes, whose credits have queue number 1; `None` if reads and
    /// writes share the credits.
    pub write_credits: Option<u32>,
    /// Capacity of the reply network's queue for this core, in replies.
    pub reply_queue: u32,
    /// The map from addresses to LLC slices; with `None`, all requests go to slice 0.
    #[state(fixed)]
    pub map: Option<AddressMap>,
}

/// The network interface of a core.
#[derive(Debug, warpshard_state::State)]
pub(super) struct CpuNet {
    core: CpuId,
    ports: CpuPorts,
    line_bytes: u64,
    /// Credits for reads (or all requests) and for writes.
    requests: [CreditSender; 2],
    /// Credits for replies.
    returns: CreditReceiver,
    replies: VecDeque<(Cycle, MemPacket)>,
    /// Requests with partial replies: their token, their line, and the missing sectors.
    partial_lines: Vec<(u32, Addr, u8)>,
    /// Number of outstanding reads.
    pub(super) reads_in_flight: u64,
}

impl CpuNet {
    pub(super) fn new(core: CpuId, ports: CpuPorts, line_bytes: u32) -> Self {
        Self {
            core,
            line_bytes: u64::from(line_bytes),
            requests: [ports.credits, ports.write_credits.unwrap_or(0)].map(CreditSender::new),
            returns: CreditReceiver::new(ports.reply_credit, ports.port.0, ports.reply_queue),
            replies: VecDeque::with_capacity(64),
            partial_lines: Vec::with_capacity(16),
            reads_in_flight: 0,
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
            other => panic!("{}: {link} delivers {other:?} at {at}, which no CPU core expects", self.core),
        }
    }

    #[inline]
    fn credit_pool(&self, op: MemOp) -> usize {
        usize::from(op == MemOp::Write && self.ports.write_credits.is_some())
    }

    #[inline]
    pub(super) fn can_send(&self, op: MemOp) -> bool {
        self.requests[self.credit_pool(op)].can_send()
    }

    /// Sends a request for the line of `addr`, an address in the core's address space; a credit must be available.
    #[inline]
    pub(super) fn send(&mut self, now: Cycle, op: MemOp, addr: Addr, token: u32, out: &mut Outbox) {
        let pool = self.credit_pool(op);
        self.requests[pool].spend();
        self.reads_in_flight += u64::from(op == MemOp::Read);
        let placed = machine_addr(self.core, addr);
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

    /// Receives the credits that have arrived by `now`.
    #[inline]
    pub(super) fn take_credits(&mut self, now: Cycle) {
        for pool in &mut self.requests {
            if pool.next() <= now {
                pool.collect(now);
            }
        }
    }

    /// Receives one reply. If it completes a read, returns the read's token and its line in the core's address space.
    #[inline]
    pub(super) fn take_reply(&mut self, now: Cycle, out: &mut Outbox) -> Option<(u32, Addr)> {
        let &(_, packet) = self.replies.front().filter(|(at, _)| *at <= now)?;
        self.replies.pop_front();
        self.returns.release(now, out);
        if packet.op != MemOp::Read || !self.is_whole(&packet) {
            return None;
        }
        self.reads_in_flight -= 1;
        let line = packet.addr.line().0.wrapping_sub(u64::from(self.core.0) * SPACE_STRIDE) & ((1 << SPACE_BITS) - 1);
        Some((packet.token, Addr(line)))
    }

    /// Returns `true` if the sectors of `packet` complete their request.
    fn is_whole(&mut self, packet: &MemPacket) -> bool {
        let wanted = (self.line_bytes / warpshard_base::SECTOR_BYTES) as u32;
        if packet.sectors().count() == wanted {
            return true;
        }
        let line = packet.addr.line();
        let known = self.partial_lines.iter().position(|(token, addr, _)| *token == packet.token && *addr == line);
        let at = known.unwrap_or_else(|| {
            let all = if wanted == 4 { SectorMask::ALL.0 } else { 3 << (packet.sectors().0.trailing_zeros() & 2) };
            self.partial_lines.push((packet.token, line, all));
            self.partial_lines.len() - 1
        });
        self.partial_lines[at].2 &= !packet.sectors().0;
        let whole = self.partial_lines[at].2 == 0;
        if whole {
            self.partial_lines.swap_remove(at);
        }
        whole
    }

    /// Returns the first cycle at which a credit or a reply can be received.
    #[inline]
    pub(super) fn next_event(&self) -> Cycle {
        let reply = self.replies.front().map_or(Cycle::NEVER, |(at, _)| *at);
        let [reads, writes] = &self.requests;
        reply.min(reads.next()).min(writes.next())
    }

    /// Describes credits and replies, for deadlock reports.
    pub(super) fn describe(&self) -> String {
        format!(
            "{} credits for requests, {} reads in flight, {} replies waiting",
            self.requests[0].available(),
            self.reads_in_flight,
            self.replies.len()
        )
    }
}
