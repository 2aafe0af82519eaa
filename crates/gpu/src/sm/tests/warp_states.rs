//! Tests of warp states: they add up to the resident warps, do not depend on skipping, and name the conditions for which a kernel waits.

use warpshard_stats::Counters;

use super::*;
use crate::sm::WarpStateCounters;
use crate::test_machine::test_machine;

fn run_states(program: &Arc<CtaProgram>, skip: bool, epoch: u64) -> (WarpStateCounters, u64) {
    let mut machine = test_machine();
    machine.gpu.sm.warp_states = true;
    let mut bench = Bench::with_single_cta(&machine, 128, Arc::clone(program));
    bench.skip = skip;
    while !bench.is_done() {
        bench.run(epoch);
        bench.sm.settle(bench.now);
    }
    let counters = bench.sm.observers.warp_states.as_ref().unwrap().counters.clone();
    (counters, bench.stats().sm.resident_warp_cycles)
}

fn sum_of_states(counters: &WarpStateCounters) -> u64 {
    let mut sum = 0;
    counters.visit(&mut |_, value| sum += value);
    sum
}

/// Returns a program with a long chain of arithmetic on one register.
fn arithmetic_chain() -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(4);
    (0..50).for_each(|_| _ = program.add_to_all(register_inst(OpClass::Sp, 1, &[1])));
    program.build_with_exit()
}

/// Returns a program of loads from distant addresses, each used immediately.
fn pointer_chase() -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(4);
    for round in 0..10 {
        for warp in 0..4 {
            let base = 0x10_0000 + 0x1000 * (4 * round + warp as u64);
            program.add_access(warp, memory_inst(MemKind::Load, MemSpace::Global, 1, &[]), LaneMask::FULL, &lane_addresses(base, 4));
        }
        program.add_to_all(register_inst(OpClass::Sp, 2, &[1]));
    }
    program.build_with_exit()
}

#[test]
fn states_add_up_and_do_not_depend_on_epochs() {
    for program in [arithmetic_chain(), pointer_chase()] {
        let (stepped, resident) = run_states(&program, false, 1);
        assert_eq!(sum_of_states(&stepped), resident, "{stepped:?}");
        for epoch in [1, 7, 50] {
            assert_eq!(run_states(&program, true, epoch).0, stepped, "epochs of {epoch}");
        }
    }
}

#[test]
fn a_chain_waits_for_arithmetic_and_a_chase_for_memory() {
    let (chain, all) = run_states(&arithmetic_chain(), true, 50);
    assert!(2 * chain.warps_scoreboard_alu > all && chain.warps_scoreboard_memory == 0, "{chain:?}");
    let (chase, all) = run_states(&pointer_chase(), true, 50);
    assert!(2 * chase.warps_scoreboard_memory > all && chase.warps_scoreboard_alu < all / 10, "{chase:?}");
}
