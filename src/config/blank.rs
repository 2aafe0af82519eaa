//! A machine before its first key is read. Every field is overwritten by a required key or a default.

use super::machine::{
    Allocate, Arbiter, Cache, Clocks, CoreStyle, Crossbar, Dispatch, Dram, DramScheduler, DramTiming, Energy, Fetch, Gpu, L1, Lsu, Machine,
    Mem, MemcpyWarms, Noc, OpTiming, Operands, PartitionQueues, Prefetch, Replacement, SetIndex, SharedMemory, Sm, Units, VcCrossbar,
    WarpOrder, WriteMiss, WritePolicy,
};
use crate::base::{Frequency, LINE_BYTES};
use crate::protocol::{AddressMap, PartitionHash};

/// The machine of zeros.
pub(super) fn blank() -> Machine {
    Machine {
        name: String::new(),
        clocks: Clocks { core: Frequency(0), noc: Frequency(0), llc: Frequency(0), dram: Frequency(0) },
        gpu: Gpu { sms: 0, sm: sm(), dispatch: Dispatch { latency: 0, ahead: 0, launch_latency: 0, max_kernels: 0, share_sm: false } },
        noc: Noc {
            input_queue: 0,
            output_queue: 0,
            link_latency: 0,
            crossbar: Crossbar::Fifo,
            arbiter: Arbiter::RoundRobin,
            vc: VcCrossbar::NONE,
            mesh: None,
        },
        cpu: None,
        mem: mem(),
        decision_latency: 0,
        energy: Energy { set: String::new(), millivolts: 0 },
    }
}

fn sm() -> Sm {
    Sm {
        warps: 0,
        max_ctas: 0,
        max_threads: 0,
        registers: 0,
        register_granularity: 0,
        shared_bytes: 0,
        shared_granularity: 0,
        style: CoreStyle::SubCores,
        schedulers: 0,
        order: WarpOrder::Lrr,
        ready_queue: 0,
        issue_width: 0,
        dual_issue_distinct: false,
        fetch: Fetch { buffer: 0, warps_per_cycle: 0, icache: None, ccache: None },
        operands: Operands { collectors: 0, banks: 0, bank_ports: 0, ports: 0 },
        units: Units { sp: 0, int: 0, sfu: 0, dp: 0, tensor: 0, branch: 0, texture: 0, uniform: 0 },
        result_buses: 0,
        timing: [OpTiming { latency: 0, initiation: 0 }; 14],
        shared: SharedMemory { banks: 0, latency: 0 },
        lsu: Lsu { sector_requests: false, response_queue: 0, ejection_queue: 0 },
        l1: L1 {
            cache: None,
            banks: 0,
            latency: 0,
            unified: None,
            write_ratio: 0,
            flush_at_kernel: false,
            prefetch: Prefetch::None,
            prefetch_distance: 0,
        },
        wake_latency: 0,
        ccws: None,
        texture: None,
    }
}

fn mem() -> Mem {
    Mem {
        map: AddressMap {
            partitions: 0,
            reserved: 0,
            slices_per_partition: 0,
            interleave_bit: 0,
            row_mask: 0,
            bank_mask: 0,
            column_mask: 0,
            hash: PartitionHash::Linear,
        },
        llc: Cache {
            sets: 0,
            ways: 0,
            line_bytes: LINE_BYTES as u16,
            sectored: false,
            write: WritePolicy::Back,
            write_miss: WriteMiss::NoAllocate,
            allocate: Allocate::OnMiss,
            index: SetIndex::Linear,
            replacement: Replacement::Lru,
            mshrs: 0,
            mshr_merge: 0,
            miss_queue: 0,
            port_bytes: 0,
        },
        rop_latency: 0,
        queues: PartitionQueues { in_queue: 0, to_dram: 0, from_dram: 0, out_queue: 0 },
        dram_latency: 0,
        dram: Dram {
            banks: 0,
            bank_groups: 0,
            group_low_bits: false,
            bus_bytes: 0,
            burst: 0,
            beats_per_clock: 0,
            dual_command_bus: false,
            scheduler: DramScheduler::Fcfs,
            queue: 0,
            return_queue: 0,
            timing: DramTiming::default(),
            control: None,
        },
        memcpy_warms: MemcpyWarms::Off,
    }
}
