//! Keys of the CPU cores.

use super::super::cpu::PrivateCaches;
use super::super::machine::{Cpu, Machine};
use super::super::value::ValueKind;
use super::declaration::{Field, Key};

fn cpu(machine: &mut Machine) -> &mut Cpu {
    machine.cpu.get_or_insert_default()
}

fn caches(machine: &mut Machine) -> &mut PrivateCaches {
    cpu(machine).spec.caches.get_or_insert_default()
}

macro_rules! core_key {
    ($name:ident, $kind:expr, $doc:literal) => {
        Key::new(concat!("cpu.", stringify!($name)), $kind, $doc, |m, value| cpu(m).spec.$name = Field::of(value)).when("cpu.count", true)
    };
}

macro_rules! cache_key {
    ($name:literal, $kind:expr, $doc:literal, |$caches:ident| $field:expr) => {
        Key::new(concat!("cpu.", $name), $kind, $doc, |m, value| {
            let $caches = caches(m);
            $field = Field::of(value);
        })
        .when("cpu.private_caches", true)
    };
}

pub(super) const KEYS: &[Key] = &[
    Key::new("cpu.count", ValueKind::Count(0, 1024), "Number of CPU cores.", |m, value| {
        let count = u32::of(value);
        m.cpu = (count > 0).then(|| Cpu { count, ..Cpu::default() });
    })
    .default("0"),
    Key::new("cpu.clock", ValueKind::Frequency, "Clock of the CPU cores.", |m, value| cpu(m).clock = Field::of(value))
        .when("cpu.count", true),
    core_key!(width, ValueKind::Count(1, 64), "Instructions fetched, executed and committed per cycle."),
    core_key!(memory_per_cycle, ValueKind::Count(1, 64), "Maximum number of memory instructions per cycle.").default("1"),
    core_key!(window, ValueKind::Count(1, 4096), "Size of the instruction window, from fetch to in-order commit."),
    core_key!(line_bytes, ValueKind::Bytes(32, 128), "Size of a memory request: 128 B, or 32 B to 128 B without private caches."),
    Key::new(
        "cpu.private_caches",
        ValueKind::Flag,
        "True if each core has private caches; false for traces that are already filtered by caches.",
        |m, value| cpu(m).spec.caches = bool::of(value).then(PrivateCaches::default),
    )
    .when("cpu.count", true)
    .default("true"),
    cache_key!("l1.sets", ValueKind::Count(1, 32768), "Number of sets; lines have 128 B.", |c| c.l1.sets),
    cache_key!("l1.ways", ValueKind::Count(1, 1024), "Ways.", |c| c.l1.ways),
    cache_key!("l1.latency", ValueKind::Cycles("cpu", 1, 4096), "Cycles from access to data on a hit.", |c| c.l1_latency),
    cache_key!("l1.mshrs", ValueKind::Count(1, 16384), "Outstanding misses.", |c| c.l1.mshrs),
    cache_key!("l1.mshr_merge", ValueKind::Count(1, 16384), "Maximum number of requests merged into one outstanding miss.", |c| c
        .l1
        .mshr_merge),
    cache_key!("l1.miss_queue", ValueKind::Count(2, 16384), "Capacity of the miss queue to the L2.", |c| c.l1.miss_queue),
    cache_key!("l2.sets", ValueKind::Count(1, 32768), "Number of sets; lines have 128 B.", |c| c.l2.sets),
    cache_key!("l2.ways", ValueKind::Count(1, 1024), "Ways.", |c| c.l2.ways),
    cache_key!("l2.latency", ValueKind::Cycles("cpu", 1, 4096), "Additional latency of the L2.", |c| c.l2_latency),
    cache_key!("l2.mshrs", ValueKind::Count(1, 16384), "Outstanding misses.", |c| c.l2.mshrs),
    cache_key!("l2.mshr_merge", ValueKind::Count(1, 16384), "Maximum number of requests merged into one outstanding miss.", |c| c
        .l2
        .mshr_merge),
    cache_key!("l2.miss_queue", ValueKind::Count(2, 16384), "Capacity of the miss queue to the network.", |c| c.l2.miss_queue),
];
