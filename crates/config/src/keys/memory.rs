//! Keys of the memory partitions, the address map and the LLC slices.

use warpshard_protocol::PartitionHash;

use super::super::choices::Words;
use super::super::machine::{MemcpyWarms, Prefetch};
use super::super::value::{Kind, Value};
use super::cache::cache_keys;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    key!("mem.rop_latency", Kind::Cycles("llc", 0, 4096), "The pipe before the slice's tags, where the reference has its raster pipe.", |m| m.mem.rop_latency)
        .option("-gpgpu_l2_rop_latency"),
    key!("mem.dram_latency", Kind::Cycles("llc", 0, 4096), "Between a slice's miss leaving and the DRAM scheduler seeing it.", |m| m.mem.dram_latency)
        .option("-dram_latency"),
    key!("mem.memcpy_warms_llc", Kind::Choice(MemcpyWarms::WORDS), "What a copy from the host leaves in the LLC.", |m| m.mem.memcpy_warms)
        .default("\"full\"")
        .option("-gpgpu_perf_sim_memcpy"),
    key!("mem.map.partitions", Kind::Count(1, 1024), "Memory partitions (channels) of the chip.", |m| m.mem.map.partitions)
        .option("-gpgpu_n_mem"),
    key!(
        "mem.map.cpu_partitions",
        Kind::Count(0, 1023),
        "The first so many partitions serve CPU cores alone and the others SMs alone; 0 shares all.",
        |m| m.mem.map.reserved
    )
    .default("0"),
    key!("mem.map.slices_per_partition", Kind::Count(1, 16), "LLC slices of a partition.", |m| m.mem.map.slices_per_partition)
        .option("-gpgpu_n_sub_partition_per_mchannel"),
    Key::new(
        "mem.map.interleave",
        Kind::Bytes(32, 1 << 24),
        "How many neighbouring bytes stay in one partition.",
        |m, value| m.mem.map.interleave_bit = u64::of(value).trailing_zeros(),
    )
    .option("-gpgpu_mem_addr_mapping, dramid@ (the bit)"),
    Key::new(
        "mem.map.layout",
        Kind::Layout,
        "The bits of an address without its partition bits: row, bank, column and byte of a burst; the lowest bank bits also select the slice.",
        |m, value| match value {
            Value::Layout(layout) => {
                m.mem.map.row_mask = layout.row;
                m.mem.map.bank_mask = layout.bank;
                // With the bits of the byte within a burst, a column counts bytes.
                m.mem.map.column_mask = layout.column | ((1 << layout.burst_bits) - 1);
            }
            other => panic!("{other:?} for a layout"),
        },
    )
    .option("-gpgpu_mem_addr_mapping"),
    key!("mem.map.hash", Kind::Choice(PartitionHash::WORDS), "Mixing of the slice number.", |m| m.mem.map.hash)
        .option("-gpgpu_memory_partition_indexing"),
    key!(
        "mem.coalescer.requesters",
        Kind::Count(1, 8),
        "Requesters that share one read of a slice at most, where they ask for the same sectors at the same time; 1 is a machine without a coalescer.",
        |m| m.mem.coalescing.requesters
    )
    .default("1"),
    key!(
        "mem.coalescer.sms",
        Kind::Count(1, 4096),
        "Neighbouring SMs, in the order of `gpu.dispatch.order`, whose reads can be one.",
        |m| m.mem.coalescing.sms
    )
    .default("4"),
    key!("mem.coalescer.reads", Kind::Count(8, 4096), "Reads in front of a slice that others may join at the same time.", |m| m
        .mem
        .coalescing
        .reads)
    .default("256"),
    key!(
        "mem.coalescer.latency",
        Kind::Cycles("llc", 0, 4096),
        "From the coalescer to the slice's tags, after `mem.rop_latency`: as long, and while its answer is under way, a read can be joined.",
        |m| m.mem.coalescing.latency
    )
    .default("0"),
    key!(
        "mem.halves.latency",
        Kind::Cycles("llc", 0, 4096),
        "Additional latency of the first read of a sector by an SM of the other half of the LLC; after that, the half has a copy, which takes the room of a line. 0 for an undivided LLC.",
        |m| m.mem.halves.latency
    )
    .default("0"),
    key!("mem.queues.in_queue", Kind::Count(1, 16384), "Packets between network and slice.", |m| m.mem.queues.in_queue)
        .option("-gpgpu_dram_partition_queues, 1st"),
    key!("mem.queues.to_dram", Kind::Count(1, 16384), "Packets between slice and DRAM.", |m| m.mem.queues.to_dram)
        .option("-gpgpu_dram_partition_queues, 2nd"),
    key!("mem.queues.from_dram", Kind::Count(1, 16384), "Packets between DRAM and slice.", |m| m.mem.queues.from_dram)
        .option("-gpgpu_dram_partition_queues, 3rd"),
    key!("mem.queues.out_queue", Kind::Count(1, 16384), "Packets between slice and network.", |m| m.mem.queues.out_queue)
        .option("-gpgpu_dram_partition_queues, 4th"),
    key!(
        "mem.llc.line_bytes",
        Kind::Bytes(128, 256),
        "Bytes of a line, 128 or, where lines are not filled sector by sector, 256: a miss reads the whole line, whatever was requested.",
        |m| m.mem.llc.line_bytes
    )
    .default("\"128 B\"")
    .option("-gpgpu_cache:dl2, bsize"),
    key!(
        "mem.llc.read_sectors",
        Kind::Count(1, 4),
        "Sectors of a line that a slice reads, and hands to the network, in a cycle; requests of other lines wait for the next one.",
        |m| m.mem.llc.read_sectors
    )
    .default("1"),
    key!("mem.llc.write_cycles", Kind::Count(1, 64), "Cycles that a write takes the data port of a slice for each sector.", |m| m
        .mem
        .llc
        .write_cycles)
    .default("1"),
    key!(
        "mem.llc.merge_cycles",
        Kind::Count(0, 64),
        "Cycles more that a write to a part of a sector takes the data port, since the sector is read and merged with it.",
        |m| m.mem.llc.merge_cycles
    )
    .default("0"),
    key!(
        "mem.llc.merge_latency",
        Kind::Count(0, 64),
        "Cycles that a write to a part of a sector takes the data port at least where the last such write was to the same sector, since it waits for what that one wrote.",
        |m| m.mem.llc.merge_latency
    )
    .default("0"),
    key!(
        "mem.llc.atomic_cycles",
        Kind::Count(0, 64),
        "Cycles that an atomic or a reduction takes the data port of a slice for each 16 bytes of a sector that it changes, at least those of a read.",
        |m| m.mem.llc.atomic_cycles
    )
    .default("0"),
    key!(
        "mem.llc.fill_cycles",
        Kind::Count(0, 64),
        "Cycles that data from DRAM takes the data port of a slice for as many sectors as it reads in one (`read_sectors`), beside the fill port; 0 where the two ports are independent.",
        |m| m.mem.llc.fill_cycles
    )
    .default("0"),
    key!(
        "mem.llc.dirty_ratio",
        Kind::Percent,
        "Lines of a slice that may be modified: a write beyond that also sends the oldest modified line of its set to DRAM, which stays, clean.",
        |m| m.mem.llc.dirty_ratio
    )
    .default("\"100 %\""),
    key!("mem.llc.prefetch", Kind::Choice(Prefetch::WORDS), "What a slice fetches before a read asks for it, of its own addresses.", |m| m.mem.prefetch.policy)
        .default("\"none\""),
    key!("mem.llc.prefetch_distance", Kind::Count(1, 256), "How many lines, strides or misses ahead of a read is prefetched.", |m| m
        .mem
        .prefetch
        .distance)
    .when("mem.llc.prefetch", true)
    .refused("nothing is prefetched; `mem.llc.prefetch` chooses what is")
    .default("1"),
    key!("mem.llc.prefetch_degree", Kind::Count(1, 64), "How many sectors a read prefetches with `ghb` or `own`; the others prefetch one.", |m| m
        .mem
        .prefetch
        .degree)
    .when("mem.llc.prefetch", true)
    .refused("nothing is prefetched; `mem.llc.prefetch` chooses what is")
    .default("1"),
];

cache_keys!(LLC_KEYS, "mem.llc.", "-gpgpu_cache:dl2, ", |m| m.mem.llc);
