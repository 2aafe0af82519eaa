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
    "reduce": "Sum by a tree in shared memory, then one atomic per CTA",
    "stream": "The STREAM triad: a = b + s * c",
    "strided": "Loads at a distance of several elements from thread to thread",
    "vecadd": "Sum of two vectors, one element per thread",
};

/// Names and summaries of the built-in models, in alphabetical order.
pub fn builtin_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILTINS.iter().map(|builtin| (builtin.name, builtin.summary))
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
