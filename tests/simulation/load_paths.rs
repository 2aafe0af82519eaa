//! The memory path of machine `h100`: each test switches one mechanism of the L1 or the LLC off and compares the cycles of a program.

use std::path::Path;
use std::sync::Arc;

use warpshard::chip::{RunOptions, simulate};
use warpshard::program::Program;

use crate::common::machine;

/// Returns the cycles of the first launch of a program of the suite, with these parameters and empty caches.
fn kernel_cycles(name: &str, parameters: &[(&str, &str)], overrides: &[(&str, &str)]) -> u64 {
    launch_cycles(0, name, parameters, overrides)
}

/// Returns the cycles of the given launch of a program, with these parameters and empty caches.
fn launch_cycles(launch: usize, name: &str, parameters: &[(&str, &str)], overrides: &[(&str, &str)]) -> u64 {
    let file = format!("{}/programs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let parameters: Vec<_> = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let workload = Arc::new(Program::load(Path::new(&file), Some(90), &parameters).unwrap().workload().unwrap());
    let overrides: Vec<_> = overrides.iter().copied().chain([("mem.memcpy_warms_llc", "\"off\"")]).collect();
    let kernels = simulate(&machine("h100", &overrides), &workload, RunOptions::default()).unwrap().outcome.kernels;
    kernels[launch].ended.unwrap() - kernels[launch].started.unwrap()
}

/// The L1 looks up its tags before its data. If both took place at the end, misses would leave later and hits would take as long as before.
#[test]
fn a_miss_leaves_the_l1_before_the_latency_of_a_hit() {
    let late = [("gpu.sm.l1.latency", "18"), ("gpu.sm.l1.data_latency", "0")];
    let ring = [("entries", "1024"), ("steps", "2051")];
    let [hits, hits_late] = [&[][..], &late].map(|set| kernel_cycles("micro/l1_lat", &ring, set));
    assert!(hits.abs_diff(hits_late) < 200, "{hits} and {hits_late} cycles of 2,051 hits, one after the other");
    let [misses, misses_late] = [&[][..], &late].map(|set| kernel_cycles("polybench/gemm", &[], set));
    // There are 64 dependent misses in `b`; every eighth round also misses in `a`.
    assert!(misses + 64 * 12 < misses_late, "{misses} and {misses_late} cycles of 64 rounds");
}

/// Nine loads of a thread need three lines. All loads that wait for a line receive it in one cycle instead of sector by sector.
#[test]
fn loads_that_wait_for_the_same_line_complete_together() {
    let [line, sector] =
        ["4", "1"].map(|answers| kernel_cycles("polybench/2DConvolution", &[("n", "512")], &[("gpu.sm.l1.answers", answers)]));
    assert!(line * 11 < sector * 10, "{line} cycles by lines, {sector} by sectors");
}

/// An SM that waits for memory receives two sectors per cycle, and all sectors of a line are requested in the same cycle.
#[test]
fn an_sm_reads_two_sectors_of_memory_in_a_cycle() {
    let with = |overrides: &[(&str, &str)]| kernel_cycles("micro/mem_bw", &[], overrides);
    let [both, one_fill, one_request] = [&[][..], &[("gpu.sm.l1.fills", "1")], &[("gpu.sm.l1.line_requests", "false")]].map(with);
    assert!(both * 5 < one_fill * 4, "{both} cycles with two fills in a cycle, {one_fill} with one");
    assert!(both * 5 < one_request * 4, "{both} cycles with requests of lines, {one_request} sector by sector");
}

/// Stores of several warps to parts of one sector are combined behind the L1 into one LLC write.
#[test]
fn combined_stores_are_one_write() {
    let [meet, apart] =
        ["8", "0"].map(|lines| kernel_cycles("rodinia/lavaMDinMemory", &[("ny", "1")], &[("gpu.sm.lsu.combined_stores", lines)]));
    assert!(meet * 6 < apart * 5, "{meet} cycles where they meet, {apart} where each goes on");
}

/// A slice reads and merges a partially written sector.
#[test]
fn partial_sector_writes_take_a_slice_longer() {
    let write = |launch, cycles| launch_cycles(launch, "sdk/transpose", &[("n", "512")], &[("mem.llc.merge_cycles", cycles)]);
    let [parts, alike] = ["2", "0"].map(|cycles| write(2, cycles));
    assert!(parts * 5 > alike * 6, "{parts} cycles of stores of four bytes, {alike} where a part takes no longer");
    let [whole, alike] = ["2", "0"].map(|cycles| write(1, cycles));
    assert_eq!(whole, alike, "cycles of stores of whole sectors");
}

/// Lines at a stride of 2 KiB are spread over the sets of the L1, and stay there until they are read again.
#[test]
fn lines_at_a_stride_of_2_kib_do_not_share_a_set() {
    let sizes = [("rows", "502"), ("columns", "458"), ("iterations", "1")];
    let [linear, hashed] = ["linear", "ipoly"].map(|index| {
        let index = format!("\"{index}\"");
        launch_cycles(3, "rodinia/srad_v1", &sizes, &[("gpu.sm.l1.cache.index", &index)])
    });
    assert!(hashed * 3 < linear * 2, "{hashed} cycles, {linear} with sets by the low bits");
}

/// The first read of a line from the other half of the LLC takes longer; later reads do not.
#[test]
fn only_the_first_read_of_the_other_llc_half_is_slower() {
    let one = [("mem.halves.latency", "0")];
    let ring = [("entries", "4096"), ("steps", "4103")];
    let [two, whole] = [&[][..], &one].map(|set| kernel_cycles("micro/l2_lat", &ring, set));
    assert!(two.abs_diff(whole) * 50 < whole, "{two} cycles of 4,103 hits in the LLC, {whole} where it is one");
    let [two, whole] = [&[][..], &one].map(|set| kernel_cycles("polybench/gemm", &[], set));
    assert!(two > whole, "{two} cycles, {whole} where the LLC is one");
}
