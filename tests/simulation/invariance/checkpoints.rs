//! A run that is stopped at a checkpoint and resumed, by other threads or ranks and with a newly loaded workload, has the bytes of an
//! uninterrupted run.

use std::path::Path;
use std::sync::{Arc, Mutex};

use warpshard::base::{Cycle, Rng};
use warpshard::chip::{Checkpoints, CpuEnd, RunError, RunOptions, simulate};
use warpshard::program::Program;
use warpshard::trace::TraceOptions;
use warpshard::workload::{Workload, mix};

use super::files::{ResultFiles, files, run};
use super::ranks::run_in_ranks;
use super::{hetero, sharing, systems, with_interval};
use crate::common::{DEPENDENT_LAUNCHES, SimulationCase, WARP_GROUP_TILES, at_length, built_in, cases, machine, shared};

/// Checkpoints of a run: cycles and states.
type StoredCheckpoints = Arc<Mutex<Vec<(Cycle, Vec<u8>)>>>;

/// Returns options for a checkpoint every `cycles` cycles, and the list that receives the checkpoints.
fn checkpoint_every(cycles: u64) -> (Checkpoints, StoredCheckpoints) {
    let kept = StoredCheckpoints::default();
    let to = Arc::clone(&kept);
    let keep = move |at, state| {
        to.lock().unwrap().push((at, state));
        Ok(())
    };
    (Checkpoints { every: Some(cycles), store: Some(Box::new(keep)), resume: None }, kept)
}

fn resume_from(state: &[u8]) -> Checkpoints {
    Checkpoints { resume: Some(state.to_vec()), ..Checkpoints::default() }
}

fn assert_same_files(case: &SimulationCase, base: &ResultFiles, other: &ResultFiles, what: &str) {
    assert_eq!(other.stats, base.stats, "{}: stats.json {what}", case.name);
    assert_eq!(other.intervals, base.intervals, "{}: intervals.csv {what}", case.name);
    assert_eq!(other.timeline, base.timeline, "{}: timeline.csv {what}", case.name);
}

/// Stops a run at random cuts, and resumes from each with another number of threads.
pub(super) fn stopped_and_resumed(fresh: &dyn Fn() -> SimulationCase, options: &dyn Fn(&SimulationCase) -> RunOptions, seed: u64) {
    let case = fresh();
    let base = run(&case, options(&case));
    let mut random = Rng::keyed(seed, &[]);
    let rounds = if at_length() { 0..2 } else { seed as usize % 2..seed as usize % 2 + 1 };
    for round in rounds {
        let cycles = (1 + random.below(base.counted_until.max(2) - 1)).max(base.counted_until / 4);
        let (checkpoints, kept) = checkpoint_every(cycles);
        let through = fresh();
        let through = run(&through, RunOptions { threads: 1 + round % 2, checkpoints, ..options(&through) });
        assert_same_files(&case, &base, &through, &format!("with a checkpoint every {cycles} cycles"));
        let kept = std::mem::take(&mut *kept.lock().unwrap());
        assert_eq!(kept.len() as u64, (base.counted_until - 1) / cycles, "{}: checkpoints every {cycles} cycles", case.name);
        for (number, (at, state)) in kept.into_iter().enumerate() {
            let threads = 1 + (round + number + 1) % 3;
            let resumed = fresh();
            let resumed = run(&resumed, RunOptions { threads, checkpoints: resume_from(&state), ..options(&resumed) });
            assert_same_files(&case, &base, &resumed, &format!("resumed at {at} on {threads} threads"));
        }
    }
}

fn copy_of(case: &SimulationCase) -> SimulationCase {
    SimulationCase { name: case.name.clone(), machine: case.machine.clone(), workload: Arc::clone(&case.workload), policy: case.policy }
}

#[test]
fn runs_resume_from_checkpoints() {
    for (case, seed) in cases().iter().zip(1..) {
        stopped_and_resumed(&|| copy_of(case), &with_interval, seed);
    }
}

#[test]
fn runs_of_systems_resume_from_checkpoints() {
    for (case, seed) in systems::system_cases().iter().zip(100..) {
        stopped_and_resumed(&|| copy_of(case), &with_interval, seed);
    }
}

#[test]
fn runs_with_cpu_cores_resume_from_checkpoints() {
    for (case, end, seed) in [(hetero::small_chip(), CpuEnd::Both, 200), (hetero::small_chip_gddr5(), CpuEnd::Cpu, 201)] {
        stopped_and_resumed(&|| copy_of(&case), &|_| hetero::cpu_options(end), seed);
    }
}

#[test]
fn runs_with_gpu_sharing_and_preempted_ctas_resume_from_checkpoints() {
    for (seed, mode) in (300..).zip(sharing::SHARING_MODES) {
        let how = sharing::TECHNIQUES[seed as usize % 3];
        let options = |_: &SimulationCase| RunOptions {
            interval: Some(1000),
            controllers: vec![Box::new(sharing::RandomSharing(Rng::keyed(seed, &[0]), how, mode))],
            ..RunOptions::default()
        };
        stopped_and_resumed(&|| sharing::sharing_case(mode, true), &options, seed);
    }
    let settings = [("gpu.sm.allocation", "ranges"), ("gpu.dispatch.share_sm", "true"), ("gpu.dispatch.max_kernels", "8")];
    let fresh = || {
        let workload = Arc::new(mix(sharing::mix_parts(), true).unwrap());
        SimulationCase { name: "single CTAs".into(), machine: machine("tiny", &settings), workload, policy: None }
    };
    let options = |_: &SimulationCase| RunOptions {
        controllers: vec![Box::new(sharing::RandomCtaPreemption(Rng::keyed(3, &[1])))],
        ..with_interval(&fresh())
    };
    stopped_and_resumed(&fresh, &options, 310);
}

#[test]
fn runs_in_which_a_task_preempts_ctas_resume_from_checkpoints() {
    let settings = [("gpu.sm.allocation", "ranges"), ("gpu.dispatch.share_sm", "true"), ("gpu.dispatch.under_way", "squashed")];
    // Oracle's knowledge is a parameter of the policy, which the resumed run receives again.
    for (seed, policy) in (320..)
        .zip(["bound = 2800\nrequests = 2", "scheme = \"oracle\"\nbound = 2800\nrequests = 2\nwatch = 3000\nknown = [[0, 1, 900.0]]"])
    {
        let fresh = || {
            let mut workload = mix(sharing::mix_parts(), true).unwrap();
            workload.applications[1].arrivals = vec![Cycle(5000)];
            let case =
                SimulationCase { name: policy.into(), machine: machine("tiny", &settings), workload: Arc::new(workload), policy: None };
            SimulationCase { policy: Some(("dual_kernel", policy)), ..case }
        };
        let options = |case: &SimulationCase| RunOptions { controllers: case.controllers(), ..with_interval(case) };
        assert!(run(&fresh(), options(&fresh())).timeline.contains("request"), "nothing preempts");
        stopped_and_resumed(&fresh, &options, seed);
    }
}

fn load_program(path: &str, parameters: &[(&str, &str)]) -> Workload {
    let parameters: Vec<(String, String)> = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Program::load(Path::new(path), None, &parameters).unwrap().workload().unwrap()
}

#[test]
fn programs_resume_with_their_memory() {
    // Each level of the search reads the values written by the previous level.
    let programs = [
        ("programs/bfs.toml", &[][..]),
        ("programs/scan.toml", &[]),
        ("programs/reduction.toml", &[]),
        // In flight: waits at barriers in shared memory, copies and products.
        ("programs/tensor/wgmma_attention.toml", WARP_GROUP_TILES),
        // In flight: arrivals, reads and barriers between the SMs of clusters.
        ("programs/tensor/wgmma_gemm_pairs.toml", WARP_GROUP_TILES),
        // In flight: triggers, waiting warps and held launches of programmatic dependent launches.
        ("programs/micro/dependent.toml", DEPENDENT_LAUNCHES),
    ];
    for (seed, (path, settings)) in (400..).zip(programs) {
        let fresh = || SimulationCase {
            name: path.into(),
            machine: machine("tiny", settings),
            workload: Arc::new(load_program(path, &[])),
            policy: None,
        };
        let limited = |case: &SimulationCase| RunOptions { max_cycles: Some(60_000), ..with_interval(case) };
        stopped_and_resumed(&fresh, &limited, seed);
    }
}

#[test]
fn recorded_traces_decoded_on_demand_resume() {
    let Some(folder) = shared("sass") else { return };
    for (seed, name) in (500..).zip(["vectoradd-100-pascal", "bfs-rodinia-3.1-4096"]) {
        // The trace is decoded on demand, with a small window ahead.
        let fresh = || {
            let options = TraceOptions { eager_bytes: 0, window_bytes: 5000, chunk_bytes: 2000, ..TraceOptions::default() };
            let workload = Arc::new(warpshard::trace::load(&folder.join(name), &options).unwrap());
            SimulationCase { name: name.into(), machine: machine("gtx480", &[]), workload, policy: None }
        };
        let limited = |case: &SimulationCase| RunOptions { max_cycles: Some(40_000), ..with_interval(case) };
        stopped_and_resumed(&fresh, &limited, seed);
    }
}

#[test]
fn a_checkpoint_is_resumed_by_any_number_of_ranks() {
    let chosen = [cases().swap_remove(3), cases().swap_remove(4), systems::system_cases().swap_remove(1)];
    for case in chosen {
        let base = run(&case, with_interval(&case));
        for (before, after, part) in [(1, 2, 3), (2, 1, 2), (3, 2, 5)] {
            let cycles = (base.counted_until / part).max(1);
            let (checkpoints, kept) = checkpoint_every(cycles);
            let first = Mutex::new(Some(checkpoints));
            let with_checkpoints = |rank| {
                let others = || Checkpoints { every: Some(cycles), ..Checkpoints::default() };
                let checkpoints = if rank == 0 { first.lock().unwrap().take().unwrap() } else { others() };
                RunOptions { checkpoints, ..with_interval(&case) }
            };
            for result in run_in_ranks(&case, (before, 1), with_checkpoints) {
                assert_same_files(&case, &base, &files(&case, &result.unwrap()), &format!("with checkpoints on {before} ranks"));
            }
            let kept = std::mem::take(&mut *kept.lock().unwrap());
            let (at, state) = kept.last().unwrap();
            for result in run_in_ranks(&case, (after, 2), |_| RunOptions { checkpoints: resume_from(state), ..with_interval(&case) }) {
                assert_same_files(
                    &case,
                    &base,
                    &files(&case, &result.unwrap()),
                    &format!("of {before} ranks resumed at {at} on {after} ranks"),
                );
            }
        }
    }
}

#[test]
fn a_resumed_run_writes_checkpoints_that_resume() {
    let case = &cases()[1];
    let base = run(case, with_interval(case));
    let step = base.counted_until / 6;
    let mut state: Option<Vec<u8>> = None;
    for generation in 1..=4 {
        let (checkpoints, kept) = checkpoint_every(step);
        let options = RunOptions { max_cycles: Some(generation * step + 1), threads: 1 + generation as usize % 2, ..with_interval(case) };
        run(case, RunOptions { checkpoints: Checkpoints { resume: state.take(), ..checkpoints }, ..options });
        let (at, last) = kept.lock().unwrap().pop().unwrap();
        assert_eq!(at, Cycle(generation * step));
        state = Some(last);
    }
    assert_same_files(
        case,
        &base,
        &run(case, RunOptions { checkpoints: resume_from(&state.unwrap()), ..with_interval(case) }),
        "after four checkpoints in a row",
    );
}

#[test]
fn a_resumed_relaxed_run_has_the_bytes_of_the_same_run_with_checkpoints() {
    let case = &cases()[0];
    let relaxed = || RunOptions { relaxed: true, epoch: Some(400), ..with_interval(case) };
    let cycles = run(case, relaxed()).counted_until / 3;
    let (checkpoints, kept) = checkpoint_every(cycles);
    let base = run(case, RunOptions { checkpoints, ..relaxed() });
    let (_, state) = kept.lock().unwrap().swap_remove(0);
    let (checkpoints, _) = checkpoint_every(cycles);
    let resumed = run(case, RunOptions { threads: 2, checkpoints: Checkpoints { resume: Some(state), ..checkpoints }, ..relaxed() });
    assert_same_files(case, &base, &resumed, "relaxed");
}

fn refusal_message(case: &SimulationCase, state: &[u8], options: RunOptions) -> String {
    match simulate(&case.machine, &case.workload, RunOptions { checkpoints: resume_from(state), ..options }) {
        Err(RunError::Checkpoint(message)) => message,
        other => panic!("{:?}", other.map(|result| result.outcome.cycles)),
    }
}

#[test]
fn the_state_of_another_machine_or_of_no_machine_is_refused() {
    let all = cases();
    let case = &all[0];
    let cycles = run(case, with_interval(case)).counted_until / 2;
    let (checkpoints, kept) = checkpoint_every(cycles);
    run(case, RunOptions { checkpoints, ..with_interval(case) });
    let (_, state) = kept.lock().unwrap().swap_remove(0);
    let other = SimulationCase { name: "other".into(), machine: machine("gtx480", &[]), ..copy_of(case) };
    assert!(refusal_message(&other, &state, with_interval(case)).contains("units, the machine"));
    let policy = RunOptions { controllers: all[3].controllers(), ..with_interval(case) };
    assert!(!refusal_message(case, &state, policy).is_empty());
    assert!(refusal_message(case, &state[..state.len() / 2], with_interval(case)).contains("the saved state"));
    let limited = RunOptions { max_cycles: Some(cycles), ..with_interval(case) };
    assert!(refusal_message(case, &state, limited).contains("is to end at cycle"));
}

#[test]
fn a_checkpoint_that_cannot_be_stored_ends_the_run_with_the_reason() {
    let case = &cases()[0];
    let full = Checkpoints { every: Some(500), store: Some(Box::new(|_, _| Err("the disk is full".into()))), resume: None };
    let ended = simulate(&case.machine, &case.workload, RunOptions { checkpoints: full, ..with_interval(case) });
    assert!(matches!(ended, Err(RunError::Checkpoint(message)) if message == "the disk is full"));
    let recorded = Checkpoints { every: Some(500), ..Checkpoints::default() };
    let ended = simulate(&case.machine, &case.workload, RunOptions { checkpoints: recorded, log: true, ..with_interval(case) });
    assert!(matches!(ended, Err(RunError::Config(message)) if message.contains("cannot be saved")));
}

#[test]
fn a_cpu_trace_is_read_again_up_to_its_line() {
    let Some(folder) = shared("cpu-traces/ramulator") else { return };
    let mut traces: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    traces.sort();
    let names = traces.iter().filter_map(|path| warpshard::chip::CpuApplication::named(path.to_str()?).ok());
    let applications: Vec<_> = names.take(2).collect();
    assert!(!applications.is_empty());
    let case = SimulationCase { workload: built_in("reduce", &[("cta_count", "24")]), ..hetero::small_chip() };
    let options = |_: &SimulationCase| {
        let mut options = hetero::cpu_options(CpuEnd::Both);
        options.cpu.as_mut().unwrap().applications.clone_from(&applications);
        options
    };
    stopped_and_resumed(&|| copy_of(&case), &options, 600);
}

/// Random bytes of a saved state are altered, as by an attacker who recomputes the digest. The run ends with results or reports an error in
/// the checkpoint, and the process survives in either case.
#[test]
fn a_forged_state_is_an_error_or_a_run() {
    let mut random = Rng::keyed(600, &[]);
    let rounds = if at_length() { 400 } else { 40 };
    let (mut refused, mut ran) = (0, 0);
    for case in &cases()[..2] {
        let until = run(case, with_interval(case)).counted_until;
        let (checkpoints, kept) = checkpoint_every(until / 2);
        run(case, RunOptions { checkpoints, ..with_interval(case) });
        let state = kept.lock().unwrap()[0].1.clone();
        for _ in 0..rounds {
            let mut forged = state.clone();
            for _ in 0..1 + random.below(3) {
                forged[random.below(state.len() as u64) as usize] = random.below(256) as u8;
            }
            let options = RunOptions { threads: 1, max_cycles: Some(2 * until), checkpoints: resume_from(&forged), ..with_interval(case) };
            match simulate(&case.machine, &case.workload, options) {
                Ok(_) => ran += 1,
                Err(RunError::Panic(text)) => panic!("{}: {text}", case.name),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 0 && ran > 0, "{refused} states were refused, {ran} ran");
}
