//! CCWS on kernels whose warps repeatedly read private lines. The lines of all warps together exceed the L1; the lines of some warps fit.

use std::sync::Arc;

use warpshard::chip::{RunOptions, simulate};
use warpshard::config::{Machine, Override};
use warpshard::control::Controller;
use warpshard::model::Model;
use warpshard::stats::Outcome;

/// Model of six CTAs of eight warps. Every warp reads its `lines` lines `rounds` times and computes with each.
const REUSE_MODEL: &str = r#"
name = "reuse"

[parameters]
lines = 12
rounds = 60
work = 4

[buffers]
data = { elements = "48 * lines * 32" }
out = { elements = "48 * 32" }

[[kernel]]
name = "reuse"
grid = 6
block = 256
body = [
  { op = "s2r", dst = "i" },
  { op = "imad_wide", dst = "p", src = ["i"] },
  { loop = "r", count = "rounds", body = [
    { loop = "l", count = "lines", unroll = true, body = [
      { op = "load", dst = "x[l]", src = ["p"], buffer = "data", index = "(global_thread / 32 * lines + l) * 32 + global_thread % 32" },
    ] },
    { loop = "l", count = "lines", unroll = true, body = [
      { loop = "w", count = "work", unroll = true, body = [{ op = "fadd", dst = "y[w]", src = ["y[w]", "x[l]"] }] },
    ] },
  ] },
  { op = "store", src = ["p", "y[0]"], buffer = "out", index = "global_thread" },
]
"#;

/// Returns a Fermi GPU with one SM of 48 warps, an L1 of 128 lines with a long latency, and one memory partition.
fn fermi_machine(overrides: &[(&str, &str)]) -> Machine {
    let one = [
        ("gpu.sms", "1"),
        ("mem.map.partitions", "1"),
        ("gpu.sm.order", "gto"),
        ("gpu.dispatch.launch_latency", "0"),
        ("clocks.core", "1300 MHz"),
        ("gpu.sm.l1.latency", "70"),
    ];
    let overrides: Vec<Override> = one.iter().chain(overrides).map(|(key, value)| Override::new(*key, *value)).collect();
    warpshard::catalogue().machine("gtx480", &overrides).unwrap_or_else(|error| panic!("{error}")).machine
}

fn run(machine: &Machine, lines: &str, warps: Option<u32>) -> Outcome {
    let set = [("lines".to_owned(), lines.to_owned())];
    let workload = Arc::new(Model::from_text("reuse.toml", REUSE_MODEL, 1, &set).unwrap_or_else(|error| panic!("{error}")).workload());
    let limit = |warps| {
        let row = warpshard::catalogue().policies().find("static_limit").unwrap();
        (row.build)(toml::from_str(&format!("warps = {warps}")).unwrap()).unwrap()
    };
    let controllers: Vec<Box<dyn Controller>> = warps.map(limit).into_iter().collect();
    simulate(machine, &workload, RunOptions { controllers, ..RunOptions::default() }).unwrap().outcome
}

fn counter_value(outcome: &Outcome, name: &str) -> Option<u64> {
    let counters = outcome.components.iter().filter(|component| component.kind == "sm").flat_map(|component| &component.counters);
    let kernels = outcome.kernels.iter().flat_map(|kernel| kernel.counters.iter());
    counters.copied().chain(kernels).find(|counted| counted.info.name == name).map(|counted| counted.value)
}

#[test]
fn ccws_approaches_the_best_static_limit_if_all_warps_thrash_the_l1() {
    let plain = run(&fermi_machine(&[]), "12", None);
    let ccws = run(&fermi_machine(&[("gpu.sm.ccws.enabled", "true")]), "12", None);
    let best = [6, 8, 10, 12, 16, 24].map(|warps| run(&fermi_machine(&[]), "12", Some(warps)).cycles).into_iter().min().unwrap();
    let hits = |outcome| counter_value(outcome, "l1_read_hits").unwrap();
    let reads = 48 * 12 * 60;
    assert!(hits(&plain) * 4 < reads && hits(&ccws) * 2 > reads, "{} and {} of {reads} reads hit", hits(&plain), hits(&ccws));
    assert!(plain.cycles * 10 > best * 11, "GTO takes {} cycles, the best limit {best}", plain.cycles);
    let (lost, left) = (plain.cycles - best, ccws.cycles.saturating_sub(best));
    assert!(left * 2 < lost, "CCWS takes {} cycles, GTO {}, the best limit {best}", ccws.cycles, plain.cycles);
}

#[test]
fn ccws_changes_nothing_if_all_warps_fit_the_l1() {
    let plain = run(&fermi_machine(&[]), "2", None);
    let ccws = run(&fermi_machine(&[("gpu.sm.ccws.enabled", "true")]), "2", None);
    assert_eq!(ccws.cycles, plain.cycles);
    assert_eq!(counter_value(&ccws, "ccws_victim_hits"), Some(0));
    assert_eq!(counter_value(&ccws, "ccws_throttled_cycles"), Some(0));
    assert_eq!(counter_value(&plain, "ccws_victim_hits"), None, "an SM without CCWS has none of its counters");
}
