//! Checks of the L1 and the LLC.

use warpshard_base::{LINE_BYTES, SECTOR_BYTES};

use super::super::machine::{Allocate, Cache, Machine, Mem, SetIndex, Sm, WriteMiss};
use super::super::quantity::Bytes;
use super::super::value::Value;
use super::checker::Checker;
use super::sm;

pub(super) fn check(machine: &Machine, checker: &mut Checker<'_>) {
    if let Some(cache) = &machine.gpu.sm.l1.cache {
        check_geometry("gpu.sm.l1.cache", cache, checker);
        checker.require(
            machine.gpu.sm.lsu.sector_requests || !cache.sectored,
            &["gpu.sm.lsu.sector_requests", "gpu.sm.l1.cache.sectored"],
            || "`gpu.sm.lsu.sector_requests` is false with a sectored L1, expected true".to_owned(),
            || "a sectored L1 looks up one sector at a time; requests of whole lines need `gpu.sm.l1.cache.sectored = false`".to_owned(),
        );
        checker.require(
            !machine.gpu.sm.l1.line_requests || cache.sectored && machine.mem.llc.sectored,
            &["gpu.sm.l1.line_requests", "gpu.sm.l1.cache.sectored", "mem.llc.sectored"],
            || "`gpu.sm.l1.line_requests` is true with caches of whole lines, expected false".to_owned(),
            || {
                "the sectors of a request return one by one only if both caches have sectors; set `sectored = true` for the L1 and the LLC"
                    .to_owned()
            },
        );
        checker.require(
            cache.write_miss != WriteMiss::WriteAllocate,
            &["gpu.sm.l1.cache.write_miss"],
            || "`gpu.sm.l1.cache.write_miss` is \"write-allocate\", expected another choice".to_owned(),
            || "only the LLC models a write that is sent on and also reads its line; \"fetch-on-write\" is the nearest policy".to_owned(),
        );
        let (ratio, most) = (machine.gpu.sm.l1.write_ratio, 100 / cache.sets.max(1));
        checker.require(
            ratio <= most,
            &["gpu.sm.l1.write_ratio", "gpu.sm.l1.cache.sets"],
            || format!("`gpu.sm.l1.write_ratio` is {ratio} % of a cache of {} sets, expected at most {most} %", cache.sets),
            || {
                "written lines are kept until they make up this share of the whole cache; a set that fills with them before that \
                 could never take another line"
                    .to_owned()
            },
        );
    }
    check_geometry("mem.llc", &machine.mem.llc, checker);
    sm::check_degree("mem.llc.prefetch", machine.mem.prefetch.policy, machine.mem.prefetch.degree, checker);
    check_line_bytes(&machine.mem, checker);
    checker.power_of_two("gpu.sm.l1.banks", machine.gpu.sm.l1.banks.into(), "an address picks its bank by its sector bits");
    check_unified(&machine.gpu.sm, checker);
}

fn check_geometry(table: &str, cache: &Cache, checker: &mut Checker<'_>) {
    let sets = format!("{table}.sets");
    checker.power_of_two(&sets, cache.sets.into(), "an address picks its set by its bits");
    let hashable = match cache.index {
        SetIndex::Linear => None,
        SetIndex::Ipoly => Some(("ipoly", 2..=1024)),
        SetIndex::Fermi => Some(("fermi", 32..=64)),
    };
    if let Some((name, range)) = hashable {
        checker.require(
            range.contains(&cache.sets),
            &[&format!("{table}.index"), &sets],
            || format!("`{table}.index` is \"{name}\" with {} sets, expected {} to {} sets", cache.sets, range.start(), range.end()),
            || format!("the hash is defined for these; set `{sets}` so, or index = \"linear\""),
        );
    }
    let (write_miss, allocate) = (format!("{table}.write_miss"), format!("{table}.allocate"));
    checker.require(
        cache.write_miss == WriteMiss::NoAllocate || cache.allocate == Allocate::OnMiss,
        &[&write_miss, &allocate],
        || format!("`{write_miss}` allocates lines for writes with `{allocate}` = \"on-fill\", expected \"on-miss\""),
        || "a write needs its line immediately".to_owned(),
    );
    let (queue, least) = (format!("{table}.miss_queue"), if cache.write_miss == WriteMiss::WriteAllocate { 3 } else { 2 });
    checker.require(
        cache.miss_queue >= least,
        &[&queue, &write_miss],
        || format!("`{queue}` is {}, expected at least {least}", cache.miss_queue),
        || format!("a miss may send {least} requests at the same time, including a writeback"),
    );
    let port = format!("{table}.port_bytes");
    checker.power_of_two(&port, cache.port_bytes.into(), "a sector takes a whole number of transfers, or one transfer moves whole sectors");
    let (at_most, line) = (if cache.sectored { "a sectored cache" } else { "a line" }, u32::from(cache.line_bytes));
    checker.require(
        cache.port_bytes <= line,
        &[&port],
        || format!("`{port}` is {}, expected at most {line} B", Bytes(cache.port_bytes.into())),
        || format!("{at_most} moves at most {line} B at a time; a sector is {SECTOR_BYTES} B"),
    );
}

/// Checks the line size of the LLC, which may exceed the line size of the L1.
fn check_line_bytes(mem: &Mem, checker: &mut Checker<'_>) {
    let key = "mem.llc.line_bytes";
    let &Value::Number(bytes) = checker.value(key) else { return };
    let is = || format!("`{key}` is {}", Bytes(bytes));
    checker.require(
        bytes == LINE_BYTES || bytes == 2 * LINE_BYTES,
        &[key],
        || format!("{}, expected {LINE_BYTES} B or {} B", is(), 2 * LINE_BYTES),
        || "a request of an SM lies within 128 B".to_owned(),
    );
    checker.require(
        bytes == LINE_BYTES || !mem.llc.sectored,
        &[key, "mem.llc.sectored"],
        || format!("{} of sectors, expected {LINE_BYTES} B", is()),
        || "wider lines are read whole; set `mem.llc.sectored = false`".to_owned(),
    );
    checker.require(
        bytes <= 1 << mem.map.interleave_bit,
        &[key, "mem.map.interleave"],
        || format!("{}, expected at most `mem.map.interleave`", is()),
        || "a line belongs to one partition".to_owned(),
    );
}

/// Checks that every split of a unified memory leaves a whole number of ways to the L1.
fn check_unified(sm: &Sm, checker: &mut Checker<'_>) {
    let (Some(unified), Some(cache)) = (&sm.l1.unified, &sm.l1.cache) else {
        return;
    };
    let options = "gpu.sm.l1.unified.shared_options";
    let list: Vec<String> = unified.shared_options.iter().map(|size| Bytes(u64::from(*size)).to_string()).collect();
    let list = list.join(", ");
    checker.require(
        unified.shared_options.is_sorted_by(|a, b| a < b) && !unified.shared_options.is_empty(),
        &[options],
        || format!("`{options}` is [{list}], expected at least one size, in ascending order"),
        || "a kernel gets the first size that suffices".to_owned(),
    );
    let Some(&largest) = unified.shared_options.iter().max() else {
        return;
    };
    checker.require(
        largest >= sm.shared_bytes,
        &[options, "gpu.sm.shared_bytes"],
        || {
            format!(
                "`{options}` ends at {}, expected at least `gpu.sm.shared_bytes`, {}",
                Bytes(largest.into()),
                Bytes(sm.shared_bytes.into())
            )
        },
        || "otherwise no size holds CTAs that fill the shared memory".to_owned(),
    );
    checker.require(
        largest < unified.total_bytes,
        &["gpu.sm.l1.unified.total_bytes", options],
        || {
            let total = Bytes(unified.total_bytes.into());
            format!("`gpu.sm.l1.unified.total_bytes` is {total}, expected more than the largest shared memory, {}", Bytes(largest.into()))
        },
        || "the rest of the unified memory is the L1".to_owned(),
    );
    let way = u64::from(cache.sets) * LINE_BYTES;
    for size in unified.shared_options.iter().chain([&unified.total_bytes]) {
        checker.require(
            u64::from(*size).is_multiple_of(way),
            &[if *size == unified.total_bytes { "gpu.sm.l1.unified.total_bytes" } else { options }, "gpu.sm.l1.cache.sets"],
            || format!("{} of the unified memory is not a whole number of ways", Bytes(u64::from(*size))),
            || format!("a way of the L1 is {} sets of {LINE_BYTES} B, {}", cache.sets, Bytes(way)),
        );
    }
}
