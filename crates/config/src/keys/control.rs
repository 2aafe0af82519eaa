//! Keys of a core whose dependences come from control words (`gpu.sm.style = "control-words"`); other styles do not read them.
//!
//! The doc of each key names the source of its default: H25 is Huerta et al., MICRO 2025; H100 is our measurement of an H100,
//! `validate/reference/h100/micro.json`, with its key.

use super::super::value::ValueKind;
use super::declaration::{Field, Key, key};

const LATENCY_CYCLES: ValueKind = ValueKind::Cycles("core", 1, 4096);

pub(super) const KEYS: &[Key] = &[
    key!(
        "gpu.sm.control.words",
        ValueKind::Flag,
        "True if dependences come from the control words of machine code (H25, 4); otherwise they come from the registers of instructions, as for recorded traces, which have no control words.",
        |m| m.gpu.sm.control.words
    )
    .default("true")
    .quiet(),
    key!(
        "gpu.sm.control.reuse",
        ValueKind::Flag,
        "True if operands marked in machine code stay in the reuse cache of the register file (H25, 5.3.1).",
        |m| m.gpu.sm.control.reuse
    )
    .default("true")
    .quiet(),
    key!(
        "gpu.sm.control.memory_queue",
        ValueKind::Count(1, 16),
        "Memory instructions that can wait in a sub-core, in addition to the instruction in its address unit (H25, 5.4).",
        |m| m.gpu.sm.control.memory_queue
    )
    .default("4")
    .quiet(),
    key!(
        "gpu.sm.control.address_interval",
        ValueKind::Cycles("core", 1, 64),
        "Initiation interval of the address unit of a sub-core (H25, 5.4).",
        |m| m.gpu.sm.control.address_interval
    )
    .default("4")
    .quiet(),
    key!(
        "gpu.sm.control.address_latency",
        ValueKind::Cycles("core", 1, 64),
        "Cycles from the last operand read of a memory instruction to its offer to the load/store unit (H25's artifact).",
        |m| m.gpu.sm.control.address_latency
    )
    .default("6")
    .quiet(),
    key!(
        "gpu.sm.control.accept_interval",
        ValueKind::Cycles("core", 1, 64),
        "Interval between two instructions accepted by the load/store unit (H25, 5.4).",
        |m| m.gpu.sm.control.accept_interval
    )
    .default("2")
    .quiet(),
    key!(
        "gpu.sm.control.barrier_interval",
        ValueKind::Cycles("core", 1, 64),
        "Interval between two warps that arrive at a barrier of the SM (H100, barriers.bar_*).",
        |m| m.gpu.sm.control.barrier_interval
    )
    .default("2")
    .quiet(),
    key!(
        "gpu.sm.control.barrier_latency",
        LATENCY_CYCLES,
        "Cycles from the arrival of the last warp at a barrier until the warps resume (H100, barriers.bar_1).",
        |m| m.gpu.sm.control.barrier_latency
    )
    .default("12")
    .quiet(),
    key!(
        "gpu.sm.control.waits_for_stores",
        ValueKind::Flag,
        "True if a warp that issued its last instruction ends when its stores are acknowledged, false if it ends when they have left the L1 for the network (H100: smsp__average_warps_issue_stalled_drain of counters.csv).",
        |m| m.gpu.sm.control.waits_for_stores
    )
    .default("false")
    .quiet(),
    key!("gpu.sm.control.fence_cta", LATENCY_CYCLES, "Cycles for which a warp waits at a fence of its CTA (H100, barriers.fence_0).", |m| m
        .gpu
        .sm
        .control
        .fence[0])
    .default("33")
    .quiet(),
    key!("gpu.sm.control.fence_gpu", LATENCY_CYCLES, "Cycles for which a warp waits at a fence of the GPU (H100, barriers.fence_1).", |m| m
        .gpu
        .sm
        .control
        .fence[1])
    .default("715")
    .quiet(),
    key!("gpu.sm.control.fence_system", LATENCY_CYCLES, "Cycles for which a warp waits at a fence of the system (H100, barriers.fence_2).", |m| m
        .gpu
        .sm
        .control
        .fence[2])
    .default("1458")
    .quiet(),
    key!(
        "gpu.sm.control.mbarrier_latency",
        LATENCY_CYCLES,
        "Cycles from the departure of an mbarrier operation from the load/store unit to its completion (H100, mbarriers.1).",
        |m| m.gpu.sm.control.mbarrier_latency
    )
    .default("20")
    .quiet(),
    key!(
        "gpu.sm.control.mbarrier_interval",
        ValueKind::Cycles("core", 1, 64),
        "Cycles for which an mbarrier operation occupies the load/store unit (H100, mbarriers.32).",
        |m| m.gpu.sm.control.mbarrier_interval
    )
    .default("2")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.l0_lines",
        ValueKind::Count(1, 4096),
        "Lines of 128 bytes in the instruction cache of a sub-core (H100, code.256_1 and code.512_1: between 4 and 8 KiB).",
        |m| m.gpu.sm.control.fetch_lines[0]
    )
    .default("48")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.l1_lines",
        ValueKind::Count(1, 4096),
        "Lines of 128 bytes in the instruction cache of the SM (H100, code.1024_1 and code.2048_1: 32 KiB).",
        |m| m.gpu.sm.control.fetch_lines[1]
    )
    .default("256")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.l15_lines",
        ValueKind::Count(1, 4096),
        "Lines of 128 bytes in the cache shared by code and constants (H100, code.6144_1 and code.8192_1: 128 KiB).",
        |m| m.gpu.sm.control.fetch_lines[2]
    )
    .default("1024")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.ahead",
        ValueKind::Count(0, 64),
        "Lines that a miss prefetches in addition to its own: the stream buffer of a sub-core (H100, code.4096_1: 4 lines in the 70 cycles of l15_latency).",
        |m| m.gpu.sm.control.fetch_ahead[0]
    )
    .default("4")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.l15_ahead",
        ValueKind::Count(0, 64),
        "Lines that a miss of the cache shared by code and constants prefetches (H100, code_first.*_evict: lines arrive from the LLC as fast as from this cache).",
        |m| m.gpu.sm.control.fetch_ahead[1]
    )
    .default("16")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.l1_latency",
        LATENCY_CYCLES,
        "Cycles from a miss in a sub-core's instruction cache to its line if the SM's instruction cache has the line (H100, the difference between a round of code.512_1 and a round of code.256_1).",
        |m| m.gpu.sm.control.fetch_latency[0]
    )
    .default("10")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.l15_latency",
        LATENCY_CYCLES,
        "Cycles from a miss in a sub-core's instruction cache to its line if the cache shared by code and constants has the line (H100, chase_const.3 less chase_const.1).",
        |m| m.gpu.sm.control.fetch_latency[1]
    )
    .default("70")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.next_latency",
        LATENCY_CYCLES,
        "Cycles from a miss in a sub-core's instruction cache to its line if the line is in the LLC (H100, code_first.*_evict).",
        |m| m.gpu.sm.control.fetch_latency[2]
    )
    .default("200")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.dram_latency",
        LATENCY_CYCLES,
        "Cycles from a miss in a sub-core's instruction cache to its line if the SM has not executed the code before (H100, empty_active_cycles.1x32, a kernel of two instructions from empty caches).",
        |m| m.gpu.sm.control.fetch_latency[3]
    )
    .default("277")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.l1_interval",
        LATENCY_CYCLES,
        "Cycles between two lines of a stream from the SM's instruction cache (H100, code.1024_4: no more than the 8 instructions of a line take).",
        |m| m.gpu.sm.control.fetch_interval[0]
    )
    .default("4")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.l15_interval",
        LATENCY_CYCLES,
        "Cycles between two lines of a stream from the cache shared by code and constants (H100, code.4096_4: 13.7).",
        |m| m.gpu.sm.control.fetch_interval[1]
    )
    .default("14")
    .quiet(),
    key!(
        "gpu.sm.control.fetch.next_interval",
        LATENCY_CYCLES,
        "Cycles between two lines of a stream from the LLC (H100, code_first.1024_evict_c1_w1 and code_first.512_evict_c1_w1).",
        |m| m.gpu.sm.control.fetch_interval[2]
    )
    .default("18")
    .quiet(),
    key!("gpu.sm.control.fetch.redirect", ValueKind::Cycles("core", 1, 64), "Cycles from a taken branch to its target (H100, programs/tools/branch_costs.py and code.128_1).", |m| m
        .gpu
        .sm
        .control
        .redirect)
    .default("9")
    .quiet(),
    key!(
        "gpu.sm.control.products.latency",
        LATENCY_CYCLES,
        "Cycles from the multiplication of the last columns of a warp-group product until a wait for the product ends (H100, products.ss_*).",
        |m| m.gpu.sm.control.products.latency
    )
    .default("45")
    .quiet(),
    key!(
        "gpu.sm.control.products.register_latency",
        LATENCY_CYCLES,
        "Cycles from the multiplication of the last columns of a warp-group product with the first matrix in registers until a wait for the product ends (H100, products.rs_*).",
        |m| m.gpu.sm.control.products.register_latency
    )
    .default("33")
    .quiet(),
    key!(
        "gpu.sm.control.products.shared_bytes",
        ValueKind::Bytes(1, 4096),
        "Operand bytes of warp-group products read from shared memory per core cycle (H100, products.ss_n8 to n48).",
        |m| m.gpu.sm.control.products.shared_bytes
    )
    .default("\"128 B\"")
    .quiet(),
    key!(
        "gpu.sm.control.products.register_interval",
        LATENCY_CYCLES,
        "Minimum cycles between two products with the first matrix in registers (H100, products.rs_n8).",
        |m| m.gpu.sm.control.products.register_interval
    )
    .default("14")
    .quiet(),
    key!(
        "gpu.sm.control.products.columns",
        ValueKind::Count(1, 256),
        "Columns of warp-group products that the matrix units multiply per cycle (H100, products.ss_n128 and n256: n / 2 cycles).",
        |m| m.gpu.sm.control.products.columns
    )
    .default("2")
    .quiet(),
    key!("gpu.sm.control.products.queue", ValueKind::Count(1, 64), "Maximum number of products per warp that have not started (chosen).", |m| m
        .gpu
        .sm
        .control
        .products
        .queue)
    .default("2")
    .quiet(),
    key!(
        "gpu.sm.control.products.sum_reads",
        ValueKind::Cycles("core", 0, 24),
        "Cycles for which the matrix units read sums through the register ports, before the ports are free for other instructions for the same time; 0 if \
         the matrix units do not use the ports (H100: during a product of N columns, IMAD and LOP3 of other warps lose N / 4 cycles and MUFU half of that).",
        |m| m.gpu.sm.control.products.sum_reads
    )
    .default("16")
    .quiet(),
    key!(
        "gpu.sm.control.bulk.latency",
        ValueKind::Cycles("core", 0, 4096),
        "Cycles from the arrival of a bulk copy in the load/store unit to its first request (H100, bulk.l2_16_a1).",
        |m| m.gpu.sm.control.bulk.latency
    )
    .default("0")
    .quiet(),
    key!(
        "gpu.sm.control.bulk.load_bytes",
        ValueKind::Bytes(1, 4096),
        "Bytes that bulk loads request per core cycle: a line (H100, bulk.l2_16384_ahead8_ctas1, which the network limits).",
        |m| m.gpu.sm.control.bulk.load_bytes
    )
    .default("\"128 B\"")
    .quiet(),
    key!(
        "gpu.sm.control.bulk.store_bytes",
        ValueKind::Bytes(1, 4096),
        "Bytes that bulk stores write per core cycle (H100, bulk.store_16384_a4).",
        |m| m.gpu.sm.control.bulk.store_bytes
    )
    .default("\"32 B\"")
    .quiet(),
    key!(
        "gpu.sm.control.bulk.load_end",
        ValueKind::Cycles("core", 0, 4096),
        "Cycles from the last reply of a bulk load to the update of its barrier's byte count (H100, bulk.l2_16_a1).",
        |m| m.gpu.sm.control.bulk.load_end
    )
    .default("0")
    .quiet(),
    key!(
        "gpu.sm.control.bulk.store_end",
        ValueKind::Cycles("core", 0, 4096),
        "Cycles from the last request of a bulk store to its completion (H100, bulk.store_128_a1).",
        |m| m.gpu.sm.control.bulk.store_end
    )
    .default("28")
    .quiet(),
    key!("gpu.sm.control.bulk.maps", ValueKind::Count(1, 1024), "Tensor maps that the tensor memory accelerator caches (chosen).", |m| m
        .gpu
        .sm
        .control
        .bulk
        .maps)
    .default("16")
    .quiet(),
    key!(
        "gpu.sm.control.bulk.in_flight",
        ValueKind::Count(4, 65536),
        "Maximum number of outstanding sectors of bulk loads (H100: dram_16384_a8 has 128 KiB in flight).",
        |m| m.gpu.sm.control.bulk.in_flight
    )
    .default("4096")
    .quiet(),
];

// A pipe is numbered by its index in the machine's table, `Pipe as usize`. LDC takes 29 cycles on Ampere (H25, Table 2).
macro_rules! until {
    () => {
        "a dependent instruction may issue"
    };
    ($text:literal) => {
        $text
    };
}

macro_rules! pipes {
    ($($pipe:literal = $name:literal, $what:literal, $latency:literal, $interval:literal $(, $until:literal)?;)+) => {
        pub(super) const PIPE_KEYS: &[Key] = &[$(
            Key::new(
                concat!("gpu.sm.control.", $name, ".latency"),
                ValueKind::Cycles("core", 1, 999),
                concat!("Cycles from the issue of an instruction in the pipe of ", $what, " until ", until!($($until)?), "."),
                |m, value| m.gpu.sm.control.pipes[$pipe].latency = Field::of(value),
            )
            .default($latency)
            .quiet(),
            Key::new(
                concat!("gpu.sm.control.", $name, ".initiation"),
                ValueKind::Cycles("core", 1, 999),
                concat!("Initiation interval of a sub-core's pipe of ", $what, "."),
                |m, value| m.gpu.sm.control.pipes[$pipe].initiation = Field::of(value),
            )
            .default($interval)
            .quiet(),
        )+];
    };
}

pipes! {
    0 = "fma", "FFMA, FADD and FMUL", "4", "1";
    1 = "heavy", "IMAD and IDP", "4", "2";
    2 = "wide", "IMAD.HI and IMAD.WIDE", "5", "4";
    3 = "half", "HFMA2.MMA", "10", "2";
    4 = "alu", "integer and logic operations", "4", "2";
    5 = "dp", "double precision", "8", "2";
    6 = "xu", "MUFU, conversions, POPC, FLO and BREV", "17", "8";
    7 = "shuffle", "SHFL", "23", "4";
    8 = "match", "MATCH", "23", "16";
    9 = "redux", "REDUX", "23", "8";
    10 = "tensor", "HMMA", "24", "6";
    11 = "branch", "branches", "5", "2";
    12 = "uniform", "the uniform datapath", "6", "2";
    13 = "system", "S2R and moves to uniform registers", "23", "8";
    15 = "converge", "BSYNC", "13", "2", "its warp resumes (H100, programs/tools/branch_costs.py)";
    16 = "call", "CALL and RET", "26", "2", "its warp resumes (H100, programs/tools/branch_costs.py)";
    17 = "exit", "EXIT", "17", "2", "its warp ends if it has nothing else in flight (H100, programs/tools/branch_costs.py)";
    14 = "constant", "LDC", "29", "2";
}

// These keys follow the keys of the pipe `constant`, because they belong to the same table.
pub(super) const CONSTANT_KEYS: &[Key] = &[
    key!(
        "gpu.sm.control.constant.lines",
        ValueKind::Count(1, 4096),
        "Lines of 64 bytes in the constant cache of LDC (H100, chase_const.2 and chase_const.3: 2 KiB).",
        |m| m.gpu.sm.control.constant_lines[0]
    )
    .default("32")
    .quiet(),
    key!(
        "gpu.sm.control.constant.next_latency",
        LATENCY_CYCLES,
        "Additional cycles of an LDC that misses in the constant cache and hits in the cache shared by code and constants (H100, chase_const.3 less chase_const.1).",
        |m| m.gpu.sm.control.constant_latency[0]
    )
    .default("70")
    .quiet(),
    key!(
        "gpu.sm.control.constant.operand_lines",
        ValueKind::Count(1, 4096),
        "Lines of 64 bytes in a sub-core's cache for constant operands of fixed-latency instructions (H25's artifact).",
        |m| m.gpu.sm.control.constant_lines[1]
    )
    .default("8")
    .quiet(),
    key!(
        "gpu.sm.control.constant.operand_latency",
        LATENCY_CYCLES,
        "Cycles for which a fixed-latency instruction waits to issue if its constant operand misses in that cache (H25, 5.4).",
        |m| m.gpu.sm.control.constant_latency[1]
    )
    .default("79")
    .quiet(),
    key!(
        "gpu.sm.control.constant.far_latency",
        LATENCY_CYCLES,
        "Cycles of the first read of a line of the program's constants (outside the argument bank) by a kernel that the SM has executed before: the latency of a load from the LLC, less the latency of an LDC that hits (H100, chase_cg.4 and chase_const.1).",
        |m| m.gpu.sm.control.constant_latency[2]
    )
    .default("248")
    .quiet(),
    key!(
        "gpu.sm.control.constant.dram_latency",
        LATENCY_CYCLES,
        "Cycles of the first read of a line of the program's constants by a kernel that the SM has not executed before, whose constants are in memory (H100, chase_cg.64 and chase_const.1).",
        |m| m.gpu.sm.control.constant_latency[3]
    )
    .default("651")
    .quiet(),
];
