//! Tests of spans in which stages can only retry: skipping these spans gives the same counts as stepping every cycle.

use warpshard_config::machine::Cache;

use super::*;
use crate::sm::SmCounters;
use crate::test_machine::test_machine;

/// A way to block an SM, and the counter of the blocked cycles or attempts.
struct BlockedCase {
    name: &'static str,
    machine: Machine,
    program: ProgramBuilder,
    counter: fn(&SmCounters) -> u64,
}

fn with_cache(change: impl FnOnce(&mut Cache)) -> Machine {
    let mut machine = test_machine();
    machine.gpu.sm.l1.unified = None;
    change(machine.gpu.sm.l1.cache.as_mut().unwrap());
    machine
}

fn with_credits(credits: u32) -> Machine {
    let mut machine = test_machine();
    machine.noc.input_queue = credits;
    machine
}

/// Returns a program of four warps that load 32 sectors each, `stride` bytes apart, and then use them.
fn load_program(space: MemSpace, cache: CachePolicy, stride: u64) -> ProgramBuilder {
    let mut program = ProgramBuilder::new(4);
    let mut load = memory_inst(MemKind::Load, space, 1, &[]);
    load.mem = load.mem.map(|mem| MemInst { cache, ..mem });
    for warp in 0..4 {
        program.add_access(warp, load, LaneMask::FULL, &lane_addresses(0x10_0000 + 0x1_0000 * warp as u64, stride));
    }
    program.add_to_all(register_inst(OpClass::Sp, 2, &[1]));
    program
}

fn blocked_cases() -> Vec<BlockedCase> {
    let global = |stride| load_program(MemSpace::Global, CachePolicy::All, stride);
    vec![
        BlockedCase { name: "no credit", machine: with_credits(2), program: global(128), counter: |c| c.network_full_cycles },
        BlockedCase {
            name: "no credit past the L1",
            machine: with_credits(2),
            program: load_program(MemSpace::Global, CachePolicy::Global, 128),
            counter: |c| c.network_full_cycles,
        },
        BlockedCase { name: "no MSHR", machine: with_cache(|cache| cache.mshrs = 4), program: global(32), counter: |c| c.l1_retries_mshr },
        BlockedCase { name: "no line", machine: with_cache(|cache| cache.ways = 1), program: global(128), counter: |c| c.l1_retries_line },
        BlockedCase {
            name: "a full bank",
            machine: with_cache(|cache| cache.mshrs = 2),
            program: global(128),
            counter: |c| c.l1_bank_conflicts,
        },
        BlockedCase {
            name: "conflicts",
            machine: test_machine(),
            program: load_program(MemSpace::Shared, CachePolicy::All, 128),
            counter: |c| c.memory_stall_cycles,
        },
    ]
}

/// Runs in epochs of `epoch` cycles to a fixed end; returns the visible results, and the cycles without work while a CTA was resident.
fn epoch_outcome(machine: &Machine, program: &Arc<CtaProgram>, skip: bool, epoch: u64) -> (Vec<(Cycle, Payload)>, SmStats, u64) {
    let mut bench = Bench::with_single_cta(machine, 128, Arc::clone(program));
    bench.latency = 40;
    if skip {
        bench = bench.with_skipping();
    }
    let mut passed = 0;
    while bench.now < Cycle(8000) {
        let idle = bench.sm.next_event().min(bench.now.after(epoch)).0 - bench.now.0;
        passed += if bench.sm.resident_ctas() > 0 { idle } else { 0 };
        bench.run(epoch);
    }
    assert_eq!(bench.sm.resident_ctas(), 0);
    bench.sm.settle(bench.now);
    (bench.sent.clone(), bench.stats().clone(), passed)
}

#[test]
fn a_blocked_span_counts_what_its_cycles_count() {
    for BlockedCase { name, machine, program, counter } in blocked_cases() {
        let program = program.build_with_exit();
        let stepped = epoch_outcome(&machine, &program, false, 1);
        let skipped = epoch_outcome(&machine, &program, true, 1);
        assert!(counter(&stepped.1.sm) > 100, "{name}: {:?}", stepped.1.sm);
        assert_eq!(stepped.0, skipped.0, "{name}");
        assert_eq!(stepped.1, skipped.1, "{name}");
    }
}

#[test]
fn most_blocked_cycles_are_skipped() {
    for BlockedCase { name, machine, program, .. } in blocked_cases() {
        let (_, stats, passed) = epoch_outcome(&machine, &program.build_with_exit(), true, 1);
        assert!(passed * 2 > stats.sm.active_cycles, "{name}: {passed} of {} cycles", stats.sm.active_cycles);
    }
}

#[test]
fn a_span_can_be_counted_in_pieces() {
    for BlockedCase { name, machine, program, .. } in blocked_cases() {
        let program = program.build_with_exit();
        let mut whole = Bench::with_single_cta(&machine, 128, Arc::clone(&program)).with_skipping();
        let mut pieces = Bench::with_single_cta(&machine, 128, program).with_skipping();
        for _ in 0..1600 {
            whole.run(5);
            pieces.run(5);
            pieces.sm.settle(pieces.now);
        }
        whole.sm.settle(whole.now);
        assert_eq!(whole.stats(), pieces.stats(), "{name}");
    }
}

#[test]
fn a_cycle_is_stalled_for_the_core_when_no_scheduler_issues_and_some_wait() {
    use super::super::stall::StallReason;
    let stalls = |stats: &SmStats| {
        let busy = [StallReason::Issued, StallReason::Throttled, StallReason::InstructionBufferEmpty, StallReason::NoWarps];
        let all = stats.all_stalls();
        StallReason::ALL.iter().filter(|reason| !busy.contains(reason)).map(|reason| all[*reason as usize]).sum::<u64>()
    };
    let seen = |warps: usize, loads: usize| {
        let mut program = ProgramBuilder::new(warps);
        for warp in 0..loads {
            program.add_access(warp, memory_inst(MemKind::Load, MemSpace::Global, 1, &[]), LaneMask(1), &[0x10_0000]);
            program.add_to_warp(warp, register_inst(OpClass::Sp, 2, &[1]), LaneMask::FULL);
        }
        for warp in loads..warps {
            (0..200).for_each(|i| {
                program.add_to_warp(warp, register_inst(OpClass::Sp, 8 + i % 32, &[3]), LaneMask::FULL);
            });
        }
        epoch_outcome(&test_machine(), &program.build_with_exit(), true, 1).1
    };
    let alone = seen(1, 1);
    assert!(alone.sm.stalled_core_cycles > 50, "{:?}", alone.sm);
    assert_eq!(alone.sm.stalled_core_cycles, stalls(&alone), "one scheduler has a warp: the core is stalled if this scheduler is");
    let beside = seen(2, 1);
    assert!(
        beside.sm.stalled_core_cycles + 50 < alone.sm.stalled_core_cycles.max(stalls(&beside)),
        "another scheduler issues in the meantime: {} of {} stalled scheduler cycles",
        beside.sm.stalled_core_cycles,
        stalls(&beside)
    );
}
