//! Sampled runs: measuring does not change a run, a complete sample equals the full run, and estimates are close to the true values, for
//! any number of threads.

use std::path::Path;
use std::sync::Arc;

use warpshard::base::{Addr, CtaIndex, KernelIndex, SectorMask};
use warpshard::chip::{self, LaunchSelection, RunOptions, RunResult, Skipped};
use warpshard::config::{Machine, Override};
use warpshard::program::Program;
use warpshard::sample::{SampleError, SamplingOptions, sample};
use warpshard::stats::{EndedBy, ResultBasis};
use warpshard::{
    model,
    workload::{Command, UsedLine, Workload},
};

fn machine(name: &str, set: &[(&str, &str)]) -> Machine {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    warpshard::catalogue().machine(name, &set).unwrap().machine
}

fn load_program(file: &str, set: &[(&str, &str)]) -> Arc<Workload> {
    let set: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Arc::new(Program::load(&Path::new("programs").join(file), Some(70), &set).unwrap().workload().unwrap())
}

fn vecadd_workload(n: u32) -> Arc<Workload> {
    Arc::new(model::builtin("vecadd", 1, &[("n".into(), n.to_string())]).unwrap())
}

fn simulate(machine: &Machine, workload: &Arc<Workload>, measure: Option<LaunchSelection>, threads: usize) -> RunResult {
    chip::simulate(machine, workload, RunOptions { measure, threads, ..RunOptions::default() }).unwrap()
}

fn run_sampled(machine: &Machine, workload: &Arc<Workload>, options: &SamplingOptions, threads: usize) -> Result<RunResult, SampleError> {
    sample(machine, workload, options, &mut |part, measure| {
        chip::simulate(machine, part, RunOptions { measure, threads, ..RunOptions::default() })
    })
}

#[test]
fn launches_execute_as_many_instructions_as_were_counted_before() {
    let workload = load_program("rodinia/gaussian.toml", &[("n", "20")]);
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
    let (machine, workload) = (machine("tiny", &[]), load_program("rodinia/gaussian.toml", &[("n", "12")]));
    let plain = simulate(&machine, &workload, None, 1);
    let measured = simulate(&machine, &workload, Some(LaunchSelection::default()), 2);
    assert_eq!(plain.outcome, measured.outcome);
    assert_eq!(measured.measured.len(), workload.kernels.len());
    let spans: u64 = plain.outcome.kernels.iter().map(|row| row.ended.unwrap() - row.launched.unwrap()).sum();
    assert_eq!(spans, plain.outcome.cycles);
    let last = measured.measured.last().unwrap();
    let all: Vec<u64> = plain.outcome.components.iter().flat_map(|c| c.counters.iter().map(|counted| counted.value)).collect();
    assert_eq!((last.end.values.len(), &last.end.values), (all.len(), &all));
}

#[test]
fn marks_are_read_at_their_cta_counts_and_change_nothing() {
    let (machine, workload) = (machine("tiny", &[]), vecadd_workload(65_536));
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let marked = |threads| {
        let measure = LaunchSelection { marks: [(KernelIndex(0), vec![10, 11, 100, 1_000_000])].into(), skipped: None };
        simulate(&machine, &workload, Some(measure), threads)
    };
    let result = marked(1);
    assert_eq!(result.outcome, whole);
    let measured = &result.measured[0];
    assert!(measured.marks.is_sorted_by_key(|mark| (mark.cycle, mark.warp_instructions)), "{measured:?}");
    let place = whole.components.iter().flat_map(|c| c.counters.iter().map(|counted| (c.kind, counted.info.name)));
    let done = place.clone().position(|name| name == ("grid", "ctas_done")).unwrap();
    let at: Vec<u64> = measured.marks.iter().map(|mark| mark.values[done]).collect();
    // Marks are read every 512 cycles, in which a few more CTAs end. A mark beyond the last CTA is read at the end.
    assert!((10..20).contains(&at[0]) && (100..120).contains(&at[2]) && at[3] == u64::from(whole.kernels[0].ctas), "{at:?}");
    assert_eq!(measured.marks[3], measured.end);
    assert_eq!(marked(3).measured, result.measured);
}

/// Leaves these lines in the LLC before the second launch.
struct LinesLeftInLlc(Vec<UsedLine>);

impl Skipped for LinesLeftInLlc {
    fn before(&mut self, kernel: KernelIndex) -> Vec<UsedLine> {
        if kernel == KernelIndex(1) { std::mem::take(&mut self.0) } else { Vec::new() }
    }
}

#[test]
fn a_launch_hits_lines_left_in_the_llc() {
    let machine = machine("tiny", &[("gpu.dispatch.launch_latency", "5000"), ("mem.memcpy_warms_llc", "off"), ("mem.llc.sets", "16")]);
    // The first launch touches 1024 elements of each vector of the second launch.
    let (first, second) = (vecadd_workload(1024), vecadd_workload(2048));
    let kernels = vec![first.kernels[0].clone(), second.kernels[0].clone()];
    let commands = vec![Command::Launch(KernelIndex(0)), Command::Launch(KernelIndex(1))];
    let workload = Arc::new(Workload { kernels, commands, ..(*first).clone() });
    let mut lines = Vec::new();
    let source = &workload.kernels[1].source;
    for cta in 0..workload.kernels[1].info.ctas() {
        let program = source.cta(CtaIndex(cta));
        for warp in &program.warps {
            let mut reader = warp.read();
            while let Some(inst) = reader.next() {
                let mut addresses = [0; 32];
                let count = reader.addresses(&inst, &mut addresses);
                lines.extend(addresses[..count].iter().map(|address| Addr(*address).line()));
            }
        }
    }
    lines.sort_unstable();
    lines.dedup();
    let left = |written, from: u64| -> Vec<UsedLine> {
        lines.iter().map(|addr| UsedLine { addr: Addr(addr.0 + from), bytes: [u32::MAX; 4], written: SectorMask(written) }).collect()
    };
    let fetched = |left: Vec<UsedLine>, threads| {
        let measure = LaunchSelection { skipped: Some(Box::new(LinesLeftInLlc(left))), ..LaunchSelection::default() };
        let outcome = simulate(&machine, &workload, Some(measure), threads).outcome;
        let sum = |name: &str| -> u64 {
            let all = outcome.components.iter().filter(|c| c.kind == "llc").flat_map(|c| &c.counters);
            all.filter(|counted| counted.info.name == name).map(|counted| counted.value).sum()
        };
        (sum("fetches"), sum("write_backs"), outcome.cycles)
    };
    let (without, clean) = (fetched(Vec::new(), 1), fetched(left(0, 0), 1));
    assert!(clean.0 < without.0 && clean.2 < without.2, "{without:?} {clean:?}");
    // These lines are not used again and are evicted.
    const DISTANT_OFFSET_BYTES: u64 = 1 << 20;
    let (clean, written) = (fetched(left(0, DISTANT_OFFSET_BYTES), 1), fetched(left(0xf, DISTANT_OFFSET_BYTES), 1));
    assert!(written.1 > clean.1, "what was modified is written back: {clean:?} {written:?}");
    assert_eq!(written, fetched(left(0xf, DISTANT_OFFSET_BYTES), 3));
    // The unwritten part of a sector is fetched when the sector is read.
    let mut in_part = left(0xf, 0);
    in_part.iter_mut().for_each(|line| line.bytes = [0xff; 4]);
    assert!(fetched(in_part, 1).0 > fetched(left(0xf, 0), 1).0);
}

#[test]
fn a_sample_that_would_be_most_of_the_workload_is_the_whole_run() {
    let (machine, workload) = (machine("tiny", &[]), load_program("rodinia/gaussian.toml", &[("n", "12")]));
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let options = SamplingOptions { least: 10_000, ..SamplingOptions::default() };
    let mut result = run_sampled(&machine, &workload, &options, 1).unwrap().outcome;
    assert!(result.notes.pop().unwrap().0.contains("exact"));
    assert_eq!(result, whole);
}

#[test]
fn estimates_of_many_launches_are_near_the_truth_and_instructions_are_exact() {
    let (machine, workload) =
        (machine("tiny", &[("gpu.dispatch.launch_latency", "5000")]), load_program("rodinia/gaussian.toml", &[("n", "96")]));
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let options = SamplingOptions { error: 0.02, ..SamplingOptions::default() };
    let result = run_sampled(&machine, &workload, &options, 1).unwrap().outcome;
    let facts = result.sampled.as_ref().unwrap();
    assert_eq!(result.ended_by, EndedBy::Sampled);
    assert!(facts.fraction() < 0.5 && facts.measured < facts.launches / 2, "{facts:?}");
    assert_eq!(facts.kernels.len(), workload.kernels.len());
    assert_eq!(facts.kernels.iter().filter(|basis| **basis == ResultBasis::Simulated).count() as u32, facts.measured);
    let near = |ours: u64, truth: u64, share: f64| (ours as f64 - truth as f64).abs() <= share * truth as f64;
    assert!(near(result.cycles, whole.cycles, 0.02), "{} {}", result.cycles, whole.cycles);
    assert_eq!(result.kernels.last().unwrap().ended, Some(result.cycles), "rows add up");
    let sum = |outcome: &warpshard::stats::Outcome, kind: &str, name: &str| -> u64 {
        let all = outcome.components.iter().filter(|c| c.kind == kind).flat_map(|c| &c.counters);
        all.filter(|counted| counted.info.name == name).map(|counted| counted.value).sum()
    };
    let instructions = (sum(&result, "sm", "warp_instructions"), sum(&whole, "sm", "warp_instructions"));
    // Counters are rounded per launch and SM.
    assert!(near(instructions.0, instructions.1, 1e-3), "{instructions:?}");
    assert_eq!(facts.warp_instructions, instructions.1);
    for (kind, name) in [("llc", "accesses"), ("grid", "ctas_done"), ("sm", "active_cycles")] {
        let (ours, truth) = (sum(&result, kind, name), sum(&whole, kind, name));
        // Counters have no confidence interval.
        assert!(near(ours, truth, 0.1), "{kind}.{name}: {ours} {truth}");
    }
}

#[test]
fn one_long_launch_is_simulated_in_parts_chosen_by_the_seed() {
    let (machine, workload) = (machine("tiny", &[]), vecadd_workload(1 << 20));
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let run =
        |seed, threads| run_sampled(&machine, &workload, &SamplingOptions { seed, ..SamplingOptions::default() }, threads).unwrap().outcome;
    let results: Vec<_> = (1..=5).map(|seed| run(seed, 1)).collect();
    let net = |outcome: &warpshard::stats::Outcome| {
        outcome.kernels.iter().map(|row| row.ended.unwrap() - row.started.unwrap()).sum::<u64>() as f64
    };
    let (mut hits, mut errors) = (0, 0.0);
    for result in &results {
        let facts = result.sampled.as_ref().unwrap();
        assert_eq!((facts.in_parts, facts.kernels[0]), (1, ResultBasis::InParts));
        assert!(facts.fraction() < 0.4, "{facts:?}");
        let known = facts.estimate("net_cycles").unwrap();
        let error = known.value / net(&whole) - 1.0;
        errors += error.abs();
        hits += usize::from((known.value - net(&whole)).abs() <= known.half_width);
        assert_eq!(result.kernels.last().unwrap().ctas_done, whole.kernels[0].ctas);
    }
    assert!(hits >= 4, "of five intervals {hits} contain the truth");
    assert!(errors / 5.0 < 0.02, "{errors}");
    assert!(results.windows(2).all(|pair| pair[0].cycles != pair[1].cycles));
    assert_eq!(results[0], run(1, 3));
    let off = run_sampled(&machine, &workload, &SamplingOptions { inside: false, ..SamplingOptions::default() }, 1).unwrap().outcome;
    assert_eq!((off.cycles, off.sampled), (whole.cycles, None));
}

#[test]
fn parts_of_a_launch_of_a_program_are_near_the_whole() {
    let machine = machine("tiny", &[]);
    let set: Vec<(&str, &str)> = vec![("width", "1024"), ("height", "1024")];
    let workload = load_program("transpose.toml", &set);
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let result =
        run_sampled(&machine, &load_program("transpose.toml", &set), &SamplingOptions { error: 0.1, ..SamplingOptions::default() }, 1)
            .unwrap()
            .outcome;
    assert_eq!(result.sampled.as_ref().unwrap().in_parts, 1);
    let error = result.cycles as f64 / whole.cycles as f64 - 1.0;
    assert!(error.abs() < 0.05, "{error}");
}

#[test]
fn parts_of_successive_launches_are_near_the_whole_with_line_facts() {
    let machine = machine("tiny", &[("gpu.dispatch.launch_latency", "5000"), ("mem.llc.sets", "16")]);
    let set = [("n".to_owned(), "65520".to_owned())];
    let program = Program::load(Path::new("programs/rodinia/backprop.toml"), Some(70), &set).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (text, native) = (folder.path().join("text"), folder.path().join("native.wst"));
    program.record(&text).unwrap();
    let mut file = std::fs::File::create(&native).unwrap();
    warpshard::trace::to_native(&text, &mut file, true, &warpshard::trace::TraceOptions::default(), &mut |_| true).unwrap();
    let workload = Arc::new(warpshard::trace::load(&native, &warpshard::trace::TraceOptions::default()).unwrap());
    let options = SamplingOptions { error: 0.1, ..SamplingOptions::default() };
    let whole = simulate(&machine, &workload, None, 1).outcome;
    let run = |threads| run_sampled(&machine, &workload, &options, threads).unwrap().outcome;
    let result = run(1);
    let facts = result.sampled.as_ref().unwrap();
    assert_eq!(facts.in_parts, 2, "{facts:?}");
    let net = warpshard::report::metrics::net_cycles(&whole) as f64;
    let error = facts.estimate("net_cycles").unwrap().value / net - 1.0;
    assert!(error.abs() < 0.02, "{error}");
    assert_eq!(result, run(2));
}

#[test]
fn samples_depend_on_the_seed_and_not_on_the_number_of_threads() {
    let slow = machine("tiny", &[("gpu.dispatch.launch_latency", "5000")]);
    let workload = load_program("rodinia/gaussian.toml", &[("n", "96")]);
    let run = |seed, threads, caches| {
        let options = SamplingOptions { seed, caches, warm: u32::from(!caches), ..SamplingOptions::default() };
        run_sampled(&slow, &workload, &options, threads).unwrap().outcome
    };
    let base = run(1, 1, true);
    assert_eq!(base, run(1, 3, true));
    assert_ne!(base.sampled, run(2, 1, true).sampled);
    assert_ne!(base.sampled, run(1, 1, false).sampled);
    assert_eq!(run(1, 1, false), run(1, 2, false));
}

#[test]
fn sampling_refuses_overlapping_launches_by_name() {
    let refused = |machine: &Machine, workload: &Arc<Workload>| match run_sampled(machine, workload, &SamplingOptions::default(), 1) {
        Err(SampleError::Unsuited(problem)) => problem,
        other => panic!("{other:?}"),
    };
    let twice = |streams: [u64; 2]| {
        let one = vecadd_workload(1024);
        let mut kernels = vec![one.kernels[0].clone(), one.kernels[0].clone()];
        kernels.iter_mut().zip(streams).for_each(|(kernel, stream)| kernel.info.stream.0 = stream);
        let commands = vec![Command::Launch(KernelIndex(0)), Command::Launch(KernelIndex(1))];
        Arc::new(Workload { kernels, commands, ..(*one).clone() })
    };
    let several = machine("tiny", &[("gpu.dispatch.max_kernels", "2")]);
    assert!(refused(&several, &twice([0, 1])).contains("gpu.dispatch.max_kernels=1"));
    assert!(run_sampled(&several, &twice([0, 0]), &SamplingOptions::default(), 1).is_ok());
    assert!(run_sampled(&machine("tiny", &[("gpu.dispatch.max_kernels", "1")]), &twice([0, 1]), &SamplingOptions::default(), 1).is_ok());
    assert!(refused(&machine("v100x2", &[]), &vecadd_workload(1024)).contains("several GPUs"));
    assert!(
        refused(&several, &Arc::new(Workload { kernels: Vec::new(), commands: Vec::new(), ..(*vecadd_workload(1024)).clone() }))
            .contains("no kernel")
    );
}

#[test]
fn options_of_whole_runs_are_refused_with_sampling() {
    let request = |options: &str| {
        let words: Vec<std::ffi::OsString> =
            format!("warpshard run --sample error=3% {options}").split_whitespace().map(Into::into).collect();
        warpshard::cli::request(&words)
    };
    assert_eq!(request("--seed 2").unwrap().sample.unwrap(), "error=3%");
    for option in
        ["--policy dyncta", "--interval 100", "--max-cycles 5", "--app vecadd", "--cpu mcf", "--perfetto x", "--mpi", "--monitor 80"]
    {
        let message = request(option).unwrap_err().message;
        assert!(message.contains("cannot be used with") && message.contains("--sample"), "{option}: {message}");
    }
    let wrong: Vec<std::ffi::OsString> = ["warpshard", "run", "--sample", "error=x"].map(Into::into).into();
    assert!(warpshard::cli::request(&wrong).unwrap_err().message.contains("0.01% to 50%"));
}
