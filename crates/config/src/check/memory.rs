//! Checks of the address map.

use warpshard_protocol::PartitionHash;

use super::super::machine::Mem;
use super::super::quantity::Bytes;
use super::super::value::Value;
use super::checker::Checker;

pub(super) fn check(mem: &Mem, checker: &mut Checker<'_>) {
    let map = &mem.map;
    checker.power_of_two("mem.map.slices_per_partition", map.slices_per_partition.into(), "the lowest bank bits pick the slice");
    if let &Value::Number(bytes) = checker.value("mem.map.interleave") {
        checker.power_of_two("mem.map.interleave", bytes, "the partition number is removed from the address at one bit position");
    }
    checker.require(
        map.reserved < map.partitions,
        &["mem.map.cpu_partitions", "mem.map.partitions"],
        || format!("`mem.map.cpu_partitions` is {}, expected fewer than the {} partitions", map.reserved, map.partitions),
        || "SMs also need a partition; 0 shares all partitions".to_owned(),
    );
    if mem.dram.has_own_device() {
        check_layout(mem, checker);
    }
    let rows = map.row_mask.count_ones();
    checker.require(
        rows <= 32,
        &["mem.map.layout"],
        || format!("`mem.map.layout` has {rows} row bits (R), expected at most 32"),
        || "rows are numbered with 32 bits; leave out the highest bits".to_owned(),
    );
    let bits = map.bank_mask.count_ones();
    checker.require(
        bits <= 32,
        &["mem.map.layout"],
        || format!("`mem.map.layout` has {bits} bank bits (B), expected at most 32"),
        || "banks are numbered with 32 bits".to_owned(),
    );
    checker.require(
        mem.dram.has_own_device() || u64::from(map.slices_per_partition) <= 1 << bits,
        &["mem.map.slices_per_partition", "mem.map.layout"],
        || {
            format!(
                "`mem.map.slices_per_partition` is {}, expected at most {}, as {bits} bank bits can select",
                map.slices_per_partition,
                1u64 << bits
            )
        },
        || "the lowest bank bits of `mem.map.layout` (B) pick the slice".to_owned(),
    );
    let slices = u64::from(map.partitions.next_power_of_two()) * u64::from(map.slices_per_partition);
    checker.require(
        map.hash != PartitionHash::Xor || [map.of_gpu(), map.of_cpu()].iter().all(|part| part.partitions.is_power_of_two()),
        &["mem.map.hash", "mem.map.partitions"],
        || format!("`mem.map.hash` is \"xor\" with {} partitions, expected a power of two", map.partitions),
        || "hash = \"linear\" or \"ipoly\" works with any number of partitions".to_owned(),
    );
    let lowest = 1u64 << (u64::from(map.partitions) * u64::from(map.slices_per_partition)).trailing_zeros();
    checker.require(
        map.hash != PartitionHash::Spread || lowest <= 1024,
        &["mem.map.hash", "mem.map.partitions", "mem.map.slices_per_partition"],
        || format!("`mem.map.hash` is \"spread\" with a multiple of {lowest} slices on the chip, expected a multiple of at most 1024"),
        || "the hash is defined up to ten bits; hash = \"linear\" takes any number".to_owned(),
    );
    checker.require(
        map.hash != PartitionHash::Ipoly || slices <= 1024,
        &["mem.map.hash", "mem.map.partitions", "mem.map.slices_per_partition"],
        || format!("`mem.map.hash` is \"ipoly\" with {slices} slices on the chip, expected at most 1024"),
        || "the hash is defined up to ten bits; hash = \"linear\" takes any number".to_owned(),
    );
}

/// Checks the address layout against the banks and the burst size of the machine's own DRAM device.
fn check_layout(mem: &Mem, checker: &mut Checker<'_>) {
    let (map, dram) = (&mem.map, &mem.dram);
    checker.power_of_two("mem.dram.banks", dram.banks.into(), "address bits pick the bank");
    let bits = map.bank_mask.count_ones();
    checker.require(
        1u64 << bits == u64::from(dram.banks),
        &["mem.map.layout", "mem.dram.banks"],
        || format!("`mem.map.layout` has {bits} bank bits (B), expected {} for {} banks", dram.banks.ilog2(), dram.banks),
        || "2 to the number of B must be `mem.dram.banks`".to_owned(),
    );
    let burst = u64::from(dram.bus_bytes) * u64::from(dram.burst);
    let low = match checker.value("mem.map.layout") {
        Value::Layout(layout) => layout.burst_bits,
        other => panic!("{other:?} for a layout"),
    };
    checker.require(
        burst.is_power_of_two() && burst <= 1u64 << low,
        &["mem.map.layout", "mem.dram.bus_bytes", "mem.dram.burst"],
        || format!("`mem.map.layout` has {low} burst bits (S), {}, expected bursts of {}", Bytes(1 << low), Bytes(burst)),
        || {
            format!(
                "a burst is `mem.dram.bus_bytes` times `mem.dram.burst`: {} x {}; the bits hold one burst or several",
                dram.bus_bytes, dram.burst
            )
        },
    );
    checker.require(
        map.slices_per_partition <= dram.banks,
        &["mem.map.slices_per_partition", "mem.dram.banks"],
        || format!("`mem.map.slices_per_partition` is {}, expected at most the {} banks", map.slices_per_partition, dram.banks),
        || "the lowest bank bits pick the slice".to_owned(),
    );
}
