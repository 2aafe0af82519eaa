//! The other half of an LLC of two halves, as seen by a slice. Replies to reads by SMs of the other half cross the link between the halves.
//!
//! Each line of a GPU such as the H100 has a home slice in one half. The first read of a sector by an SM of the other half gets the sector
//! from the home slice and leaves a copy in a slice of the SM's half. Later reads by SMs of that half hit the copy, until it is evicted or
//! an SM of the home half writes the line. Homes are spread evenly, so both halves hold equally many copies. This model therefore stores
//! the copies of a slice's own lines in the slice, instead of the copies of lines of another slice. Lines at home and copies share the sets
//! of the slice.
//!
//! Input: reads and writes of a slice, once their data is present. Output: the decision whether a reply crosses, and crossing replies once
//! they have arrived in the other half. Invariant: replies arrive in the order of their departure.

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{Addr, Cycle};
use warpshard_config::machine::Halves;
use warpshard_protocol::{MemOp, MemPacket};

use crate::cache::{AccessKind, AccessOrigin, CacheAccess, DataCache};

/// The address bit that marks copies. In addresses of CPU cores, which make no copies, it is the highest bit of the core number.
const COPY_BIT: u64 = 1 << 55;

/// Returns the address under which a slice stores the copy of a line.
#[inline]
pub(super) fn copy_addr(addr: Addr) -> Addr {
    Addr(addr.0 ^ COPY_BIT)
}

/// The other half of the LLC.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct OtherHalf {
    /// Additional latency of a reply that crosses to the other half, in LLC cycles.
    latency: u64,
    /// The half of each SM.
    #[state(fixed)]
    halves: Arc<[u8]>,
    /// The half of the slice.
    own_half: u8,
    /// Request numbers of crossing replies, each with its arrival cycle.
    crossing_replies: VecDeque<(Cycle, u32)>,
}

impl OtherHalf {
    /// Returns the other half for a slice of half `own` and SMs of the given halves; `None` for an undivided LLC.
    pub fn new(spec: &Halves, halves: &Arc<[u8]>, own: u8) -> Option<Box<Self>> {
        (spec.latency > 0)
            .then(|| Box::new(Self { latency: spec.latency, halves: Arc::clone(halves), own_half: own, crossing_replies: VecDeque::new() }))
    }

    /// Returns true if the sender of a packet is an SM of the other half.
    #[inline]
    fn is_from_other_half(&self, packet: &MemPacket) -> bool {
        self.halves.get(usize::from(packet.port.0)).is_some_and(|half| *half != self.own_half)
    }

    /// Returns true if a packet is a read by an SM of the other half.
    // This function is not inlined, because slices of an undivided LLC do not call it.
    #[inline(never)]
    pub(super) fn is_far_read(&self, packet: &MemPacket) -> bool {
        packet.op == MemOp::Read && self.is_from_other_half(packet)
    }

    /// Handles request `number` for the sectors of `packet`, in `set`, once their data is present or written. Inserts the copy for the
    /// other half into `cache`, or removes an outdated copy. Returns true if the reply departs for the other half.
    #[inline(never)]
    pub(super) fn handle_access(&mut self, number: u32, packet: &MemPacket, set: u32, cache: &mut DataCache, now: Cycle) -> bool {
        let (addr, sectors) = (copy_addr(packet.addr), packet.sectors());
        let owner = AccessOrigin { port: packet.port, kernel: packet.kernel() };
        let copy = CacheAccess { addr, set, sectors, bytes: packet.bytes, kind: AccessKind::Read, local: false, token: number, owner };
        match (self.is_from_other_half(packet), packet.op) {
            (true, MemOp::Read) => {
                cache.insert(&copy, now);
                self.crossing_replies.push_back((now.after(self.latency), number));
                return true;
            }
            // The write passes the slice in the half of its sender, which keeps a copy.
            (true, MemOp::Write) => cache.insert(&copy, now),
            (false, MemOp::Write | MemOp::Atomic | MemOp::Reduction) => cache.invalidate_sector(addr, set, sectors),
            (true, MemOp::Atomic | MemOp::Reduction) | (false, MemOp::Read) => {}
        }
        false
    }

    /// Removes and returns the next reply that has arrived.
    #[inline]
    pub(super) fn pop_arrived(&mut self, now: Cycle) -> Option<u32> {
        self.crossing_replies.pop_front_if(|(at, _)| *at <= now).map(|(_, number)| number)
    }

    /// Returns the cycle in which the next reply arrives.
    #[inline]
    pub(super) fn next_arrival(&self) -> Cycle {
        self.crossing_replies.front().map_or(Cycle::NEVER, |(at, _)| *at)
    }

    /// Returns the number of crossing replies.
    pub(super) fn len(&self) -> usize {
        self.crossing_replies.len()
    }
}

#[cfg(test)]
mod tests {
    use warpshard_base::{PortId, SectorMask};
    use warpshard_config::Machine;
    use warpshard_config::machine::{Cache, SetIndex};
    use warpshard_protocol::{NO_KERNEL, PacketPart};

    use super::*;

    const FIRST_SECTOR: PacketPart = PacketPart::new(NO_KERNEL, SectorMask(1));

    /// A slice of half 0 and its cache of one set of four lines; SM 0 belongs to half 0, SM 1 to half 1.
    struct TestSlice(Box<OtherHalf>, DataCache);

    impl TestSlice {
        fn new() -> Self {
            let Some(other) = OtherHalf::new(&Halves { latency: 10 }, &[0, 1].into(), 0) else { panic!("two halves") };
            let llc = Machine::load("h100", &[]).unwrap().machine.mem.llc;
            let spec = Cache { sets: 1, ways: 4, index: SetIndex::Linear, ..llc };
            Self(other, DataCache::new(&spec, 4, 0))
        }

        /// Accesses the first sector of a line. Returns true if the reply crosses.
        fn crosses(&mut self, op: MemOp, sm: u16, line: u64) -> bool {
            let packet = MemPacket { op, port: PortId(sm), addr: Addr(line * 128), part: FIRST_SECTOR, ..MemPacket::default() };
            self.0.handle_access(0, &packet, 0, &mut self.1, Cycle(line))
        }

        fn has_copy(&self, line: u64) -> bool {
            self.1.has_sectors(copy_addr(Addr(line * 128)), 0, SectorMask(1))
        }
    }

    #[test]
    fn reads_of_the_other_half_cross_and_leave_a_copy_until_a_write_at_home() {
        let mut side = TestSlice::new();
        assert!(!side.crosses(MemOp::Read, 0, 1) && !side.has_copy(1), "SMs of the home half read the line itself");
        assert!(side.crosses(MemOp::Read, 1, 1) && side.has_copy(1));
        assert!(!side.1.has_sectors(copy_addr(Addr(0x80)), 0, SectorMask(2)), "another sector has no copy");
        for op in [MemOp::Write, MemOp::Atomic, MemOp::Reduction] {
            assert!(side.crosses(MemOp::Read, 1, 1));
            assert!(!side.crosses(op, 0, 1) && !side.has_copy(1), "{op:?} outdates the copy");
        }
        assert!(!side.crosses(MemOp::Write, 1, 2) && side.has_copy(2), "a write of the other half leaves a copy");
        assert!(!side.crosses(MemOp::Reduction, 1, 3) && !side.has_copy(3), "a reduction is performed at home");
        assert!(OtherHalf::new(&Halves::default(), &[0].into(), 0).is_none());
    }

    #[test]
    fn copies_and_lines_at_home_evict_each_other() {
        let mut side = TestSlice::new();
        for line in 1..=4 {
            side.1.warm(Addr(line * 128), 0, SectorMask(1), Cycle(line));
        }
        for line in 5..=6 {
            assert!(side.crosses(MemOp::Read, 1, line));
        }
        let home = [1, 2, 3, 4].map(|line| side.1.has_sectors(Addr(line * 128), 0, SectorMask(1)));
        assert_eq!((home, side.has_copy(5), side.has_copy(6)), ([false, false, true, true], true, true));
        for line in 7..=9 {
            side.1.warm(Addr(line * 128), 0, SectorMask(1), Cycle(line));
        }
        assert_eq!([side.has_copy(5), side.has_copy(6)], [false, true]);
    }

    #[test]
    fn a_modified_line_evicted_for_a_copy_is_written_back() {
        let mut side = TestSlice::new();
        for line in 1..=4 {
            side.1.insert_warm(Addr(line * 128), 0, [u32::MAX, 0, 0, 0], SectorMask(1), Cycle(line));
        }
        assert!(side.crosses(MemOp::Read, 1, 5) && side.has_copy(5));
        let down = side.1.oldest_down().map(|down| (down.addr, down.sectors()));
        assert_eq!(down, Some((Addr(0x80), SectorMask(1))));
    }

    #[test]
    fn replies_arrive_in_the_order_of_their_departure() {
        let mut side = TestSlice::new();
        let packet = |sm: u16| MemPacket { port: PortId(sm), part: FIRST_SECTOR, ..MemPacket::default() };
        assert!(side.0.handle_access(3, &packet(1), 0, &mut side.1, Cycle(5)));
        assert!(side.0.handle_access(1, &packet(1), 0, &mut side.1, Cycle(6)));
        assert!(!side.0.handle_access(2, &packet(0), 0, &mut side.1, Cycle(6)));
        let other = &mut side.0;
        assert_eq!((other.next_arrival(), other.len(), other.pop_arrived(Cycle(14))), (Cycle(15), 2, None));
        assert_eq!([other.pop_arrived(Cycle(15)), other.pop_arrived(Cycle(15)), other.pop_arrived(Cycle(16))], [Some(3), None, Some(1)]);
        assert_eq!(other.next_arrival(), Cycle::NEVER);
    }
}
