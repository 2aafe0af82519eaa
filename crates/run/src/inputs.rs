//! Loads workloads from names and paths.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_config::{Machine, Override};
use warpshard_model::Model;
use warpshard_program::{Program, WorkloadOptions};
use warpshard_trace::{DecodeClock, TraceOptions};
use warpshard_workload::{Command, Workload};

use super::fits::listing_for;
use super::request::MODEL_PREFIX;
use super::{Catalogue, Error};

/// The settings of `--set`, divided into settings of the machine and settings of the model.
#[derive(Debug, Default)]
pub struct Settings {
    /// Settings of the machine.
    pub machine: Vec<Override>,
    /// Parameters of the model and their values.
    pub model: Vec<(String, String)>,
}

impl Settings {
    /// Divides the pairs of `--set`.
    pub fn of(set: &[(String, String)]) -> Self {
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

/// The source of a workload.
#[derive(Clone, Debug)]
pub enum WorkloadOrigin {
    /// A recorded trace.
    Trace {
        /// Path of the trace, as given.
        path: PathBuf,
    },
    /// A program.
    Program {
        /// Path of the launch file, as given.
        path: PathBuf,
        /// Architecture of the program's listing: 70 for sm_70.
        arch: u32,
    },
    /// A workload that the calling program created.
    Memory,
    /// Several applications, as given to `--app`.
    Applications,
    /// A kernel model.
    Model {
        /// Built-in name or file of the model.
        name: String,
        /// Values of the model's parameters.
        parameters: Vec<(String, i64)>,
    },
}

/// Loads a trace; adds the time of reading and decoding to `clock`.
///
/// # Errors
/// All errors that loading finds; decoding may find further errors later.
pub fn trace(path: &Path, threads: usize, lenient: bool, clock: &Arc<DecodeClock>) -> Result<(Workload, WorkloadOrigin), Error> {
    let options = TraceOptions { threads, lenient, clock: Arc::clone(clock), ..TraceOptions::default() };
    let workload = warpshard_trace::load(path, &options)?;
    Ok((workload, WorkloadOrigin::Trace { path: path.to_owned() }))
}

/// Loads a trace for a run of few of its launches: each launch is decoded shortly before it is run.
///
/// # Errors
/// See [`trace`].
pub fn sampled_trace(path: &Path, threads: usize, lenient: bool, clock: &Arc<DecodeClock>) -> Result<(Workload, WorkloadOrigin), Error> {
    let options =
        TraceOptions { threads, lenient, clock: Arc::clone(clock), eager_bytes: 0, window_bytes: 16 << 20, ..TraceOptions::default() };
    let workload = warpshard_trace::load(path, &options)?;
    Ok((workload, WorkloadOrigin::Trace { path: path.to_owned() }))
}

/// Returns true if `name` is the name of a trace: neither a built-in name of a kernel model nor a .toml file.
pub fn is_trace(catalogue: &Catalogue, name: &str) -> bool {
    !name.ends_with(".toml") && !is_builtin(catalogue, name) && (name.contains('/') || Path::new(name).is_file())
}

/// Returns true if a built-in model has this name, which may contain a `/` like a path.
fn is_builtin(catalogue: &Catalogue, name: &str) -> bool {
    catalogue.model_text(name).is_some()
}

/// Loads a kernel model by its built-in name, or else from a path if `name` contains a `/` or ends in `.toml`.
///
/// # Errors
/// All errors of the model and of the parameters.
pub fn model(catalogue: &Catalogue, name: &str, seed: u64, parameters: &[(String, String)]) -> Result<Model, Error> {
    let loaded = if !is_builtin(catalogue, name) && (name.contains('/') || name.ends_with(".toml")) {
        Model::load(Path::new(name), seed, parameters)
    } else {
        catalogue.model(name, seed, parameters)
    };
    Ok(loaded?)
}

/// Returns the workload of a model, with its origin.
pub fn model_workload(name: &str, model: &Model) -> (Workload, WorkloadOrigin) {
    (model.workload(), WorkloadOrigin::Model { name: name.to_owned(), parameters: model.parameters.clone() })
}

/// Returns the workload of a program, with its origin. Without `arch` it uses the listing that the machine's GPU executes best, else the
/// first listing.
///
/// # Errors
/// Fails if the launch file, a listing or a parameter is invalid.
pub fn program(
    path: &Path,
    arch: Option<u32>,
    machine: &Machine,
    parameters: &[(String, String)],
    options: WorkloadOptions,
) -> Result<(Workload, WorkloadOrigin), Error> {
    let arch = match arch {
        None => listing_for(machine, &Program::architectures(path)?),
        given => given,
    };
    let program = Program::load(path, arch, parameters)?;
    let origin = WorkloadOrigin::Program { path: path.to_owned(), arch: program.arch };
    Ok((program.workload_with(options)?, origin))
}

/// Returns the number of bytes copied from the host to the device.
pub fn copied_bytes(commands: &[Command]) -> u64 {
    let bytes = |command: &Command| if let Command::CopyToDevice { bytes, .. } = command { *bytes } else { 0 };
    commands.iter().map(bytes).sum()
}
