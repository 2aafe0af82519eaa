//! Contexts of CTAs that leave the SM or come back, as traffic.
//!
//! In: the registers and shared memory of a CTA, in bytes. Out: writes or reads past the L1, one packet per cycle when nothing else of the unit
//! sends one; the warps of the CTA as a signal when all are answered. Each CTA has a place of its own in memory, so a context that is
//! restored soon is found in the LLC.

use warpshard_base::{Addr, CtaIndex, Cycle, KernelIndex, LINE_BYTES, SECTOR_BYTES, SectorMask, address_space};
use warpshard_protocol::MemOp;
use warpshard_workload::KernelInfo;

/// Where contexts begin in the address space of an application, above what programs and traces use.
const BASE: u64 = 1 << 47;
/// Bytes for the contexts of a kernel.
const OF_KERNEL: u64 = 1 << 36;
/// Kernels whose contexts have places of their own; others share them.
const KERNELS: u64 = 1 << 10;

/// A context under way.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Move {
    warps: u64,
    kernel: KernelIndex,
    op: MemOp,
    next: Addr,
    end: Addr,
    /// Sectors sent and not answered.
    open: u32,
}

/// A part of a context to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) addr: Addr,
    pub(super) sectors: SectorMask,
    pub(super) op: MemOp,
    pub(super) kernel: KernelIndex,
    /// The first warp of the CTA.
    pub(super) warp: u8,
}

/// The contexts under way.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Contexts {
    moves: Vec<Move>,
    /// Whether a packet has one sector instead of a line.
    by_sector: bool,
}

impl Contexts {
    pub(super) fn new(by_sector: bool) -> Self {
        Self { moves: Vec::new(), by_sector }
    }

    /// Begins to move `bytes` of the CTA that has `warps`.
    pub(super) fn begin(&mut self, op: MemOp, warps: u64, (kernel, info): (KernelIndex, &KernelInfo), cta: CtaIndex, bytes: u64) {
        let size = bytes.next_multiple_of(LINE_BYTES);
        let within = (u64::from(cta.0) * size) % OF_KERNEL;
        let start = address_space(info.app).wrapping_add(BASE + u64::from(kernel.0) % KERNELS * OF_KERNEL + within);
        self.moves.push(Move { warps, kernel, op, next: Addr(start), end: Addr(start + bytes), open: 0 });
    }

    /// The first cycle at or after `now` in which a packet can be sent.
    pub(super) fn next_event(&self, now: Cycle, can_send: bool) -> Cycle {
        if can_send && self.moves.iter().any(|part| part.next < part.end) { now } else { Cycle::NEVER }
    }

    /// The part that is sent next, of the context that came first.
    pub(super) fn pop(&mut self) -> Option<Part> {
        let part = self.moves.iter_mut().find(|part| part.next < part.end)?;
        let addr = part.next;
        let sectors = if self.by_sector { SectorMask::of(addr) } else { SectorMask::ALL };
        part.next = Addr(addr.0 + if self.by_sector { SECTOR_BYTES } else { LINE_BYTES });
        part.open += sectors.count();
        Some(Part { addr, sectors, op: part.op, kernel: part.kernel, warp: part.warps.trailing_zeros() as u8 })
    }

    /// Takes an answer; returns the warps of the CTA whose context it completes.
    pub(super) fn answered(&mut self, warp: u8, sectors: SectorMask) -> u64 {
        let Some(at) = self.moves.iter().position(|part| part.warps.trailing_zeros() == u32::from(warp)) else {
            panic!("an answer for the context of warp {warp}, which is not under way")
        };
        let part = &mut self.moves[at];
        part.open -= sectors.count();
        if part.open > 0 || part.next < part.end { 0 } else { self.moves.swap_remove(at).warps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machine::kernel_info;
    use warpshard_base::AppId;

    fn begun(by_sector: bool, bytes: u64) -> Contexts {
        let mut contexts = Contexts::new(by_sector);
        let info = KernelInfo { app: AppId(1), ..kernel_info(64, 8) };
        contexts.begin(MemOp::Write, 0b1100, (KernelIndex(3), &info), CtaIndex(5), bytes);
        contexts
    }

    #[test]
    fn a_context_is_sent_once_and_complete_with_its_last_answer() {
        let mut contexts = begun(true, 100);
        let parts: Vec<Part> = std::iter::from_fn(|| contexts.pop()).collect();
        assert_eq!(parts.iter().map(|part| part.addr.0 - parts[0].addr.0).collect::<Vec<_>>(), [0, 32, 64, 96]);
        assert!(parts.iter().all(|part| part.warp == 2 && part.addr.application() == 1));
        let done: Vec<u64> = parts.iter().map(|part| contexts.answered(2, part.sectors)).collect();
        assert_eq!(done, [0, 0, 0, 0b1100]);
        assert_eq!(contexts.next_event(Cycle(9), true), Cycle::NEVER);
    }

    #[test]
    fn lines_are_sent_where_the_coalescer_asks_for_lines() {
        let mut contexts = begun(false, 256);
        assert_eq!(contexts.next_event(Cycle(9), true), Cycle(9));
        assert_eq!(contexts.next_event(Cycle(9), false), Cycle::NEVER);
        assert_eq!(std::iter::from_fn(|| contexts.pop()).map(|part| part.sectors).collect::<Vec<_>>(), [SectorMask::ALL; 2]);
    }
}
