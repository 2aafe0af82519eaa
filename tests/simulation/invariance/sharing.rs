//! Applications that share the GPU under a controller that changes owners and limits at random: the same bytes for every way of running,
//! and every application executes each instruction once.

use std::sync::Arc;

use warpshard::base::{AppId, Cycle, KernelIndex, Rng, SmId};
use warpshard::chip::RunOptions;
use warpshard::control::{Controller, Decision, DecisionSet, EventSelector, Knob, KnobSet, Observation, Preemption, Trigger};
use warpshard::{
    program::Program,
    workload::{MixedApplication, mix},
};

use super::files::{ResultFiles, run};
use super::in_rotation;
use crate::common::{SimulationCase, built_in, machine};

pub(crate) const SHARING_MODES: [&str; 3] = ["left-over", "spatial", "interleaved"];

/// Controller with random decisions from a seed, on a machine with the given sharing mode and preemption technique.
#[derive(warpshard::state::State)]
pub(crate) struct RandomSharing(pub(crate) Rng, pub(crate) Option<Preemption>, pub(crate) &'static str);

impl RandomSharing {
    /// Returns the knob that only exists in this sharing mode.
    fn mode_knob(&self) -> Option<Knob> {
        match self.2 {
            "spatial" => Some(Knob::Owner),
            "interleaved" => Some(Knob::KernelCtas),
            _ => None,
        }
    }
}

/// Controller that preempts single CTAs with random techniques, whenever a kernel becomes ready and at regular times.
#[derive(warpshard::state::State)]
pub(crate) struct RandomCtaPreemption(pub(crate) Rng);

impl Controller for RandomCtaPreemption {
    fn name(&self) -> &str {
        "pick"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Every(997), Trigger::On(EventSelector::KernelReady(None))]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::PreemptCta])
    }

    fn reads_ctas(&self) -> bool {
        true
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let ways = [Preemption::Switch, Preemption::Flush, Preemption::Drain, Preemption::Drop];
        for (sm, progress) in (0..).map(SmId).zip(seen.ctas) {
            out.signal(Some(sm), "executed", progress.resident.iter().map(|cta| cta.executed as f64).sum());
            out.signal(Some(sm), "gone", progress.gone.iter().map(|gone| gone.left.0 as f64).sum());
            for cta in &progress.resident {
                let how = ways[self.0.below(4) as usize];
                // Preemption ends after a time, because a CTA that is flushed repeatedly would never end.
                if self.0.below(3) == 0 && seen.cycle < Cycle(60_000) {
                    out.decide(Decision::PreemptCta { sm, kernel: cta.kernel, cta: cta.cta, how });
                }
            }
        }
        out.because("at random");
    }
}

impl Controller for RandomSharing {
    fn name(&self) -> &str {
        "shuffle"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Every(1511)]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::Bypass, Knob::CtaLimit, Knob::Preempt].into_iter().chain(self.mode_knob()).collect::<Vec<_>>())
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let of_mode = self.mode_knob();
        let mut below = |limit: usize| self.0.below(limit as u64) as u32;
        let sms = seen.sms.rows().len();
        let sm = SmId(below(sms) as u16);
        let owner = Decision::Owner { sm: Some(sm), app: AppId(below(seen.facts.applications.len()) as u16) };
        let kernel = KernelIndex(below(seen.facts.kernels.len()));
        let on = (below(2) == 0).then_some(sm);
        let most = Decision::KernelCtas { sm: on, kernel, limit: 1 + below(4) };
        [owner, most].into_iter().filter(|decision| of_mode == Some(decision.knob())).for_each(|decision| out.decide(decision));
        out.decide(Decision::Bypass { sm: on, kernel, ctas: below(4) });
        out.decide(Decision::CtaLimit { sm: Some(SmId(below(sms) as u16)), limit: 1 + below(8) });
        // Preemption ends after a time, because a CTA that is flushed repeatedly would never end.
        if let Some(how) = self.1.filter(|_| seen.cycle < Cycle(60_000)) {
            out.decide(Decision::Preempt { sm: Some(sm), how });
        }
        out.because("at random");
    }
}

pub(crate) fn mix_parts() -> Vec<MixedApplication> {
    let model = |name: &str, ctas: &str| (*built_in(name, &[("cta_count", ctas)])).clone();
    let saxpy = Program::load(std::path::Path::new("programs/saxpy.toml"), None, &[("n".into(), "3000".into())]).unwrap();
    let workloads = [model("stream", "16"), saxpy.workload().unwrap(), model("gather", "12")];
    workloads.into_iter().zip([0, 1, 0]).map(|(workload, priority)| MixedApplication { workload, priority }).collect()
}

pub(crate) fn sharing_case(mode: &str, again: bool) -> SimulationCase {
    // The spatial mode models a switch as traffic, and the interleaved mode squashes outstanding accesses.
    let switch = if mode == "spatial" { "traffic" } else { "time" };
    let (order, under_way) = if mode == "interleaved" { ("kernel-gto", "squashed") } else { ("lrr", "awaited") };
    let settings = [
        ("gpu.dispatch.sharing", mode),
        ("gpu.dispatch.max_kernels", "8"),
        ("gpu.dispatch.switch", switch),
        ("gpu.dispatch.under_way", under_way),
        ("gpu.sm.order", order),
    ];
    let machine = machine("tiny", &settings);
    SimulationCase { name: mode.into(), machine, workload: Arc::new(mix(mix_parts(), again).unwrap()), policy: None }
}

pub(crate) const TECHNIQUES: [Option<Preemption>; 3] = [None, Some(Preemption::Switch), Some(Preemption::Flush)];

fn run_with_random_decisions(case: &SimulationCase, seed: u64, how: Option<Preemption>, options: RunOptions) -> ResultFiles {
    let mode = SHARING_MODES.into_iter().find(|mode| *mode == case.name).unwrap();
    run(case, RunOptions { controllers: vec![Box::new(RandomSharing(Rng::keyed(seed, &[0]), how, mode))], ..options })
}

/// Returns the total of an SM counter.
fn counter_total(files: &ResultFiles, name: &str) -> u64 {
    let stats: serde_json::Value = serde_json::from_str(&files.stats).unwrap();
    stats["components"]["sm"]["total"][name].as_u64().unwrap()
}

fn applications(files: &ResultFiles) -> Vec<serde_json::Value> {
    let stats: serde_json::Value = serde_json::from_str(&files.stats).unwrap();
    stats["applications"]["list"].as_array().unwrap().clone()
}

#[test]
fn the_way_of_running_changes_nothing_for_applications_that_share_the_gpu() {
    for (seed, mode) in SHARING_MODES.into_iter().enumerate() {
        for how in [TECHNIQUES[seed], TECHNIQUES[(seed + 1) % 3]] {
            let case = sharing_case(mode, true);
            let base = run_with_random_decisions(&case, seed as u64, how, RunOptions { interval: Some(1000), ..RunOptions::default() });
            assert!(
                applications(&base).iter().any(|app| app["later_warp_instructions"].as_u64() > Some(0)),
                "{mode}: nothing was started again"
            );
            let taken = counter_total(&base, "ctas_switched") + counter_total(&base, "ctas_flushed");
            assert_eq!(how.is_some(), taken > 0, "{mode}, {how:?}");
            for &(threads, epoch, skip) in in_rotation(&[(3, Some(8), true), (1, Some(5), false)], seed) {
                let options = RunOptions { threads, epoch, skip, interval: Some(1000), ..RunOptions::default() };
                let other = run_with_random_decisions(&case, seed as u64, how, options);
                assert_eq!(other, base, "{mode}, {how:?}, {threads} threads, epochs of {epoch:?}");
            }
        }
    }
}

#[test]
fn every_application_executes_the_same_instructions_as_alone() {
    let alone: Vec<u64> = mix_parts()
        .into_iter()
        .map(|part| {
            let workload = Arc::new(part.workload);
            let files =
                run(&SimulationCase { name: "alone".into(), machine: machine("tiny", &[]), workload, policy: None }, RunOptions::default());
            let stats: serde_json::Value = serde_json::from_str(&files.stats).unwrap();
            stats["total"]["warp_instructions"].as_u64().unwrap()
        })
        .collect();
    for mode in SHARING_MODES {
        // SM counters cover all executions, so applications with wasted instructions run only once here.
        let switched_again = mode != "interleaved";
        for (how, again) in [(None, true), (Some(Preemption::Switch), switched_again), (Some(Preemption::Flush), false)] {
            let files = run_with_random_decisions(&sharing_case(mode, again), 0, how, RunOptions { threads: 2, ..RunOptions::default() });
            let executed: Vec<u64> = applications(&files).iter().map(|app| app["warp_instructions"].as_u64().unwrap()).collect();
            // The SMs count wasted instructions.
            let in_vain = counter_total(&files, "flushed_warp_instructions") + counter_total(&files, "replayed_warp_instructions");
            if in_vain > 0 {
                assert_eq!(executed.iter().sum::<u64>() - in_vain, alone.iter().sum::<u64>(), "{mode}");
            } else {
                assert_eq!(executed, alone, "{mode}, {how:?}");
            }
        }
    }
}

/// Counts the timeline's decisions of a knob on single SMs.
fn on_single_sms(files: &ResultFiles, knob: &str) -> usize {
    let columns = |line: &&str| line.split(',').nth(2).is_some_and(|sm| !sm.is_empty()) && line.split(',').nth(3) == Some(knob);
    files.timeline.lines().filter(columns).count()
}

#[test]
fn kernel_management_decides_the_same_for_every_way_of_running() {
    let model = |name: &str, parameters: &[(&str, &str)]| MixedApplication { workload: (*built_in(name, parameters)).clone(), priority: 0 };
    let pool = || {
        let gather = model("gather", &[("cta_count", "160"), ("table", "8192"), ("rounds", "3")]);
        let stream = model("stream", &[("cta_count", "120")]);
        vec![gather, model("reduce", &[("cta_count", "300")]), stream]
    };
    let machine = machine("tiny", &[("gpu.dispatch.sharing", "interleaved"), ("gpu.dispatch.max_kernels", "3")]);
    let policy = Some(("kernel_mgmt", "opt = [1, 2, 2]\npreference = [0.5, 2.0, 0.8]"));
    let case = SimulationCase { name: "pool".into(), machine, workload: Arc::new(mix(pool(), false).unwrap()), policy };
    let managed = |options: RunOptions| run(&case, RunOptions { controllers: case.controllers(), ..options });
    let base = managed(RunOptions { interval: Some(1000), ..RunOptions::default() });
    assert!(on_single_sms(&base, "kernel_ctas") > 4 && on_single_sms(&base, "bypass") > 4, "{}", base.timeline);
    assert!(counter_total(&base, "ctas_bypassing") > 0 && counter_total(&base, "l1_bypasses") > 0);
    for (threads, epoch, skip) in [(3, Some(8), true), (1, Some(5), false), (2, None, true)] {
        let other = managed(RunOptions { threads, epoch, skip, interval: Some(1000), ..RunOptions::default() });
        assert_eq!(other, base, "{threads} threads, epochs of {epoch:?}");
    }
}

#[test]
fn the_way_of_running_changes_nothing_with_preempted_ctas_and_range_allocation() {
    let machines =
        [("time", "true", "awaited"), ("traffic", "false", "awaited"), ("time", "true", "squashed"), ("traffic", "true", "squashed")];
    for (number, (switch, share, under_way)) in machines.into_iter().enumerate() {
        let settings = [
            ("gpu.sm.allocation", "ranges"),
            ("gpu.dispatch.share_sm", share),
            ("gpu.dispatch.max_kernels", "8"),
            ("gpu.dispatch.switch", switch),
            ("gpu.dispatch.under_way", under_way),
        ];
        let mut workload = mix(mix_parts(), true).unwrap();
        // An application with higher priority arrives late.
        workload.applications[1].arrivals = vec![Cycle(5000)];
        let case = SimulationCase { name: switch.into(), machine: machine("tiny", &settings), workload: Arc::new(workload), policy: None };
        let picked = |options: RunOptions| {
            run(&case, RunOptions { controllers: vec![Box::new(RandomCtaPreemption(Rng::keyed(3, &[1])))], ..options })
        };
        let base = picked(RunOptions { interval: Some(1000), ..RunOptions::default() });
        assert!(
            counter_total(&base, "ctas_switched") > 0
                && counter_total(&base, "ctas_flushed") > 0
                && counter_total(&base, "ctas_returned") > 0
        );
        assert_eq!(counter_total(&base, "replayed_warp_instructions") > 0, under_way == "squashed");
        for &(threads, epoch, skip) in in_rotation(&[(3, Some(8), true), (2, None, true), (1, Some(5), false)], number) {
            let options = RunOptions { threads, epoch, skip, interval: Some(1000), ..RunOptions::default() };
            assert_eq!(picked(options), base, "{switch}, {under_way}, {threads} threads, epochs of {epoch:?}");
        }
    }
}
