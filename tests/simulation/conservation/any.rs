//! Random variants of the test machine: short queues, few MSHRs, other clocks, policies and requests.

use warpshard::base::Rng;
use warpshard::config::Override;

use crate::common::{SimulationCase, built_in};

/// Returns the machine and the workload of a seed; `None` if the configuration refuses the machine.
pub(crate) fn case(seed: u64) -> Option<SimulationCase> {
    let mut rng = Rng::keyed(seed, &[]);
    let mut overrides = Vec::new();
    let mut set = |key: &str, value: String| overrides.push(Override::new(key, value));
    for (key, least, most) in [
        ("noc.input_queue", 1, 40),
        ("noc.output_queue", 1, 70),
        ("noc.link_latency", 1, 3),
        ("mem.rop_latency", 1, 40),
        ("mem.dram_latency", 1, 30),
        ("mem.queues.in_queue", 1, 8),
        ("mem.queues.to_dram", 1, 4),
        ("mem.queues.from_dram", 1, 4),
        ("mem.queues.out_queue", 1, 4),
        ("mem.llc.mshrs", 1, 12),
        ("mem.llc.mshr_merge", 1, 4),
        ("mem.llc.miss_queue", 2, 5),
        ("mem.dram.queue", 1, 12),
        ("mem.dram.return_queue", 1, 12),
        ("gpu.dispatch.latency", 1, 20),
        ("gpu.dispatch.ahead", 1, 3),
        ("gpu.sm.lsu.ejection_queue", 1, 6),
        ("gpu.sm.lsu.response_queue", 1, 4),
        ("gpu.sm.l1.banks", 1, 2),
        ("gpu.sm.l1.latency", 1, 12),
        ("gpu.sm.l1.cache.mshrs", 1, 12),
        ("gpu.sm.l1.cache.mshr_merge", 1, 6),
        ("gpu.sm.l1.cache.miss_queue", 2, 6),
        ("gpu.sm.warps", 8, 16),
    ] {
        let value = least + rng.below(most - least + 1);
        // Each scheduler has the same number of warps.
        set(key, if key == "gpu.sm.warps" { 2 * value } else { value }.to_string());
    }
    let virtual_channels = [("noc.vc.vcs", 1, 5), ("noc.vc.buffers", 1, 6), ("noc.vc.channel_bytes", 8, 40), ("noc.vc.stages", 2, 4)];
    for (key, choices) in [
        ("clocks.noc", &["1000 MHz", "700 MHz", "1500 MHz"][..]),
        ("clocks.llc", &["800 MHz", "1000 MHz", "1300 MHz"]),
        ("clocks.dram", &["500 MHz", "1000 MHz", "1750 MHz"]),
        ("noc.arbiter", &["islip", "round-robin"]),
        ("noc.crossbar", &["fifo", "fifo", "output_queued", "vc"]),
        ("mem.llc.write_miss", &["lazy-fetch-on-read", "fetch-on-write", "write-allocate"]),
        ("mem.dram.scheduler", &["fr-fcfs", "fcfs"]),
        ("gpu.sm.lsu.sector_requests", &["true", "false"]),
        ("gpu.sm.lsu.return_bytes", &["0", "64", "7"]),
        ("gpu.sm.l1.cache.present", &["true", "true", "true", "false"]),
        ("gpu.sm.l1.cache.sectored", &["true", "true", "false"]),
        ("gpu.sm.l1.cache.write", &["through", "back", "local-back-global-through"]),
        ("gpu.sm.l1.cache.write_miss", &["lazy-fetch-on-read", "no-allocate", "fetch-on-write"]),
        ("gpu.sm.l1.unified.adaptive", &["true", "false"]),
        ("gpu.sm.order", &["lrr", "gto"]),
        ("gpu.sm.style", &["sub-cores", "shared"]),
    ] {
        let choice = choices[rng.below(choices.len() as u64) as usize];
        if choice == "vc" {
            for (key, least, most) in virtual_channels {
                set(key, (least + rng.below(most - least + 1)).to_string());
            }
        }
        set(key, choice.to_owned());
    }
    let workload = match rng.below(6) {
        0 => built_in("gather", &[("cta_count", "12"), ("table", "16384"), ("rounds", "3")]),
        1 => built_in("vecadd", &[("n", "8192"), ("threads_per_cta", "64")]),
        2 => built_in("stream", &[("cta_count", "8"), ("iterations", "3")]),
        3 => built_in("strided", &[("cta_count", "8"), ("stride", "5")]),
        4 => built_in("divergent", &[("cta_count", "8")]),
        _ => built_in("reduce", &[("cta_count", "12")]),
    };
    // A separate random stream, so that this choice does not change the rest of the machines.
    let mut rng = Rng::keyed(seed, &[1]);
    if rng.below(3) == 0 {
        overrides.retain(|setting| setting.key() != "mem.dram.queue");
        for (key, choices) in [
            ("mem.dram.controller", &["standard"][..]),
            ("mem.dram.standard", &["machine", "machine", "hbm2-2000"]),
            ("mem.dram.page", &["open", "closed"]),
            ("mem.dram.read_queue", &["4", "9", "64"]),
            ("mem.dram.write_queue", &["4", "7", "64"]),
            ("mem.dram.drain_high", &["80 %", "50 %"]),
            ("mem.dram.row_hit_cap", &["0", "4"]),
            ("mem.dram.age_cap", &["0", "50", "400"]),
            ("mem.dram.refresh", &["true", "false"]),
            ("mem.dram.timing.tREFI", &["900"]),
            ("mem.dram.timing.tRFC", &["80"]),
        ] {
            overrides.push(Override::new(key, choices[rng.below(choices.len() as u64) as usize]));
        }
        let named = overrides.iter().any(|setting| format!("{setting:?}").contains("hbm2"));
        overrides.retain(|setting| !(named && setting.key().contains(".timing.t")));
    }
    let machine = warpshard::catalogue().machine("tiny", &overrides).ok()?.machine;
    Some(SimulationCase { name: format!("{} on machine {seed}", workload.name), machine, workload, policy: None })
}
