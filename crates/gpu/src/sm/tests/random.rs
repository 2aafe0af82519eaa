//! Tests of random programs: skipping, division into calls, and invariant sums.

use warpshard_base::Rng;
use warpshard_config::machine::{Ccws, CoreStyle, TextureCache, WarpOrder};

use warpshard_workload::Pipe;

use super::super::stall::StallReason;
use super::*;
use crate::sm::{CcwsCounters, TextureCounters};
use crate::test_machine::{kernel_info, test_machine};

/// Returns a random CTA of `warps` warps; every warp passes the same number of barriers.
pub(super) fn program(rng: &mut Rng, warps: usize) -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(warps);
    for _ in 0..3 {
        for warp in 0..warps {
            for _ in 0..rng.below(25) {
                add_random_inst(rng, &mut program, warp);
            }
            program.add_to_warp(warp, register_inst(OpClass::Barrier, NO_REGISTER, &[]), LaneMask::FULL);
        }
    }
    program.build_with_exit()
}

fn add_random_inst(rng: &mut Rng, program: &mut ProgramBuilder, warp: usize) {
    let mut register = || rng.below(24) as u16;
    let (dst, a, b, c) = (register(), register(), register(), register());
    let mask = LaneMask(if rng.below(4) == 0 { rng.next_u64() as u32 } else { u32::MAX });
    let spread = [4, 0, 8, 32, 132, 1024][rng.below(6) as usize];
    let base = 0x10_0000 + rng.below(64) * 128;
    let addresses: Vec<u64> = mask.iter().map(|lane| base + u64::from(lane) * spread).collect();
    let space = [MemSpace::Global, MemSpace::Shared, MemSpace::Local, MemSpace::Texture][rng.below(4) as usize];
    match rng.below(14) {
        0..4 => program.add_to_warp(warp, register_inst(OpClass::Sp, dst, &[a, b, c]), mask),
        4..6 => program.add_to_warp(warp, register_inst(OpClass::Int, dst, &[a, b]), mask),
        6 => program.add_to_warp(warp, register_inst(OpClass::Sfu, dst, &[a]), mask),
        7 => program.add_to_warp(warp, register_inst(OpClass::Dp, dst, &[a, b, c]), mask),
        8 => program.add_to_warp(warp, register_inst(OpClass::Branch, NO_REGISTER, &[]), mask),
        9..11 => program.add_access(warp, memory_inst(MemKind::Load, space, dst, &[a]), mask, &addresses),
        11 if space != MemSpace::Texture => {
            program.add_access(warp, memory_inst(MemKind::Store, space, NO_REGISTER, &[a, b]), mask, &addresses)
        }
        12 => {
            let kind = if rng.below(2) == 0 { MemKind::Atomic } else { MemKind::Reduction };
            let dst = if kind == MemKind::Atomic { dst } else { NO_REGISTER };
            let aligned: Vec<u64> = addresses.iter().map(|address| address & !3).collect();
            program.add_access(warp, memory_inst(kind, MemSpace::Global, dst, &[a]), mask, &aligned)
        }
        _ => program.add_to_warp(warp, register_inst(OpClass::Fence, NO_REGISTER, &[]), mask),
    };
}

pub(super) fn random_test_machines() -> Vec<Machine> {
    let volta = test_machine();
    let mut gto = test_machine();
    gto.gpu.sm.order = WarpOrder::Gto;
    gto.gpu.sm.lsu.response_queue = 1;
    gto.gpu.sm.l1.cache.as_mut().unwrap().miss_queue = 3;
    gto.gpu.sm.l1.cache.as_mut().unwrap().mshrs = 4;
    gto.noc.input_queue = 8;
    let mut fermi = test_machine();
    let sm = &mut fermi.gpu.sm;
    sm.style = CoreStyle::Shared;
    sm.schedulers = 2;
    sm.issue_width = 2;
    sm.units = warpshard_config::machine::Units { sp: 2, int: 0, sfu: 1, dp: 0, tensor: 0, branch: 0, texture: 0, uniform: 0 };
    sm.result_buses = 3;
    sm.operands = warpshard_config::machine::Operands { collectors: 8, banks: 16, bank_ports: 1, ports: 4 };
    sm.fetch.warps_per_cycle = 1;
    sm.l1.latency = 1;
    sm.l1.banks = 1;
    let mut merging = test_machine();
    merging.gpu.sm.lsu.merged_loads = 4;
    merging.gpu.sm.lsu.combined_stores = 3;
    merging.gpu.sm.lsu.combine_wait = 20;
    merging.gpu.sm.l1.line_requests = true;
    let two_level = |order| {
        let mut machine = test_machine();
        machine.gpu.sm.order = order;
        machine.gpu.sm.ready_queue = 1;
        machine
    };
    let mut phase = fermi.clone();
    phase.gpu.sm.order = WarpOrder::Phase;
    let losing = |mut machine: Machine, ways| {
        machine.gpu.sm.ccws = Some(Ccws { victim_tags: 4, victim_ways: 2, base_score: 1, k_throttle: 4000 });
        machine.gpu.sm.l1.unified = None;
        if let Some(cache) = &mut machine.gpu.sm.l1.cache {
            (cache.sets, cache.ways) = (1, ways);
        }
        machine
    };
    let textured = |mut machine: Machine, fragments, requests, reorder| {
        machine.gpu.sm.texture = Some(TextureCache { sets: 2, ways: 3, fragments, requests, reorder, results: 1 });
        machine
    };
    let textured = [textured(fermi.clone(), 6, 2, 4), textured(gto.clone(), 5, 4, 3)];
    let (losing_volta, losing_fermi) = (losing(volta.clone(), 8), losing(fermi.clone(), 2));
    let orders = [two_level(WarpOrder::TwoLevelLrr), two_level(WarpOrder::TwoLevelPhase)];
    [volta, gto, fermi, phase, merging, losing_volta, losing_fermi, control::control_machine()]
        .into_iter()
        .chain(orders)
        .chain(textured)
        .collect()
}

/// Returns the program with control words of any kind in most instructions.
fn with_control_words(rng: &mut Rng, program: &CtaProgram) -> Arc<CtaProgram> {
    let mut code = program.code.to_vec();
    for (i, inst) in code.iter_mut().enumerate() {
        inst.pc = 16 * i as u32;
        if rng.below(5) == 0 {
            continue;
        }
        let word = rng.next_u64();
        inst.control = Control::of_words([0, word & !(0xf << 41) | (1 + rng.below(4)) << 41]);
        inst.control.pipe = [Pipe::Fma, Pipe::Alu, Pipe::Xu, Pipe::Dp][rng.below(4) as usize];
        if inst.mem.is_none() && rng.below(8) == 0 {
            inst.control.at_most = Some(rng.below(6) as u16 | (rng.below(3) as u16) << 3);
        }
    }
    Arc::new(CtaProgram { code: code.into(), ..program.clone() })
}

type VisibleResults = (Vec<(Cycle, Payload)>, SmStats, Option<CcwsCounters>, Option<TextureCounters>, Option<WarpReasonCounts>);

/// Runs three CTAs with epochs of the lengths that `epoch` returns, and returns all visible results.
fn random_outcome(machine: &Machine, seed: u64, skip: bool, mut epoch: impl FnMut() -> u64) -> VisibleResults {
    let mut rng = Rng::keyed(seed, &[7]);
    let mut info = kernel_info(160, 3);
    info.shared_bytes = 30_000;
    let mut made = program(&mut rng, 5);
    if machine.gpu.sm.style == CoreStyle::ControlWords {
        made = with_control_words(&mut rng, &made);
    }
    let mut bench = Bench::new(machine, vec![(info, made)]);
    if skip {
        bench = bench.with_skipping();
    }
    if machine.gpu.sm.order.needs_phases() {
        bench = bench.with_phases();
    }
    bench.latency = 60;
    for cta in 0..5 {
        bench.bind(0, cta);
    }
    while bench.sm.resident_ctas() > 0 || bench.sm.next_event() < Cycle::NEVER || !bench.incoming.is_empty() {
        assert!(bench.now < Cycle(1_000_000), "no end: {:#?}", bench.sm.waiting());
        bench.run(epoch());
    }
    let end = Cycle(bench.now.0.next_multiple_of(20_000));
    bench.run(end.0 - bench.now.0);
    bench.sm.settle(end);
    (bench.sent.clone(), bench.stats().clone(), bench.ccws(), bench.textures(), bench.reasons())
}

#[test]
fn results_do_not_depend_on_skipping_or_epochs() {
    for machine in random_test_machines() {
        let (mut held, mut full) = (0, 0);
        for seed in 0..6 {
            let reference = random_outcome(&machine, seed, false, || 60);
            let skipped = random_outcome(&machine, seed, true, || 60);
            assert_eq!(reference.0, skipped.0);
            assert_eq!(reference.1, skipped.1);
            assert_eq!(reference.2, skipped.2);
            assert_eq!(reference.3, skipped.3);
            assert_eq!(reference.4, skipped.4);
            full += reference.3.as_ref().map_or(0, |texture| texture.texture_full_cycles);
            held += reference.2.as_ref().map_or(0, |ccws| ccws.ccws_held_load_cycles);
            let mut rng = Rng::keyed(seed, &[]);
            let cut = random_outcome(&machine, seed, true, || 1 + rng.below(60));
            // Credits arrive at the end of the epoch in this bench, so only runs with the same epochs are comparable if credits run out.
            if machine.noc.input_queue == 512 {
                assert_eq!(reference.0.len(), cut.0.len());
                assert_eq!(reference.1, cut.1);
                assert_eq!(reference.2, cut.2);
                assert_eq!(reference.3, cut.3);
                assert_eq!(reference.4, cut.4);
            }
        }
        let (_, stats, _, _, reasons) = random_outcome(&machine, 7, true, || 41);
        assert_eq!(reasons.is_some(), machine.gpu.sm.style == CoreStyle::ControlWords);
        assert!(reasons.is_none_or(|reasons| reasons.iter().sum::<u64>() == stats.sm.resident_warp_cycles), "{reasons:?}");
        assert_eq!(held > 0, machine.gpu.sm.ccws.is_some(), "{held} cycles");
        assert_eq!(full > 0, machine.gpu.sm.texture.is_some(), "{full} cycles");
    }
}

#[test]
fn stall_reasons_sum_to_scheduler_cycles_and_issues_to_instructions() {
    for machine in random_test_machines() {
        let (_, stats, ..) = random_outcome(&machine, 3, true, || 37);
        let schedulers = u64::from(machine.gpu.sm.schedulers);
        let stalls = stats.all_stalls();
        assert_eq!(stalls.iter().sum::<u64>(), schedulers * stats.sm.cycles);
        let nobody = StallReason::NoWarps as usize;
        assert_eq!(
            stats.stalls.iter().map(|own| own[nobody]).collect::<Vec<_>>(),
            [stalls[nobody], 0],
            "only cycles of schedulers without warps belong to no kernel"
        );
        assert_eq!(stats.stalls[0].iter().sum::<u64>(), stalls[nobody]);
        assert_eq!(stats.sm.cycles % 1000, 0);
        let issued = stalls[StallReason::Issued as usize];
        let instructions: u64 = stats.kernels.iter().map(|kernel| kernel.warp_instructions).sum();
        assert!(issued <= instructions && instructions <= issued * u64::from(machine.gpu.sm.issue_width));
        assert_eq!(stats.kernels[0].ctas, 5);
    }
}

#[test]
fn every_request_gets_one_reply_and_no_state_remains() {
    for machine in random_test_machines() {
        for seed in 10..14 {
            let (_, stats, ..) = random_outcome(&machine, seed, true, || 60);
            assert!(all_replies_received(&machine, &stats.sm), "seed {seed}");
        }
    }
}
