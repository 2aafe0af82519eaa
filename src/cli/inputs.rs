//! From options to a machine and a workload.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_config::{Loaded, Override};
use warpshard_model::Model;
use warpshard_trace::{DecodeClock, TraceOptions};
use warpshard_workload::{Command, Workload};

use crate::catalogue;

use super::exit::{Exit, Failure};
use super::output;

/// The default model.
pub(super) const DEFAULT_MODEL: &str = "gemm_tiled";

/// The prefix of settings that are parameters of the kernel model.
const MODEL_PREFIX: &str = "workload.";

/// The settings of `--set`, divided into those of the machine and those of the model.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// Those of the machine.
    pub(super) machine: Vec<Override>,
    /// Parameters of the model and their values.
    pub(super) model: Vec<(String, String)>,
}

impl Settings {
    /// Divides the pairs of `--set`.
    pub(super) fn of(set: &[(String, String)]) -> Self {
        let mut settings = Self::default();
        for (key, value) in set {
            match key.strip_prefix(MODEL_PREFIX) {
                Some(parameter) => settings.model.push((parameter.to_owned(), value.clone())),
                None => settings.machine.push(Override::new(key, value)),
            }
        }
        settings
    }
}

/// Loads a machine and prints warnings about it.
///
/// # Errors
/// All errors of the machine.
pub(super) fn machine(name: &str, settings: &[Override]) -> Result<Loaded, Failure> {
    let loaded = catalogue().machine(name, settings).map_err(|errors| Failure::new(Exit::Config, errors))?;
    for warning in &loaded.warnings {
        output::warn(&format!("warning: {}", warning.to_string().trim_end()));
    }
    Ok(loaded)
}

/// The source of a workload.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// A recorded trace.
    Trace {
        /// Its path, as given.
        path: PathBuf,
    },
    /// A program.
    Program {
        /// The launch file, as the user named it.
        path: PathBuf,
        /// The architecture of its listing: 70 for sm_70.
        arch: u32,
    },
    /// Made by the calling program.
    Memory,
    /// Several applications, as `--app` names them.
    Applications,
    /// A kernel model.
    Model {
        /// Its built-in name, or its file.
        name: String,
        /// The values of its parameters.
        parameters: Vec<(String, i64)>,
    },
}

/// Loads a trace; the time of reading and decoding is added to `clock`.
///
/// # Errors
/// All errors that loading finds; decoding finds others later.
pub(super) fn trace(path: &Path, threads: usize, lenient: bool, clock: &Arc<DecodeClock>) -> Result<(Workload, Origin), Failure> {
    let options = TraceOptions { threads, lenient, clock: Arc::clone(clock), ..TraceOptions::default() };
    let workload = warpshard_trace::load(path, &options).map_err(|error| Failure::new(Exit::Workload, error))?;
    Ok((workload, Origin::Trace { path: path.to_owned() }))
}

/// The same for a run of few of its launches: a launch is decoded when it is run, and a little ahead.
///
/// # Errors
/// As [`trace`].
pub(super) fn sampled_trace(path: &Path, threads: usize, lenient: bool, clock: &Arc<DecodeClock>) -> Result<(Workload, Origin), Failure> {
    let options =
        TraceOptions { threads, lenient, clock: Arc::clone(clock), eager_bytes: 0, window_bytes: 16 << 20, ..TraceOptions::default() };
    let workload = warpshard_trace::load(path, &options).map_err(|error| Failure::new(Exit::Workload, error))?;
    Ok((workload, Origin::Trace { path: path.to_owned() }))
}

/// Whether `name` is that of a trace and not of a kernel model: neither a built-in name nor a .toml file.
pub(super) fn is_trace(name: &str) -> bool {
    !name.ends_with(".toml") && !is_builtin(name) && (name.contains('/') || Path::new(name).is_file())
}

/// Names of built-in models may contain a `/`, like paths.
fn is_builtin(name: &str) -> bool {
    catalogue().model_text(name).is_some()
}

/// Loads a kernel model by its built-in name, or else from a path when `name` contains a `/` or ends in `.toml`.
///
/// # Errors
/// All errors of the model and of the parameters.
pub(super) fn model(name: &str, seed: u64, parameters: &[(String, String)]) -> Result<Model, Failure> {
    let loaded = if !is_builtin(name) && (name.contains('/') || name.ends_with(".toml")) {
        Model::load(Path::new(name), seed, parameters)
    } else {
        catalogue().model(name, seed, parameters)
    };
    loaded.map_err(|error| Failure::new(Exit::Workload, error))
}

/// A model as a workload.
pub(super) fn model_workload(name: &str, model: &Model) -> (Workload, Origin) {
    (model.workload(), Origin::Model { name: name.to_owned(), parameters: model.parameters.clone() })
}

/// Bytes copied from the host to the device.
pub(super) fn copied_bytes(commands: &[Command]) -> u64 {
    let bytes = |command: &Command| if let Command::CopyToDevice { bytes, .. } = command { *bytes } else { 0 };
    commands.iter().map(bytes).sum()
}
