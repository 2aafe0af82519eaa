//! Errors of a configuration: where the problem is, what was given, what was expected, and how to correct it.
//!
//! All problems of a load are collected and shown together, in the order of the text.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text that values come from.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's name as the user gave it, `v100 (built in)`, or "the command line".
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Whether lines and columns mean something to the user.
    pub is_file: bool,
}

impl Source {
    /// A file or an embedded text.
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), is_file: true })
    }

    /// One argument of the command line, shown with its flag.
    pub fn command_line(text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: "the command line".to_owned(), text: text.into(), is_file: false })
    }
}

/// Some characters of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: Arc<Source>,
    /// The bytes in question; an empty span means the source as a whole.
    pub span: Range<usize>,
}

impl Place {
    /// The source as a whole.
    pub fn whole(source: &Arc<Source>) -> Self {
        Self { source: Arc::clone(source), span: 0..0 }
    }

    /// Line number, counted from 1.
    pub fn line(&self) -> usize {
        1 + memchr::memchr_iter(b'\n', &self.source.text.as_bytes()[..self.start()]).count()
    }

    /// Column in characters, counted from 1.
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

    /// Characters to underline: the span, as far as it lies on its first line, and at least one.
    fn width(&self) -> usize {
        let line_end = self.line_start() + self.line_text().len();
        let end = self.span.end.min(line_end).max(self.start());
        self.source.text.get(self.start()..end).map_or(1, |s| s.chars().count()).max(1)
    }
}

impl fmt::Display for Place {
    /// `file:line`, or the name of a source without lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source.is_file && !self.span.is_empty() {
            write!(f, "{}:{}", self.source.name, self.line())
        } else {
            f.write_str(&self.source.name)
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A lower-case sentence: the key, the value given, what was expected.
    pub message: String,
    /// Where; `None` when nothing was read.
    pub place: Option<Place>,
    /// What to do about it.
    pub help: Vec<String>,
    /// Other places that have to do with it.
    pub notes: Vec<String>,
}

impl Problem {
    /// A problem at a place.
    pub fn at(place: &Place, message: impl Into<String>) -> Self {
        Self { message: message.into(), place: Some(place.clone()), help: Vec::new(), notes: Vec::new() }
    }

    /// A problem without a place.
    pub fn nowhere(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, help: Vec::new(), notes: Vec::new() }
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

/// Characters of a line of input that a message shows, at most.
const LONGEST_LINE: usize = 200;

/// The part of a long line around the `width` characters from `caret` on, where those are within it, and how many of them it has.
fn excerpt(line: &str, caret: usize, width: usize) -> (String, usize, usize) {
    if line.chars().count().max(caret) <= LONGEST_LINE {
        return (line.to_owned(), caret, width.min(LONGEST_LINE));
    }
    let first = caret.saturating_sub(LONGEST_LINE / 4);
    let part: String = line.chars().skip(first).take(LONGEST_LINE).collect();
    let caret = caret - first;
    (part, caret, width.min(LONGEST_LINE - caret))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        if let Some(place) = &self.place {
            if place.span.is_empty() {
                writeln!(f, "  --> {}", place.source.name)?;
            } else {
                if place.source.is_file {
                    writeln!(f, "  --> {}:{}:{}", place.source.name, place.line(), place.column())?;
                } else {
                    writeln!(f, "  --> {}", place.source.name)?;
                }
                let line = place.line_text();
                let indent = line.len() - line.trim_start().len();
                let caret = (place.column() - 1).saturating_sub(indent);
                let (line, caret, width) = excerpt(line.trim(), caret, place.width());
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

/// Everything that is wrong with a configuration; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors {
    /// The problems, in the order in which they were found.
    pub problems: Vec<Problem>,
}

impl ConfigErrors {
    /// `value` if nothing is wrong, else the problems.
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
            let source = Source::file("a.toml", &text);
            let start = source.text.find(wrong).unwrap();
            let shown = Problem::at(&Place { source, span: start..start + wrong.len() }, "no").to_string();
            let lines: Vec<&str> = shown.lines().skip(2).collect();
            assert!(lines.iter().all(|line| line.chars().count() <= LONGEST_LINE + 5), "{shown}");
            let caret = lines[1].find('^').unwrap();
            let first = wrong.chars().next().unwrap();
            assert_eq!(lines[0].chars().nth(caret), Some(first), "{shown}");
        }
        // Blanks at the end of a line are not shown, and a caret may be among them.
        let source = Source::file("a.toml", format!("x{}", " ".repeat(100_000)));
        assert!(Problem::at(&Place { source, span: 99_999..100_001 }, "no").to_string().contains('^'));
    }

    #[test]
    fn a_caret_stands_under_the_value_in_an_indented_line() {
        let source = Source::file("a.toml", "x = 1\n\t äö = bad\n");
        let start = source.text.find("bad").unwrap();
        let problem = Problem::at(&Place { source, span: start..start + 3 }, "no").help("write good");
        assert_eq!(
            ConfigErrors::from(problem).to_string(),
            "error: no\n  --> a.toml:2:8\n   | äö = bad\n   |      ^^^\n   = help: write good\n"
        );
    }

    #[test]
    fn a_span_over_several_lines_is_underlined_on_its_first() {
        let source = Source::file("a.toml", "x = [1,\n2]\n");
        let problem = Problem::at(&Place { source, span: 4..10 }, "no");
        assert!(problem.to_string().ends_with("   | x = [1,\n   |     ^^^\n"), "{problem}");
    }
}
