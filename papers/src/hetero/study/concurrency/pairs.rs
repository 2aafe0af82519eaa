//! The 36 workloads: which GPU application runs with which mix of CPU applications.
//!
//! In: `papers/src/hetero/published/pairs.toml`, and the types of the GPU applications from
//! `papers/src/hetero/published/hetero.toml`. Out: pairs in the file's order, counted from 1. `draw.rs` drew the file once.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::super::published::{GpuType, applications};

/// What CPU applications ask of the memory (Table III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(super) enum CpuType {
    /// Little.
    L,
    /// More.
    M,
    /// Much.
    H,
}

/// The types of GPU applications, in the paper's order.
pub(super) const GPU_TYPES: [GpuType; 3] = [GpuType::H, GpuType::M, GpuType::L];
/// The types of mixes, in the paper's order.
pub(super) const CPU_TYPES: [CpuType; 3] = [CpuType::L, CpuType::M, CpuType::H];

/// The nine kinds of workloads, as the paper's figures name them: GPU type, then CPU type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind(pub(super) GpuType, pub(super) CpuType);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}-{:?}", self.0, self.1)
    }
}

/// All nine, in the paper's order.
pub(super) fn kinds() -> impl Iterator<Item = Kind> {
    GPU_TYPES.into_iter().flat_map(|gpu| CPU_TYPES.map(|cpu| Kind(gpu, cpu)))
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    /// The GPU application, as Table II abbreviates it.
    pub(super) gpu: String,
    /// The mix of CPU applications.
    pub(super) mix: String,
}

impl Pair {
    /// Which of the nine kinds it is.
    pub(super) fn kind(&self) -> Kind {
        let gpu = applications().iter().find(|application| application.name == self.gpu).map_or(GpuType::M, |application| application.kind);
        Kind(gpu, mix_type(&self.mix))
    }
}

impl fmt::Display for Pair {
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
struct File {
    seed: u64,
    named: Vec<Pair>,
    pair: Vec<Pair>,
}

fn file() -> &'static File {
    static READ: OnceLock<File> = OnceLock::new();
    READ.get_or_init(|| match toml::from_str(include_str!("../../published/pairs.toml")) {
        Ok(file) => file,
        Err(error) => panic!("published/pairs.toml: {error}"),
    })
}

/// The seed of the draw, and the pairs that it was to contain.
pub(super) fn drawn_from() -> (u64, &'static [Pair]) {
    (file().seed, &file().named)
}

/// All pairs.
pub(super) fn all() -> &'static [Pair] {
    &file().pair
}

/// The numbers, from 1, of the pairs of the quick study: of each kind the first that the paper names, else the first whose GPU
/// application no other kind has.
pub(super) fn quick() -> Vec<usize> {
    let of = |kind: Kind| all().iter().filter(move |pair| pair.kind() == kind);
    let named = |kind: Kind| of(kind).find(|pair| file().named.contains(pair));
    let mut chosen: Vec<&Pair> = kinds().filter_map(named).collect();
    for kind in kinds().filter(|kind| named(*kind).is_none()) {
        let fresh = of(kind).find(|pair| !chosen.iter().any(|other| other.gpu == pair.gpu));
        chosen.extend(fresh.or_else(|| of(kind).next()));
    }
    let mut numbers: Vec<usize> = (1..=all().len()).filter(|number| chosen.contains(&&all()[number - 1])).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_has_two_different_applications_of_each_type_and_every_kind_four_workloads() {
        assert_eq!(all().len(), 36);
        for kind in kinds() {
            assert_eq!(all().iter().filter(|pair| pair.kind() == kind).count(), 4, "{kind}");
        }
        let mut sorted = all().to_vec();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 36, "no pair occurs twice");
    }

    #[test]
    fn the_quick_study_has_one_pair_of_each_kind() {
        let kinds_of: std::collections::BTreeSet<Kind> = quick().iter().map(|&number| all()[number - 1].kind()).collect();
        assert_eq!((quick().len(), kinds_of.len()), (9, 9));
    }
}
