//! What is wrong with a listing, a launch file or a program that runs.

use std::fmt;
use std::path::{Path, PathBuf};

/// A problem with a program: where it is, what was found, what was expected and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// The file at fault.
    pub file: PathBuf,
    /// The line, from 1; 0 when the problem has no line.
    pub line: u32,
    /// What is wrong.
    pub what: Box<str>,
    /// What was found.
    pub found: Box<str>,
    /// What was expected.
    pub expected: Box<str>,
    /// What the user can do.
    pub help: Box<str>,
}

impl ProgramError {
    /// A problem at a line of a file.
    pub(super) fn new(file: &Path, line: u32, what: impl Into<String>) -> Self {
        let (found, expected, help) = Default::default();
        Self { file: file.to_path_buf(), line, what: what.into().into_boxed_str(), found, expected, help }
    }

    /// The same with what was found.
    pub(super) fn found(mut self, found: impl Into<String>) -> Self {
        self.found = found.into().into_boxed_str();
        self
    }

    /// The same with what was expected.
    pub(super) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into().into_boxed_str();
        self
    }

    /// The same with what to do.
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

/// Most names that an error lists.
const LISTED: usize = 24;

/// A list of names for an error.
pub(super) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names = names.into_iter();
    let first: Vec<&str> = names.by_ref().take(LISTED).collect();
    let more = names.count();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if first.is_empty() { "none, since there is none".to_owned() } else { first.join(", ") + &more }
}
