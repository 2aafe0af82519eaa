//! Applications that share the GPU under a controller that changes owners and maxima at random: the same bytes for every way of running,
//! and every instruction of every application once.

use std::sync::Arc;

use crate::common::{Case, built_in, machine};
use crate::files::{Files, run};
use warpshard::base::{AppId, KernelIndex, Rng, SmId};
use warpshard::chip::RunOptions;
use warpshard::control::{Controller, Decision, DecisionSet, Knob, KnobSet, Observation, Trigger};
use warpshard::frontend::{Part, mix, program::Program};

const MODES: [&str; 3] = ["left-over", "spatial", "interleaved"];

/// Decides at random, from a seed.
struct Shuffle(Rng);

impl Controller for Shuffle {
    fn name(&self) -> &str {
        "shuffle"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::Every(613)]
    }

    fn knobs(&self) -> KnobSet {
        KnobSet::of(&[Knob::Owner, Knob::KernelCtas, Knob::CtaLimit])
    }

    fn observe(&mut self, seen: &Observation<'_>, out: &mut DecisionSet) {
        let mut below = |limit: usize| self.0.below(limit as u64) as u32;
        let sms = seen.sms.rows().len();
        let sm = SmId(below(sms) as u16);
        out.decide(Decision::Owner { sm: Some(sm), app: AppId(below(seen.facts.applications.len()) as u16) });
        let kernel = KernelIndex(below(seen.facts.kernels.len()) as u16);
        out.decide(Decision::KernelCtas { kernel, limit: 1 + below(4) });
        out.decide(Decision::CtaLimit { sm: Some(SmId(below(sms) as u16)), limit: 1 + below(8) });
        out.because("at random");
    }
}

fn parts() -> Vec<Part> {
    let model = |name: &str, ctas: &str| (*built_in(name, &[("cta_count", ctas)])).clone();
    let saxpy = Program::load(std::path::Path::new("programs/saxpy.toml"), None, &[("n".into(), "9000".into())]).unwrap();
    let workloads = [model("stream", "40"), saxpy.workload().unwrap(), model("gather", "24")];
    workloads.into_iter().zip([0, 1, 0]).map(|(workload, priority)| Part { workload, priority }).collect()
}

fn case(mode: &str, again: bool) -> Case {
    let machine = machine("tiny", &[("gpu.dispatch.sharing", mode), ("gpu.dispatch.max_kernels", "8")]);
    Case { name: mode.into(), machine, workload: Arc::new(mix(parts(), again).unwrap()), policy: None }
}

fn shuffled(case: &Case, seed: u64, options: RunOptions) -> Files {
    run(case, RunOptions { controllers: vec![Box::new(Shuffle(Rng::keyed(seed, &[0])))], ..options })
}

fn applications(files: &Files) -> Vec<serde_json::Value> {
    let stats: serde_json::Value = serde_json::from_str(&files.stats).unwrap();
    stats["applications"]["list"].as_array().unwrap().clone()
}

#[test]
fn the_way_of_running_changes_nothing_for_applications_that_share_the_gpu() {
    for (seed, mode) in MODES.into_iter().enumerate() {
        let case = case(mode, true);
        let base = shuffled(&case, seed as u64, RunOptions { interval: Some(1000), ..RunOptions::default() });
        assert!(applications(&base).iter().any(|app| app["executions"].as_u64() > Some(1)), "{mode}: nothing was started again");
        for (threads, epoch, skip) in [(2, None, true), (3, Some(8), true), (1, Some(5), false)] {
            let options = RunOptions { threads, epoch, skip, interval: Some(1000), ..RunOptions::default() };
            assert_eq!(shuffled(&case, seed as u64, options), base, "{mode}, {threads} threads, epochs of {epoch:?}");
        }
    }
}

#[test]
fn every_application_executes_what_it_executes_alone_however_the_gpu_is_shared() {
    let alone: Vec<u64> = parts()
        .into_iter()
        .map(|part| {
            let workload = Arc::new(part.workload);
            let files = run(&Case { name: "alone".into(), machine: machine("tiny", &[]), workload, policy: None }, RunOptions::default());
            let stats: serde_json::Value = serde_json::from_str(&files.stats).unwrap();
            stats["total"]["warp_instructions"].as_u64().unwrap()
        })
        .collect();
    for mode in MODES {
        for again in [false, true] {
            for seed in 0..4 {
                let files = shuffled(&case(mode, again), seed, RunOptions { threads: 2, ..RunOptions::default() });
                let executed: Vec<u64> = applications(&files).iter().map(|app| app["warp_instructions"].as_u64().unwrap()).collect();
                assert_eq!(executed, alone, "{mode}, started again: {again}, seed {seed}");
            }
        }
    }
}
