//! The 36 workloads: pairs of a GPU application and a mix of CPU applications.
//!
//! In: `papers/src/hetero/published/pairs.toml`, and the types of the GPU applications from
//! `papers/src/hetero/published/hetero.toml`. Out: pairs in the file's order, counted from 1. `draw.rs` drew the pairs of the file.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::super::published::{GpuType, applications};

/// The memory intensity of CPU applications (Table III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(super) enum CpuType {
    /// Low memory intensity.
    L,
    /// Medium memory intensity.
    M,
    /// High memory intensity.
    H,
}

/// The types of GPU applications, in the paper's order.
pub(super) const GPU_TYPES: [GpuType; 3] = [GpuType::H, GpuType::M, GpuType::L];
/// The types of mixes, in the paper's order.
pub(super) const CPU_TYPES: [CpuType; 3] = [CpuType::L, CpuType::M, CpuType::H];

/// The nine kinds of workloads, as the paper's figures name them: GPU type, then CPU type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkloadKind(pub(super) GpuType, pub(super) CpuType);

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}-{:?}", self.0, self.1)
    }
}

/// Returns all nine kinds, in the paper's order.
pub(super) fn kinds() -> impl Iterator<Item = WorkloadKind> {
    GPU_TYPES.into_iter().flat_map(|gpu| CPU_TYPES.map(|cpu| WorkloadKind(gpu, cpu)))
}

/// A workload: a GPU application with a mix of CPU applications.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadPair {
    /// The GPU application by its abbreviation in Table II.
    pub(super) gpu: String,
    /// The mix of CPU applications by its name in Table IV.
    pub(super) mix: String,
}

impl WorkloadPair {
    /// Returns the kind of the workload, one of nine.
    pub(super) fn kind(&self) -> WorkloadKind {
        let gpu = applications().iter().find(|application| application.name == self.gpu).map_or(GpuType::M, |application| application.kind);
        WorkloadKind(gpu, mix_type(&self.mix))
    }
}

impl fmt::Display for WorkloadPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.gpu, self.mix)
    }
}

fn mix_type(mix: &str) -> CpuType {
    match mix.as_bytes().first() {
        Some(b'L') => CpuType::L,
        Some(b'H') => CpuType::H,
        _ => CpuType::M,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PairsFile {
    seed: u64,
    named: Vec<WorkloadPair>,
    pair: Vec<WorkloadPair>,
}

fn pairs_file() -> &'static PairsFile {
    static PUBLISHED_FILE: OnceLock<PairsFile> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| match toml::from_str(include_str!("../../published/pairs.toml")) {
        Ok(file) => file,
        Err(error) => panic!("published/pairs.toml: {error}"),
    })
}

/// Returns the seed of the draw, and the pairs that the draw had to contain.
pub(super) fn recorded_draw() -> (u64, &'static [WorkloadPair]) {
    (pairs_file().seed, &pairs_file().named)
}

/// Returns all pairs of the file.
pub(super) fn all_pairs() -> &'static [WorkloadPair] {
    &pairs_file().pair
}

/// Returns the numbers, from 1, of the pairs of the quick study: of each kind the first pair that the paper names, otherwise the first
/// pair whose GPU application no other chosen pair has.
pub(super) fn quick_numbers() -> Vec<usize> {
    let of = |kind: WorkloadKind| all_pairs().iter().filter(move |pair| pair.kind() == kind);
    let named = |kind: WorkloadKind| of(kind).find(|pair| pairs_file().named.contains(pair));
    let mut chosen: Vec<&WorkloadPair> = kinds().filter_map(named).collect();
    for kind in kinds().filter(|kind| named(*kind).is_none()) {
        let fresh = of(kind).find(|pair| !chosen.iter().any(|other| other.gpu == pair.gpu));
        chosen.extend(fresh.or_else(|| of(kind).next()));
    }
    let mut numbers: Vec<usize> = (1..=all_pairs().len()).filter(|number| chosen.contains(&&all_pairs()[number - 1])).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_has_two_different_applications_of_each_type_and_every_kind_four_workloads() {
        assert_eq!(all_pairs().len(), 36);
        for kind in kinds() {
            assert_eq!(all_pairs().iter().filter(|pair| pair.kind() == kind).count(), 4, "{kind}");
        }
        let mut sorted = all_pairs().to_vec();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 36, "no pair occurs twice");
    }

    #[test]
    fn the_quick_study_has_one_pair_of_each_kind() {
        let kinds_of: std::collections::BTreeSet<WorkloadKind> = quick_numbers().iter().map(|&number| all_pairs()[number - 1].kind()).collect();
        assert_eq!((quick_numbers().len(), kinds_of.len()), (9, 9));
    }
}
