//! Fuzzing of every parser with mutated inputs: a parser returns a value or an error, and never panics, hangs or takes gigabytes.
//!
//! The seeds are files of the repository. `cargo test --test fuzz` runs a short, reproducible slice; `WARPSHARD_FUZZ_SECONDS=60` runs for a
//! minute, and `WARPSHARD_FUZZ_SEED=N` changes the mutations. A failing input is written to a file, and the test prints the command that
//! repeats it: `WARPSHARD_FUZZ_INPUT=TARGET:FILE cargo test --test fuzz`.

#[path = "fuzz/folders.rs"]
mod folders;
#[path = "fuzz/mutate.rs"]
mod mutate;
#[path = "fuzz/programs.rs"]
mod programs;
#[path = "fuzz/targets.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mutate::Mutator;
use targets::{FUZZ_TARGETS, FuzzTarget};

/// Mutations of each seed file in the short slice.
const SLICE_ROUNDS: usize = 12;
/// Time after which an input counts as a hang. The longest seed takes a hundredth of it.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);
/// Memory limit of the process, in MiB.
const MEMORY_LIMIT_MIB: u64 = 2048;

fn environment_number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is `{text}`, expected a number")))
}

/// Returns the folder of inputs, below cargo's folder for tests.
fn input_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

/// Returns the peak memory of the process in MiB; 0 if the operating system does not report it.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// Starts a watchdog that ends the process when one input takes too long, and prints the input's command.
fn start_watchdog(current: &Arc<Mutex<(Instant, String)>>) {
    let current = Arc::clone(current);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let (since, name) = current.lock().map(|now| now.clone()).unwrap_or_else(|poisoned| poisoned.into_inner().clone());
            if since.elapsed() > HANG_TIMEOUT {
                #[expect(clippy::print_stderr, clippy::exit, reason = "a hang can be reported in no other way")]
                {
                    eprintln!("an input hangs; to repeat: {name}");
                    std::process::exit(1);
                }
            }
        }
    });
}

/// Runs one input; returns the failure, if any.
fn failure_of_input(target: &FuzzTarget, scratch: &Path, input: &[u8]) -> Option<String> {
    let before = peak_mib();
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(scratch, input)));
    let after = peak_mib();
    match result {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(format!("panics: {}", text.unwrap_or_default()))
        }
        Ok(()) if after > MEMORY_LIMIT_MIB && after > before => Some(format!("needs {after} MiB")),
        Ok(()) => None,
    }
}

#[test]
fn mutated_inputs_are_accepted_or_refused() {
    let scratch = tempfile::tempdir().unwrap();
    if let Ok(input) = std::env::var("WARPSHARD_FUZZ_INPUT") {
        let (name, file) = input.split_once(':').expect("WARPSHARD_FUZZ_INPUT is TARGET:FILE");
        let target = FUZZ_TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("there is no target `{name}`"));
        let input = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        (target.run)(scratch.path(), &input);
        return;
    }
    let end = environment_number("WARPSHARD_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut mutator = Mutator::new(environment_number("WARPSHARD_FUZZ_SEED").unwrap_or(1));
    let current = Arc::new(Mutex::new((Instant::now(), String::new())));
    start_watchdog(&current);
    let folder = input_folder();
    let (mut failures, mut inputs) = (Vec::new(), 0u64);
    let seeds: Vec<Vec<Vec<u8>>> = FUZZ_TARGETS.iter().map(|target| (target.seeds)()).collect();
    for (target, seeds) in FUZZ_TARGETS.iter().zip(&seeds) {
        assert!(!seeds.is_empty(), "the target `{}` has no seeds", target.name);
        for seed in seeds {
            assert_eq!(failure_of_input(target, scratch.path(), seed), None, "a seed of `{}`", target.name);
        }
    }
    let mut round = 0;
    while end.map_or(round < SLICE_ROUNDS, |end| Instant::now() < end) && failures.len() < 20 {
        for (target, seeds) in FUZZ_TARGETS.iter().zip(&seeds) {
            for _ in 0..target.share {
                let input = mutator.mutate(seeds, target.words);
                // The input is written before it runs, so that it remains after an abort.
                let file = folder.join(format!("{}-current", target.name));
                std::fs::write(&file, &input).unwrap();
                let repeat = |file: &Path| format!("WARPSHARD_FUZZ_INPUT={}:{} cargo test --test fuzz", target.name, file.display());
                *current.lock().unwrap() = (Instant::now(), repeat(&file));
                inputs += 1;
                if let Some(what) = failure_of_input(target, scratch.path(), &input) {
                    let kept = folder.join(format!("{}-{}", target.name, failures.len()));
                    std::fs::rename(&file, &kept).unwrap();
                    failures.push(format!("{}: an input {what}\n  to repeat: {}", target.name, repeat(&kept)));
                }
            }
        }
        round += 1;
    }
    assert!(failures.is_empty(), "{} of {inputs} inputs fail:\n{}", failures.len(), failures.join("\n"));
    assert!(inputs >= FUZZ_TARGETS.len() as u64);
}
