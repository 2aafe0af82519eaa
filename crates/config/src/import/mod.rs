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

/// Units of `trace.config` and the instructions of PTX whose times stand for theirs.
const UNITS: [(&str, &str); 4] = [("int", "int"), ("sp", "fp"), ("dp", "dp"), ("sfu", "sfu")];

/// Translates a pair of configuration files into a machine called `name`. Without the second one units have the latencies of
/// `-ptx_opcode_latency_*`, which the report says.
///
/// # Errors
/// Options with values that cannot be read or have no counterpart, with file and line; a machine that contradicts itself.
pub fn import(gpgpusim: &Arc<Source>, trace: Option<&Arc<Source>>, name: &str) -> Result<Imported, ConfigErrors> {
    let mut problems = Vec::new();
    let mut given = read::read(gpgpusim, &mut problems);
    match trace {
        Some(trace) => given.extend(read::read(trace, &mut problems)),
        None => {
            let times = UNITS.into_iter().filter_map(|(unit, ptx)| of_ptx(&given, unit, ptx)).collect::<Vec<_>>();
            given.extend(times);
        }
    }
    let mut sheet = sheet::Sheet::new(given, Place::whole(gpgpusim), problems);
    translate::translate(&mut sheet);
    if trace.is_none() {
        sheet.report.warn(
            "without a trace.config the units take what -ptx_opcode_latency_* and -ptx_opcode_initiation_* say of additions, and there are no units \
             for branches, textures and tensor instructions beyond those of integers; Accel-Sim has a trace.config for each of its machines \
             (gpu-simulator/configs/tested-cfgs): give the nearest with --trace-config"
                .to_owned(),
        );
    }
    let files = trace.map_or_else(|| gpgpusim.name.clone(), |trace| format!("{} and {}", gpgpusim.name, trace.name));
    let head = format!(
        "# Imported from Accel-Sim's {files}.\n# The comment after a value names its option.\n\nsummary = \"{name}, imported from Accel-Sim\"\nname = \"{name}\"\n",
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

/// The times of a unit from those of additions in PTX, as the option of a `trace.config`.
fn of_ptx(given: &[read::Given], unit: &str, ptx: &str) -> Option<read::Given> {
    let first = |option: &str| {
        let name = format!("ptx_opcode_{option}_{ptx}");
        let found = given.iter().rev().find(|given| given.name == name)?;
        Some((found.value.split(',').next()?.trim().to_owned(), found.place.clone()))
    };
    let (latency, place) = first("latency")?;
    let initiation = first("initiation").map_or_else(|| "1".to_owned(), |(initiation, _)| initiation);
    Some(read::Given { name: format!("trace_opcode_latency_initiation_{unit}"), value: format!("{latency},{initiation}"), place })
}
