//! `run --app`: several applications on one GPU.

use std::path::Path;

use serde_json::Value;

use super::{code, command, stderr, stdout};

const MACHINE_ARGUMENTS: [&str; 6] = ["--machine", "tiny", "--set", "gpu.dispatch.max_kernels=4", "--set", "gpu.dispatch.sharing=spatial"];

fn run_stats(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("stats.json")).unwrap()).unwrap()
}

#[test]
fn applications_are_compared_with_runs_alone_that_execute_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = |out: &str| {
        let arguments =
            [&["run", "--app", "stream", "--app", "gather,priority=1", "--alone", "--max-cycles", "6000"][..], &MACHINE_ARGUMENTS].concat();
        let output = command(&arguments).args(["--out", out]).current_dir(folder.path()).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    let text = run("first");
    for expected in ["Applications", "stream", "gather", "STP ", "ANTT "] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    let alone = || {
        std::fs::read_dir(folder.path().join("results/alone")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().modified().unwrap())
    };
    let before: Vec<_> = alone().collect();
    assert_eq!(before.len(), 2);
    run("second");
    assert_eq!(alone().collect::<Vec<_>>(), before, "runs alone are not repeated");
    let (first, second) = (run_stats(&folder.path().join("first")), run_stats(&folder.path().join("second")));
    assert_eq!(first["applications"], second["applications"]);
    let sum: f64 = first["applications"]["list"].as_array().unwrap().iter().map(|app| app["normalised_progress"].as_f64().unwrap()).sum();
    assert!((sum - first["applications"]["stp"].as_f64().unwrap()).abs() < 1e-12 && sum > 0.0 && sum < 2.1, "{sum}");
}

#[test]
fn errors_in_a_mix_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |text: &str, expected: &str| {
        std::fs::write(folder.path().join("mix.toml"), text).unwrap();
        let output = command(&["run", "--app", "@mix.toml", "--machine", "tiny"]).current_dir(folder.path()).output().unwrap();
        assert_eq!(code(&output), 4, "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert!(!folder.path().join("results").exists());
    };
    fails("[[applications]]\nworkload = \"nowhere\"\n", "nowhere");
    fails("[[applications]]\nname = \"stream\"\n", "unknown field `name`");
    fails("applications = []\n", "lists no application");
}

#[test]
fn more_owners_than_sms_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let apps = ["--app", "reduce"].repeat(5);
    let output = command(&[&["run"][..], &apps, &MACHINE_ARGUMENTS].concat()).current_dir(folder.path()).output().unwrap();
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("5 applications cannot each own SMs of tiny, which has 4"), "{}", stderr(&output));
}

#[test]
fn streams_that_could_have_overlapped_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["run", "--app", "reduce", "--app", "reduce", "--once", "--machine", "v100", "--max-cycles", "500"];
    let output = command(&arguments).current_dir(folder.path()).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("2 streams ran one after the other"), "{}", stdout(&output));
}

#[test]
fn applications_arrive_late_but_not_beyond_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    // One kernel runs at a time, and the first application arrives long after the second has ended.
    let run = |at: &str| {
        let first = format!("stream,at={at}");
        let apps = ["run", "--app", &first, "--app", "vecadd", "--once", "--machine", "tiny", "--set", "gpu.dispatch.max_kernels=1"];
        command(&[&apps[..], &["--out", "out", "--force"]].concat()).current_dir(folder.path()).output().unwrap()
    };
    let output = run("300000");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let stats = run_stats(&folder.path().join("out"));
    let started = |app: u64| {
        let kernels = stats["kernels"].as_array().unwrap().iter().filter(|kernel| kernel["application"] == app);
        kernels.map(|kernel| kernel["started"].as_u64().unwrap()).min().unwrap()
    };
    assert!(started(1) < 20_000 && started(0) >= 300_000, "{} and {}", started(1), started(0));
    for late in ["4611686018427387904", "18446744073709551615"] {
        let output = run(late);
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).contains("is after the latest arrival; expected at most 1000000000000 core cycles"), "{}", stderr(&output));
    }
}
