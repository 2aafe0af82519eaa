//! The published figures of the thesis, its benchmarks, and the parameters of the runs.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use warpshard_lab::published::{Published, read};

/// The sections of `dual-kernel.toml` that only this study has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StudyData {
    pub(super) parameters: Parameters,
    pub(super) task: Task,
    pub(super) benchmark: Vec<Benchmark>,
}

/// Parameters of the study; `dual-kernel.toml` explains each.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) machine: String,
    pub(super) bounds: Vec<u32>,
    pub(super) kernel_points: u32,
    pub(super) rare_points: f64,
    pub(super) most_points: u32,
    pub(super) full_most_points: u32,
    pub(super) recovery: f64,
    pub(super) window: (u64, u64),
    pub(super) spread: f64,
    pub(super) slack: u64,
    pub(super) seed: u64,
}

/// The kernel that preempts the benchmarks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Task {
    pub(super) program: String,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) columns_per_cta: u32,
    pub(super) ctas: u32,
    pub(super) wide_ctas: u32,
}

/// A benchmark of Table 4.2.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Benchmark {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) kernels: Vec<KernelRow>,
}

/// A kernel of a benchmark, as a row of Table 4.2.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KernelRow {
    pub(super) kernel: String,
    pub(super) published: String,
    pub(super) registers: u32,
    pub(super) shared: u32,
    pub(super) threads: u32,
    pub(super) ctas: u32,
    pub(super) idempotent: bool,
}

impl Benchmark {
    /// Returns the names of kernels that may be executed twice.
    pub(super) fn idempotent_kernels(&self) -> Vec<String> {
        self.kernels.iter().filter(|row| row.idempotent).map(|row| row.kernel.clone()).collect()
    }
}

/// A preemption scheme, as named in the published values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PublishedScheme {
    /// The scheme of the thesis.
    #[default]
    Dual,
    /// The scheme of the thesis with known latencies.
    Oracle,
    /// Chimera: preemption of whole SMs.
    Chimera,
    /// Chimera with the estimate of the thesis.
    ChimeraPlus,
}

/// The schemes in the order of the tables. Figure 4.3 has Chimera with the thesis's estimate, at one bound only.
pub(super) const SCHEMES: [PublishedScheme; 4] = [PublishedScheme::Chimera, PublishedScheme::ChimeraPlus, PublishedScheme::Dual, PublishedScheme::Oracle];

impl PublishedScheme {
    /// Returns true if CTAs of both kernels share SMs.
    pub(super) fn shares_sms(self) -> bool {
        matches!(self, Self::Dual | Self::Oracle)
    }

    /// Returns the value of the controller's parameter `scheme`.
    pub(super) fn scheme_parameter(self) -> &'static str {
        match self {
            Self::Dual => "dual",
            Self::Oracle => "oracle",
            Self::Chimera => "chimera",
            Self::ChimeraPlus => "chimera_plus",
        }
    }
}

/// A configuration of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Configuration {
    /// One CTA of the task per SM, resources of CTAs as in Table 4.2, a switch takes its estimated time.
    Base,
    /// `Base`, but contexts are memory traffic.
    Traffic,
    /// `Base`, but with the most CTAs of the task that an SM holds.
    Wide,
    /// `Base`, but with the resources of CTAs as our programs are compiled.
    Compiled,
    /// `Base`, but a CTA that has executed more than the mean has no instructions left.
    Beyond,
    /// `Base`, but the contexts of an SM are saved one after the other (D-033).
    InTurn,
}

impl Configuration {
    /// All configurations with their names on the command line.
    pub(super) const ALL: [(&'static str, Self); 6] = [
        ("base", Self::Base),
        ("traffic", Self::Traffic),
        ("wide", Self::Wide),
        ("compiled", Self::Compiled),
        ("beyond", Self::Beyond),
        ("in-turn", Self::InTurn),
    ];

    /// Returns true if the published figures are compared with this configuration.
    pub(super) fn is_compared(self) -> bool {
        matches!(self, Self::Base | Self::InTurn)
    }
}

/// The quantity of a published value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quantity {
    Violations,
    /// Tasks that end after their deadline, in the words of Section 4.2.
    Deadlines,
    ViolationOrder,
    Overhead,
    OverheadOrder,
    OverheadReduction,
    Utilisation,
    DrainError,
}

/// The key `of` of a published value: its quantity, scheme and bound.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValueSelector {
    pub(super) quantity: Quantity,
    #[serde(default)]
    pub(super) scheme: PublishedScheme,
    /// Bound of the preemption latency in us.
    #[serde(default)]
    pub(super) bound: u32,
}

/// Returns the parsed `dual-kernel.toml`.
pub(super) fn published() -> &'static Published<StudyData, ValueSelector> {
    static PUBLISHED_FILE: OnceLock<Published<StudyData, ValueSelector>> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("dual-kernel", include_str!("../published/dual-kernel.toml")))
}

/// Returns the benchmarks of Table 4.2.
pub(super) fn benchmarks() -> &'static [Benchmark] {
    &published().own.benchmark
}
