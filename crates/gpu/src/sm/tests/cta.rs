//! Tests of CTAs: residency, barriers, drain, limits.

use super::*;
use crate::sm::SmDecision;
use crate::test_machine::{kernel_info, test_machine};

fn is_start_notice(payload: &Payload) -> bool {
    matches!(payload, Payload::CtaStarted(_))
}

fn is_end_notice(payload: &Payload) -> bool {
    matches!(payload, Payload::CtaDone(_))
}

fn ffma_program(warps: usize, count: usize) -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(warps);
    for _ in 0..count {
        program.add_to_all(register_inst(OpClass::Sp, 1, &[1]));
    }
    program.build_with_exit()
}

#[test]
fn one_cta_starts_per_cycle_while_resources_last() {
    let mut info = kernel_info(512, 8);
    info.registers = 32;
    let mut bench = Bench::new(&test_machine(), vec![(info, ffma_program(16, 10))]);
    for cta in 0..6 {
        bench.bind(0, cta);
    }
    bench.finish();
    let starts = bench.notices(is_start_notice);
    assert_eq!(starts[..4], [0, 1, 2, 3]);
    assert_eq!(bench.notices(is_end_notice).len(), 6);
    assert_eq!(bench.stats().kernels[0].ctas, 6);
}

#[test]
fn a_bound_cta_starts_in_the_cycle_in_which_another_ends() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(1024, 3), ffma_program(32, 10))]);
    for cta in 0..3 {
        bench.bind(0, cta);
    }
    bench.finish();
    assert_eq!(bench.notices(is_start_notice)[2], bench.notices(is_end_notice)[0]);
}

#[test]
fn a_barrier_opens_when_the_last_running_warp_arrives() {
    let barrier = register_inst(OpClass::Barrier, NO_REGISTER, &[]);
    let mut program = ProgramBuilder::new(3);
    program.add_to_warp(0, barrier, LaneMask::FULL).add_to_warp(0, register_inst(OpClass::Sp, 9, &[]), LaneMask::FULL);
    for _ in 0..20 {
        program.add_to_warp(1, register_inst(OpClass::Sp, 1, &[1]), LaneMask::FULL);
    }
    program.add_to_warp(1, barrier, LaneMask::FULL);
    // Warp 2 exits without a barrier, and the barrier does not wait for it.
    let mut bench = Bench::with_single_cta(&test_machine(), 96, program.build_with_exit());
    let issues = bench.issue_cycles();
    // Warp 1 arrives one cycle after the last of its 20 dependent instructions, which issue 7 cycles apart.
    let arrival = issues[0] + 19 * 7 + 1;
    assert!(issues.iter().filter(|at| **at > arrival + 2).count() <= 1, "{issues:?}");
    assert_eq!(bench.kernel().barrier_instructions, 2);
    assert!(issues.contains(&(arrival + 1)) || issues.iter().filter(|at| **at == arrival).count() == 2, "{issues:?}");
}

#[test]
fn an_exit_opens_a_barrier_that_waited_for_it() {
    let mut program = ProgramBuilder::new(2);
    program.add_to_warp(0, register_inst(OpClass::Barrier, NO_REGISTER, &[]), LaneMask::FULL);
    for _ in 0..10 {
        program.add_to_warp(1, register_inst(OpClass::Sp, 1, &[1]), LaneMask::FULL);
    }
    let mut bench = Bench::with_single_cta(&test_machine(), 64, program.build_with_exit());
    bench.finish();
    assert_eq!(bench.kernel().warp_instructions, 13);
}

#[test]
fn an_exit_of_some_lanes_does_not_end_the_others() {
    let mut program = ProgramBuilder::new(1);
    program.add_to_warp(0, register_inst(OpClass::Exit, NO_REGISTER, &[]), LaneMask(0xffff));
    program.add_to_warp(0, register_inst(OpClass::Sp, 1, &[]), LaneMask(0xffff_0000));
    program.add_to_warp(0, register_inst(OpClass::Exit, NO_REGISTER, &[]), LaneMask(0xffff_0000));
    let mut bench = Bench::with_single_cta(&test_machine(), 32, program.finish());
    bench.finish();
    assert_eq!(bench.kernel().warp_instructions, 3);
    assert_eq!(bench.notices(is_end_notice).len(), 1);
}

#[test]
fn a_warp_without_instructions_ends_at_once() {
    let mut program = ProgramBuilder::new(2);
    program.add_to_warp(0, register_inst(OpClass::Exit, NO_REGISTER, &[]), LaneMask::FULL);
    let mut bench = Bench::with_single_cta(&test_machine(), 64, program.finish());
    bench.finish();
    assert_eq!(bench.notices(is_end_notice).len(), 1);
}

#[test]
fn a_cta_without_instructions_starts_and_ends_in_one_cycle_or_two() {
    let mut bench = Bench::with_single_cta(&test_machine(), 64, ProgramBuilder::new(2).finish());
    bench.finish();
    assert_eq!((bench.notices(is_start_notice), bench.notices(is_end_notice)), (vec![0], vec![1]));
}

#[test]
fn the_cta_limit_holds_at_the_start_of_ctas() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(64, 4), ffma_program(2, 30))]);
    bench.sm.apply(Cycle(0), &SmDecision::CtaLimit(2));
    for cta in 0..4 {
        bench.bind(0, cta);
    }
    bench.run(50);
    assert_eq!(bench.sm.resident_ctas(), 2);
    bench.sm.apply(bench.now, &SmDecision::CtaLimit(3));
    bench.run(5);
    assert_eq!(bench.sm.resident_ctas(), 3);
    bench.finish();
    assert_eq!(bench.notices(is_end_notice).len(), 4);
}

#[test]
fn the_warp_limit_lets_only_the_oldest_issue() {
    let mut bench = Bench::with_single_cta(&test_machine(), 256, ffma_program(8, 20));
    bench.sm.apply(Cycle(0), &SmDecision::WarpLimit(2));
    bench.run(100);
    let stalls = bench.sm.stats().all_stalls();
    assert!(stalls[crate::sm::StallReason::Throttled as usize] > 150, "schedulers 2 and 3 have no warp that may issue");
    bench.finish();
    assert_eq!(bench.kernel().warp_instructions, 8 * 21);
}

#[test]
fn a_warp_at_a_barrier_frees_its_position_under_the_limit() {
    let mut program = ProgramBuilder::new(8);
    program
        .add_to_all(register_inst(OpClass::Sp, 1, &[1]))
        .add_to_all(register_inst(OpClass::Barrier, NO_REGISTER, &[]))
        .add_to_all(register_inst(OpClass::Sp, 1, &[1]));
    let program = program.build_with_exit();
    for (limit, skipping) in [(1, false), (2, false), (2, true), (7, true)] {
        let bench = Bench::with_single_cta(&test_machine(), 256, Arc::clone(&program));
        let mut bench = if skipping { bench.with_skipping() } else { bench };
        bench.sm.apply(Cycle(0), &SmDecision::WarpLimit(limit));
        bench.finish();
        assert_eq!(bench.kernel().warp_instructions, 8 * 4, "a limit of {limit}");
    }
}

#[test]
fn kernels_share_an_sm_if_the_grid_scheduler_binds_them_to_it() {
    let mut bench =
        Bench::new(&test_machine(), vec![(kernel_info(96, 2), ffma_program(3, 30)), (kernel_info(256, 2), ffma_program(8, 30))]);
    bench.bind(0, 0);
    bench.bind(1, 0);
    bench.bind(0, 1);
    bench.run(20);
    assert_eq!(bench.sm.resident_ctas(), 3);
    bench.finish();
    assert_eq!([bench.stats().kernels[0].ctas, bench.stats().kernels[1].ctas], [2, 1]);
    assert_eq!(bench.stats().kernels[1].warp_instructions, 8 * 31);
}

#[test]
fn the_deadlock_report_describes_ctas_and_warps() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, memory_inst(MemKind::Load, MemSpace::Global, 5, &[]), LaneMask(1), &[0x1000]);
    program.add_to_all(register_inst(OpClass::Sp, 6, &[5]));
    let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit()).with_skipping();
    bench.latency = 1000;
    bench.run(500);
    let lines = bench.sm.waiting();
    assert!(lines.iter().any(|line| line.contains("warp 0 waits for one of the registers R5 since cycle 2")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("1 outstanding misses")), "{lines:#?}");
}
