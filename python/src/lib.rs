//! The native module of warpshard's Python package: machines, runs, results, tables, controllers and devices. The package `warpshard` wraps
//! them in its Python API.
//!
//! This crate has no unsafe code of its own; PyO3's macros generate unsafe code, which this attribute allows.
#![forbid(unsafe_code)]

mod background;
mod control;
mod device;
mod errors;
mod machine;
mod plan;
mod result;
mod run;
mod table;

use pyo3::prelude::*;

use warpshard::{catalogue, model};

/// Returns the built-in kernel models: name and summary.
#[pyfunction]
fn models() -> Vec<(String, String)> {
    model::builtin_names(catalogue().files()).into_iter().map(|(name, summary)| (name.to_owned(), summary)).collect()
}

/// Names with descriptions.
type Meanings = Vec<(&'static str, &'static str)>;

/// Returns the policies: name, summary, and parameters.
#[pyfunction]
fn policies() -> Vec<(&'static str, &'static str, Meanings)> {
    catalogue().policies().all().into_iter().map(|policy| (policy.name, policy.help, policy.parameters.to_vec())).collect()
}

/// Returns the number of cores that this process may use.
#[pyfunction]
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Runs the command line program in this process; returns its exit code.
#[pyfunction]
fn program(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| warpshard::cli::run_process(arguments) as u8)
}

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("build", warpshard::cli::version())?;
    errors::add(m)?;
    m.add_class::<machine::Machine>()?;
    m.add_class::<run::Run>()?;
    m.add_class::<result::Outcome>()?;
    m.add_class::<plan::Plan>()?;
    m.add_class::<plan::Sweep>()?;
    m.add_class::<table::Table>()?;
    m.add_class::<control::Counters>()?;
    m.add_class::<control::Seen>()?;
    m.add_class::<device::Device>()?;
    m.add_class::<device::Pointer>()?;
    m.add_function(wrap_pyfunction!(machine::machines, m)?)?;
    m.add_function(wrap_pyfunction!(machine::machine_keys, m)?)?;
    m.add_function(wrap_pyfunction!(device::compiler, m)?)?;
    m.add_function(wrap_pyfunction!(models, m)?)?;
    m.add_function(wrap_pyfunction!(policies, m)?)?;
    m.add_function(wrap_pyfunction!(cores, m)?)?;
    m.add_function(wrap_pyfunction!(program, m)?)
}
