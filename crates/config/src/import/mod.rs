//! Machines from Accel-Sim's configurations.
//!
//! Input: the texts of a `gpgpusim.config` and a `trace.config`. Output: a checked machine file, each value with its option in a comment, and a report on what became of every option. Each option is translated, ignored for a stated reason,
//! translated with a warning, or reported as unknown; a policy that has no counterpart here is an error.
//! Order: `read` (options with places), `translate` (keys), `sheet` (text and report).

mod known;
mod memory;
mod parts;
mod read;
mod report;
mod sheet;
mod sm;
mod translate;

use std::sync::Arc;

pub use report::Report;

use super::error::{ConfigErrors, Place, Problem, Source};
use super::machine::Machine;

/// An imported machine.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The machine file.
    pub toml: String,
    /// What became of the options.
    pub report: Report,
}

/// Translates a pair of configuration files into a machine called `name`.
///
/// # Errors
/// Options with values that cannot be read or have no counterpart, with file and line; a machine that contradicts itself.
pub fn import(gpgpusim: &Arc<Source>, trace: &Arc<Source>, name: &str) -> Result<Imported, ConfigErrors> {
    let mut problems = Vec::new();
    let mut given = read::read(gpgpusim, &mut problems);
    given.extend(read::read(trace, &mut problems));
    let mut sheet = sheet::Sheet::new(given, Place::whole(gpgpusim), problems);
    translate::translate(&mut sheet);
    let head = format!(
        "# Imported from Accel-Sim's {} and {}.\n# The comment after a value names its option.\n\nsummary = \"{name}, imported from Accel-Sim\"\nname = \"{name}\"\n",
        gpgpusim.name, trace.name
    );
    let (toml, report, problems) = sheet.finish(&head);
    if !problems.is_empty() {
        return Err(ConfigErrors { problems });
    }
    let loaded = Machine::from_text(&format!("{name}, imported"), &toml, &[]).map_err(|mut errors| {
        errors.problems.push(Problem::nowhere("the options were read, but together they are no machine that can be simulated"));
        errors
    })?;
    let mut report = report;
    for warning in loaded.warnings {
        report.warn(warning.message);
    }
    Ok(Imported { toml, report })
}
