//! Runs side by side: how their configurations differ, and what that changes.
//!
//! Input: two or more result folders, the first of which is what the others are compared with. Output: a [`Comparison`], as text, as a
//! page, or as JSON.

mod configuration;
mod kernels;
mod limit;
mod metrics;
mod page;
mod text;

use serde::Serialize;

use super::RunFolder;

pub use limit::{Exceeded, Limit};

/// What a number is, and how two of them are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// An amount, compared by its relative change.
    Amount,
    /// A ratio of amounts such as IPC, compared by its relative change.
    Ratio,
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
    fn new(name: impl Into<String>, quantity: Quantity, values: Vec<Option<f64>>) -> Self {
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
    fn sorted(title: &'static str, mut rows: Vec<Row>) -> Self {
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

/// A run that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// A letter: A is the run that the others are compared with.
    pub label: String,
    /// Its result folder, as given.
    pub folder: String,
    /// The machine.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// How the run ended.
    pub ended_by: String,
    /// The version of the program, and its commit.
    pub build: String,
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
    fn largest_difference(&self) -> f64 {
        let values = &self.cycles().values;
        let base = values[0].unwrap_or(0.0);
        values.iter().map(|value| (value.unwrap_or(0.0) - base).abs()).fold(0.0, f64::max)
    }
}

/// Runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The runs; the first is what the others are compared with.
    pub runs: Vec<Side>,
    /// What should be known before numbers are compared.
    pub warnings: Vec<String>,
    /// Every key whose value is not the same in all runs.
    pub configuration: Vec<Difference>,
    /// The numbers, by subject.
    pub sections: Vec<Section>,
    /// The kernels by name, the largest differences in cycles first.
    pub kernels: Vec<KernelRow>,
    /// Every counter of kernels and components, the largest changes first.
    pub counters: Vec<Row>,
}

impl Comparison {
    /// Compares runs.
    ///
    /// # Panics
    /// Without any run.
    pub fn of(runs: &[RunFolder]) -> Self {
        assert!(!runs.is_empty(), "there is nothing to compare");
        Self {
            runs: runs.iter().enumerate().map(|(i, run)| side(i, run)).collect(),
            warnings: warnings(runs),
            configuration: configuration::differences(runs),
            sections: metrics::sections(runs),
            kernels: kernels::by_name(runs),
            counters: metrics::counters(runs),
        }
    }

    /// The comparison as a JSON value.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a comparison consists of texts and numbers")
    }
}

/// The letters of the first runs, then numbers.
fn label(index: usize) -> String {
    match u8::try_from(index) {
        Ok(index @ 0..26) => char::from(b'A' + index).to_string(),
        _ => format!("#{}", index + 1),
    }
}

fn side(index: usize, run: &RunFolder) -> Side {
    Side {
        label: label(index),
        folder: run.path.display().to_string(),
        machine: run.stats.text("machine").to_owned(),
        workload: run.stats.text("workload").to_owned(),
        ended_by: run.stats.text("ended_by").replace('_', " "),
        build: format!("{} ({})", run.stats.text("version"), run.stats.text("commit")),
    }
}

/// Half the width of the interval of a sampled run's cycles, in words.
fn sampled_width(run: &RunFolder) -> String {
    let width = run.stats.number(&["sampled", "estimates", "cycles", "relative_half_width"]);
    width.map_or_else(|| "an unknown share".to_owned(), |width| format!("{:.2} %", 100.0 * width))
}

fn warnings(runs: &[RunFolder]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (i, run) in runs.iter().enumerate() {
        match run.stats.text("ended_by") {
            "completed" => {}
            "sampled" => warnings.push(format!(
                "{} is a sampled run: its numbers are estimates, half the intervals' width of which is {} of the cycles",
                label(i),
                sampled_width(run)
            )),
            ended => warnings.push(format!("{} did not run to its end ({}): its numbers are of a part", label(i), ended.replace('_', " "))),
        }
        if run.stats.number(&["relaxed", "late_messages"]).is_some_and(|late| late > 0.0) {
            warnings.push(format!("{} is a relaxed run: its numbers are approximate", label(i)));
        }
    }
    let build = |run: &RunFolder| (run.stats.text("version").to_owned(), run.stats.text("commit").to_owned());
    if runs.iter().any(|run| build(run) != build(&runs[0])) {
        warnings.push("the runs are of different builds of the program".into());
    }
    warnings
}

#[cfg(test)]
mod tests;
