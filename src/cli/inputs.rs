//! Machines and kernel models by the names of the command line.

use warpshard_config::{Loaded, Override};
use warpshard_model::Model;

use super::failure::Failure;
use super::output;
use crate::catalogue;

/// Loads a machine and prints warnings about it.
///
/// # Errors
/// All errors of the machine.
pub(super) fn machine(name: &str, settings: &[Override]) -> Result<Loaded, Failure> {
    let loaded = catalogue().machine(name, settings).map_err(warpshard_run::Error::from)?;
    for warning in &loaded.warnings {
        output::warn(&format!("warning: {}", warning.to_string().trim_end()));
    }
    Ok(loaded)
}

/// Loads a kernel model by name, or from a path.
///
/// # Errors
/// All errors of the model and of the parameters.
pub(super) fn model(name: &str, seed: u64, parameters: &[(String, String)]) -> Result<Model, Failure> {
    Ok(warpshard_run::inputs::model(catalogue(), name, seed, parameters)?)
}

/// Whether `name` is that of a trace and not of a kernel model.
pub(super) fn is_trace(name: &str) -> bool {
    warpshard_run::inputs::is_trace(catalogue(), name)
}
