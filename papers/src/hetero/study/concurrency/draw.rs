//! The random draw of the pairs in `papers/src/hetero/published/pairs.toml`, repeated by a test.
//!
//! In: the applications of Table II with their types, and the pairs that the paper's text names. Out: 36 pairs and their seed.

use warpshard_base::Rng;

use super::super::published::{GpuApplication, applications};
use super::pairs::{GPU_TYPES, WorkloadPair, all_pairs, recorded_draw};

/// The mixes of Table IV.
const CPU_MIXES: [&str; 6] = ["L1", "L2", "M1", "M2", "H1", "H2"];
/// Applications of each GPU type that are paired with a mix.
const APPLICATIONS_PER_TYPE: usize = 2;

/// Pairs each mix with two applications of each GPU type, drawn without replacement (Section 5).
fn draw_pairs(seed: u64, applications: &[GpuApplication]) -> Vec<WorkloadPair> {
    let mut pairs = Vec::new();
    for (m, mix) in CPU_MIXES.into_iter().enumerate() {
        for (t, kind) in GPU_TYPES.into_iter().enumerate() {
            let mut rng = Rng::keyed(seed, &[m as u64, t as u64]);
            let mut left: Vec<&GpuApplication> = applications.iter().filter(|application| application.kind == kind).collect();
            for _ in 0..APPLICATIONS_PER_TYPE {
                let drawn = left.remove(rng.below(left.len() as u64) as usize);
                pairs.push(WorkloadPair { gpu: drawn.name.clone(), mix: mix.to_owned() });
            }
        }
    }
    pairs
}

/// Returns the lowest seed from 1 on whose draw contains all pairs of `named` and every application, and the draw.
fn first_draw(named: &[WorkloadPair], applications: &[GpuApplication]) -> (u64, Vec<WorkloadPair>) {
    let mut draws = (1..).map(|seed| (seed, draw_pairs(seed, applications)));
    let used = |pairs: &[WorkloadPair], application: &GpuApplication| pairs.iter().any(|pair| pair.gpu == application.name);
    let fits = |pairs: &[WorkloadPair]| named.iter().all(|pair| pairs.contains(pair)) && applications.iter().all(|one| used(pairs, one));
    draws.find(|(_, pairs)| fits(pairs)).unwrap_or_default()
}

#[test]
fn the_recorded_pairs_are_the_first_draw_with_the_pairs_that_the_paper_names() {
    let (recorded, named) = recorded_draw();
    let (seed, pairs) = first_draw(named, applications());
    let listing: String = pairs.iter().map(|pair| format!("  {{ gpu = \"{}\", mix = \"{}\" }},\n", pair.gpu, pair.mix)).collect();
    assert_eq!((recorded, all_pairs()), (seed, pairs.as_slice()), "seed {seed}:\n{listing}");
}

#[test]
fn another_seed_draws_other_pairs() {
    assert_ne!(draw_pairs(1, applications()), draw_pairs(2, applications()));
}
