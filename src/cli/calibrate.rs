//! `warpshard calibrate`: derives a machine from measured microbenchmarks.

use std::fs::File;
use std::io::Write as _;

use warpshard_lab::Lab;
use warpshard_run::Exit;
use warpshard_validate::micro::{Measurements, calibrate as make};

use super::args::CalibrateArgs;
use super::failure::Failure;
use super::output;
use crate::catalogue;

/// Writes the machine and prints the values that each rule derived.
///
/// # Errors
/// Fails if the measurements or the base are invalid, a derived value is rejected, or the file exists or cannot be written.
pub(super) fn calibrate(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let measurements = Measurements::read(&args.measurements).map_err(|error| Failure::new(Exit::Workload, error))?;
    if args.out.exists() {
        return Err(Failure::new(Exit::Output, format!("{} exists; name another file with --out", args.out.display())));
    }
    let made = make(catalogue(), &args.machine, &args.set, &measurements, &Lab::default());
    let made = made.map_err(|error| Failure::new(Exit::Config, error))?;
    let failure = |error: std::io::Error| Failure::new(Exit::Output, format!("cannot write {}: {error}", args.out.display()));
    let mut file = File::create_new(&args.out).map_err(failure)?;
    file.write_all(made.toml.as_bytes()).map_err(failure)?;
    let report: String = made.report.iter().flat_map(|line| [line, "\n"]).collect();
    output::print(&format!("{report}{} values of {} derived\nwrote {}\n", made.derived, made.report.len(), args.out.display()))?;
    Ok(Exit::Ok)
}
