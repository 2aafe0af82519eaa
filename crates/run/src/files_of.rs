//! The input files of a request.

use std::path::PathBuf;

use super::applications;
use super::files::{of_cpu, of_model, of_program, of_trace};
use super::request::{Request, Source};
use super::{Catalogue, Error};

/// Returns the files that determine the results of a run, other than the machine, in a fixed order.
///
/// # Errors
/// If a mix of applications cannot be read.
pub fn files_of(catalogue: &Catalogue, request: &Request) -> Result<Vec<PathBuf>, Error> {
    let gpu = match &request.workload {
        Some(Source::Trace(path)) => of_trace(path),
        Some(Source::Program { file, .. }) => of_program(file),
        Some(Source::Model(name)) => of_model(name),
        Some(Source::Applications { apps, .. }) => {
            applications::resolve_applications(catalogue, apps)?.iter().flat_map(applications::NamedApplication::files).collect()
        }
        None => Vec::new(),
    };
    Ok([gpu, of_cpu(&request.cpu.applications)].concat())
}
