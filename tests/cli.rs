//! The command as users call it: usage, exit codes, what it writes and what it leaves behind.

use std::process::{Command, Output, Stdio};

use warpshard::cli::exit;

fn warpshard(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpshard"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_is_wrong() {
    for (arguments, expected) in [
        (&[][..], "Usage: warpshard"),
        (&["simulate"], "unrecognized subcommand 'simulate'"),
        (&["run", "--thread", "3"], "'--threads'"),
        (&["run", "--threads", "0"], "'0'"),
        (&["run", "--epoch", "long"], "\"auto\" or a whole number"),
        (&["run", "--set", "gpu.sms"], "KEY=VALUE"),
        (&["run", "--trace", "a", "--workload", "b"], "cannot be used with"),
        (&["run", "--force"], "--out"),
        (&["check"], "<FILE>"),
        (&["show", "engine", "x"], "[possible values: machine, workload]"),
    ] {
        let output = warpshard(arguments);
        assert_eq!(code(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn help_and_version_are_answers() {
    for arguments in [&["--help"][..], &["help"], &["help", "run"], &["run", "-h"], &["--version"]] {
        let output = warpshard(arguments);
        assert_eq!((code(&output), stderr(&output).as_str()), (0, ""), "{arguments:?}");
        assert!(stdout(&output).contains("warpshard"), "{arguments:?}");
    }
}

#[test]
fn the_exit_codes_are_documented_by_the_program_itself() {
    for arguments in [&["exit-codes"][..], &["help", "exit-codes"]] {
        let text = stdout(&warpshard(arguments));
        for (exit, meaning) in exit::TABLE {
            assert!(text.contains(&format!("{:>3}  {}", exit as u8, &meaning[..20])), "{exit:?} is missing in {text}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_ends_with_6() {
    for arguments in [&["exit-codes"][..], &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(arguments).stdout(full).output().unwrap();
        assert_eq!(code(&output), 6, "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = command(&["exit-codes"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn every_built_in_machine_and_model_is_listed_can_be_shown_and_is_valid() {
    let list = stdout(&warpshard(&["list"]));
    for (kind, names) in
        [("machine", &["v100", "m2090", "tiny"][..]), ("workload", &["gemm_tiled", "vecadd", "stream", "reduce", "gather"])]
    {
        for name in names {
            assert!(list.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{name} is not in {list}");
            let output = warpshard(&["show", kind, name]);
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            assert!(stdout(&output).contains(name), "{}", stdout(&output));
        }
    }
}

#[test]
fn what_show_prints_of_a_machine_is_a_machine() {
    let folder = scratch();
    let file = folder.path().join("m.toml");
    let shown = warpshard(&["show", "machine", "tiny", "--set", "gpu.sms=3"]);
    std::fs::write(&file, &shown.stdout).unwrap();
    let output = warpshard(&["check", file.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("tiny, 3 SMs"), "{}", stdout(&output));
}

#[test]
fn a_model_written_as_a_trace_is_a_valid_trace_with_the_same_ctas() {
    let folder = scratch();
    let out = folder.path().join("t");
    let out = out.to_str().unwrap();
    let written = warpshard(&["trace", "vecadd", "--set", "workload.n=1000", "--out", out]);
    assert_eq!(code(&written), 0, "{}", stderr(&written));
    let checked = warpshard(&["check", &format!("{out}/kernelslist.g")]);
    assert!(stdout(&checked).contains("1 kernel, 4 CTAs"), "{}", stdout(&checked));
    let again = warpshard(&["trace", "vecadd", "--out", out]);
    assert_eq!(code(&again), 6, "{}", stderr(&again));
}

#[test]
fn check_goes_on_after_a_bad_file_and_ends_with_its_code() {
    let folder = scratch();
    let bad = folder.path().join("bad.toml");
    std::fs::write(&bad, "extends = \"tiny\"\n[gpu]\nsmms = 4\n").unwrap();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/workloads/vecadd.toml");
    let output = warpshard(&["check", bad.to_str().unwrap(), "missing/kernelslist.g", model]);
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).contains("ok, a kernel model: vecadd"), "{}", stdout(&output));
    let said = stderr(&output);
    assert!(said.contains("smms") && said.contains("sms") && said.contains("missing/kernelslist.g"), "{said}");
}

#[test]
fn the_users_mistakes_have_their_own_codes_and_sentences() {
    for (arguments, expected, says) in [
        (&["run", "--machine", "v1000"][..], 3, "v100"),
        (&["run", "--set", "gpu.sm=56"], 3, "gpu.sm"),
        (&["run", "--workload", "gem_tiled"], 4, "gemm_tiled"),
        (&["run", "--set", "workload.m=3"], 4, "no such parameter"),
        (&["run", "--trace", "nowhere/kernelslist.g"], 4, "no such file"),
        (&["run", "--kernels", "7-9"], 2, "selects none of the 1 kernels"),
        (&["run", "--out", "/dev/null/x"], 6, "/dev/null"),
        (&["show", "machine", "v1000"], 3, "v100"),
        (&["show", "workload", "nothing.toml"], 4, "nothing.toml"),
        (&["trace", "vecadd", "--out", "/dev/null/x"], 6, "/dev/null"),
        (&["trace", "vecadd", "--set", "gpu.sms=3", "--out", "x"], 2, "workload.KEY"),
    ] {
        let output = warpshard(arguments);
        assert_eq!(code(&output), expected, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).starts_with("error: "), "{arguments:?}: {}", stderr(&output));
    }
}
