//! What the paper states, and its applications.

use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_lab::published::{Published, read};

/// The study's part of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Own {
    pub(super) parameters: Parameters,
    pub(super) application: Vec<Application>,
}

/// The file explains each.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) machine: String,
    pub(super) set: Vec<(String, String)>,
    pub(super) cycles: u64,
    pub(super) quick_cycles: u64,
    pub(super) profile_cycles: u64,
    pub(super) curve_cycles: u64,
}

/// The types of Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Type {
    Compute,
    Memory,
}

/// An application of Table 1.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Application {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) parameters: Vec<(String, String)>,
    #[serde(rename = "type")]
    pub(super) kind: Type,
}

impl Application {
    /// Whatever its run depends on: parameters, and the launch file with the listings beside it that it names.
    ///
    /// # Errors
    /// When the launch file is not there; a message for the user.
    pub(super) fn content(&self) -> Result<String, TaskError> {
        let content = warpshard_lab::programs::content(Path::new(&self.program))?;
        Ok(format!("{:?}\n{content}", self.parameters))
    }
}

/// The systems of Section 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Configuration {
    /// 24 SMs, pairs.
    Base,
    /// 30 SMs, pairs.
    #[serde(rename = "sms-30")]
    Sms30,
    /// Three quarters of the memory bandwidth.
    #[serde(rename = "bandwidth-75")]
    Bandwidth75,
    /// One and a half of it.
    #[serde(rename = "bandwidth-150")]
    Bandwidth150,
    /// 24 SMs, four applications.
    Four,
    /// 24 SMs, all pairs, until they are classified.
    Classes,
    /// 24 SMs, pairs, an L1 with the hashed index of Fermi.
    Hashed,
    /// 24 SMs, each application alone on a sixth to all of them.
    Curves,
}

impl Configuration {
    /// All, with their names.
    pub(super) const ALL: [(&'static str, Self); 8] = [
        ("base", Self::Base),
        ("sms-30", Self::Sms30),
        ("bandwidth-75", Self::Bandwidth75),
        ("bandwidth-150", Self::Bandwidth150),
        ("four", Self::Four),
        ("classes", Self::Classes),
        ("hashed", Self::Hashed),
        ("curves", Self::Curves),
    ];

    /// The configuration whose published figures it is compared with.
    pub(super) fn compared_as(self) -> Self {
        if self == Self::Hashed { Self::Base } else { self }
    }

    /// What differs from the machine; memory bandwidth goes with the clock of the DRAM.
    pub(super) fn settings(self) -> Vec<(String, String)> {
        let set = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
        match self {
            Self::Base | Self::Four | Self::Classes | Self::Curves => Vec::new(),
            // D-031
            Self::Hashed => set("gpu.sm.l1.cache.index", "fermi"),
            Self::Sms30 => set("gpu.sms", "30"),
            Self::Bandwidth75 => set("clocks.dram", "693 MHz"),
            Self::Bandwidth150 => set("clocks.dram", "1386 MHz"),
        }
    }
}

/// What a published value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quantity {
    MixedStp,
    MixedStpBest,
    MixedStpWorst,
    MixedAntt,
    MixedOverhead,
    MemoryPower,
    MemoryPowerBest,
    MemoryStp,
    MemoryStpWorst,
    MemoryGated,
    MemoryOverhead,
    Classified,
    UtilisationMisses,
    Sensitivity,
    SmkWorse,
    MaestroStp,
    CdSearchOnMaestro,
}

/// What a published value is of.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Of {
    pub(super) configuration: Configuration,
    pub(super) quantity: Quantity,
}

/// The file.
pub(super) fn published() -> &'static Published<Own, Of> {
    static READ: OnceLock<Published<Own, Of>> = OnceLock::new();
    READ.get_or_init(|| read("cd-search", include_str!("../published/cd-search.toml")))
}

/// A group of applications, by their places in Table 1.
pub(super) type Members = Vec<usize>;

/// Table 1.
pub(super) fn applications() -> &'static [Application] {
    &published().own.application
}

/// The places of the applications of a type.
pub(super) fn of_type(wanted: Type) -> Members {
    (0..applications().len()).filter(|app| applications()[*app].kind == wanted).collect()
}
