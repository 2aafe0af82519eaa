//! What the thesis states of searches for cores, and the parameters of the runs.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use warpshard_lab::published::{Published, read};

use super::super::{CoreType, Launch};

/// The study's own part of its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Own {
    pub(super) parameters: Parameters,
    pub(super) shown: Shown,
    pub(super) kernel: Vec<Entry>,
}

/// The file explains each.
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

/// Kernels that are treated differently.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shown {
    pub(super) swept: Vec<String>,
    pub(super) to_the_end: Vec<String>,
    pub(super) curves: Vec<String>,
}

/// A row of Table 4.4, with what the text states of the kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) ctas: u32,
    #[serde(default)]
    pub(super) grid: BTreeMap<String, i64>,
    pub(super) cores: Option<u32>,
    pub(super) first: Option<u32>,
    /// The kernel as a launch of a program.
    pub(super) program: Option<Launch>,
}

/// What a mean over kernels is of.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Of {
    pub(super) quantity: Quantity,
    pub(super) scheme: Option<Scheme>,
    /// Over the kernels of which published type.
    #[serde(rename = "type")]
    pub(super) of: Option<CoreType>,
}

/// A quantity; the file explains each.
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

/// A search.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Scheme {
    /// Estimates from lines.
    Onac,
    /// One core less per sample.
    SeqDet,
}

impl Scheme {
    pub(super) const ALL: [Self; 2] = [Self::Onac, Self::SeqDet];

    /// The thesis's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Onac => "ONAC",
            Self::SeqDet => "Seq-Det",
        }
    }

    /// The policy's name.
    pub(super) fn policy(self) -> &'static str {
        match self {
            Self::Onac => "onac",
            Self::SeqDet => "seq_det",
        }
    }
}

pub(super) fn published() -> &'static Published<Own, Of> {
    static READ: OnceLock<Published<Own, Of>> = OnceLock::new();
    READ.get_or_init(|| read("onac", include_str!("../../published/onac.toml")))
}
