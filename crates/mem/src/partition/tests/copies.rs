//! Tests of host copies, which leave lines in the slices that they pass.

use warpshard_protocol::HostCopy;

use super::*;

/// Copies `bytes` bytes to `addr` at cycle 5, reads the sectors at `reads` long after, and returns which of them hit.
fn hits_after_copy(warms: MemcpyWarms, addr: u64, bytes: u64, reads: &[u64]) -> Vec<bool> {
    let mut machine = machine();
    machine.mem.memcpy_warms = warms;
    hits_after_copy_in(&machine, 0, addr, bytes, reads)
}

/// Does the same as `hits_after_copy` in partition number `partition` of `machine`.
fn hits_after_copy_in(machine: &Machine, partition: u16, addr: u64, bytes: u64, reads: &[u64]) -> Vec<bool> {
    let map = machine.mem.map.of_partition(partition.into());
    let (mut unit, mut out) = (Partition::new(PartitionId(partition), machine, LLC_CLOCK, DRAM_CLOCK, PORTS), outbox());
    unit.deliver(PORTS.from_grid, Cycle(5), &Payload::HostCopy(HostCopy { addr: Addr(addr), bytes }));
    assert_eq!(unit.next_event(), Cycle(5));
    let mut hits = Vec::new();
    for (i, &read_addr) in reads.iter().enumerate() {
        let before: u64 = unit.slices().map(|slice| slice.counters().read_hits).sum();
        deliver(&mut unit, 1000 * (i as u64 + 1), read(&map, read_addr, i as u32));
        unit.run(Cycle(1000 * (i as u64 + 2)), true, &mut out);
        let after: u64 = unit.slices().map(|slice| slice.counters().read_hits).sum();
        hits.push(after > before);
    }
    assert_eq!(sent_replies(&mut out).len(), reads.len());
    hits
}

#[test]
fn a_copy_warms_its_own_sectors_and_no_others() {
    let base = 0x7f00_0000_0000;
    let reads = [base - 32, base, base + 96, base + 4064, base + 4096];
    assert_eq!(hits_after_copy(MemcpyWarms::Full, base, 4096, &reads), [false, true, true, true, false]);
    assert_eq!(hits_after_copy(MemcpyWarms::Off, base, 4096, &reads), [false; 5]);
}

#[test]
fn a_copy_with_addresses_of_32_bits_warms_only_addresses_below_4_gib() {
    let reads = |base: u64| [base, base + 64];
    assert_eq!(hits_after_copy(MemcpyWarms::Low32, 0x7f00_1000_0000, 4096, &reads(0x7f00_1000_0000)), [false; 2]);
    assert_eq!(hits_after_copy(MemcpyWarms::Low32, 0x7f00_1000_0000, 4096, &reads(0x1000_0000)), [true; 2]);
    assert_eq!(hits_after_copy(MemcpyWarms::Low32, 0x1000_0000, 4096, &reads(0x1000_0000)), [true; 2]);
}

#[test]
fn a_copy_covers_the_last_sector_of_an_unaligned_span_where_hardware_would() {
    assert_eq!(hits_after_copy(MemcpyWarms::Full, 0x1010, 32, &[0x1000, 0x1020, 0x1040]), [true, true, false]);
    assert_eq!(hits_after_copy(MemcpyWarms::Low32, 0x1010, 32, &[0x1000, 0x1020, 0x1040]), [true, false, false]);
}

#[test]
fn with_dedicated_controllers_a_copy_warms_only_the_partitions_of_the_sms() {
    let base = 0x7f00_0000_0000;
    let reads: Vec<u64> = (0..64).map(|chunk| base + 256 * chunk).collect();
    let mut machine = machine();
    machine.mem.map.partitions = 3;
    machine.mem.map.reserved = 1;
    let hits = |partition: u16, reads: &[u64]| hits_after_copy_in(&machine, partition, base, 64 * 256, reads);
    let map = machine.mem.map.of_gpu();
    let of_partition =
        |partition: u16| -> Vec<u64> { reads.iter().copied().filter(|read| map.slice_of(Addr(*read)).0 / 2 == partition).collect() };
    let (first, second) = (of_partition(1), of_partition(2));
    assert_eq!((first.len() + second.len(), first.is_empty(), second.is_empty()), (64, false, false), "the SMs use partitions 1 and 2");
    assert!(hits(1, &first).into_iter().chain(hits(2, &second)).all(|hit| hit), "every chunk is in the partition of its addresses");
    assert!(hits(0, &reads).into_iter().all(|hit| !hit), "the partition of the CPU cores has no line of the copy");
}
