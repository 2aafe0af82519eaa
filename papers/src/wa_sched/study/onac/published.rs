//! The thesis's statements about searches for cores, and the parameters of the runs.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use warpshard_lab::published::{Published, read};

use super::super::{CoreType, ProgramLaunch};

/// The study's own part of its published file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StudySection {
    pub(super) parameters: Parameters,
    pub(super) shown: KernelGroups,
    pub(super) kernel: Vec<KernelEntry>,
}

/// Parameters of the runs, explained in the published file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) threshold: f64,
    pub(super) always: Vec<u32>,
    pub(super) stretch: u64,
    pub(super) all_cores: u64,
    pub(super) longest: u64,
    pub(super) warm: u32,
    pub(super) waves: u32,
    pub(super) after: f64,
    pub(super) parts: u64,
}

/// Kernels with additional runs or plots.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KernelGroups {
    pub(super) swept: Vec<String>,
    pub(super) to_the_end: Vec<String>,
    pub(super) curves: Vec<String>,
}

/// A row of Table 4.4, with the text's statements about the kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KernelEntry {
    pub(super) name: String,
    pub(super) ctas: u32,
    #[serde(default)]
    pub(super) grid: BTreeMap<String, i64>,
    pub(super) cores: Option<u32>,
    pub(super) first: Option<u32>,
    /// The program launch that can replace the kernel's model.
    pub(super) program: Option<ProgramLaunch>,
}

/// The subject of a published mean over kernels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValueSelector {
    pub(super) quantity: Quantity,
    pub(super) scheme: Option<DetectionScheme>,
    /// The published type of the kernels; `None` for all kernels.
    #[serde(rename = "type")]
    pub(super) of: Option<CoreType>,
}

/// A quantity of a published mean, explained in the published file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Quantity {
    Types,
    Performance,
    Saved,
    Ahead,
    Faster,
    Shares,
    Exact,
    Detection,
}

/// A search for the number of cores.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DetectionScheme {
    /// Estimates from a line through the last two samples.
    Onac,
    /// One core fewer per sample.
    SeqDet,
}

impl DetectionScheme {
    pub(super) const ALL: [Self; 2] = [Self::Onac, Self::SeqDet];

    /// Returns the thesis's name of the search.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Onac => "ONAC",
            Self::SeqDet => "Seq-Det",
        }
    }

    /// Returns the name of the policy.
    pub(super) fn policy(self) -> &'static str {
        match self {
            Self::Onac => "onac",
            Self::SeqDet => "seq_det",
        }
    }
}

pub(super) fn published() -> &'static Published<StudySection, ValueSelector> {
    static PUBLISHED_FILE: OnceLock<Published<StudySection, ValueSelector>> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("onac", include_str!("../../published/onac.toml")))
}
