//! Machines at the extremes of every key: each is refused with a clear message, or is built and simulates; none causes a panic, a deadlock
//! or gigabytes of memory.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use rayon::prelude::*;

use crate::common::at_length;
use warpshard::chip::{CpuApplication, CpuEnd, CpuLoad, RunError, RunOptions, simulate};
use warpshard::config::keys::{self, Key};
use warpshard::config::value::ValueKind;
use warpshard::config::{Machine, Override};
use warpshard::{model, workload::Workload};

/// Core cycles of each simulation.
const RUN_CYCLES: u64 = 600;
/// Memory limit of this test's process in MiB, with some machines in parallel.
const MEMORY_LIMIT_MIB: u64 = 6 << 10;

/// A machine with optional parts switched on.
struct Variant {
    machine: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

const MACHINE_VARIANTS: [Variant; 7] = [
    Variant { machine: "tiny", settings: &[] },
    Variant { machine: "hetero-small", settings: &[] },
    Variant {
        machine: "tiny",
        settings: &[
            ("gpu.sm.fetch.icache.perfect", "false"),
            ("gpu.sm.fetch.ccache.perfect", "false"),
            ("gpu.sm.ccws.enabled", "true"),
            ("gpu.sm.texture.present", "true"),
            ("gpu.sm.texture.sets", "4"),
            ("gpu.sm.texture.ways", "4"),
            ("gpu.sm.texture.fragments", "8"),
            ("gpu.sm.texture.requests", "8"),
            ("gpu.sm.texture.reorder", "8"),
            ("gpu.sm.texture.results", "8"),
            ("gpu.sm.l1.unified.adaptive", "false"),
            ("gpu.sm.order", "two-level-phase"),
        ],
    },
    Variant {
        machine: "tiny",
        settings: &[
            ("gpu.sm.style", "shared"),
            ("noc.crossbar", "vc"),
            ("noc.vc.vcs", "3"),
            ("noc.vc.buffers", "4"),
            ("noc.vc.channel_bytes", "20 B"),
            ("gpu.sm.l1.unified.adaptive", "false"),
        ],
    },
    Variant {
        machine: "tiny",
        settings: &[
            ("mem.dram.controller", "standard"),
            ("mem.dram.timing.tREFI", "2000"),
            ("mem.dram.timing.tRFC", "100"),
            ("mem.dram.timing.tRTPL", "2"),
            ("noc.crossbar", "output_queued"),
        ],
    },
    Variant {
        machine: "tiny",
        settings: &[("mem.llc.index", "linear"), ("mem.map.hash", "linear"), ("gpu.sm.l1.unified.adaptive", "false")],
    },
    Variant { machine: "hetero-small", settings: &[("cpu.private_caches", "false"), ("cpu.line_bytes", "64 B")] },
];

/// Numbers at the limits of field widths.
const EDGE_VALUES: [u64; 17] =
    [0, 1, 2, 255, 256, 257, 999, 1000, 65_535, 65_536, 65_537, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 63, u64::MAX];

/// Returns values at and beyond the limits of a key's range, as TOML.
fn extreme_values(key: &Key) -> Vec<String> {
    let numbers = |low: u64, high: u64| {
        let near = [low.saturating_sub(1), low, low + 1, low + 2, high / 2, high - 1, high, high.saturating_add(1)];
        let mut all: Vec<u64> = near.into_iter().chain([1 << high.ilog2()]).chain(EDGE_VALUES).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let quoted = |list: &[&str]| list.iter().map(|text| format!("\"{text}\"")).collect();
    match key.kind {
        ValueKind::Count(low, high) | ValueKind::Cycles(_, low, high) => numbers(low, high).iter().map(u64::to_string).collect(),
        ValueKind::Bytes(low, high) => numbers(low, high).iter().map(|bytes| format!("\"{bytes} B\"")).collect(),
        ValueKind::Frequency => quoted(&[
            "0 kHz",
            "1 kHz",
            "9999 kHz",
            "10 MHz",
            "10001 kHz",
            "999999 kHz",
            "9999999 kHz",
            "10 GHz",
            "11 GHz",
            "18446744073709551615 kHz",
        ]),
        ValueKind::Voltage => quoted(&["0 mV", "1 mV", "10 V", "10001 mV", "18446744073709551615 V"]),
        ValueKind::Percent => quoted(&["0 %", "1 %", "99 %", "100 %", "101 %", "4294967296 %"]),
        ValueKind::Flag => vec!["true".to_owned(), "false".to_owned()],
        ValueKind::Choice(choices) => choices.iter().map(|choice| format!("\"{}\"", choice.name)).collect(),
        ValueKind::Sizes => {
            ["[]", "[\"0 B\"]", "[\"16 MiB\"]", "[\"0 B\", \"16 MiB\"]", "[\"17 MiB\"]", "[\"4 KiB\", \"0 B\"]"].map(str::to_owned).into()
        }
        ValueKind::Numbers => ["[]", "[0]", "[1, 0]", "[0, 0]", "[65536]", "[18446744073709551615]"].map(str::to_owned).into(),
        ValueKind::Layout => {
            let long = format!("{}BBCCCSSSSS", "R".repeat(54));
            let wide = format!("{}R{}CSSSSS", "0".repeat(20), "B".repeat(37));
            quoted(&["RBC", "RBCS", &long, &wide, "RRRR.RRRRBCCC.BCCSSSSS", "BRCCCSSSSS", "CRBBSSSSS"])
        }
        ValueKind::Nodes => ["[]", "[\"gpu\"]", "[\"gpu cpu mem\"]", "[\"gpu99999999999\"]"].map(str::to_owned).into(),
        ValueKind::Wires => {
            ["[]", "[\"gpu0-gpu1\"]", "[\"gpu0-gpu0\"]", "[\"gpu0-gpu99\"]", "[\"gpu0-switch0 x65\"]"].map(str::to_owned).into()
        }
        ValueKind::Text => quoted(&["", "\\u001b[2J", "x"]),
    }
}

/// Loads a variant with further overrides; returns `None` if it is refused.
fn load(variant: &Variant, more: &[(&str, &str)]) -> Option<Machine> {
    let settings: Vec<Override> = variant.settings.iter().chain(more).map(|(key, value)| Override::new(*key, *value)).collect();
    match warpshard::catalogue().machine(variant.machine, &settings) {
        Ok(loaded) => Some(loaded.machine),
        Err(errors) => {
            let text = errors.to_string();
            assert!(text.starts_with("error: ") && !errors.problems.is_empty(), "{text}");
            None
        }
    }
}

/// Simulates a small workload; returns the error, if any.
fn run(machine: &Machine, workload: &Arc<Workload>) -> Result<(), String> {
    let cpu = machine.cpu.as_ref().map(|cpu| {
        let names = ["mcf".to_owned(), "libquantum".to_owned()];
        let applications = CpuApplication::all(&names, cpu.count.min(2)).expect("built-in profiles");
        CpuLoad { applications, warm: 50, measure: 1 << 40, gpu_waits: false, end: CpuEnd::Gpu, seed: 1 }
    });
    match simulate(machine, workload, RunOptions { max_cycles: Some(RUN_CYCLES), cpu, interval: Some(100), ..RunOptions::default() }) {
        // A kernel that does not fit is refused before the machine is built.
        Ok(_) | Err(RunError::Config(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn small_workload() -> Arc<Workload> {
    let parameters = [("cta_count", "12"), ("table", "65536"), ("rounds", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    Arc::new(model::builtin("gather", 1, &parameters).unwrap())
}

/// Returns the peak memory of the process in MiB; 0 if the operating system does not report it.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// Runs a machine for each of `settings`; returns all failures.
fn run_failures(variant: &Variant, settings: &[Vec<(&str, &str)>]) -> Vec<String> {
    let workload = small_workload();
    let base = load(variant, &[]).expect("the variant itself");
    let one = |more: &Vec<(&str, &str)>| {
        let machine = load(variant, more).filter(|machine| *machine != base)?;
        let before = peak_mib();
        let failure = std::panic::catch_unwind(AssertUnwindSafe(|| run(&machine, &workload)))
            .unwrap_or_else(|_| Err("panicked while it was built".to_owned()));
        let after = peak_mib();
        let memory = (after > before && after > MEMORY_LIMIT_MIB).then(|| format!("needs {after} MiB"));
        let what = failure.err().or(memory)?;
        Some(format!("{} with {:?} and {more:?}: {what}", variant.machine, variant.settings))
    };
    settings.par_iter().filter_map(one).collect()
}

fn assert_no_failures(failures: &[String]) {
    assert!(failures.is_empty(), "{} machines fail:\n{}", failures.len(), failures.join("\n"));
}

fn every_value_of(variant: &Variant, wanted: impl Fn(&Key) -> bool) {
    let given: Vec<(&str, Vec<String>)> = keys::all().filter(|key| wanted(key)).map(|key| (key.path, extreme_values(key))).collect();
    let of_key =
        |(path, values): &'static (&'static str, Vec<String>)| values.iter().map(|value| vec![(*path, value.as_str())]).collect::<Vec<_>>();
    let given: &'static Vec<(&str, Vec<String>)> = Box::leak(Box::new(given));
    let settings: Vec<Vec<(&str, &str)>> = given.iter().flat_map(of_key).collect();
    assert!(settings.len() > 40, "only {} machines", settings.len());
    assert_no_failures(&run_failures(variant, &settings));
}

#[test]
fn every_key_of_the_small_gpu() {
    every_value_of(&MACHINE_VARIANTS[0], |_| true);
}

#[test]
fn every_key_of_the_small_chip_with_cpu_cores() {
    // The SMs have the same keys as the small GPU's.
    every_value_of(&MACHINE_VARIANTS[1], |key| at_length() || !key.path.starts_with("gpu.sm."));
}

#[test]
fn every_key_of_parts_that_the_small_machines_lack() {
    for variant in &MACHINE_VARIANTS[2..5] {
        every_value_of(variant, |key| {
            key.conditions().any(|(flag, _)| variant.settings.iter().any(|(set, _)| *set == flag)) || key.path.contains("units")
        });
    }
    every_value_of(&MACHINE_VARIANTS[5], |key| {
        key.path.starts_with("mem.llc.") || key.path.starts_with("mem.map.") || key.path.starts_with("gpu.sm.l1")
    });
    every_value_of(&MACHINE_VARIANTS[6], |key| key.path.starts_with("cpu."));
}

/// Tests extremes of several keys together, drawn pseudo-randomly.
#[test]
fn several_extremes_at_once() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = move |below: usize| {
        // Xorshift (Marsaglia, 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let all: Vec<(&str, Vec<String>)> = keys::all().map(|key| (key.path, extreme_values(key))).collect();
    for variant in &MACHINE_VARIANTS {
        let settings: Vec<Vec<(&str, &str)>> = (0..150)
            .map(|_| {
                (0..3)
                    .map(|_| {
                        let (path, values) = &all[draw(all.len())];
                        (*path, values[draw(values.len())].as_str())
                    })
                    .collect()
            })
            .collect();
        assert_no_failures(&run_failures(variant, &settings));
    }
}

/// Settings found by adversarial testing: each was accepted and then simulated another value, panicked, or deadlocked.
#[test]
fn values_that_a_model_cannot_represent_are_refused_by_key() {
    let refused = |machine: &'static str, setting: (&str, &str)| {
        let errors =
            warpshard::catalogue().machine(machine, &[Override::new(setting.0, setting.1)]).map(|_| ()).expect_err(setting.0).to_string();
        assert!(errors.contains(setting.0) && errors.contains("expected"), "{errors}");
    };
    for (machine, key, value) in [
        ("tiny", "gpu.sm.timing.int.latency", "65537"),
        ("tiny", "gpu.sm.timing.sp.latency", "1000"),
        ("tiny", "gpu.sm.timing.load.initiation", "65536"),
        ("tiny", "gpu.sm.fetch.buffer", "5"),
        ("tiny", "mem.llc.mshrs", "65535"),
        ("v100", "mem.llc.sets", "65536"),
        ("hetero-small", "cpu.l1.miss_queue", "1"),
        ("tiny", "mem.rop_latency", "2147483648"),
        ("tiny", "noc.link_latency", "4294967295"),
        ("tiny", "gpu.dispatch.latency", "2147483647"),
        ("tiny", "mem.dram.timing.tCL", "4294967295"),
        ("hetero-small", "cpu.l2.latency", "4294967295"),
        ("tiny", "gpu.sm.texture.present", "2"),
    ] {
        refused(machine, (key, value));
    }
}
