//! Text for terminals and files: escaped control characters, numbers with separators and units, tables, bars.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Columns of a report in a file or pipe, and maximum columns on a terminal.
pub const DEFAULT_COLUMNS: usize = 100;

/// Minimum columns of a report.
const MIN_COLUMNS: usize = 40;

/// Minimum columns of the names of a table that does not fit.
const MIN_NAME_COLUMNS: usize = 12;

/// Destinations of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A file or pipe: no colours, [`DEFAULT_COLUMNS`] columns.
    Plain,
    /// A terminal.
    Terminal {
        /// True if text has colours.
        colour: bool,
        /// Columns of the terminal.
        columns: usize,
    },
}

impl Style {
    /// All escape sequences that colours use.
    pub const STYLE_SEQUENCES: [&str; 5] = [TITLE_SEQUENCE, FAINT_SEQUENCE, BAR_SEQUENCE, WARNING_SEQUENCE, END_SEQUENCE];

    /// Returns the maximum columns of a line.
    pub fn width(self) -> usize {
        match self {
            Self::Plain => DEFAULT_COLUMNS,
            Self::Terminal { columns, .. } => columns.clamp(MIN_COLUMNS, DEFAULT_COLUMNS),
        }
    }

    /// Returns the style with at most `most` columns.
    #[must_use]
    pub fn at_most(self, most: usize) -> Self {
        match self {
            Self::Plain => Self::Terminal { colour: false, columns: most },
            Self::Terminal { colour, columns } => Self::Terminal { colour, columns: columns.min(most) },
        }
    }

    /// Formats `text` as a title.
    pub fn title(self, text: &str) -> String {
        self.paint(TITLE_SEQUENCE, text)
    }

    /// Formats `text` as secondary information.
    pub fn faint(self, text: &str) -> String {
        self.paint(FAINT_SEQUENCE, text)
    }

    /// Formats `text` as a bar of a chart.
    pub fn bar(self, text: &str) -> String {
        self.paint(BAR_SEQUENCE, text)
    }

    /// Formats `text` as a warning.
    pub fn warning(self, text: &str) -> String {
        self.paint(WARNING_SEQUENCE, text)
    }

    fn paint(self, begin: &str, text: &str) -> String {
        let text = printable_lines(text, &[]);
        match self {
            Self::Terminal { colour: true, .. } if !text.is_empty() => format!("{begin}{text}{END_SEQUENCE}"),
            _ => text.into_owned(),
        }
    }
}

const TITLE_SEQUENCE: &str = "\u{1b}[1m";
const FAINT_SEQUENCE: &str = "\u{1b}[2m";
const BAR_SEQUENCE: &str = "\u{1b}[36m";
const WARNING_SEQUENCE: &str = "\u{1b}[33m";
const END_SEQUENCE: &str = "\u{1b}[0m";

/// Returns true if a terminal may interpret `c` instead of showing it: control characters, which begin escape sequences, and characters
/// that change the direction or break lines.
pub fn controls_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Returns `text` on one line, with every character that controls a terminal as an escape: `\n`, `\u{1b}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, |_| false, &[])
}

/// Escapes several lines as [`printable`] escapes one, but keeps line feeds, tabs and the sequences in `allowed`.
pub fn printable_lines<'a>(text: &'a str, allowed: &[&str]) -> Cow<'a, str> {
    escape(text, |c| matches!(c, '\n' | '\t'), allowed)
}

fn escape<'a>(text: &'a str, keep: impl Fn(char) -> bool, allowed: &[&str]) -> Cow<'a, str> {
    let refused = |c: char| controls_terminal(c) && !keep(c);
    if !text.contains(refused) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(refused) {
        escaped.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(sequence) = allowed.iter().find(|sequence| rest.starts_with(**sequence)) {
            escaped.push_str(sequence);
            rest = &rest[sequence.len()..];
        } else {
            let mut left = rest.chars();
            // Writing to a string cannot fail.
            let _ = left.next().map_or(Ok(()), |c| write!(escaped, "{}", c.escape_default()));
            rest = left.as_str();
        }
    }
    escaped.push_str(rest);
    Cow::Owned(escaped)
}

/// Formats a count with commas between thousands.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun: "1 kernel", "2,000 CTAs", "2 launches".
pub fn count_with_noun(value: u64, noun: &str) -> String {
    let plural = if noun.ends_with("ch") { "es" } else { "s" };
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { plural })
}

/// Formats a value with an SI prefix and three significant digits: "1.23 M".
pub fn si_number(value: f64) -> String {
    if value < 0.0 {
        return format!("-{}", si_number(-value));
    }
    for (scale, prefix) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        // A value that rounds up to the next thousand gets the next prefix.
        if value >= scale * 0.9995 {
            return format!("{} {prefix}", three_digits(value / scale));
        }
    }
    format!("{} ", three_digits(value))
}

/// Formats joules in a suitable unit with three digits: "3.21 mJ".
pub fn joules(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        v if v >= 0.9995 || v == 0.0 => return format!("{}J", si_number(value)),
        v if v >= 0.9995e-3 => (1e3, "m"),
        v if v >= 0.9995e-6 => (1e6, "u"),
        v if v >= 0.9995e-9 => (1e9, "n"),
        _ => (1e12, "p"),
    };
    format!("{} {unit}J", three_digits(value * scale))
}

/// Formats a share as percent with one decimal.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats a duration in a suitable unit.
pub fn seconds(value: f64) -> String {
    match value {
        0.0 => "0 s".to_owned(),
        v if v >= 120.0 => format!("{} min {:02} s", (v / 60.0) as u64, (v % 60.0) as u64),
        v if v >= 0.9995 => format!("{} s", three_digits(v)),
        v if v >= 0.000_999_5 => format!("{} ms", three_digits(v * 1e3)),
        v => format!("{} us", three_digits(v * 1e6)),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Text of an unknown value.
pub const UNKNOWN: &str = "-";

/// Formats `value` with `form`, or returns a dash for `None`.
pub fn format_known<T>(value: Option<T>, form: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), form)
}

/// Returns a bar that fills `share` of `width` columns, in eighths of a column.
pub fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    text.push_str(["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]);
    text
}

/// Returns a kernel's name as in its source: demangled if a C++ compiler has mangled it.
pub fn demangled(name: &str) -> Cow<'_, str> {
    let source = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok()?.demangle().ok()).flatten();
    source.map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Quotes `text` as one word of a shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Truncates `text` to `width` columns, with an ellipsis if it was too long.
pub fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Wraps `text` between words so that lines fit `columns`; all lines but the first start with `indent` spaces.
pub fn wrap(text: &str, indent: usize, columns: usize) -> String {
    let mut lines = String::new();
    let mut room = columns;
    for (i, word) in text.split(' ').enumerate() {
        let width = word.chars().count();
        if i > 0 && room < width + 1 {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            room = columns.saturating_sub(indent);
        } else if i > 0 {
            lines.push(' ');
            room -= 1;
        }
        lines.push_str(word);
        room = room.saturating_sub(width);
    }
    lines
}

/// The alignment of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left-aligned, for text.
    Left,
    /// Right-aligned, for numbers.
    Right,
}

/// A table with aligned columns, separated by two spaces and indented by two.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with the given column headers.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        Self { columns: columns.iter().map(|&(head, align)| (head.to_owned(), align)).collect(), rows: Vec::new() }
    }

    /// Adds a row, one cell per column. Characters that control a terminal are escaped.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a row of {cells:?} in a table with other columns");
        self.rows.push(cells.into_iter().map(|cell| printable(&cell).into_owned()).collect());
    }

    /// Formats the table as lines, headers first, that fit the width of `style`: long cells of the first left-aligned column, the name, are
    /// truncated; columns that still do not fit follow as a second table under the first, which repeats the name.
    pub fn render(&self, style: Style) -> String {
        let mut widths = self.widths();
        let all: Vec<usize> = (0..widths.len()).collect();
        let total = |columns: &[usize], widths: &[usize]| columns.iter().map(|&column| widths[column] + 2).sum::<usize>();
        let Some(name) = self.columns.iter().position(|c| c.1 == Align::Left) else { return self.lines(&all, &widths, style) };
        let excess = total(&all, &widths).saturating_sub(style.width());
        widths[name] = widths[name].saturating_sub(excess).max(MIN_NAME_COLUMNS.min(widths[name]));
        let key = &all[..=name];
        let mut parts = vec![key.to_vec()];
        for &column in &all[name + 1..] {
            let part =
                parts.last_mut().filter(|part| part.len() == key.len() || total(part, &widths) + widths[column] + 2 <= style.width());
            match part {
                Some(part) => part.push(column),
                None => parts.push([key, &[column]].concat()),
            }
        }
        let parts: Vec<String> = parts.iter().map(|part| self.lines(part, &widths, style)).collect();
        parts.join("\n")
    }

    /// Formats the table as lines, headers first, as wide as its cells.
    pub fn wide(&self, style: Style) -> String {
        self.lines(&(0..self.columns.len()).collect::<Vec<_>>(), &self.widths(), style)
    }

    /// Formats the given columns as lines.
    fn lines(&self, columns: &[usize], widths: &[usize], style: Style) -> String {
        let heads: Vec<String> = self.columns.iter().map(|c| c.0.clone()).collect();
        let mut text = style.faint(&self.line(&heads, columns, widths)) + "\n";
        for row in &self.rows {
            text.push_str(&self.line(row, columns, widths));
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        (0..self.columns.len()).map(|i| self.column_width(i)).collect()
    }

    fn column_width(&self, column: usize) -> usize {
        self.rows.iter().map(|row| row[column].chars().count()).chain([self.columns[column].0.chars().count()]).max().unwrap_or(0)
    }

    fn line(&self, cells: &[String], columns: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for &column in columns {
            let width = widths[column];
            let cell = clip(&cells[column], width);
            // Writing to a string cannot fail.
            let _ = match self.columns[column].1 {
                Align::Left => write!(line, "  {cell:<width$}"),
                Align::Right => write!(line, "  {cell:>width$}"),
            };
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_units() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([count_with_noun(1, "CTA"), count_with_noun(2000, "CTA")], ["1 CTA", "2,000 CTAs"]);
        assert_eq!([0.0, 12.34, 999.96, -1_234_567.0].map(si_number), ["0.00 ", "12.3 ", "1.00 k", "-1.23 M"]);
        assert_eq!([0.0, 0.000_004_2, 0.25, 3.0, 135.0].map(seconds), ["0 s", "4.20 us", "250 ms", "3.00 s", "2 min 15 s"]);
    }

    #[test]
    fn long_text_is_broken_between_words_and_indented() {
        assert_eq!(wrap("  a b", 4, DEFAULT_COLUMNS), "  a b");
        let text = wrap(&format!("  {}", "word ".repeat(30).trim_end()), 4, DEFAULT_COLUMNS);
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().all(|line| line.chars().count() <= DEFAULT_COLUMNS), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("    word"), "{text}");
    }

    #[test]
    fn mangled_names_are_shown_as_in_their_source_and_others_as_they_are() {
        assert_eq!(demangled("_Z5saxpyifPKfPf"), "saxpy(int, float, float const*, float*)");
        assert_eq!(demangled("_Z6reduceIfLi256EEvPT_"), "void reduce<float, 256>(float*)");
        for plain in ["gemm_tiled", "_Z", "_Zonk", ""] {
            assert_eq!(demangled(plain), plain);
        }
    }

    #[test]
    fn a_bar_has_eighths_of_a_column() {
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(1.0 / 32.0, 4), "▏");
        assert_eq!(bar(2.0, 3), "███");
        assert_eq!(bar(0.0, 3), "");
    }

    #[test]
    fn a_long_name_is_cut_so_that_the_line_fits() {
        let mut table = Table::new(&[("name", Align::Left), ("value", Align::Right)]);
        table.row(vec!["x".repeat(300), "1".to_owned()]);
        table.row(vec!["short".to_owned(), "12,345".to_owned()]);
        let text = table.render(Style::Plain);
        assert!(text.lines().all(|line| line.chars().count() <= DEFAULT_COLUMNS), "{text}");
        assert!(text.lines().nth(1).unwrap().ends_with("…       1"), "{text}");
    }

    #[test]
    fn a_table_that_does_not_fit_goes_on_below_with_its_names() {
        let mut table = Table::new(&[("id", Align::Right), ("name", Align::Left), ("first", Align::Right), ("second", Align::Right)]);
        table.row(vec!["1".into(), "a name that is not short".into(), "1".repeat(20), "2".repeat(20)]);
        let narrow = Style::Terminal { colour: false, columns: 50 };
        let text = table.render(narrow);
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
        let heads: Vec<Vec<&str>> = text.lines().filter(|l| l.contains("name")).map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(heads[0], ["id", "name", "first"]);
        assert_eq!(text.lines().filter(|line| line.contains("a name that…")).count(), 2, "{text}");
        assert!(text.contains(&"1".repeat(20)) && text.contains(&"2".repeat(20)), "{text}");
    }

    #[test]
    fn plain_text_carries_no_escape_sequences() {
        assert_eq!(Style::Plain.title("a"), "a");
        assert!(Style::Terminal { colour: true, columns: 80 }.title("a").contains('\u{1b}'));
    }

    #[test]
    fn control_characters_are_escaped_everywhere() {
        let all: String = ('\0'..='\u{ffff}').filter(|&c| controls_terminal(c)).collect();
        assert!(all.chars().count() > 70);
        let mut table = Table::new(&[("name", Align::Left)]);
        table.row(vec![all.clone()]);
        let styles = [Style::Plain, Style::Terminal { colour: true, columns: 60 }];
        for text in styles.map(|style| style.title(&all)).into_iter().chain([table.wide(Style::Plain), printable(&all).into_owned()]) {
            let rest = Style::STYLE_SEQUENCES.iter().fold(text, |text, sequence| text.replace(sequence, ""));
            assert!(!rest.contains(|c| controls_terminal(c) && !matches!(c, '\n' | '\t')), "{rest:?}");
        }
        assert_eq!(printable("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\nb");
        assert_eq!(printable_lines("a\u{1b}[1mb\u{1b}c\n", &Style::STYLE_SEQUENCES), "a\u{1b}[1mb\\u{1b}c\n");
    }
}
