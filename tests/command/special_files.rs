//! Special files as inputs: a named pipe, a device or an endless text in place of any input is refused immediately.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use warpshard::config::input;

/// Creates a named pipe without a writer.
fn create_pipe(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Runs the program; returns its exit code and its messages. A program that waits for a writer is killed.
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
    let at = |name: &str| create_pipe(folder.path(), name).display().to_string();
    let (machine, model, trace, native) = (at("machine.toml"), at("model.toml"), at("kernel-1.traceg"), at("trace.wst"));
    let (packed, profile, config, set) = (at("kernel-2.traceg.zst"), at("profile.toml"), at("gpgpusim.config"), at("set.toml"));
    let (mix, core) = (format!("@{}", at("mix.toml")), at("core.trace"));
    let energy = format!("energy.set=\"{set}\"");
    let listed = tempfile::tempdir().unwrap();
    create_pipe(listed.path(), "kernelslist.g");
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

/// Files that the program wrote are checked like other inputs when they are read again.
#[test]
fn a_pipe_a_device_or_an_endless_file_in_place_of_a_result_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let checkpoint = create_pipe(folder.path(), "a.checkpoint").display().to_string();
    for (name, file) in [("pipe", "stats.json"), ("table", "run.toml")] {
        let (code, text) = run(&["run", "--machine", "tiny", "--workload", "vecadd", "--max-cycles", "100", "--out", &at(name)]);
        assert_eq!(code, Some(0), "{text}");
        std::fs::remove_file(folder.path().join(name).join(file)).unwrap();
        create_pipe(&folder.path().join(name), file);
    }
    for name in ["device", "endless", "timeline"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("device/stats.json")).unwrap();
    std::fs::File::create(folder.path().join("endless/stats.json")).unwrap().set_len(1 << 40).unwrap();
    create_pipe(&folder.path().join("timeline"), "timeline.csv");
    let [results, table, device, endless, timeline] = ["pipe", "table", "device", "endless", "timeline"].map(at);
    let resumed = ["run", "--machine", "tiny", "--workload", "vecadd", "--out"];
    let out = at("out");
    let cases: Vec<Vec<&str>> = vec![
        vec!["report", &results],
        vec!["report", &table],
        vec!["report", &device],
        vec!["report", &endless],
        vec!["compare", &results, &results],
        vec!["timeline", &timeline],
        vec!["sweep", "submit", &checkpoint, "--to", "slurm"],
        [&resumed[..], &[&out, "--resume", &checkpoint]].concat(),
        [&resumed[..], &[&out, "--resume", "/dev/zero"]].concat(),
        [&resumed[..], &[&table, "--max-cycles", "200"]].concat(),
    ];
    for case in cases {
        let (code, text) = run(&case);
        assert!(matches!(code, Some(code) if code != 0 && code != 101), "{case:?} ends with {code:?}: {text}");
        assert!(text.contains("error"), "{case:?}: {text}");
    }
    assert!(!Path::new(&out).exists());
}

/// An output replaces a regular file, but never a device, a pipe or a link.
#[test]
fn outputs_to_devices_and_links_are_written_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (results, page, link) = (at("run"), at("page.html"), at("link.html"));
    let (code, text) = run(&["run", "--machine", "tiny", "--workload", "vecadd", "--max-cycles", "100", "--out", &results]);
    assert_eq!(code, Some(0), "{text}");
    std::fs::write(&page, "old").unwrap();
    std::os::unix::fs::symlink(&page, &link).unwrap();
    assert_eq!(run(&["report", &results, "--html", &link]).0, Some(0));
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::fs::read_to_string(&page).unwrap().starts_with("<!"));
    // The test uses /dev/full, because creating a device needs root.
    let full = std::fs::metadata("/dev/full").is_ok_and(|facts| facts.file_type().is_char_device());
    if full {
        let (code, text) = run(&["report", &results, "--html", "/dev/full"]);
        assert_eq!(code, Some(6), "{text}");
        assert!(text.contains("No space left on device"), "{text}");
        assert!(std::fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    }
    let pipe = create_pipe(folder.path(), "pipe.html").display().to_string();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    assert_eq!(run(&["report", &results, "--html", &pipe]).0, Some(0));
    assert!(reader.join().unwrap().starts_with("<!"));
    assert_eq!(run(&["convert", &results, "/dev/null", "--force"]).0, Some(6));
}

#[test]
fn messages_distinguish_devices_and_folders() {
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
