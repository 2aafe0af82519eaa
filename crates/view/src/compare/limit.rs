//! The largest accepted change, for scripts that monitor results.

use std::fmt;
use std::str::FromStr;

use super::{Comparison, Row};

/// The largest accepted change of a headline number, as a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit(f64);

/// The error for a text that is not a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a percentage of at least 0, such as 1% or 0.5%")]
pub struct LimitError;

impl FromStr for Limit {
    type Err = LimitError;

    /// Parses a percentage: "1%", "0.5 %".
    fn from_str(text: &str) -> Result<Self, LimitError> {
        let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let share = number.map(|percent| percent / 100.0).filter(|share| share.is_finite() && *share >= 0.0);
        share.map(Self).ok_or(LimitError)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0 * 100.0)
    }
}

/// A headline number that has changed by more than the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct ExceededLimit {
    /// The name of the number.
    pub quantity: String,
    /// The label of the run.
    pub run: String,
    /// The change; `None` if only one of the two runs has the number.
    pub change: Option<f64>,
}

/// Rows that the limit applies to: results that a user publishes. Stalls and hit rates only explain these results.
const HEADLINE_METRICS: [(&str, &str); 5] = [
    ("Performance", "cycles"),
    ("Performance", "IPC"),
    ("Performance", "thread instructions"),
    ("Performance", "mean IPC of CPU cores"),
    ("Energy", "joules"),
];

impl Comparison {
    /// Returns every headline number that differs from the first run by more than `limit`: the cycles, IPC, instructions and joules of the
    /// run, and the cycles of the kernels of each name.
    pub fn exceeding(&self, limit: Limit) -> Vec<ExceededLimit> {
        let headline = |(title, name): &(&str, &str)| {
            let section = self.sections.iter().find(|section| section.title == *title)?;
            section.rows.iter().find(|row| row.name == *name).map(|row| (row.name.clone(), row))
        };
        let kernels = self.kernels.iter().map(|kernel| (format!("cycles of kernel {}", kernel.name), kernel.cycles()));
        let rows = HEADLINE_METRICS.iter().filter_map(headline).chain(kernels);
        rows.flat_map(|(what, row)| self.exceeding_in_row(&what, row, limit)).collect()
    }

    fn exceeding_in_row(&self, what: &str, row: &Row, limit: Limit) -> Vec<ExceededLimit> {
        let one = |(i, run): (usize, &super::ComparedRun)| {
            let exceeds = match row.changes[i] {
                Some(change) => change.abs() > limit.0,
                None => row.values[i] != row.values[0],
            };
            exceeds.then(|| ExceededLimit { quantity: what.to_owned(), run: run.label.clone(), change: row.changes[i] })
        };
        self.runs.iter().enumerate().filter_map(one).collect()
    }
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.change {
            Some(change) => write!(f, "{}: {:+.2} % in {}", self.quantity, change * 100.0, self.run),
            None => write!(f, "{}: in only one of A and {}", self.quantity, self.run),
        }
    }
}
