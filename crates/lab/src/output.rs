//! The result of a study: a table, the comparison with published values, figures, plots and notes, as text and as files.

use warpshard_report::bars::Bars;
use warpshard_report::html::{Page, PageTable, page};
use warpshard_report::picture::{Picture, PictureError};
use warpshard_report::plot::Plot;
use warpshard_report::{ResultFile, csv};

/// Reasons for which a study has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    /// The reference data is missing or invalid.
    #[error("{0}")]
    Reference(String),
    /// The study's input (a machine, a limit) is invalid.
    #[error("{0}")]
    Input(String),
    /// Results that must be equal differ, because of a bug of the program.
    #[error("{0}")]
    Differs(String),
    /// The study has no results to show.
    #[error("the study has no result: {0}")]
    Nothing(String),
}

impl StudyError {
    /// Creates an error for invalid input, with the reason `why`.
    pub fn input(why: impl ToString) -> Self {
        Self::Input(why.to_string())
    }

    /// Creates an error for unusable reference data, with the reason `why`.
    pub fn reference(why: impl ToString) -> Self {
        Self::Reference(why.to_string())
    }
}

/// A study's result.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyOutput {
    /// Name of the study and of its folder.
    pub name: String,
    /// Title of the study.
    pub title: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    figures: Vec<(String, f64)>,
    notes: Vec<String>,
    scatter: Option<Plot>,
    tables: Vec<StudyTable>,
    plots: Vec<(&'static str, Plot)>,
    bars: Vec<(&'static str, Bars)>,
    compared: (Vec<String>, Vec<Vec<String>>),
    /// Number of graded published values, and number of values that hold.
    graded: (u32, u32),
}

/// An additional table: its file, columns and rows, and a title if it is shown after the first table.
#[derive(Clone, Debug, PartialEq)]
struct StudyTable {
    title: Option<String>,
    file: &'static str,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Removes the sign of zeros in cells.
fn cleaned_rows(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.into_iter().map(|row| row.into_iter().map(without_minus_zero).collect()).collect()
}

/// Returns version and commit of the program.
pub fn build_version() -> String {
    format!("{} {}", warpshard_build::VERSION, warpshard_build::commit())
}

impl StudyOutput {
    /// Creates an empty result.
    pub fn new(name: &str, title: String) -> Self {
        let (header, rows, figures, notes) = Default::default();
        let (tables, plots, bars, compared) = Default::default();
        Self { name: name.to_owned(), title, header, rows, figures, notes, scatter: None, tables, plots, bars, compared, graded: (0, 0) }
    }

    /// Names the table's columns.
    pub fn columns(&mut self, names: &[&str]) {
        self.header = names.iter().map(|&name| name.to_owned()).collect();
    }

    /// Adds a row of the table.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.header.len());
        self.rows.push(cells.into_iter().map(without_minus_zero).collect());
    }

    /// Adds a headline figure.
    pub fn figure(&mut self, name: &str, value: f64) {
        self.figures.push((name.to_owned(), value));
    }

    /// Adds a note.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Sets the scatter plot.
    pub fn scatter(&mut self, plot: Plot) {
        self.scatter = Some(plot);
    }

    /// Adds a table that is written to a file and not shown.
    pub fn table(&mut self, file: &'static str, header: &[&'static str], rows: Vec<Vec<String>>) {
        let header = header.iter().map(|&name| name.to_owned()).collect();
        self.tables.push(StudyTable { title: None, file, header, rows: cleaned_rows(rows) });
    }

    /// Adds a table that is shown below the first and written to a file.
    pub fn section(&mut self, title: &str, file: &'static str, header: Vec<String>, rows: Vec<Vec<String>>) {
        debug_assert!(rows.iter().all(|row| row.len() == header.len()), "{title}");
        self.tables.push(StudyTable { title: Some(title.to_owned()), file, header, rows: cleaned_rows(rows) });
    }

    /// Returns the shown tables with their titles.
    fn sections(&self) -> impl Iterator<Item = (&str, &StudyTable)> {
        self.tables.iter().filter_map(|table| table.title.as_deref().map(|title| (title, table)))
    }

    /// Adds a plot with a separate file (SVG).
    pub fn plot(&mut self, name: &'static str, plot: Plot) {
        self.plots.push((name, plot));
    }

    /// Adds a bar chart with a separate file (SVG).
    pub fn bars(&mut self, name: &'static str, bars: Bars) {
        self.bars.push((name, bars));
    }

    /// Adds a row to the comparison with published figures; all rows must have the same columns.
    pub fn compare(&mut self, columns: &[&str], cells: Vec<String>) {
        debug_assert_eq!(cells.len(), columns.len());
        self.compared.0 = columns.iter().map(|&name| name.to_owned()).collect();
        self.compared.1.push(cells);
    }

    /// Counts a graded value for the summary.
    pub(super) fn count_graded(&mut self, holds: bool) {
        let (graded, hold) = &mut self.graded;
        *graded += 1;
        *hold += u32::from(holds);
    }

    /// Returns all figures: the figures of the study, and the number of published values that hold.
    fn all_figures(&self) -> Vec<(String, f64)> {
        let (graded, hold) = self.graded;
        let summary = [("published values graded", graded), ("published values that hold", hold)];
        let summary = summary.map(|(name, value)| (name.to_owned(), f64::from(value)));
        self.figures.iter().cloned().chain(summary.into_iter().filter(|_| graded > 0)).collect()
    }

    /// Returns the columns and rows of the comparison.
    pub fn compared(&self) -> (&[String], &[Vec<String>]) {
        (&self.compared.0, &self.compared.1)
    }

    /// Returns a headline figure by name.
    pub fn figure_named(&self, name: &str) -> Option<f64> {
        self.all_figures().iter().find(|(n, _)| n == name).map(|(_, value)| *value)
    }

    /// Returns the column of the table with this name, as text, one cell per row.
    pub fn column(&self, name: &str) -> Option<Vec<&str>> {
        let index = self.header.iter().position(|h| h == name)?;
        Some(self.rows.iter().map(|row| row[index].as_str()).collect())
    }

    /// Formats the study as text: title, table, comparison, figures, notes.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n{}", self.title, aligned_columns(&self.header, &self.rows));
        text.extend(self.sections().map(|(title, table)| format!("\n{title}\n{}", aligned_columns(&table.header, &table.rows))));
        if !self.compared.1.is_empty() {
            text.push('\n');
            text.push_str(&aligned_columns(&self.compared.0, &self.compared.1));
        }
        text.push('\n');
        text.extend(self.all_figures().iter().map(|(name, value)| format!("{name}: {value:.3}\n")));
        text.extend(self.notes.iter().map(|note| format!("note: {note}\n")));
        text
    }

    /// Renders the study as an HTML page with its plots.
    fn page(&self, images: &[&str]) -> String {
        let first = PageTable { title: "", head: &self.header, rows: &self.rows };
        let sections = self.sections().map(|(title, table)| PageTable { title, head: &table.header, rows: &table.rows });
        let compared = PageTable { title: "Comparison with published values", head: &self.compared.0, rows: &self.compared.1 };
        let tables: Vec<PageTable<'_>> = [first].into_iter().chain(sections).chain([compared]).collect();
        page(&Page { title: &self.title, tables: &tables, figures: &self.all_figures(), notes: &self.notes, images })
    }

    /// Formats the table as comma-separated values.
    pub fn csv(&self) -> String {
        let header: Vec<&str> = self.header.iter().map(String::as_str).collect();
        csv::table(&header, &self.rows)
    }

    /// Formats table, figures and notes as JSON.
    pub fn json(&self) -> String {
        let value = serde_json::json!({
            "study": self.name,
            "title": self.title,
            "columns": self.header,
            "rows": self.rows,
            "compared": { "columns": self.compared.0, "rows": self.compared.1 },
            "build": build_version(),
            "figures": self.all_figures().into_iter().map(|(name, value)| (name, serde_json::json!(value))).collect::<serde_json::Map<_, _>>(),
            "notes": self.notes,
        });
        format!("{value:#}\n")
    }

    /// Returns the files of the study's result folder.
    ///
    /// # Errors
    /// Fails if a plot cannot be drawn.
    pub fn files(&self) -> Result<Vec<ResultFile>, PictureError> {
        let mut files = vec![
            ResultFile::new("stats.json", self.json()),
            ResultFile::new("table.csv", self.csv()),
            ResultFile::new("summary.txt", self.text()),
        ];
        if let Some(plot) = &self.scatter {
            files.push(ResultFile::new("scatter.svg", plot.svg()?));
        }
        files.extend(self.tables.iter().map(|table| {
            let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
            ResultFile::new(table.file, csv::table(&header, &table.rows))
        }));
        for (name, plot) in &self.plots {
            files.push(ResultFile::new(*name, plot.svg()?));
        }
        for (name, bars) in &self.bars {
            files.push(ResultFile::new(*name, bars.svg()?));
        }
        if !self.compared.1.is_empty() {
            let header: Vec<&str> = self.compared.0.iter().map(String::as_str).collect();
            files.push(ResultFile::new("comparison.csv", csv::table(&header, &self.compared.1)));
        }
        let images: Vec<&str> = files.iter().map(|file| file.name.as_str()).filter(|name| name.ends_with(".svg")).collect();
        let page = self.page(&images);
        files.push(ResultFile::new("index.html", page));
        Ok(files)
    }
}

/// Removes the minus sign of a number that rounds to zero.
fn without_minus_zero(cell: String) -> String {
    match cell.strip_prefix('-') {
        Some(number) if number.parse() == Ok(0.0) => number.to_owned(),
        _ => cell,
    }
}

fn aligned_columns(header: &[String], rows: &[Vec<String>]) -> String {
    let lines = || std::iter::once(header).chain(rows.iter().map(Vec::as_slice));
    let widths: Vec<usize> = (0..header.len()).map(|column| lines().map(|cells| cells[column].len()).max().unwrap_or(0)).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).enumerate();
        let cells: Vec<String> =
            cells.map(|(i, (cell, &width))| if i == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_no_minus_sign() {
        let cells = ["-0.00", "-0", "-0.01", "-", "-0.0 %", "+0.0"].map(|cell| without_minus_zero(cell.to_owned()));
        assert_eq!(cells, ["0.00", "0", "-0.01", "-", "-0.0 %", "+0.0"]);
    }

    #[test]
    fn the_text_is_aligned_and_the_table_is_csv() {
        let mut output = StudyOutput::new("toy", "A toy".into());
        output.columns(&["trace", "cycles"]);
        output.row(vec!["a".into(), "12".into()]);
        output.row(vec!["longer".into(), "3".into()]);
        output.figure("mean", 7.5);
        output.note("short".into());
        assert_eq!(output.text(), "A toy\n\ntrace   cycles\na           12\nlonger       3\n\nmean: 7.500\nnote: short\n");
        assert_eq!(output.csv(), "trace,cycles\na,12\nlonger,3\n");
        assert_eq!(output.column("cycles"), Some(vec!["12", "3"]));
    }

    #[test]
    fn a_study_with_comparisons_writes_a_page_and_a_comparison() {
        let mut output = StudyOutput::new("toy", "A toy".into());
        output.columns(&["trace"]);
        output.row(vec!["a".into()]);
        let names = |output: &StudyOutput| output.files().unwrap().iter().map(|file| file.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&output), ["stats.json", "table.csv", "summary.txt", "index.html"]);
        output.compare(&["figure", "ours"], vec!["mean".into(), "7".into()]);
        assert_eq!(names(&output)[3..], ["comparison.csv", "index.html"]);
        assert_eq!(output.text(), "A toy\n\ntrace\na\n\nfigure  ours\nmean       7\n\n");
    }
}
