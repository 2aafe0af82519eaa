//! Tests of CTAs whose loads bypass the L1: selection of the CTAs, and the affected accesses.

use warpshard_protocol::Preemption;

use super::preempt::RebindingGrid;
use super::*;
use crate::sm::SmDecision;
use crate::test_machine::{kernel_info, test_machine};

/// Number of loads of a CTA.
const LOADS_PER_CTA: u64 = 8;

/// Returns a program of one warp that loads a line `LOADS_PER_CTA` times, each time after the previous load, stores to another line, loads from
/// local memory and executes an atomic.
fn load_program() -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(1);
    for _ in 0..LOADS_PER_CTA {
        program.add_access(0, memory_inst(MemKind::Load, MemSpace::Global, 1, &[1]), LaneMask(1), &[0x10000]);
    }
    program.add_access(0, memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[1]), LaneMask(1), &[0x20000]);
    program.add_access(0, memory_inst(MemKind::Load, MemSpace::Local, 2, &[1]), LaneMask(1), &[0x40]);
    program.build_with_exit()
}

/// Runs CTAs of two kernels, four at a time; `wanted` has the number of CTAs of each kernel that are to bypass the L1.
fn run(wanted: &[(u32, u32)]) -> SmStats {
    let kernels = vec![(kernel_info(32, 6), load_program()), (kernel_info(32, 6), load_program())];
    let mut bench = Bench::new(&test_machine(), kernels);
    bench.sm.apply(Cycle(0), &SmDecision::CtaLimit(4));
    for &(kernel, ctas) in wanted {
        bench.sm.apply(Cycle(0), &SmDecision::Bypass { kernel: KernelIndex(kernel), ctas });
    }
    (0..6).for_each(|cta| (0..2).for_each(|kernel| bench.bind(kernel, cta)));
    bench.finish();
    bench.stats().clone()
}

fn l1_reads(kernel: &KernelCounters) -> u64 {
    kernel.l1_read_hits + kernel.l1_read_pending_hits + kernel.l1_read_misses + kernel.l1_read_sector_misses
}

fn l1_writes(kernel: &KernelCounters) -> u64 {
    kernel.l1_write_hits + kernel.l1_write_pending_hits + kernel.l1_write_misses + kernel.l1_write_sector_misses
}

#[test]
fn the_bypass_limit_applies_to_resident_ctas_and_global_loads() {
    let none = run(&[]);
    assert_eq!((none.kernels[0].ctas_bypassing, none.kernels[0].l1_bypasses), (0, 0));
    let all = run(&[(0, 8)]);
    assert_eq!((all.kernels[0].ctas_bypassing, all.kernels[0].l1_bypasses, all.kernels[1].l1_bypasses), (6, 6 * LOADS_PER_CTA, 0));
    assert_eq!((l1_reads(&all.kernels[0]), l1_writes(&all.kernels[0])), (6, 6), "local loads and stores still go to the L1");
    let one = run(&[(0, 1)]);
    let tagged = one.kernels[0].ctas_bypassing;
    assert!((2..6).contains(&tagged), "one CTA at a time bypasses the L1: {tagged}");
    assert_eq!(one.kernels[0].l1_bypasses, tagged * LOADS_PER_CTA);
}

#[test]
fn every_access_either_uses_or_bypasses_the_l1() {
    for wanted in [&[][..], &[(0, 1)], &[(0, 2), (1, 1)], &[(0, 8), (1, 8)]] {
        for kernel in run(wanted).kernels.iter() {
            assert_eq!(l1_reads(&kernel) + l1_writes(&kernel) + kernel.l1_bypasses, kernel.memory_accesses, "{wanted:?}");
            assert_eq!((kernel.ctas_begun, kernel.ctas), (6, 6));
        }
    }
}

#[test]
fn a_new_bypass_limit_applies_to_ctas_that_start_later() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(32, 4), load_program())]);
    bench.sm.apply(Cycle(0), &SmDecision::Bypass { kernel: KernelIndex(0), ctas: 1 });
    (0..2).for_each(|cta| bench.bind(0, cta));
    bench.run(20);
    bench.sm.settle(bench.now);
    bench.sm.apply(bench.now, &SmDecision::Bypass { kernel: KernelIndex(0), ctas: 0 });
    (2..4).for_each(|cta| bench.bind(0, cta));
    bench.finish();
    let kernel = bench.kernel();
    assert_eq!((kernel.ctas_bypassing, kernel.l1_bypasses), (1, LOADS_PER_CTA), "the first CTA still bypasses the L1");
}

#[test]
fn a_resumed_cta_is_tagged_again() {
    for (before, after) in [(1, 0), (0, 1)] {
        let mut bench = Bench::new(&test_machine(), vec![(kernel_info(32, 1), load_program())]);
        bench.latency = 60;
        bench.sm.apply(Cycle(0), &SmDecision::Bypass { kernel: KernelIndex(0), ctas: before });
        bench.bind(0, 0);
        for _ in 0..2 {
            bench.run(60);
        }
        bench.sm.settle(bench.now);
        let passed = bench.kernel().l1_bypasses;
        assert_eq!(passed > 0, before > 0);
        bench.sm.apply(bench.now, &SmDecision::Bypass { kernel: KernelIndex(0), ctas: after });
        bench.sm.apply(bench.now, &SmDecision::Preempt(Preemption::Switch));
        let mut grid = RebindingGrid::default();
        while bench.sm.resident_ctas() > 0 || bench.sm.next_event() < Cycle::NEVER || !bench.incoming.is_empty() {
            assert!(bench.now < Cycle(1_000_000), "no end: {:#?}", bench.sm.waiting());
            bench.run(60);
            grid.rebind(&mut bench);
        }
        bench.sm.settle(bench.now);
        assert_eq!(bench.stats().sm.ctas_switched, 1);
        let past = bench.kernel().l1_bypasses;
        assert!(past > 0 && past < LOADS_PER_CTA, "{before} before, {after} after: {past}");
        assert_eq!(bench.kernel().ctas_bypassing, 1);
    }
}
