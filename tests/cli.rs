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
