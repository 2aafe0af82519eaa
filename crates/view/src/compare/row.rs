//! Numbers of several runs side by side, and how they differ.

use serde::Serialize;

/// What a number is, and how two of them are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// An amount, compared by its relative change.
    Amount,
    /// A ratio of amounts such as IPC, compared by its relative change.
    Ratio,
    /// Seconds of the simulated machine, compared by their relative change.
    Seconds,
    /// Joules, compared by their relative change.
    Joules,
    /// Bytes, compared by their relative change.
    Bytes,
    /// A share of a whole, compared by the difference of the shares.
    Share,
}

/// A number of every run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What it is.
    pub name: String,
    /// Its kind.
    pub quantity: Quantity,
    /// Its value in every run, in their order; `None` where a run does not have it.
    pub values: Vec<Option<f64>>,
    /// Its change from the first run to every run: relative, or the difference of two shares; `None` where there is none.
    pub changes: Vec<Option<f64>>,
}

impl Row {
    pub(super) fn new(name: impl Into<String>, quantity: Quantity, values: Vec<Option<f64>>) -> Self {
        let base = values.first().copied().flatten();
        let changes = values.iter().map(|value| change(quantity, base?, (*value)?)).collect();
        Self { name: name.into(), quantity, values, changes }
    }

    /// Whether all runs have the same value.
    pub fn is_equal(&self) -> bool {
        self.values.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// The size of its largest change. What only some runs have, or what was zero, has changed more than anything else.
    pub fn largest_change(&self) -> f64 {
        let size = |(value, change): (&Option<f64>, &Option<f64>)| match change {
            Some(change) => change.abs(),
            None if *value == self.values[0] => 0.0,
            None => f64::INFINITY,
        };
        self.values.iter().zip(&self.changes).map(size).fold(0.0, f64::max)
    }
}

/// The change from `base` to `value`; `None` where a relative change has no meaning.
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
    /// The title.
    pub title: &'static str,
    /// The rows, the largest changes first unless their order has a meaning.
    pub rows: Vec<Row>,
}

impl Section {
    pub(super) fn sorted(title: &'static str, mut rows: Vec<Row>) -> Self {
        rows.sort_by(|a, b| b.largest_change().total_cmp(&a.largest_change()));
        Self { title, rows }
    }
}

/// A key whose value is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The key as `run.toml` has it, with a `.` between names.
    pub key: String,
    /// The value in every run; `None` where it has none.
    pub values: Vec<Option<String>>,
}

/// The kernels of one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    /// The name.
    pub name: String,
    /// Number of launches in every run.
    pub launches: Vec<usize>,
    /// Their cycles together, their IPC, and the hit rate of their L1s.
    pub rows: Vec<Row>,
}

impl KernelRow {
    /// The row of cycles.
    pub fn cycles(&self) -> &Row {
        &self.rows[0]
    }

    /// The largest difference in cycles from the first run; the cycles themselves, where a run has no such kernel.
    pub(super) fn largest_difference(&self) -> f64 {
        let values = &self.cycles().values;
        let base = values[0].unwrap_or(0.0);
        values.iter().map(|value| (value.unwrap_or(0.0) - base).abs()).fold(0.0, f64::max)
    }
}
