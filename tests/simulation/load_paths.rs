//! The memory path of machine `h100`: each test switches one mechanism of the L1 or the LLC off and compares the cycles of a program.

use std::path::Path;
use std::sync::Arc;

use warpshard::chip::{RunOptions, simulate};
use warpshard::program::Program;

use crate::common::machine;

/// Cycles of the first launch of a program of the suite, with these parameters, from empty caches.
fn cycles(name: &str, parameters: &[(&str, &str)], overrides: &[(&str, &str)]) -> u64 {
    cycles_of(0, name, parameters, overrides)
}

/// The same of any launch.
fn cycles_of(launch: usize, name: &str, parameters: &[(&str, &str)], overrides: &[(&str, &str)]) -> u64 {
    let file = format!("{}/programs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let parameters: Vec<_> = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let workload = Arc::new(Program::load(Path::new(&file), Some(90), &parameters).unwrap().workload().unwrap());
    let overrides: Vec<_> = overrides.iter().copied().chain([("mem.memcpy_warms_llc", "\"off\"")]).collect();
    let kernels = simulate(&machine("h100", &overrides), &workload, RunOptions::default()).unwrap().outcome.kernels;
    kernels[launch].ended.unwrap() - kernels[launch].started.unwrap()
}

/// The tags of the L1 are looked up before its data: where both come at the end, misses leave later and hits come when they did.
#[test]
fn a_miss_leaves_the_l1_before_the_data_of_a_hit_would_come() {
    let late = [("gpu.sm.l1.latency", "18"), ("gpu.sm.l1.data_latency", "0")];
    let ring = [("entries", "1024"), ("steps", "2051")];
    let [hits, hits_late] = [&[][..], &late].map(|set| cycles("micro/l1_lat", &ring, set));
    assert!(hits.abs_diff(hits_late) < 200, "{hits} and {hits_late} cycles of 2,051 hits, one after the other");
    let [misses, misses_late] = [&[][..], &late].map(|set| cycles("polybench/gemm", &[], set));
    // 64 dependent misses in `b`; every eighth round also misses in `a`.
    assert!(misses + 64 * 12 < misses_late, "{misses} and {misses_late} cycles of 64 rounds");
}

/// Nine loads of a thread want three lines: those that wait for a line get it in a cycle, not sector by sector.
#[test]
fn loads_that_wait_for_the_same_line_get_it_together() {
    let [line, sector] = ["4", "1"].map(|answers| cycles("polybench/2DConvolution", &[("n", "512")], &[("gpu.sm.l1.answers", answers)]));
    assert!(line * 11 < sector * 10, "{line} cycles by lines, {sector} by sectors");
}

/// Two sectors a cycle come back to an SM that waits for memory, and the sectors of a line are asked for at once.
#[test]
fn an_sm_reads_two_sectors_of_memory_in_a_cycle() {
    let with = |overrides: &[(&str, &str)]| cycles("micro/mem_bw", &[], overrides);
    let [both, one_fill, one_request] = [&[][..], &[("gpu.sm.l1.fills", "1")], &[("gpu.sm.l1.line_requests", "false")]].map(with);
    assert!(both * 5 < one_fill * 4, "{both} cycles with two fills in a cycle, {one_fill} with one");
    assert!(both * 5 < one_request * 4, "{both} cycles with requests of lines, {one_request} sector by sector");
}

/// Stores of warps to parts of a sector that meet behind the L1 are one write of the LLC.
#[test]
fn stores_that_meet_are_one_write() {
    let [meet, apart] = ["8", "0"].map(|lines| cycles("rodinia/lavaMDinMemory", &[("ny", "1")], &[("gpu.sm.lsu.combined_stores", lines)]));
    assert!(meet * 6 < apart * 5, "{meet} cycles where they meet, {apart} where each goes on");
}

/// A slice reads and merges a sector of which a part is written.
#[test]
fn parts_of_sectors_take_a_slice_longer_than_whole_ones() {
    let write = |launch, cycles| cycles_of(launch, "sdk/transpose", &[("n", "512")], &[("mem.llc.merge_cycles", cycles)]);
    let [parts, alike] = ["2", "0"].map(|cycles| write(2, cycles));
    assert!(parts * 5 > alike * 6, "{parts} cycles of stores of four bytes, {alike} where a part takes no longer");
    let [whole, alike] = ["2", "0"].map(|cycles| write(1, cycles));
    assert_eq!(whole, alike, "cycles of stores of whole sectors");
}

/// Lines that lie 2 KiB apart are spread over the sets of the L1, and stay there until they are read again.
#[test]
fn lines_at_a_stride_of_2_kib_do_not_meet_in_a_set() {
    let sizes = [("rows", "502"), ("columns", "458"), ("iterations", "1")];
    let [linear, hashed] = ["linear", "ipoly"].map(|index| {
        let index = format!("\"{index}\"");
        cycles_of(3, "rodinia/srad_v1", &sizes, &[("gpu.sm.l1.cache.index", &index)])
    });
    assert!(hashed * 3 < linear * 2, "{hashed} cycles, {linear} with sets by the low bits");
}

/// What SMs at the other half of the LLC read takes longer the first time, and no longer after that.
#[test]
fn the_other_half_of_the_llc_is_further_away_once() {
    let one = [("mem.halves.latency", "0")];
    let ring = [("entries", "4096"), ("steps", "4103")];
    let [two, whole] = [&[][..], &one].map(|set| cycles("micro/l2_lat", &ring, set));
    assert!(two.abs_diff(whole) * 50 < whole, "{two} cycles of 4,103 hits in the LLC, {whole} where it is one");
    let [two, whole] = [&[][..], &one].map(|set| cycles("polybench/gemm", &[], set));
    assert!(two > whole, "{two} cycles, {whole} where the LLC is one");
}
