//! Configuration errors: the source location, the given value, the expected value, and the correction.
//!
//! All problems of a load are collected and shown together, in the order of the text.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text that contains configuration values.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The file's name as given by the user, `v100 (built in)`, or "the command line".
    pub name: String,
    /// The whole text.
    pub text: String,
    /// `true` if messages show line and column.
    pub is_file: bool,
}

impl SourceText {
    /// Creates the source of a file or of a built-in text.
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), is_file: true })
    }

    /// Creates the source of one command-line argument, which is shown with its flag.
    pub fn command_line(text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: "the command line".to_owned(), text: text.into(), is_file: false })
    }
}

/// A range of characters of a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSpan {
    /// The source text.
    pub source: Arc<SourceText>,
    /// The byte range; an empty range refers to the whole source.
    pub span: Range<usize>,
}

impl SourceSpan {
    /// Returns a span that refers to the whole source.
    pub fn whole(source: &Arc<SourceText>) -> Self {
        Self { source: Arc::clone(source), span: 0..0 }
    }

    /// Returns the line number, counted from 1.
    pub fn line(&self) -> usize {
        1 + memchr::memchr_iter(b'\n', &self.source.text.as_bytes()[..self.start()]).count()
    }

    /// Returns the column in characters, counted from 1.
    pub fn column(&self) -> usize {
        1 + self.source.text[self.line_start()..self.start()].chars().count()
    }

    fn start(&self) -> usize {
        let mut start = self.span.start.min(self.source.text.len());
        while !self.source.text.is_char_boundary(start) {
            start -= 1;
        }
        start
    }

    fn line_start(&self) -> usize {
        self.source.text[..self.start()].rfind('\n').map_or(0, |i| i + 1)
    }

    fn line_text(&self) -> &str {
        self.source.text[self.line_start()..].lines().next().unwrap_or("")
    }

    /// Returns the number of characters to underline: the part of the span on its first line, and at least 1.
    fn width(&self) -> usize {
        let line_end = self.line_start() + self.line_text().len();
        let end = self.span.end.min(line_end).max(self.start());
        self.source.text.get(self.start()..end).map_or(1, |s| s.chars().count()).max(1)
    }
}

impl fmt::Display for SourceSpan {
    /// Formats the span as `file:line`, or as the source's name if the source has no lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source.is_file && !self.span.is_empty() {
            write!(f, "{}:{}", self.source.name, self.line())
        } else {
            f.write_str(&self.source.name)
        }
    }
}

/// An error or a warning about a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The message, a lower-case sentence with the key, the given value and the expected value.
    pub message: String,
    /// The source location; `None` if the problem has none.
    pub location: Option<SourceSpan>,
    /// Hints for a correction.
    pub help: Vec<String>,
    /// Notes on other keys of the same problem.
    pub notes: Vec<String>,
}

impl Problem {
    /// Creates a problem at a source location.
    pub fn at(location: &SourceSpan, message: impl Into<String>) -> Self {
        Self { message: message.into(), location: Some(location.clone()), help: Vec::new(), notes: Vec::new() }
    }

    /// Creates a problem without a source location.
    pub fn without_location(message: impl Into<String>) -> Self {
        Self { message: message.into(), location: None, help: Vec::new(), notes: Vec::new() }
    }

    /// Adds a hint.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Adds a hint if there is one.
    #[must_use]
    pub fn help_if(mut self, help: Option<String>) -> Self {
        self.help.extend(help);
        self
    }
}

/// Maximum number of characters of an input line that a message shows.
const MAX_SHOWN_CHARS: usize = 200;

/// Returns the part of a long line around its `width` characters from `caret` on, the position of the caret in that part, and the number of
/// underlined characters.
fn excerpt(line: &str, caret: usize, width: usize) -> (String, usize, usize) {
    if line.chars().count().max(caret) <= MAX_SHOWN_CHARS {
        return (line.to_owned(), caret, width.min(MAX_SHOWN_CHARS));
    }
    let first = caret.saturating_sub(MAX_SHOWN_CHARS / 4);
    let part: String = line.chars().skip(first).take(MAX_SHOWN_CHARS).collect();
    let caret = caret - first;
    (part, caret, width.min(MAX_SHOWN_CHARS - caret))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        if let Some(location) = &self.location {
            if location.span.is_empty() {
                writeln!(f, "  --> {}", location.source.name)?;
            } else {
                if location.source.is_file {
                    writeln!(f, "  --> {}:{}:{}", location.source.name, location.line(), location.column())?;
                } else {
                    writeln!(f, "  --> {}", location.source.name)?;
                }
                let line = location.line_text();
                let indent = line.len() - line.trim_start().len();
                let caret = (location.column() - 1).saturating_sub(indent);
                let (line, caret, width) = excerpt(line.trim(), caret, location.width());
                writeln!(f, "   | {line}")?;
                writeln!(f, "   | {:caret$}{}", "", "^".repeat(width))?;
            }
        }
        for help in &self.help {
            writeln!(f, "   = help: {help}")?;
        }
        for note in &self.notes {
            writeln!(f, "   = note: {note}")?;
        }
        Ok(())
    }
}

/// All problems of a configuration; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors {
    /// The problems, in the order in which they were found.
    pub problems: Vec<Problem>,
}

impl ConfigErrors {
    /// Returns `value` if there are no problems, and the problems otherwise.
    pub fn unless_empty<T>(value: T, problems: Vec<Problem>) -> Result<T, Self> {
        if problems.is_empty() { Ok(value) } else { Err(Self { problems }) }
    }
}

impl From<Problem> for ConfigErrors {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "error: {problem}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_its_problem() {
        let long = "ö".repeat(100_000);
        for (text, wrong) in
            [(format!("x = {long} bad {long}"), "bad"), (format!("x = 1{}bad", " ".repeat(100_000)), "bad"), (long.clone(), &long)]
        {
            let source = SourceText::file("a.toml", &text);
            let start = source.text.find(wrong).unwrap();
            let shown = Problem::at(&SourceSpan { source, span: start..start + wrong.len() }, "no").to_string();
            let lines: Vec<&str> = shown.lines().skip(2).collect();
            assert!(lines.iter().all(|line| line.chars().count() <= MAX_SHOWN_CHARS + 5), "{shown}");
            let caret = lines[1].find('^').unwrap();
            let first = wrong.chars().next().unwrap();
            assert_eq!(lines[0].chars().nth(caret), Some(first), "{shown}");
        }
        // Blanks at the end of a line are not shown, but a span may begin there.
        let source = SourceText::file("a.toml", format!("x{}", " ".repeat(100_000)));
        assert!(Problem::at(&SourceSpan { source, span: 99_999..100_001 }, "no").to_string().contains('^'));
    }

    #[test]
    fn the_caret_is_under_the_value_in_an_indented_line() {
        let source = SourceText::file("a.toml", "x = 1\n\t äö = bad\n");
        let start = source.text.find("bad").unwrap();
        let problem = Problem::at(&SourceSpan { source, span: start..start + 3 }, "no").help("write good");
        assert_eq!(
            ConfigErrors::from(problem).to_string(),
            "error: no\n  --> a.toml:2:8\n   | äö = bad\n   |      ^^^\n   = help: write good\n"
        );
    }

    #[test]
    fn a_span_over_several_lines_is_underlined_on_its_first() {
        let source = SourceText::file("a.toml", "x = [1,\n2]\n");
        let problem = Problem::at(&SourceSpan { source, span: 4..10 }, "no");
        assert!(problem.to_string().ends_with("   | x = [1,\n   |     ^^^\n"), "{problem}");
    }
}
