//! Keys of the memory partitions, the address map and the LLC slices.

use warpshard_protocol::PartitionHash;

use super::super::choices::Words;
use super::super::machine::{MemcpyWarms, Prefetch};
use super::super::value::{Value, ValueKind};
use super::cache::cache_keys;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    key!("mem.rop_latency", ValueKind::Cycles("llc", 0, 4096), "Latency of the pipe before the slice's tags: the ROP pipe of the reference.", |m| m.mem.rop_latency)
        .option("-gpgpu_l2_rop_latency"),
    key!("mem.dram_latency", ValueKind::Cycles("llc", 0, 4096), "Cycles from the departure of a slice's miss to its arrival at the DRAM scheduler.", |m| m.mem.dram_latency)
        .option("-dram_latency"),
    key!("mem.memcpy_warms_llc", ValueKind::Choice(MemcpyWarms::WORDS), "Effect of copies from the host on the LLC.", |m| m.mem.memcpy_warms)
        .default("\"full\"")
        .option("-gpgpu_perf_sim_memcpy"),
    key!("mem.map.partitions", ValueKind::Count(1, 1024), "Memory partitions (channels) of the chip.", |m| m.mem.map.partitions)
        .option("-gpgpu_n_mem"),
    key!(
        "mem.map.cpu_partitions",
        ValueKind::Count(0, 1023),
        "Number of partitions, from the first on, that serve only CPU cores; the others serve only SMs. If 0, all are shared.",
        |m| m.mem.map.reserved
    )
    .default("0"),
    key!("mem.map.slices_per_partition", ValueKind::Count(1, 16), "LLC slices of a partition.", |m| m.mem.map.slices_per_partition)
        .option("-gpgpu_n_sub_partition_per_mchannel"),
    Key::new(
        "mem.map.interleave",
        ValueKind::Bytes(32, 1 << 24),
        "Number of consecutive bytes in one partition.",
        |m, value| m.mem.map.interleave_bit = u64::of(value).trailing_zeros(),
    )
    .option("-gpgpu_mem_addr_mapping, dramid@ (the bit)"),
    Key::new(
        "mem.map.layout",
        ValueKind::Layout,
        "Bits of an address without its partition bits: row, bank, column and byte of a burst; the lowest bank bits also select the slice.",
        |m, value| match value {
            Value::Layout(layout) => {
                m.mem.map.row_mask = layout.row;
                m.mem.map.bank_mask = layout.bank;
                // A column mask with the burst bits counts bytes.
                m.mem.map.column_mask = layout.column | ((1 << layout.burst_bits) - 1);
            }
            other => panic!("{other:?} for a layout"),
        },
    )
    .option("-gpgpu_mem_addr_mapping"),
    key!("mem.map.hash", ValueKind::Choice(PartitionHash::WORDS), "Hash of the slice number.", |m| m.mem.map.hash)
        .option("-gpgpu_memory_partition_indexing"),
    key!(
        "mem.coalescer.requesters",
        ValueKind::Count(1, 8),
        "Maximum number of requesters that share one read of a slice if they request the same sectors at the same time; 1 for a machine without a coalescer.",
        |m| m.mem.coalescing.requesters
    )
    .default("1"),
    key!(
        "mem.coalescer.sms",
        ValueKind::Count(1, 4096),
        "Number of neighbouring SMs, in the order of `gpu.dispatch.order`, whose reads can be merged.",
        |m| m.mem.coalescing.sms
    )
    .default("4"),
    key!("mem.coalescer.reads", ValueKind::Count(8, 4096), "Maximum number of reads in front of a slice that are open for merging at the same time.", |m| m
        .mem
        .coalescing
        .reads)
    .default("256"),
    key!(
        "mem.coalescer.latency",
        ValueKind::Cycles("llc", 0, 4096),
        "Cycles from the coalescer to the slice's tags, after `mem.rop_latency`. During these cycles, and until its reply arrives, a read is open for merging.",
        |m| m.mem.coalescing.latency
    )
    .default("0"),
    key!(
        "mem.halves.latency",
        ValueKind::Cycles("llc", 0, 4096),
        "Additional latency of the first read of a sector by an SM of the other half of the LLC. The read leaves a copy in that half, which occupies a line. 0 for an undivided LLC.",
        |m| m.mem.halves.latency
    )
    .default("0"),
    key!("mem.queues.in_queue", ValueKind::Count(1, 16384), "Capacity of the queue from the network to a slice, in packets.", |m| m.mem.queues.in_queue)
        .option("-gpgpu_dram_partition_queues, 1st"),
    key!("mem.queues.to_dram", ValueKind::Count(1, 16384), "Capacity of the queue from a slice to DRAM, in packets.", |m| m.mem.queues.to_dram)
        .option("-gpgpu_dram_partition_queues, 2nd"),
    key!("mem.queues.from_dram", ValueKind::Count(1, 16384), "Capacity of the queue from DRAM to a slice, in packets.", |m| m.mem.queues.from_dram)
        .option("-gpgpu_dram_partition_queues, 3rd"),
    key!("mem.queues.out_queue", ValueKind::Count(1, 16384), "Capacity of the queue from a slice to the network, in packets.", |m| m.mem.queues.out_queue)
        .option("-gpgpu_dram_partition_queues, 4th"),
    key!(
        "mem.llc.line_bytes",
        ValueKind::Bytes(128, 256),
        "Bytes of a line: 128, or 256 for lines without sectors, of which a miss reads the whole line.",
        |m| m.mem.llc.line_bytes
    )
    .default("\"128 B\"")
    .option("-gpgpu_cache:dl2, bsize"),
    key!(
        "mem.llc.read_sectors",
        ValueKind::Count(1, 4),
        "Sectors of a line that a slice reads and sends to the network per cycle; requests for other lines wait for the next cycle.",
        |m| m.mem.llc.read_sectors
    )
    .default("1"),
    key!("mem.llc.write_cycles", ValueKind::Count(1, 64), "Cycles per sector for which a write occupies the data port of a slice.", |m| m
        .mem
        .llc
        .write_cycles)
    .default("1"),
    key!(
        "mem.llc.merge_cycles",
        ValueKind::Count(0, 64),
        "Additional cycles for which a write to a part of a sector occupies the data port, because the sector is read and merged with the write.",
        |m| m.mem.llc.merge_cycles
    )
    .default("0"),
    key!(
        "mem.llc.merge_latency",
        ValueKind::Count(0, 64),
        "Minimum number of cycles for which a write to a part of a sector occupies the data port if the last such write was to the same sector: the second write waits for the result of the first.",
        |m| m.mem.llc.merge_latency
    )
    .default("0"),
    key!(
        "mem.llc.atomic_cycles",
        ValueKind::Count(0, 64),
        "Cycles for which an atomic or a reduction occupies the data port of a slice, per 16 bytes of a sector that it changes; at least as many as for a read.",
        |m| m.mem.llc.atomic_cycles
    )
    .default("0"),
    key!(
        "mem.llc.fill_cycles",
        ValueKind::Count(0, 64),
        "Cycles per `read_sectors` sectors for which data from DRAM occupies the data port of a slice in addition to the fill port; 0 if the two ports are independent.",
        |m| m.mem.llc.fill_cycles
    )
    .default("0"),
    key!(
        "mem.llc.dirty_ratio",
        ValueKind::Percent,
        "Share of a slice's lines that may be modified. A write beyond this limit also sends the oldest modified line of its set to DRAM; the line stays in the slice as a clean line.",
        |m| m.mem.llc.dirty_ratio
    )
    .default("\"100 %\""),
    key!("mem.llc.prefetch", ValueKind::Choice(Prefetch::WORDS), "Prefetcher of a slice, which fetches only addresses of this slice.", |m| m.mem.prefetch.policy)
        .default("\"none\""),
    key!("mem.llc.prefetch_distance", ValueKind::Count(1, 256), "Prefetch distance in lines, strides or misses.", |m| m
        .mem
        .prefetch
        .distance)
    .when("mem.llc.prefetch", true)
    .refused("prefetching is off: select a prefetcher with `mem.llc.prefetch`")
    .default("1"),
    key!("mem.llc.prefetch_degree", ValueKind::Count(1, 64), "Sectors that a read prefetches with `ghb` or `own`; other prefetchers fetch one.", |m| m
        .mem
        .prefetch
        .degree)
    .when("mem.llc.prefetch", true)
    .refused("prefetching is off: select a prefetcher with `mem.llc.prefetch`")
    .default("1"),
];

cache_keys!(LLC_KEYS, "mem.llc.", "-gpgpu_cache:dl2, ", |m| m.mem.llc);
