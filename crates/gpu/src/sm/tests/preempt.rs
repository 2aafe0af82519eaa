//! Tests of CTAs that are preempted at random cycles and resume: every instruction takes effect once, results do not depend on the division
//! of the run, and no state remains.

use std::collections::BTreeMap;

use warpshard_base::Rng;
use warpshard_config::machine::{Allocation, InFlightPolicy, Switch};
use warpshard_protocol::{NO_CLUSTER, Preemption, SmProgress, WarpContext};
use warpshard_workload::WarpStream;

use super::random::{program, random_test_machines};
use super::*;
use crate::sm::SmDecision;
use crate::test_machine::{kernel_info, test_machine};

/// Number of CTAs of a run.
const CTAS_PER_RUN: u32 = 5;

/// A mock grid scheduler that binds CTAs that the SM returned to it again, with their contexts, some cycles later.
#[derive(Default)]
pub(super) struct RebindingGrid {
    contexts: BTreeMap<(KernelIndex, CtaIndex), Vec<WarpContext>>,
    seen: usize,
    pub(super) returned: u32,
}

impl RebindingGrid {
    pub(super) fn rebind(&mut self, bench: &mut Bench) {
        let new: Vec<Payload> = bench.sent[self.seen..].iter().map(|(_, payload)| *payload).collect();
        self.seen = bench.sent.len();
        for payload in new {
            match payload {
                Payload::Context(context) => self.contexts.entry((context.kernel, context.cta)).or_default().push(context),
                Payload::CtaReturned(notice) | Payload::CtaPreempted(notice) => {
                    self.returned += 1;
                    let contexts = self.contexts.remove(&(notice.kernel, notice.cta));
                    let launch = CtaLaunch {
                        kernel: notice.kernel,
                        cta: notice.cta,
                        share: u16::MAX,
                        resumes: contexts.is_some(),
                        cluster: NO_CLUSTER,
                        rank: 0,
                        waits: false,
                        triggers: false,
                    };
                    let at = bench.now.after(100);
                    for context in contexts.into_iter().flatten() {
                        bench.sm.deliver(PORTS.from_grid, at, &Payload::Context(context));
                    }
                    bench.sm.deliver(PORTS.from_grid, at, &Payload::Launch(launch));
                }
                _ => {}
            }
        }
    }
}

type SeenMessages = (Vec<(Cycle, Payload)>, SmStats);

/// Runs five CTAs with a preemption every `every` cycles at most, 20 of them; returns the visible results, and the number of CTAs that
/// returned.
fn run(machine: &Machine, seed: u64, how: Preemption, skip: bool, epoch: u64) -> (SeenMessages, u32, u64) {
    run_program(machine, program(&mut Rng::keyed(seed, &[7]), 5), seed, how, skip, epoch)
}

fn run_program(
    machine: &Machine,
    program: Arc<CtaProgram>,
    seed: u64,
    how: Preemption,
    skip: bool,
    epoch: u64,
) -> (SeenMessages, u32, u64) {
    let instructions: u64 = program.warps.iter().map(|stream| u64::from(stream.len())).sum();
    let mut info = kernel_info(160, CTAS_PER_RUN);
    info.shared_bytes = 30_000;
    let mut bench = Bench::new(machine, vec![(info, program)]);
    bench.skip = skip;
    if machine.gpu.sm.order.needs_phases() {
        bench = bench.with_phases();
    }
    bench.latency = 60;
    (0..CTAS_PER_RUN).for_each(|cta| bench.bind(0, cta));
    let mut rng = Rng::keyed(seed, &[9]);
    let mut grid = RebindingGrid::default();
    let mut next = 60 * (1 + rng.below(8));
    let mut left = 20;
    while bench.sm.resident_ctas() > 0 || bench.sm.next_event() < Cycle::NEVER || !bench.incoming.is_empty() {
        assert!(bench.now < Cycle(2_000_000), "no end: {:#?}", bench.sm.waiting());
        for _ in 0..60 / epoch {
            bench.run(epoch);
        }
        grid.rebind(&mut bench);
        if bench.now.0 >= next && left > 0 {
            bench.sm.settle(bench.now);
            bench.sm.apply(bench.now, &SmDecision::Preempt(how));
            next = bench.now.0 + 60 * (1 + rng.below(20));
            left -= 1;
        }
    }
    let end = Cycle(bench.now.0.next_multiple_of(20_000));
    bench.run(end.0 - bench.now.0);
    bench.sm.settle(end);
    ((bench.sent.clone(), bench.stats().clone()), grid.returned, instructions * u64::from(CTAS_PER_RUN))
}

/// Returns the program with the same instructions in streams of several parts.
fn in_parts(program: &CtaProgram) -> Arc<CtaProgram> {
    let parted = |stream: &WarpStream| {
        let (mut builder, mut reader, mut out) = (StreamBuilder::with_parts(100), stream.read(), [0; 32]);
        while let Some(inst) = reader.next() {
            match reader.addresses(&inst, &mut out) {
                0 => builder.op(inst.index, inst.mask),
                count => builder.access(inst.index, inst.mask, &out[..count]),
            }
        }
        builder.finish()
    };
    Arc::new(CtaProgram { warps: program.warps.iter().map(parted).collect(), ..CtaProgram::clone(program) })
}

#[test]
fn streams_in_parts_run_as_whole_streams_do() {
    for machine in random_test_machines() {
        for (seed, how) in [(1, Preemption::Switch), (2, Preemption::Flush)] {
            let whole = program(&mut Rng::keyed(seed, &[7]), 5);
            let parted = in_parts(&whole);
            assert!(whole.warps.iter().zip(&parted.warps).any(|(whole, parted)| whole != parted), "no stream has several parts");
            let [whole, parted] = [whole, parted].map(|program| run_program(&machine, program, seed, how, true, 60));
            assert!(whole == parted, "{how:?}");
        }
    }
}

/// Returns machines on which switching takes time or is traffic, and on which outstanding instructions are awaited or squashed.
pub(super) fn switching_machines() -> impl Iterator<Item = Machine> {
    random_test_machines().into_iter().flat_map(|machine| {
        [Switch::Time, Switch::InTurn, Switch::Traffic].into_iter().flat_map(move |switch| {
            let machine = machine.clone();
            [InFlightPolicy::Awaited, InFlightPolicy::Squashed].map(|under_way| {
                let mut machine = machine.clone();
                (machine.gpu.dispatch.switch, machine.gpu.dispatch.under_way) = (switch, under_way);
                machine
            })
        })
    })
}

/// Returns the number of instructions that took effect, of all issued ones.
fn in_effect(stats: &SmStats) -> u64 {
    stats.kernels[0].warp_instructions - stats.sm.flushed_warp_instructions - stats.sm.replayed_warp_instructions
}

fn ended_ctas(seen: &SeenMessages) -> usize {
    seen.0.iter().filter(|(_, payload)| matches!(payload, Payload::CtaDone(_))).count()
}

#[test]
fn every_instruction_takes_effect_once_under_preemption() {
    let mut replayed = 0;
    for machine in switching_machines() {
        for (seed, how) in (0..4).flat_map(|seed| [Preemption::Switch, Preemption::Flush].map(|how| (seed, how))) {
            let (seen, returned, instructions) = run(&machine, seed, how, true, 60);
            let (sm, kernel) = (&seen.1.sm, &seen.1.kernels[0]);
            assert!(returned > 0, "{how:?}: no CTA was preempted");
            assert_eq!(in_effect(&seen.1), instructions, "{how:?}, seed {seed}");
            replayed += sm.replayed_warp_instructions;
            let squashes = machine.gpu.dispatch.under_way == InFlightPolicy::Squashed;
            assert!(squashes || sm.replayed_warp_instructions == 0, "an awaited instruction was replayed");
            assert_eq!((ended_ctas(&seen), kernel.ctas), (CTAS_PER_RUN as usize, u64::from(CTAS_PER_RUN)), "{how:?}, seed {seed}");
            assert_eq!(u64::from(returned), sm.ctas_switched + sm.ctas_flushed + sm.ctas_returned);
            assert!(all_replies_received(&machine, sm), "{how:?}, seed {seed}");
            assert!(how == Preemption::Flush || sm.ctas_flushed == 0);
        }
    }
    assert!(replayed > 100, "{replayed} instructions were replayed");
}

#[test]
fn preemption_does_not_depend_on_skipping_or_epochs() {
    for machine in switching_machines() {
        for (seed, how) in [(1, Preemption::Switch), (2, Preemption::Flush)] {
            let stepped = run(&machine, seed, how, false, 60).0;
            let skipped = run(&machine, seed, how, true, 60).0;
            assert_eq!(stepped.0, skipped.0, "{how:?}");
            assert_eq!(stepped.1, skipped.1, "{how:?}");
            if machine.noc.input_queue == 512 {
                assert_eq!(run(&machine, seed, how, true, 20).0.1, stepped.1, "{how:?}");
            }
        }
    }
}

/// Returns a program of four warps that compute, with or without a preceding store to global memory.
fn computing_program(stores: bool) -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(4);
    if stores {
        for warp in 0..4 {
            program.add_access(
                warp,
                memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[1]),
                LaneMask::FULL,
                &lane_addresses(0x10_0000, 4),
            );
        }
    }
    (0..200).for_each(|_| _ = program.add_to_all(register_inst(OpClass::Sp, 1, &[1])));
    program.build_with_exit()
}

/// Preempts a CTA in cycle 400; returns the cycle in which it returned to the grid scheduler, and the counters of the SM.
fn preempted_at_400(stores: bool, how: Preemption) -> (u64, SmStats, Machine) {
    preempted_with(test_machine(), stores, how)
}

fn preempted_with(machine: Machine, stores: bool, how: Preemption) -> (u64, SmStats, Machine) {
    let mut bench = Bench::with_single_cta(&machine, 128, computing_program(stores)).with_skipping();
    (0..8).for_each(|_| bench.run(50));
    bench.sm.settle(bench.now);
    bench.sm.apply(bench.now, &SmDecision::Preempt(how));
    while bench.sm.resident_ctas() > 0 {
        bench.run(1);
    }
    bench.sm.settle(bench.now);
    let back = bench.notices(|payload| matches!(payload, Payload::CtaPreempted(_)));
    (back[0], bench.stats().clone(), machine)
}

#[test]
fn a_switch_takes_the_context_over_the_share_of_the_bandwidth_and_a_flush_only_what_is_under_way() {
    let (flushed, stats, machine) = preempted_at_400(false, Preemption::Flush);
    assert!((400..430).contains(&flushed), "{flushed}");
    assert!(stats.sm.flushed_warp_instructions > 0 && stats.sm.context_cycles == 0, "{:?}", stats.sm);
    let (switched, stats, _) = preempted_at_400(false, Preemption::Switch);
    let registers = 4 * crate::occupancy::CtaNeeds::of(&machine.gpu.sm, &kernel_info(128, 1)).registers;
    let (burst_bytes, bursts) = machine.mem.dram.burst();
    let clocks = machine.clocks.dram.0 as f64 / machine.clocks.core.0 as f64;
    let per_cycle = f64::from(machine.mem.map.partitions) * burst_bytes as f64 * bursts * clocks / f64::from(machine.gpu.sms);
    let cycles = (f64::from(registers) / per_cycle).ceil() as u64;
    assert_eq!((stats.sm.context_cycles, switched - flushed), (cycles, cycles));
    assert_eq!((stats.sm.ctas_switched, stats.sm.flushed_warp_instructions), (1, 0));
}

#[test]
fn a_cta_that_has_written_is_switched_instead_of_flushed() {
    let (_, stats, _) = preempted_at_400(true, Preemption::Flush);
    assert_eq!((stats.sm.ctas_switched, stats.sm.ctas_flushed), (1, 0));
}

#[test]
fn contexts_of_an_sm_go_one_after_the_other_where_they_share_its_bandwidth() {
    let left = |switch: Switch| {
        let mut machine = test_machine();
        (machine.gpu.dispatch.switch, machine.gpu.dispatch.under_way) = (switch, InFlightPolicy::Squashed);
        let mut bench = Bench::with_single_cta(&machine, 128, computing_program(false));
        (1..3).for_each(|cta| bench.bind(0, cta));
        bench.run(400);
        bench.sm.settle(bench.now);
        (0..3).for_each(|cta| bench.sm.apply(bench.now, &SmDecision::PreemptCta(KernelIndex(0), CtaIndex(cta), Preemption::Switch)));
        while bench.sm.resident_ctas() > 0 {
            bench.run(1);
        }
        bench.notices(|payload| matches!(payload, Payload::CtaPreempted(_)))
    };
    let (at_once, in_turn) = (left(Switch::Time), left(Switch::InTurn));
    let one = at_once[0] - 400;
    assert_eq!(at_once, [400 + one; 3]);
    assert_eq!(in_turn, [400 + one, 400 + 2 * one, 400 + 3 * one]);
}

#[test]
fn a_cta_whose_stores_overwrite_nothing_that_it_has_read_is_flushed() {
    let taken = |repeatable: &[u32]| {
        let program = Arc::new(CtaProgram { repeatable: repeatable.into(), ..CtaProgram::clone(&computing_program(true)) });
        let mut bench = Bench::with_single_cta(&test_machine(), 128, program).with_skipping();
        (0..8).for_each(|_| bench.run(50));
        bench.sm.settle(bench.now);
        bench.sm.apply(bench.now, &SmDecision::Preempt(Preemption::Flush));
        bench.run(30);
        (bench.stats().sm.ctas_switched, bench.stats().sm.ctas_flushed)
    };
    // The store is the first instruction of the code.
    assert_eq!(taken(&[0]).1, 1);
    assert_eq!(taken(&[1]).1, 0, "the store at index 0 is not repeatable");
}

#[test]
fn a_switch_by_traffic_writes_the_context_a_packet_per_cycle() {
    let mut machine = test_machine();
    machine.gpu.dispatch.switch = Switch::Traffic;
    let registers = 4 * crate::occupancy::CtaNeeds::of(&machine.gpu.sm, &kernel_info(128, 1)).registers;
    let (_, stats, machine) = preempted_with(machine, false, Preemption::Switch);
    let bytes = if machine.gpu.sm.lsu.sector_requests { 32 } else { 128 };
    let packets = u64::from(registers / bytes);
    assert_eq!((stats.sm.packets_sent, stats.sm.packets_received, stats.sm.ctas_switched), (packets, packets, 1));
    assert!((packets..packets + 200).contains(&stats.sm.context_cycles), "{packets} packets in {} cycles", stats.sm.context_cycles);
}

/// Returns the test machine with squashing of outstanding instructions.
fn squashing_machine() -> Machine {
    let mut machine = test_machine();
    machine.gpu.dispatch.under_way = InFlightPolicy::Squashed;
    machine
}

/// Returns a program of a warp that loads a line, uses the value, and stores to the line.
fn load_and_store() -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, memory_inst(MemKind::Load, MemSpace::Global, 1, &[0]), LaneMask::FULL, &lane_addresses(0x10_0000, 4));
    program.add_to_all(register_inst(OpClass::Sp, 2, &[1]));
    program.add_access(0, memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[2]), LaneMask::FULL, &lane_addresses(0x20_0000, 4));
    program.build_with_exit()
}

/// Preempts the only CTA in cycle `at`, and binds it again as soon as it returns; returns the cycle of the return, the end cycle, and the
/// bench.
fn preempted_and_rebound(machine: &Machine, program: Arc<CtaProgram>, latency: u64, at: u64, how: Preemption) -> (u64, u64, Bench) {
    let mut bench = Bench::with_single_cta(machine, 32, program);
    bench.latency = latency;
    (0..at).for_each(|_| bench.run(1));
    bench.sm.settle(bench.now);
    bench.sm.apply(bench.now, &SmDecision::PreemptCta(KernelIndex(0), CtaIndex(0), how));
    let gone = |payload: &Payload| matches!(payload, Payload::CtaPreempted(_));
    while bench.notices(gone).is_empty() {
        bench.run(1);
    }
    let contexts: Vec<WarpContext> =
        bench.sent.iter().filter_map(|(_, payload)| if let Payload::Context(context) = payload { Some(*context) } else { None }).collect();
    for context in &contexts {
        bench.sm.deliver(PORTS.from_grid, bench.now, &Payload::Context(*context));
    }
    let launch = CtaLaunch {
        kernel: KernelIndex(0),
        cta: CtaIndex(0),
        share: u16::MAX,
        resumes: !contexts.is_empty(),
        cluster: NO_CLUSTER,
        rank: 0,
        waits: false,
        triggers: false,
    };
    bench.sm.deliver(PORTS.from_grid, bench.now, &Payload::Launch(launch));
    while !bench.is_done() {
        assert!(bench.now < Cycle(100_000), "no end: {:#?}", bench.sm.waiting());
        bench.run(1);
    }
    let ended = bench.notices(|payload| matches!(payload, Payload::CtaDone(_)));
    bench.sm.settle(bench.now);
    (bench.notices(gone)[0], ended[0], bench)
}

#[test]
fn a_cta_is_flushed_in_the_cycle_of_the_decision_and_its_data_still_fills_the_l1() {
    let machine = squashing_machine();
    let mut alone = Bench::with_single_cta(&machine, 32, load_and_store());
    alone.latency = 1000;
    while !alone.is_done() {
        alone.run(1);
    }
    let undisturbed = alone.notices(|payload| matches!(payload, Payload::CtaDone(_)))[0];
    // The load left before the preemption, and its reply arrives after cycle 1000.
    let (back, ended, bench) = preempted_and_rebound(&machine, load_and_store(), 1000, 500, Preemption::Flush);
    assert_eq!(back, 500);
    let sm = &bench.stats().sm;
    assert_eq!((sm.ctas_flushed, sm.flushed_warp_instructions, sm.replayed_warp_instructions), (1, 1, 0));
    // The second load waits for the line that the first one requested. The L1 completes an access per cycle, so the four squashed accesses
    // of the first load delay the CTA by four cycles.
    assert_eq!(sm.packets_sent, alone.stats().sm.packets_sent, "nothing is fetched twice");
    assert_eq!(ended, undisturbed + 4);
    assert_eq!(sm.packets_sent, sm.packets_received);
}

#[test]
fn a_cta_is_switched_in_the_time_of_its_context_and_replays_its_load() {
    let machine = squashing_machine();
    let (back, ended, bench) = preempted_and_rebound(&machine, load_and_store(), 20_000, 500, Preemption::Switch);
    let sm = &bench.stats().sm;
    // Saving and restoring take the same time.
    assert_eq!(back, 500 + sm.context_cycles / 2);
    assert!(sm.context_cycles > 0 && back < 5000, "{back}");
    assert_eq!((sm.ctas_switched, sm.replayed_warp_instructions), (1, 1));
    assert_eq!(bench.kernel().warp_instructions, 4 + 1);
    // The replayed load merges with the first request, whose line comes after 20,000 cycles.
    assert!((40_000..41_000).contains(&ended), "{ended}");
}

#[test]
fn stores_of_a_cta_that_was_dropped_are_acknowledged_to_nobody() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[1]), LaneMask::FULL, &lane_addresses(0x20_0000, 4));
    let program = program.build_with_exit();
    let (back, ended, bench) = preempted_and_rebound(&squashing_machine(), program, 1000, 500, Preemption::Drop);
    assert_eq!(back, 500);
    let sent: Vec<u64> = bench.requests().iter().map(|(at, _)| *at).collect();
    let (first, second) = sent.split_at(sent.len() / 2);
    // The CTA ends with the acknowledgements of the second execution, not with those of the first execution, which arrive earlier.
    assert!(first.iter().all(|at| *at < 500) && second.iter().all(|at| *at > 500), "{sent:?}");
    assert!(ended > second[second.len() - 1] + 1000, "{ended}: {sent:?}");
    assert_eq!(bench.stats().sm.packets_sent, bench.stats().sm.packets_received);
}

#[test]
fn a_cta_without_instructions_ends_when_its_context_is_restored() {
    let mut program = ProgramBuilder::new(1);
    program.add_access(0, memory_inst(MemKind::Store, MemSpace::Global, NO_REGISTER, &[1]), LaneMask::FULL, &lane_addresses(0x20_0000, 4));
    let mut machine = squashing_machine();
    machine.gpu.dispatch.switch = Switch::Traffic;
    // The CTA waits only for its store.
    let (back, ended, bench) = preempted_and_rebound(&machine, program.build_with_exit(), 1000, 500, Preemption::Switch);
    let (last, _) = *bench.requests().last().unwrap();
    assert!(back > 1500 && last > back && ended > last + 1000, "returned in {back}, the last read left in {last}, the end in {ended}");
    assert_eq!((bench.stats().sm.ctas_switched, bench.stats().sm.replayed_warp_instructions), (1, 0));
}

/// Results of a run with per-CTA preemption: messages and counters, returned CTAs, and the memory ranges of all CTAs at each cut.
struct PerCtaRun {
    seen: SeenMessages,
    returned: u32,
    /// Number of CTAs that left, by outcome as seen at cuts: ended, switched, flushed, dropped.
    departed: [u64; 4],
}

/// Runs five CTAs; preempts single CTAs, chosen at random, by techniques chosen at random.
fn run_named(machine: &Machine, seed: u64, skip: bool, epoch: u64) -> (PerCtaRun, u64) {
    let program = program(&mut Rng::keyed(seed, &[7]), 5);
    let instructions: u64 = program.warps.iter().map(|stream| u64::from(stream.len())).sum();
    let mut info = kernel_info(160, CTAS_PER_RUN);
    info.shared_bytes = 30_000;
    let mut bench = Bench::new(machine, vec![(info, program)]);
    bench.skip = skip;
    if machine.gpu.sm.order.needs_phases() {
        bench = bench.with_phases();
    }
    bench.latency = 60;
    (0..CTAS_PER_RUN).for_each(|cta| bench.bind(0, cta));
    let mut rng = Rng::keyed(seed, &[11]);
    let mut grid = RebindingGrid::default();
    let mut next = 60 * (1 + rng.below(8));
    let (mut left, mut before) = (20, 0);
    let mut gone = [0; 4];
    while bench.sm.resident_ctas() > 0 || bench.sm.next_event() < Cycle::NEVER || !bench.incoming.is_empty() {
        assert!(bench.now < Cycle(2_000_000), "no end: {:#?}", bench.sm.waiting());
        for _ in 0..60 / epoch {
            bench.run(epoch);
        }
        grid.rebind(&mut bench);
        bench.sm.settle(bench.now);
        let mut values = Vec::new();
        bench.sm.visit_tasks(&mut values);
        let progress = SmProgress::decode(&values).expect("the SM encodes a valid progress");
        assert_eq!(progress.resident.len() as u32, bench.sm.resident_ctas());
        for (i, one) in progress.resident.iter().enumerate() {
            assert!(one.executed <= instructions && one.executed_here <= one.executed && one.started <= bench.now.next(), "{one:?}");
            if machine.gpu.sm.allocation == Allocation::Ranges {
                let apart = |(a, a_len): (u32, u32), (b, b_len): (u32, u32)| a + a_len <= b || b + b_len <= a;
                assert!(one.registers.0 + one.registers.1 <= machine.gpu.sm.registers);
                assert!(one.shared.0 + one.shared.1 <= machine.gpu.sm.shared_bytes);
                for other in &progress.resident[..i] {
                    assert!(apart(one.registers, other.registers) && apart(one.shared, other.shared), "{one:?} and {other:?} overlap");
                }
            }
        }
        for one in progress.gone.iter().filter(|one| one.left.0 >= before) {
            gone[one.how.map_or(0, |how| if how == Preemption::Drop { 3 } else { 1 + how as usize })] += 1;
        }
        before = bench.now.0;
        if bench.now.0 >= next && left > 0 {
            for one in &progress.resident {
                if rng.below(2) == 0 {
                    let how = [Preemption::Switch, Preemption::Flush, Preemption::Drain, Preemption::Drop][rng.below(4) as usize];
                    bench.sm.apply(bench.now, &SmDecision::PreemptCta(one.kernel, one.cta, how));
                }
            }
            // Preempting a CTA that is not resident has no effect.
            bench.sm.apply(bench.now, &SmDecision::PreemptCta(KernelIndex(0), CtaIndex(99), Preemption::Switch));
            next = bench.now.0 + 60 * (1 + rng.below(20));
            left -= 1;
        }
    }
    let end = Cycle(bench.now.0.next_multiple_of(20_000));
    bench.run(end.0 - bench.now.0);
    bench.sm.settle(end);
    (
        PerCtaRun { seen: (bench.sent.clone(), bench.stats().clone()), returned: grid.returned, departed: gone },
        instructions * u64::from(CTAS_PER_RUN),
    )
}

/// Returns machines that count registers and shared memory, and machines that allocate them by ranges.
fn allocating_machines() -> impl Iterator<Item = Machine> {
    switching_machines().flat_map(|machine| {
        [Allocation::Counts, Allocation::Ranges].map(|allocation| {
            let mut machine = machine.clone();
            machine.gpu.sm.allocation = allocation;
            machine
        })
    })
}

#[test]
fn preempting_single_ctas_by_different_techniques_loses_no_cta() {
    let mut all = [0; 4];
    for machine in allocating_machines() {
        for seed in 0..3 {
            let (run, instructions) = run_named(&machine, seed, true, 60);
            let (sm, kernel) = (&run.seen.1.sm, &run.seen.1.kernels[0]);
            assert_eq!(in_effect(&run.seen.1), instructions, "seed {seed}");
            assert_eq!((ended_ctas(&run.seen), kernel.ctas), (CTAS_PER_RUN as usize, u64::from(CTAS_PER_RUN)), "seed {seed}");
            assert_eq!(u64::from(run.returned), sm.ctas_switched + sm.ctas_flushed + sm.ctas_returned);
            assert!(all_replies_received(&machine, sm), "seed {seed}");
            // The outcomes of CTAs that controllers see agree with the counters.
            assert_eq!(
                run.departed,
                [u64::from(CTAS_PER_RUN), sm.ctas_switched, run.departed[2], sm.ctas_flushed - run.departed[2]],
                "seed {seed}"
            );
            all.iter_mut().zip(run.departed).for_each(|(all, gone)| *all += gone);
        }
    }
    assert!(all.iter().all(|gone| *gone >= 5), "{all:?}");
}

#[test]
fn preemption_by_cta_does_not_depend_on_skipping_or_epochs() {
    for machine in allocating_machines() {
        let (run, _) = run_named(&machine, 5, true, 60);
        for (skip, epoch) in [(false, 60), (true, 20), (true, 1)] {
            let (other, _) = run_named(&machine, 5, skip, epoch);
            assert!(other.seen == run.seen && other.departed == run.departed, "skip {skip}, epochs of {epoch}");
        }
    }
}

#[test]
fn draining_returns_only_ctas_that_have_not_started() {
    let machine = test_machine();
    let program = program(&mut Rng::keyed(3, &[7]), 5);
    let mut info = kernel_info(160, CTAS_PER_RUN);
    info.shared_bytes = 40_000;
    let mut bench = Bench::new(&machine, vec![(info, program)]);
    bench.latency = 60;
    (0..CTAS_PER_RUN).for_each(|cta| bench.bind(0, cta));
    bench.run(60);
    bench.run(40);
    let resident = bench.sm.resident_ctas();
    bench.sm.settle(bench.now);
    bench.sm.apply(bench.now, &SmDecision::Preempt(Preemption::Drain));
    bench.run(10);
    assert_eq!(bench.stats().sm.ctas_returned, u64::from(CTAS_PER_RUN - resident));
    assert_eq!((bench.sm.resident_ctas(), bench.stats().sm.ctas_switched, bench.stats().sm.ctas_flushed), (resident, 0, 0));
}
