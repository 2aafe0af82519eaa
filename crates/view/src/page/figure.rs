//! Figures of a page: pictures with their numbers.

use serde::Serialize;

/// A picture of a page, and the table of its numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Figure {
    /// Title of the figure.
    pub(super) title: String,
    /// Explanation of the picture.
    pub(super) note: String,
    /// Names and colours of the legend.
    pub(super) legend: Vec<(String, String)>,
    /// The picture as SVG.
    pub(super) svg: String,
    /// Column headers of the table.
    pub(super) head: Vec<String>,
    /// Rows of the table.
    pub(super) rows: Vec<Vec<String>>,
}

impl Figure {
    /// Adds a table with the cycle at which each step ends, and a column of values for each name.
    pub(super) fn over_time(mut self, ends: &[f64], columns: &[(String, Vec<String>)]) -> Self {
        self.head = std::iter::once("until cycle".to_owned()).chain(columns.iter().map(|(name, _)| name.clone())).collect();
        let row = |i: usize| std::iter::once(format!("{}", ends[i])).chain(columns.iter().map(|(_, values)| values[i].clone())).collect();
        self.rows = (0..ends.len()).map(row).collect();
        self
    }
}

/// Figures under one heading.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Part {
    /// The heading of the figures.
    pub(super) title: &'static str,
    /// Text that replaces missing figures.
    pub(super) note: String,
    /// The figures of this part.
    pub(super) figures: Vec<Figure>,
}

/// Formats a number for a table of a page: whole numbers with all digits, others with four.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = 4usize.saturating_sub(value.abs().log10().floor().max(0.0) as usize);
    format!("{value:.digits$}")
}
