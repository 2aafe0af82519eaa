//! The interface of a memory of one CPU core, and a memory that accepts every request.

use warpshard_base::{Cycle, LinkId};
use warpshard_mem::dram::standard::Standard;
use warpshard_protocol::{Credit, MemOp, MemPacket, Payload};

pub(super) const REPLY_LINK: LinkId = LinkId(2);
pub(super) const REQUEST_CREDIT_LINK: LinkId = LinkId(3);

/// Ratio of the CPU clock to the DRAM's command clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockRatio {
    /// CPU cycles, at least 1.
    pub core: u32,
    /// Command clock cycles, at least 1.
    pub dram: u32,
}

impl ClockRatio {
    /// Returns the default ratio for `standard`: a core of 3.2 GHz for DDR4-2400 (8:3), and twice the command clock for other standards.
    pub fn of(standard: &Standard) -> Self {
        if standard.name == "ddr4-2400r" { Self { core: 8, dram: 3 } } else { Self { core: 2, dram: 1 } }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (core, dram) = text.split_once(':')?;
        let (core, dram) = (core.parse().ok()?, dram.parse().ok()?);
        (1..=1000).contains(&core).then_some(())?;
        (1..=1000).contains(&dram).then_some(Self { core, dram })
    }
}

/// A memory that accepts requests and returns replies.
pub(super) trait CoreMemory {
    /// Returns the initial credits of a core: for reads or all requests, and for writes if they have separate credits.
    fn credits(&self) -> (u32, Option<u32>);
    /// Accepts a request that the core sends in its cycle `at`.
    fn accept(&mut self, at: Cycle, packet: MemPacket);
    /// Returns the first core cycle in which a reply may arrive if no further request is sent.
    fn horizon(&self) -> Cycle;
    /// Simulates the memory up to core cycle `now` and delivers the replies, with the cycles at which they become visible.
    fn catch_up(&mut self, now: Cycle, deliver: &mut dyn FnMut(Cycle, LinkId, Payload));
}

/// A memory of fixed latency that accepts every request.
pub(super) struct FixedLatencyMemory {
    latency: u64,
    replies: Vec<(Cycle, MemPacket)>,
    accepted_requests: u32,
}

impl FixedLatencyMemory {
    pub(super) fn new(latency: u64) -> Self {
        Self { latency, replies: Vec::new(), accepted_requests: 0 }
    }
}

impl CoreMemory for FixedLatencyMemory {
    fn credits(&self) -> (u32, Option<u32>) {
        (1 << 20, None)
    }

    fn accept(&mut self, at: Cycle, packet: MemPacket) {
        self.accepted_requests += 1;
        if packet.op == MemOp::Read {
            self.replies.push((at.after(self.latency), packet));
        }
    }

    fn horizon(&self) -> Cycle {
        Cycle::NEVER
    }

    fn catch_up(&mut self, now: Cycle, deliver: &mut dyn FnMut(Cycle, LinkId, Payload)) {
        for (at, packet) in self.replies.drain(..) {
            deliver(at, REPLY_LINK, Payload::Mem(packet));
        }
        // The core has more credits than a batch, so that it never waits for a credit.
        const CREDIT_BATCH: u16 = 1 << 12;
        if self.accepted_requests >= u32::from(CREDIT_BATCH) {
            self.accepted_requests -= u32::from(CREDIT_BATCH);
            deliver(now, REQUEST_CREDIT_LINK, Payload::Credit(Credit { queue: 0, count: CREDIT_BATCH }));
        }
    }
}
