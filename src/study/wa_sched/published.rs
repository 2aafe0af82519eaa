//! The published figures of the thesis, as `configs/published/wa_sched.toml` holds them.

use serde::Deserialize;

/// All of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    /// Where the figures stand.
    pub(super) source: String,
    /// One entry per kernel.
    pub(super) kernel: Vec<Kernel>,
}

/// What is published about a kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kernel {
    /// Its model, without the folder.
    pub(super) name: String,
    /// Tables 3.2 and 3.3.
    pub(super) phases: Option<PhaseCells>,
    /// Table 4.2, Fermi.
    pub(super) m2090: Option<CtaCells>,
    /// Table 4.2, Kepler.
    pub(super) k20x: Option<CtaCells>,
    /// Table 4.4.
    pub(super) cores: Option<CoreType>,
}

/// The cells of a kernel in Tables 3.2 and 3.3.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PhaseCells {
    /// Which of the tables.
    pub(super) table: String,
    /// Thread blocks per core.
    pub(super) ctas: u32,
    /// Number of phases.
    pub(super) total: u32,
    /// Length of the longest.
    pub(super) longest: u32,
    /// Length of the shortest.
    pub(super) shortest: u32,
    /// Cells that the text contradicts.
    #[serde(default)]
    pub(super) contradicted: Vec<String>,
}

/// The cells of a kernel and machine in Table 4.2.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CtaCells {
    /// The most CTAs on a core.
    pub(super) max: u32,
    /// The optimum.
    pub(super) opt: u32,
    /// How performance depends on the number.
    pub(super) class: Class,
}

/// How performance depends on the number of CTAs per core.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) enum Class {
    /// It grows up to the most.
    #[serde(rename = "C-strong")]
    Strong,
    /// It saturates.
    #[serde(rename = "C-weak")]
    Weak,
    /// It falls behind the optimum.
    #[serde(rename = "MEM")]
    Mem,
}

impl Class {
    /// The thesis's word.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Strong => "C-strong",
            Self::Weak => "C-weak",
            Self::Mem => "MEM",
        }
    }
}

/// Whether all cores are needed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) enum CoreType {
    /// Fewer are enough.
    A,
    /// All are.
    B,
}

/// Reads the published figures.
///
/// # Panics
/// When the file that was built in is not as this module expects; a test reads it.
pub(super) fn published() -> Published {
    match toml::from_str(include_str!("../../../configs/published/wa_sched.toml")) {
        Ok(published) => published,
        Err(error) => panic!("configs/published/wa_sched.toml: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::model::builtin_names;

    #[test]
    fn every_published_kernel_has_a_model_and_every_model_is_published() {
        let published = published();
        let mut named: Vec<String> = published.kernel.iter().map(|kernel| format!("wa_sched/{}", kernel.name)).collect();
        named.sort();
        let models: Vec<&str> = builtin_names().map(|(name, _)| name).filter(|name| name.starts_with("wa_sched/")).collect();
        assert_eq!(named, models);
        assert_eq!(published.kernel.iter().filter(|kernel| kernel.phases.is_some()).count(), 14);
        assert_eq!(published.kernel.iter().filter(|kernel| kernel.m2090.is_some() && kernel.k20x.is_some()).count(), 16);
        assert_eq!(published.kernel.iter().filter(|kernel| kernel.cores.is_some()).count(), 20);
    }
}
