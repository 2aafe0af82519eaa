//! Tests with 10^5 random sequences of starts and preemptions on an SM that is allocated by ranges and shared by two kernels.
//!
//! In each sequence CTAs of both kernels, of random needs, are bound at random times, and preempted at random times by random techniques.
//! The second kernel has priority, so that its CTAs start first, at aligned positions. At every cut no two CTAs share a register or a byte
//! of shared memory; at the end every CTA has ended once, and each of its instructions has taken effect once.

use std::collections::BTreeMap;

use warpshard_base::{AppId, Rng};
use warpshard_config::machine::Allocation;
use warpshard_protocol::{Preemption, SmProgress};
use warpshard_workload::Application;

use super::preempt::{RebindingGrid, switching_machines};
use super::*;
use crate::sm::SmDecision;
use crate::test_machine::kernel_info;

/// Number of sequences over all machines.
const SEQUENCE_COUNT: u64 = 100_000;
/// Number of CTAs of each kernel.
const CTAS_PER_KERNEL: u32 = 4;
/// Core cycles between two cuts, equal to the latency of the memory.
const EPOCH_CYCLES: u64 = 30;

/// Counts of the events of sequences.
#[derive(Debug, Default)]
struct EventCounts {
    taken_switches: [u64; 4],
    returned: u64,
    aligned: u64,
    shared: u64,
}

/// Returns a CTA of one or two warps with a few instructions.
fn program(rng: &mut Rng) -> Arc<CtaProgram> {
    let warps = 1 + rng.below(2) as usize;
    let mut program = ProgramBuilder::new(warps);
    for warp in 0..warps {
        for _ in 0..1 + rng.below(6) {
            let base = 0x10_0000 + rng.below(16) * 128;
            match rng.below(5) {
                0 => program.add_access(
                    warp,
                    memory_inst(MemKind::Load, MemSpace::Global, rng.below(8) as u16, &[9]),
                    LaneMask::FULL,
                    &lane_addresses(base, 4),
                ),
                1 => program.add_access(
                    warp,
                    memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[9, 3]),
                    LaneMask::FULL,
                    &lane_addresses(base, 4),
                ),
                _ => program.add_to_warp(warp, register_inst(OpClass::Sp, rng.below(8) as u16, &[rng.below(8) as u16]), LaneMask::FULL),
            };
        }
        program.add_to_warp(warp, register_inst(OpClass::Barrier, NO_REGISTER, &[]), LaneMask::FULL);
    }
    program.build_with_exit()
}

/// Returns a bench with two kernels of applications of different priority.
fn two_kernel_bench(machine: &Machine, rng: &mut Rng) -> (Bench, [u64; 2]) {
    let mut kernels = Vec::new();
    let mut instructions = [0; 2];
    for app in 0..2 {
        let program = program(rng);
        instructions[usize::from(app)] = program.warps.iter().map(|stream| u64::from(stream.len())).sum();
        let mut info = kernel_info(32 * program.warps.len() as u32, CTAS_PER_KERNEL);
        info.app = AppId(app);
        info.registers = 16 + 16 * rng.below(8) as u32;
        info.shared_bytes = (1 + rng.below(40) as u32) * 1024;
        kernels.push((info, program));
    }
    let applications = (0..2u32).map(|app| Application {
        name: app.to_string(),
        kernels: app..app + 1,
        again: 0..0,
        commands: 0..0,
        priority: app as i32,
        arrivals: Vec::new(),
        gpu: None,
    });
    (Bench::with_applications(machine, kernels, applications.collect()), instructions)
}

/// Checks the resident CTAs at a cut.
fn check_resident_ctas(progress: &SmProgress, machine: &Machine, infos: &[KernelInfo], tally: &mut EventCounts) {
    let sm = &machine.gpu.sm;
    let apart = |(a, a_len): (u32, u32), (b, b_len): (u32, u32)| a + a_len <= b || b + b_len <= a;
    for (i, one) in progress.resident.iter().enumerate() {
        assert!(one.registers.0 + one.registers.1 <= sm.registers && one.shared.0 + one.shared.1 <= sm.shared_bytes, "{one:?}");
        for other in &progress.resident[..i] {
            assert!(apart(one.registers, other.registers) && apart(one.shared, other.shared), "{one:?} and {other:?} overlap");
            assert_ne!((one.kernel, one.cta), (other.kernel, other.cta), "a CTA is resident twice");
            tally.shared += u64::from(one.kernel != other.kernel);
        }
        if infos[one.kernel.index()].app == AppId(1) {
            assert_eq!((one.registers.0 % one.registers.1, one.shared.0 % one.shared.1), (0, 0), "{one:?} is not at an aligned position");
            assert_eq!(one.registers.0 / one.registers.1, one.shared.0 / one.shared.1, "{one:?} is between two positions");
            tally.aligned += 1;
        }
    }
}

fn run_sequence(machine: &Machine, seed: u64, tally: &mut EventCounts) {
    let mut rng = Rng::keyed(seed, &[13]);
    let (mut bench, instructions) = two_kernel_bench(machine, &mut rng);
    bench = bench.with_skipping();
    bench.latency = EPOCH_CYCLES;
    let infos: Vec<KernelInfo> = bench.sm.workload.kernels.iter().map(|kernel| kernel.info.clone()).collect();
    let mut waiting: Vec<(u32, u32)> = (0..2).flat_map(|kernel| (0..CTAS_PER_KERNEL).map(move |cta| (kernel, cta))).collect();
    let mut grid = RebindingGrid::default();
    let mut left = 12;
    while !waiting.is_empty() || !bench.is_done() {
        assert!(bench.now < Cycle(200_000), "seed {seed}, no end: {:#?}", bench.sm.waiting());
        for _ in 0..rng.below(3) {
            if !waiting.is_empty() {
                let (kernel, cta) = waiting.swap_remove(rng.below(waiting.len() as u64) as usize);
                bench.bind(kernel, cta);
            }
        }
        bench.run(EPOCH_CYCLES);
        grid.rebind(&mut bench);
        bench.sm.settle(bench.now);
        let mut values = Vec::new();
        bench.sm.visit_tasks(&mut values);
        let progress = SmProgress::decode(&values).expect("the SM encodes a valid progress");
        check_resident_ctas(&progress, machine, &infos, tally);
        if left > 0 && rng.below(3) == 0 {
            for one in &progress.resident {
                if rng.below(2) == 0 {
                    let how = rng.below(4) as usize;
                    let technique = [Preemption::Switch, Preemption::Flush, Preemption::Drain, Preemption::Drop][how];
                    bench.sm.apply(bench.now, &SmDecision::PreemptCta(one.kernel, one.cta, technique));
                    tally.taken_switches[how] += 1;
                }
            }
            left -= 1;
        }
    }
    bench.sm.settle(bench.now);
    let mut ends: BTreeMap<(KernelIndex, CtaIndex), u32> = BTreeMap::new();
    for (_, payload) in &bench.sent {
        if let Payload::CtaDone(notice) = payload {
            *ends.entry((notice.kernel, notice.cta)).or_default() += 1;
        }
    }
    assert!(
        ends.len() == 2 * CTAS_PER_KERNEL as usize && ends.values().all(|count| *count == 1),
        "seed {seed}: a CTA was lost or ended twice: {ends:?}"
    );
    let stats = bench.stats();
    let executed: u64 = stats.kernels.iter().map(|kernel| kernel.warp_instructions).sum();
    let in_effect = executed - stats.sm.flushed_warp_instructions - stats.sm.replayed_warp_instructions;
    assert_eq!(in_effect, u64::from(CTAS_PER_KERNEL) * instructions.iter().sum::<u64>(), "seed {seed}");
    assert_eq!(u64::from(grid.returned), stats.sm.ctas_switched + stats.sm.ctas_flushed + stats.sm.ctas_returned, "seed {seed}");
    assert_eq!(stats.sm.packets_sent, stats.sm.packets_received, "seed {seed}");
    tally.returned += u64::from(grid.returned);
}

#[test]
fn no_cta_is_lost_repeated_or_overlapping_in_100_000_random_sequences() {
    // One machine is used for each way of switching and of leaving; other machine parameters do not matter here.
    let machines: Vec<Machine> = switching_machines()
        .take(4)
        .map(|mut machine| {
            machine.gpu.sm.allocation = Allocation::Ranges;
            machine
        })
        .collect();
    let mut tally = EventCounts::default();
    for seed in 0..SEQUENCE_COUNT {
        run_sequence(&machines[seed as usize % machines.len()], seed, &mut tally);
    }
    // Every forbidden state had many opportunities to occur.
    let EventCounts { taken_switches: taken, returned, aligned, shared } = &tally;
    assert!(taken.iter().all(|count| *count > SEQUENCE_COUNT / 4) && *returned > SEQUENCE_COUNT / 2, "{tally:?}");
    assert!(*aligned > SEQUENCE_COUNT && *shared > SEQUENCE_COUNT, "{tally:?}");
}
