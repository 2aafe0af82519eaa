//! Tests of programmatic dependent launches with mock SMs, cycle by cycle. A message takes 5 cycles, and a launch 20.

use warpshard_base::KernelIndex;
use warpshard_config::machine::Dispatch;
use warpshard_engine::Unit;
use warpshard_protocol::EventKind;

use super::mock::{Chip, Job, PLAIN, Stepping, spec};
use super::{LONG, job, ran};

/// Returns a dispatch configuration in which kernels share SMs.
fn sharing() -> Dispatch {
    Dispatch { share_sm: true, ..spec() }
}

fn dependent(sms: usize, jobs: &[Job], trigger: Option<fn(u32) -> u64>) -> Chip {
    let mut chip = Chip::dependent(sms, &sharing(), jobs, trigger);
    chip.run(LONG, PLAIN);
    assert!(chip.grid.end_cycle().is_some(), "the run ends: {:?}", chip.grid.waiting());
    chip
}

fn ends(chip: &Chip) -> Vec<Option<u64>> {
    chip.grid.kernel_stats().iter().map(|stats| stats.ended).collect()
}

#[test]
fn a_dependent_starts_one_launch_latency_after_the_last_cta_triggered() {
    // CTA 1 triggers last, 30 cycles after its start.
    let jobs = [job(0, 2, 4, |_| 200), job(0, 2, 4, |_| 10)];
    let chip = dependent(2, &jobs, Some(|cta| 10 + 20 * u64::from(cta)));
    assert_eq!((chip.starts(0), chip.starts(1)), (vec![20; 2], vec![20 + 30 + 20; 2]));
    assert_eq!(chip.grid.kernel_stats()[1].launched, Some(50));
    assert_eq!(chip.grid.kernel_stats()[1].launch_latency_cycles, 0, "the other kernel runs at the same time");
    assert_eq!(chip.waiting.len(), 2, "the warps have to wait for the preceding launch");
}

#[test]
fn an_ended_cta_counts_as_triggered() {
    // CTA 1 would trigger after its end.
    let jobs = [job(0, 2, 4, |cta| 200 - 150 * u64::from(cta)), job(0, 2, 4, |_| 10)];
    let chip = dependent(2, &jobs, Some(|cta| if cta == 0 { 5 } else { 1000 }));
    assert_eq!(chip.starts(1), [20 + 50 + 20; 2]);
    let (without, plain) = (dependent(2, &jobs, None), ran(2, &sharing(), &jobs));
    assert_eq!((without.starts(1), ends(&without)), (plain.starts(1), ends(&plain)));
    assert!(without.waiting.is_empty() && without.met.is_empty(), "no dependency remains");
}

#[test]
fn chained_dependents_end_no_earlier_than_their_predecessors() {
    // The second and third kernels complete long before the first one.
    let jobs = [job(0, 1, 4, |_| 500), job(0, 1, 4, |_| 10), job(0, 1, 4, |_| 10)];
    let mut chip = Chip::dependent(1, &sharing(), &jobs, Some(|_| 1));
    chip.run(400, PLAIN);
    assert_eq!((chip.starts(1), chip.starts(2)), (vec![41], vec![62]));
    assert_eq!(ends(&chip), [None; 3]);
    let lines = chip.grid.waiting().join("\n");
    assert!(lines.contains("ends with the launch on which it depends"), "{lines}");
    chip.run(LONG, PLAIN);
    assert_eq!(ends(&chip), [Some(520); 3]);
    let order: Vec<_> = chip.events.iter().filter(|(_, kind)| matches!(kind, EventKind::KernelEnded(_))).copied().collect();
    assert_eq!(order, [0, 1, 2].map(|kernel| (525, EventKind::KernelEnded(KernelIndex(kernel)))));
}

#[test]
fn every_sm_is_notified_once_that_the_preceding_launch_has_ended() {
    let jobs = [job(0, 2, 4, |_| 200), job(0, 2, 4, |_| 500)];
    let chip = dependent(3, &jobs, Some(|_| 1));
    // The kernel ends in cycle 220, and the grid scheduler is notified 5 cycles later.
    assert_eq!(chip.met, [0, 1, 2].map(|sm| (230, sm, 1)));
}

#[test]
fn a_dependency_is_met_when_the_last_store_is_acknowledged() {
    let jobs = [job(0, 2, 4, |cta| 200 + 30 * u64::from(cta)), job(0, 2, 4, |_| 1000)];
    let mut chip = Chip::dependent(2, &sharing(), &jobs, Some(|_| 1));
    chip.stores = Some(70);
    chip.run(LONG, PLAIN);
    // CTA 1 ends in cycle 250, and its stores are acknowledged in cycle 320.
    assert_eq!(chip.met, [0, 1].map(|sm| (330, sm, 1)));
    assert_eq!(chip.grid.kernel_stats()[0].ended, Some(250));
}

#[test]
fn returned_ctas_are_bound_before_ctas_of_their_dependent() {
    // One CTA fills an SM. SM 1 returns its CTA when the dependent has a CTA on each of the other SMs.
    let jobs = [job(0, 1, 4, |_| 300), job(0, 40, 4, |_| 50)];
    let mut chip = Chip::dependent(1, &sharing(), &jobs, Some(|_| 1));
    chip.run(60, PLAIN);
    assert!(!chip.starts(1).is_empty());
    chip.return_ctas(0);
    chip.run(LONG, PLAIN);
    assert!(chip.grid.end_cycle().is_some(), "{:?}", chip.grid.waiting());
    let again = chip.starts(0)[0];
    let later = chip.starts(1).into_iter().filter(|start| *start > 60).min();
    assert!(again > 60 && later > Some(again), "CTA 0 restarts in {again}, and the next CTA of the dependent starts in {later:?}");
}

#[test]
fn dependents_do_not_depend_on_stepping() {
    let jobs = [
        job(0, 6, 3, |cta| 100 + 40 * u64::from(cta)),
        job(0, 9, 2, |cta| 30 + u64::from(cta)),
        job(0, 4, 3, |_| 25),
        job(1, 5, 2, |_| 60),
    ];
    let run = |how| {
        let mut chip = Chip::dependent(3, &sharing(), &jobs, Some(|cta| 3 + 7 * u64::from(cta)));
        chip.stores = Some(33);
        chip.run(LONG, how);
        chip.met.sort_unstable();
        (chip.lifetimes, chip.events, chip.met, chip.waiting)
    };
    let base = run(PLAIN);
    assert!(base.0.len() == 24 && !base.2.is_empty() && !base.3.is_empty());
    for how in [
        Stepping { span: 5, skip: true, first_sm: 0 },
        Stepping { span: 3, skip: false, first_sm: 2 },
        Stepping { span: 1, skip: true, first_sm: 1 },
    ] {
        assert_eq!(run(how), base);
    }
}
