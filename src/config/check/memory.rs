//! Checks of the address map and the DRAM channels.

use super::super::machine::{Dram, Mem};
use super::super::quantity::Bytes;
use super::super::value::Value;
use super::Checker;
use crate::protocol::PartitionHash;

pub(super) fn check(mem: &Mem, checker: &mut Checker<'_>) {
    map(mem, checker);
    timing(&mem.dram, checker);
}

fn map(mem: &Mem, checker: &mut Checker<'_>) {
    let (map, dram) = (&mem.map, &mem.dram);
    checker.power_of_two("mem.map.slices_per_partition", map.slices_per_partition.into(), "the lowest bank bits pick the slice");
    checker.power_of_two("mem.dram.banks", dram.banks.into(), "address bits pick the bank");
    if let &Value::Number(bytes) = checker.value("mem.map.interleave") {
        checker.power_of_two("mem.map.interleave", bytes, "the partition number is taken out of the address at one bit");
    }
    checker.require(
        map.reserved < map.partitions,
        &["mem.map.cpu_partitions", "mem.map.partitions"],
        || format!("`mem.map.cpu_partitions` is {}, expected fewer than the {} partitions", map.reserved, map.partitions),
        || "SMs need a partition too; 0 shares all".to_owned(),
    );
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
        burst == 1u64 << low,
        &["mem.map.layout", "mem.dram.bus_bytes", "mem.dram.burst"],
        || format!("`mem.map.layout` has {low} burst bits (S), {}, expected bursts of {}", Bytes(1 << low), Bytes(burst)),
        || format!("a burst is `mem.dram.bus_bytes` times `mem.dram.burst`: {} x {}", dram.bus_bytes, dram.burst),
    );
    checker.require(
        map.slices_per_partition <= dram.banks,
        &["mem.map.slices_per_partition", "mem.dram.banks"],
        || format!("`mem.map.slices_per_partition` is {}, expected at most the {} banks", map.slices_per_partition, dram.banks),
        || "the lowest bank bits pick the slice".to_owned(),
    );
    let slices = u64::from(map.partitions.next_power_of_two()) * u64::from(map.slices_per_partition);
    checker.require(
        map.hash != PartitionHash::Xor || [map.of_gpu(), map.of_cpu()].iter().all(|part| part.partitions.is_power_of_two()),
        &["mem.map.hash", "mem.map.partitions"],
        || format!("`mem.map.hash` is \"xor\" with {} partitions, expected a power of two", map.partitions),
        || "hash = \"linear\" or \"ipoly\" works with any number of partitions".to_owned(),
    );
    checker.require(
        map.hash != PartitionHash::Ipoly || slices <= 1024,
        &["mem.map.hash", "mem.map.partitions", "mem.map.slices_per_partition"],
        || format!("`mem.map.hash` is \"ipoly\" with {slices} slices on the chip, expected at most 1024"),
        || "the hash is defined up to ten bits; hash = \"linear\" takes any number".to_owned(),
    );
}

fn timing(dram: &Dram, checker: &mut Checker<'_>) {
    let t = &dram.timing;
    let row_cycle = t.tRAS.saturating_add(t.tRP);
    checker.require(
        dram.banks.is_multiple_of(dram.bank_groups),
        &["mem.dram.bank_groups", "mem.dram.banks"],
        || format!("`mem.dram.bank_groups` is {}, expected a divisor of the {} banks", dram.bank_groups, dram.banks),
        || "every group has the same number of banks".to_owned(),
    );
    checker.require(
        dram.burst.is_multiple_of(dram.beats_per_clock),
        &["mem.dram.burst", "mem.dram.beats_per_clock"],
        || format!("`mem.dram.burst` is {} beats, expected a multiple of `mem.dram.beats_per_clock`, {}", dram.burst, dram.beats_per_clock),
        || "a burst takes a whole number of command clocks".to_owned(),
    );
    // Published timings round each of the three to cycles, so that one may be missing.
    checker.require(
        t.tRC.saturating_add(1) >= row_cycle,
        &["mem.dram.timing.tRC", "mem.dram.timing.tRAS", "mem.dram.timing.tRP"],
        || format!("`mem.dram.timing.tRC` is {}, expected at least tRAS + tRP = {}", t.tRC, row_cycle),
        || "a bank is open for tRAS and closes for tRP before it opens again".to_owned(),
    );
    checker.require(
        t.tRAS >= t.tRCD,
        &["mem.dram.timing.tRAS", "mem.dram.timing.tRCD"],
        || format!("`mem.dram.timing.tRAS` is {}, expected at least tRCD = {}", t.tRAS, t.tRCD),
        || "a row stays open until a column of it can be read".to_owned(),
    );
    checker.require(
        dram.bank_groups == 1 || t.tCCDL >= t.tCCD,
        &["mem.dram.timing.tCCDL", "mem.dram.timing.tCCD"],
        || format!("`mem.dram.timing.tCCDL` is {}, expected at least tCCD = {}", t.tCCDL, t.tCCD),
        || "columns of one bank group follow each other no faster than those of two".to_owned(),
    );
}
