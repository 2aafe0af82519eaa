//! What the paper states, from `papers/src/hetero/published/hetero.toml` and `hetero-directions.toml`, and how findings are graded by it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::{Published, Value, read};
use warpshard_lab::verdict::{Headline, Verdict};

/// The study's part of `hetero-directions.toml`, which explains each parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Directions {
    pub(super) margins: DirectionMargins,
    pub(super) lengths: Lengths,
    pub(super) kernels: BTreeMap<String, BTreeMap<String, i64>>,
}

/// Relative differences that count.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectionMargins {
    pub(super) clear: f64,
    pub(super) hardly: f64,
}

/// The machine and the lengths of runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lengths {
    pub(super) machine: String,
    pub(super) cpu_warm: u64,
    pub(super) cpu_measure: u64,
    pub(super) gpu_cycles: u64,
    pub(super) longest: u64,
    pub(super) light_warm: u64,
    pub(super) light_from: u64,
    pub(super) light_until: u64,
}

/// The study's part of `hetero.toml`, which explains each parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Concurrency {
    pub(super) margins: Margins,
    pub(super) lengths: PaperLengths,
    pub(super) policies: Policies,
    /// SMs at half of the clock.
    pub(super) half: Half,
    /// The GPU applications of Table II.
    pub(super) application: Vec<Application>,
}

/// Relative differences and stalls that count.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Margins {
    pub(super) clear: f64,
    pub(super) little: f64,
    pub(super) significant: f64,
    pub(super) negligible: f64,
    pub(super) busy: f64,
}

/// The paper's lengths, and those of a quick study.
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

/// Settings of all chips: keys and values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Half {
    pub(super) set: Vec<(String, String)>,
}

/// Policies with their parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policies {
    pub(super) dyncta: String,
}

/// What a GPU application makes of many warps (Table II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(super) enum GpuType {
    /// Wants many.
    H,
    /// Hardly minds.
    M,
    /// Wants few.
    L,
}

/// A GPU application of Table II.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Application {
    /// The abbreviation.
    pub(super) name: String,
    /// What many warps do to it.
    pub(super) kind: GpuType,
    /// The least and the greatest number of warps of an SM with which it is fastest.
    pub(super) optimal: (u32, u32),
    /// Its launch file, where it exists as a program, and the parameters of that.
    pub(super) program: Option<String>,
    #[serde(default)]
    pub(super) parameters: Vec<(String, String)>,
}

/// What Sections 1 to 4 state.
pub(super) fn directions() -> &'static Published<Directions, String> {
    static READ: OnceLock<Published<Directions, String>> = OnceLock::new();
    READ.get_or_init(|| read("hetero-directions", include_str!("../published/hetero-directions.toml")))
}

/// What Section 6 states.
pub(super) fn concurrency() -> &'static Published<Concurrency, String> {
    static READ: OnceLock<Published<Concurrency, String>> = OnceLock::new();
    READ.get_or_init(|| read("hetero", include_str!("../published/hetero.toml")))
}

/// The GPU applications, in the order of Table II.
pub(super) fn applications() -> &'static [Application] {
    &concurrency().own.application
}

/// Ours for one published value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// The published value.
    pub(super) id: &'static str,
    ours: Ours,
}

#[derive(Clone, Debug, PartialEq)]
enum Ours {
    /// A figure over several workloads.
    Headline(Headline),
    /// A number, and a remark.
    Number(Option<f64>, String),
    /// Our figures in words, and whether they agree; `None` where nothing was run that shows it.
    Direction(String, Option<bool>),
}

impl Finding {
    /// A mean over workloads.
    pub(super) fn headline(id: &'static str, headline: Headline) -> Self {
        Self { id, ours: Ours::Headline(headline) }
    }

    /// A number that is stated, in percent, from a ratio.
    pub(super) fn number(id: &'static str, ratio: Option<f64>, remark: impl Into<String>) -> Self {
        Self { id, ours: Ours::Number(ratio.map(|ratio| (ratio - 1.0) * 100.0), remark.into()) }
    }

    /// A direction.
    pub(super) fn direction(id: &'static str, ours: String, agrees: impl Into<Option<bool>>) -> Self {
        Self { id, ours: Ours::Direction(ours, agrees.into()) }
    }

    /// Adds the comparison, and returns the verdict.
    fn compare(&self, value: &Value<String>, output: &mut StudyOutput) -> Verdict {
        match &self.ours {
            Ours::Headline(headline) => output.graded(value, headline),
            Ours::Number(number, remark) => output.graded_number(value, *number, remark),
            Ours::Direction(ours, agrees) => output.graded_direction(value, ours.clone(), *agrees),
        }
    }
}

/// Adds the comparison of all values with the findings of the same names, and returns the verdicts.
pub(super) fn compare(values: &[Value<String>], findings: &[Finding], output: &mut StudyOutput) -> Vec<(String, Verdict)> {
    let graded = values.iter().filter_map(|value| {
        let finding = findings.iter().find(|finding| finding.id == value.of)?;
        Some((value.of.clone(), finding.compare(value, output)))
    });
    graded.collect()
}
