//! The published figures of Section 4.4, as `configs/published/onac.toml` holds them.

use serde::Deserialize;

use crate::study::wa_sched::published::CoreType;

/// All of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    /// Where the figures stand.
    pub(super) source: String,
    /// Table 4.4.
    pub(super) kernel: Vec<Entry>,
    /// Means over kernels.
    pub(super) figure: Vec<Figure>,
}

/// A row of Table 4.4, with what the text says of the kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Its model, without the folder.
    pub(super) name: String,
    /// CTAs of its grid.
    pub(super) ctas: u32,
    /// The optimal number of cores, where the text says it.
    pub(super) cores: Option<u32>,
    /// ONAC's first estimate, where the text says it.
    pub(super) first: Option<u32>,
}

/// A mean over kernels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// Of what.
    pub(super) quantity: Quantity,
    /// Under which search.
    pub(super) scheme: Option<Scheme>,
    /// Over the kernels of which published type.
    #[serde(rename = "type")]
    pub(super) of: Option<CoreType>,
    /// The published value.
    pub(super) value: f64,
    /// What ours is to lie in.
    pub(super) within: Option<(f64, f64)>,
    /// Where it stands.
    pub(super) section: String,
}

/// What a mean is of.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Quantity {
    /// Kernels of the published type, their number.
    Types,
    /// Performance relative to all cores, in percent.
    Performance,
    /// Energy saved relative to all cores, in percent.
    Saved,
    /// Energy saved by ONAC and not by Seq-Det, in percent of all cores'.
    Ahead,
    /// What ONAC's detection takes less than Seq-Det's, in percent.
    Faster,
    /// How much smaller a part of the run ONAC's detections are on average than Seq-Det's on average, in percent.
    Shares,
    /// Kernels whose detected number is the oracle's, in percent.
    Exact,
    /// The detection's part of the run, in percent.
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
    /// Both.
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

impl Figure {
    /// What it is, with its unit.
    pub(super) fn name(&self) -> String {
        let of = self.of.map_or_else(|| "all kernels".into(), |of| format!("type {of:?}"));
        let scheme = self.scheme.map_or("", Scheme::name);
        match self.quantity {
            Quantity::Types => "kernels of the published type".into(),
            Quantity::Performance => format!("{of}: performance with {scheme}, % of all cores"),
            Quantity::Saved => format!("{of}: energy saved by {scheme}, % of all cores"),
            Quantity::Ahead => format!("{of}: energy saved by ONAC beyond Seq-Det, % of all cores"),
            Quantity::Faster => format!("{of}: ONAC's detection shorter than Seq-Det's, %"),
            Quantity::Shares => format!("{of}: mean share of detection in the run, ONAC's below Seq-Det's, %"),
            Quantity::Exact => format!("{of}: {scheme} finds the oracle's number, % of kernels"),
            Quantity::Detection => format!("{of}: detection of {scheme}, % of the run"),
        }
    }
}

/// Reads the published figures.
///
/// # Panics
/// When the file that was built in is not as this module expects; a test reads it.
pub(super) fn read() -> Published {
    match toml::from_str(include_str!("../../../../configs/published/onac.toml")) {
        Ok(published) => published,
        Err(error) => panic!("configs/published/onac.toml: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::wa_sched::published::published;

    #[test]
    fn the_kernels_are_those_with_a_published_type() {
        let mut named: Vec<String> = read().kernel.into_iter().map(|entry| entry.name).collect();
        let mut typed: Vec<String> =
            published().kernel.into_iter().filter(|kernel| kernel.cores.is_some()).map(|kernel| kernel.name).collect();
        named.sort();
        typed.sort();
        assert_eq!(named, typed);
    }

    #[test]
    fn figures_of_a_search_name_it() {
        let needs =
            |figure: &Figure| matches!(figure.quantity, Quantity::Performance | Quantity::Saved | Quantity::Exact | Quantity::Detection);
        assert!(read().figure.iter().all(|figure| figure.scheme.is_some() == needs(figure)));
    }
}
