//! Keys of the LLC slices and the DRAM channels.

use super::super::machine::{DramScheduler, MemcpyWarms};
use super::super::value::{Kind, Value};
use super::cache::cache_keys;
use super::choices::Words;
use super::{Field, Key, key};
use crate::protocol::PartitionHash;

pub(super) const KEYS: &[Key] = &[
    key!("mem.rop_latency", Kind::Cycles("llc", 0), "The pipe before the slice's tags, where the reference has its raster pipe.", |m| m.mem.rop_latency)
        .option("-gpgpu_l2_rop_latency"),
    key!("mem.dram_latency", Kind::Cycles("llc", 0), "Between a slice's miss leaving and the DRAM scheduler seeing it.", |m| m.mem.dram_latency)
        .option("-dram_latency"),
    key!("mem.memcpy_warms_l2", MemcpyWarms::KIND, "What a copy from the host leaves in the LLC.", |m| m.mem.memcpy_warms)
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
        Kind::Bytes(32),
        "How many neighbouring bytes stay in one partition.",
        |m, value| m.mem.map.interleave_bit = u64::of(value).trailing_zeros(),
    )
    .option("-gpgpu_mem_addr_mapping, dramid@ (the bit)"),
    Key::new(
        "mem.map.layout",
        Kind::Layout,
        "The bits of an address without its partition bits: row, bank, column and byte of a burst; the lowest bank bits also tell slices apart.",
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
    key!("mem.map.hash", PartitionHash::KIND, "Mixing of the slice number.", |m| m.mem.map.hash)
        .option("-gpgpu_memory_partition_indexing"),
    key!("mem.queues.in_queue", Kind::Count(1, 65535), "Packets between network and slice.", |m| m.mem.queues.in_queue)
        .option("-gpgpu_dram_partition_queues, 1st"),
    key!("mem.queues.to_dram", Kind::Count(1, 65535), "Packets between slice and DRAM.", |m| m.mem.queues.to_dram)
        .option("-gpgpu_dram_partition_queues, 2nd"),
    key!("mem.queues.from_dram", Kind::Count(1, 65535), "Packets between DRAM and slice.", |m| m.mem.queues.from_dram)
        .option("-gpgpu_dram_partition_queues, 3rd"),
    key!("mem.queues.out_queue", Kind::Count(1, 65535), "Packets between slice and network.", |m| m.mem.queues.out_queue)
        .option("-gpgpu_dram_partition_queues, 4th"),
];

cache_keys!(LLC_KEYS, "mem.llc.", "-gpgpu_cache:dl2, ", |m| m.mem.llc);

pub(super) const DRAM_KEYS: &[Key] = &[
    key!("mem.dram.banks", Kind::Count(1, 64), "Banks of a channel.", |m| m.mem.dram.banks).option("-gpgpu_dram_timing_opt, nbk"),
    key!("mem.dram.bank_groups", Kind::Count(1, 16), "Bank groups; 1 where the device has none.", |m| m.mem.dram.bank_groups)
        .option("-gpgpu_dram_timing_opt, nbkgrp"),
    key!("mem.dram.group_low_bits", Kind::Flag, "Whether neighbouring bank numbers lie in different groups.", |m| m
        .mem
        .dram
        .group_low_bits)
    .option("-dram_bnkgrp_indexing_policy"),
    key!("mem.dram.bus_bytes", Kind::Bytes(1), "Width of a channel's data bus.", |m| m.mem.dram.bus_bytes)
        .option("-gpgpu_dram_buswidth x -gpgpu_n_mem_per_ctrlr"),
    key!("mem.dram.burst", Kind::Count(1, 64), "Beats of a burst.", |m| m.mem.dram.burst).option("-gpgpu_dram_burst_length"),
    key!("mem.dram.beats_per_clock", Kind::Count(1, 16), "Data beats per command clock: 2 for DDR, 4 for GDDR5.", |m| m
        .mem
        .dram
        .beats_per_clock)
    .option("-dram_data_command_freq_ratio"),
    key!("mem.dram.dual_command_bus", Kind::Flag, "Whether row and column commands have buses of their own (HBM).", |m| m
        .mem
        .dram
        .dual_command_bus)
    .option("-dram_dual_bus_interface"),
    key!("mem.dram.scheduler", DramScheduler::KIND, "The order in which requests are served.", |m| m.mem.dram.scheduler)
        .option("-gpgpu_dram_scheduler"),
    key!("mem.dram.queue", Kind::Count(1, 65535), "Requests that the scheduler sees.", |m| m.mem.dram.queue)
        .option("-gpgpu_frfcfs_dram_sched_queue_size"),
    key!("mem.dram.return_queue", Kind::Count(1, 65535), "Answers that wait to leave.", |m| m.mem.dram.return_queue)
        .option("-gpgpu_dram_return_queue_size"),
    key!("mem.dram.timing.tCCD", Kind::Cycles("dram", 0), "Column to column, other bank group.", |m| m.mem.dram.timing.tCCD)
        .option("-gpgpu_dram_timing_opt, CCD"),
    key!("mem.dram.timing.tCCDL", Kind::Cycles("dram", 0), "Column to column, same bank group.", |m| m.mem.dram.timing.tCCDL)
        .option("-gpgpu_dram_timing_opt, CCDL"),
    key!("mem.dram.timing.tRRD", Kind::Cycles("dram", 0), "Activate to activate, other bank.", |m| m.mem.dram.timing.tRRD)
        .option("-gpgpu_dram_timing_opt, RRD"),
    key!("mem.dram.timing.tRCD", Kind::Cycles("dram", 0), "Activate to column.", |m| m.mem.dram.timing.tRCD)
        .option("-gpgpu_dram_timing_opt, RCD"),
    key!("mem.dram.timing.tRAS", Kind::Cycles("dram", 0), "Activate to precharge.", |m| m.mem.dram.timing.tRAS)
        .option("-gpgpu_dram_timing_opt, RAS"),
    key!("mem.dram.timing.tRP", Kind::Cycles("dram", 0), "Precharge to activate.", |m| m.mem.dram.timing.tRP)
        .option("-gpgpu_dram_timing_opt, RP"),
    key!("mem.dram.timing.tRC", Kind::Cycles("dram", 0), "Activate to activate, same bank.", |m| m.mem.dram.timing.tRC)
        .option("-gpgpu_dram_timing_opt, RC"),
    key!("mem.dram.timing.tCL", Kind::Cycles("dram", 0), "Read to data.", |m| m.mem.dram.timing.tCL).option("-gpgpu_dram_timing_opt, CL"),
    key!("mem.dram.timing.tWL", Kind::Cycles("dram", 0), "Write to data.", |m| m.mem.dram.timing.tWL).option("-gpgpu_dram_timing_opt, WL"),
    key!("mem.dram.timing.tCDLR", Kind::Cycles("dram", 0), "Last write data to read.", |m| m.mem.dram.timing.tCDLR)
        .option("-gpgpu_dram_timing_opt, CDLR"),
    key!("mem.dram.timing.tWR", Kind::Cycles("dram", 0), "Last write data to precharge.", |m| m.mem.dram.timing.tWR)
        .option("-gpgpu_dram_timing_opt, WR"),
    key!("mem.dram.timing.tRTPL", Kind::Cycles("dram", 0), "Read to precharge, same bank.", |m| m.mem.dram.timing.tRTPL)
        .option("-gpgpu_dram_timing_opt, RTPL"),
];
