//! Exit codes: one table for the program, its help, its documentation and the stored results of sweeps.

use std::fmt::Write as _;

/// An exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded; this includes a run that `--max-cycles` stopped.
    Ok = 0,
    /// The check failed: `compare --fail-above` found a larger difference, or `sweep --collect` too few runs.
    Negative = 1,
    /// The command line is invalid.
    Usage = 2,
    /// A machine, run or `--set` value is invalid.
    Config = 3,
    /// A trace or kernel model is invalid.
    Workload = 4,
    /// The simulated machine is deadlocked.
    Deadlock = 5,
    /// Results cannot be written.
    Output = 6,
    /// A checkpoint cannot be written or read, or belongs to another run.
    Checkpoint = 7,
    /// A bug in the program.
    Internal = 70,
    /// The user interrupted a run, whose results are complete up to the present cycle, or a conversion, which then writes nothing.
    Interrupted = 130,
    /// The user interrupted the program a second time; there are no results.
    Aborted = 131,
}

/// All codes with their meanings, in ascending order.
pub const TABLE: [(Exit, &str); 11] = [
    (Exit::Ok, "success; also a run that ended at --max-cycles"),
    (Exit::Negative, "compare --fail-above: results differ by more than the limit; sweep --collect: runs are missing"),
    (Exit::Usage, "wrong usage: unknown option, missing value, conflicting options"),
    (Exit::Config, "wrong configuration: machine, run file or --set"),
    (Exit::Workload, "wrong or unreadable trace or kernel model"),
    (Exit::Deadlock, "deadlock in the simulated machine; stderr lists what each component waits for"),
    (Exit::Output, "results or the report cannot be written (permission, full disk, folder in use); no partial result is left"),
    (Exit::Checkpoint, "a checkpoint cannot be written, is damaged, or belongs to another run or build"),
    (Exit::Internal, "internal error (a bug); please report it with the message on stderr"),
    (
        Exit::Interrupted,
        "interrupted by Ctrl-C; results are complete up to the cycle at which the run stopped; a conversion writes nothing",
    ),
    (Exit::Aborted, "interrupted a second time; no results were written"),
];

impl Exit {
    /// Returns the exit code with this number; [`Exit::Internal`] for any other number.
    pub fn from_code(code: u8) -> Self {
        TABLE.iter().map(|(exit, _)| *exit).find(|exit| *exit as u8 == code).unwrap_or(Self::Internal)
    }
}

/// Returns the table as text, one code per line.
pub fn exit_codes() -> String {
    let mut text = String::from("Exit codes:\n");
    for (exit, meaning) in TABLE {
        let _ = writeln!(text, "  {:>3}  {meaning}", exit as u8);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_each_has_a_line() {
        assert!(TABLE.windows(2).all(|pair| (pair[0].0 as u8) < pair[1].0 as u8));
        assert_eq!(exit_codes().lines().count(), TABLE.len() + 1);
    }
}
