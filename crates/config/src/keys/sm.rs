//! Keys of an SM: warp slots and storage, schedulers, fetch and operand collection.

use super::super::choices::Words;
use super::super::machine::{Allocation, CoreStyle, Machine, SimpleCache, WarpOrder};
use super::super::value::ValueKind;
use super::declaration::{Field, Key, key};

/// The miss latency of a small cache, in core cycles.
const MISS_LATENCY_CYCLES: ValueKind = ValueKind::Cycles("core", 1, 4096);
/// The associativity and the number of sets of a small cache.
const WAY_COUNT: ValueKind = ValueKind::Count(1, 64);
const SET_COUNT: ValueKind = ValueKind::Count(1, 4096);

pub(super) const KEYS: &[Key] = &[
    key!("gpu.sm.warps", ValueKind::Count(1, 64), "Warp slots.", |m| m.gpu.sm.warps).option("-gpgpu_shader_core_pipeline, threads / 32"),
    key!("gpu.sm.max_ctas", ValueKind::Count(1, 64), "CTA slots.", |m| m.gpu.sm.max_ctas).option("-gpgpu_shader_cta"),
    key!("gpu.sm.max_threads", ValueKind::Count(32, 2048), "Maximum number of threads, at most `warps` times 32.", |m| m.gpu.sm.max_threads)
        .option("-gpgpu_shader_core_pipeline"),
    key!("gpu.sm.registers", ValueKind::Count(32, 1 << 24), "Registers of 32 bits in the register file.", |m| m.gpu.sm.registers)
        .option("-gpgpu_shader_registers"),
    key!("gpu.sm.register_granularity", ValueKind::Count(1, 65536), "Granularity in which registers are allocated to a warp.", |m| m
        .gpu
        .sm
        .register_granularity),
    key!("gpu.sm.shared_bytes", ValueKind::Bytes(0, 1 << 24), "Shared memory that CTAs can use.", |m| m.gpu.sm.shared_bytes)
        .option("-gpgpu_shmem_size"),
    key!("gpu.sm.shared_granularity", ValueKind::Bytes(1, 1 << 24), "Granularity in which shared memory is allocated to a CTA.", |m| m
        .gpu
        .sm
        .shared_granularity),
    key!(
        "gpu.sm.shared_least",
        ValueKind::Bytes(0, 1 << 20),
        "Minimum shared memory of a CTA: the system's reservation, which compilers include in the size of a kernel with shared memory.",
        |m| m.gpu.sm.shared_least
    )
    .default("\"0 B\""),
    key!("gpu.sm.style", ValueKind::Choice(CoreStyle::WORDS), "Core style: shared or per-scheduler register banks and execution units.", |m| m
        .gpu
        .sm
        .style)
    .option("-gpgpu_sub_core_model"),
    key!("gpu.sm.schedulers", ValueKind::Count(1, 8), "Warp schedulers; warp slot w belongs to scheduler w modulo this number.", |m| m
        .gpu
        .sm
        .schedulers)
    .option("-gpgpu_num_sched_per_core"),
    key!("gpu.sm.order", ValueKind::Choice(WarpOrder::WORDS), "Scheduling order of warps.", |m| m.gpu.sm.order)
        .option("-gpgpu_scheduler"),
    key!("gpu.sm.ready_queue", ValueKind::Count(1, 64), "Size of the ready queue of a scheduler with a two-level order, in warps.", |m| m
        .gpu
        .sm
        .ready_queue)
    .default("6"),
    key!("gpu.sm.allocation", ValueKind::Choice(Allocation::WORDS), "Allocation of an SM's registers and shared memory to CTAs.", |m| m
        .gpu
        .sm
        .allocation)
    .default("\"counts\""),
    key!("gpu.sm.warp_states", ValueKind::Flag, "True if the states of warps are counted, which slows runs down slightly. With control words, the states are those of Nsight Compute; otherwise, they are the states of a warp before the collectors.", |m| m
        .gpu
        .sm
        .warp_states)
    .default("false"),
    key!(
        "gpu.sm.wake_latency",
        ValueKind::Cycles("core", 0, 1 << 20),
        "Cycles from the end of power gating to the first possible CTA start. The default is chosen, in the order of magnitude of published power gating of execution units.",
        |m| m.gpu.sm.wake_latency
    )
    .default("32"),
    key!("gpu.sm.issue_width", ValueKind::Count(1, 2), "Maximum number of instructions that a scheduler issues per cycle, from one warp.", |m| m
        .gpu
        .sm
        .issue_width)
    .default("1")
    .option("-gpgpu_max_insn_issue_per_warp"),
    key!(
        "gpu.sm.dual_issue_distinct",
        ValueKind::Flag,
        "True if two instructions issued in one cycle must use different kinds of units.",
        |m| m.gpu.sm.dual_issue_distinct
    )
    .default("true")
    .option("-gpgpu_dual_issue_diff_exec_units"),
    key!("gpu.sm.result_buses", ValueKind::Count(1, 64), "Register-file writes per cycle from fixed-latency units.", |m| m
        .gpu
        .sm
        .result_buses)
    .option("-gpgpu_pipeline_widths, EX_WB"),
    key!("gpu.sm.fetch.buffer", ValueKind::Count(1, 4), "Capacity of a warp's instruction buffer, in decoded instructions.", |m| m.gpu.sm.fetch.buffer)
        .option("IBUFFER_SIZE, a constant of its sources"),
    key!("gpu.sm.fetch.warps_per_cycle", ValueKind::Count(1, 64), "Warps fetched per cycle, over the SM.", |m| m
        .gpu
        .sm
        .fetch
        .warps_per_cycle)
    .option("-gpgpu_inst_fetch_throughput"),
    Key::new(
        "gpu.sm.fetch.icache.perfect",
        ValueKind::Flag,
        "True if every instruction fetch hits; otherwise, the other keys of the table describe the instruction cache.",
        |m, value| m.gpu.sm.fetch.icache = (!bool::of(value)).then(SimpleCache::default),
    )
    .default("true")
    .option("-gpgpu_perfect_inst_const_cache"),
    key!("gpu.sm.fetch.icache.sets", SET_COUNT, "Sets.", |m| icache(m).sets)
        .when("gpu.sm.fetch.icache.perfect", false)
        .option("-gpgpu_cache:il1, nsets"),
    key!("gpu.sm.fetch.icache.ways", WAY_COUNT, "Ways.", |m| icache(m).ways)
        .when("gpu.sm.fetch.icache.perfect", false)
        .option("-gpgpu_cache:il1, assoc"),
    key!("gpu.sm.fetch.icache.line_bytes", ValueKind::Bytes(16, 4096), "Bytes of a line.", |m| icache(m).line_bytes)
        .when("gpu.sm.fetch.icache.perfect", false)
        .option("-gpgpu_cache:il1, bsize"),
    key!("gpu.sm.fetch.icache.miss_latency", MISS_LATENCY_CYCLES, "Miss latency.", |m| icache(m).miss_latency)
        .when("gpu.sm.fetch.icache.perfect", false),
    Key::new(
        "gpu.sm.fetch.ccache.perfect",
        ValueKind::Flag,
        "True if every constant access hits; otherwise, the other keys of the table describe the constant cache.",
        |m, value| m.gpu.sm.fetch.ccache = (!bool::of(value)).then(SimpleCache::default),
    )
    .default("true")
    .option("-gpgpu_perfect_inst_const_cache"),
    key!("gpu.sm.fetch.ccache.sets", SET_COUNT, "Sets.", |m| ccache(m).sets)
        .when("gpu.sm.fetch.ccache.perfect", false)
        .option("-gpgpu_const_cache:l1, nsets"),
    key!("gpu.sm.fetch.ccache.ways", WAY_COUNT, "Ways.", |m| ccache(m).ways)
        .when("gpu.sm.fetch.ccache.perfect", false)
        .option("-gpgpu_const_cache:l1, assoc"),
    key!("gpu.sm.fetch.ccache.line_bytes", ValueKind::Bytes(16, 4096), "Bytes of a line.", |m| ccache(m).line_bytes)
        .when("gpu.sm.fetch.ccache.perfect", false)
        .option("-gpgpu_const_cache:l1, bsize"),
    key!("gpu.sm.fetch.ccache.miss_latency", MISS_LATENCY_CYCLES, "Miss latency.", |m| ccache(m).miss_latency)
        .when("gpu.sm.fetch.ccache.perfect", false),
    key!("gpu.sm.operands.collectors", ValueKind::Count(1, 64), "Collector units of the SM.", |m| m.gpu.sm.operands.collectors)
        .option("-gpgpu_operand_collector_num_units_gen"),
    key!("gpu.sm.operands.banks", ValueKind::Count(1, 64), "Register banks of the SM.", |m| m.gpu.sm.operands.banks)
        .option("-gpgpu_num_reg_banks"),
    key!("gpu.sm.operands.bank_ports", ValueKind::Count(1, 8), "Read ports of a bank, per cycle.", |m| m.gpu.sm.operands.bank_ports)
        .option("-gpgpu_reg_file_port_throughput"),
    key!(
        "gpu.sm.operands.ports",
        ValueKind::Count(1, 64),
        "Instructions that may enter and leave the collectors per cycle, over the SM.",
        |m| m.gpu.sm.operands.ports
    )
    .option("-gpgpu_operand_collector_num_in_ports_gen"),
];

fn icache(machine: &mut Machine) -> &mut SimpleCache {
    machine.gpu.sm.fetch.icache.get_or_insert_default()
}

fn ccache(machine: &mut Machine) -> &mut SimpleCache {
    machine.gpu.sm.fetch.ccache.get_or_insert_default()
}
