//! Tests of CCWS in an SM: lost locality, and the warps whose loads are held back.

use warpshard_config::machine::{Allocate, Ccws};

use super::*;
use crate::sm::CcwsCounters;
use crate::test_machine::test_machine;

/// Returns a machine with an L1 of one line, which every read of another line evicts.
fn one_line(allocate: Allocate, k_throttle: u32) -> Machine {
    let mut machine = test_machine();
    let sm = &mut machine.gpu.sm;
    sm.ccws = Some(Ccws { victim_tags: 4, victim_ways: 2, base_score: 100, k_throttle });
    sm.l1.unified = None;
    if let Some(cache) = &mut sm.l1.cache {
        (cache.sets, cache.ways, cache.allocate) = (1, 1, allocate);
        cache.write_miss = warpshard_config::machine::WriteMiss::NoAllocate;
    }
    machine
}

/// Returns a program of two warps that read one line each, and read it again after the data arrives, `times` times in all.
fn reader_program(times: u16) -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(2);
    for warp in 0..2 {
        for time in 0..times {
            let source = if time == 0 { vec![] } else { vec![time] };
            let load = memory_inst(MemKind::Load, MemSpace::Global, time + 1, &source);
            program.add_access(warp, load, LaneMask(1), &[0x1_0000 + 0x1000 * warp as u64]);
        }
    }
    program.build_with_exit()
}

fn ccws_outcome(machine: &Machine, program: Arc<CtaProgram>) -> (CcwsCounters, u64) {
    let mut bench = Bench::with_single_cta(machine, 64, program).with_skipping();
    let end = bench.finish();
    (bench.ccws().unwrap(), end)
}

#[test]
fn a_line_lost_to_another_warp_and_read_again_is_lost_locality() {
    // The first reads lose nothing. Each further read finds that the line of the other warp replaced its line. If lines are evicted when
    // data arrives, both first reads are outstanding together, and the line that arrived last is still present.
    for (allocate, hits) in [(Allocate::OnMiss, 2), (Allocate::OnFill, 1)] {
        let (counters, _) = ccws_outcome(&one_line(allocate, 1), reader_program(2));
        assert_eq!(counters.ccws_victim_hits, hits, "{allocate:?}");
    }
}

#[test]
fn a_single_warp_whose_lines_fit_loses_no_locality() {
    let mut program = ProgramBuilder::new(1);
    for _ in 0..4 {
        program.add_access(0, memory_inst(MemKind::Load, MemSpace::Global, 1, &[1]), LaneMask(1), &[0x1_0000]);
    }
    let mut bench = Bench::with_single_cta(&one_line(Allocate::OnMiss, 1000), 32, program.build_with_exit());
    bench.finish();
    assert_eq!(bench.ccws().unwrap(), CcwsCounters::default());
}

#[test]
fn a_store_and_a_line_that_was_only_invalidated_are_no_lost_locality() {
    let mut program = ProgramBuilder::new(1);
    let load = memory_inst(MemKind::Load, MemSpace::Global, 1, &[1]);
    program.add_access(0, load, LaneMask(1), &[0x1_0000]);
    // The fence invalidates the L1.
    program.add_to_warp(0, register_inst(OpClass::Fence, NO_REGISTER, &[]), LaneMask::FULL);
    program.add_access(0, load, LaneMask(1), &[0x1_0000]);
    program.add_access(0, memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[1]), LaneMask(1), &[0x2_0000]);
    let mut bench = Bench::with_single_cta(&one_line(Allocate::OnMiss, 1000), 32, program.build_with_exit());
    bench.finish();
    assert!(bench.stats().sm.l1_flushes > 0);
    assert_eq!(bench.ccws().unwrap().ccws_victim_hits, 0);
}

#[test]
fn a_warp_with_lost_locality_loads_alone_until_its_score_falls() {
    // With a factor of 1, two warps that issued three instructions or more cannot reach the cutoff with their first hit: 1 x 1 x 200 / 3 is
    // below the base score. With 1000, the first warp that loses its line gets exclusive use of the L1.
    let (free, _) = ccws_outcome(&one_line(Allocate::OnMiss, 1), reader_program(12));
    let (held, _) = ccws_outcome(&one_line(Allocate::OnMiss, 1000), reader_program(12));
    assert_eq!(free.ccws_victim_hits, 22, "each warp evicts the line of the other every time");
    assert!(held.ccws_victim_hits < 8, "{held:?}");
    assert!(held.ccws_held_load_cycles > 200 && held.ccws_held_load_cycles <= held.ccws_throttled_cycles, "{held:?}");
    assert_eq!(held.ccws_throttled_warp_cycles, held.ccws_throttled_cycles, "one of two warps is held");
}

#[test]
fn other_instructions_of_a_held_warp_issue() {
    // Warp 1 reads first, and reads again when the line of warp 0 has replaced its line. Then warp 1 has exclusive use of the L1, and warp
    // 0 computes before its next read has to wait.
    let mut program = ProgramBuilder::new(2);
    for warp in 0..2 {
        for time in 0..6 {
            program.add_access(
                warp,
                memory_inst(MemKind::Load, MemSpace::Global, 1, &[1]),
                LaneMask(1),
                &[0x1_0000 + 0x1000 * warp as u64],
            );
            if warp == 0 && time == 0 {
                (0..50).for_each(|_| {
                    program.add_to_warp(0, register_inst(OpClass::Sp, 2, &[2]), LaneMask::FULL);
                });
            }
        }
    }
    let mut bench = Bench::with_single_cta(&one_line(Allocate::OnMiss, 1000), 64, program.build_with_exit());
    bench.finish();
    let counters = bench.ccws().unwrap();
    assert!(counters.ccws_held_load_cycles < counters.ccws_throttled_cycles, "{counters:?}");
}
