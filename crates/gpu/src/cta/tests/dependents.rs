//! Tests of programmatic dependent launches with mock SMs, cycle by cycle. A message takes 5 cycles, and a launch 20.

use warpshard_base::KernelIndex;
use warpshard_config::machine::Dispatch;
use warpshard_engine::Unit;
use warpshard_protocol::EventKind;

use super::mock::{EVERY_CYCLE, MockChip, MockKernel, Stepping, dispatch_spec};
use super::{MAX_TEST_CYCLES, mock_kernel, run_chip};

/// Returns a dispatch configuration in which kernels share SMs.
fn sharing_dispatch() -> Dispatch {
    Dispatch { share_sm: true, ..dispatch_spec() }
}

fn run_dependents(sms: usize, jobs: &[MockKernel], trigger: Option<fn(u32) -> u64>) -> MockChip {
    let mut chip = MockChip::with_dependents(sms, &sharing_dispatch(), jobs, trigger);
    chip.run(MAX_TEST_CYCLES, EVERY_CYCLE);
    assert!(chip.grid.end_cycle().is_some(), "the run ends: {:?}", chip.grid.waiting());
    chip
}

fn kernel_ends(chip: &MockChip) -> Vec<Option<u64>> {
    chip.grid.kernel_stats().iter().map(|stats| stats.ended).collect()
}

#[test]
fn a_dependent_starts_one_launch_latency_after_the_last_cta_triggered() {
    // CTA 1 triggers last, 30 cycles after its start.
    let jobs = [mock_kernel(0, 2, 4, |_| 200), mock_kernel(0, 2, 4, |_| 10)];
    let chip = run_dependents(2, &jobs, Some(|cta| 10 + 20 * u64::from(cta)));
    assert_eq!((chip.start_cycles(0), chip.start_cycles(1)), (vec![20; 2], vec![20 + 30 + 20; 2]));
    assert_eq!(chip.grid.kernel_stats()[1].launched, Some(50));
    assert_eq!(chip.grid.kernel_stats()[1].launch_latency_cycles, 0, "the other kernel runs at the same time");
    assert_eq!(chip.waiting.len(), 2, "the warps have to wait for the preceding launch");
}

#[test]
fn an_ended_cta_counts_as_triggered() {
    // CTA 1 would trigger after its end.
    let jobs = [mock_kernel(0, 2, 4, |cta| 200 - 150 * u64::from(cta)), mock_kernel(0, 2, 4, |_| 10)];
    let chip = run_dependents(2, &jobs, Some(|cta| if cta == 0 { 5 } else { 1000 }));
    assert_eq!(chip.start_cycles(1), [20 + 50 + 20; 2]);
    let (without, plain) = (run_dependents(2, &jobs, None), run_chip(2, &sharing_dispatch(), &jobs));
    assert_eq!((without.start_cycles(1), kernel_ends(&without)), (plain.start_cycles(1), kernel_ends(&plain)));
    assert!(without.waiting.is_empty() && without.met_dependencies.is_empty(), "no dependency remains");
}

#[test]
fn chained_dependents_end_no_earlier_than_their_predecessors() {
    // The second and third kernels complete long before the first one.
    let jobs = [mock_kernel(0, 1, 4, |_| 500), mock_kernel(0, 1, 4, |_| 10), mock_kernel(0, 1, 4, |_| 10)];
    let mut chip = MockChip::with_dependents(1, &sharing_dispatch(), &jobs, Some(|_| 1));
    chip.run(400, EVERY_CYCLE);
    assert_eq!((chip.start_cycles(1), chip.start_cycles(2)), (vec![41], vec![62]));
    assert_eq!(kernel_ends(&chip), [None; 3]);
    let lines = chip.grid.waiting().join("\n");
    assert!(lines.contains("ends with the launch on which it depends"), "{lines}");
    chip.run(MAX_TEST_CYCLES, EVERY_CYCLE);
    assert_eq!(kernel_ends(&chip), [Some(520); 3]);
    let order: Vec<_> = chip.events.iter().filter(|(_, kind)| matches!(kind, EventKind::KernelEnded(_))).copied().collect();
    assert_eq!(order, [0, 1, 2].map(|kernel| (525, EventKind::KernelEnded(KernelIndex(kernel)))));
}

#[test]
fn every_sm_is_notified_once_that_the_preceding_launch_has_ended() {
    let jobs = [mock_kernel(0, 2, 4, |_| 200), mock_kernel(0, 2, 4, |_| 500)];
    let chip = run_dependents(3, &jobs, Some(|_| 1));
    // The kernel ends in cycle 220, and the grid scheduler is notified 5 cycles later.
    assert_eq!(chip.met_dependencies, [0, 1, 2].map(|sm| (230, sm, 1)));
}

#[test]
fn a_dependency_is_met_when_the_last_store_is_acknowledged() {
    let jobs = [mock_kernel(0, 2, 4, |cta| 200 + 30 * u64::from(cta)), mock_kernel(0, 2, 4, |_| 1000)];
    let mut chip = MockChip::with_dependents(2, &sharing_dispatch(), &jobs, Some(|_| 1));
    chip.stores = Some(70);
    chip.run(MAX_TEST_CYCLES, EVERY_CYCLE);
    // CTA 1 ends in cycle 250, and its stores are acknowledged in cycle 320.
    assert_eq!(chip.met_dependencies, [0, 1].map(|sm| (330, sm, 1)));
    assert_eq!(chip.grid.kernel_stats()[0].ended, Some(250));
}

#[test]
fn returned_ctas_are_bound_before_ctas_of_their_dependent() {
    // One CTA fills an SM. SM 1 returns its CTA when the dependent has a CTA on each of the other SMs.
    let jobs = [mock_kernel(0, 1, 4, |_| 300), mock_kernel(0, 40, 4, |_| 50)];
    let mut chip = MockChip::with_dependents(1, &sharing_dispatch(), &jobs, Some(|_| 1));
    chip.run(60, EVERY_CYCLE);
    assert!(!chip.start_cycles(1).is_empty());
    chip.return_ctas(0);
    chip.run(MAX_TEST_CYCLES, EVERY_CYCLE);
    assert!(chip.grid.end_cycle().is_some(), "{:?}", chip.grid.waiting());
    let again = chip.start_cycles(0)[0];
    let later = chip.start_cycles(1).into_iter().filter(|start| *start > 60).min();
    assert!(again > 60 && later > Some(again), "CTA 0 restarts in {again}, and the next CTA of the dependent starts in {later:?}");
}

#[test]
fn dependents_do_not_depend_on_stepping() {
    let jobs = [
        mock_kernel(0, 6, 3, |cta| 100 + 40 * u64::from(cta)),
        mock_kernel(0, 9, 2, |cta| 30 + u64::from(cta)),
        mock_kernel(0, 4, 3, |_| 25),
        mock_kernel(1, 5, 2, |_| 60),
    ];
    let run = |how| {
        let mut chip = MockChip::with_dependents(3, &sharing_dispatch(), &jobs, Some(|cta| 3 + 7 * u64::from(cta)));
        chip.stores = Some(33);
        chip.run(MAX_TEST_CYCLES, how);
        chip.met_dependencies.sort_unstable();
        (chip.lifetimes, chip.events, chip.met_dependencies, chip.waiting)
    };
    let base = run(EVERY_CYCLE);
    assert!(base.0.len() == 24 && !base.2.is_empty() && !base.3.is_empty());
    for how in [
        Stepping { span: 5, skip: true, first_sm: 0 },
        Stepping { span: 3, skip: false, first_sm: 2 },
        Stepping { span: 1, skip: true, first_sm: 1 },
    ] {
        assert_eq!(run(how), base);
    }
}
