//! Parser of an Accel-Sim configuration.
//!
//! Input: the text of a file. Output: a list of options with their values, without comments, and with their source locations. An option is
//! a word that starts with `-` and a letter. Its value extends to the next option, so that a quoted value may span several lines and a line
//! may contain several options. Some published files contain conflict markers of a version control system. The parser skips them, as the
//! reference skips words that it does not know.

use std::ops::Range;
use std::sync::Arc;

use super::super::error::{Problem, SourceSpan, SourceText};

/// An option of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GivenOption {
    /// The name without the leading dash.
    pub(super) name: String,
    /// The value, without quotes and blanks; the parts of a quoted value are joined.
    pub(super) value: String,
    /// The source location of the value, or of the name if the option has no value.
    pub(super) location: SourceSpan,
}

/// Reads all options of a file.
pub(super) fn read(source: &Arc<SourceText>, problems: &mut Vec<Problem>) -> Vec<GivenOption> {
    let mut options: Vec<PartialOption> = Vec::new();
    let mut quote: Option<usize> = None;
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        let kept = line.find('#').map_or(line, |hash| &line[..hash]);
        for (word, at) in words(kept) {
            let span = start + at..start + at + word.len();
            if quote.is_none() && is_name(word) {
                options.push(PartialOption { name: word[1..].to_owned(), name_span: span, parts: Vec::new() });
                continue;
            }
            if word.matches('"').count() % 2 == 1 {
                quote = if quote.is_some() { None } else { Some(span.start) };
            }
            match options.last_mut() {
                Some(open) => open.parts.push((word.to_owned(), span)),
                None if is_conflict_marker(word) => {}
                None => problems.push(
                    Problem::at(&at_span(source, span), format!("`{word}` comes before the first option"))
                        .help("an option is a word that starts with a dash, such as `-gpgpu_n_clusters 80`"),
                ),
            }
        }
        start += line.len();
    }
    if let Some(open) = quote {
        let location = at_span(source, open..open + 1);
        problems.push(Problem::at(&location, "a quoted value has no end").help("close it with `\"`"));
    }
    options.into_iter().map(|open| open.close(source)).collect()
}

struct PartialOption {
    name: String,
    name_span: Range<usize>,
    parts: Vec<(String, Range<usize>)>,
}

impl PartialOption {
    fn close(mut self, source: &Arc<SourceText>) -> GivenOption {
        if let Some(marker) = self.parts.iter().position(|(word, _)| is_conflict_marker(word)) {
            self.parts.truncate(marker);
        }
        let span = match (self.parts.first(), self.parts.last()) {
            (Some((_, first)), Some((_, last))) => first.start..last.end,
            _ => self.name_span,
        };
        let value: String = self.parts.iter().map(|(word, _)| word.replace('"', "")).collect();
        GivenOption { name: self.name, value, location: at_span(source, span) }
    }
}

fn at_span(source: &Arc<SourceText>, span: Range<usize>) -> SourceSpan {
    SourceSpan { source: Arc::clone(source), span }
}

fn is_name(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn is_conflict_marker(word: &str) -> bool {
    ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|marker| word.starts_with(marker))
}

/// Returns the words of a line, each with the index of its first byte.
fn words(line: &str) -> impl Iterator<Item = (&str, usize)> {
    line.split_whitespace().map(move |word| (word, word.as_ptr() as usize - line.as_ptr() as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Vec<(String, String, usize)> {
        let mut problems = Vec::new();
        let given = read(&SourceText::file("f", text), &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        given.into_iter().map(|g| (g.name, g.value, g.location.line())).collect()
    }

    #[test]
    fn comments_go_and_a_quoted_value_may_fill_several_lines() {
        let text = "# a\n-b 1 # c\n-d \"x=1:y=2:\n   z=3\" # e\n#-f 4\n  -g\n-h -5";
        let expected = [("b", "1", 2), ("d", "x=1:y=2:z=3", 3), ("g", "", 6), ("h", "-5", 7)];
        assert_eq!(options(text), expected.map(|(n, v, l)| (n.to_owned(), v.to_owned(), l)));
    }

    #[test]
    fn several_options_may_share_a_line_and_conflict_markers_are_no_values() {
        let text = "-a 1 -b 2\n<<<<<<< HEAD\n=======\n>>>>>>> x/y\n-c 3\n";
        let expected = [("a", "1", 1), ("b", "2", 1), ("c", "3", 5)];
        assert_eq!(options(text), expected.map(|(n, v, l)| (n.to_owned(), v.to_owned(), l)));
    }

    #[test]
    fn a_value_without_option_and_an_open_quote_are_named_with_their_lines() {
        let mut problems = Vec::new();
        read(&SourceText::file("f", "7\n-a \"1\n"), &mut problems);
        let text: Vec<String> = problems.iter().map(|p| format!("{} {}", p.location.as_ref().unwrap(), p.message)).collect();
        assert_eq!(text, ["f:1 `7` comes before the first option", "f:2 a quoted value has no end"]);
    }
}
