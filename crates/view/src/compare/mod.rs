//! Comparison of runs: the differences of their configurations and of their results.
//!
//! The module reads two or more result folders, the first of which is the reference, and returns a [`Comparison`], which formats itself as
//! text, as a page, or as JSON.

mod configuration;
mod kernels;
mod limit;
mod metrics;
pub mod ncu;
mod page;
mod reasons;
mod row;
mod text;

use serde::Serialize;

use super::RunFolder;

pub use limit::{ExceededLimit, Limit, LimitError};
pub use reasons::Reason;
pub use row::{Difference, KernelRow, Quantity, Row, Section};

/// A compared run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedRun {
    /// A letter; A is the reference.
    pub label: String,
    /// The path of the result folder, as given.
    pub folder: String,
    /// Name of the machine.
    pub machine: String,
    /// Name of the workload.
    pub workload: String,
    /// The reason for the end of the run.
    pub ended_by: String,
    /// Version and commit of the program.
    pub build: String,
}

/// A comparison of several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The runs; the first is the reference.
    pub runs: Vec<ComparedRun>,
    /// Warnings that concern the validity of the comparison.
    pub warnings: Vec<String>,
    /// Every key whose value differs between runs.
    pub configuration: Vec<Difference>,
    /// The compared numbers by subject.
    pub sections: Vec<Section>,
    /// The kernels by name, with the largest differences in cycles first.
    pub kernels: Vec<KernelRow>,
    /// Explanations for the kernels with the largest differences.
    pub reasons: Vec<Reason>,
    /// All counters of kernels and components, with the largest changes first.
    pub counters: Vec<Row>,
}

impl Comparison {
    /// Compares runs.
    ///
    /// # Panics
    /// Panics if `runs` is empty.
    pub fn of(runs: &[RunFolder]) -> Self {
        assert!(!runs.is_empty(), "there is nothing to compare");
        Self {
            runs: runs.iter().enumerate().map(|(i, run)| side(i, run)).collect(),
            warnings: warnings(runs),
            configuration: configuration::differences(runs),
            sections: metrics::sections(runs),
            kernels: kernels::by_name(runs),
            reasons: reasons::reasons(runs),
            counters: metrics::counters(runs),
        }
    }

    /// Returns the comparison as a JSON value.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a comparison consists of texts and numbers")
    }
}

/// Returns a letter for each of the first runs, then a number.
fn label(index: usize) -> String {
    match u8::try_from(index) {
        Ok(index @ 0..26) => char::from(b'A' + index).to_string(),
        _ => format!("#{}", index + 1),
    }
}

fn side(index: usize, run: &RunFolder) -> ComparedRun {
    ComparedRun {
        label: label(index),
        folder: run.path.display().to_string(),
        machine: run.stats.text("machine").to_owned(),
        workload: run.stats.text("workload").to_owned(),
        ended_by: run.stats.text("ended_by").replace('_', " "),
        build: format!("{} ({})", run.stats.text("version"), run.stats.text("commit")),
    }
}

/// Describes half the width of the confidence interval of a sampled run's cycles.
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
                "{} is a sampled run: its numbers are estimates; half the width of the confidence interval is {} of the cycles",
                label(i),
                sampled_width(run)
            )),
            ended => warnings.push(format!(
                "{} was cut off ({}): its numbers cover only a part of the workload",
                label(i),
                ended.replace('_', " ")
            )),
        }
        if run.stats.number(&["relaxed", "late_messages"]).is_some_and(|late| late > 0.0) {
            warnings.push(format!("{} is a relaxed run: its numbers are approximate", label(i)));
        }
    }
    let build = |run: &RunFolder| (run.stats.text("version").to_owned(), run.stats.text("commit").to_owned());
    if runs.iter().any(|run| build(run) != build(&runs[0])) {
        warnings.push("the runs used different builds of the program".into());
    }
    warnings
}

#[cfg(test)]
mod tests;
