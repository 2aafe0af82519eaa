//! Cache warming of the slices of a partition by copies from the host.
//!
//! In GPGPU-Sim (`gpgpu_sim::perf_memcpy_to_gpu`) a copy inserts its sectors, in ascending order, into the tags of their slices in zero
//! time. It stores their addresses in 32 bits, so that data above 4 GiB never hits; hardware has no such limit. Warming takes no time and
//! changes no counters.
//!
//! The time of the walk over the sectors depends on the size of the caches, not on the size of the copy. Once all evictable lines of a set
//! were used in the present cycle, each further miss replaces the line that the previous miss inserted. In a stretch without lines that the
//! caches hold, only the last miss of each set matters, and the walk skips to the start of these misses. This holds for LRU. With another
//! replacement policy, only the end of a copy that is many times larger than the caches is inserted.

use warpshard_base::{Addr, Cycle, LINE_BYTES, SECTOR_BYTES, SectorMask};
use warpshard_config::machine::MemcpyWarms;
use warpshard_protocol::{AddressMap, HostCopy, SliceLookup};

use super::slice_port::SlicePort;

/// Sectors of the 32-bit address space.
const SECTORS_PER_4_GIB: u64 = (1 << 32) / SECTOR_BYTES;
/// Sectors of the widest line.
const WIDEST_LINE_SECTORS: u64 = 2 * LINE_BYTES / SECTOR_BYTES;
/// The largest number of times that the stretch which fills the caches is doubled in the search for the last miss of each set.
const MAX_DOUBLINGS: u32 = 8;

/// Inserts the lines of `copy` at cycle `now` into `slice_ports`, the slices of one partition in order.
pub(super) fn warm(slice_ports: &mut [SlicePort], map: &AddressMap, copy: HostCopy, how: MemcpyWarms, now: Cycle) {
    let Some((first, end)) = sectors_of(copy, how) else { return };
    let Some(mut walk) = CopyWalk::new(slice_ports, map, how, now) else { return };
    if how == MemcpyWarms::Full {
        walk.walk_fast(first, end);
        return;
    }
    // Addresses restart at 0 every 4 GiB. After two passes over all of them, a third changes nothing.
    let mut sector = first;
    let mut whole = 0;
    while sector < end {
        let next = (sector / SECTORS_PER_4_GIB + 1) * SECTORS_PER_4_GIB;
        whole = if sector.is_multiple_of(SECTORS_PER_4_GIB) && next <= end { whole + 1 } else { 0 };
        walk.walk_fast(sector, next.min(end));
        sector = if whole == 3 { end - end % SECTORS_PER_4_GIB } else { next };
    }
}

/// Returns the numbers of the first sector of a copy and of the sector after its last one; `None` if the copy inserts nothing.
fn sectors_of(copy: HostCopy, how: MemcpyWarms) -> Option<(u64, u64)> {
    let first = copy.addr.0 / SECTOR_BYTES;
    let count = match how {
        MemcpyWarms::Off => return None,
        // GPGPU-Sim steps by sectors from the first byte, so it may omit the last sector of an unaligned copy.
        MemcpyWarms::Low32 => copy.bytes.div_ceil(SECTOR_BYTES),
        MemcpyWarms::Full => copy.addr.0.saturating_add(copy.bytes.checked_sub(1)?) / SECTOR_BYTES - first + 1,
    };
    (count > 0).then(|| (first, first.saturating_add(count)))
}

/// Some sectors of one line: the index of their slice in the partition, their address, and their mask.
type LinePiece = (usize, Addr, SectorMask);

/// A walk over the sectors of a copy, from the view of one partition.
struct CopyWalk<'a> {
    slice_ports: &'a mut [SlicePort],
    map: &'a AddressMap,
    owners: SliceLookup,
    /// The first slice of the partition and the slice after the last one.
    slices: (u16, u16),
    low32: bool,
    now: Cycle,
    /// Bytes that always belong to the same line.
    unit: u64,
    /// Sectors of the chip in which every set of the partition usually occurs twice.
    span: u64,
    /// The largest number of sectors that are walked without LRU, at the end of a copy: each set occurs eight times as often as it has
    /// ways.
    last: u64,
}

impl<'a> CopyWalk<'a> {
    fn new(slice_ports: &'a mut [SlicePort], map: &'a AddressMap, how: MemcpyWarms, now: Cycle) -> Option<Self> {
        let first = slice_ports.first()?.slice.id().0;
        let slices = (first, first + u16::try_from(slice_ports.len()).ok()?);
        let chip = u64::from(map.partitions) * u64::from(map.slices_per_partition);
        let span = 2 * chip * u64::from(slice_ports[0].slice.cache().tags().sets()) * WIDEST_LINE_SECTORS;
        let unit = (1u64 << map.slice_bit()).clamp(SECTOR_BYTES, LINE_BYTES);
        let tags = slice_ports[0].slice.cache().tags();
        let last = 4 * span * u64::from(tags.line_count() / tags.sets());
        Some(Self {
            slice_ports,
            map,
            owners: SliceLookup::new(map.clone()),
            slices,
            low32: how == MemcpyWarms::Low32,
            now,
            unit,
            span,
            last,
        })
    }

    /// Walks from sector number `first` to `end` and leaves the same lines as [`CopyWalk::walk_all`]. With addresses of 32 bits, the range must
    /// not cross a multiple of 4 GiB.
    fn walk_fast(&mut self, first: u64, end: u64) {
        if end - first <= 4 * self.span {
            self.walk_all(first, end);
            return;
        }
        if !self.slice_ports.iter().all(|side| side.slice.cache().tags().is_lru()) {
            self.walk_all(first.max(end.saturating_sub(self.last) / WIDEST_LINE_SECTORS * WIDEST_LINE_SECTORS), end);
            return;
        }
        let held = self.resident_sectors(first);
        let mut sector = first;
        while sector < end {
            let next = (sector.saturating_add(self.span) / WIDEST_LINE_SECTORS * WIDEST_LINE_SECTORS).min(end);
            self.walk_all(sector, next);
            sector = next;
            let stretch = held.partition_point(|line| *line < sector);
            let stop = held.get(stretch).copied().unwrap_or(end).min(end);
            if stop - sector > 2 * self.span
                && self.slice_ports.iter().all(|side| side.slice.cache().tags().replaces_only_new_lines(self.now.0))
                && let Some(last) = self.last_misses(sector, stop)
            {
                // The line at the end of the stretch may evict another line than the one replaced so far.
                sector = stop.saturating_add(WIDEST_LINE_SECTORS).min(end);
                self.walk_all(last, sector);
            }
        }
    }

    /// Returns the first sectors, ascending, of the present lines of the slices that come after sector number `first`.
    fn resident_sectors(&self, first: u64) -> Vec<u64> {
        let above = if self.low32 { first / SECTORS_PER_4_GIB * SECTORS_PER_4_GIB } else { 0 };
        let lines = self.slice_ports.iter().flat_map(|side| side.slice.cache().tags().lines());
        let mut held: Vec<u64> = lines
            .map(|addr| above + addr.0 / SECTOR_BYTES / WIDEST_LINE_SECTORS * WIDEST_LINE_SECTORS)
            .filter(|line| *line >= first)
            .collect();
        held.sort_unstable();
        held.dedup();
        held
    }

    /// Returns a sector between `first` and `stop` from which on every set of the partition occurs at least once; `None` if a walk step by
    /// step is as fast.
    fn last_misses(&mut self, first: u64, stop: u64) -> Option<u64> {
        let mut span = self.span;
        for _ in 0..MAX_DOUBLINGS {
            let from = (stop.checked_sub(span)?) / WIDEST_LINE_SECTORS * WIDEST_LINE_SECTORS;
            if from <= first {
                return None;
            }
            if self.covers_every_set(from, stop) {
                return Some(from);
            }
            span *= 2;
        }
        None
    }

    fn covers_every_set(&mut self, mut sector: u64, end: u64) -> bool {
        let sets = self.slice_ports[0].slice.cache().tags().sets() as usize;
        let mut found = vec![false; sets * self.slice_ports.len()];
        let mut missing = found.len();
        while sector < end && missing > 0 {
            let (next, piece) = self.piece(sector, end);
            if let Some((slice, addr, _)) = piece {
                let set = self.slice_ports[slice].slice.cache().set_index(self.map.within_slice(addr)) as usize;
                missing -= usize::from(!std::mem::replace(&mut found[slice * sets + set], true));
            }
            sector = next;
        }
        missing == 0
    }

    /// Walks from sector number `sector` to `end`, step by step.
    fn walk_all(&mut self, mut sector: u64, end: u64) {
        while sector < end {
            let (next, piece) = self.piece(sector, end);
            if let Some((slice, addr, sectors)) = piece {
                self.slice_ports[slice].slice.warm(addr, self.map.within_slice(addr), sectors, self.now);
            }
            sector = next;
        }
    }

    /// Returns the sectors of one line at a sector, unless they belong to another partition, and the next sector to examine.
    fn piece(&mut self, sector: u64, end: u64) -> (u64, Option<LinePiece>) {
        let full = sector.wrapping_mul(SECTOR_BYTES);
        let addr = Addr(if self.low32 { full & u64::from(u32::MAX) } else { full });
        let (first, behind) = self.slices;
        let slice = self.owners.slice_of(addr).0;
        if !(first..behind).contains(&slice) {
            return (sector + self.owners.bytes_to(addr, first..behind) / SECTOR_BYTES, None);
        }
        // The sectors of one line are inserted together.
        let last = (sector + (self.unit - addr.0 % self.unit) / SECTOR_BYTES).min(end);
        let index = addr.0 % LINE_BYTES / SECTOR_BYTES;
        let sectors = SectorMask((((1u32 << (last - sector)) - 1) << index) as u8);
        (last, Some((usize::from(slice - first), addr, sectors)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Partition, PartitionPorts};
    use warpshard_base::{ClockDomain, LinkId, PartitionId};
    use warpshard_config::Machine;
    use warpshard_config::machine::{Replacement, SetIndex};
    use warpshard_protocol::PartitionHash;

    const CLOCK: ClockDomain = ClockDomain { period: 1 };
    const PORTS: PartitionPorts = PartitionPorts {
        request_in: LinkId(0),
        credit_out: LinkId(10),
        reply_out: LinkId(20),
        credit_in: LinkId(30),
        from_grid: LinkId(40),
    };

    /// Returns the content of the slices of a machine's first partition.
    fn state(slice_ports: &[SlicePort]) -> String {
        slice_ports.iter().map(|side| format!("{:?}\n", side.slice.cache().tags())).collect()
    }

    fn walk(slice_ports: &mut [SlicePort], map: &AddressMap, copy: HostCopy, how: MemcpyWarms, now: Cycle, fast: bool) {
        if fast {
            warm(slice_ports, map, copy, how, now);
        } else if let (Some((first, end)), Some(mut walk)) = (sectors_of(copy, how), CopyWalk::new(slice_ports, map, how, now)) {
            walk.walk_all(first, end);
        }
    }

    fn machine(partitions: u32, hash: PartitionHash, sets: u32, ways: u32, index: SetIndex, sectored: bool) -> Machine {
        let mut machine = Machine::load("tiny", &[]).unwrap().machine;
        let Machine { mem, .. } = &mut machine;
        (mem.map.partitions, mem.map.hash) = (partitions, hash);
        (mem.llc.sets, mem.llc.ways, mem.llc.index, mem.llc.sectored) = (sets, ways, index, sectored);
        machine
    }

    fn slice_ports(machine: &Machine) -> Vec<SlicePort> {
        Partition::new(PartitionId(0), machine, CLOCK, CLOCK, PORTS).into_slice_ports()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn a_copy_leaves_the_same_lines_as_the_walk_over_all_its_sectors(
            (partitions, hash) in prop_oneof![
                (prop::sample::select(vec![1u32, 2, 4]), prop::sample::select(vec![PartitionHash::Linear, PartitionHash::Xor, PartitionHash::Ipoly])),
                (Just(3u32), prop::sample::select(vec![PartitionHash::Linear, PartitionHash::Ipoly])),
            ],
            sets in prop::sample::select(vec![2u32, 4, 8]),
            ways in prop::sample::select(vec![1u32, 3, 4, 30]),
            index in prop::sample::select(vec![SetIndex::Linear, SetIndex::Ipoly]),
            sectored in any::<bool>(),
            how in prop::sample::select(vec![MemcpyWarms::Full, MemcpyWarms::Low32]),
            // The lines before the copy are reserved, written and present, near each other and far from each other.
            before in prop::collection::vec((0u64..1 << 18, 0u8..4, 1u64..4), 0..40),
            near in any::<bool>(),
            copies in prop::collection::vec((0u64..1 << 17, 1u64..1 << 18, 3u64..5), 1..4),
        ) {
            let machine = machine(partitions, hash, sets, ways, index, sectored);
            let map = machine.mem.map.clone();
            let base = if how == MemcpyWarms::Low32 { (1u64 << 32) - (1 << 16) } else { 0x7f00_0000_0000 };
            let mut ports = slice_ports(&machine);
            let mut times: Vec<_> = before.clone();
            times.sort_by_key(|(_, _, now)| *now);
            for (offset, kind, now) in times {
                let addr = Addr((base + if near { offset % (1 << 13) } else { offset }) % (1 << 47) / 32 * 32);
                let addr = if how == MemcpyWarms::Low32 && kind % 2 == 0 { Addr(addr.0 & 0xffff_ffff) } else { addr };
                let slice = usize::from(map.slice_of(addr).0);
                if let Some(side) = ports.get_mut(slice) {
                    side.slice.touch(addr, map.within_slice(addr), kind, Cycle(now));
                }
            }
            let mut other = ports.clone();
            let mut copies = copies;
            copies.sort_by_key(|(_, _, now)| *now);
            for (offset, bytes, now) in copies {
                let copy = HostCopy { addr: Addr(base + offset), bytes };
                walk(&mut ports, &map, copy, how, Cycle(now), true);
                walk(&mut other, &map, copy, how, Cycle(now), false);
                prop_assert_eq!(state(&ports), state(&other), "{:?}", copy);
            }
        }
    }

    #[test]
    fn copies_of_many_times_4_gib_leave_what_the_walk_over_their_low_halves_leaves() {
        // The lines are few and far apart, so that even the plain walk is short.
        let mut machine = machine(1024, PartitionHash::Ipoly, 2, 3, SetIndex::Linear, true);
        machine.mem.map.slices_per_partition = 1;
        let mut ports = slice_ports(&machine);
        let mut other = ports.clone();
        for (addr, bytes) in [(0x7f12_3456_7000, 7 << 32), (0x1000, (4 << 32) - 0x1000), (0x2000, 1 << 32), (0, 5 << 32)] {
            let copy = HostCopy { addr: Addr(addr), bytes };
            walk(&mut ports, &machine.mem.map, copy, MemcpyWarms::Low32, Cycle(9), true);
            walk(&mut other, &machine.mem.map, copy, MemcpyWarms::Low32, Cycle(9), false);
            assert_eq!(state(&ports), state(&other), "{copy:?}");
        }
    }

    #[test]
    fn without_lru_the_end_of_a_large_copy_enters_and_the_walk_ends() {
        for replacement in [Replacement::Fifo, Replacement::Random, Replacement::Srrip] {
            let mut machine = machine(2, PartitionHash::Linear, 8, 4, SetIndex::Linear, true);
            machine.mem.llc.replacement = replacement;
            let mut ports = slice_ports(&machine);
            let copy = HostCopy { addr: Addr(0x1_0000_0000), bytes: 1 << 40 };
            warm(&mut ports, &machine.mem.map, copy, MemcpyWarms::Full, Cycle(1));
            let end = copy.addr.0 + copy.bytes;
            for side in &ports {
                let tags = side.slice.cache().tags();
                assert_eq!(tags.lines().len(), tags.line_count() as usize);
                assert!(tags.lines().iter().all(|line| (end - (1 << 20)..end).contains(&line.0)), "{replacement:?}: {:?}", tags.lines());
            }
        }
    }

    #[test]
    fn the_walk_over_the_largest_copies_ends_on_every_machine() {
        for builtin in warpshard_config::builtin_machines(warpshard_configs::Files::core()) {
            let machine = Machine::load(builtin.name, &[]).unwrap().machine;
            for how in [MemcpyWarms::Full, MemcpyWarms::Low32] {
                for addr in [0, 0x7f00_0000_0010, u64::MAX - 100, 1 << 63] {
                    let mut ports = slice_ports(&machine);
                    warm(&mut ports, &machine.mem.map.of_gpu(), HostCopy { addr: Addr(addr), bytes: u64::MAX }, how, Cycle(1));
                }
            }
        }
    }
}
