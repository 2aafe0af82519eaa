//! Tests of programmatic dependent launches on an SM with control words: triggers, and warps that wait for the preceding launch.

use warpshard_stats::activity::WarpReason;
use warpshard_workload::{AsyncOp, Pipe};

use super::control::{alu_inst, control_machine, control_words};
use super::*;

fn async_inst(async_op: AsyncOp) -> StaticInst {
    StaticInst { control: Control { async_op, ..control_words(1, Pipe::Alu) }, ..register_inst(OpClass::Alu, NO_REGISTER, &[]) }
}

const FMA: Control = Control { stall: 1, pipe: Pipe::Fma, ..Control::NONE };

/// Returns a bench whose kernel executes `program`, with one CTA of two warps bound at cycle 0.
fn dependent_bench(machine: &Machine, program: ProgramBuilder, waits: bool, triggers: bool) -> Bench {
    let mut bench = Bench::new(machine, vec![(crate::test_machine::kernel_info(64, 1), program.build_with_exit())]);
    bind_dependent(&mut bench, 0, 0, waits, triggers);
    bench
}

fn bind_dependent(bench: &mut Bench, at: u64, cta: u32, waits: bool, triggers: bool) {
    let launch = CtaLaunch { waits, triggers, ..cta_launch(0, cta) };
    bench.sm.deliver(PORTS.from_grid, Cycle(at), &Payload::Launch(launch));
}

fn send_dependency_met(bench: &mut Bench, at: u64) {
    bench.sm.deliver(PORTS.from_grid, Cycle(at), &Payload::DependencyMet(KernelIndex(0)));
}

#[test]
fn a_cta_triggers_with_its_first_warp_and_only_if_awaited() {
    let program = || {
        let mut program = ProgramBuilder::new(2);
        let trigger = async_inst(AsyncOp::LaunchDependents);
        // No lane of warp 0 executes the first trigger; warp 1 is the first to execute a trigger with active lanes.
        program.add_to_warp(0, trigger, LaneMask(0));
        (0..40).for_each(|_| _ = program.add_to_warp(0, alu_inst(1, &[2], control_words(4, Pipe::Fma)), LaneMask::FULL));
        program.add_to_warp(0, trigger, LaneMask::FULL).add_to_warp(1, alu_inst(1, &[2], FMA), LaneMask::FULL).add_to_warp(
            1,
            trigger,
            LaneMask::FULL,
        );
        program
    };
    let mut awaited = dependent_bench(&control_machine(), program(), false, true);
    let issues = awaited.issue_cycles();
    let triggers: Vec<_> = awaited.sent.iter().filter(|(_, payload)| matches!(payload, Payload::CtaTriggered(_))).collect();
    let [(at, Payload::CtaTriggered(notice))] = triggers[..] else { panic!("{triggers:?}") };
    assert_eq!((notice.kernel, notice.cta, notice.sm), (KernelIndex(0), CtaIndex(0), SmId(0)));
    assert!(issues.contains(&at.0) && at.0 < issues[10], "the notice leaves with the instruction of warp 1: {at} of {issues:?}");
    let mut other = dependent_bench(&control_machine(), program(), false, false);
    assert_eq!(other.issue_cycles(), issues, "a trigger costs only its issue");
    assert!(other.notices(|payload| matches!(payload, Payload::CtaTriggered(_))).is_empty());
}

/// Returns a program of two warps that compute, wait and compute.
fn waiting() -> ProgramBuilder {
    let mut program = ProgramBuilder::new(2);
    program.add_to_all(alu_inst(1, &[2], FMA)).add_to_all(async_inst(AsyncOp::GridWait)).add_to_all(alu_inst(1, &[2], FMA));
    program
}

#[test]
fn warps_of_dependents_wait_until_their_dependency_is_met() {
    let mut free = dependent_bench(&control_machine(), waiting(), false, false);
    let free = free.issue_cycles();
    assert_eq!(free.len(), 8);
    let mut held = dependent_bench(&control_machine(), waiting(), true, false);
    send_dependency_met(&mut held, 500);
    let issues = held.issue_cycles();
    assert_eq!(issues[..2], free[..2], "instructions before the wait are not held back");
    assert_eq!(issues[2..4], [500, 500], "both warps issue in the cycle of the message: {issues:?}");
    assert_eq!(issues[7] - issues[2], free[7] - free[2]);
    held.sm.settle(held.now);
    let counts = held.reasons().unwrap();
    assert_eq!(counts.iter().sum::<u64>(), held.stats().sm.resident_warp_cycles);
    // Each warp is ready for the wait two cycles after its first instruction at the latest.
    let waited = counts[WarpReason::GridDependency as usize];
    assert!((2 * (500 - issues[1] - 2)..=2 * (500 - issues[0])).contains(&waited), "{waited} warp cycles, {issues:?}");
}

#[test]
fn a_warp_whose_dependency_was_met_before_does_not_wait() {
    let mut early = dependent_bench(&control_machine(), waiting(), true, false);
    send_dependency_met(&mut early, 1);
    assert_eq!(early.issue_cycles(), dependent_bench(&control_machine(), waiting(), false, false).issue_cycles());
    // The CTA is bound and has not started when the message arrives.
    let mut machine = control_machine();
    machine.gpu.sm.max_ctas = 1;
    let mut bench = dependent_bench(&machine, waiting(), true, false);
    bind_dependent(&mut bench, 0, 1, true, false);
    send_dependency_met(&mut bench, 300);
    let issues = bench.issue_cycles();
    assert_eq!((issues.len(), issues[2], bench.stats().sm.ctas_ended), (16, 300, 2));
}

#[test]
fn warps_whose_lanes_are_off_do_not_wait() {
    let mut program = ProgramBuilder::new(1);
    program.add_to_warp(0, async_inst(AsyncOp::GridWait), LaneMask(0));
    let mut bench = Bench::new(&control_machine(), vec![(crate::test_machine::kernel_info(32, 1), program.build_with_exit())]);
    bind_dependent(&mut bench, 0, 0, true, false);
    assert_eq!(bench.issue_cycles().len(), 2);
}

#[test]
fn the_l1_is_invalidated_after_the_grid_wait() {
    let mut machine = control_machine();
    machine.gpu.sm.l1.flush_at_kernel = true;
    let mut program = ProgramBuilder::new(1);
    let load = StaticInst {
        control: Control { counters: 0x70, ..control_words(2, Pipe::Alu) },
        ..memory_inst(MemKind::Load, MemSpace::Global, 1, &[2])
    };
    let after = StaticInst {
        control: Control { wait: 1, async_op: AsyncOp::GridWait, ..control_words(1, Pipe::Alu) },
        ..async_inst(AsyncOp::GridWait)
    };
    program.add_access(0, load, LaneMask::FULL, &lane_addresses(0x10_0000, 4));
    program.add_to_all(after);
    program.add_access(0, load, LaneMask::FULL, &lane_addresses(0x10_0000, 4));
    let program = program.build_with_exit();
    let requests = |waits| {
        let mut bench = Bench::new(&machine, vec![(crate::test_machine::kernel_info(32, 1), Arc::clone(&program))]);
        bind_dependent(&mut bench, 0, 0, waits, false);
        send_dependency_met(&mut bench, 1000);
        bench.issue_cycles();
        (bench.requests().len(), bench.stats().sm.l1_flushes)
    };
    let ((once, flushes), (twice, more)) = (requests(false), requests(true));
    assert_eq!((twice, more), (2 * once, flushes + 1));
}

#[test]
fn the_deadlock_report_names_the_grid_wait() {
    let mut bench = dependent_bench(&control_machine(), waiting(), true, false);
    bench.run(100);
    let lines = bench.sm.waiting().join("\n");
    assert!(lines.contains("waits for the end of the preceding launch"), "{lines}");
}

#[test]
fn grid_waits_do_not_depend_on_skipping_or_epochs() {
    let run = |skip: bool, cycles: u64| {
        let mut program = ProgramBuilder::new(2);
        let load = StaticInst {
            control: Control { counters: 0x70, ..control_words(2, Pipe::Alu) },
            ..memory_inst(MemKind::Load, MemSpace::Global, 1, &[2])
        };
        for warp in 0..2 {
            program.add_access(warp, load, LaneMask::FULL, &lane_addresses(0x10_0000, 128));
        }
        program.add_to_all(async_inst(AsyncOp::LaunchDependents)).add_to_all(async_inst(AsyncOp::GridWait));
        program.add_to_all(alu_inst(3, &[1], Control { wait: 1, ..control_words(1, Pipe::Fma) }));
        let mut bench = dependent_bench(&control_machine(), program, true, true);
        if skip {
            bench = bench.with_skipping();
        }
        bind_dependent(&mut bench, 7, 1, true, true);
        send_dependency_met(&mut bench, 730);
        while bench.now < Cycle(2000) {
            bench.run(cycles);
        }
        bench.sm.settle(bench.now);
        assert_eq!(bench.stats().sm.ctas_ended, 2);
        (bench.sent.clone(), bench.stats().clone(), bench.reasons())
    };
    let base = run(false, 1);
    for (skip, cycles) in [(true, 1), (true, 50), (false, 20), (true, 100)] {
        assert_eq!(run(skip, cycles), base, "skipping {skip}, epochs of {cycles}");
    }
}
