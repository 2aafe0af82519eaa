//! The tensor memory accelerator (TMA): copies between device memory and shared memory that one thread starts.
//!
//! In: copies, and replies to the requests of the unit. Out: requests that bypass the L1, limited in bytes per cycle, and completed copies.
//! Copies send their requests one after the other, one line of memory each. A copy of a tensor first needs its tensor map, which a small
//! cache keeps. A load is complete with its last reply, and a store when its last request has left.
//!
//! Source of the rates: our measurement of an H100 (`bulk` of `validate/reference/h100/micro.json`).

use std::collections::VecDeque;

use warpshard_base::{Addr, KernelIndex, LINE_BYTES, SectorMask};
use warpshard_config::machine::Bulk as Spec;
use warpshard_protocol::MemOp;
use warpshard_workload::{BulkCopy, BulkKind, Pieces};

/// A copy that sends requests.
#[derive(Clone, Debug, warpshard_state::State)]
struct SendingCopy {
    kind: BulkKind,
    pieces: Vec<Pieces>,
    /// Index of the current piece in `pieces`.
    piece: usize,
    /// Index of the current chunk of the piece.
    number: u32,
    /// Bytes of the current chunk that have been requested.
    before: u32,
    kernel: KernelIndex,
    /// Start of the address space of the application.
    space: u64,
    /// Address of the tensor map; 0 if the copy needs none or has it.
    map: u64,
    /// Slot of the copy among the copies in flight.
    slot: u8,
    /// The first cycle in which the copy may send requests.
    at: u64,
}

/// A copy in flight.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct CopyInFlight {
    /// Number of the copy: the number of copies that the unit began before.
    number: u64,
    cta: u8,
    warp: u8,
    /// The barrier that counts the bytes of a load.
    barrier: Option<u32>,
    bytes: u32,
    ctas: u16,
    is_sm_to_sm: bool,
    /// Sectors that are requested and not received.
    open: u32,
    /// True if all requests are sent.
    sent: bool,
}

/// A completed copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct CompletedCopy {
    /// Number of the copy: the number of copies that the unit began before.
    pub(super) number: u64,
    pub(super) cta: u8,
    pub(super) warp: u8,
    /// The barrier that counts the bytes of a load.
    pub(super) barrier: Option<u32>,
    pub(super) bytes: u32,
    /// The CTAs of the cluster that receive the data, as a set; if empty, the address of the barrier selects the CTA.
    pub(super) ctas: u16,
    /// True for a copy from the shared memory of one CTA to the shared memory of another CTA.
    pub(super) is_sm_to_sm: bool,
}

/// A memory request to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BulkRequest {
    pub(super) addr: Addr,
    pub(super) sectors: SectorMask,
    /// The words of the line that the request writes, as a set.
    pub(super) words: u32,
    pub(super) op: MemOp,
    /// The slot of the copy that the reply belongs to; `None` if nothing waits for the reply.
    pub(super) slot: Option<u8>,
    pub(super) kernel: KernelIndex,
}

/// The bulk copy unit of an SM.
#[derive(Debug, warpshard_state::State)]
pub(super) struct BulkUnit {
    #[state(fixed)]
    spec: Spec,
    sending: VecDeque<SendingCopy>,
    in_flight: Vec<Option<CopyInFlight>>,
    /// Copies that have begun.
    begun_copies: u64,
    /// Sectors of all copies that are requested and not received.
    open: u32,
    /// Cached tensor maps, the most recently used first.
    maps: VecDeque<u64>,
    /// The tensor map that is being fetched; true if it has arrived.
    fetched_map: Option<(u64, bool)>,
    /// Bytes that may still be sent in the cycle `at`.
    credit: u64,
    at: u64,
    completed_copies: VecDeque<(u64, CompletedCopy)>,
}

/// Maximum number of copies in flight.
const MAX_COPIES: usize = 255;
/// The slot number in the token of a tensor map.
const TENSOR_MAP_SLOT: u8 = 255;

impl BulkUnit {
    pub(super) fn new(spec: Spec) -> Self {
        Self {
            spec,
            sending: VecDeque::new(),
            in_flight: Vec::new(),
            begun_copies: 0,
            open: 0,
            maps: VecDeque::new(),
            fetched_map: None,
            credit: 0,
            at: 0,
            completed_copies: VecDeque::new(),
        }
    }

    /// Returns true if another copy can begin.
    pub(super) fn has_free_slot(&self) -> bool {
        self.in_flight.iter().flatten().count() < MAX_COPIES
    }

    /// Begins a copy of a warp in cycle `now`, for which a slot is free. Returns the number of the copy.
    pub(super) fn begin(&mut self, copy: BulkCopy, (cta, warp): (u8, u8), (kernel, space): (KernelIndex, u64), now: u64) -> u64 {
        let BulkCopy { kind, bytes, barrier, ctas, map, pieces } = copy;
        let is_sm_to_sm = kind == BulkKind::Move;
        let flight = CopyInFlight { number: self.begun_copies, cta, warp, barrier, bytes, ctas, is_sm_to_sm, open: 0, sent: false };
        self.begun_copies += 1;
        let slot = match self.in_flight.iter().position(Option::is_none) {
            Some(slot) => slot,
            None => {
                self.in_flight.push(None);
                self.in_flight.len() - 1
            }
        };
        self.in_flight[slot] = Some(flight);
        let at = now + u64::from(self.spec.latency);
        let pieces = pieces.into_iter().filter(|piece| piece.bytes > 0 && piece.count > 0).collect();
        self.sending.push_back(SendingCopy { kind, pieces, piece: 0, number: 0, before: 0, kernel, space, map, slot: slot as u8, at });
        flight.number
    }

    /// Returns the number of the last incomplete store of a warp.
    pub(super) fn last_store(&self, warp: u8) -> Option<u64> {
        let in_flight = self.in_flight.iter().flatten().filter(|copy| copy.warp == warp && copy.barrier.is_none()).map(|copy| copy.number);
        let ending =
            self.completed_copies.iter().filter(|(_, copy)| copy.warp == warp && copy.barrier.is_none()).map(|(_, copy)| copy.number);
        in_flight.chain(ending).max()
    }

    /// Returns the first cycle at or after `now` with an event; `can_send` is true if requests can be sent.
    pub(super) fn next_event(&self, now: u64, can_send: bool) -> u64 {
        let complete = self.completed_copies.front().map_or(u64::MAX, |(at, _)| *at);
        let sends = match self.sending.front() {
            Some(front) if front.at > now => front.at,
            Some(front) if front.map != 0 && matches!(self.fetched_map, Some((map, false)) if map == front.map) => u64::MAX,
            Some(front) if front.pieces.is_empty() && front.map == 0 => now,
            Some(_) if can_send && self.open < self.spec.in_flight => now,
            _ => u64::MAX,
        };
        complete.min(sends).max(now)
    }

    /// Returns the next request of cycle `now`, which the network accepts.
    pub(super) fn next_request(&mut self, now: u64) -> Option<BulkRequest> {
        let rate = |kind| {
            u64::from(if kind == BulkKind::Load || kind == BulkKind::Prefetch { self.spec.load_bytes } else { self.spec.store_bytes })
        };
        let front = self.sending.front_mut().filter(|front| front.at <= now)?;
        if now != self.at {
            // The unused bytes of the preceding cycle remain available.
            let left = if now == self.at + 1 { self.credit.min(LINE_BYTES) } else { 0 };
            (self.at, self.credit) = (now, left + rate(front.kind));
        }
        if self.open >= self.spec.in_flight {
            return None;
        }
        if front.map != 0 {
            match self.fetched_map {
                Some((map, false)) if map == front.map => return None,
                _ => {}
            }
            let known = self.maps.iter().position(|map| *map == front.map);
            if known.is_none() && self.fetched_map != Some((front.map, true)) {
                self.fetched_map = Some((front.map, false));
                let addr = Addr((front.map & !(LINE_BYTES - 1)).wrapping_add(front.space));
                return Some(BulkRequest {
                    addr,
                    sectors: SectorMask::ALL,
                    words: u32::MAX,
                    op: MemOp::Read,
                    slot: Some(TENSOR_MAP_SLOT),
                    kernel: front.kernel,
                });
            }
            if let Some(known) = known {
                self.maps.remove(known);
            }
            self.fetched_map = None;
            self.maps.push_front(front.map);
            self.maps.truncate(self.spec.maps as usize);
            front.map = 0;
        }
        let Some(piece) = front.pieces.get(front.piece) else {
            self.finish_sending(now);
            return None;
        };
        let start = piece.address.wrapping_add(u64::from(front.number) * piece.stride) + u64::from(front.before);
        let bytes = (LINE_BYTES - start % LINE_BYTES).min(u64::from(piece.bytes - front.before));
        if self.credit < bytes {
            return None;
        }
        self.credit -= bytes;
        let line = start & !(LINE_BYTES - 1);
        let word = |byte: u64| (byte / 4) as u32;
        let words = (u32::MAX >> (31 - word(start + bytes - 1 - line))) & (u32::MAX << word(start - line));
        let sectors = (start..start + bytes).step_by(32).chain([start + bytes - 1]).map(|at| SectorMask::of(Addr(at)));
        let sectors = SectorMask(sectors.fold(0, |all, one| all | one.0));
        let (kind, kernel, slot) = (front.kind, front.kernel, front.slot);
        front.before += bytes as u32;
        if front.before == piece.bytes {
            (front.before, front.number) = (0, front.number + 1);
            if front.number == piece.count {
                (front.number, front.piece) = (0, front.piece + 1);
            }
        }
        let over = front.piece == front.pieces.len();
        let addr = Addr(line.wrapping_add(front.space));
        let op = match kind {
            BulkKind::Load | BulkKind::Prefetch => MemOp::Read,
            BulkKind::Reduce => MemOp::Reduction,
            BulkKind::Store | BulkKind::Move => MemOp::Write,
        };
        let answered = kind == BulkKind::Load;
        if answered {
            self.open += sectors.count();
            if let Some(copy) = &mut self.in_flight[usize::from(slot)] {
                copy.open += sectors.count();
            }
        }
        if over {
            self.finish_sending(now);
        }
        Some(BulkRequest { addr, sectors, words, op, slot: answered.then_some(slot), kernel })
    }

    /// Removes the first copy, whose requests have all been sent.
    fn finish_sending(&mut self, now: u64) {
        let Some(SendingCopy { slot, .. }) = self.sending.pop_front() else { return };
        if let Some(copy) = &mut self.in_flight[usize::from(slot)] {
            copy.sent = true;
        }
        self.complete_if_done(slot, now);
    }

    /// Completes a copy that has sent all requests and has no outstanding sectors.
    fn complete_if_done(&mut self, slot: u8, now: u64) {
        let slot = &mut self.in_flight[usize::from(slot)];
        if let Some(CopyInFlight { number, cta, warp, barrier, bytes, ctas, is_sm_to_sm, .. }) =
            slot.take_if(|copy| copy.sent && copy.open == 0)
        {
            let latency = if barrier.is_some() { self.spec.load_end } else { self.spec.store_end };
            let at = now + u64::from(latency);
            let after = self.completed_copies.partition_point(|(other, _)| *other <= at);
            self.completed_copies.insert(after, (at, CompletedCopy { number, cta, warp, barrier, bytes, ctas, is_sm_to_sm }));
        }
    }

    /// Records a reply.
    pub(super) fn record_reply(&mut self, slot: u8, sectors: SectorMask, now: u64) {
        if slot == TENSOR_MAP_SLOT {
            if let Some((_, come)) = &mut self.fetched_map {
                *come = true;
            }
            return;
        }
        self.open -= sectors.count();
        if let Some(copy) = &mut self.in_flight[usize::from(slot)] {
            copy.open -= sectors.count();
        }
        self.complete_if_done(slot, now);
    }

    /// Removes and returns the next copy that is complete in cycle `now`.
    pub(super) fn next_complete(&mut self, now: u64) -> Option<CompletedCopy> {
        self.completed_copies.pop_front_if(|(at, _)| *at <= now).map(|(_, copy)| copy)
    }

    /// Returns true if a copy of `warps` is in flight.
    pub(super) fn holds(&self, warps: u64) -> bool {
        let in_flight = self.in_flight.iter().flatten().map(|copy| copy.warp);
        in_flight.chain(self.completed_copies.iter().map(|(_, copy)| copy.warp)).any(|warp| warps >> warp & 1 != 0)
    }

    /// Returns a description for the deadlock report.
    pub(super) fn describe(&self) -> String {
        format!("{} bulk copies in flight, {} of them with requests to send", self.in_flight.iter().flatten().count(), self.sending.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: KernelIndex = KernelIndex(1);

    fn unit() -> BulkUnit {
        BulkUnit::new(Spec { latency: 10, load_bytes: 128, store_bytes: 32, load_end: 5, store_end: 7, maps: 1, in_flight: 64 })
    }

    fn copy(kind: BulkKind, map: u64, pieces: Vec<Pieces>) -> BulkCopy {
        let bytes = pieces.iter().map(|piece| piece.bytes * piece.count).sum();
        BulkCopy { kind, bytes, barrier: (kind == BulkKind::Load).then_some(0x400), ctas: 0, map, pieces }
    }

    /// Returns the requests until cycle `end`, each with its cycle.
    fn requests(unit: &mut BulkUnit, end: u64) -> Vec<(u64, BulkRequest)> {
        let mut all = Vec::new();
        for now in 0..end {
            all.extend(std::iter::from_fn(|| unit.next_request(now)).map(|request| (now, request)));
        }
        all
    }

    #[test]
    fn a_bulk_load_requests_lines_and_completes_with_its_last_reply() {
        let mut unit = unit();
        let rows = Pieces { address: 0x10_0040, bytes: 128, count: 2, stride: 0x1000 };
        unit.begin(copy(BulkKind::Load, 0, vec![rows]), (3, 9), (KERNEL, 1 << 50), 0);
        assert_eq!((unit.next_event(0, true), unit.next_event(10, false)), (10, u64::MAX));
        let sent = requests(&mut unit, 40);
        let lines: Vec<_> = sent.iter().map(|(at, request)| (*at, request.addr.0 - (1 << 50), request.sectors.count())).collect();
        assert_eq!(lines, [(10, 0x10_0000, 2), (10, 0x10_0080, 2), (11, 0x10_1000, 2), (11, 0x10_1080, 2)]);
        assert!(sent.iter().all(|(_, request)| request.op == MemOp::Read && request.slot == Some(0) && request.kernel == KERNEL));
        for (answers, (_, request)) in sent.iter().enumerate() {
            assert!(unit.holds(1 << 9) && unit.next_complete(100).is_none(), "{answers}");
            unit.record_reply(0, request.sectors, 50);
        }
        assert_eq!((unit.next_complete(54), unit.next_event(50, true)), (None, 55));
        assert_eq!(
            unit.next_complete(55),
            Some(CompletedCopy { number: 0, cta: 3, warp: 9, barrier: Some(0x400), bytes: 256, ctas: 0, is_sm_to_sm: false })
        );
        assert!(!unit.holds(u64::MAX) && unit.has_free_slot());
    }

    #[test]
    fn a_store_is_complete_when_its_last_request_has_left() {
        let mut unit = unit();
        unit.begin(copy(BulkKind::Store, 0, vec![Pieces { address: 0x2010, bytes: 240, count: 1, stride: 0 }]), (0, 0), (KERNEL, 0), 0);
        let sent = requests(&mut unit, 40);
        let writes: Vec<_> = sent.iter().map(|(at, request)| (*at, request.addr.0, request.words, request.op, request.slot)).collect();
        assert_eq!(writes, [(13, 0x2000, 0xffff_fff0, MemOp::Write, None), (17, 0x2080, u32::MAX, MemOp::Write, None)]);
        assert_eq!((unit.last_store(0), unit.last_store(1)), (Some(0), None));
        assert_eq!((unit.next_complete(23), unit.next_complete(24).map(|copy| copy.barrier)), (None, Some(None)));
        assert_eq!(unit.last_store(0), None);
    }

    #[test]
    fn a_tensor_map_is_fetched_before_the_first_request_and_cached() {
        let mut unit = unit();
        let piece = Pieces { address: 0x8000, bytes: 32, count: 1, stride: 0 };
        let begin = |unit: &mut BulkUnit, map| unit.begin(copy(BulkKind::Load, map, vec![piece]), (0, 0), (KERNEL, 0), 0);
        begin(&mut unit, 0x7000);
        let first = requests(&mut unit, 30);
        assert_eq!(first.iter().map(|(_, request)| request.addr.0).collect::<Vec<_>>(), [0x7000]);
        assert_eq!(unit.next_event(30, true), u64::MAX);
        unit.record_reply(TENSOR_MAP_SLOT, SectorMask::ALL, 30);
        begin(&mut unit, 0x7000);
        assert_eq!(requests(&mut unit, 60).len(), 2, "the second copy finds the map in the cache");
        begin(&mut unit, 0x7100);
        assert_eq!(requests(&mut unit, 60).last().map(|(_, request)| request.slot), Some(Some(TENSOR_MAP_SLOT)));
    }
}
