//! warpshard: a parallel, sharded, deterministic simulator of GPUs and CPU+GPU chips.
//!
//! Re-exports the packages of the workspace, and contains the command line.
#![forbid(unsafe_code)]

pub use warpshard_base as base;
pub use warpshard_build as build;
pub use warpshard_chip as chip;
pub use warpshard_config as config;
pub use warpshard_configs as configs;
pub use warpshard_control as control;
pub use warpshard_cpu as cpu;
pub use warpshard_cpu_load as cpu_load;
pub use warpshard_device as device;
pub use warpshard_energy as energy;
pub use warpshard_engine as engine;
pub use warpshard_gpu as gpu;
pub use warpshard_isa as isa;
pub use warpshard_lab as lab;
pub use warpshard_mem as mem;
pub use warpshard_model as model;
pub use warpshard_noc as noc;
pub use warpshard_papers as papers;
pub use warpshard_policy as policy;
pub use warpshard_program as program;
pub use warpshard_protocol as protocol;
pub use warpshard_report as report;
pub use warpshard_rig as rig;
pub use warpshard_run as run;
pub use warpshard_sample as sample;
pub use warpshard_seam as seam;
pub use warpshard_state as state;
pub use warpshard_stats as stats;
pub use warpshard_sweep as sweep;
pub use warpshard_sync as sync;
pub use warpshard_trace as trace;
pub use warpshard_validate as validate;
pub use warpshard_view as view;
pub use warpshard_workload as workload;

pub mod cli;

use std::sync::LazyLock;

use warpshard_lab::request::Study;
use warpshard_run::Catalogue;

/// Returns the catalogue of the program: the built-in files and policies, including the files of the papers, and the measured launches.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> =
        LazyLock::new(|| warpshard_papers::catalogue().with_measurements(warpshard_validate::measurements()));
    &CATALOGUE
}

/// Returns all studies by name: the studies of the papers, and the comparisons with simulators and hardware.
pub fn studies() -> Vec<&'static Study> {
    let mut all: Vec<_> = warpshard_papers::studies().chain(warpshard_validate::STUDIES).collect();
    all.sort_by_key(|study| study.name);
    all
}

/// Returns the study with this name.
pub fn find_study(name: &str) -> Option<&'static Study> {
    studies().into_iter().find(|study| study.name == name)
}

/// The examples of `docs/library.md`, which build and run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct LibraryExamples;

/// The complete example of `docs/adding.md`, which builds and runs as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../docs/adding.md")]
struct AddingExamples;
