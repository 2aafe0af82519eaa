//! Tests of power states: pausing, draining, and turning off and on.

use warpshard_protocol::{EventKind, PowerState};

use super::*;
use crate::sm::SmDecision;
use crate::test_machine::{kernel_info, test_machine};

/// Returns a program in which each warp loads a line and adds to the loaded value.
fn loads(warps: usize) -> Arc<CtaProgram> {
    let mut program = Program::new(warps);
    for warp in 0..warps {
        program.access(warp, mem(MemKind::Load, MemSpace::Global, 5, &[]), LaneMask::FULL, &lanes(0x1000 * warp as u64, 4));
    }
    program.all(op(OpClass::Sp, 6, &[5]));
    program.exit()
}

fn set(bench: &mut Bench, state: PowerState) {
    bench.sm.settle(bench.now);
    bench.sm.apply(bench.now, &SmDecision::Power(state));
}

/// Returns the cycles of the events that the SM has drained.
fn quiet(bench: &mut Bench) -> Vec<u64> {
    bench.events().into_iter().filter(|(_, kind)| matches!(kind, EventKind::SmQuiet(_))).map(|(at, _)| at).collect()
}

#[test]
fn a_paused_sm_drains_with_its_last_load_and_resumes() {
    for skipping in [false, true] {
        let bench = Bench::single(&test_machine(), 128, loads(4));
        let mut bench = if skipping { bench.skipping() } else { bench };
        bench.run(60);
        let issued = bench.kernel().warp_instructions;
        assert_eq!(issued, 4, "the loads are outstanding, and nothing else can issue");
        set(&mut bench, PowerState::Paused);
        (0..8).for_each(|_| bench.run(50));
        let told = quiet(&mut bench);
        assert_eq!(told.len(), 1);
        assert!((100..200).contains(&told[0]), "at {}: after the latency of the memory", told[0]);
        assert_eq!(bench.kernel().warp_instructions, issued, "a paused SM issues nothing");
        set(&mut bench, PowerState::Active);
        bench.finish();
        assert_eq!(bench.kernel().warp_instructions, 4 * 3);
        let sm = &bench.stats().sm;
        assert_eq!((sm.paused_cycles, sm.paused_resident_cycles, sm.gated_cycles), (400, 400, 0));
    }
}

#[test]
fn an_empty_paused_sm_is_drained_immediately_and_starts_no_cta() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 1), loads(4))]);
    set(&mut bench, PowerState::Paused);
    bench.bind(0, 0);
    bench.run(50);
    assert_eq!(quiet(&mut bench), [0]);
    assert_eq!(bench.sm.resident_ctas(), 0);
    set(&mut bench, PowerState::Active);
    bench.finish();
    assert_eq!(bench.stats().sm.ctas_started, 1);
    assert_eq!((bench.stats().sm.paused_cycles, bench.stats().sm.paused_resident_cycles), (50, 0));
}

#[test]
fn an_sm_that_is_turned_off_finishes_its_ctas_first() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 2), loads(4))]);
    bench.bind(0, 0);
    bench.bind(0, 1);
    bench.run(20);
    set(&mut bench, PowerState::Gated);
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
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 1), loads(4))]);
    set(&mut bench, PowerState::Gated);
    bench.run(10);
    set(&mut bench, PowerState::Active);
    bench.bind(0, 0);
    bench.finish();
    assert_eq!(bench.notices(started), [10 + u64::from(test_machine().gpu.sm.wake_latency)]);
    assert_eq!(bench.stats().sm.gated_cycles, 10);
}

#[test]
fn a_cta_bound_before_the_decision_turns_a_gated_sm_on() {
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 1), loads(4))]);
    set(&mut bench, PowerState::Gated);
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
    let mut bench = Bench::new(&test_machine(), vec![(kernel_info(128, 1), loads(4))]);
    set(&mut bench, PowerState::Gated);
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
