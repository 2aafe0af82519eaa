//! Tests of fixed-latency instructions: dependent and independent chains, schedulers, banks, result buses, fetch.

use warpshard_config::machine::WarpOrder;

use super::*;
use crate::test_machine::test_machine;

/// Returns the gaps between consecutive issues.
fn issue_gaps(issues: &[u64]) -> Vec<u64> {
    issues.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn chain_issues(class: OpClass, src: &[u16], count: usize) -> Vec<u64> {
    let mut program = ProgramBuilder::new(1);
    for _ in 0..count {
        program.add_to_all(register_inst(class, 1, src));
    }
    Bench::with_single_cta(&test_machine(), 32, program.build_with_exit()).issue_cycles()
}

#[test]
fn a_dependent_ffma_issues_every_seven_cycles() {
    let issues = chain_issues(OpClass::Sp, &[1, 2, 3], 12);
    assert!(issue_gaps(&issues[..12]).iter().all(|gap| *gap == 7), "{issues:?}");
}

#[test]
fn a_dependent_imad_issues_every_seven_cycles() {
    let issues = chain_issues(OpClass::Int, &[1, 2, 3], 12);
    assert!(issue_gaps(&issues[..12]).iter().all(|gap| *gap == 7), "{issues:?}");
}

#[test]
fn the_first_instruction_issues_two_cycles_after_the_cta_starts() {
    // The warp starts at the end of cycle 0, is fetched and decoded in cycle 1, and issues in cycle 2.
    assert_eq!(chain_issues(OpClass::Sp, &[1, 2, 3], 1)[0], 2);
}

#[test]
fn special_functions_and_double_precision_take_their_latency() {
    assert!(issue_gaps(&chain_issues(OpClass::Sfu, &[1], 5)[..5]).iter().all(|gap| *gap == 25));
    assert!(issue_gaps(&chain_issues(OpClass::Dp, &[1, 2], 5)[..5]).iter().all(|gap| *gap == 13));
}

#[test]
fn an_instruction_without_sources_skips_the_cycle_of_reading() {
    let mut program = ProgramBuilder::new(1);
    for _ in 0..6 {
        program.add_to_all(register_inst(OpClass::Alu, 1, &[]));
    }
    let issues = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit()).issue_cycles();
    assert!(issue_gaps(&issues[..6]).iter().all(|gap| *gap == 6), "a write after a write also waits: {issues:?}");
}

#[test]
fn independent_instructions_are_bound_by_the_initiation_interval() {
    let mut program = ProgramBuilder::new(1);
    for i in 0..200 {
        program.add_to_all(register_inst(OpClass::Sp, 10 + i % 24, &[60, 41]));
    }
    let issues = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit()).issue_cycles();
    let span = issues[190] - issues[90];
    assert!((200..=230).contains(&span), "100 instructions of interval 2 took {span} cycles");
}

#[test]
fn packed_halves_issue_twice_as_often() {
    let mut program = ProgramBuilder::new(1);
    for i in 0..200 {
        let inst = StaticInst { packed_half: true, ..register_inst(OpClass::Sp, 10 + i % 16, &[30, 41]) };
        program.add_to_all(inst);
    }
    let issues = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit()).issue_cycles();
    let span = issues[190] - issues[90];
    assert!((100..=130).contains(&span), "100 instructions of interval 1 took {span} cycles");
}

#[test]
fn three_reads_of_one_bank_take_a_cycle_more_and_two_do_not() {
    // A sub-core has four banks; registers that differ by a multiple of four share one, and the register file steps twice a cycle.
    let dependent = |src: &[u16]| issue_gaps(&chain_issues(OpClass::Sp, src, 6)[..6])[3];
    assert_eq!(dependent(&[1, 2, 3]), 7);
    assert_eq!(dependent(&[1, 5]), 7);
    assert_eq!(dependent(&[1, 5, 9]), 8);
}

#[test]
fn two_classes_share_an_issue_slot_but_not_a_unit() {
    let mut program = ProgramBuilder::new(1);
    for i in 0..100 {
        let class = if i % 2 == 0 { OpClass::Sp } else { OpClass::Int };
        program.add_to_all(register_inst(class, 10 + i % 16, &[40, 51]));
    }
    let issues = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit()).issue_cycles();
    let span = issues[90] - issues[40];
    assert!((50..=55).contains(&span), "50 instructions of two units took {span} cycles");
}

/// Returns the warp of scheduler 0, which has two, that issued in the last cycle; `before` instructions had been issued.
fn issuer(bench: &Bench, before: u64) -> Option<u8> {
    let last = Cycle(bench.now.0 - 1);
    let issued = bench.kernel().warp_instructions > before;
    [0, 4].into_iter().find(|&warp| issued && bench.sm.core.warps.last_issue[usize::from(warp)] == last)
}

/// Returns the warps of scheduler 0 in the order of their issues: warps 0 and 4 execute 20 instructions each without stalls.
fn issue_order(policy: WarpOrder) -> Vec<u8> {
    let mut machine = test_machine();
    machine.gpu.sm.order = policy;
    let mut program = ProgramBuilder::new(8);
    for warp in [0, 4] {
        for i in 0..20 {
            program.add_to_warp(warp, register_inst(if i % 2 == 0 { OpClass::Sp } else { OpClass::Int }, 10 + i, &[]), LaneMask::FULL);
        }
    }
    let mut bench = Bench::with_single_cta(&machine, 256, program.build_with_exit());
    let mut order = Vec::new();
    for _ in 0..100 {
        let issued = bench.kernel().warp_instructions;
        bench.run(1);
        order.extend(issuer(&bench, issued));
    }
    order
}

#[test]
fn round_robin_rotates_over_the_warps() {
    let order = issue_order(WarpOrder::Lrr);
    let turns = order[..30].windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(turns >= 27, "{order:?}");
}

#[test]
fn greedy_stays_with_a_warp_until_it_stalls() {
    let order = issue_order(WarpOrder::Gto);
    let turns = order[..30].windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(turns <= 2, "{order:?}");
}

#[test]
fn two_level_order_issues_a_group_until_it_waits_for_memory() {
    let mut machine = test_machine();
    machine.gpu.sm.order = WarpOrder::TwoLevelLrr;
    machine.gpu.sm.ready_queue = 1;
    let mut program = ProgramBuilder::new(8);
    for warp in [0, 4] {
        for i in 0..6 {
            program.add_to_warp(warp, register_inst(if i % 2 == 0 { OpClass::Sp } else { OpClass::Int }, 10 + i, &[]), LaneMask::FULL);
        }
        program.add_access(
            warp,
            memory_inst(MemKind::Load, MemSpace::Global, 30, &[]),
            LaneMask::FULL,
            &lane_addresses(0x4000 * warp as u64, 4),
        );
        program.add_to_warp(warp, register_inst(OpClass::Sp, 31, &[30]), LaneMask::FULL);
    }
    let mut bench = Bench::with_single_cta(&machine, 256, program.build_with_exit());
    let mut last = Vec::new();
    while bench.sm.resident_ctas() > 0 || bench.now == Cycle(0) {
        let issued = bench.kernel().warp_instructions;
        bench.run(1);
        last.extend(issuer(&bench, issued));
        assert!(bench.now < Cycle(2000), "no end: {:#?}", bench.sm.waiting());
    }
    last.dedup();
    assert_eq!(last, [0, 4, 0, 4], "each warp runs up to the first reader of its load, then frees its position");
}

#[test]
fn predicated_off_instructions_issue_and_count() {
    let mut program = ProgramBuilder::new(1);
    program.add_to_warp(0, register_inst(OpClass::Sp, 1, &[2]), LaneMask(0)).add_to_warp(
        0,
        register_inst(OpClass::Sp, 3, &[2]),
        LaneMask(0xff),
    );
    let mut bench = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit());
    bench.issue_cycles();
    assert_eq!(bench.kernel().warp_instructions, 3);
    assert_eq!(bench.kernel().thread_instructions, 8 + 32);
}

#[test]
fn fetch_serves_four_warps_per_cycle() {
    let mut program = ProgramBuilder::new(64);
    program.add_to_all(register_inst(OpClass::Sp, 1, &[2]));
    let issues = Bench::with_single_cta(&test_machine(), 2048, program.build_with_exit()).issue_cycles();
    // Three instructions are decoded in the cycle of their fetch, and the fourth in the next cycle.
    let in_cycle = |cycle| issues.iter().filter(|at| **at == cycle).count();
    assert_eq!([in_cycle(1), in_cycle(2), in_cycle(3)], [0, 3, 4]);
}

#[test]
fn a_result_bus_accepts_one_result_per_cycle() {
    let mut machine = test_machine();
    let run = |machine: &Machine| {
        let mut program = ProgramBuilder::new(4);
        for i in 0..64 {
            program.add_to_all(register_inst(OpClass::Sp, 10 + i % 16, &[40]));
        }
        *Bench::with_single_cta(machine, 128, program.build_with_exit()).issue_cycles().last().unwrap()
    };
    let many = run(&machine);
    machine.gpu.sm.result_buses = 1;
    let one = run(&machine);
    assert!(many < 160 && one >= 256, "{many} cycles with 8 buses, {one} with 1");
}

#[test]
fn classes_without_a_unit_run_on_int_and_without_int_on_sp() {
    let mut machine = test_machine();
    let mut program = ProgramBuilder::new(1);
    for _ in 0..4 {
        program.add_to_all(register_inst(OpClass::Uniform, 1, &[1]));
    }
    let program = program.build_with_exit();
    let issues = Bench::with_single_cta(&machine, 32, Arc::clone(&program)).issue_cycles();
    assert!(issue_gaps(&issues[..4]).iter().all(|gap| *gap == 9));
    machine.gpu.sm.units.int = 0;
    let issues = Bench::with_single_cta(&machine, 32, program).issue_cycles();
    assert!(issue_gaps(&issues[..4]).iter().all(|gap| *gap == 9));
}

#[test]
fn an_instruction_cache_miss_holds_only_its_warp() {
    use warpshard_config::machine::SimpleCache;
    let mut machine = test_machine();
    machine.gpu.sm.fetch.icache = Some(SimpleCache { sets: 1, ways: 1, line_bytes: 128, miss_latency: 50 });
    let issues = {
        let mut program = ProgramBuilder::new(1);
        program.add_to_all(register_inst(OpClass::Sp, 1, &[2]));
        Bench::with_single_cta(&machine, 32, program.build_with_exit()).issue_cycles()
    };
    assert_eq!(issues[0], 52);
}

#[test]
fn the_lower_of_two_complete_collectors_leaves_first() {
    // Eight independent chains fill both collectors. The higher collector starves, so that the chains fall apart and the warp waits for
    // registers although the unit idles. In Accel-Sim an iteration of this loop takes 79 cycles; fair service would take 70.
    let mut program = ProgramBuilder::new(1);
    let alu = |class, dst, src: &[u16]| register_inst(class, dst, src);
    for _ in 0..64 {
        for i in 0..32 {
            let r = 16 + 2 * (i % 8);
            program.add_to_all(alu(OpClass::Sp, r, &[r, 4, 5]));
        }
        program.add_to_all(alu(OpClass::Int, 7, &[7, 255]));
        program.add_to_all(alu(OpClass::Int, NO_REGISTER, &[7]));
        program.add_to_all(alu(OpClass::Branch, NO_REGISTER, &[]));
    }
    let issues = Bench::with_single_cta(&test_machine(), 32, program.build_with_exit()).issue_cycles();
    let loops: Vec<u64> = issues.chunks(35).map(|chunk| chunk[0]).collect();
    let span = loops[60] - loops[20];
    assert_eq!(span, 40 * 79);
}
