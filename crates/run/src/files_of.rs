//! The input files of a request.

use std::path::PathBuf;

use super::applications;
use super::files::{cpu_files, model_files, program_files, trace_files};
use super::request::{Request, WorkloadSource};
use super::{Catalogue, Error};

/// Returns the files that determine the results of a run, other than the machine, in a fixed order.
///
/// # Errors
/// Fails if a mix of applications cannot be read.
pub fn files_of(catalogue: &Catalogue, request: &Request) -> Result<Vec<PathBuf>, Error> {
    let gpu = match &request.workload {
        Some(WorkloadSource::Trace(path)) => trace_files(path),
        Some(WorkloadSource::Program { file, .. }) => program_files(file),
        Some(WorkloadSource::Model(name)) => model_files(name),
        Some(WorkloadSource::Applications { apps, .. }) => {
            applications::resolve_applications(catalogue, apps)?.iter().flat_map(applications::NamedApplication::files).collect()
        }
        None => Vec::new(),
    };
    Ok([gpu, cpu_files(&request.cpu.applications)].concat())
}
