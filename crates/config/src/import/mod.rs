//! Import of machines from Accel-Sim's configurations.
//!
//! Input: the texts of a `gpgpusim.config` and a `trace.config`. Output: a checked machine file, in which a comment names the option of
//! each value, and a report on all options. Each option is translated, ignored for a stated reason, translated with a warning, or reported
//! as unknown; a policy that has no counterpart here is an error.
//!
//! Order: `read` (options with source locations), `translate` (keys), `sheet` (text and report).

mod known;
mod memory;
mod parts;
mod read;
mod report;
mod sheet;
mod sm;
mod translate;

use std::sync::Arc;

pub use report::ImportReport;

use super::error::{ConfigErrors, Problem, SourceSpan, SourceText};
use super::machine::Machine;

/// An imported machine.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The machine file.
    pub toml: String,
    /// The treatment of each option.
    pub report: ImportReport,
}

/// Units of `trace.config`, and the PTX instructions whose times are used for each unit.
const UNIT_NAMES: [(&str, &str); 4] = [("int", "int"), ("sp", "fp"), ("dp", "dp"), ("sfu", "sfu")];

/// Translates a pair of configuration files into a machine called `name`. Without a `trace.config`, units have the latencies of
/// `-ptx_opcode_latency_*`, and the report contains a warning.
///
/// # Errors
/// Options with values that cannot be read or have no counterpart, with file and line; a machine with inconsistent values.
pub fn import(gpgpusim: &Arc<SourceText>, trace: Option<&Arc<SourceText>>, name: &str) -> Result<Imported, ConfigErrors> {
    let mut problems = Vec::new();
    let mut given = read::read(gpgpusim, &mut problems);
    match trace {
        Some(trace) => given.extend(read::read(trace, &mut problems)),
        None => {
            let times = UNIT_NAMES.into_iter().filter_map(|(unit, ptx)| ptx_option(&given, unit, ptx)).collect::<Vec<_>>();
            given.extend(times);
        }
    }
    let mut sheet = sheet::Sheet::new(given, SourceSpan::whole(gpgpusim), problems);
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
        errors.problems.push(Problem::without_location("the options were read, but their combination cannot be simulated"));
        errors
    })?;
    let mut report = report;
    for warning in loaded.warnings {
        report.warn(warning.message);
    }
    Ok(Imported { toml, report })
}

/// Returns the `trace.config` option of a unit, with the latency and interval of additions in PTX.
fn ptx_option(given: &[read::GivenOption], unit: &str, ptx: &str) -> Option<read::GivenOption> {
    let first = |option: &str| {
        let name = format!("ptx_opcode_{option}_{ptx}");
        let found = given.iter().rev().find(|given| given.name == name)?;
        Some((found.value.split(',').next()?.trim().to_owned(), found.location.clone()))
    };
    let (latency, location) = first("latency")?;
    let initiation = first("initiation").map_or_else(|| "1".to_owned(), |(initiation, _)| initiation);
    Some(read::GivenOption { name: format!("trace_opcode_latency_initiation_{unit}"), value: format!("{latency},{initiation}"), location })
}
