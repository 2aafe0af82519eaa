//! The files that a request names.

use std::path::PathBuf;

use super::applications;
use super::files::{of_cpu, of_model, of_program, of_trace};
use super::request::{Request, Source};
use super::{Catalogue, Error};

/// The files that the results of a run follow from, besides the machine, in a fixed order.
///
/// # Errors
/// When a mix of applications cannot be read.
pub fn files_of(catalogue: &Catalogue, request: &Request) -> Result<Vec<PathBuf>, Error> {
    let gpu = match &request.workload {
        Some(Source::Trace(path)) => of_trace(path),
        Some(Source::Program { file, .. }) => of_program(file),
        Some(Source::Model(name)) => of_model(name),
        Some(Source::Applications { apps, .. }) => {
            applications::named(catalogue, apps)?.iter().flat_map(applications::Named::files).collect()
        }
        None => Vec::new(),
    };
    Ok([gpu, of_cpu(&request.cpu.applications)].concat())
}
