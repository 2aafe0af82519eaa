//! The built-in models.

use warpshard_configs::{File, Files, Kind};
use warpshard_workload::Workload;

use super::error::{ModelError, Problem, suggest};
use super::load::Model;

/// Returns names and summaries of the models among `files`, in alphabetical order.
pub fn builtin_names(files: &Files) -> Vec<(&'static str, String)> {
    let mut names: Vec<_> = files.files_of_kind(Kind::Model).map(|file| (file.name, summary(file.text))).collect();
    names.sort();
    names
}

/// Returns the summary of a model from its text.
fn summary(text: &str) -> String {
    let table: Option<toml::Table> = text.parse().ok();
    let summary = table.and_then(|table| Some(table.get("summary")?.as_str()?.to_owned()));
    summary.unwrap_or_default()
}

/// Loads a built-in model that belongs to no paper as a workload; see [`super::load`] for `seed` and `overrides`.
///
/// # Errors
/// Fails as [`builtin_model`] does.
pub fn builtin(name: &str, seed: u64, overrides: &[(String, String)]) -> Result<Workload, ModelError> {
    builtin_model(Files::core(), name, seed, overrides).map(|model| model.workload())
}

/// Loads a model among `files` with all data that its trace needs; see [`super::load`].
///
/// # Errors
/// Fails if there is no model of this name, or a parameter is invalid.
pub fn builtin_model(files: &Files, name: &str, seed: u64, overrides: &[(String, String)]) -> Result<Model, ModelError> {
    match files.find(Kind::Model, name) {
        Some(File { text, .. }) => Model::from_text(&format!("{name}.toml"), text, seed, overrides),
        None => {
            let mut names: Vec<&str> = files.names(Kind::Model).collect();
            names.sort_unstable();
            let help = suggest(name, names.iter().copied(), "name a built-in model, or the path of a .toml file");
            let problem = Problem::new(0, "", "there is no such built-in model").given(format!("\"{name}\""));
            Err(ModelError::new(name, vec![problem.allowed(names.into_iter()).help(help)]))
        }
    }
}
