//! Tests of the effects of replacement policies and prefetchers of the L1 on whole programs.

use warpshard_config::machine::{Prefetch, Replacement};

use warpshard_seam::Identity;

use super::*;
use crate::test_machine::test_machine;

/// Returns a machine with an L1 of one set of 16 ways.
fn machine_with_small_l1(replacement: Replacement) -> Machine {
    let mut machine = test_machine();
    let l1 = &mut machine.gpu.sm.l1;
    l1.unified = None;
    if let Some(cache) = &mut l1.cache {
        (cache.sets, cache.ways, cache.replacement) = (1, 16, replacement);
    }
    machine
}

/// Returns a machine whose L1 prefetches.
fn prefetching_machine(prefetch: Prefetch, distance: u32) -> Machine {
    let mut machine = test_machine();
    (machine.gpu.sm.l1.prefetch, machine.gpu.sm.l1.prefetch_distance) = (prefetch, distance);
    machine
}

/// Returns a bench with loads of one warp, each of which waits for the one before it.
fn run_load_chain(machine: &Machine, addresses: impl IntoIterator<Item = u64>) -> Bench {
    let mut program = ProgramBuilder::new(1);
    for address in addresses {
        program.add_access(0, memory_inst(MemKind::Load, MemSpace::Global, 1, &[1]), LaneMask(1), &[address]);
    }
    Bench::with_single_cta(machine, 32, program.build_with_exit())
}

#[test]
fn a_scan_takes_the_reused_lines_from_lru_and_not_from_srrip() {
    let rounds = || {
        (0..12u64).flat_map(|round| {
            let reused = (0..8).chain(0..8).map(|line| 0x10000 + line * 128);
            reused.chain((0..16).map(move |line| 0x100_0000 + (round * 16 + line) * 128))
        })
    };
    let run = |replacement| {
        let mut bench = run_load_chain(&machine_with_small_l1(replacement), rounds());
        let end = bench.finish();
        (bench.kernel().l1_read_hits, end)
    };
    let (lru, srrip) = (run(Replacement::Lru), run(Replacement::Srrip));
    assert_eq!(lru.0, 12 * 8, "under LRU only the second read of a round hits");
    assert!(srrip.0 >= lru.0 + 10 * 8, "{} hits, {} under LRU", srrip.0, lru.0);
    assert!(srrip.1 < lru.1, "{} cycles, {} under LRU", srrip.1, lru.1);
}

/// Returns the demand misses, the last cycle, and the counters of the prefetcher.
fn run(machine: &Machine, addresses: impl IntoIterator<Item = u64>) -> (u64, u64, Option<PrefetchCounters>) {
    let mut bench = run_load_chain(machine, addresses);
    let end = bench.finish();
    let kernel = bench.kernel();
    (kernel.l1_read_misses + kernel.l1_read_sector_misses, end, bench.prefetches())
}

#[test]
fn the_next_line_is_there_when_a_stream_comes_to_it() {
    let stream = || (0..64u64).map(|line| 0x10000 + line * 128);
    let (misses, end, none) = run(&test_machine(), stream());
    assert!(misses == 64 && none.is_none(), "without a prefetcher nothing is counted");
    let (fewer, earlier, counters) = run(&prefetching_machine(Prefetch::NextLine, 1), stream());
    let counters = counters.expect("there is a prefetcher");
    assert_eq!(fewer, 1, "only the first line misses");
    assert!(earlier < end - 20 * 64, "{earlier} cycles, {end} without");
    assert_eq!((counters.prefetches_issued, counters.prefetches_useful + counters.prefetches_late), (64, 63));
    assert!(counters.prefetches_late > 20, "a prefetch of one line ahead after a hit is late");
    let (_, earliest, counters) = run(&prefetching_machine(Prefetch::NextLine, 8), stream());
    assert!(earliest < earlier, "{earliest} cycles at a distance of eight, {earlier} at one");
    assert!(counters.is_some_and(|counters| counters.prefetches_useful >= 48 && counters.prefetches_late <= 8));
}

#[test]
fn reads_carry_the_signature_of_their_instruction_and_warp() {
    let mut program = ProgramBuilder::new(2);
    for (warp, address) in [(0, 0x1000), (1, 0x2000)] {
        program.add_access(warp, memory_inst(MemKind::Load, MemSpace::Global, 1, &[1]), LaneMask(1), &[address]);
        program.add_access(warp, memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[1]), LaneMask(1), &[address + 0x800]);
    }
    let mut bench = Bench::with_single_cta(&test_machine(), 64, program.build_with_exit());
    bench.finish();
    let mut sent: Vec<_> = bench.requests().iter().map(|(_, packet)| (packet.addr.0, packet.bytes)).collect();
    sent.sort_unstable();
    let read = |instruction, warp| Identity::signature(instruction, warp);
    assert_eq!(sent, [(0x1000, read(0, 0)), (0x1800, 0xf), (0x2000, read(0, 1)), (0x2800, 0xf)], "the bytes are also written");
}

#[test]
fn a_stride_is_followed_where_the_next_line_is_of_no_use() {
    let strided = || (0..40u64).map(|step| 0x10000 + step * 4096);
    let (misses, end, _) = run(&prefetching_machine(Prefetch::NextLine, 1), strided());
    assert_eq!(misses, 40);
    let (fewer, earlier, counters) = run(&prefetching_machine(Prefetch::Stride, 4), strided());
    assert!(fewer < 10 && earlier < end, "{fewer} misses and {earlier} cycles, {misses} and {end} with the next line");
    assert!(counters.is_some_and(|counters| counters.prefetches_useful + counters.prefetches_late >= 30));
}

#[test]
fn a_history_of_misses_brings_what_a_repeated_walk_comes_to_next() {
    // A walk over 96 lines in a fixed order without strides, four times, through an L1 of 16 lines.
    let walk = || (0..4 * 96u64).map(|step| 0x10000 + (step % 96 * 61 % 96 * 37 % 97) * 4096);
    let run = |prefetch, degree| {
        let mut machine = machine_with_small_l1(Replacement::Lru);
        let l1 = &mut machine.gpu.sm.l1;
        (l1.prefetch, l1.prefetch_distance, l1.prefetch_degree) = (prefetch, 1, degree);
        run(&machine, walk())
    };
    let (none, end, _) = run(Prefetch::None, 1);
    let (strided, _, _) = run(Prefetch::Stride, 1);
    let (misses, earlier, counters) = run(Prefetch::Ghb, 2);
    let counters = counters.expect("there is a prefetcher");
    assert!(none == 4 * 96 && strided > 3 * 96, "{none} and {strided} misses without a history");
    assert!(misses < 2 * 96, "{misses} misses with a history, {none} without");
    assert!(earlier * 5 < end * 4, "{earlier} cycles with a history, {end} without");
    assert!(counters.prefetches_useful > 96, "{counters:?}");
}

#[test]
fn prefetches_without_a_free_mshr_are_dropped_and_loads_go_on() {
    let mut machine = prefetching_machine(Prefetch::NextLine, 1);
    if let Some(cache) = &mut machine.gpu.sm.l1.cache {
        cache.mshrs = 1;
    }
    let (misses, _, counters) = run(&machine, (0..16u64).map(|line| 0x10000 + line * 128));
    assert_eq!(misses, 16);
    assert!(counters.is_some_and(|counters| counters.prefetches_issued == 0 && counters.prefetches_dropped == 16));
}

#[test]
fn prefetching_does_not_depend_on_which_cycles_are_simulated() {
    for (prefetch, distance) in [(Prefetch::Stride, 2), (Prefetch::Ghb, 1)] {
        let machine = prefetching_machine(prefetch, distance);
        let result = |skip: bool| {
            let bench = run_load_chain(&machine, (0..60u64).map(|step| 0x10000 + step % 40 * 160));
            let mut bench = if skip { bench.with_skipping() } else { bench };
            (bench.finish(), format!("{:?} {:?}", bench.stats(), bench.prefetches()))
        };
        assert_eq!(result(true), result(false));
    }
}
