//! A machine for tests: the Quadro V100 as Accel-Sim's `SM7_QV100` configuration describes it.

use crate::base::{Addr, Frequency, StreamId};
use crate::config::machine::{
    Allocate, Arbiter, Cache, Clocks, CoreStyle, Crossbar, Dispatch, Dram, DramScheduler, DramTiming, Fetch, Gpu, L1, Lsu, Machine, Mem,
    MemcpyWarms, Noc, OpTiming, Operands, PartitionQueues, SetIndex, SharedMemory, Sm, UnifiedL1, Units, VcCrossbar, WarpOrder, WriteMiss,
    WritePolicy,
};
use crate::frontend::{Dim3, KernelInfo, OpClass};
use crate::protocol::{AddressMap, PartitionHash};

/// Latency and initiation interval per class, as the configuration's `trace.config` gives them.
fn timing() -> [OpTiming; OpClass::COUNT] {
    let mut table = [OpTiming { latency: 1, initiation: 1 }; OpClass::COUNT];
    for (class, latency, initiation) in [
        (OpClass::Sp, 2, 2),
        (OpClass::Int, 2, 2),
        (OpClass::Alu, 2, 2),
        (OpClass::Sfu, 20, 8),
        (OpClass::Dp, 8, 4),
        (OpClass::Tensor, 2, 2),
        (OpClass::Branch, 4, 4),
        (OpClass::Texture, 200, 4),
        (OpClass::Uniform, 2, 2),
    ] {
        table[class as usize] = OpTiming { latency, initiation };
    }
    table
}

fn sm() -> Sm {
    Sm {
        warps: 64,
        max_ctas: 32,
        wake_latency: 7,
        ccws: None,
        max_threads: 2048,
        registers: 65536,
        register_granularity: 128,
        shared_bytes: 98304,
        shared_granularity: 1,
        style: CoreStyle::SubCores,
        schedulers: 4,
        order: WarpOrder::Lrr,
        ready_queue: 6,
        issue_width: 1,
        dual_issue_distinct: true,
        fetch: Fetch { buffer: 2, warps_per_cycle: 4, icache: None, ccache: None },
        operands: Operands { collectors: 8, banks: 16, bank_ports: 2, ports: 8 },
        units: Units { sp: 4, int: 4, sfu: 4, dp: 4, tensor: 4, branch: 4, texture: 4, uniform: 0 },
        result_buses: 8,
        timing: timing(),
        shared: SharedMemory { banks: 32, latency: 20 },
        lsu: Lsu { sector_requests: true, response_queue: 2, ejection_queue: 32 },
        l1: L1 {
            cache: Some(Cache {
                sets: 4,
                ways: 64,
                sectored: true,
                write: WritePolicy::Through,
                write_miss: WriteMiss::LazyFetchOnRead,
                allocate: Allocate::OnMiss,
                index: SetIndex::Linear,
                mshrs: 512,
                mshr_merge: 8,
                miss_queue: 16,
                port_bytes: 32,
            }),
            banks: 4,
            latency: 20,
            unified: Some(UnifiedL1 { total_bytes: 131_072, shared_options: vec![0, 8192, 16384, 32768, 65536, 98304] }),
            write_ratio: 25,
            flush_at_kernel: true,
        },
    }
}

fn mem() -> Mem {
    Mem {
        map: AddressMap {
            partitions: 32,
            reserved: 0,
            slices_per_partition: 2,
            interleave_bit: 8,
            row_mask: 0x0fff_8000,
            bank_mask: 0x7080,
            column_mask: 0x0f00,
            hash: PartitionHash::Ipoly,
        },
        llc: Cache {
            sets: 32,
            ways: 24,
            sectored: true,
            write: WritePolicy::Back,
            write_miss: WriteMiss::LazyFetchOnRead,
            allocate: Allocate::OnMiss,
            index: SetIndex::Ipoly,
            mshrs: 192,
            mshr_merge: 4,
            miss_queue: 32,
            port_bytes: 32,
        },
        rop_latency: 160,
        queues: PartitionQueues { in_queue: 64, to_dram: 64, from_dram: 64, out_queue: 64 },
        dram_latency: 100,
        dram: Dram {
            banks: 16,
            bank_groups: 4,
            group_low_bits: true,
            bus_bytes: 16,
            burst: 2,
            beats_per_clock: 2,
            dual_command_bus: true,
            scheduler: DramScheduler::FrFcfs,
            queue: 64,
            return_queue: 192,
            control: None,
            timing: DramTiming {
                tCCD: 1,
                tCCDL: 2,
                tRRD: 3,
                tRCD: 12,
                tRAS: 28,
                tRP: 12,
                tRC: 40,
                tCL: 12,
                tWL: 2,
                tCDLR: 3,
                tWR: 10,
                tRTPL: 3,
            },
        },
        memcpy_warms: MemcpyWarms::Low32,
    }
}

/// The machine.
pub(crate) fn test_machine() -> Machine {
    let core = Frequency::mhz(1132);
    Machine {
        name: "QV100 for tests".to_owned(),
        clocks: Clocks { core, noc: core, llc: core, dram: Frequency::mhz(850) },
        gpu: Gpu {
            sms: 80,
            sm: sm(),
            dispatch: Dispatch { latency: 1, ahead: 1, launch_latency: 5000, max_kernels: 128, share_sm: false },
        },
        cpu: None,
        noc: Noc {
            input_queue: 512,
            output_queue: 512,
            link_latency: 1,
            arbiter: Arbiter::Islip,
            crossbar: Crossbar::Fifo,
            vc: VcCrossbar::NONE,
            mesh: None,
        },
        mem: mem(),
        decision_latency: 0,
    }
}

/// A kernel of `ctas` CTAs of `threads` threads with 16 registers each.
pub(crate) fn kernel_info(threads: u32, ctas: u32) -> KernelInfo {
    KernelInfo {
        name: "test".to_owned(),
        id: 1,
        grid: Dim3 { x: ctas, y: 1, z: 1 },
        block: Dim3 { x: threads, y: 1, z: 1 },
        shared_bytes: 0,
        registers: 16,
        stream: StreamId(0),
        shared_base: Addr(0x7f00_0000_0000),
        local_base: Addr(0x7f00_0100_0000),
    }
}
