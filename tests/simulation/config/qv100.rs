//! Option-by-option comparison of the v100 with the Accel-Sim configuration that it is based on.

use std::collections::BTreeMap;

use warpshard::base::Frequency;
use warpshard::config::Machine;
use warpshard::config::machine::{
    Allocate, Arbiter, Cache, CoreStyle, DramScheduler, OpTiming, Replacement, SetIndex, WarpOrder, WriteMiss, WritePolicy,
};
use warpshard::protocol::PartitionHash;
use warpshard::workload::OpClass;

use crate::common::options;

/// Options of the reference, as text by name.
struct ReferenceOptions(BTreeMap<String, String>);

impl ReferenceOptions {
    fn read() -> Self {
        Self(["gpgpusim.config", "trace.config"].into_iter().flat_map(|file| options::reference_options("SM7_QV100", file)).collect())
    }

    fn option_text(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_else(|| panic!("the reference has no option -{name}"))
    }

    fn numbers(&self, name: &str) -> Vec<u64> {
        let text = self.option_text(name);
        let digits = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        digits.map(|part| part.parse().unwrap()).collect()
    }

    fn number(&self, name: &str) -> u64 {
        self.numbers(name)[0]
    }

    fn small_number(&self, name: &str) -> u32 {
        u32::try_from(self.number(name)).unwrap()
    }

    fn flag(&self, name: &str) -> bool {
        self.number(name) != 0
    }

    /// Parses a cache of the reference:
    /// `<sector>:<sets>:<line>:<ways>,<rep>:<wr>:<alloc>:<wr_alloc>:<index>,<type>:<N>:<merge>,<mq>:..,<port>`.
    fn parse_cache(&self, name: &str) -> Cache {
        let parts: Vec<Vec<&str>> = self.option_text(name).split(',').map(|part| part.split(':').collect()).collect();
        let number = |part: usize, field: usize| parts[part][field].trim().parse::<u32>().unwrap();
        Cache {
            sets: number(0, 1),
            ways: number(0, 3),
            line_bytes: number(0, 2) as u16,
            sectored: parts[0][0] == "S",
            write: match parts[1][1] {
                "B" => WritePolicy::Back,
                "T" => WritePolicy::Through,
                "L" => WritePolicy::LocalBackGlobalThrough,
                other => panic!("write policy {other}"),
            },
            allocate: match parts[1][2] {
                "m" => Allocate::OnMiss,
                "f" | "s" => Allocate::OnFill,
                other => panic!("allocation policy {other}"),
            },
            write_miss: match parts[1][3] {
                "N" => WriteMiss::NoAllocate,
                "F" => WriteMiss::FetchOnWrite,
                "L" => WriteMiss::LazyFetchOnRead,
                other => panic!("write allocation {other}"),
            },
            index: match parts[1][4] {
                "L" => SetIndex::Linear,
                "P" => SetIndex::Ipoly,
                "H" => SetIndex::Fermi,
                other => panic!("set index {other}"),
            },
            replacement: match parts[1][0] {
                "L" => Replacement::Lru,
                other => panic!("replacement {other}"),
            },
            mshrs: number(2, 1),
            mshr_merge: number(2, 2),
            miss_queue: number(3, 0),
            port_bytes: number(4, 0),
            read_sectors: 1,
            write_cycles: 1,
            merge_cycles: 0,
            merge_latency: 0,
            atomic_cycles: 0,
            fill_cycles: 0,
            dirty_ratio: 100,
        }
    }

    /// Returns a DRAM timing parameter by its name without the t.
    fn dram_timing(&self, name: &str) -> u32 {
        let text = self.option_text("gpgpu_dram_timing_opt");
        let value = text.split([':', ' ']).find_map(|part| part.strip_prefix(&format!("{name}=")));
        value.unwrap_or_else(|| panic!("no timing {name}")).parse().unwrap()
    }

    fn op_timing(&self, name: &str) -> OpTiming {
        let numbers = self.numbers(&format!("trace_opcode_latency_initiation_{name}"));
        OpTiming { latency: numbers[0] as u32, initiation: numbers[1] as u32 }
    }
}

/// Returns the reference's options and our machine.
fn options_and_machine() -> (ReferenceOptions, Machine) {
    (ReferenceOptions::read(), warpshard::catalogue().machine("v100", &[]).unwrap().machine)
}

#[test]
fn the_chip_matches_the_reference() {
    let (o, m) = options_and_machine();
    let mhz: Vec<Frequency> = o
        .option_text("gpgpu_clock_domains")
        .split(':')
        .map(|clock| Frequency::mhz(clock.trim().strip_suffix(".0").unwrap().parse().unwrap()))
        .collect();
    assert_eq!([m.clocks.core, m.clocks.noc, m.clocks.llc, m.clocks.dram], mhz[..]);
    assert_eq!(u64::from(m.gpu.sms), o.number("gpgpu_n_clusters") * o.number("gpgpu_n_cores_per_cluster"));
    assert_eq!(m.gpu.dispatch.launch_latency, o.number("gpgpu_kernel_launch_latency"));
    assert!(m.gpu.dispatch.max_kernels == 1 && !o.0.contains_key("gpgpu_concurrent_kernel_sm"), "a window of one kernel");
}

#[test]
fn the_sm_matches_the_reference() {
    let (o, m) = options_and_machine();
    let sm = &m.gpu.sm;
    assert_eq!(sm.max_threads, o.small_number("gpgpu_shader_core_pipeline"));
    assert_eq!(sm.warps, o.small_number("gpgpu_shader_core_pipeline") / 32);
    assert_eq!(sm.max_ctas, o.small_number("gpgpu_shader_cta"));
    assert_eq!(sm.registers, o.small_number("gpgpu_shader_registers"));
    assert_eq!(sm.shared_bytes, o.small_number("gpgpu_shmem_size"));
    assert_eq!(sm.style == CoreStyle::SubCores, o.flag("gpgpu_sub_core_model"));
    assert_eq!(sm.schedulers, o.small_number("gpgpu_num_sched_per_core"));
    assert_eq!(
        sm.order,
        match o.option_text("gpgpu_scheduler") {
            "lrr" => WarpOrder::Lrr,
            _ => WarpOrder::Gto,
        }
    );
    assert_eq!(sm.issue_width, o.small_number("gpgpu_max_insn_issue_per_warp"));
    assert_eq!(sm.dual_issue_distinct, o.flag("gpgpu_dual_issue_diff_exec_units"));
    assert_eq!(u64::from(sm.result_buses), o.numbers("gpgpu_pipeline_widths")[10]);
    assert_eq!(sm.fetch.warps_per_cycle, o.small_number("gpgpu_inst_fetch_throughput"));
    assert_eq!(sm.fetch.icache.is_none(), o.flag("gpgpu_perfect_inst_const_cache"));
    assert_eq!(sm.operands.collectors, o.small_number("gpgpu_operand_collector_num_units_gen"));
    assert_eq!(sm.operands.ports, o.small_number("gpgpu_operand_collector_num_in_ports_gen"));
    assert_eq!(sm.operands.banks, o.small_number("gpgpu_num_reg_banks"));
    assert_eq!(sm.operands.bank_ports, o.small_number("gpgpu_reg_file_port_throughput"));
    assert_eq!(sm.shared.banks, o.small_number("gpgpu_shmem_num_banks"));
    assert_eq!(sm.shared.latency, o.small_number("gpgpu_smem_latency"));
    assert_eq!(sm.lsu.sector_requests, o.number("gpgpu_coalesce_arch") >= 40);
    assert_eq!(sm.lsu.ejection_queue, o.small_number("gpgpu_n_cluster_ejection_buffer_size"));
}

#[test]
fn units_and_timings_match_the_reference() {
    let (o, m) = options_and_machine();
    let units = &m.gpu.sm.units;
    assert_eq!(units.sp, o.small_number("gpgpu_num_sp_units"));
    assert_eq!(units.int, o.small_number("gpgpu_num_int_units"));
    assert_eq!(units.sfu, o.small_number("gpgpu_num_sfu_units"));
    assert_eq!(units.dp, o.small_number("gpgpu_num_dp_units"));
    assert_eq!(u64::from(units.branch), o.numbers("specialized_unit_1")[1]);
    assert_eq!(u64::from(units.texture), o.numbers("specialized_unit_2")[1]);
    assert_eq!(u64::from(units.tensor), o.numbers("specialized_unit_3")[1]);
    assert!(units.uniform == 0 && !o.0.contains_key("specialized_unit_4"));
    let classes = [
        (OpClass::Sp, "sp"),
        (OpClass::Int, "int"),
        (OpClass::Alu, "int"),
        (OpClass::Sfu, "sfu"),
        (OpClass::Dp, "dp"),
        (OpClass::Branch, "spec_op_1"),
        (OpClass::Texture, "spec_op_2"),
        (OpClass::Tensor, "spec_op_3"),
    ];
    for (class, name) in classes {
        assert_eq!(m.gpu.sm.timing[class as usize], o.op_timing(name), "{class:?}");
    }
}

#[test]
fn the_caches_match_the_reference() {
    let (o, m) = options_and_machine();
    let l1 = &m.gpu.sm.l1;
    assert_eq!(l1.cache, Some(o.parse_cache("gpgpu_cache:dl1")));
    assert_eq!(l1.banks, o.small_number("gpgpu_l1_banks"));
    assert_eq!(l1.latency, o.small_number("gpgpu_l1_latency"));
    assert_eq!(l1.write_ratio, o.small_number("gpgpu_l1_cache_write_ratio"));
    assert_eq!(l1.flush_at_kernel, o.flag("gpgpu_flush_l1_cache"));
    let unified = l1.unified.as_ref().unwrap();
    assert_eq!(u64::from(unified.total_bytes), o.number("gpgpu_unified_l1d_size") << 10);
    let options: Vec<u64> = o.numbers("gpgpu_shmem_option").iter().map(|kib| kib << 10).collect();
    assert_eq!(unified.shared_options.iter().map(|size| u64::from(*size)).collect::<Vec<_>>(), options);
    assert_eq!(m.mem.llc, o.parse_cache("gpgpu_cache:dl2"));
}

#[test]
fn network_and_memory_match_the_reference() {
    let (o, m) = options_and_machine();
    assert_eq!(m.noc.input_queue, o.small_number("icnt_in_buffer_limit"));
    assert_eq!(m.noc.output_queue, o.small_number("icnt_out_buffer_limit"));
    assert_eq!(m.noc.arbiter == Arbiter::Islip, o.flag("icnt_arbiter_algo"));
    assert_eq!(m.mem.rop_latency, o.number("gpgpu_l2_rop_latency"));
    assert_eq!(m.mem.dram_latency, o.number("dram_latency"));
    let q = &m.mem.queues;
    let queues = [q.in_queue, q.to_dram, q.from_dram, q.out_queue].map(u64::from);
    assert_eq!(queues[..], o.numbers("gpgpu_dram_partition_queues"));

    let map = &m.mem.map;
    assert_eq!(map.partitions, o.small_number("gpgpu_n_mem"));
    assert_eq!(map.slices_per_partition, o.small_number("gpgpu_n_sub_partition_per_mchannel"));
    assert_eq!(map.hash == PartitionHash::Ipoly, o.number("gpgpu_memory_partition_indexing") == 2);
    let (bit, layout) = o.option_text("gpgpu_mem_addr_mapping").split_once(';').unwrap();
    assert_eq!(format!("dramid@{}", map.interleave_bit), bit);
    let mask = |letters: &str| layout.replace('.', "").chars().fold(0u64, |mask, c| mask << 1 | u64::from(letters.contains(c)));
    assert_eq!((map.row_mask, map.bank_mask, map.column_mask), (mask("R"), mask("B"), mask("CS")));
}

#[test]
fn the_dram_channel_matches_the_reference() {
    let (o, m) = options_and_machine();
    let dram = &m.mem.dram;
    assert_eq!(dram.banks, o.dram_timing("nbk"));
    assert_eq!(dram.bank_groups, o.dram_timing("nbkgrp"));
    assert_eq!(dram.group_low_bits, o.flag("dram_bnkgrp_indexing_policy"));
    assert_eq!(dram.bus_bytes, o.small_number("gpgpu_dram_buswidth") * o.small_number("gpgpu_n_mem_per_ctrlr"));
    assert_eq!(dram.burst, o.small_number("gpgpu_dram_burst_length"));
    assert_eq!(dram.beats_per_clock, o.small_number("dram_data_command_freq_ratio"));
    assert_eq!(dram.dual_command_bus, o.flag("dram_dual_bus_interface"));
    assert_eq!(dram.scheduler == DramScheduler::FrFcfs, o.flag("gpgpu_dram_scheduler"));
    assert_eq!(dram.queue, o.small_number("gpgpu_frfcfs_dram_sched_queue_size"));
    assert_eq!(dram.return_queue, o.small_number("gpgpu_dram_return_queue_size"));
    let t = &dram.timing;
    let ours = [t.tCCD, t.tCCDL, t.tRRD, t.tRCD, t.tRAS, t.tRP, t.tRC, t.tCL, t.tWL, t.tCDLR, t.tWR, t.tRTPL];
    let names = ["CCD", "CCDL", "RRD", "RCD", "RAS", "RP", "RC", "CL", "WL", "CDLR", "WR", "RTPL"];
    assert_eq!(ours, names.map(|name| o.dram_timing(name)));
}
