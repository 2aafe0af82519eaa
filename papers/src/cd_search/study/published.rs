//! The published figures of the paper, and its applications.

use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_lab::published::{Published, read};

/// The sections of `cd-search.toml` that only this study has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StudyData {
    pub(super) parameters: Parameters,
    pub(super) application: Vec<PublishedApplication>,
}

/// Parameters of the study; `cd-search.toml` explains each.
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

/// The application types of Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ApplicationType {
    Compute,
    Memory,
}

/// An application of Table 1.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedApplication {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) parameters: Vec<(String, String)>,
    #[serde(rename = "type")]
    pub(super) kind: ApplicationType,
}

impl PublishedApplication {
    /// Returns the inputs of the application's run as text: its parameters, the launch file, and the listings that the launch file names.
    ///
    /// # Errors
    /// Returns a message for the user if the launch file does not exist.
    pub(super) fn input_text(&self) -> Result<String, TaskError> {
        let content = warpshard_lab::programs::content(Path::new(&self.program))?;
        Ok(format!("{:?}\n{content}", self.parameters))
    }
}

/// The system configurations of Section 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Configuration {
    /// Pairs of applications on 24 SMs.
    Base,
    /// Pairs of applications on 30 SMs.
    #[serde(rename = "sms-30")]
    Sms30,
    /// `Base` with 75 % of the memory bandwidth.
    #[serde(rename = "bandwidth-75")]
    Bandwidth75,
    /// `Base` with 150 % of the memory bandwidth.
    #[serde(rename = "bandwidth-150")]
    Bandwidth150,
    /// Groups of four applications on 24 SMs.
    Four,
    /// All pairs on 24 SMs, until they are classified.
    Classes,
    /// `Base` with the hashed L1 index of Fermi.
    Hashed,
    /// Each application alone on one to six sixths of 24 SMs.
    Curves,
}

impl Configuration {
    /// All configurations with their names on the command line.
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

    /// Returns the configuration whose published figures apply to this one.
    pub(super) fn compared_as(self) -> Self {
        if self == Self::Hashed { Self::Base } else { self }
    }

    /// Returns the overrides of machine keys; the clock of the DRAM scales the memory bandwidth.
    pub(super) fn settings(self) -> Vec<(String, String)> {
        let set = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
        match self {
            Self::Base | Self::Four | Self::Classes | Self::Curves => Vec::new(),
            // Deviation D-031.
            Self::Hashed => set("gpu.sm.l1.cache.index", "fermi"),
            Self::Sms30 => set("gpu.sms", "30"),
            Self::Bandwidth75 => set("clocks.dram", "693 MHz"),
            Self::Bandwidth150 => set("clocks.dram", "1386 MHz"),
        }
    }
}

/// The quantity of a published value.
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

/// The key `of` of a published value: its configuration and quantity.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValueSelector {
    pub(super) configuration: Configuration,
    pub(super) quantity: Quantity,
}

/// Returns the parsed `cd-search.toml`.
pub(super) fn published() -> &'static Published<StudyData, ValueSelector> {
    static PUBLISHED_FILE: OnceLock<Published<StudyData, ValueSelector>> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("cd-search", include_str!("../published/cd-search.toml")))
}

/// A group of applications, as indices into Table 1.
pub(super) type Members = Vec<usize>;

/// Returns the applications of Table 1.
pub(super) fn applications() -> &'static [PublishedApplication] {
    &published().own.application
}

/// Returns the indices of the applications of a type.
pub(super) fn applications_of_type(wanted: ApplicationType) -> Members {
    (0..applications().len()).filter(|app| applications()[*app].kind == wanted).collect()
}
