//! A comparison as an HTML page in one file.

use serde::Serialize;

use warpshard_report::html::render;
use warpshard_report::text::count_with_noun;

use super::text::{change, moved_stalls, value};
use super::{ComparedRun, Comparison, Difference, Row};

#[derive(Serialize)]
struct ComparisonPage<'a> {
    title: String,
    runs: &'a [ComparedRun],
    warnings: &'a [String],
    configuration: &'a [Difference],
    /// Kernel name, limiters, and the counters with the largest changes.
    reasons: Vec<[String; 3]>,
    tables: Vec<PageTable>,
}

#[derive(Serialize)]
struct PageTable {
    title: &'static str,
    /// Note that replaces rows which are equal in all runs.
    equal: Option<String>,
    /// Label that expands the rows; `None` shows them expanded.
    folded: Option<String>,
    rows: Vec<PageRow>,
}

#[derive(Serialize)]
struct PageRow {
    name: String,
    cells: Vec<PageCell>,
}

#[derive(Serialize)]
struct PageCell {
    value: String,
    change: String,
    /// The direction of the change from the first run: "more" or "less".
    direction: &'static str,
}

fn page_row(name: &str, row: &Row) -> PageRow {
    let direction = |i: usize| match row.changes[i] {
        Some(change) if change > 0.0 => "more",
        Some(change) if change < 0.0 => "less",
        _ => "",
    };
    let cell = |i: usize| PageCell { value: value(row.quantity, row.values[i]), change: change(row, i), direction: direction(i) };
    PageRow { name: name.to_owned(), cells: (0..row.values.len()).map(cell).collect() }
}

impl Comparison {
    /// Renders the comparison as an HTML document without external resources.
    pub fn page(&self) -> String {
        let mut tables: Vec<PageTable> = self
            .sections
            .iter()
            .map(|section| PageTable {
                title: section.title,
                equal: None,
                folded: None,
                rows: section.rows.iter().map(|row| page_row(&row.name, row)).collect(),
            })
            .collect();
        let kernels = self.kernels.iter().map(|kernel| page_row(&kernel.name, kernel.cycles()));
        tables.push(PageTable { title: "Cycles by kernel", equal: None, folded: None, rows: kernels.collect() });
        let changed: Vec<&Row> = self.counters.iter().filter(|row| !row.is_equal()).collect();
        let equal = self.counters.len() - changed.len();
        tables.push(PageTable {
            title: "Counters",
            equal: (equal > 0).then(|| format!("{} of {} are the same.", equal, count_with_noun(self.counters.len() as u64, "counter"))),
            folded: Some(format!("The {} that changed", count_with_noun(changed.len() as u64, "counter"))),
            rows: changed.into_iter().map(|row| page_row(&row.name, row)).collect(),
        });
        let labels: Vec<&str> = self.runs.iter().map(|run| run.label.as_str()).collect();
        let reasons = self.reasons.iter().map(|reason| [reason.kernel.clone(), self.limiters(reason), moved_stalls(reason)]).collect();
        let title = format!("Comparison of {}", labels.join(", "));
        let page =
            ComparisonPage { title, runs: &self.runs, warnings: &self.warnings, configuration: &self.configuration, reasons, tables };
        render("compare.html", include_str!("compare.html"), page)
    }
}
