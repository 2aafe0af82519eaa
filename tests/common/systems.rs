//! Small systems of several GPUs, and workloads for them.

use std::sync::Arc;

use warpshard::base::{Addr, GpuId, KernelIndex, StreamId};
use warpshard::config::{Machine, Override};
use warpshard::workload::{Command, Dim3, EmptySource, Kernel, KernelInfo, PeerCopy, Workload};

/// Returns a system of `tiny` GPUs with links whose buffers fill up quickly.
pub(crate) fn system(gpus: &str, more: &[(&str, &str)]) -> Machine {
    let mut settings = vec![
        ("system.gpus", gpus),
        ("system.hub.ports", "2"),
        ("system.hub.latency", "30"),
        ("system.hub.pending", "8"),
        ("system.hub.copy_lines", "8"),
        ("system.hub.fault_latency", "50"),
        ("system.page_bytes", "4 KiB"),
        ("system.peer.topology", "pairs"),
        ("system.peer.bandwidth_mbs", "16000"),
        ("system.peer.latency_ns", "20"),
        ("system.peer.header_bytes", "16 B"),
        ("system.peer.buffer", "4"),
    ];
    settings.retain(|(key, _)| more.iter().all(|(other, _)| other != key));
    settings.extend(more);
    let settings: Vec<Override> = settings.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    warpshard::catalogue().machine("tiny", &settings).unwrap_or_else(|error| panic!("{error}")).machine
}

/// Overrides that give the second and the last of four GPUs another kind: fewer SMs, three partitions with a smaller LLC, and slower
/// clocks.
pub(crate) const OTHER_GPU_KIND: [(&str, &str); 7] = [
    ("system.kinds.other.gpus", "[1, 3]"),
    ("system.kinds.other.gpu.sms", "2"),
    ("system.kinds.other.mem.map.partitions", "3"),
    ("system.kinds.other.mem.llc.ways", "2"),
    ("system.kinds.other.clocks.core", "750 MHz"),
    ("system.kinds.other.clocks.noc", "600 MHz"),
    ("system.kinds.other.clocks.llc", "600 MHz"),
];

/// Returns a launch that copies memory.
pub(crate) fn copy(gpu: u8, stream: u64, after: &[u32], (from, to, bytes): (u64, u64, u64)) -> Kernel {
    let one = Dim3 { x: 1, y: 1, z: 1 };
    let info = KernelInfo {
        name: "copy".into(),
        id: 0,
        grid: one,
        cluster: Dim3::SINGLE_ELEMENT,
        block: one,
        shared_bytes: 0,
        registers: 1,
        app: Default::default(),
        stream: StreamId(stream),
        after: after.iter().copied().map(KernelIndex).collect(),
        programmatic: None,
        shared_base: Addr(0),
        local_base: Addr(0),
        gpu: Some(GpuId(gpu)),
        copy: Some(PeerCopy { from: Addr(from), to: Addr(to), bytes }),
    };
    Kernel { info, source: Arc::new(EmptySource) }
}

/// Returns the first address of a GPU's memory in workloads of copies.
pub(crate) fn memory(gpu: u64) -> u64 {
    0x10_0000 * (gpu + 1)
}

/// Returns a workload of these launches, with memories of `gpus` GPUs.
pub(crate) fn launches(gpus: u8, kernels: Vec<Kernel>) -> Arc<Workload> {
    let commands = (0..kernels.len() as u32).map(|kernel| Command::Launch(KernelIndex(kernel))).collect();
    let homes = (0..gpus).map(|gpu| (memory(gpu.into())..memory(u64::from(gpu) + 1), GpuId(gpu))).collect();
    Arc::new(Workload { name: "copies".into(), commands, kernels, applications: Vec::new(), notes: Vec::new(), homes })
}

/// Returns a workload whose kernels run on the GPUs in turn, with a copy after each; every second kernel runs after all earlier launches.
pub(crate) fn in_turn(once: &Workload, gpus: u8) -> Arc<Workload> {
    let mut kernels = Vec::new();
    for round in 0..u16::from(gpus) {
        for kernel in &once.kernels {
            let mut kernel = kernel.clone();
            let number = kernels.len() as u32;
            kernel.info.gpu = Some(GpuId(round as u8));
            kernel.info.after = if number % 4 == 2 { (0..number).map(KernelIndex).collect() } else { Vec::new() };
            kernels.push(kernel);
            let (from, to) = (memory(round.into()) + 40, memory(u64::from((round + 1) % u16::from(gpus))) + 1000);
            kernels.push(copy(round as u8, 7, &[number], (from, to, 3000)));
        }
    }
    let mut made = Workload::clone(&launches(gpus, kernels));
    made.homes.retain(|(range, _)| range.start < 0x10_0000 * 32);
    Arc::new(made)
}
