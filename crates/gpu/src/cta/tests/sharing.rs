//! Applications that share the chip: who gets which SMs, in which order, and how often.

use warpshard_base::{AppId, KernelIndex, SmId};
use warpshard_config::machine::{Dispatch, Sharing};
use warpshard_engine::Unit;
use warpshard_protocol::EventKind;

use super::super::GridDecision;
use super::mock::{Chip, Job, PLAIN, Stepping, spec};
use super::{LONG, job};

fn of(app: u16, job: Job) -> Job {
    Job { app, ..job }
}

fn sharing(sharing: Sharing) -> Dispatch {
    Dispatch { sharing, ..spec() }
}

fn ran(sms: usize, spec: &Dispatch, jobs: &[Job], priorities: &[i32], again: bool) -> Chip {
    let mut chip = Chip::shared(sms, spec, jobs, priorities, again);
    chip.run(LONG, PLAIN);
    assert!(chip.grid.end_cycle().is_some(), "the run ends: {:?}", chip.grid.waiting());
    chip
}

#[test]
fn spatial_applications_stay_on_their_sms_until_the_other_is_over() {
    let jobs = [of(0, job(0, 40, 2, |_| 30)), of(1, job(0, 8, 2, |_| 30))];
    let chip = ran(4, &sharing(Sharing::Spatial), &jobs, &[0, 0], false);
    assert!(chip.places(1).iter().all(|sm| *sm >= 2), "{:?}", chip.places(1));
    // The second application's two waves end at 82; before that, the first has two SMs.
    let strays = chip.lives.iter().filter(|((kernel, _), life)| *kernel == 0 && life.sm >= 2);
    let first = strays.map(|(_, life)| life.start).min().expect("the SMs of the application that is over serve the other");
    assert!(first >= 82, "{first}");
}

#[test]
fn an_sm_that_changes_its_owner_ends_what_it_has_and_serves_the_new_one() {
    let jobs = [of(0, job(0, 100, 2, |_| 30)), of(1, job(0, 100, 2, |_| 30))];
    let mut chip = Chip::shared(4, &sharing(Sharing::Spatial), &jobs, &[0, 0], false);
    chip.run(100, PLAIN);
    chip.decide(&GridDecision::Owner { sm: SmId(1), app: AppId(1) });
    chip.run(400, PLAIN);
    let on_second =
        |kernel: u32, from: u64| chip.lives.iter().filter(|((of, _), life)| *of == kernel && life.sm == 1 && life.start >= from).count();
    // Those bound before, one of them ahead for each place, start until 140.
    assert_eq!((on_second(0, 140), on_second(1, 0) > 0), (0, true));
}

#[test]
fn interleaved_kernels_divide_every_sm_and_what_one_leaves_goes_to_the_other() {
    let jobs = [of(0, job(0, 96, 6, |_| 40)), of(1, job(0, 24, 6, |_| 40))];
    let chip = ran(2, &sharing(Sharing::Interleaved), &jobs, &[0, 0], false);
    assert_eq!((chip.most_of[&1], chip.places(1).iter().filter(|sm| **sm == 0).count()), (3, 12), "three of six places each");
    let whole = chip.lives.values().filter(|life| life.sm == 0 && life.start <= 300 && life.end > 300).count();
    assert_eq!(whole, 6, "when nothing of the second is left to assign, the first gets the whole SM");
}

#[test]
fn kernels_of_unequal_needs_get_equal_parts_of_what_they_need_most() {
    // A CTA of the first needs a quarter of everything, one of the second a twelfth.
    let jobs = [of(0, job(0, 60, 4, |_| 40)), of(1, job(0, 60, 12, |_| 40))];
    let chip = ran(1, &sharing(Sharing::Interleaved), &jobs, &[0, 0], false);
    let at = |kernel: u32| chip.lives.iter().filter(|((of, _), life)| *of == kernel && life.start <= 200 && life.end > 200).count();
    assert_eq!((at(0), at(1)), (2, 6));
}

#[test]
fn a_controllers_maximum_replaces_the_division() {
    let jobs = [of(0, job(0, 200, 6, |_| 40)), of(1, job(0, 200, 6, |_| 40))];
    let mut chip = Chip::shared(1, &sharing(Sharing::Interleaved), &jobs, &[0, 0], false);
    chip.decide(&GridDecision::KernelCtas { sm: None, kernel: KernelIndex(0), limit: 1 });
    chip.run(1000, PLAIN);
    assert_eq!((chip.most_of[&0], chip.most_of[&1]), (1, 5));
}

#[test]
fn a_maximum_for_one_sm_holds_there_until_one_for_all_replaces_it() {
    let jobs = [of(0, job(0, 400, 6, |_| 40)), of(1, job(0, 400, 6, |_| 40))];
    let mut chip = Chip::shared(2, &sharing(Sharing::Interleaved), &jobs, &[0, 0], false);
    let set = |sm: Option<u16>, kernel, limit| GridDecision::KernelCtas { sm: sm.map(SmId), kernel: KernelIndex(kernel), limit };
    let held = |chip: &Chip, on: u16, at: u64| {
        let lives = || chip.lives.iter().filter(|(_, life)| life.sm == on && life.start <= at && life.end > at);
        [0, 1].map(|kernel| lives().filter(|((of, _), _)| *of == kernel).count())
    };
    chip.decide(&set(None, 0, 2));
    chip.decide(&set(Some(1), 0, 4));
    chip.decide(&set(Some(1), 1, 0));
    chip.run(1000, PLAIN);
    assert_eq!((held(&chip, 0, 900), held(&chip, 1, 900)), ([2, 4], [4, 0]));
    chip.decide(&set(None, 0, 1));
    chip.decide(&set(None, 1, 100));
    chip.run(2000, PLAIN);
    assert_eq!((held(&chip, 0, 1900), held(&chip, 1, 1900)), ([1, 5], [1, 5]), "what fits is the most");
}

#[test]
fn kernels_of_higher_priority_are_served_first() {
    let jobs = [of(0, job(0, 8, 1, |_| 40)), of(1, job(0, 2, 1, |_| 40))];
    let spec = Dispatch { share_sm: true, ahead: 0, ..spec() };
    let plain = ran(2, &spec, &jobs, &[0, 0], false);
    assert!(plain.starts(1)[0] > plain.starts(0)[5]);
    let urgent = ran(2, &spec, &jobs, &[0, 1], false);
    assert_eq!((urgent.starts(1), urgent.starts(0)[0]), (vec![20, 20], 70));
}

#[test]
fn what_ends_starts_again_until_all_have_ended_once() {
    let jobs = [of(0, job(0, 2, 1, |_| 1000)), of(1, job(0, 2, 1, |_| 100)), of(1, job(0, 1, 1, |_| 50))];
    let chip = ran(4, &sharing(Sharing::Spatial), &jobs, &[0, 0], true);
    assert_eq!(chip.grid.end_cycle().map(|end| end.0), Some(1020));
    let ends: Vec<(u32, Option<u64>)> = chip.grid.application_ends().map(|(times, first)| (times, first.map(|at| at.0))).collect();
    // Each execution of the second takes 20 + 100 + 20 + 50 cycles.
    assert_eq!(ends, [(1, Some(1020)), (5, Some(190))]);
    assert_eq!(chip.grid.kernel_stats().len(), 3, "what is started again has no rows of its own");
    let seen = chip.events.iter().filter(|(_, event)| *event == EventKind::ApplicationEnded(AppId(1))).count();
    assert_eq!(seen, 5);
}

#[test]
fn stepping_shows_in_no_result_of_any_sharing() {
    let jobs = [
        of(0, job(0, 50, 3, |cta| 11 + u64::from(cta * cta * 37 % 41))),
        of(0, job(1, 9, 2, |cta| 60 + u64::from(cta))),
        of(1, job(0, 30, 5, |_| 17)),
        of(1, job(0, 12, 1, |cta| 1 + u64::from(cta * 31 % 29))),
        of(2, job(4, 25, 6, |cta| 5 + u64::from(cta % 3))),
    ];
    for kind in [Sharing::LeftOver, Sharing::Spatial, Sharing::Interleaved] {
        let spec = sharing(kind);
        // What was started again goes on until the end of the run is heard.
        let until_end = |chip: &Chip| {
            let end = chip.grid.end_cycle().map_or(0, |end| end.0);
            let lives: Vec<_> = chip.lives.iter().filter(|(_, life)| life.start < end).map(|(of, life)| (*of, *life)).collect();
            let ended = chip.events.iter().position(|(_, event)| *event == EventKind::RunEnded).expect("the run ends");
            (lives, chip.events[..ended].to_vec(), chip.grid.kernel_stats())
        };
        let expected = ran(7, &spec, &jobs, &[0, 1, 0], true);
        assert_eq!(expected.lives.keys().filter(|(kernel, _)| *kernel < 5).count(), 126, "every CTA runs");
        for (span, skip, first_sm) in [(1, true, 3), (2, false, 6), (3, true, 1), (5, true, 5)] {
            let mut chip = Chip::shared(7, &spec, &jobs, &[0, 1, 0], true);
            chip.run(LONG, Stepping { span, skip, first_sm });
            assert_eq!(until_end(&chip), until_end(&expected), "{kind:?}");
        }
    }
}

#[test]
fn ctas_that_come_back_are_bound_again_first_and_run_once_in_effect() {
    let jobs = [of(0, job(0, 60, 2, |cta| 30 + u64::from(cta % 5))), of(1, job(0, 40, 3, |_| 50))];
    for kind in [Sharing::LeftOver, Sharing::Spatial, Sharing::Interleaved] {
        let mut chip = Chip::shared(4, &sharing(kind), &jobs, &[0, 0], false);
        for at in [100, 107, 180, 300] {
            chip.run(at, PLAIN);
            chip.give_back((at % 4) as u16);
        }
        chip.run(LONG, PLAIN);
        let counters = chip.grid.counters();
        assert_eq!((counters.ctas_done, chip.lives.len()), (100, 100), "{kind:?}");
        assert!(counters.ctas_preempted > 0 && counters.ctas_bound > 100, "{kind:?}: {counters:?}");
        assert_eq!(counters.ctas_started - counters.ctas_preempted, 100, "{kind:?}");
    }
}

#[test]
fn an_sm_that_is_taken_away_serves_its_new_owner_and_what_it_had_goes_elsewhere() {
    let jobs = [of(0, job(0, 12, 2, |_| 500)), of(1, job(0, 100, 2, |_| 30))];
    let mut chip = Chip::shared(4, &sharing(Sharing::Spatial), &jobs, &[0, 0], false);
    chip.run(100, PLAIN);
    chip.decide(&GridDecision::Owner { sm: SmId(1), app: AppId(1) });
    chip.give_back(1);
    chip.run(LONG, PLAIN);
    // A CTA's last life: none of the first application's ends on the SM that was taken away before the second application is over.
    let end = chip.lives.iter().filter(|((kernel, _), _)| *kernel == 1).map(|(_, life)| life.end).max().expect("it ran");
    let strays = chip.lives.iter().filter(|((kernel, _), life)| *kernel == 0 && life.sm == 1 && life.start < end).count();
    assert_eq!((strays, chip.grid.counters().ctas_done), (0, 112));
}

#[test]
fn an_urgent_application_that_is_started_again_does_not_keep_others_from_ending() {
    let jobs = [of(0, job(0, 4, 1, |_| 50)), of(1, job(0, 4, 1, |_| 50))];
    let chip = ran(2, &Dispatch { max_kernels: 1, ..spec() }, &jobs, &[9, 0], true);
    assert_eq!(chip.grid.application_ends().map(|(times, _)| times).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn launches_wait_for_their_arrivals_and_say_when_they_are_ready() {
    // The second application's two kernels arrive at 300 and 400, the third at once; the first one's would take long to end.
    let jobs = [of(0, job(0, 400, 2, |_| 30)), of(1, job(0, 2, 2, |_| 30)), of(1, job(0, 2, 2, |_| 30)), of(1, job(0, 2, 2, |_| 30))];
    let spec = Dispatch { share_sm: true, ..sharing(Sharing::LeftOver) };
    for (how, again) in [(PLAIN, false), (Stepping { span: 5, skip: true, first_sm: 1 }, true)] {
        let mut chip = Chip::arriving(2, &spec, &jobs, &[0, 1], &[300, 400]);
        chip.run(LONG, how);
        let start = |kernel: u32| chip.lives.iter().filter(|((of, _), _)| *of == kernel).map(|(_, life)| life.start).min().unwrap();
        // Of higher priority, they get the next place.
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
fn a_launch_that_has_not_arrived_holds_no_slot() {
    // One kernel at a time. The first application's is there at once, the second's at 1,500.
    let jobs = [of(0, job(0, 8, 2, |_| 30)), of(0, job(0, 8, 2, |_| 30)), of(1, job(0, 2, 2, |_| 30))];
    for how in [PLAIN, Stepping { span: 5, skip: true, first_sm: 1 }] {
        let mut chip = Chip::arriving(2, &Dispatch { max_kernels: 1, ..spec() }, &jobs, &[0, 9], &[1_500]);
        chip.run(LONG, how);
        let rows = chip.grid.kernel_stats();
        let times = |kernel: usize| (rows[kernel].launched.unwrap(), rows[kernel].started.unwrap(), rows[kernel].ended.unwrap());
        assert!(times(0).1 < 50 && times(1).2 < 1_000, "{:?} {:?}", times(0), times(1));
        // Its first CTA is bound in the cycle of its arrival, and starts one latency later.
        assert_eq!((times(2).0, times(2).1), (1_500 + 5 - 20, 1_505));
    }
}
