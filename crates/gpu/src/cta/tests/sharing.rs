//! Tests of applications that share the chip: assignment of SMs, order of launches, and number of executions.

use warpshard_base::{AppId, KernelIndex, SmId};
use warpshard_config::machine::{Dispatch, Sharing};
use warpshard_engine::Unit;
use warpshard_protocol::EventKind;

use super::super::GridDecision;
use super::mock::{EVERY_CYCLE, MockChip, MockKernel, Stepping, dispatch_spec};
use super::{MAX_TEST_CYCLES, mock_kernel};

fn with_application(app: u16, job: MockKernel) -> MockKernel {
    MockKernel { app, ..job }
}

fn sharing_dispatch(sharing: Sharing) -> Dispatch {
    Dispatch { sharing, ..dispatch_spec() }
}

fn run_shared_chip(sms: usize, spec: &Dispatch, jobs: &[MockKernel], priorities: &[i32], again: bool) -> MockChip {
    let mut chip = MockChip::with_applications(sms, spec, jobs, priorities, again);
    chip.run(MAX_TEST_CYCLES, EVERY_CYCLE);
    assert!(chip.grid.end_cycle().is_some(), "the run ends: {:?}", chip.grid.waiting());
    chip
}

#[test]
fn spatial_applications_keep_their_sms_until_the_other_one_ends() {
    let jobs = [with_application(0, mock_kernel(0, 40, 2, |_| 30)), with_application(1, mock_kernel(0, 8, 2, |_| 30))];
    let chip = run_shared_chip(4, &sharing_dispatch(Sharing::Spatial), &jobs, &[0, 0], false);
    assert!(chip.sms_of(1).iter().all(|sm| *sm >= 2), "{:?}", chip.sms_of(1));
    // The two waves of the second application end at cycle 82; before that, the first application has two SMs.
    let strays = chip.lifetimes.iter().filter(|((kernel, _), life)| *kernel == 0 && life.sm >= 2);
    let first = strays.map(|(_, life)| life.start).min().expect("the SMs of the completed application serve the other one");
    assert!(first >= 82, "{first}");
}

#[test]
fn an_sm_with_a_new_owner_completes_its_ctas_and_then_serves_the_owner() {
    let jobs = [with_application(0, mock_kernel(0, 100, 2, |_| 30)), with_application(1, mock_kernel(0, 100, 2, |_| 30))];
    let mut chip = MockChip::with_applications(4, &sharing_dispatch(Sharing::Spatial), &jobs, &[0, 0], false);
    chip.run(100, EVERY_CYCLE);
    chip.apply_decision(&GridDecision::Owner { sm: SmId(1), app: AppId(1) });
    chip.run(400, EVERY_CYCLE);
    let on_second = |kernel: u32, from: u64| {
        chip.lifetimes.iter().filter(|((of, _), life)| *of == kernel && life.sm == 1 && life.start >= from).count()
    };
    // CTAs bound before, one of them ahead for each CTA slot, start until cycle 140.
    assert_eq!((on_second(0, 140), on_second(1, 0) > 0), (0, true));
}

#[test]
fn interleaved_kernels_divide_every_sm_and_divide_it_again_when_one_ends() {
    let jobs = [with_application(0, mock_kernel(0, 96, 6, |_| 40)), with_application(1, mock_kernel(0, 24, 6, |_| 40))];
    let chip = run_shared_chip(2, &sharing_dispatch(Sharing::Interleaved), &jobs, &[0, 0], false);
    assert_eq!((chip.max_sharing[&1], chip.sms_of(1).iter().filter(|sm| **sm == 0).count()), (3, 12), "three of six CTA slots each");
    let whole = chip.lifetimes.values().filter(|life| life.sm == 0 && life.start <= 300 && life.end > 300).count();
    assert_eq!(whole, 6, "without unassigned CTAs of the second kernel, the first gets the whole SM");
}

#[test]
fn kernels_get_equal_shares_of_their_dominant_resources() {
    // A CTA of the first application needs a quarter of each resource, and a CTA of the second application a twelfth.
    let jobs = [with_application(0, mock_kernel(0, 60, 4, |_| 40)), with_application(1, mock_kernel(0, 60, 12, |_| 40))];
    let chip = run_shared_chip(1, &sharing_dispatch(Sharing::Interleaved), &jobs, &[0, 0], false);
    let at = |kernel: u32| chip.lifetimes.iter().filter(|((of, _), life)| *of == kernel && life.start <= 200 && life.end > 200).count();
    assert_eq!((at(0), at(1)), (2, 6));
}

#[test]
fn a_controllers_maximum_replaces_the_division() {
    let jobs = [with_application(0, mock_kernel(0, 200, 6, |_| 40)), with_application(1, mock_kernel(0, 200, 6, |_| 40))];
    let mut chip = MockChip::with_applications(1, &sharing_dispatch(Sharing::Interleaved), &jobs, &[0, 0], false);
    chip.apply_decision(&GridDecision::KernelCtas { sm: None, kernel: KernelIndex(0), limit: 1 });
    chip.run(1000, EVERY_CYCLE);
    assert_eq!((chip.max_sharing[&0], chip.max_sharing[&1]), (1, 5));
}

#[test]
fn a_maximum_for_one_sm_holds_until_a_maximum_for_all_overrides_it() {
    let jobs = [with_application(0, mock_kernel(0, 400, 6, |_| 40)), with_application(1, mock_kernel(0, 400, 6, |_| 40))];
    let mut chip = MockChip::with_applications(2, &sharing_dispatch(Sharing::Interleaved), &jobs, &[0, 0], false);
    let set = |sm: Option<u16>, kernel, limit| GridDecision::KernelCtas { sm: sm.map(SmId), kernel: KernelIndex(kernel), limit };
    let held = |chip: &MockChip, on: u16, at: u64| {
        let lifetimes = || chip.lifetimes.iter().filter(|(_, life)| life.sm == on && life.start <= at && life.end > at);
        [0, 1].map(|kernel| lifetimes().filter(|((of, _), _)| *of == kernel).count())
    };
    chip.apply_decision(&set(None, 0, 2));
    chip.apply_decision(&set(Some(1), 0, 4));
    chip.apply_decision(&set(Some(1), 1, 0));
    chip.run(1000, EVERY_CYCLE);
    assert_eq!((held(&chip, 0, 900), held(&chip, 1, 900)), ([2, 4], [4, 0]));
    chip.apply_decision(&set(None, 0, 1));
    chip.apply_decision(&set(None, 1, 100));
    chip.run(2000, EVERY_CYCLE);
    assert_eq!((held(&chip, 0, 1900), held(&chip, 1, 1900)), ([1, 5], [1, 5]), "the CTAs that fit are the maximum");
}

#[test]
fn kernels_of_higher_priority_are_served_first() {
    let jobs = [with_application(0, mock_kernel(0, 8, 1, |_| 40)), with_application(1, mock_kernel(0, 2, 1, |_| 40))];
    let spec = Dispatch { share_sm: true, ahead: 0, ..dispatch_spec() };
    let plain = run_shared_chip(2, &spec, &jobs, &[0, 0], false);
    assert!(plain.start_cycles(1)[0] > plain.start_cycles(0)[5]);
    let urgent = run_shared_chip(2, &spec, &jobs, &[0, 1], false);
    assert_eq!((urgent.start_cycles(1), urgent.start_cycles(0)[0]), (vec![20, 20], 70));
}

#[test]
fn applications_restart_until_all_have_ended_once() {
    let jobs = [
        with_application(0, mock_kernel(0, 2, 1, |_| 1000)),
        with_application(1, mock_kernel(0, 2, 1, |_| 100)),
        with_application(1, mock_kernel(0, 1, 1, |_| 50)),
    ];
    let chip = run_shared_chip(4, &sharing_dispatch(Sharing::Spatial), &jobs, &[0, 0], true);
    assert_eq!(chip.grid.end_cycle().map(|end| end.0), Some(1020));
    let ends: Vec<(u32, Option<u64>)> = chip.grid.application_ends().map(|(times, first)| (times, first.map(|at| at.0))).collect();
    // Each execution of the second application takes 20 + 100 + 20 + 50 cycles.
    assert_eq!(ends, [(1, Some(1020)), (5, Some(190))]);
    assert_eq!(chip.grid.kernel_stats().len(), 3, "restarted kernels have no separate rows");
    let seen = chip.events.iter().filter(|(_, event)| *event == EventKind::ApplicationEnded(AppId(1))).count();
    assert_eq!(seen, 5);
}

#[test]
fn results_of_sharing_do_not_depend_on_stepping() {
    let jobs = [
        with_application(0, mock_kernel(0, 50, 3, |cta| 11 + u64::from(cta * cta * 37 % 41))),
        with_application(0, mock_kernel(1, 9, 2, |cta| 60 + u64::from(cta))),
        with_application(1, mock_kernel(0, 30, 5, |_| 17)),
        with_application(1, mock_kernel(0, 12, 1, |cta| 1 + u64::from(cta * 31 % 29))),
        with_application(2, mock_kernel(4, 25, 6, |cta| 5 + u64::from(cta % 3))),
    ];
    for kind in [Sharing::LeftOver, Sharing::Spatial, Sharing::Interleaved] {
        let spec = sharing_dispatch(kind);
        // A restarted application continues until the grid scheduler is notified of the end of the run.
        let until_end = |chip: &MockChip| {
            let end = chip.grid.end_cycle().map_or(0, |end| end.0);
            let lifetimes: Vec<_> = chip.lifetimes.iter().filter(|(_, life)| life.start < end).map(|(of, life)| (*of, *life)).collect();
            let ended = chip.events.iter().position(|(_, event)| *event == EventKind::RunEnded).expect("the run ends");
            (lifetimes, chip.events[..ended].to_vec(), chip.grid.kernel_stats())
        };
        let expected = run_shared_chip(7, &spec, &jobs, &[0, 1, 0], true);
        assert_eq!(expected.lifetimes.keys().filter(|(kernel, _)| *kernel < 5).count(), 126, "every CTA runs");
        for (span, skip, first_sm) in [(1, true, 3), (2, false, 6), (3, true, 1), (5, true, 5)] {
            let mut chip = MockChip::with_applications(7, &spec, &jobs, &[0, 1, 0], true);
            chip.run(MAX_TEST_CYCLES, Stepping { span, skip, first_sm });
            assert_eq!(until_end(&chip), until_end(&expected), "{kind:?}");
        }
    }
}

#[test]
fn returned_ctas_are_bound_first_and_take_effect_once() {
    let jobs =
        [with_application(0, mock_kernel(0, 60, 2, |cta| 30 + u64::from(cta % 5))), with_application(1, mock_kernel(0, 40, 3, |_| 50))];
    for kind in [Sharing::LeftOver, Sharing::Spatial, Sharing::Interleaved] {
        let mut chip = MockChip::with_applications(4, &sharing_dispatch(kind), &jobs, &[0, 0], false);
        for at in [100, 107, 180, 300] {
            chip.run(at, EVERY_CYCLE);
            chip.return_ctas((at % 4) as u16);
        }
        chip.run(MAX_TEST_CYCLES, EVERY_CYCLE);
        let counters = chip.grid.counters();
        assert_eq!((counters.ctas_done, chip.lifetimes.len()), (100, 100), "{kind:?}");
        assert!(counters.ctas_preempted > 0 && counters.ctas_bound > 100, "{kind:?}: {counters:?}");
        assert_eq!(counters.ctas_started - counters.ctas_preempted, 100, "{kind:?}");
    }
}

#[test]
fn a_preempted_sm_serves_its_new_owner_and_its_ctas_move() {
    let jobs = [with_application(0, mock_kernel(0, 12, 2, |_| 500)), with_application(1, mock_kernel(0, 100, 2, |_| 30))];
    let mut chip = MockChip::with_applications(4, &sharing_dispatch(Sharing::Spatial), &jobs, &[0, 0], false);
    chip.run(100, EVERY_CYCLE);
    chip.apply_decision(&GridDecision::Owner { sm: SmId(1), app: AppId(1) });
    chip.return_ctas(1);
    chip.run(MAX_TEST_CYCLES, EVERY_CYCLE);
    // Only the last execution of a CTA is recorded: no CTA of the first application ends on the preempted SM before the second application
    // is over.
    let end =
        chip.lifetimes.iter().filter(|((kernel, _), _)| *kernel == 1).map(|(_, life)| life.end).max().expect("the second application ran");
    let strays = chip.lifetimes.iter().filter(|((kernel, _), life)| *kernel == 0 && life.sm == 1 && life.start < end).count();
    assert_eq!((strays, chip.grid.counters().ctas_done), (0, 112));
}

#[test]
fn a_restarted_application_of_high_priority_does_not_starve_others() {
    let jobs = [with_application(0, mock_kernel(0, 4, 1, |_| 50)), with_application(1, mock_kernel(0, 4, 1, |_| 50))];
    let chip = run_shared_chip(2, &Dispatch { max_kernels: 1, ..dispatch_spec() }, &jobs, &[9, 0], true);
    assert_eq!(chip.grid.application_ends().map(|(times, _)| times).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn launches_wait_for_their_arrivals_and_send_an_event_when_ready() {
    // The first kernel of the second application arrives at cycle 300, the second at 400, and the third immediately. The kernel of the
    // first application would run long.
    let jobs = [
        with_application(0, mock_kernel(0, 400, 2, |_| 30)),
        with_application(1, mock_kernel(0, 2, 2, |_| 30)),
        with_application(1, mock_kernel(0, 2, 2, |_| 30)),
        with_application(1, mock_kernel(0, 2, 2, |_| 30)),
    ];
    let spec = Dispatch { share_sm: true, ..sharing_dispatch(Sharing::LeftOver) };
    for (how, again) in [(EVERY_CYCLE, false), (Stepping { span: 5, skip: true, first_sm: 1 }, true)] {
        let mut chip = MockChip::with_arrivals(2, &spec, &jobs, &[0, 1], &[300, 400]);
        chip.run(MAX_TEST_CYCLES, how);
        let start = |kernel: u32| chip.lifetimes.iter().filter(|((of, _), _)| *of == kernel).map(|(_, life)| life.start).min().unwrap();
        // The kernels have the higher priority and get the next CTA slot.
        assert!((305..370).contains(&start(1)) && (405..470).contains(&start(2)), "{} and {}, {again}", start(1), start(2));
        let ready: Vec<u64> = (0..4)
            .map(|kernel| {
                let ready = EventKind::KernelReady(KernelIndex(kernel));
                let at: Vec<u64> = chip.events.iter().filter(|event| event.1 == ready).map(|event| event.0).collect();
                assert_eq!(at.len(), 1, "kernel {kernel} is announced once");
                at[0]
            })
            .collect();
        assert_eq!((ready[1], ready[2]), (300, 400));
        assert!(ready[0] < 300 && ready[3] > 400, "{ready:?}");
        let launched: Vec<u64> = chip.grid.kernel_stats().iter().filter_map(|kernel| kernel.launched).collect();
        assert!(launched[1] <= 300 && launched[1] > launched[0], "{launched:?}");
    }
}

#[test]
fn a_launch_before_its_arrival_occupies_no_slot() {
    // One kernel runs at a time. The application of the first kernel arrives at cycle 0, and the second application at cycle 1,500.
    let jobs = [
        with_application(0, mock_kernel(0, 8, 2, |_| 30)),
        with_application(0, mock_kernel(0, 8, 2, |_| 30)),
        with_application(1, mock_kernel(0, 2, 2, |_| 30)),
    ];
    for how in [EVERY_CYCLE, Stepping { span: 5, skip: true, first_sm: 1 }] {
        let mut chip = MockChip::with_arrivals(2, &Dispatch { max_kernels: 1, ..dispatch_spec() }, &jobs, &[0, 9], &[1_500]);
        chip.run(MAX_TEST_CYCLES, how);
        let rows = chip.grid.kernel_stats();
        let times = |kernel: usize| (rows[kernel].launched.unwrap(), rows[kernel].started.unwrap(), rows[kernel].ended.unwrap());
        assert!(times(0).1 < 50 && times(1).2 < 1_000, "{:?} {:?}", times(0), times(1));
        // The first CTA of the second application is bound in the cycle of the arrival and starts one latency later.
        assert_eq!((times(2).0, times(2).1), (1_500 + 5 - 20, 1_505));
    }
}
