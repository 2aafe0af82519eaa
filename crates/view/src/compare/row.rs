//! Rows with a number of each run and the changes between runs.

use serde::Serialize;

/// Kinds of numbers, which determine how two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// An amount, compared by its relative change.
    Amount,
    /// A ratio of amounts such as IPC, compared by its relative change.
    Ratio,
    /// Simulated seconds, compared by their relative change.
    Seconds,
    /// Joules, compared by their relative change.
    Joules,
    /// Bytes, compared by their relative change.
    Bytes,
    /// A share of a whole, compared by the difference of the shares.
    Share,
}

/// A named number of every run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the number.
    pub name: String,
    /// Kind of the number.
    pub quantity: Quantity,
    /// Values in the order of the runs; `None` if a run lacks the number.
    pub values: Vec<Option<f64>>,
    /// Changes from the first run to every run: relative, or the difference of two shares; `None` if a change is undefined.
    pub changes: Vec<Option<f64>>,
}

impl Row {
    pub(super) fn new(name: impl Into<String>, quantity: Quantity, values: Vec<Option<f64>>) -> Self {
        let base = values.first().copied().flatten();
        let changes = values.iter().map(|value| change(quantity, base?, (*value)?)).collect();
        Self { name: name.into(), quantity, values, changes }
    }

    /// Returns true if all runs have the same value.
    pub fn is_equal(&self) -> bool {
        self.values.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Returns the magnitude of the largest change. A value that only some runs have, or whose reference is zero, counts as the largest
    /// possible change.
    pub fn largest_change(&self) -> f64 {
        let size = |(value, change): (&Option<f64>, &Option<f64>)| match change {
            Some(change) => change.abs(),
            None if *value == self.values[0] => 0.0,
            None => f64::INFINITY,
        };
        self.values.iter().zip(&self.changes).map(size).fold(0.0, f64::max)
    }
}

/// Returns the change from `base` to `value`; `None` if a relative change is undefined.
fn change(quantity: Quantity, base: f64, value: f64) -> Option<f64> {
    match quantity {
        Quantity::Share => Some(value - base),
        _ if value == base => Some(0.0),
        _ => (base != 0.0).then(|| (value - base) / base),
    }
}

/// Rows under one title.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// Title of the section.
    pub title: &'static str,
    /// The rows, with the largest changes first unless their order has a meaning.
    pub rows: Vec<Row>,
}

impl Section {
    pub(super) fn sorted(title: &'static str, mut rows: Vec<Row>) -> Self {
        rows.sort_by(|a, b| b.largest_change().total_cmp(&a.largest_change()));
        Self { title, rows }
    }
}

/// A key whose value differs between runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The key in `run.toml`, with a `.` between names.
    pub key: String,
    /// The value in every run; `None` if the run lacks the key.
    pub values: Vec<Option<String>>,
}

/// The launches of all kernels with the same name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    /// Name of the kernels.
    pub name: String,
    /// Number of launches in every run.
    pub launches: Vec<usize>,
    /// Total cycles, IPC, and L1 hit rate.
    pub rows: Vec<Row>,
}

impl KernelRow {
    /// Returns the row of cycles.
    pub fn cycles(&self) -> &Row {
        &self.rows[0]
    }

    /// Returns the largest difference in cycles from the first run, or the cycles themselves if a run has no such kernel.
    pub(super) fn largest_difference(&self) -> f64 {
        let values = &self.cycles().values;
        let base = values[0].unwrap_or(0.0);
        values.iter().map(|value| (value.unwrap_or(0.0) - base).abs()).fold(0.0, f64::max)
    }
}
