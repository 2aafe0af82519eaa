//! A machine for tests: `v100` with settings that make results easy to compute by hand.

use warpshard_base::{Addr, AppId, StreamId};
use warpshard_config::machine::Machine;
use warpshard_workload::{Dim3, KernelInfo};

/// Returns the machine: a CTA is bound within one cycle, kernels share SMs, and the resources of a CTA are not rounded up.
pub(crate) fn test_machine() -> Machine {
    let mut machine = Machine::load("v100", &[]).expect("a built-in machine").machine;
    machine.gpu.dispatch.latency = 1;
    machine.gpu.dispatch.max_kernels = 128;
    machine.gpu.sm.wake_latency = 7;
    machine.gpu.sm.register_granularity = 128;
    machine.gpu.sm.shared_granularity = 1;
    machine
}

/// Returns a kernel of `ctas` CTAs with `threads` threads each and 16 registers per thread.
pub(crate) fn kernel_info(threads: u32, ctas: u32) -> KernelInfo {
    KernelInfo {
        name: "test".to_owned(),
        id: 1,
        grid: Dim3 { x: ctas, y: 1, z: 1 },
        cluster: Dim3::SINGLE_ELEMENT,
        block: Dim3 { x: threads, y: 1, z: 1 },
        shared_bytes: 0,
        registers: 16,
        app: AppId(0),
        stream: StreamId(0),
        after: Vec::new(),
        programmatic: None,
        shared_base: Addr(0x7f00_0000_0000),
        local_base: Addr(0x7f00_0100_0000),
        gpu: None,
        copy: None,
    }
}
