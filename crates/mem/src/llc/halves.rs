//! The other half of an LLC of two halves, as it appears at a slice: what its SMs read crosses the way between the halves, once.
//!
//! A GPU such as the H100 keeps each line at a home in one of the halves. SMs of the other half get a sector from there the first time, and
//! after that from a copy in a slice of their own half, until an SM of the home's half writes the line or the copy makes room there.
//! Both halves hold as many copies as they have lines that the other copies, since homes are spread evenly. Here a slice therefore keeps the copies of its
//! own lines, in the place of those that it would keep of another's: lines at home and copies share its sets.
//!
//! In: reads and writes of a slice, when their data is there. Out: which answers cross, and these when they arrived on the other side.
//! Invariant: answers arrive in the order in which they set out.

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{Addr, Cycle};
use warpshard_config::machine::Halves;
use warpshard_protocol::{MemOp, MemPacket};

use crate::cache::{Access, AccessKind, DataCache, Owner};

/// What tells the address of a copy from that of the line: a bit that separates the CPU cores beyond the first 128, which make no copies.
const COPY: u64 = 1 << 55;

/// The address by which a slice keeps the copy of a line.
#[inline]
pub(super) fn copy_of(addr: Addr) -> Addr {
    Addr(addr.0 ^ COPY)
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
    /// Answers on the way, as numbers of requests, each with the cycle in which it arrives.
    crossing: VecDeque<(Cycle, u32)>,
}

impl OtherHalf {
    /// The other half for a slice of half `own`, where SMs belong to `halves`, given by SM; `None` where the LLC is one.
    pub fn new(spec: &Halves, halves: &Arc<[u8]>, own: u8) -> Option<Box<Self>> {
        (spec.latency > 0).then(|| Box::new(Self { latency: spec.latency, halves: Arc::clone(halves), own, crossing: VecDeque::new() }))
    }

    /// Whether a packet's sender is an SM of the other half.
    #[inline]
    fn sends(&self, packet: &MemPacket) -> bool {
        self.halves.get(usize::from(packet.port.0)).is_some_and(|half| *half != self.own)
    }

    /// Whether a packet is a read by an SM of the other half.
    // Apart, as what follows: an LLC that is one does not come here.
    #[inline(never)]
    pub(super) fn is_far_read(&self, packet: &MemPacket) -> bool {
        packet.op == MemOp::Read && self.sends(packet)
    }

    /// The data of sectors for request `number` is there, or was written; `packet` names the sectors, `set` is theirs. Keeps the copy that the other
    /// half gets in `cache`, or takes out one that is old. Returns whether the answer sets out for the other half.
    #[inline(never)]
    pub(super) fn takes(&mut self, number: u32, packet: &MemPacket, set: u32, cache: &mut DataCache, now: Cycle) -> bool {
        let (addr, sectors) = (copy_of(packet.addr), packet.sectors());
        let owner = Owner { port: packet.port, kernel: packet.kernel() };
        let copy = Access { addr, set, sectors, bytes: packet.bytes, kind: AccessKind::Read, local: false, token: number, owner };
        match (self.sends(packet), packet.op) {
            (true, MemOp::Read) => {
                cache.keep(&copy, now);
                self.crossing.push_back((now.after(self.latency), number));
                return true;
            }
            // It passes the slice of its sender's half, which keeps it.
            (true, MemOp::Write) => cache.keep(&copy, now),
            (false, MemOp::Write | MemOp::Atomic | MemOp::Reduction) => cache.forget(addr, set, sectors),
            (true, MemOp::Atomic | MemOp::Reduction) | (false, MemOp::Read) => {}
        }
        false
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
    use warpshard_base::{PortId, SectorMask};
    use warpshard_config::Machine;
    use warpshard_config::machine::{Cache, SetIndex};
    use warpshard_protocol::{NO_KERNEL, PacketPart};

    use super::*;

    const FIRST: PacketPart = PacketPart::new(NO_KERNEL, SectorMask(1));

    /// A slice of half 0 with SM 0 in its own half and SM 1 in the other, and its cache of one set of four lines.
    struct Side(Box<OtherHalf>, DataCache);

    impl Side {
        fn new() -> Self {
            let Some(other) = OtherHalf::new(&Halves { latency: 10 }, &[0, 1].into(), 0) else { panic!("two halves") };
            let llc = Machine::load("h100", &[]).unwrap().machine.mem.llc;
            let spec = Cache { sets: 1, ways: 4, index: SetIndex::Linear, ..llc };
            Self(other, DataCache::new(&spec, 4, 0))
        }

        /// Whether the answer to an access of the first sector of a line crosses.
        fn takes(&mut self, op: MemOp, sm: u16, line: u64) -> bool {
            let packet = MemPacket { op, port: PortId(sm), addr: Addr(line * 128), part: FIRST, ..MemPacket::default() };
            self.0.takes(0, &packet, 0, &mut self.1, Cycle(line))
        }

        fn has_copy(&self, line: u64) -> bool {
            self.1.has(copy_of(Addr(line * 128)), 0, SectorMask(1))
        }
    }

    #[test]
    fn what_the_other_half_reads_crosses_and_leaves_a_copy_until_it_is_written_at_home() {
        let mut side = Side::new();
        assert!(!side.takes(MemOp::Read, 0, 1) && !side.has_copy(1), "its own half has the line itself");
        assert!(side.takes(MemOp::Read, 1, 1) && side.has_copy(1));
        assert!(!side.1.has(copy_of(Addr(0x80)), 0, SectorMask(2)), "of another sector there is none");
        for op in [MemOp::Write, MemOp::Atomic, MemOp::Reduction] {
            assert!(side.takes(MemOp::Read, 1, 1));
            assert!(!side.takes(op, 0, 1) && !side.has_copy(1), "{op:?} makes the copy old");
        }
        assert!(!side.takes(MemOp::Write, 1, 2) && side.has_copy(2), "what the other half wrote is there");
        assert!(!side.takes(MemOp::Reduction, 1, 3) && !side.has_copy(3), "a reduction takes effect at home");
        assert!(OtherHalf::new(&Halves::default(), &[0].into(), 0).is_none());
    }

    #[test]
    fn copies_and_lines_at_home_make_room_for_each_other() {
        let mut side = Side::new();
        for line in 1..=4 {
            side.1.warm(Addr(line * 128), 0, SectorMask(1), Cycle(line));
        }
        for line in 5..=6 {
            assert!(side.takes(MemOp::Read, 1, line));
        }
        let home = [1, 2, 3, 4].map(|line| side.1.has(Addr(line * 128), 0, SectorMask(1)));
        assert_eq!((home, side.has_copy(5), side.has_copy(6)), ([false, false, true, true], true, true));
        for line in 7..=9 {
            side.1.warm(Addr(line * 128), 0, SectorMask(1), Cycle(line));
        }
        assert_eq!([side.has_copy(5), side.has_copy(6)], [false, true]);
    }

    #[test]
    fn a_modified_line_that_makes_room_for_a_copy_is_written_back() {
        let mut side = Side::new();
        for line in 1..=4 {
            side.1.leave(Addr(line * 128), 0, [u32::MAX, 0, 0, 0], SectorMask(1), Cycle(line));
        }
        assert!(side.takes(MemOp::Read, 1, 5) && side.has_copy(5));
        let down = side.1.down().map(|down| (down.addr, down.sectors()));
        assert_eq!(down, Some((Addr(0x80), SectorMask(1))));
    }

    #[test]
    fn answers_arrive_in_the_order_in_which_they_set_out() {
        let mut side = Side::new();
        let packet = |sm: u16| MemPacket { port: PortId(sm), part: FIRST, ..MemPacket::default() };
        assert!(side.0.takes(3, &packet(1), 0, &mut side.1, Cycle(5)));
        assert!(side.0.takes(1, &packet(1), 0, &mut side.1, Cycle(6)));
        assert!(!side.0.takes(2, &packet(0), 0, &mut side.1, Cycle(6)));
        let other = &mut side.0;
        assert_eq!((other.next_at(), other.len(), other.arrived(Cycle(14))), (Cycle(15), 2, None));
        assert_eq!([other.arrived(Cycle(15)), other.arrived(Cycle(15)), other.arrived(Cycle(16))], [Some(3), None, Some(1)]);
        assert_eq!(other.next_at(), Cycle::NEVER);
    }
}
