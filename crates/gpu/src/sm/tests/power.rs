//! Tests of power states: pausing, draining, and turning off and on.

use warpshard_protocol::{EventKind, PowerState};

use super::*;
use crate::sm::SmDecision;
use crate::test_machine::{kernel_info, test_machine};

/// Returns a program in which each warp loads a line and adds to the loaded value.
fn load_program(warps: usize) -> Arc<CtaProgram> {
    let mut program = ProgramBuilder::new(warps);
    for warp in 0..warps {
        program.add_access(
            warp,
            memory_inst(MemKind::Load, MemSpace::Global, 5, &[]),
            LaneMask::FULL,
            &lane_addresses(0x1000 * warp as u64, 4),
        );
    }
    program.add_to_all(register_inst(OpClass::Sp, 6, &[5]));
    program.build_with_exit()
}

fn set_power(bench: &mut Bench, state: PowerState) {
    bench.sm.settle(bench.now);
    bench.sm.apply(bench.now, &SmDecision::Power(state));
}

/// Returns the cycles of the events that the SM has drained.
fn drained_events(bench: &mut Bench) -> Vec<u64> {
    bench.events().into_iter().filter(|(_, kind)| matches!(kind, EventKind::SmQuiet(_))).map(|(at, _)| at).collect()
}

#[test]
fn a_paused_sm_drains_with_its_last_load_and_resumes() {
    for skipping in [false, true] {
        let bench = Bench::with_single_cta(&test_machine(), 128, load_program(4));
        let mut bench = if skipping { bench.with_skipping() } else { bench };
        bench.run(60);
        let issued = bench.kernel().warp_instructions;
        assert_eq!(issued, 4, "the loads are outstanding, and nothing else can issue");
        set_power(&mut bench, PowerState::Paused);
        (0..8).for_each(|_| bench.run(50));
        let told = drained_events(&mut bench);
        assert_eq!(told.len(), 1);
        assert!((100..200).contains(&told[0]), "at {}: after the latency of the memory", told[0]);
        assert_eq!(bench.kernel().warp_instructions, issued, "a paused SM issues nothing");
        set_power(&mut bench, PowerState::Active);
        bench.finish();
        assert_eq!(bench.kernel().warp_instructions, 4 * 3);
        let sm = &bench.stats().sm;
        assert_eq!((sm.paused_cycles, sm.paused_resident_cycles, sm.gated_cycles), (400, 400, 0));
    }
}

#[test]
fn an_empty_paused_sm_is_drained_immediately_and_starts_no_cta() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 1), load_program(4))]);
    set_power(&mut bench, PowerState::Paused);
    bench.bind(0, 0);
    bench.run(50);
    assert_eq!(drained_events(&mut bench), [0]);
    assert_eq!(bench.sm.resident_ctas(), 0);
    set_power(&mut bench, PowerState::Active);
    bench.finish();
    assert_eq!(bench.stats().sm.ctas_started, 1);
    assert_eq!((bench.stats().sm.paused_cycles, bench.stats().sm.paused_resident_cycles), (50, 0));
}

#[test]
fn an_sm_that_is_turned_off_finishes_its_ctas_first() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 2), load_program(4))]);
    bench.bind(0, 0);
    bench.bind(0, 1);
    bench.run(20);
    set_power(&mut bench, PowerState::Gated);
    bench.finish();
    let ended = bench.now.0;
    assert_eq!(bench.stats().kernels[0].ctas, 2);
    (0..2).for_each(|_| bench.run(50));
    bench.sm.settle(bench.now);
    let gated = bench.stats().sm.gated_cycles;
    assert!((100..=bench.now.0 - ended + 1).contains(&gated), "{gated} cycles without power");
}

#[test]
fn waking_takes_its_latency() {
    let started = |payload: &Payload| matches!(payload, Payload::CtaStarted(_));
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 1), load_program(4))]);
    set_power(&mut bench, PowerState::Gated);
    bench.run(10);
    set_power(&mut bench, PowerState::Active);
    bench.bind(0, 0);
    bench.finish();
    assert_eq!(bench.notices(started), [10 + u64::from(test_machine().gpu.sm.wake_latency)]);
    assert_eq!(bench.stats().sm.gated_cycles, 10);
}

#[test]
fn a_cta_bound_before_the_decision_turns_a_gated_sm_on() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 1), load_program(4))]);
    set_power(&mut bench, PowerState::Gated);
    bench.run(10);
    bench.bind(0, 0);
    bench.finish();
    bench.run(30);
    bench.sm.settle(bench.now);
    assert_eq!(bench.stats().kernels[0].ctas, 1);
    assert!(bench.stats().sm.gated_cycles >= 40 && bench.stats().sm.gated_cycles < bench.now.0);
}

#[test]
fn a_gated_sm_is_counted_as_gated_until_the_cta_that_turns_it_on_is_seen() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 1), load_program(4))]);
    set_power(&mut bench, PowerState::Gated);
    bench.run(10);
    bench.bind_at(bench.now.after(20), 0, 0);
    for gated in [20, 30, 30] {
        // A cut may be between the sending of the message and its arrival.
        bench.run(10);
        bench.sm.settle(bench.now);
        assert_eq!(bench.stats().sm.gated_cycles, gated);
    }
    bench.finish();
    assert_eq!(bench.stats().kernels[0].ctas, 1);
}
