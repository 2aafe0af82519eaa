//! The other half of an LLC of two halves, as it appears at a slice: what its SMs read crosses the way between the halves, once.
//!
//! A GPU such as the H100 keeps each line at a home in one of the halves. SMs at the other half get a sector from there the first time, and
//! after that from a copy in a slice of their own half, until an SM of the home's half writes the line or other copies need its place. What
//! they write themselves passes that slice, which keeps it.
//!
//! In: reads and writes of a slice, when their data is there. Out: which answers cross, and these when they arrived on the other side.
//! Invariants: answers arrive in the order in which they set out; a line that its home's half wrote since has no copies.

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{Addr, Cycle, LINE_BYTES, SectorMask};
use warpshard_config::machine::Halves;
use warpshard_protocol::{MemOp, MemPacket};

/// Lines of a set of copies.
const WAYS: usize = 16;

/// A line of which the other half has copies.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Copies {
    line: Addr,
    sectors: SectorMask,
}

/// The other half of the LLC.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct OtherHalf {
    /// Additional latency of an answer that crosses to the other half, in LLC cycles.
    latency: u64,
    /// The half of each SM, and that of the slice.
    #[state(fixed)]
    halves: Arc<[u8]>,
    own: u8,
    /// What it has copies of: sets of lines, the one used last at the end.
    copies: Box<[Vec<Copies>]>,
    /// Answers on the way, as numbers of requests, each with the cycle in which it arrives.
    crossing: VecDeque<(Cycle, u32)>,
}

impl OtherHalf {
    /// The other half for a slice of half `own`, where SMs belong to `halves`, given by SM; `None` where the LLC is one.
    pub fn new(spec: &Halves, halves: &Arc<[u8]>, own: u8) -> Option<Box<Self>> {
        let sets = (spec.copies as usize).div_ceil(WAYS);
        (spec.latency > 0).then(|| {
            Box::new(Self {
                latency: spec.latency,
                halves: Arc::clone(halves),
                own,
                copies: (0..sets).map(|_| Vec::with_capacity(WAYS)).collect(),
                crossing: VecDeque::new(),
            })
        })
    }

    /// The data of `sectors` at `addr` for request `number` is there, or was written. Returns whether the answer sets out for the other half.
    pub(super) fn takes(&mut self, number: u32, packet: &MemPacket, addr: Addr, sectors: SectorMask, now: Cycle) -> bool {
        let crosses = self.crosses(packet, addr, sectors);
        if crosses {
            self.crossing.push_back((now.after(self.latency), number));
        }
        crosses
    }

    /// Whether the reader is in the other half and that half has no copy yet. Records the copy that it gets.
    fn crosses(&mut self, packet: &MemPacket, addr: Addr, sectors: SectorMask) -> bool {
        let line = addr.line();
        let set = (line.0 / LINE_BYTES).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let count = self.copies.len() as u64;
        let set = &mut self.copies[(set % count) as usize];
        let at = set.iter().position(|copies| copies.line == line);
        let near = self.halves.get(usize::from(packet.port.0)).is_none_or(|half| *half == self.own);
        if near || matches!(packet.op, MemOp::Atomic | MemOp::Reduction) {
            if let (Some(at), true) = (at, packet.op != MemOp::Read) {
                set.remove(at);
            }
            return false;
        }
        let mut copies = at.map_or(Copies { line, sectors: SectorMask(0) }, |at| set.remove(at));
        let known = copies.sectors.0 & sectors.0 == sectors.0;
        copies.sectors.0 |= sectors.0;
        if set.len() == WAYS {
            set.remove(0);
        }
        set.push(copies);
        !known && packet.op == MemOp::Read
    }

    /// Takes the next answer that arrived.
    #[inline]
    pub(super) fn arrived(&mut self, now: Cycle) -> Option<u32> {
        self.crossing.pop_front_if(|(at, _)| *at <= now).map(|(_, number)| number)
    }

    /// When the next answer arrives.
    #[inline]
    pub(super) fn next_at(&self) -> Cycle {
        self.crossing.front().map_or(Cycle::NEVER, |(at, _)| *at)
    }

    /// Answers on the way.
    pub(super) fn len(&self) -> usize {
        self.crossing.len()
    }
}

#[cfg(test)]
mod tests {
    use warpshard_base::PortId;

    use super::*;

    fn packet(op: MemOp, port: u16) -> MemPacket {
        MemPacket { op, port: PortId(port), ..MemPacket::default() }
    }

    #[test]
    fn what_the_other_half_reads_crosses_once_until_it_is_written() {
        let halves: Arc<[u8]> = [0, 1].into();
        let Some(mut other) = OtherHalf::new(&Halves { latency: 10, copies: 16 }, &halves, 0) else { panic!("two halves") };
        let one = SectorMask(1);
        assert!(!other.crosses(&packet(MemOp::Read, 0), Addr(0x80), one), "the slice's own half");
        assert!(other.crosses(&packet(MemOp::Read, 1), Addr(0x80), one));
        assert!(!other.crosses(&packet(MemOp::Read, 1), Addr(0x80), one), "there is a copy");
        assert!(other.crosses(&packet(MemOp::Read, 1), Addr(0xa0), SectorMask(2)), "of another sector there is none");
        assert!(!other.crosses(&packet(MemOp::Write, 0), Addr(0x80), one));
        assert!(other.crosses(&packet(MemOp::Read, 1), Addr(0x80), one), "the copy is old");
        assert!(!other.crosses(&packet(MemOp::Write, 1), Addr(0xc0), SectorMask(4)));
        assert!(!other.crosses(&packet(MemOp::Read, 1), Addr(0xc0), SectorMask(4)), "what it wrote is there");
        assert!(!other.crosses(&packet(MemOp::Reduction, 1), Addr(0xc0), SectorMask(4)));
        assert!(other.crosses(&packet(MemOp::Read, 1), Addr(0xc0), SectorMask(4)), "it was changed at home");
        for line in 2..18 {
            assert!(other.crosses(&packet(MemOp::Read, 1), Addr(line * 128), one));
        }
        assert!(other.crosses(&packet(MemOp::Read, 1), Addr(0x80), one), "others took its place");
        assert!(OtherHalf::new(&Halves::default(), &halves, 0).is_none());
    }

    #[test]
    fn answers_arrive_in_the_order_in_which_they_set_out() {
        let Some(mut other) = OtherHalf::new(&Halves { latency: 10, copies: 16 }, &[0].into(), 1) else { panic!("two halves") };
        assert!(other.takes(3, &packet(MemOp::Read, 0), Addr(0), SectorMask(1), Cycle(5)));
        assert!(other.takes(1, &packet(MemOp::Read, 0), Addr(0), SectorMask(2), Cycle(6)));
        assert!(!other.takes(2, &packet(MemOp::Read, 0), Addr(0), SectorMask(2), Cycle(6)));
        assert_eq!((other.next_at(), other.len(), other.arrived(Cycle(14))), (Cycle(15), 2, None));
        assert_eq!([other.arrived(Cycle(15)), other.arrived(Cycle(15)), other.arrived(Cycle(16))], [Some(3), None, Some(1)]);
        assert_eq!(other.next_at(), Cycle::NEVER);
    }
}
