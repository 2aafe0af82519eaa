//! Plain text for a width of 100 columns: numbers as people read them, aligned tables, bars.

/// Columns of a report.
pub const WIDTH: usize = 100;

/// Whether text carries terminal colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// For files and pipes.
    Plain,
    /// For terminals.
    Colour,
}

impl Style {
    /// `text` as a title.
    pub fn title(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// `text` as an aside.
    pub fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// `text` as a bar of a chart.
    pub fn bar(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// `text` as something to look at twice.
    pub fn warning(self, text: &str) -> String {
        self.wrap("33", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Colour if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text.to_owned(),
        }
    }
}

/// A count with commas between thousands.
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

/// A count with its noun: "1 kernel", "2,000 CTAs".
pub fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// A value with an SI prefix and three significant digits: "1.23 M".
pub fn si(value: f64) -> String {
    if value < 0.0 {
        return format!("-{}", si(-value));
    }
    for (scale, prefix) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        // What rounds up to the next thousand belongs to the next prefix.
        if value >= scale * 0.9995 {
            return format!("{} {prefix}", three_digits(value / scale));
        }
    }
    format!("{} ", three_digits(value))
}

/// Joules in the unit that fits, with three digits: "3.21 mJ".
pub fn joules(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        v if v >= 0.9995 || v == 0.0 => return format!("{}J", si(value)),
        v if v >= 0.9995e-3 => (1e3, "m"),
        v if v >= 0.9995e-6 => (1e6, "u"),
        v if v >= 0.9995e-9 => (1e9, "n"),
        _ => (1e12, "p"),
    };
    format!("{} {unit}J", three_digits(value * scale))
}

/// A share as percent with one decimal.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A span of time in the unit that fits.
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

/// What stands where a value is not known.
pub const UNKNOWN: &str = "-";

/// `value` in the given form, or a dash.
pub fn known<T>(value: Option<T>, form: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), form)
}

/// A bar of `share` of `width` columns, in eighths of a column.
pub fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    text.push_str(["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]);
    text
}

/// `text` cut to `width` columns, with an ellipsis where something is missing.
pub fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// `text` broken between words so that lines fit [`WIDTH`]; all lines but the first start with `indent` spaces.
pub fn wrap(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut room = WIDTH;
    for (i, word) in text.split(' ').enumerate() {
        let width = word.chars().count();
        if i > 0 && room < width + 1 {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            room = WIDTH - indent;
        } else if i > 0 {
            lines.push(' ');
            room -= 1;
        }
        lines.push_str(word);
        room = room.saturating_sub(width);
    }
    lines
}

/// On which side a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table with aligned columns, two columns apart and indented by two.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with the given column heads.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        Self { columns: columns.iter().map(|&(head, align)| (head.to_owned(), align)).collect(), rows: Vec::new() }
    }

    /// Adds a row, one cell per column.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a row of {cells:?} in a table with other columns");
        self.rows.push(cells);
    }

    /// The table as lines, heads first. Long cells of the first left-aligned column are cut so that lines fit [`WIDTH`].
    pub fn render(&self, style: Style) -> String {
        let mut widths = self.widths();
        let all = widths.iter().map(|w| w + 2).sum::<usize>();
        if let Some(elastic) = self.columns.iter().position(|c| c.1 == Align::Left) {
            widths[elastic] = widths[elastic].saturating_sub(all.saturating_sub(WIDTH)).max(8);
        }
        self.lines(&widths, style)
    }

    /// The table as lines, heads first, as wide as its cells.
    pub fn wide(&self, style: Style) -> String {
        self.lines(&self.widths(), style)
    }

    fn lines(&self, widths: &[usize], style: Style) -> String {
        let heads: Vec<String> = self.columns.iter().map(|c| c.0.clone()).collect();
        let mut text = style.faint(&self.line(&heads, widths)) + "\n";
        for row in &self.rows {
            text.push_str(&self.line(row, widths));
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

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, &width), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
            let cell = clip(cell, width);
            line.push_str("  ");
            match align {
                Align::Left => line.push_str(&format!("{cell:<width$}")),
                Align::Right => line.push_str(&format!("{cell:>width$}")),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_like_numbers() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "CTA"), counted(2000, "CTA")], ["1 CTA", "2,000 CTAs"]);
        assert_eq!([0.0, 12.34, 999.96, -1_234_567.0].map(si), ["0.00 ", "12.3 ", "1.00 k", "-1.23 M"]);
        assert_eq!([0.0, 0.000_004_2, 0.25, 3.0, 135.0].map(seconds), ["0 s", "4.20 us", "250 ms", "3.00 s", "2 min 15 s"]);
    }

    #[test]
    fn long_text_is_broken_between_words_and_indented() {
        assert_eq!(wrap("  a b", 4), "  a b");
        let text = wrap(&format!("  {}", "word ".repeat(30).trim_end()), 4);
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("    word"), "{text}");
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
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().nth(1).unwrap().ends_with("…       1"), "{text}");
    }

    #[test]
    fn plain_text_carries_no_escape_sequences() {
        assert_eq!(Style::Plain.title("a"), "a");
        assert!(Style::Colour.title("a").contains('\u{1b}'));
    }
}
