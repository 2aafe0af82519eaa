//! The files that the results of a run follow from, besides the machine.

use std::path::PathBuf;

use super::super::args::RunArgs;
use super::super::exit::Failure;
use super::super::{applications, files};

/// The files of the workload that the options name, in a fixed order.
///
/// # Errors
/// When a mix of applications cannot be read.
pub(in crate::cli) fn of(args: &RunArgs) -> Result<Vec<PathBuf>, Failure> {
    let gpu = match (&args.trace, &args.program, &args.workload) {
        (Some(trace), _, _) => files::of_trace(trace),
        (None, Some(program), _) => files::of_program(program),
        (None, None, Some(model)) => files::of_model(model),
        (None, None, None) => applications::named(&args.app)?.iter().flat_map(applications::Named::files).collect(),
    };
    Ok([gpu, files::of_cpu(&args.cpu)].concat())
}
