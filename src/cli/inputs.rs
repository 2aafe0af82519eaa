//! Machines and kernel models that the command line names.

use warpshard_config::{Loaded, Override};
use warpshard_model::Model;

use super::failure::Failure;
use super::output;
use crate::catalogue;

/// Loads a machine and prints its warnings.
///
/// # Errors
/// Fails if the machine is invalid.
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
/// Fails if the model or a parameter is invalid.
pub(super) fn model(name: &str, seed: u64, parameters: &[(String, String)]) -> Result<Model, Failure> {
    Ok(warpshard_run::inputs::model(catalogue(), name, seed, parameters)?)
}

/// Returns true if `name` is the path of a trace and not the name of a kernel model.
pub(super) fn is_trace(name: &str) -> bool {
    warpshard_run::inputs::is_trace(catalogue(), name)
}
