//! Contexts of preempted and restored CTAs as memory traffic.
//!
//! In: the registers and shared memory of a CTA, in bytes. Out: writes or reads that bypass the L1, one packet per cycle when the rest of
//! the unit sends none; the warps of the CTA as a signal when all packets are acknowledged. Each CTA has a separate region in memory, so a
//! context that is restored soon is found in the LLC.

use warpshard_base::{Addr, CtaIndex, Cycle, KernelIndex, LINE_BYTES, SECTOR_BYTES, SectorMask, address_space};
use warpshard_protocol::MemOp;
use warpshard_workload::KernelInfo;

/// Start of the contexts in the address space of an application, above the addresses that programs and traces use.
const CONTEXTS_START: u64 = 1 << 47;
/// Bytes of the contexts of a kernel.
const BYTES_PER_KERNEL: u64 = 1 << 36;
/// Kernels with separate regions for contexts; further kernels share these regions.
const SEPARATE_KERNELS: u64 = 1 << 10;

/// A context in transfer.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct ContextTransfer {
    warps: u64,
    kernel: KernelIndex,
    op: MemOp,
    next: Addr,
    end: Addr,
    /// Sectors that are sent and not acknowledged.
    open: u32,
}

/// A part of a context to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContextPart {
    pub(super) addr: Addr,
    pub(super) sectors: SectorMask,
    pub(super) op: MemOp,
    pub(super) kernel: KernelIndex,
    /// The first warp of the CTA.
    pub(super) warp: u8,
}

/// The contexts in transfer.
#[derive(Debug, warpshard_state::State)]
pub(super) struct ContextTransfers {
    transfers: Vec<ContextTransfer>,
    /// True if a packet has one sector instead of a line.
    by_sector: bool,
}

impl ContextTransfers {
    pub(super) fn new(by_sector: bool) -> Self {
        Self { transfers: Vec::new(), by_sector }
    }

    /// Begins to transfer `bytes` of the context of the CTA that has `warps`.
    pub(super) fn begin(&mut self, op: MemOp, warps: u64, (kernel, info): (KernelIndex, &KernelInfo), cta: CtaIndex, bytes: u64) {
        let size = bytes.next_multiple_of(LINE_BYTES);
        let within = (u64::from(cta.0) * size) % BYTES_PER_KERNEL;
        let start =
            address_space(info.app).wrapping_add(CONTEXTS_START + u64::from(kernel.0) % SEPARATE_KERNELS * BYTES_PER_KERNEL + within);
        self.transfers.push(ContextTransfer { warps, kernel, op, next: Addr(start), end: Addr(start + bytes), open: 0 });
    }

    /// Returns the first cycle at or after `now` in which a packet can be sent.
    pub(super) fn next_event(&self, now: Cycle, can_send: bool) -> Cycle {
        if can_send && self.transfers.iter().any(|part| part.next < part.end) { now } else { Cycle::NEVER }
    }

    /// Removes and returns the next part to send, from the oldest context.
    pub(super) fn pop(&mut self) -> Option<ContextPart> {
        let part = self.transfers.iter_mut().find(|part| part.next < part.end)?;
        let addr = part.next;
        let sectors = if self.by_sector { SectorMask::of(addr) } else { SectorMask::ALL };
        part.next = Addr(addr.0 + if self.by_sector { SECTOR_BYTES } else { LINE_BYTES });
        part.open += sectors.count();
        Some(ContextPart { addr, sectors, op: part.op, kernel: part.kernel, warp: part.warps.trailing_zeros() as u8 })
    }

    /// Records a reply; returns the warps of the CTA whose context it completes.
    pub(super) fn record_reply(&mut self, warp: u8, sectors: SectorMask) -> u64 {
        let Some(at) = self.transfers.iter().position(|part| part.warps.trailing_zeros() == u32::from(warp)) else {
            panic!("a reply for the context of warp {warp}, which is not in transfer")
        };
        let part = &mut self.transfers[at];
        part.open -= sectors.count();
        if part.open > 0 || part.next < part.end { 0 } else { self.transfers.swap_remove(at).warps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machine::kernel_info;
    use warpshard_base::AppId;

    fn begin_transfer(by_sector: bool, bytes: u64) -> ContextTransfers {
        let mut contexts = ContextTransfers::new(by_sector);
        let info = KernelInfo { app: AppId(1), ..kernel_info(64, 8) };
        contexts.begin(MemOp::Write, 0b1100, (KernelIndex(3), &info), CtaIndex(5), bytes);
        contexts
    }

    #[test]
    fn a_context_is_sent_once_and_completes_with_its_last_reply() {
        let mut contexts = begin_transfer(true, 100);
        let parts: Vec<ContextPart> = std::iter::from_fn(|| contexts.pop()).collect();
        assert_eq!(parts.iter().map(|part| part.addr.0 - parts[0].addr.0).collect::<Vec<_>>(), [0, 32, 64, 96]);
        assert!(parts.iter().all(|part| part.warp == 2 && part.addr.application() == 1));
        let done: Vec<u64> = parts.iter().map(|part| contexts.record_reply(2, part.sectors)).collect();
        assert_eq!(done, [0, 0, 0, 0b1100]);
        assert_eq!(contexts.next_event(Cycle(9), true), Cycle::NEVER);
    }

    #[test]
    fn contexts_are_sent_as_lines_without_sector_requests() {
        let mut contexts = begin_transfer(false, 256);
        assert_eq!(contexts.next_event(Cycle(9), true), Cycle(9));
        assert_eq!(contexts.next_event(Cycle(9), false), Cycle::NEVER);
        assert_eq!(std::iter::from_fn(|| contexts.pop()).map(|part| part.sectors).collect::<Vec<_>>(), [SectorMask::ALL; 2]);
    }
}
