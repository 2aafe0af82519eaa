//! The coalescer of reads in front of a slice, as NVIDIA's L2 request coalescer (LRC): reads of several SMs for the same sectors become one.
//!
//! In: requests, in the order of their arrival; one is taken in each cycle. A read joins another one of an SM of the same group that asks for all
//! its sectors, as long as no answer of that one has left and fewer than `requesters` share it; it then never reaches the slice. Everything else goes on to the slice.
//! A write or an atomic to a line lets nobody join the reads before it. Out: for each answer to a read that others joined, a copy for every one
//! of them, which the network carries as it carries the answer.
//!
//! The reads that others may join stand in a table, in sets of [`WAYS`] by line; a read that finds no room there is joined by nobody.
//! Invariant: each sector of each read is answered exactly once.

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{Addr, Cycle, KernelIndex, PortId, SECTOR_BYTES, SectorMask};
use warpshard_config::machine::Coalescing;
use warpshard_protocol::{MemOp, MemPacket, PacketPart};
use warpshard_stats::counters;

counters! {
    /// What the coalescer in front of a slice counts.
    pub struct CoalescerCounters {
        coalescer_reads: "requests", "Reads that were taken.";
        coalescer_joined: "requests", "Those that shared the answers of another read, and so never reached the slice.";
        coalescer_full: "requests", "Those that nobody could join, because the table had no room for them.";
    }
}

/// Reads of a set of the table.
const WAYS: usize = 8;

/// The most requesters that share a read: the upper bound of `mem.coalescer.requesters`.
const MOST: usize = 8;

/// Who asked for which sectors.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Reader {
    token: u32,
    port: PortId,
    kernel: KernelIndex,
    sectors: SectorMask,
}

impl Reader {
    fn of(packet: &MemPacket) -> Self {
        Self { token: packet.token, port: packet.port, kernel: packet.kernel(), sectors: packet.sectors() }
    }
}

/// A read that others may join.
#[derive(Clone, Debug, warpshard_state::State)]
struct Shared {
    line: Addr,
    /// The group of its SMs.
    group: u16,
    /// Whose read went to the slice.
    first: Reader,
    /// Its sectors that were not answered.
    left: SectorMask,
    /// Whether more may join.
    open: bool,
    /// Those who joined, and how many they are.
    others: [Reader; MOST - 1],
    joined: u8,
}

impl Shared {
    fn join(&mut self, reader: Reader, requesters: u32) {
        self.others[usize::from(self.joined)] = reader;
        self.joined += 1;
        self.open = u32::from(self.joined) + 1 < requesters;
    }
}

/// The coalescer of a slice.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Coalescer {
    #[state(fixed)]
    spec: Coalescing,
    /// The group of each SM.
    #[state(fixed)]
    groups: Arc<[u16]>,
    /// Requests with the cycle in which each becomes visible.
    arrivals: VecDeque<(Cycle, MemPacket)>,
    table: Box<[Vec<Shared>]>,
    /// Copies of answers for the network.
    copies: VecDeque<MemPacket>,
    counters: CoalescerCounters,
}

impl Coalescer {
    /// An empty coalescer of SMs of these groups, given by SM; `None` where nothing is coalesced.
    pub fn new(spec: Coalescing, groups: &Arc<[u16]>) -> Option<Box<Self>> {
        let sets = (spec.reads as usize).div_ceil(WAYS);
        (spec.requesters > 1).then(|| {
            Box::new(Self {
                spec,
                groups: Arc::clone(groups),
                arrivals: VecDeque::new(),
                table: (0..sets).map(|_| Vec::with_capacity(WAYS)).collect(),
                copies: VecDeque::new(),
                counters: CoalescerCounters::default(),
            })
        })
    }

    /// What was counted so far.
    pub fn counters(&self) -> &CoalescerCounters {
        &self.counters
    }

    /// Requesters that share a read at most.
    pub fn requesters(&self) -> u32 {
        self.spec.requesters
    }

    /// Cycles from here to the slice.
    pub fn latency(&self) -> u64 {
        self.spec.latency
    }

    /// A request becomes visible in cycle `at`.
    pub fn arrive(&mut self, at: Cycle, packet: &MemPacket) {
        self.arrivals.push_back((at, *packet));
    }

    /// When the oldest request that was not taken is visible; never where there is none.
    pub fn next_event(&self) -> Cycle {
        self.arrivals.front().map_or(Cycle::NEVER, |(at, _)| *at)
    }

    /// Takes the oldest request, where one is visible: one that goes on to the slice, or one that joined another read.
    pub fn take(&mut self, now: Cycle) -> Option<Taken> {
        let (_, packet) = self.arrivals.pop_front_if(|(at, _)| *at <= now)?;
        let line = packet.addr.line();
        let set = self.set(line);
        let reads = &mut self.table[set];
        if packet.op != MemOp::Read {
            reads.iter_mut().filter(|read| read.line == line).for_each(|read| read.open = false);
            return Some(Taken::GoesOn(packet));
        }
        // What is no SM (a CPU core, a link to another GPU) reads for itself.
        let Some(group) = self.groups.get(packet.port.index()).copied() else { return Some(Taken::GoesOn(packet)) };
        self.counters.coalescer_reads += 1;
        let covers = |read: &&mut Shared| {
            let whole = read.left == read.first.sectors && packet.sectors().0 & !read.left.0 == 0;
            read.open && read.line == line && read.group == group && whole
        };
        if let Some(read) = reads.iter_mut().find(covers) {
            read.join(Reader::of(&packet), self.spec.requesters);
            self.counters.coalescer_joined += 1;
            return Some(Taken::Joined);
        }
        if reads.len() < WAYS {
            let (others, joined) = Default::default();
            reads.push(Shared { line, group, first: Reader::of(&packet), left: packet.sectors(), open: true, others, joined });
        } else {
            self.counters.coalescer_full += 1;
        }
        Some(Taken::GoesOn(packet))
    }

    /// An answer leaves the slice: those who joined its read get copies.
    pub fn answer(&mut self, packet: &MemPacket) {
        if packet.op != MemOp::Read {
            return;
        }
        let line = packet.addr.line();
        let set = self.set(line);
        let reads = &mut self.table[set];
        let is_its = |read: &Shared| read.line == line && read.first.token == packet.token && read.first.port == packet.port;
        let Some(place) = reads.iter().position(is_its) else { return };
        let read = &mut reads[place];
        read.left.0 &= !packet.sectors().0;
        for reader in &read.others[..usize::from(read.joined)] {
            let sectors = SectorMask(packet.sectors().0 & reader.sectors.0);
            if sectors.0 != 0 {
                // The address of a packet of one sector is the sector's.
                let addr = if sectors.count() == 1 { line.0 + u64::from(sectors.0.trailing_zeros()) * SECTOR_BYTES } else { line.0 };
                let Reader { token, port, kernel, .. } = *reader;
                let part = PacketPart::new(kernel, sectors);
                self.copies.push_back(MemPacket { addr: Addr(addr), token, port, part, ..*packet });
            }
        }
        if read.left.0 == 0 {
            reads.swap_remove(place);
        }
    }

    /// Whether a copy waits for the network.
    pub fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// The oldest copy that waits.
    pub fn pop_copy(&mut self) -> Option<MemPacket> {
        self.copies.pop_front()
    }

    /// What waits, for the report of a deadlock.
    pub fn waiting(&self) -> Option<String> {
        let shared: usize = self.table.iter().map(Vec::len).sum();
        let (arrivals, copies) = (self.arrivals.len(), self.copies.len());
        (shared + arrivals + copies > 0).then(|| {
            format!("its coalescer has {arrivals} requests that were not taken, {shared} reads without all answers, {copies} copies for the network")
        })
    }

    /// The set of a line: neighbouring lines of a slice, which the address map spreads, fall on all of them.
    fn set(&self, line: Addr) -> usize {
        let mixed = (line.0 >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (mixed % self.table.len() as u64) as usize
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It goes on to the slice.
    GoesOn(MemPacket),
    /// It shares the answers of another.
    Joined,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(port: u16, token: u32, addr: u64, sectors: u8) -> MemPacket {
        let part = PacketPart::new(KernelIndex(0), SectorMask(sectors));
        MemPacket { addr: Addr(addr), token, port: PortId(port), part, op: MemOp::Read, ..MemPacket::default() }
    }

    fn coalescer(requesters: u32, reads: u32) -> Coalescer {
        *Coalescer::new(Coalescing { requesters, sms: 8, reads, latency: 0 }, &Arc::from([0; 8])).unwrap()
    }

    /// Takes requests one after the other and returns whether each joined another.
    fn take(coalescer: &mut Coalescer, packets: &[MemPacket]) -> Vec<bool> {
        packets.iter().for_each(|packet| coalescer.arrive(Cycle(0), packet));
        packets.iter().map(|_| coalescer.take(Cycle(0)) == Some(Taken::Joined)).collect()
    }

    fn copies(coalescer: &mut Coalescer) -> Vec<(u16, u32, u64, u8)> {
        std::iter::from_fn(|| coalescer.pop_copy()).map(|copy| (copy.port.0, copy.token, copy.addr.0, copy.sectors().0)).collect()
    }

    #[test]
    fn so_many_requesters_share_a_read_and_each_gets_its_sectors_once() {
        let mut lrc = coalescer(4, 64);
        let taken =
            take(&mut lrc, &[read(0, 9, 256, 15), read(1, 8, 256, 15), read(2, 7, 288, 2), read(3, 6, 256, 15), read(4, 5, 256, 15)]);
        assert_eq!(taken, [false, true, true, true, false], "four share one read, the fifth asks anew");
        lrc.answer(&read(0, 9, 256, 1));
        assert_eq!(copies(&mut lrc), [(1, 8, 256, 1), (3, 6, 256, 1)]);
        lrc.answer(&read(0, 9, 288, 2));
        assert_eq!(copies(&mut lrc), [(1, 8, 288, 2), (2, 7, 288, 2), (3, 6, 288, 2)]);
        assert_eq!(take(&mut lrc, &[read(5, 1, 256, 15)]), [true], "the fifth's read has no answer and is joined");
        lrc.answer(&read(0, 9, 256, 12));
        assert_eq!(copies(&mut lrc), [(1, 8, 256, 12), (3, 6, 256, 12)]);
        lrc.answer(&read(4, 5, 256, 15));
        assert_eq!(copies(&mut lrc), [(5, 1, 256, 15)]);
        assert_eq!(lrc.waiting(), None);
        assert_eq!((lrc.counters.coalescer_reads, lrc.counters.coalescer_joined, lrc.counters.coalescer_full), (6, 4, 0));
    }

    #[test]
    fn nobody_joins_a_read_that_is_answered_in_part_or_lies_before_a_write_or_has_other_sectors() {
        let mut lrc = coalescer(4, 8);
        let write = MemPacket { op: MemOp::Write, ..read(0, 1, 128, 1) };
        let taken = take(&mut lrc, &[read(0, 0, 128, 1), write, read(1, 0, 128, 1), read(2, 0, 128, 3), read(3, 0, 128, 3)]);
        assert_eq!(taken, [false, false, false, false, true]);
        lrc.answer(&read(1, 0, 128, 1));
        assert_eq!(take(&mut lrc, &[read(4, 0, 128, 1)]), [true], "of the two that remain open, one asks for the sector");
        lrc.answer(&read(2, 0, 128, 1));
        assert_eq!(take(&mut lrc, &[read(5, 0, 128, 2)]), [false], "that one is answered in part");
    }

    #[test]
    fn sms_of_different_groups_read_for_themselves_and_so_does_what_is_no_sm() {
        let mut lrc = *Coalescer::new(Coalescing { requesters: 4, sms: 2, reads: 8, latency: 0 }, &Arc::from([0, 0, 1, 1])).unwrap();
        let readers = [0, 2, 1, 3, 4, 5].map(|port| read(port, 0, 128, 1));
        assert_eq!(take(&mut lrc, &readers), [false, false, true, true, false, false]);
        assert_eq!((lrc.counters.coalescer_reads, lrc.counters.coalescer_joined), (4, 2));
    }

    #[test]
    fn a_read_without_room_in_the_table_goes_on_alone() {
        let mut lrc = coalescer(2, 8);
        let reads: Vec<_> = (0..9).map(|line| read(0, line, 128 * u64::from(line), 1)).collect();
        assert_eq!(take(&mut lrc, &reads), [false; 9]);
        assert_eq!(take(&mut lrc, &[read(1, 0, 8 * 128, 1), read(1, 1, 7 * 128, 1)]), [false, true]);
        assert_eq!(lrc.counters.coalescer_full, 2);
    }
}
