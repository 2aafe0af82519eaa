//! One CPU core on ideal and fixed memories: closed forms, memory bounds, invariance of cuts, and the misses of every profile.

use warpshard::base::Addr;
use warpshard::config::cpu::CpuSpec;
use warpshard::cpu_load::{CpuInst, CpuOp, CpuStream, ListStream, ProfileStream, builtin_profile, builtin_profiles};
use warpshard::lab::reference::References;
use warpshard::rig::cpu::{CpuMemory, CpuResult, CpuRun, run};

use crate::common::shared;

/// Returns loads of 4096 different lines, with `bubbles` other instructions before each.
fn load_stream(bubbles: u64, dependent: bool) -> CpuStream {
    let inst = |i: u64| CpuInst { bubbles, addr: Addr(i * 128), op: CpuOp::Load, dependent };
    CpuStream::List(ListStream::new((0..4096).map(inst).collect()))
}

fn core_behind_caches(width: u32, window: u32) -> CpuSpec {
    CpuSpec { width, window, caches: None, ..CpuSpec::kayiran_2014() }
}

fn measure_core(stream: CpuStream, spec: CpuSpec, memory: CpuMemory, instructions: u64) -> CpuResult {
    run(stream, &CpuRun { spec, memory, warm: instructions / 10, instructions, skip: true }).unwrap()
}

fn assert_close(ipc: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((ipc / expected - 1.0).abs() <= tolerance, "{what}: IPC {ipc:.5}, expected {expected:.5}");
}

#[test]
fn an_ideal_memory_is_bound_by_width_and_one_memory_instruction_per_cycle() {
    for width in [1, 3, 4, 8] {
        for bubbles in [0, 1, 2, 3, 5, 10, 1000] {
            let result = measure_core(load_stream(bubbles, false), core_behind_caches(width, 128), CpuMemory::Ideal, 200_000);
            let expected = f64::from(width).min((bubbles + 1) as f64);
            assert_close(result.ipc(), expected, 1e-4, &format!("width {width}, {bubbles} bubbles"));
        }
    }
}

#[test]
fn several_memory_instructions_per_cycle_raise_the_bound_to_their_number() {
    let hits = |bubbles: u64| {
        let inst = |i: u64| CpuInst { bubbles, addr: Addr(i % 64 * 128), op: CpuOp::Load, dependent: false };
        CpuStream::List(ListStream::new((0..4096).map(inst).collect()))
    };
    for (memory_per_cycle, bubbles, expected) in [(1, 0, 1.0), (2, 0, 2.0), (3, 0, 3.0), (1, 1, 2.0), (2, 1, 3.0), (3, 7, 3.0)] {
        let spec = CpuSpec { memory_per_cycle, ..CpuSpec::kayiran_2014() };
        let result = measure_core(hits(bubbles), spec, CpuMemory::Ideal, 200_000);
        assert_close(result.ipc(), expected, 1e-3, &format!("{memory_per_cycle} per cycle, {bubbles} bubbles"));
    }
}

#[test]
fn groups_ended_by_a_memory_instruction_take_whole_cycles() {
    for bubbles in [0, 1, 3, 4, 7, 8, 20] {
        let result = measure_core(load_stream(bubbles, false), CpuSpec::ramulator(), CpuMemory::Ideal, 200_000);
        let expected = (bubbles + 1) as f64 / (bubbles + 1).div_ceil(4) as f64;
        assert_close(result.ipc(), expected, 1e-4, &format!("{bubbles} bubbles"));
    }
}

#[test]
fn a_pointer_chase_takes_the_latency_per_load() {
    for (bubbles, latency) in [(0, 50), (3, 200), (9, 400), (30, 333)] {
        let result = measure_core(load_stream(bubbles, true), core_behind_caches(3, 128), CpuMemory::Fixed(latency), 100_000);
        assert_close(result.ipc(), (bubbles + 1) as f64 / latency as f64, 1e-3, &format!("{bubbles} bubbles, latency {latency}"));
    }
}

#[test]
fn independent_loads_overlap_within_the_window() {
    for (window, bubbles, latency) in [(128, 0, 400), (128, 3, 200), (64, 7, 300), (32, 15, 100), (128, 127, 1000)] {
        let result = measure_core(load_stream(bubbles, false), core_behind_caches(3, window), CpuMemory::Fixed(latency), 200_000);
        let expected = f64::from(window) / latency as f64;
        assert_close(result.ipc(), expected, 2e-3, &format!("window {window}, {bubbles} bubbles, latency {latency}"));
    }
}

#[test]
fn writebacks_take_a_port_cycle_and_never_block_retirement() {
    let list = |i: u64| {
        let load = CpuInst { bubbles: 3, addr: Addr(i * 128), op: CpuOp::Load, dependent: false };
        [load, CpuInst { bubbles: 0, op: CpuOp::WriteBack, addr: Addr(i * 128 + (1 << 30)), ..load }]
    };
    let stream = || CpuStream::List(ListStream::new((0..512).flat_map(list).collect()));
    let result = measure_core(stream(), CpuSpec::ramulator(), CpuMemory::Ideal, 100_000);
    assert_close(result.ipc(), 5.0 / 2.0, 1e-3, "four instructions, and a writeback in the next cycle");
    let uncounted = CpuSpec { count_writebacks: false, ..CpuSpec::ramulator() };
    assert_close(measure_core(stream(), uncounted, CpuMemory::Ideal, 100_000).ipc(), 2.0, 1e-3, "not counted");
}

#[test]
fn hits_of_the_private_caches_take_their_latencies() {
    let chase = |lines: u64| {
        let inst = |i: u64| CpuInst { bubbles: 0, addr: Addr(i * 128), op: CpuOp::Load, dependent: true };
        CpuStream::List(ListStream::new((0..lines).map(inst).collect()))
    };
    // 8 KB fit the L1, 128 KB the L2 and not the L1, 1 MB neither.
    for (lines, latency) in [(64, 2.0), (1024, 10.0), (8192, 310.0)] {
        let result = measure_core(chase(lines), CpuSpec::kayiran_2014(), CpuMemory::Fixed(300), 200_000);
        assert_close(result.ipc(), 1.0 / latency, 1e-2, &format!("{lines} lines"));
    }
}

#[test]
fn goals_are_reported_in_the_cycle_that_reaches_them() {
    // Three instructions fetched in cycle 0 retire in cycle 1, and so on: n retire by the end of cycle ceil(n / 3).
    for (warm, instructions) in [(1, 2), (3, 4), (300, 900), (1000, 1_000_003)] {
        let plan = CpuRun { spec: core_behind_caches(3, 128), memory: CpuMemory::Ideal, warm, instructions, skip: true };
        let sample = run(load_stream(1 << 30, false), &plan).unwrap().sample;
        let at = |count: u64| count.div_ceil(3) + 1;
        assert_eq!(sample.warm.map(|mark| (mark.cycles, mark.instructions)), Some((at(warm), warm.div_ceil(3) * 3)));
        assert_eq!(sample.measured.map(|mark| mark.cycles), Some(at(instructions)), "{instructions}");
    }
}

#[test]
fn skipping_cycles_in_closed_form_changes_nothing() {
    let stream = |name: &str| match name {
        "chase" => load_stream(7, true),
        "loads" => load_stream(2, false),
        name => CpuStream::Profile(ProfileStream::new(&builtin_profile(name).unwrap(), 3, 0)),
    };
    for name in ["chase", "loads", "mcf", "hmmer", "namd", "soplex", "swim"] {
        for memory in [CpuMemory::Ideal, CpuMemory::Fixed(7), CpuMemory::Fixed(250)] {
            let two = CpuSpec { memory_per_cycle: 2, ..CpuSpec::kayiran_2014() };
            for spec in [CpuSpec::kayiran_2014(), CpuSpec { caches: None, ..CpuSpec::kayiran_2014() }, CpuSpec::ramulator(), two] {
                let plan = CpuRun { spec, memory, warm: 1001, instructions: 60_000, skip: true };
                let stepped = CpuRun { skip: false, ..plan.clone() };
                assert_eq!(run(stream(name), &plan), run(stream(name), &stepped), "{name} {memory:?} {:?}", plan.spec);
            }
        }
    }
}

#[test]
fn every_profile_has_the_miss_rate_of_the_table() {
    for name in builtin_profiles() {
        let profile = builtin_profile(name).unwrap();
        // With 2500 clusters of misses the standard deviation is 2 %; the warm-up fills the caches with the resident lines.
        let measured = (2500.0 * f64::from(profile.far.cluster) / profile.mpki * 1000.0) as u64;
        let warm = 600_000;
        let stream = CpuStream::Profile(ProfileStream::new(&profile, 1, 0));
        let memory = CpuMemory::Fixed(20);
        let plan = CpuRun { spec: CpuSpec::kayiran_2014(), memory, warm, instructions: warm + measured, skip: true };
        let result = run(stream, &plan).unwrap();
        let error = result.mpki() / profile.mpki - 1.0;
        assert!(error.abs() < 0.1, "{name}: {:.3} misses per thousand instructions, expected {}", result.mpki(), profile.mpki);
    }
}

#[test]
fn a_core_on_dram_agrees_with_the_reference_on_every_recorded_trace() {
    if shared("cpu-traces").is_none() {
        return;
    }
    let study = warpshard::validate::cpu::run(&References::default()).unwrap();
    let largest = study.figure_named(warpshard::validate::cpu::LARGEST_ERROR_FIGURE).unwrap();
    assert!(largest < 5.0, "{}", study.text());
    assert!(study.column("trace").unwrap().len() >= 26, "{}", study.text());
}

#[test]
fn skipping_cycles_in_closed_form_changes_nothing_on_dram() {
    for (memory, name) in [("ddr4-2400r", "mcf"), ("gddr5-6000", "swim"), ("gddr5-1600@5:2", "soplex"), ("gddr5-6g", "namd")] {
        let stream = || CpuStream::Profile(ProfileStream::new(&builtin_profile(name).unwrap(), 5, 0));
        for spec in [CpuSpec::kayiran_2014(), CpuSpec::ramulator()] {
            let memory = CpuMemory::parse(memory).unwrap();
            let plan = CpuRun { spec, memory, warm: 0, instructions: 60_000, skip: true };
            let stepped = CpuRun { skip: false, ..plan.clone() };
            assert_eq!(run(stream(), &plan), run(stream(), &stepped), "{name} on {memory} {:?}", plan.spec);
        }
    }
}
