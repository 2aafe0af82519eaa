//! Errors of listings, launch files and executing programs.

use std::fmt;
use std::path::{Path, PathBuf};

/// A problem of a program with its location, the found state, the expected state and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// The faulty file.
    pub file: PathBuf,
    /// Line of the problem, counted from 1; 0 if the problem has no line.
    pub line: u32,
    /// Description of the problem.
    pub what: Box<str>,
    /// Description of the found state.
    pub found: Box<str>,
    /// Description of the expected state.
    pub expected: Box<str>,
    /// Remedy for the user.
    pub help: Box<str>,
}

impl ProgramError {
    /// Returns a problem at a line of a file.
    pub(super) fn new(file: &Path, line: u32, what: impl Into<String>) -> Self {
        let (found, expected, help) = Default::default();
        Self { file: file.to_path_buf(), line, what: what.into().into_boxed_str(), found, expected, help }
    }

    /// Returns the problem with the found state added.
    pub(super) fn found(mut self, found: impl Into<String>) -> Self {
        self.found = found.into().into_boxed_str();
        self
    }

    /// Returns the problem with the expected state added.
    pub(super) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into().into_boxed_str();
        self
    }

    /// Returns the problem with a remedy added.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into().into_boxed_str();
        self
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.what)?;
        for (name, text) in [("found", &self.found), ("expected", &self.expected), ("help", &self.help)] {
            if !text.is_empty() {
                write!(f, "\n  {name}: {}", text.escape_debug())?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ProgramError {}

/// Maximum number of names that an error lists.
const MAX_LISTED_NAMES: usize = 24;

/// Returns a list of names for an error message.
pub(super) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names = names.into_iter();
    let first: Vec<&str> = names.by_ref().take(MAX_LISTED_NAMES).collect();
    let more = names.count();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if first.is_empty() { "none, because none exist".to_owned() } else { first.join(", ") + &more }
}
