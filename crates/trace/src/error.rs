//! Errors of traces: each states its location, the text found, the text expected and a remedy.

use std::fmt;
use std::path::{Path, PathBuf};

/// The kind of a problem, for callers that handle kinds differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A file or folder does not exist.
    Missing,
    /// A file cannot be read or decompressed.
    Unreadable,
    /// The kernel list is empty or has a malformed line.
    List,
    /// The kernel's header is incomplete or contradictory.
    Header,
    /// The file ends before the kernel is complete.
    Cut,
    /// The instructions contradict the counts that the header or the warp declares.
    Count,
    /// An instruction line is malformed.
    Instruction,
    /// No opcode table contains the opcode.
    Opcode,
}

/// A problem of a trace with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Path of the file as it was opened.
    pub file: PathBuf,
    /// Line of the problem, counted from 1, if it is in a line.
    pub line: Option<u64>,
    /// Description of the problem, a sentence without a full stop.
    pub what: String,
    /// Text found at the location.
    pub found: String,
    /// Text expected at the location.
    pub expected: String,
    /// Remedy for the user.
    pub help: String,
}

/// The problems that make a trace unusable: at least one, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// All problems that could be detected together.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}\n  found: {}\n  expected: {}\n  help: {}", self.what, self.found, self.expected, self.help)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for TraceError {}

impl From<Problem> for TraceError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

/// A problem at an offset of a text; the caller adds file and line.
#[derive(Clone, Debug)]
pub(super) struct TextFault {
    pub(super) at: usize,
    pub(super) kind: ProblemKind,
    pub(super) what: String,
    pub(super) found: String,
    pub(super) expected: String,
    pub(super) help: String,
}

impl TextFault {
    /// Converts the fault to a problem at a line of a file.
    pub(super) fn in_file(self, file: &Path, line: Option<u64>) -> Problem {
        let Self { kind, what, found, expected, help, .. } = self;
        Problem { kind, file: file.to_path_buf(), line, what, found, expected, help }
    }
}

/// Returns the problem for a file that cannot be read.
pub fn unreadable(file: &Path, error: &std::io::Error) -> Problem {
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    Problem {
        kind: if missing { ProblemKind::Missing } else { ProblemKind::Unreadable },
        file: file.to_path_buf(),
        line: None,
        what: if missing { "there is no such file" } else { "the file cannot be read" }.into(),
        found: error.to_string(),
        expected: "a readable trace, plain or compressed as .xz, .gz or .zst".into(),
        help: if missing {
            "check the path, and that the whole folder of the trace was copied"
        } else {
            "check its permissions, and with `xz -t`, `gzip -t` or `zstd -t` whether it is intact"
        }
        .into(),
    }
}
