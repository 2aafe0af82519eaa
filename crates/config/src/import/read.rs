//! The text of an Accel-Sim configuration as a list of options.
//!
//! Input: a file's text. Output: every option with its value, its comments gone, and its place. An option is a word that
//! starts with `-` and a letter; its value is everything up to the next option, so that a quoted value may fill several
//! lines and several options one line. Conflict markers of a version control system, which some published files contain,
//! are skipped as the reference skips words it does not know.

use std::ops::Range;
use std::sync::Arc;

use super::super::error::{Place, Problem, Source};

/// One option of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// Its name without the leading dash.
    pub(super) name: String,
    /// Its value, quotes and blanks removed: the parts of a quoted value joined.
    pub(super) value: String,
    /// Where the value is, or the name where there is none.
    pub(super) place: Place,
}

/// Reads all options of a file.
pub(super) fn read(source: &Arc<Source>, problems: &mut Vec<Problem>) -> Vec<Given> {
    let mut options: Vec<Open> = Vec::new();
    let mut quote: Option<usize> = None;
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        let kept = line.find('#').map_or(line, |hash| &line[..hash]);
        for (word, at) in words(kept) {
            let span = start + at..start + at + word.len();
            if quote.is_none() && is_name(word) {
                options.push(Open { name: word[1..].to_owned(), name_span: span, parts: Vec::new() });
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
        let place = at_span(source, open..open + 1);
        problems.push(Problem::at(&place, "a quoted value has no end").help("close it with `\"`"));
    }
    options.into_iter().map(|open| open.close(source)).collect()
}

struct Open {
    name: String,
    name_span: Range<usize>,
    parts: Vec<(String, Range<usize>)>,
}

impl Open {
    fn close(mut self, source: &Arc<Source>) -> Given {
        if let Some(marker) = self.parts.iter().position(|(word, _)| is_conflict_marker(word)) {
            self.parts.truncate(marker);
        }
        let span = match (self.parts.first(), self.parts.last()) {
            (Some((_, first)), Some((_, last))) => first.start..last.end,
            _ => self.name_span,
        };
        let value: String = self.parts.iter().map(|(word, _)| word.replace('"', "")).collect();
        Given { name: self.name, value, place: at_span(source, span) }
    }
}

fn at_span(source: &Arc<Source>, span: Range<usize>) -> Place {
    Place { source: Arc::clone(source), span }
}

fn is_name(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn is_conflict_marker(word: &str) -> bool {
    ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|marker| word.starts_with(marker))
}

/// The words of a line with their first bytes.
fn words(line: &str) -> impl Iterator<Item = (&str, usize)> {
    line.split_whitespace().map(move |word| (word, word.as_ptr() as usize - line.as_ptr() as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Vec<(String, String, usize)> {
        let mut problems = Vec::new();
        let given = read(&Source::file("f", text), &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        given.into_iter().map(|g| (g.name, g.value, g.place.line())).collect()
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
        read(&Source::file("f", "7\n-a \"1\n"), &mut problems);
        let text: Vec<String> = problems.iter().map(|p| format!("{} {}", p.place.as_ref().unwrap(), p.message)).collect();
        assert_eq!(text, ["f:1 `7` comes before the first option", "f:2 a quoted value has no end"]);
    }
}
