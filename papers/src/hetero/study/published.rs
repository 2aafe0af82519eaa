//! Statements of the paper, from `papers/src/hetero/published/hetero.toml` and `hetero-directions.toml`, and the grading of our findings.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::{Published, Value, read};
use warpshard_lab::verdict::{Headline, Verdict};

/// The study's own part of `hetero-directions.toml`, which explains each parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Directions {
    pub(super) margins: DirectionMargins,
    pub(super) lengths: DirectionLengths,
    pub(super) kernels: BTreeMap<String, BTreeMap<String, i64>>,
}

/// Relative differences that count as significant.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectionMargins {
    pub(super) clear: f64,
    pub(super) hardly: f64,
}

/// The machine and the run lengths.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectionLengths {
    pub(super) machine: String,
    pub(super) cpu_warm: u64,
    pub(super) cpu_measure: u64,
    pub(super) gpu_cycles: u64,
    pub(super) longest: u64,
    pub(super) light_warm: u64,
    pub(super) light_from: u64,
    pub(super) light_until: u64,
}

/// The study's own part of `hetero.toml`, which explains each parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Concurrency {
    pub(super) margins: Margins,
    pub(super) lengths: PaperLengths,
    pub(super) policies: Policies,
    /// Settings that halve the clock of the SMs.
    pub(super) half: HalfClock,
    /// The GPU applications of Table II.
    pub(super) application: Vec<GpuApplication>,
}

/// Relative differences and stalls that count as significant.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Margins {
    pub(super) clear: f64,
    pub(super) little: f64,
    pub(super) significant: f64,
    pub(super) negligible: f64,
    pub(super) busy: f64,
}

/// The run lengths of the paper and of the quick study.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaperLengths {
    pub(super) scale: f64,
    pub(super) longest: f64,
    pub(super) least: u64,
    pub(super) warm: f64,
    pub(super) cpu: f64,
    pub(super) gpu: f64,
}

/// Settings of all chips with a halved SM clock: keys and values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HalfClock {
    pub(super) set: Vec<(String, String)>,
}

/// Policies with their parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policies {
    pub(super) dyncta: String,
}

/// The effect of many warps on a GPU application (Table II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(super) enum GpuType {
    /// Performance rises with many warps.
    H,
    /// Performance hardly depends on the number of warps.
    M,
    /// Performance is best with few warps.
    L,
}

/// A GPU application of Table II.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GpuApplication {
    /// The abbreviation in Table II.
    pub(super) name: String,
    /// The type of the application.
    pub(super) kind: GpuType,
    /// The least and the greatest number of warps per SM with which the application is fastest.
    pub(super) optimal: (u32, u32),
    /// The application's launch file, if it exists as a program; `parameters` are the program's.
    pub(super) program: Option<String>,
    #[serde(default)]
    pub(super) parameters: Vec<(String, String)>,
}

/// Returns the statements of Sections 1 to 4.
pub(super) fn directions() -> &'static Published<Directions, String> {
    static PUBLISHED_FILE: OnceLock<Published<Directions, String>> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("hetero-directions", include_str!("../published/hetero-directions.toml")))
}

/// Returns the statements of Section 6.
pub(super) fn concurrency() -> &'static Published<Concurrency, String> {
    static PUBLISHED_FILE: OnceLock<Published<Concurrency, String>> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("hetero", include_str!("../published/hetero.toml")))
}

/// Returns the GPU applications, in the order of Table II.
pub(super) fn applications() -> &'static [GpuApplication] {
    &concurrency().own.application
}

/// Our result for one published value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// The name of the published value.
    pub(super) id: &'static str,
    ours: Outcome,
}

#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// A mean over several workloads.
    Headline(Headline),
    /// A number in percent, and a remark.
    Number(Option<f64>, String),
    /// Our figures as text, and `true` if they agree with the paper; `None` if no run shows it.
    Direction(String, Option<bool>),
}

impl Finding {
    /// Creates a finding from a mean over workloads.
    pub(super) fn headline(id: &'static str, headline: Headline) -> Self {
        Self { id, ours: Outcome::Headline(headline) }
    }

    /// Creates a finding from a ratio, which is compared as a change in percent.
    pub(super) fn number(id: &'static str, ratio: Option<f64>, remark: impl Into<String>) -> Self {
        Self { id, ours: Outcome::Number(ratio.map(|ratio| (ratio - 1.0) * 100.0), remark.into()) }
    }

    /// Creates a finding about a direction, such as which of two values is higher.
    pub(super) fn direction(id: &'static str, ours: String, agrees: impl Into<Option<bool>>) -> Self {
        Self { id, ours: Outcome::Direction(ours, agrees.into()) }
    }

    /// Adds the comparison with `value` to the output and returns the verdict.
    fn compare(&self, value: &Value<String>, output: &mut StudyOutput) -> Verdict {
        match &self.ours {
            Outcome::Headline(headline) => output.grade_headline(value, headline),
            Outcome::Number(number, remark) => output.grade_number(value, *number, remark),
            Outcome::Direction(ours, agrees) => output.grade_direction(value, ours.clone(), *agrees),
        }
    }
}

/// Compares each published value with the finding of the same name, adds the comparisons to the output, and returns the verdicts.
pub(super) fn compare(values: &[Value<String>], findings: &[Finding], output: &mut StudyOutput) -> Vec<(String, Verdict)> {
    let graded = values.iter().filter_map(|value| {
        let finding = findings.iter().find(|finding| finding.id == value.of)?;
        Some((value.of.clone(), finding.compare(value, output)))
    });
    graded.collect()
}
