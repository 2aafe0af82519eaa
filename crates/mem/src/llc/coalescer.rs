//! The coalescer of reads in front of a slice, as NVIDIA's L2 request coalescer (LRC): it merges reads of the same sectors by several SMs.
//!
//! Input: requests in the order of their arrival, one per cycle. A read joins an earlier read if both SMs are in the same group, the
//! earlier read covers all its sectors and has no reply yet, and fewer than `requesters` share the earlier read. A read that joins another
//! never reaches the slice; all other requests are forwarded to the slice. A write or an atomic closes all earlier reads of its line for
//! joining. Output: for each reply to a shared read, one copy per joined requester, which the network carries like the reply.
//!
//! A table in sets of [`WAYS`] entries holds each forwarded read until its last reply. Line and group select the set, as if each group had
//! its own coalescer: the many groups that read the same line use different sets. A read whose set is full is not shared.
//! Invariants: each sector of each read gets exactly one reply; `reads_by_line` counts the entries of the table.

use std::collections::VecDeque;
use std::sync::Arc;

use warpshard_base::{Addr, Cycle, KernelIndex, PortId, SECTOR_BYTES, SectorMask};
use warpshard_config::machine::Coalescing;
use warpshard_protocol::{MemOp, MemPacket, PacketPart};
use warpshard_stats::counters;

counters! {
    /// Counters of the coalescer in front of a slice.
    pub struct CoalescerCounters {
        coalescer_reads: "requests", "Reads that the coalescer has taken.";
        coalescer_joined: "requests", "Reads that joined another read, and so never reached the slice.";
        coalescer_full: "requests", "Reads that no other read could join, because their set of the table was full.";
    }
}

/// Entries per set of the table.
const WAYS: usize = 8;

/// Maximum number of requesters that share a read: the upper bound of `mem.coalescer.requesters`.
const MAX_REQUESTERS: usize = 8;

/// A requester and its sectors.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct ReadRequester {
    token: u32,
    port: PortId,
    kernel: KernelIndex,
    sectors: SectorMask,
}

impl ReadRequester {
    fn of_packet(packet: &MemPacket) -> Self {
        Self { token: packet.token, port: packet.port, kernel: packet.kernel(), sectors: packet.sectors() }
    }
}

/// A table entry: a read in the slice, and the requesters that share it.
#[derive(Clone, Debug, warpshard_state::State)]
struct SharedRead {
    line: Addr,
    /// The group of the SMs that share the read.
    group: u16,
    /// The requester of the read that was forwarded to the slice.
    first: ReadRequester,
    /// The sectors without a reply.
    missing_sectors: SectorMask,
    /// True if further requesters may join.
    open: bool,
    /// The joined requesters; the first `joined` entries are valid.
    others: [ReadRequester; MAX_REQUESTERS - 1],
    /// Number of joined requesters.
    joined_count: u8,
}

impl SharedRead {
    fn join(&mut self, reader: ReadRequester, requesters: u32) {
        self.others[usize::from(self.joined_count)] = reader;
        self.joined_count += 1;
        self.open = u32::from(self.joined_count) + 1 < requesters;
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
    /// Requests, each with the first cycle in which it can be taken.
    arrivals: VecDeque<(Cycle, MemPacket)>,
    table: Box<[Vec<SharedRead>]>,
    /// Number of table entries by a hash of their lines. If it is zero for the line of a write, no group's set is examined.
    reads_by_line: Box<[u16]>,
    /// Copies of replies that wait for the network.
    copies: VecDeque<MemPacket>,
    counters: CoalescerCounters,
}

impl Coalescer {
    /// Returns an empty coalescer for SMs with the given groups; `None` if the machine does not coalesce reads.
    pub fn new(spec: Coalescing, groups: &Arc<[u16]>) -> Option<Box<Self>> {
        let sets = (spec.reads as usize).div_ceil(WAYS);
        (spec.requesters > 1).then(|| {
            Box::new(Self {
                spec,
                groups: Arc::clone(groups),
                arrivals: VecDeque::new(),
                table: (0..sets).map(|_| Vec::with_capacity(WAYS)).collect(),
                reads_by_line: vec![0; sets].into(),
                copies: VecDeque::new(),
                counters: CoalescerCounters::default(),
            })
        })
    }

    /// Returns the counters.
    pub fn counters(&self) -> &CoalescerCounters {
        &self.counters
    }

    /// Returns the maximum number of requesters that share a read.
    pub fn requesters(&self) -> u32 {
        self.spec.requesters
    }

    /// Returns the cycles from the coalescer to the slice.
    pub fn latency(&self) -> u64 {
        self.spec.latency
    }

    /// Queues a request, which can be taken from cycle `at` on.
    pub fn arrive(&mut self, at: Cycle, packet: &MemPacket) {
        self.arrivals.push_back((at, *packet));
    }

    /// Returns the first cycle in which the oldest request can be taken; `Cycle::NEVER` if the queue is empty.
    pub fn next_event(&self) -> Cycle {
        self.arrivals.front().map_or(Cycle::NEVER, |(at, _)| *at)
    }

    /// Takes the oldest request if its cycle has come, and merges it into an open read or forwards it to the slice.
    pub fn take(&mut self, now: Cycle) -> Option<CoalescerOutcome> {
        let (_, packet) = self.arrivals.pop_front_if(|(at, _)| *at <= now)?;
        let line = packet.addr.line();
        if packet.op != MemOp::Read {
            self.close_reads(line);
            return Some(CoalescerOutcome::Forwarded(packet));
        }
        // Reads of other requesters, such as CPU cores or links to other GPUs, are not merged.
        let Some(group) = self.groups.get(packet.port.index()).copied() else { return Some(CoalescerOutcome::Forwarded(packet)) };
        self.counters.coalescer_reads += 1;
        let set = self.set(line, group);
        let reads = &mut self.table[set];
        let covers = |read: &&mut SharedRead| {
            let whole = read.missing_sectors == read.first.sectors && packet.sectors().0 & !read.missing_sectors.0 == 0;
            read.open && read.line == line && read.group == group && whole
        };
        if let Some(read) = reads.iter_mut().find(covers) {
            read.join(ReadRequester::of_packet(&packet), self.spec.requesters);
            self.counters.coalescer_joined += 1;
            return Some(CoalescerOutcome::Joined);
        }
        if reads.len() < WAYS {
            let (others, joined) = Default::default();
            reads.push(SharedRead {
                line,
                group,
                first: ReadRequester::of_packet(&packet),
                missing_sectors: packet.sectors(),
                open: true,
                others,
                joined_count: joined,
            });
            self.reads_by_line[hash(line, 0, self.reads_by_line.len())] += 1;
        } else {
            self.counters.coalescer_full += 1;
        }
        Some(CoalescerOutcome::Forwarded(packet))
    }

    /// Stops further reads of a line from joining the reads in the table.
    fn close_reads(&mut self, line: Addr) {
        if self.reads_by_line[hash(line, 0, self.reads_by_line.len())] == 0 {
            return;
        }
        let groups = self.groups.len().div_ceil(self.spec.sms as usize) as u16;
        for group in 0..groups {
            let set = self.set(line, group);
            self.table[set].iter_mut().filter(|read| read.line == line).for_each(|read| read.open = false);
        }
    }

    /// Makes copies of a reply that leaves the slice for the requesters that share its read.
    pub fn copy_reply(&mut self, packet: &MemPacket) {
        if packet.op != MemOp::Read {
            return;
        }
        let Some(group) = self.groups.get(packet.port.index()).copied() else { return };
        let line = packet.addr.line();
        let set = self.set(line, group);
        let reads = &mut self.table[set];
        let is_replied = |read: &SharedRead| read.line == line && read.first.token == packet.token && read.first.port == packet.port;
        let Some(entry) = reads.iter().position(is_replied) else { return };
        let read = &mut reads[entry];
        read.missing_sectors.0 &= !packet.sectors().0;
        for reader in &read.others[..usize::from(read.joined_count)] {
            let sectors = SectorMask(packet.sectors().0 & reader.sectors.0);
            if sectors.0 != 0 {
                // A packet of one sector has the address of the sector.
                let addr = if sectors.count() == 1 { line.0 + u64::from(sectors.0.trailing_zeros()) * SECTOR_BYTES } else { line.0 };
                let ReadRequester { token, port, kernel, .. } = *reader;
                let part = PacketPart::new(kernel, sectors);
                self.copies.push_back(MemPacket { addr: Addr(addr), token, port, part, ..*packet });
            }
        }
        if read.missing_sectors.0 == 0 {
            reads.swap_remove(entry);
            self.reads_by_line[hash(line, 0, self.reads_by_line.len())] -= 1;
        }
    }

    /// Returns true if a copy waits for the network.
    pub fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// Removes and returns the oldest copy that waits for the network.
    pub fn pop_copy(&mut self) -> Option<MemPacket> {
        self.copies.pop_front()
    }

    /// Describes the waiting requests and copies for the report of a deadlock; `None` if nothing waits.
    pub fn waiting(&self) -> Option<String> {
        let shared: usize = self.table.iter().map(Vec::len).sum();
        let (arrivals, copies) = (self.arrivals.len(), self.copies.len());
        (shared + arrivals + copies > 0).then(|| {
            format!(
                "the coalescer holds {arrivals} requests in its queue, {shared} reads without all replies, {copies} copies for the network"
            )
        })
    }

    /// Returns the index of the set that holds a group's reads of a line.
    fn set(&self, line: Addr, group: u16) -> usize {
        hash(line, group, self.table.len())
    }
}

/// Hashes a line and a group to a number below `count`. The numbers of a slice's neighbouring lines, whose addresses are not consecutive,
/// are spread evenly.
fn hash(line: Addr, group: u16, count: usize) -> usize {
    let line = (line.0 >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let group = u64::from(group).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    (((line ^ group) >> 32) % count as u64) as usize
}

/// The outcome of a request at the coalescer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoalescerOutcome {
    /// The request is forwarded to the slice.
    Forwarded(MemPacket),
    /// The request joined an earlier read and shares its replies.
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

    /// Takes requests one after the other. Returns for each of them whether it joined another read.
    fn take(coalescer: &mut Coalescer, packets: &[MemPacket]) -> Vec<bool> {
        packets.iter().for_each(|packet| coalescer.arrive(Cycle(0), packet));
        packets.iter().map(|_| coalescer.take(Cycle(0)) == Some(CoalescerOutcome::Joined)).collect()
    }

    fn copies(coalescer: &mut Coalescer) -> Vec<(u16, u32, u64, u8)> {
        std::iter::from_fn(|| coalescer.pop_copy()).map(|copy| (copy.port.0, copy.token, copy.addr.0, copy.sectors().0)).collect()
    }

    #[test]
    fn a_limited_number_of_requesters_share_a_read_and_each_gets_its_sectors_once() {
        let mut lrc = coalescer(4, 64);
        let taken =
            take(&mut lrc, &[read(0, 9, 256, 15), read(1, 8, 256, 15), read(2, 7, 288, 2), read(3, 6, 256, 15), read(4, 5, 256, 15)]);
        assert_eq!(taken, [false, true, true, true, false], "four requesters share one read, and the fifth read is forwarded");
        lrc.copy_reply(&read(0, 9, 256, 1));
        assert_eq!(copies(&mut lrc), [(1, 8, 256, 1), (3, 6, 256, 1)]);
        lrc.copy_reply(&read(0, 9, 288, 2));
        assert_eq!(copies(&mut lrc), [(1, 8, 288, 2), (2, 7, 288, 2), (3, 6, 288, 2)]);
        assert_eq!(take(&mut lrc, &[read(5, 1, 256, 15)]), [true], "the fifth read has no reply, so that another read joins it");
        lrc.copy_reply(&read(0, 9, 256, 12));
        assert_eq!(copies(&mut lrc), [(1, 8, 256, 12), (3, 6, 256, 12)]);
        lrc.copy_reply(&read(4, 5, 256, 15));
        assert_eq!(copies(&mut lrc), [(5, 1, 256, 15)]);
        assert_eq!(lrc.waiting(), None);
        assert_eq!((lrc.counters.coalescer_reads, lrc.counters.coalescer_joined, lrc.counters.coalescer_full), (6, 4, 0));
    }

    #[test]
    fn a_read_with_a_reply_or_before_a_write_or_without_the_sectors_cannot_be_joined() {
        let mut lrc = coalescer(4, 8);
        let write = MemPacket { op: MemOp::Write, ..read(0, 1, 128, 1) };
        let taken = take(&mut lrc, &[read(0, 0, 128, 1), write, read(1, 0, 128, 1), read(2, 0, 128, 3), read(3, 0, 128, 3)]);
        assert_eq!(taken, [false, false, false, false, true]);
        lrc.copy_reply(&read(1, 0, 128, 1));
        assert_eq!(take(&mut lrc, &[read(4, 0, 128, 1)]), [true], "two reads are open, and one of them covers the sector");
        lrc.copy_reply(&read(2, 0, 128, 1));
        assert_eq!(take(&mut lrc, &[read(5, 0, 128, 2)]), [false], "this read has a reply");
    }

    #[test]
    fn sms_of_different_groups_and_other_requesters_do_not_share_reads() {
        let mut lrc = *Coalescer::new(Coalescing { requesters: 4, sms: 2, reads: 8, latency: 0 }, &Arc::from([0, 0, 1, 1])).unwrap();
        let readers = [0, 2, 1, 3, 4, 5].map(|port| read(port, 0, 128, 1));
        assert_eq!(take(&mut lrc, &readers), [false, false, true, true, false, false]);
        assert_eq!((lrc.counters.coalescer_reads, lrc.counters.coalescer_joined), (4, 2));
    }

    #[test]
    fn many_groups_share_reads_of_the_same_line_until_a_write_closes_them() {
        let groups: Vec<u16> = (0..64).map(|sm| sm / 2).collect();
        let mut lrc = *Coalescer::new(Coalescing { requesters: 4, sms: 2, reads: 1024, latency: 0 }, &groups.into()).unwrap();
        let readers = |first: u16| (0..32_u16).map(move |group| read(2 * group + first, 0, 128, 1));
        assert_eq!(take(&mut lrc, &readers(0).collect::<Vec<_>>()), [false; 32]);
        assert_eq!(take(&mut lrc, &readers(1).collect::<Vec<_>>()), [true; 32]);
        take(&mut lrc, &[MemPacket { op: MemOp::Write, ..read(0, 1, 128, 1) }]);
        assert_eq!(take(&mut lrc, &readers(1).collect::<Vec<_>>()), [false; 32]);
        readers(0).for_each(|first| lrc.copy_reply(&first));
        readers(1).for_each(|second| lrc.copy_reply(&second));
        assert_eq!(copies(&mut lrc).len(), 32);
        assert_eq!((lrc.waiting(), lrc.reads_by_line.iter().max()), (None, Some(&0)));
    }

    #[test]
    fn a_read_without_a_free_table_entry_is_not_shared() {
        let mut lrc = coalescer(2, 8);
        let reads: Vec<_> = (0..9).map(|line| read(0, line, 128 * u64::from(line), 1)).collect();
        assert_eq!(take(&mut lrc, &reads), [false; 9]);
        assert_eq!(take(&mut lrc, &[read(1, 0, 8 * 128, 1), read(1, 1, 7 * 128, 1)]), [false, true]);
        assert_eq!(lrc.counters.coalescer_full, 2);
    }
}
