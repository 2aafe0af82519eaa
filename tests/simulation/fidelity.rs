//! Differences from Accel-Sim, each within a bound: net cycles, instructions, cache and DRAM accesses of a handful of small traces on two
//! machines. `warpshard study accel-sim` compares all traces.

use std::path::Path;

use warpshard::lab::reference::References;
use warpshard::validate::{ReferenceRow, TraceRun, Traces};

use crate::common::shared;

fn difference_percent(ours: u64, theirs: u64) -> f64 {
    (ours as f64 / theirs as f64 - 1.0) * 100.0
}

/// Returns the violations of one trace: net cycles off by more than `bound` percent, other instructions, other cache or DRAM accesses.
fn bound_violations(row: &ReferenceRow, ours: &TraceRun, bound: f64) -> Vec<String> {
    let mut wrong = Vec::new();
    let error = difference_percent(ours.net_cycles, row.net_cycles);
    if error.abs() > bound {
        wrong.push(format!(
            "{}: {} net cycles, {} in the reference: {error:+.1} %, bound {bound} %",
            row.trace, ours.net_cycles, row.net_cycles
        ));
    }
    for (what, ours, theirs, bound) in [
        ("warp instructions", ours.warp_instructions, row.warp_instructions, 0.0),
        ("thread instructions", ours.thread_instructions, row.thread_instructions, 0.0),
        ("L1 accesses", ours.l1_accesses, row.l1_accesses, 0.0),
        ("L1 misses", ours.l1_misses, row.l1_misses, 2.0),
        ("LLC accesses", ours.llc_accesses, row.llc_accesses, 2.0),
        ("LLC misses", ours.llc_misses, row.llc_misses, 2.0),
        ("DRAM accesses", ours.dram_reads + ours.dram_writes, row.dram_reads + row.dram_writes, 3.0),
    ] {
        if ours != theirs && (theirs == 0 || difference_percent(ours, theirs).abs() > bound) {
            wrong.push(format!("{}: {ours} {what}, {theirs} in the reference, bound {bound} %", row.trace));
        }
    }
    wrong
}

/// Runs generated traces, each with its bound in percent, on a machine and compares them with the results of a configuration.
fn compare_generated(machine: &str, configuration: &str, bounds: &[(&str, f64)]) {
    let references = References::default();
    let rows = warpshard::validate::accel_sim_results(&references, configuration).unwrap().rows;
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fidelity").join(machine);
    let traces = Traces { catalogue: warpshard::catalogue(), machine, overrides: Vec::new(), cache };
    let mut wrong = Vec::new();
    for &(trace, bound) in bounds {
        let row = rows.iter().find(|row| row.trace == trace).unwrap_or_else(|| panic!("the reference has no result of {trace}"));
        let folder =
            warpshard::validate::trace_folder(&references, &traces.cache, trace).unwrap().unwrap_or_else(|| panic!("{trace} is not there"));
        let ours = traces.run(&folder, 1, &[]).unwrap_or_else(|why| panic!("{trace}: {why}"));
        wrong.extend(bound_violations(row, &ours, bound));
    }
    assert!(wrong.is_empty(), "{machine} against {configuration}\n  {}", wrong.join("\n  "));
}

/// Compares recorded traces in the same way, if they are available.
fn compare_recorded(machine: &str, configuration: &str, bounds: &[(&str, f64)]) {
    if shared("sass").is_some() {
        compare_generated(machine, configuration, bounds);
    }
}

#[test]
fn a_v100_agrees_with_accel_sim_s_qv100() {
    let bounds = [
        ("gen-pchase_l2_128", 0.1),
        ("gen-imad_dep_1warp", 0.1),
        ("gen-smem_conflict8", 0.1),
        ("gen-atomic_seq", 1.0),
        ("gen-stride2", 1.0),
        ("gen-vecadd_1024x256", 2.0),
        ("gen-gemm_512x512x32", 2.0),
    ];
    compare_generated("v100", "SM7_QV100", &bounds);
    compare_recorded("v100", "SM7_QV100", &[("real-vecadd-f64-100k-volta", 3.0), ("real-vectoradd-100-pascal", 1.0)]);
}

#[test]
fn copies_warm_the_llc_below_4_gib_as_in_accel_sim() {
    compare_generated("v100", "SM7_QV100", &[("gen-vecadd_low_addr", 2.0)]);
}

#[test]
fn an_rtx_2060_agrees_with_accel_sim_s() {
    let bounds = [
        ("gen-pchase_l1_1024", 0.1),
        ("gen-pchase_dram_64", 0.1),
        ("gen-imad_dep_1warp", 0.1),
        ("gen-ffma_dep_1warp", 0.1),
        ("gen-smem_conflict2", 6.0),
        ("gen-stride2", 2.0),
        ("gen-vecadd_1024x256", 2.0),
    ];
    compare_generated("rtx2060", "SM75_RTX2060", &bounds);
    compare_recorded("rtx2060", "SM75_RTX2060", &[("real-vecadd-f64-100k-ampere", 2.0), ("real-vectoradd-100-pascal", 1.0)]);
}
