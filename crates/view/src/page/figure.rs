//! A picture with its numbers.

use serde::Serialize;

/// A picture of a page, and the table of the numbers that it shows.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Figure {
    /// The title.
    pub(super) title: String,
    /// What the picture shows and how it is to be read.
    pub(super) note: String,
    /// Names and colours.
    pub(super) legend: Vec<(String, String)>,
    /// The picture.
    pub(super) svg: String,
    /// The heads of the numbers.
    pub(super) head: Vec<String>,
    /// The numbers.
    pub(super) rows: Vec<Vec<String>>,
}

impl Figure {
    /// A figure with numbers from columns: the cycle at which a step ends, then the values of each name.
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
    /// The heading.
    pub(super) title: &'static str,
    /// What is said in place of figures.
    pub(super) note: String,
    /// The figures.
    pub(super) figures: Vec<Figure>,
}

/// A number for a table of a page: whole ones with all digits, others with four.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = 4usize.saturating_sub(value.abs().log10().floor().max(0.0) as usize);
    format!("{value:.digits$}")
}
