//! Tests of both modes on hand-made observations.

use warpshard_base::{AppId, KernelIndex};
use warpshard_control::{Controller, KernelFacts, Peaks};
use warpshard_policy::testing::{CounterTable, Scene};

use crate::built_policy;
use super::*;

const COUNTER_COLUMNS: [&str; 5] = ["warp_instructions", "ctas", "llc_accesses", "llc_hits", "llc_pending_hits"];

/// An application of a scene: its IPC by number of SMs, its LLC accesses per 1000 instructions, and whether its CTAs end.
struct TestApp {
    ipc: fn(u32) -> f64,
    apki: u64,
    ends: bool,
}

/// A memory-intensive application: it saturates at four SMs, and all its accesses miss.
const MEMORY_INTENSIVE: TestApp = TestApp { ipc: |sms| 0.5 * sms.min(4) as f64, apki: 200, ends: false };
/// A compute-intensive application: every further SM increases its IPC.
const COMPUTE_INTENSIVE: TestApp = TestApp { ipc: |sms| 1.5 * sms as f64, apki: 1, ends: true };

/// Runs the policy on 24 SMs; returns the cycle and the decisions of each cut.
fn run(apps: &[TestApp]) -> Vec<(u64, String)> {
    let mut policy = built_policy("cd_search", "");
    let kernel = |app| KernelFacts { app: AppId(app), ctas_per_sm: 1, ..KernelFacts::default() };
    let mut scene = Scene { sms: CounterTable::named(&["warp_instructions"]), applications: CounterTable::named(&COUNTER_COLUMNS), ..Scene::default() };
    scene.facts.kernels = (0..apps.len() as u16).map(kernel).collect();
    scene.facts.peaks = Peaks { issue: 2.0, access_bytes: 128.0, noc_bytes: 384.0, llc_bytes: 384.0, dram_bytes: 250.0 };
    scene.sms.values = vec![0; 24];
    let share = 24 / apps.len() as u32;
    let mut active: Vec<Vec<bool>> = vec![vec![true; share as usize]; apps.len()];
    let mut cuts = Vec::new();
    let mut cut = |scene: &mut Scene, cycle: u64, events: &[EventKind], active: &mut Vec<Vec<bool>>, policy: &mut dyn Controller| {
        let row = |(app, own): (&TestApp, &Vec<bool>)| {
            let sms = own.iter().filter(|on| **on).count() as u32;
            let instructions = ((app.ipc)(sms) * 20_000.0) as u64;
            [instructions, u64::from(app.ends), instructions * app.apki / 1000, 0, 0]
        };
        scene.applications.values = apps.iter().zip(&*active).flat_map(row).collect();
        let out = scene.decide(policy, cycle, events);
        for decision in out.decisions() {
            if let Decision::Power { sm: Some(sm), state } = decision {
                let (app, index) = (u32::from(sm.0) / share, u32::from(sm.0) % share);
                active[app as usize][index as usize] = *state == PowerState::Active;
            }
        }
        cuts.push((cycle, out.to_string()));
    };
    cut(&mut scene, 0, &[], &mut active, &mut *policy);
    let started: Vec<EventKind> = (0..apps.len() as u32).map(|kernel| EventKind::KernelStarted(KernelIndex(kernel))).collect();
    cut(&mut scene, 5_000, &started, &mut active, &mut *policy);
    while let Some(alarm) = policy.alarm() {
        cut(&mut scene, alarm.0, &[], &mut active, &mut *policy);
    }
    cuts
}

#[test]
fn a_mix_enters_the_performance_mode_and_the_compute_intensive_application_gets_the_rest() {
    let cuts = run(&[MEMORY_INTENSIVE, COMPUTE_INTENSIVE]);
    let cycles: Vec<u64> = cuts.iter().map(|(cycle, _)| *cycle).collect();
    // Warm-up and profile, then five samples: 10, 8, 6 and 4 SMs keep the IPC, 2 SMs do not.
    assert_eq!(cycles[..4], [0, 5_000, 25_000, 45_000]);
    assert_eq!(*cycles.last().unwrap(), 45_000 + 5 * 40_000);
    assert!(cuts[3].1.contains("power 1 on sm11") && cuts[3].1.contains("power 1 on sm10") && !cuts[3].1.contains("sm9"), "{}", cuts[3].1);
    assert!(cuts[3].1.ends_with("performance mode"), "{}", cuts[3].1);
    let last = &cuts.last().unwrap().1;
    assert!(last.contains("owner 1 on sm4: not needed") && last.contains("owner 1 on sm11") && !last.contains("owner 1 on sm3:"), "{last}");
    assert!(last.contains("preempt 0 on sm4: no CTA ended in the warm-up") && last.contains("power 2 on sm11"), "{last}");
    assert!(last.contains("power 2 on sm2"), "the SMs of the last sample resume: {last}");
}

#[test]
fn memory_intensive_applications_enter_the_power_mode_and_the_rest_is_gated() {
    let ends = TestApp { ends: true, ..MEMORY_INTENSIVE };
    let cuts = run(&[MEMORY_INTENSIVE, ends]);
    assert!(cuts[3].1.contains("power 1 on sm1,") && cuts[3].1.contains("power 1 on sm23") && cuts[3].1.ends_with("power mode"));
    // The first sample has one SM, the second has four, the estimate.
    assert_eq!(cuts.last().unwrap().0, 45_000 + 2 * 40_000);
    let last = &cuts.last().unwrap().1;
    assert!(last.contains("power 0 on sm4: the search is over") && last.contains("power 0 on sm23: the search is over"), "{last}");
    assert!(last.contains("preempt 0 on sm4") && !last.contains("preempt 0 on sm16"), "an application whose CTAs end drains: {last}");
    assert!(!last.contains("owner"), "{last}");
}

#[test]
fn compute_intensive_applications_keep_even_shares() {
    let cuts = run(&[COMPUTE_INTENSIVE, COMPUTE_INTENSIVE]);
    assert_eq!(cuts.len(), 4);
    assert_eq!(cuts[3].1, "all applications are compute-intensive: the partition stays even");
}

#[test]
fn of_four_applications_the_rest_is_divided_evenly() {
    let cuts = run(&[COMPUTE_INTENSIVE, MEMORY_INTENSIVE, MEMORY_INTENSIVE, COMPUTE_INTENSIVE]);
    let last = &cuts.last().unwrap().1;
    // Each application has six SMs; four suffice for each memory-intensive one.
    for (sm, owner) in [(10, 0), (11, 3), (16, 0), (17, 3)] {
        assert!(last.contains(&format!("owner {owner} on sm{sm}: not needed")), "{last}");
    }
}

#[test]
fn one_application_has_nothing_to_partition() {
    let mut policy = built_policy("cd_search", "");
    assert_eq!(Scene::default().cut(&mut *policy, 0, &[]), "one application has the GPU: there is nothing to partition");
    assert!(policy.triggers().is_empty() && policy.alarm().is_none());
}

#[test]
fn wrong_parameters_are_refused() {
    for (parameters, why) in [
        ("step = 0", "`step` = 0"),
        ("loss = 1.0", "`loss` = 1"),
        ("profile = 0", "`profile` = 0"),
        ("utilisation = 0.0", "`utilisation` = 0"),
    ] {
        let error = crate::catalogue().controller(&format!("cd_search:{}", parameters.replace(' ', ""))).err().expect("it is refused").to_string();
        assert!(error.contains(why), "{error}");
    }
}
