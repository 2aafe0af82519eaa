//! What the thesis states, its benchmarks, and the parameters of the runs.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use warpshard_lab::published::{Published, read};

/// The study's part of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Own {
    pub(super) parameters: Parameters,
    pub(super) task: Task,
    pub(super) benchmark: Vec<Benchmark>,
}

/// The file explains each.
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

/// The kernel that preempts.
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

/// A row of Table 4.2.
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
    /// Names of kernels that may be executed twice.
    pub(super) fn idempotent(&self) -> Vec<String> {
        self.kernels.iter().filter(|row| row.idempotent).map(|row| row.kernel.clone()).collect()
    }
}

/// Who is preempted, and by what knowledge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scheme {
    /// The thesis'.
    #[default]
    Dual,
    /// The same with known latencies.
    Oracle,
    /// Whole SMs.
    Chimera,
    /// Whole SMs with the thesis' estimate.
    ChimeraPlus,
}

/// The schemes, in the order of the tables. Chimera with the thesis' estimate is one of Figure 4.3, at its bound alone.
pub(super) const SCHEMES: [Scheme; 4] = [Scheme::Chimera, Scheme::ChimeraPlus, Scheme::Dual, Scheme::Oracle];

impl Scheme {
    /// Whether CTAs of both kernels share SMs.
    pub(super) fn shares_sms(self) -> bool {
        matches!(self, Self::Dual | Self::Oracle)
    }

    /// Its word among the parameters of the controller.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Dual => "dual",
            Self::Oracle => "oracle",
            Self::Chimera => "chimera",
            Self::ChimeraPlus => "chimera_plus",
        }
    }
}

/// What differs from the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Configuration {
    /// One CTA of the task for each SM, needs of CTAs as in Table 4.2, a switch takes its time.
    Base,
    /// Contexts are traffic.
    Traffic,
    /// As many CTAs of the task as an SM holds.
    Wide,
    /// Needs of CTAs as our programs are compiled.
    Compiled,
    /// Nothing is known of CTAs that have executed more than the mean.
    Beyond,
    /// Contexts of an SM go one after the other (D-033).
    InTurn,
}

impl Configuration {
    /// All, with their names.
    pub(super) const ALL: [(&'static str, Self); 6] = [
        ("base", Self::Base),
        ("traffic", Self::Traffic),
        ("wide", Self::Wide),
        ("compiled", Self::Compiled),
        ("beyond", Self::Beyond),
        ("in-turn", Self::InTurn),
    ];

    /// Whether the thesis's figures are compared with it.
    pub(super) fn is_compared(self) -> bool {
        matches!(self, Self::Base | Self::InTurn)
    }
}

/// What a published value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quantity {
    Violations,
    /// Tasks that end after their deadline in the words of Section 4.2.
    Deadlines,
    ViolationOrder,
    Overhead,
    OverheadOrder,
    OverheadReduction,
    Utilisation,
    DrainError,
}

/// What a published value is of.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Of {
    pub(super) quantity: Quantity,
    #[serde(default)]
    pub(super) scheme: Scheme,
    /// In us.
    #[serde(default)]
    pub(super) bound: u32,
}

/// The file.
pub(super) fn published() -> &'static Published<Own, Of> {
    static READ: OnceLock<Published<Own, Of>> = OnceLock::new();
    READ.get_or_init(|| read("dual-kernel", include_str!("../published/dual-kernel.toml")))
}

/// Table 4.2.
pub(super) fn benchmarks() -> &'static [Benchmark] {
    &published().own.benchmark
}
