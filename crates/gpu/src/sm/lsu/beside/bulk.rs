//! The tensor memory accelerator: copies between device memory and shared memory that one thread begins.
//!
//! In: copies, answers to the requests that it sent. Out: requests past the L1, at most so many bytes per cycle; copies that are complete. Copies
//! send their requests one after the other, a line of memory each; a copy of a tensor first needs its map, which a small cache keeps. A load is
//! complete with its last answer; a store when its last request has left.
//!
//! Source of the rates: our measurement of an H100 (`bulk` of `validate/reference/h100/micro.json`).

use std::collections::VecDeque;

use warpshard_base::{Addr, KernelIndex, LINE_BYTES, SectorMask};
use warpshard_config::machine::Bulk as Spec;
use warpshard_protocol::MemOp;
use warpshard_workload::{BulkCopy, BulkKind, Pieces};

/// A copy that sends requests.
#[derive(Clone, Debug, warpshard_state::State)]
struct Sending {
    kind: BulkKind,
    pieces: Vec<Pieces>,
    /// The request that comes next: the place in `pieces`, which of them, and bytes of it before.
    piece: usize,
    number: u32,
    before: u32,
    kernel: KernelIndex,
    /// Where the address space of its application begins.
    space: u64,
    /// The address of its map; 0 where it has none, or has it.
    map: u64,
    /// Its place among those under way.
    place: u8,
    /// When it may begin.
    at: u64,
}

/// A copy under way.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct UnderWay {
    /// Copies of the unit before it.
    number: u64,
    cta: u8,
    warp: u8,
    /// Of a load.
    barrier: Option<u32>,
    bytes: u32,
    ctas: u16,
    moves: bool,
    /// Sectors sent and not answered.
    open: u32,
    /// All requests are sent.
    sent: bool,
}

/// A copy that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Complete {
    /// Copies of the unit that began before it.
    pub(super) number: u64,
    pub(super) cta: u8,
    pub(super) warp: u8,
    /// The barrier at which its bytes count, of a load.
    pub(super) barrier: Option<u32>,
    pub(super) bytes: u32,
    /// The CTAs of the cluster that get it, as a set; empty where the barrier says it.
    pub(super) ctas: u16,
    /// It copies shared memory of one CTA to that of another.
    pub(super) moves: bool,
}

/// A request to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) addr: Addr,
    pub(super) sectors: SectorMask,
    /// The words of the line that are written, as a set.
    pub(super) words: u32,
    pub(super) op: MemOp,
    /// The place of the copy that is answered; none where nothing waits for the answer.
    pub(super) place: Option<u8>,
    pub(super) kernel: KernelIndex,
}

/// The unit.
#[derive(Debug, warpshard_state::State)]
pub(super) struct BulkUnit {
    #[state(fixed)]
    spec: Spec,
    sending: VecDeque<Sending>,
    under_way: Vec<Option<UnderWay>>,
    /// Copies that have begun.
    begun: u64,
    /// Sectors sent and not answered, of all copies.
    open: u32,
    /// The maps that were used last, the last one first.
    maps: VecDeque<u64>,
    /// The map that is under way, and whether it has come.
    fetched: Option<(u64, bool)>,
    /// Bytes that may be sent in the cycle `at`.
    credit: u64,
    at: u64,
    complete: VecDeque<(u64, Complete)>,
}

/// Copies that can be under way.
const PLACES: usize = 255;
/// The place in a token of a map.
const MAP: u8 = 255;

impl BulkUnit {
    pub(super) fn new(spec: Spec) -> Self {
        Self {
            spec,
            sending: VecDeque::new(),
            under_way: Vec::new(),
            begun: 0,
            open: 0,
            maps: VecDeque::new(),
            fetched: None,
            credit: 0,
            at: 0,
            complete: VecDeque::new(),
        }
    }

    /// Whether another copy can begin.
    pub(super) fn has_room(&self) -> bool {
        self.under_way.iter().flatten().count() < PLACES
    }

    /// Begins a copy of a warp in cycle `now`; there is room. Returns the number of copies before it.
    pub(super) fn begin(&mut self, copy: BulkCopy, (cta, warp): (u8, u8), (kernel, space): (KernelIndex, u64), now: u64) -> u64 {
        let BulkCopy { kind, bytes, barrier, ctas, map, pieces } = copy;
        let moves = kind == BulkKind::Move;
        let flight = UnderWay { number: self.begun, cta, warp, barrier, bytes, ctas, moves, open: 0, sent: false };
        self.begun += 1;
        let place = match self.under_way.iter().position(Option::is_none) {
            Some(place) => place,
            None => {
                self.under_way.push(None);
                self.under_way.len() - 1
            }
        };
        self.under_way[place] = Some(flight);
        let at = now + u64::from(self.spec.latency);
        let pieces = pieces.into_iter().filter(|piece| piece.bytes > 0 && piece.count > 0).collect();
        self.sending.push_back(Sending { kind, pieces, piece: 0, number: 0, before: 0, kernel, space, map, place: place as u8, at });
        flight.number
    }

    /// The number of the last store of a warp that is not complete.
    pub(super) fn last_store(&self, warp: u8) -> Option<u64> {
        let under_way = self.under_way.iter().flatten().filter(|copy| copy.warp == warp && copy.barrier.is_none()).map(|copy| copy.number);
        let ending = self.complete.iter().filter(|(_, copy)| copy.warp == warp && copy.barrier.is_none()).map(|(_, copy)| copy.number);
        under_way.chain(ending).max()
    }

    /// The first cycle at or after `now` in which it does something, where requests can be sent.
    pub(super) fn next_event(&self, now: u64, can_send: bool) -> u64 {
        let complete = self.complete.front().map_or(u64::MAX, |(at, _)| *at);
        let sends = match self.sending.front() {
            Some(front) if front.at > now => front.at,
            Some(front) if front.map != 0 && matches!(self.fetched, Some((map, false)) if map == front.map) => u64::MAX,
            Some(front) if front.pieces.is_empty() && front.map == 0 => now,
            Some(_) if can_send && self.open < self.spec.in_flight => now,
            _ => u64::MAX,
        };
        complete.min(sends).max(now)
    }

    /// The next request of cycle `now`, which the network takes.
    pub(super) fn next_request(&mut self, now: u64) -> Option<Request> {
        let rate = |kind| {
            u64::from(if kind == BulkKind::Load || kind == BulkKind::Prefetch { self.spec.load_bytes } else { self.spec.store_bytes })
        };
        let front = self.sending.front_mut().filter(|front| front.at <= now)?;
        if now != self.at {
            // What was left of the cycle before can be used.
            let left = if now == self.at + 1 { self.credit.min(LINE_BYTES) } else { 0 };
            (self.at, self.credit) = (now, left + rate(front.kind));
        }
        if self.open >= self.spec.in_flight {
            return None;
        }
        if front.map != 0 {
            match self.fetched {
                Some((map, false)) if map == front.map => return None,
                _ => {}
            }
            let known = self.maps.iter().position(|map| *map == front.map);
            if known.is_none() && self.fetched != Some((front.map, true)) {
                self.fetched = Some((front.map, false));
                let addr = Addr((front.map & !(LINE_BYTES - 1)).wrapping_add(front.space));
                return Some(Request {
                    addr,
                    sectors: SectorMask::ALL,
                    words: u32::MAX,
                    op: MemOp::Read,
                    place: Some(MAP),
                    kernel: front.kernel,
                });
            }
            if let Some(known) = known {
                self.maps.remove(known);
            }
            self.fetched = None;
            self.maps.push_front(front.map);
            self.maps.truncate(self.spec.maps as usize);
            front.map = 0;
        }
        let Some(piece) = front.pieces.get(front.piece) else {
            self.sent(now);
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
        let (kind, kernel, place) = (front.kind, front.kernel, front.place);
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
            if let Some(copy) = &mut self.under_way[usize::from(place)] {
                copy.open += sectors.count();
            }
        }
        if over {
            self.sent(now);
        }
        Some(Request { addr, sectors, words, op, place: answered.then_some(place), kernel })
    }

    /// All requests of the first copy are sent.
    fn sent(&mut self, now: u64) {
        let Some(Sending { place, .. }) = self.sending.pop_front() else { return };
        if let Some(copy) = &mut self.under_way[usize::from(place)] {
            copy.sent = true;
        }
        self.end(place, now);
    }

    /// A copy is complete if nothing of it is open.
    fn end(&mut self, place: u8, now: u64) {
        let slot = &mut self.under_way[usize::from(place)];
        if let Some(UnderWay { number, cta, warp, barrier, bytes, ctas, moves, .. }) = slot.take_if(|copy| copy.sent && copy.open == 0) {
            let latency = if barrier.is_some() { self.spec.load_end } else { self.spec.store_end };
            let at = now + u64::from(latency);
            let after = self.complete.partition_point(|(other, _)| *other <= at);
            self.complete.insert(after, (at, Complete { number, cta, warp, barrier, bytes, ctas, moves }));
        }
    }

    /// An answer came.
    pub(super) fn answered(&mut self, place: u8, sectors: SectorMask, now: u64) {
        if place == MAP {
            if let Some((_, come)) = &mut self.fetched {
                *come = true;
            }
            return;
        }
        self.open -= sectors.count();
        if let Some(copy) = &mut self.under_way[usize::from(place)] {
            copy.open -= sectors.count();
        }
        self.end(place, now);
    }

    /// Takes the next copy that is complete in cycle `now`.
    pub(super) fn next_complete(&mut self, now: u64) -> Option<Complete> {
        self.complete.pop_front_if(|(at, _)| *at <= now).map(|(_, copy)| copy)
    }

    /// Whether a copy of `warps` is under way.
    pub(super) fn holds(&self, warps: u64) -> bool {
        let under_way = self.under_way.iter().flatten().map(|copy| copy.warp);
        under_way.chain(self.complete.iter().map(|(_, copy)| copy.warp)).any(|warp| warps >> warp & 1 != 0)
    }

    /// For reports of a standstill.
    pub(super) fn describe(&self) -> String {
        format!("{} bulk copies under way, {} of them with requests to send", self.under_way.iter().flatten().count(), self.sending.len())
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

    /// The requests until `end`, each with its cycle.
    fn requests(unit: &mut BulkUnit, end: u64) -> Vec<(u64, Request)> {
        let mut all = Vec::new();
        for now in 0..end {
            all.extend(std::iter::from_fn(|| unit.next_request(now)).map(|request| (now, request)));
        }
        all
    }

    #[test]
    fn a_load_asks_for_lines_and_is_complete_with_its_last_answer() {
        let mut unit = unit();
        let rows = Pieces { address: 0x10_0040, bytes: 128, count: 2, stride: 0x1000 };
        unit.begin(copy(BulkKind::Load, 0, vec![rows]), (3, 9), (KERNEL, 1 << 50), 0);
        assert_eq!((unit.next_event(0, true), unit.next_event(10, false)), (10, u64::MAX));
        let sent = requests(&mut unit, 40);
        let lines: Vec<_> = sent.iter().map(|(at, request)| (*at, request.addr.0 - (1 << 50), request.sectors.count())).collect();
        assert_eq!(lines, [(10, 0x10_0000, 2), (10, 0x10_0080, 2), (11, 0x10_1000, 2), (11, 0x10_1080, 2)]);
        assert!(sent.iter().all(|(_, request)| request.op == MemOp::Read && request.place == Some(0) && request.kernel == KERNEL));
        for (answers, (_, request)) in sent.iter().enumerate() {
            assert!(unit.holds(1 << 9) && unit.next_complete(100).is_none(), "{answers}");
            unit.answered(0, request.sectors, 50);
        }
        assert_eq!((unit.next_complete(54), unit.next_event(50, true)), (None, 55));
        assert_eq!(
            unit.next_complete(55),
            Some(Complete { number: 0, cta: 3, warp: 9, barrier: Some(0x400), bytes: 256, ctas: 0, moves: false })
        );
        assert!(!unit.holds(u64::MAX) && unit.has_room());
    }

    #[test]
    fn a_store_is_complete_when_its_last_request_has_left() {
        let mut unit = unit();
        unit.begin(copy(BulkKind::Store, 0, vec![Pieces { address: 0x2010, bytes: 240, count: 1, stride: 0 }]), (0, 0), (KERNEL, 0), 0);
        let sent = requests(&mut unit, 40);
        let writes: Vec<_> = sent.iter().map(|(at, request)| (*at, request.addr.0, request.words, request.op, request.place)).collect();
        assert_eq!(writes, [(13, 0x2000, 0xffff_fff0, MemOp::Write, None), (17, 0x2080, u32::MAX, MemOp::Write, None)]);
        assert_eq!((unit.last_store(0), unit.last_store(1)), (Some(0), None));
        assert_eq!((unit.next_complete(23), unit.next_complete(24).map(|copy| copy.barrier)), (None, Some(None)));
        assert_eq!(unit.last_store(0), None);
    }

    #[test]
    fn a_map_is_fetched_before_the_first_request_and_kept() {
        let mut unit = unit();
        let piece = Pieces { address: 0x8000, bytes: 32, count: 1, stride: 0 };
        let begin = |unit: &mut BulkUnit, map| unit.begin(copy(BulkKind::Load, map, vec![piece]), (0, 0), (KERNEL, 0), 0);
        begin(&mut unit, 0x7000);
        let first = requests(&mut unit, 30);
        assert_eq!(first.iter().map(|(_, request)| request.addr.0).collect::<Vec<_>>(), [0x7000]);
        assert_eq!(unit.next_event(30, true), u64::MAX);
        unit.answered(MAP, SectorMask::ALL, 30);
        begin(&mut unit, 0x7000);
        assert_eq!(requests(&mut unit, 60).len(), 2, "the second one finds the map");
        begin(&mut unit, 0x7100);
        assert_eq!(requests(&mut unit, 60).last().map(|(_, request)| request.place), Some(Some(MAP)));
    }
}
