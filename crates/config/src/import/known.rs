//! Tables of the Accel-Sim options that do not describe a part of our machine.
//!
//! `Sheet` records the options that are translated. The tables here contain the other known options: options without effect on the
//! simulation, each with the reason, and options with an unmodelled effect, each with the value that has no effect.

/// Prefixes of options without effect on a trace-driven simulation here, each with the reason.
pub(super) const IGNORED_OPTIONS: &[(&str, &str)] = &[
    ("gpgpu_ptx_", "execution of PTX; a trace contains SASS"),
    ("ptx_opcode_", "timing of PTX instructions; the trace configuration times SASS"),
    ("gpgpu_stack_size_limit", "functional simulation"),
    ("gpgpu_heap_size_limit", "functional simulation"),
    ("gpgpu_runtime_sync_depth_limit", "functional simulation"),
    ("gpgpu_runtime_pending_launch_count_limit", "functional simulation"),
    ("gpgpu_shmem_sizeDefault", "a device property that programs can query"),
    ("gpgpu_shmem_per_block", "a device property that programs can query"),
    ("gpgpu_registers_per_block", "a device property that programs can query"),
    ("gpgpu_occupancy_sm_number", "a table for PTX register counts"),
    ("gpgpu_ignore_resources_limitation", "a check of PTX programs"),
    ("gpgpu_simd_model", "the reconvergence stack; a trace contains the masks"),
    ("gpgpu_cflog_interval", "statistics"),
    ("gpgpu_memlatency_stat", "statistics"),
    ("gpgpu_runtime_stat", "statistics"),
    ("gpgpu_stat_sample_freq", "statistics"),
    ("gpgpu_cache:dl1PrefL1", "L1 preferences of a program, which traces do not contain"),
    ("gpgpu_cache:dl1PrefShared", "L1 preferences of a program, which traces do not contain"),
    ("gpgpu_shmem_size_Pref", "L1 preferences of a program, which traces do not contain"),
    ("gpgpu_tex_cache:l1", "texture instructions take a fixed time in traces, which do not contain their addresses"),
    ("gpgpu_cache:dl2_texture_only", "texture instructions take a fixed time in traces"),
    ("icnt_flit_size", "the local crossbar moves a packet of any size as one"),
    ("inter_config_file", "used by the BookSim network only"),
    ("gpgpu_mem_address_mask", "an older address mapping; gpgpu_mem_addr_mapping is used"),
    ("gpgpu_shmem_limited_broadcast", "the reference reads it only with shmem_warp_parts above 1"),
    ("gpgpu_clock_gated_lanes", "power model"),
    ("gpuwattch_xml_file", "power model"),
    ("accelwattch_", "power model"),
    ("power_", "power model"),
    ("steady_power_levels_enabled", "power model"),
    ("visualizer_", "visualiser"),
    ("enable_ptx_file_line_stats", "statistics"),
    ("trace_enabled", "debugging output"),
    ("trace_components", "debugging output"),
    ("trace_sampling_", "debugging output"),
    ("trace_opcode_latency_initiation_tensor", "traces time tensor instructions by their specialised unit"),
    ("gpgpu_tensor_core_avail", "tensor instructions of traces run on a specialised unit"),
    ("gpgpu_num_tensor_core_units", "tensor instructions of traces run on a specialised unit"),
    ("gpgpu_deadlock_detect", "deadlocks are always detected and reported"),
    ("gpgpu_max_cycle", "an option of `warpshard run`: --max-cycles"),
    ("gpgpu_max_insn", "an option of `warpshard run`: --max-instructions"),
    ("gpgpu_max_cta", "a limit of a run, not of the machine"),
    ("save_embedded_ptx", "execution of PTX"),
    ("dram_write_queue_size", "used only with a separate write queue"),
    ("liveness_message_freq", "progress is shown by `warpshard run`"),
    ("checkpoint_", "execution of PTX"),
    ("resume_", "execution of PTX"),
];

/// An option whose effect is modelled for one value only.
pub(super) struct UnmodelledOption {
    /// The name of the option.
    pub(super) name: &'static str,
    /// The modelled value.
    pub(super) modelled_value: &'static str,
    /// The effect of other values, and the behaviour here.
    pub(super) explanation: &'static str,
}

const fn unmodelled_option(name: &'static str, modelled_value: &'static str, explanation: &'static str) -> UnmodelledOption {
    UnmodelledOption { name, modelled_value, explanation }
}

/// Options whose effect is modelled for one value only.
pub(super) const UNMODELLED_OPTIONS: &[UnmodelledOption] = &[
    unmodelled_option("gpgpu_TB_launch_latency", "0", "a latency per CTA is not modelled; CTAs start without it"),
    unmodelled_option("gpgpu_shmem_warp_parts", "1", "shared memory accesses by part of a warp are not modelled; whole warps access it"),
    unmodelled_option("icnt_subnets", "2", "one network for both directions is not modelled; requests and replies have separate networks"),
    unmodelled_option("icnt_verbose", "0", "the network's log is not written"),
    unmodelled_option(
        "icnt_grant_cycles",
        "1",
        "grants that last several cycles are not modelled; a grant is one packet per output and cycle",
    ),
    unmodelled_option("dram_bnk_indexing_policy", "0", "bank hashing is not modelled; the bank bits of the address select the bank"),
    unmodelled_option("dram_seperate_write_queue_enable", "0", "a separate write queue is not modelled; reads and writes share the queue"),
    unmodelled_option("dram_elimnate_rw_turnaround", "0", "turnarounds between reads and writes are always modelled"),
    unmodelled_option("gpgpu_simple_dram_model", "0", "the DRAM is always modelled in detail"),
    unmodelled_option("l2_ideal", "0", "an LLC that always hits is not modelled; the LLC is as configured"),
    unmodelled_option("gpgpu_local_mem_map", "1", "local memory is always spread over the banks"),
    unmodelled_option("gpgpu_reg_bank_use_warp_id", "0", "register banks always depend on the warp, as with specialised traces"),
    unmodelled_option("gpgpu_l1_banks_hashing_function", "0", "L1 banks are the low bits of the sector number"),
    unmodelled_option("gpgpu_l1_banks_byte_interleaving", "32", "L1 banks are interleaved by sectors of 32 bytes"),
    unmodelled_option("gpgpu_flush_l2_cache", "0", "the LLC keeps its lines between kernels"),
    unmodelled_option("mem_unit_ports", "1", "the memory unit has one port"),
];
