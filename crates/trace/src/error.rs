//! What was wrong with a trace, in words that say where, what was found, what belongs there and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// The kind of a problem, for callers that act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A file or folder is not there.
    Missing,
    /// A file cannot be read or decompressed.
    Unreadable,
    /// The kernel list is empty or has a broken line.
    List,
    /// The kernel's header lacks something or contradicts itself.
    Header,
    /// The file ends too early.
    Cut,
    /// The instructions contradict what the header or the warp promises.
    Count,
    /// An instruction line is malformed.
    Instruction,
    /// An opcode is in no table.
    Opcode,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// The file, as it was opened.
    pub file: PathBuf,
    /// The line, counted from 1, when the problem is in one.
    pub line: Option<u64>,
    /// What is wrong, in a sentence without a full stop.
    pub what: String,
    /// What was found there.
    pub found: String,
    /// What belongs there.
    pub expected: String,
    /// What the user can do.
    pub help: String,
}

/// Why a trace cannot be used: at least one problem, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Everything that is wrong, as far as it could be seen at once.
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

/// A problem at an offset of a text; the holder of the text knows file and line.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) kind: ProblemKind,
    pub(super) what: String,
    pub(super) found: String,
    pub(super) expected: String,
    pub(super) help: String,
}

impl Fault {
    /// Places the fault in its file.
    pub(super) fn in_file(self, file: &Path, line: Option<u64>) -> Problem {
        let Self { kind, what, found, expected, help, .. } = self;
        Problem { kind, file: file.to_path_buf(), line, what, found, expected, help }
    }
}

/// The problem of a file that cannot be read.
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
