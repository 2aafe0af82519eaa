//! Whatever input a user names, a named pipe or a device in its place is refused at once, and so is a text that never ends.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use warpshard::config::input;

/// A named pipe that nobody writes to.
fn pipe(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Runs the program; its exit code and what it reports. A program that waits for a writer is ended.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpshard"));
    let mut child = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("{arguments:?} waits for a writer");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout))
}

#[test]
fn a_named_pipe_is_refused_wherever_an_input_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| pipe(folder.path(), name).display().to_string();
    let (machine, model, trace, native) = (at("machine.toml"), at("model.toml"), at("kernel-1.traceg"), at("trace.wst"));
    let (packed, profile, config, set) = (at("kernel-2.traceg.zst"), at("profile.toml"), at("gpgpusim.config"), at("set.toml"));
    let (mix, core) = (format!("@{}", at("mix.toml")), at("core.trace"));
    let energy = format!("energy.set=\"{set}\"");
    let listed = tempfile::tempdir().unwrap();
    pipe(listed.path(), "kernelslist.g");
    let list = listed.path().display().to_string();
    let out = folder.path().join("out").display().to_string();
    let cpu = ["--machine", "hetero-small", "--workload", "vecadd", "--cpu-warm", "1", "--cpu-measure", "1"];
    let cases: Vec<Vec<&str>> = vec![
        vec!["run", "--machine", &machine],
        vec!["run", "--machine", "tiny", "--workload", &model],
        vec!["run", "--machine", "tiny", "--trace", &trace],
        vec!["run", "--machine", "tiny", "--trace", &packed],
        vec!["run", "--machine", "tiny", "--trace", &native],
        vec!["run", "--machine", "tiny", "--trace", &list],
        vec!["run", "--machine", "tiny", "--workload", "vecadd", "--set", &energy],
        [&["run"], &cpu[..], &["--cpu", &profile]].concat(),
        [&["run"], &cpu[..], &["--cpu", &core]].concat(),
        [&["run"], &cpu[..], &["--cpu", &mix]].concat(),
        vec!["check", &machine],
        vec!["check", &trace],
        vec!["convert", &trace, &out],
        vec!["import", "--gpgpusim", &config, "--trace-config", &config, "--out", &out],
        vec!["calibrate", &config, "--machine", "tiny", "--out", &out],
    ];
    for case in cases {
        let (code, text) = run(&case);
        assert!(matches!(code, Some(code) if code != 0 && code != 101), "{case:?} ends with {code:?}: {text}");
        assert!(text.contains("named pipe") || text.contains("error"), "{case:?}: {text}");
        assert!(!Path::new(&out).exists(), "{case:?}");
    }
}

#[test]
fn devices_and_folders_are_named_as_what_they_are() {
    let message = |path: &str| input::read_text(Path::new(path)).unwrap_err().to_string();
    assert!(message("/dev/zero").contains("it is a device, expected a regular file"));
    assert!(message("/").contains("it is a folder, expected a regular file"));
}

#[test]
fn a_text_is_read_up_to_its_limit_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.toml");
    std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = input::read_text(&path).unwrap_err().to_string();
    assert!(error.contains("more than 16777216 bytes"), "{error}");
    assert_eq!(input::read(&path, 10).unwrap_err().kind(), std::io::ErrorKind::FileTooLarge);
}
