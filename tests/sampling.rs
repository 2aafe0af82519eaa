//! Sampled runs: measuring changes nothing, sampling everything is the whole run, estimates are near the truth, the same for all threads.

use std::path::Path;
use std::sync::Arc;

use warpshard::base::KernelIndex;
use warpshard::chip::{self, Judge, LaunchProgress, Measure, RunOptions, RunResult, Verdict};
use warpshard::config::{Machine, Override};
use warpshard::frontend::program::Program;
use warpshard::frontend::{Command, Workload, model};
use warpshard::sample::{Options, SampleError, sample};
use warpshard::stats::{Basis, EndedBy};

fn machine(name: &str, set: &[(&str, &str)]) -> Machine {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    Machine::load(name, &set).unwrap().machine
}

fn program(file: &str, set: &[(&str, &str)]) -> Arc<Workload> {
    let set: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Arc::new(Program::load(&Path::new("programs").join(file), Some(70), &set).unwrap().workload().unwrap())
}

fn vecadd(n: u32) -> Arc<Workload> {
    Arc::new(model::builtin("vecadd", 1, &[("n".into(), n.to_string())]).unwrap())
}

fn simulate(machine: &Machine, workload: &Arc<Workload>, measure: Option<Measure>, threads: usize) -> RunResult {
    chip::simulate(machine, workload, RunOptions { measure, threads, ..RunOptions::default() }).unwrap()
}

fn sampled(machine: &Machine, workload: &Arc<Workload>, options: &Options, threads: usize) -> Result<RunResult, SampleError> {
    sample(machine, workload, options, &mut |part, measure| {
        chip::simulate(machine, part, RunOptions { measure, threads, ..RunOptions::default() })
    })
}

#[test]
fn launches_execute_as_many_instructions_as_were_counted_before() {
    let workload = program("rodinia/gaussian.toml", &[("n", "20")]);
    let counted: Vec<u64> = workload.kernels.iter().map(|kernel| kernel.source.counts().unwrap().warp_instructions).collect();
    let result = simulate(&machine("tiny", &[]), &workload, None, 1);
    let simulated = result
        .outcome
        .kernels
        .iter()
        .map(|row| row.counters.iter().find(|counted| counted.info.name == "warp_instructions").map_or(0, |counted| counted.value));
    assert_eq!(simulated.collect::<Vec<_>>(), counted);
    assert!(workload.kernels.iter().all(|kernel| kernel.source.counts().unwrap().sectors.is_some_and(|sectors| sectors > 0)));
}

#[test]
fn measuring_changes_nothing_and_spans_and_counters_add_up_to_the_run() {
    let (machine, workload) = (machine("tiny", &[]), program("rodinia/gaussian.toml", &[("n", "12")]));
    let plain = simulate(&machine, &workload, None, 1);
    let measured = simulate(&machine, &workload, Some(Measure::default()), 2);
    assert_eq!(plain.outcome, measured.outcome);
    assert_eq!(measured.measured.len(), workload.kernels.len());
    let spans: u64 = plain.outcome.kernels.iter().map(|row| row.ended.unwrap() - row.launched.unwrap()).sum();
    assert_eq!(spans, plain.outcome.cycles);
    let last = measured.measured.last().unwrap();
    let all: Vec<u64> = plain.outcome.components.iter().flat_map(|c| c.counters.iter().map(|counted| counted.value)).collect();
    assert_eq!((last.end.values.len(), &last.end.values), (all.len(), &all));
}

/// Calls the launch steady in a window.
struct After(u64);

impl Judge for After {
    fn wants(&self, kernel: KernelIndex) -> bool {
        kernel == KernelIndex(0)
    }

    fn window(&self) -> u64 {
        100
    }

    fn judge(&mut self, seen: &LaunchProgress) -> Verdict {
        match seen.cycle / 100 {
            window if window + 10 == self.0 => Verdict::Begin,
            window if window == self.0 => Verdict::Steady,
            _ => Verdict::Wait,
        }
    }
}

#[test]
fn a_launch_that_is_cut_short_ends_with_the_ctas_that_were_bound() {
    let (machine, workload) = (machine("tiny", &[]), vecadd(65_536));
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let cut = |threads| simulate(&machine, &workload, Some(Measure { judge: Some(Box::new(After(40))) }), threads);
    let result = cut(1);
    let row = &result.outcome.kernels[0];
    assert!(row.ctas_done > 0 && row.ctas_done < row.ctas && row.ended.is_some(), "{row:?}");
    assert!(result.outcome.cycles < whole.cycles && result.outcome.ended_by == EndedBy::Completed);
    let (begin, end) = result.measured[0].steady.as_ref().unwrap();
    assert_eq!((begin.cycle, end.cycle), (3000, 4000));
    assert!(begin.warp_instructions < end.warp_instructions);
    assert_eq!(result.outcome, cut(3).outcome);
    // Once its last CTA is bound, nothing is cut.
    let late = simulate(&machine, &workload, Some(Measure { judge: Some(Box::new(After(whole.cycles / 100))) }), 1);
    assert_eq!((late.outcome, late.measured[0].steady.is_some()), (whole, true));
}

#[test]
fn a_sample_that_would_be_most_of_the_workload_is_the_whole_run() {
    let (machine, workload) = (machine("tiny", &[]), program("rodinia/gaussian.toml", &[("n", "12")]));
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let options = Options { least: 10_000, ..Options::default() };
    let mut result = sampled(&machine, &workload, &options, 1).unwrap().outcome;
    assert!(result.notes.pop().unwrap().0.contains("exact"));
    assert_eq!(result, whole);
}

#[test]
fn estimates_of_many_launches_are_near_the_truth_and_instructions_are_exact() {
    let (machine, workload) = (machine("tiny", &[]), program("rodinia/gaussian.toml", &[("n", "96")]));
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let result = sampled(&machine, &workload, &Options::default(), 1).unwrap().outcome;
    let facts = result.sampled.as_ref().unwrap();
    assert_eq!(result.ended_by, EndedBy::Sampled);
    assert!(facts.fraction() < 0.5 && facts.measured < facts.launches / 2, "{facts:?}");
    assert_eq!(facts.kernels.len(), workload.kernels.len());
    assert_eq!(facts.kernels.iter().filter(|basis| **basis == Basis::Simulated).count() as u32, facts.measured);
    let near = |ours: u64, truth: u64, share: f64| (ours as f64 - truth as f64).abs() <= share * truth as f64;
    assert!(near(result.cycles, whole.cycles, 0.02), "{} {}", result.cycles, whole.cycles);
    assert_eq!(result.kernels.last().unwrap().ended, Some(result.cycles), "rows add up");
    let sum = |outcome: &warpshard::stats::Outcome, kind: &str, name: &str| -> u64 {
        let all = outcome.components.iter().filter(|c| c.kind == kind).flat_map(|c| &c.counters);
        all.filter(|counted| counted.info.name == name).map(|counted| counted.value).sum()
    };
    let instructions = (sum(&result, "sm", "warp_instructions"), sum(&whole, "sm", "warp_instructions"));
    // Counters of each launch and SM are rounded.
    assert!(near(instructions.0, instructions.1, 1e-3), "{instructions:?}");
    assert_eq!(facts.warp_instructions, instructions.1);
    for (kind, name) in [("llc", "accesses"), ("grid", "ctas_done"), ("sm", "active_cycles")] {
        let (ours, truth) = (sum(&result, kind, name), sum(&whole, kind, name));
        // Counters have no interval of their own.
        assert!(near(ours, truth, 0.1), "{kind}.{name}: {ours} {truth}");
    }
}

#[test]
fn one_long_launch_is_cut_short_and_estimated() {
    let (machine, workload) = (machine("tiny", &[]), vecadd(1 << 19));
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let result = sampled(&machine, &workload, &Options::default(), 1).unwrap().outcome;
    let facts = result.sampled.as_ref().unwrap();
    assert_eq!((facts.cut_short, facts.kernels[0]), (1, Basis::CutShort));
    assert!(facts.fraction() < 0.5, "{facts:?}");
    let error = result.cycles as f64 / whole.cycles as f64 - 1.0;
    assert!(error.abs() < 0.02, "{error}");
    let off = sampled(&machine, &workload, &Options { inside: false, ..Options::default() }, 1).unwrap().outcome;
    assert_eq!((off.cycles, off.sampled), (whole.cycles, None));
}

#[test]
fn the_same_sample_for_every_number_of_threads_and_another_for_another_seed() {
    let (machine, workload) = (machine("tiny", &[]), program("rodinia/gaussian.toml", &[("n", "96")]));
    let run = |seed, threads| sampled(&machine, &workload, &Options { seed, ..Options::default() }, threads).unwrap().outcome;
    let base = run(1, 1);
    assert_eq!(base, run(1, 3));
    assert_ne!(base.sampled, run(2, 1).sampled);
}

#[test]
fn what_may_run_at_once_is_refused_by_name() {
    let refused = |machine: &Machine, workload: &Arc<Workload>| match sampled(machine, workload, &Options::default(), 1) {
        Err(SampleError::Unsuited(problem)) => problem,
        other => panic!("{other:?}"),
    };
    let twice = |streams: [u64; 2]| {
        let one = vecadd(1024);
        let mut kernels = vec![one.kernels[0].clone(), one.kernels[0].clone()];
        kernels.iter_mut().zip(streams).for_each(|(kernel, stream)| kernel.info.stream.0 = stream);
        let commands = vec![Command::Launch(KernelIndex(0)), Command::Launch(KernelIndex(1))];
        Arc::new(Workload { kernels, commands, ..(*one).clone() })
    };
    let several = machine("tiny", &[("gpu.dispatch.max_kernels", "2")]);
    assert!(refused(&several, &twice([0, 1])).contains("gpu.dispatch.max_kernels=1"));
    assert!(sampled(&several, &twice([0, 0]), &Options::default(), 1).is_ok());
    assert!(sampled(&machine("tiny", &[("gpu.dispatch.max_kernels", "1")]), &twice([0, 1]), &Options::default(), 1).is_ok());
    assert!(refused(&machine("v100x2", &[]), &vecadd(1024)).contains("several GPUs"));
    assert!(
        refused(&several, &Arc::new(Workload { kernels: Vec::new(), commands: Vec::new(), ..(*vecadd(1024)).clone() }))
            .contains("no kernel")
    );
}

#[test]
fn options_that_look_at_a_whole_run_are_refused_by_the_command_line() {
    let request = |options: &str| {
        let words: Vec<std::ffi::OsString> =
            format!("warpshard run --sample error=3% {options}").split_whitespace().map(Into::into).collect();
        warpshard::cli::session::request(&words)
    };
    assert_eq!(request("--seed 2").unwrap().sampling.sample.unwrap().options.error, 0.03);
    for option in
        ["--policy dyncta", "--interval 100", "--max-cycles 5", "--app vecadd", "--cpu mcf", "--perfetto x", "--mpi", "--monitor 80"]
    {
        let message = request(option).unwrap_err().message;
        assert!(message.contains("cannot be used with") && message.contains("--sample"), "{option}: {message}");
    }
    let wrong: Vec<std::ffi::OsString> = ["warpshard", "run", "--sample", "error=x"].map(Into::into).into();
    assert!(warpshard::cli::session::request(&wrong).unwrap_err().message.contains("0.01% to 50%"));
}
