//! The models that come with the program, embedded so that it runs from anywhere.

use crate::frontend::Workload;

use super::error::{ModelError, Problem, suggest};
use super::load::Model;

struct Builtin {
    name: &'static str,
    summary: &'static str,
    text: &'static str,
}

macro_rules! embedded {
    ($($name:literal: $summary:literal,)*) => {
        &[$(Builtin {
            name: $name,
            summary: $summary,
            text: include_str!(concat!("../../../configs/workloads/", $name, ".toml")),
        }),*]
    };
}

const BUILTINS: &[Builtin] = embedded! {
    "divergent": "Nested branches by lane and by chance, then loops whose length differs from lane to lane",
    "gather": "Random gather over a working set",
    "gemm_tiled": "Matrix product over 64x64 tiles in shared memory",
    "hetero/bfs": "Breadth-first search (LonestarGPU): all nodes in every round, edges side by side, neighbours anywhere",
    "hetero/blk": "BlackScholes (CUDA SDK): option prices, three streams in and two out around special functions",
    "hetero/bp": "Backprop (Rodinia): forward step and adjusting of weights of a layer",
    "hetero/hot": "Hotspot (Rodinia): a five-point stencil on a chip of 512 x 512 points, two steps per launch",
    "hetero/iix": "Inverted index (Mars): threads scan pages of their own with states and records of their own",
    "hetero/mm": "Matrix multiplication (Parboil): 16 results of a row per thread, tiles of one factor in shared memory",
    "hetero/mst": "Minimum spanning tree (LonestarGPU): lightest edges between components, found through chains of parents",
    "hetero/mum": "MUMmerGPU: queries of one thread each descend a suffix tree from the root",
    "hetero/path": "Pathfinder (Rodinia): dynamic programming over rows, a halo that shrinks in shared memory",
    "hetero/pvc": "Page view count (Mars): threads walk over records of their own, emit keys and count them",
    "hetero/pvr": "Page view rank (Mars): a map over records, then a bitonic sort of pairs in global memory",
    "hetero/sp": "Survey propagation (LonestarGPU): products of the surveys of all clauses that share a variable",
    "hetero/sssp": "Single-source shortest paths (LonestarGPU): edges and weights side by side, neighbours near",
    "reduce": "Sum by a tree in shared memory, then one atomic per CTA",
    "stream": "The STREAM triad: a = b + s * c",
    "strided": "Loads at a distance of several elements from thread to thread",
    "vecadd": "Sum of two vectors, one element per thread",
    "wa_sched/bp_k1": "Backprop (Rodinia), forward step of a layer: tile in shared memory, tree of powers of two",
    "wa_sched/bp_k2": "Backprop (Rodinia), adjusting weights: five streams in unaligned rows, products in double precision",
    "wa_sched/bt_k1": "B+Tree (Rodinia), search of one key per CTA: a node's keys per level, a barrier, a pointer chase",
    "wa_sched/bt_k2": "B+Tree (Rodinia), search of a range per CTA: keys of two nodes per level, a barrier, two pointer chases",
    "wa_sched/cfd": "CFD (Rodinia), fluxes of an unstructured grid: gathers over neighbours, long arithmetic",
    "wa_sched/cvsep": "Separable convolution (CUDA SDK), rows: eight pixels per thread, a halo of 16 on each side",
    "wa_sched/cvt_k1": "Convolution through textures (CUDA SDK), rows: 17 cached reads and products per pixel",
    "wa_sched/cvt_k2": "Convolution through textures (CUDA SDK), columns: 17 cached reads and products per pixel",
    "wa_sched/dct_k1": "Discrete cosine transform (CUDA SDK), kernel 1: one coefficient of an 8 x 8 block per thread",
    "wa_sched/dct_k2": "Discrete cosine transform (CUDA SDK), kernel 2: rows and columns of 8 pixels per thread",
    "wa_sched/dwt": "Discrete wavelet transform (CUDA SDK), Haar: ten levels in shared memory, half the threads each",
    "wa_sched/dxtc": "DXT compression (CUDA SDK): least-squares fits over permutations in registers, colours in shared memory",
    "wa_sched/fwt": "Fast Walsh transform (CUDA SDK), a radix-4 stage in global memory: four streams, updated in place",
    "wa_sched/gaussian": "Gaussian elimination (Rodinia), Fan2: tiny CTAs that touch a line per row",
    "wa_sched/heart": "Heart Wall (Rodinia): a long chain of small matrix stages per tracked point, with barriers",
    "wa_sched/hist": "Histogram of bytes (CUDA SDK): a histogram per warp in shared memory, random bins, then a sum",
    "wa_sched/hotspot": "Hotspot (Rodinia): two steps of a five-point stencil on a tile with halo in shared memory",
    "wa_sched/km": "K-means (Rodinia): distance of each point to each cluster, features streamed again for every cluster",
    "wa_sched/lud": "LU decomposition (Rodinia), interior: a product of two 16 x 16 tiles subtracted from a third",
    "wa_sched/mco": "Monte Carlo option pricing (CUDA SDK): exponentials over shared samples, then a reduction",
    "wa_sched/ms": "Merge sort (CUDA SDK), merging elementary intervals: binary searches and a scatter in shared memory",
    "wa_sched/nn": "Nearest neighbour (Rodinia): one distance per thread, a stream in and a stream out",
    "wa_sched/pathfinder": "Pathfinder (Rodinia): dynamic programming over rows, a halo that shrinks in shared memory",
    "wa_sched/srad": "SRAD (Rodinia), diffusion coefficients: a five-point stencil with halo in shared memory",
    "wa_sched/srad_1": "SRAD (Rodinia), kernel 1: an exponential of each pixel in place",
    "wa_sched/srad_2": "SRAD (Rodinia), kernel 2: each pixel and its square",
    "wa_sched/srad_3": "SRAD (Rodinia), kernel 3: two sums of a CTA by a tree in shared memory",
    "wa_sched/srad_4": "SRAD (Rodinia), kernel 4: derivatives and diffusion coefficients over index arrays",
    "wa_sched/srad_5": "SRAD (Rodinia), kernel 5: the image from derivatives and coefficients",
    "wa_sched/srad_6": "SRAD (Rodinia), kernel 6: a logarithm of each pixel in place",
    "wa_sched/tp_k1": "Transpose (CUDA SDK), no bank conflicts: a padded tile through shared memory",
    "wa_sched/tp_k2": "Transpose (CUDA SDK), coarse grained: tiles exchange places through shared memory",
};

/// Names and summaries of the built-in models, in alphabetical order.
pub fn builtin_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILTINS.iter().map(|builtin| (builtin.name, builtin.summary))
}

/// The text of a built-in model.
pub fn builtin_text(name: &str) -> Option<&'static str> {
    BUILTINS.iter().find(|builtin| builtin.name == name).map(|builtin| builtin.text)
}

/// Loads a built-in model as a workload; see [`super::load`] for `seed` and `overrides`.
pub fn builtin(name: &str, seed: u64, overrides: &[(String, String)]) -> Result<Workload, ModelError> {
    builtin_model(name, seed, overrides).map(|model| model.workload())
}

/// Loads a built-in model with all that a trace of it needs; see [`super::load`].
pub fn builtin_model(name: &str, seed: u64, overrides: &[(String, String)]) -> Result<Model, ModelError> {
    match BUILTINS.iter().find(|builtin| builtin.name == name) {
        Some(builtin) => Model::from_text(&format!("{name}.toml"), builtin.text, seed, overrides),
        None => {
            let names = || BUILTINS.iter().map(|builtin| builtin.name);
            let help = suggest(name, names(), "name a built-in model, or the path of a .toml file");
            let problem = Problem::new(0, "", "there is no such built-in model").given(format!("\"{name}\""));
            Err(ModelError::new(name, vec![problem.allowed(names()).help(help)]))
        }
    }
}
