//! A small synthetic run for the tests of this crate.

use warpshard_base::{AppId, Frequency, KernelIndex, StreamId};
use warpshard_stats::{
    ComponentStats, CounterInfo, CounterValue, EndedBy, HostFacts, IntervalRow, KernelStats, Outcome, TimelineEntry, WorkerFacts,
};

use super::verdict::Measurements;
use super::{Configuration, RunFacts};

macro_rules! counted {
    ($($name:literal $unit:literal = $value:expr),* $(,)?) => {
        vec![$(CounterValue {
            info: &CounterInfo { name: $name, unit: $unit, help: concat!("Counts ", $name, ".") },
            value: $value,
        }),*]
    };
}

pub(super) fn facts() -> RunFacts {
    RunFacts {
        version: "0.0.0".into(),
        commit: "unknown".into(),
        machine: "tiny".into(),
        workload: "two_kernels".into(),
        capability: "7.0".into(),
        code: "sm_70".into(),
        seed: 1,
        core_clock: Frequency::mhz(1000),
        sms: 2,
        dram_burst_bytes: 32,
        dram_bytes_per_second: 32e9,
        roofs: Vec::new(),
        launches: Vec::new(),
        measurements: Measurements::default(),
        energy: None,
        configuration: Some(Configuration {
            options: [("machine", "tiny".into()), ("overrides", vec!["gpu.sms=2"].into()), ("seed", 1.into())]
                .map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value))
                .into_iter()
                .collect(),
            command: "warpshard run --machine tiny --set gpu.sms=2".into(),
            arguments: ["warpshard", "run", "--machine", "tiny", "--set", "gpu.sms=2", "--threads", "2"].map(str::to_owned).into(),
        }),
    }
}

fn sm(id: u32, scale: u64) -> ComponentStats {
    ComponentStats {
        kind: "sm",
        id,
        counters: counted![
            "issued" "scheduler cycles" = 400 * scale,
            "stall_scoreboard" "scheduler cycles" = 6_000 * scale,
            "stall_barrier" "scheduler cycles" = 10 * scale,
            "idle" "scheduler cycles" = 29_590 - 6_410 * (scale - 1),
            "packets_sent" "packets" = 1_000 * scale,
            "cycles" "cycles" = 18_000,
            "active_cycles" "cycles" = 9_000,
            "resident_warp_cycles" "warps x cycles" = 9_000 * 8 * scale,
        ],
    }
}

fn llc(id: u32) -> ComponentStats {
    ComponentStats {
        kind: "llc",
        id,
        counters: counted![
            "accesses" "accesses" = 500,
            "misses" "accesses" = 375,
            "pending_hits" "accesses" = 25,
            "read_hits" "accesses" = 70,
            "write_hits" "accesses" = 30,
        ],
    }
}

fn kernel(index: u32, name: &str, stream: u64, (launched, started, ended): (u64, u64, u64), instructions: u64) -> KernelStats {
    KernelStats {
        index: KernelIndex(index),
        name: name.into(),
        id: u64::from(index) + 1,
        app: AppId(0),
        stream: StreamId(stream),
        ctas: 64,
        ctas_done: 64,
        ctas_per_sm: 8,
        launched: Some(launched),
        started: Some(started),
        ended: Some(ended),
        launch_latency_cycles: if index == 0 { 5_000 } else { 0 },
        counters: counted![
            "warp_instructions" "instructions" = instructions,
            "thread_instructions" "instructions" = instructions * 30,
            "l1_read_hits" "accesses" = 600,
            "l1_read_pending_hits" "accesses" = 100,
            "l1_read_misses" "accesses" = 250,
            "l1_read_sector_misses" "accesses" = 50,
            "l1_write_hits" "accesses" = 0,
            "l1_write_pending_hits" "accesses" = 0,
            "l1_write_misses" "accesses" = 200,
            "l1_write_sector_misses" "accesses" = 0,
        ]
        .into_iter()
        .collect(),
    }
}

fn interval(cycle: u64, instructions: u64, reads: u64) -> IntervalRow {
    let counted = counted!["warp_instructions" "instructions" = instructions, "reads" "bursts" = reads];
    IntervalRow { cycle, counters: ["sm", "dram"].into_iter().zip(counted).collect() }
}

/// Returns the outcome of two kernels on two SMs.
pub(super) fn outcome() -> Outcome {
    let dram = counted!["reads" "bursts" = 850, "writes" "bursts" = 60, "row_hits" "requests" = 400, "row_misses" "requests" = 100];
    let mut components = vec![sm(0, 1), sm(1, 2), llc(0), llc(1)];
    components.push(ComponentStats { kind: "dram", id: 0, counters: dram });
    Outcome {
        ended_by: EndedBy::Completed,
        cycles: 18_000,
        counted_until: 18_000,
        kernels: vec![
            kernel(0, "saxpy", 0, (0, 5_000, 9_000), 700),
            kernel(1, "void gemm<float, 128, 128, 8>(float const*, float const*, float*)", 7, (0, 5_000, 18_000), 500),
        ],
        applications: Vec::new(),
        components,
        dram_read_latencies: Vec::new(),
        cpu_applications: Vec::new(),
        intervals: [interval(1000, 120, 30), interval(2000, 80, 45)].into_iter().collect(),
        relaxed: None,
        sampled: None,
        system: None,
        timeline: vec![TimelineEntry {
            cycle: 1024,
            controller: "cm-bal".into(),
            sm: None,
            name: "warp_limit",
            value: Some(8.0),
            reason: "memory is stalled".into(),
        }],
        notes: vec![("instructions of class tensor ran on the INT pipe".into(), 12)],
    }
}

/// Returns the facts of the run's execution on the host.
pub(super) fn host() -> HostFacts {
    HostFacts {
        startup_seconds: 0.021,
        decode_seconds: 0.5,
        simulate_seconds: 2.0,
        threads: 2,
        mean_workers: 1.5,
        worker_changes: 3,
        epochs: 450,
        cuts: 18,
        moves: 2,
        coordinator_seconds: 0.01,
        epoch_cycles: 40,
        halves: false,
        lookahead_cycles: 40,
        limiting_link: "sm0 -> request_net -> sm0".into(),
        workers: vec![
            WorkerFacts { busy_seconds: 1.8, wait_seconds: 0.2, sleeps: 1, shards: 3, taken: 0 },
            WorkerFacts { busy_seconds: 1.2, wait_seconds: 0.8, sleeps: 9, shards: 3, taken: 7 },
        ],
        network_share: vec![("request_net".into(), 0.125), ("reply_net".into(), 0.25)],
        messages: 12_345,
        ranks: None,
        peak_memory_bytes: Some(256 << 20),
    }
}
