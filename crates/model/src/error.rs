//! Errors of a kernel model, with their location and a correction.

use std::fmt;

/// A problem of a kernel model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1; 0 if the problem has no line.
    pub line: u32,
    /// The key with the problem, as written; empty if the problem has no key.
    pub key: Box<str>,
    /// Description of the problem, as a lower-case sentence.
    pub message: String,
    /// The given value, as written; empty if there is none.
    pub given: String,
    /// The allowed values; empty if they cannot be listed.
    pub allowed: Vec<String>,
    /// Advice for a correction.
    pub help: String,
}

impl Problem {
    /// Creates a problem with `key` in `line`.
    pub(super) fn new(line: u32, key: &str, message: impl Into<String>) -> Self {
        Self { line, key: key.into(), message: message.into(), ..Self::default() }
    }

    /// Adds the given value.
    pub(super) fn given(mut self, given: impl Into<String>) -> Self {
        self.given = given.into();
        self
    }

    /// Adds the allowed values.
    pub(super) fn allowed<S: Into<String>>(mut self, allowed: impl IntoIterator<Item = S>) -> Self {
        self.allowed = allowed.into_iter().map(Into::into).collect();
        self
    }

    /// Adds advice for a correction.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

/// The error for an invalid model, with all its problems.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ModelError {
    /// Name of the file or of the built-in model.
    pub file: String,
    /// At least one problem, in the order of the file.
    pub problems: Vec<Problem>,
}

impl ModelError {
    /// Creates an error from `problems`, ordered by line, without duplicates.
    pub(super) fn new(file: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.line);
        let mut unique: Vec<Problem> = Vec::new();
        for problem in problems {
            if !unique.contains(&problem) {
                unique.push(problem);
            }
        }
        Self { file: file.to_owned(), problems: unique }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", self.file)?;
            if problem.line > 0 {
                write!(f, ":{}", problem.line)?;
            }
            write!(f, ": ")?;
            if !problem.key.is_empty() {
                write!(f, "`{}`: ", problem.key)?;
            }
            write!(f, "{}", problem.message)?;
            if !problem.given.is_empty() {
                write!(f, "\n  given: {}", problem.given)?;
            }
            if !problem.allowed.is_empty() {
                write!(f, "\n  allowed: {}", problem.allowed.join(", "))?;
            }
            if !problem.help.is_empty() {
                write!(f, "\n  help: {}", problem.help)?;
            }
        }
        Ok(())
    }
}

/// Returns the candidate that is most similar to the misspelt `word`.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.into_iter().map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate));
    let (distance, candidate) = scored.min_by_key(|&(distance, _)| distance)?;
    (distance <= 1 + word.len() / 4 && distance < word.len()).then_some(candidate)
}

/// Returns "did you mean `x`?", or `otherwise` if no candidate is similar.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    match nearest(word, candidates) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => otherwise.to_owned(),
    }
}
