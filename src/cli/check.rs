//! `warpshard check`: checks files without simulating.

use std::path::Path;

use crate::config::Machine;
use crate::energy;
use crate::frontend::model::Model;
use crate::frontend::sass::{self, TraceOptions};
use crate::report::text::counted;

use super::args::CheckArgs;
use super::exit::{Exit, Failure};
use super::output;

/// The kind of a file.
enum Kind {
    Machine,
    Model,
    Trace,
}

/// Checks every file and prints its contents in one line, or its errors. The exit code is that of the first invalid file.
///
/// # Errors
/// When standard output cannot be written.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let mut exit = Exit::Ok;
    for file in &args.files {
        match check_file(file, args.lenient) {
            Ok(found) => output::print(&format!("{}: ok, {found}\n", file.display()))?,
            Err(failure) => {
                output::report(&failure);
                exit = if exit == Exit::Ok { failure.exit } else { exit };
            }
        }
    }
    Ok(exit)
}

fn check_file(file: &Path, lenient: bool) -> Result<String, Failure> {
    match kind(file)? {
        Kind::Machine => {
            let loaded = Machine::load(&as_path(file), &[]).map_err(|errors| Failure::new(Exit::Config, errors))?;
            for warning in &loaded.warnings {
                output::warn(&format!("warning: {}", warning.to_string().trim_end()));
            }
            let machine = &loaded.machine;
            energy::Model::of(machine).map_err(|problem| Failure::new(Exit::Config, problem))?;
            let map = &machine.mem.map;
            Ok(format!(
                "a machine: {}, {}, {} of {}, core clock {}",
                machine.name,
                counted(machine.gpu.sms.into(), "SM"),
                counted(map.partitions.into(), "memory partition"),
                counted(map.slices_per_partition.into(), "slice"),
                machine.clocks.core
            ))
        }
        Kind::Model => {
            let model = Model::load(file, 1, &[]).map_err(|error| Failure::new(Exit::Workload, error))?;
            let ctas: u64 = model.kernels.iter().map(|k| u64::from(k.kernel.info.ctas())).sum();
            Ok(format!("a kernel model: {}, {}, {}", model.name, counted(model.kernels.len() as u64, "kernel"), counted(ctas, "CTA")))
        }
        Kind::Trace => {
            let options = TraceOptions { lenient, ..TraceOptions::default() };
            let report = sass::check(file, &options).map_err(|error| Failure::new(Exit::Workload, error))?;
            let mut text = format!(
                "a trace: {}, {}, {}, {}, {}",
                report.name,
                counted(report.kernels.len() as u64, "kernel"),
                counted(report.ctas(), "CTA"),
                counted(report.warp_instructions(), "warp instruction"),
                counted(report.thread_instructions(), "thread instruction")
            );
            for (note, times) in &report.notes {
                text.push_str(&format!("\n  note: {note}{}", if *times > 1 { format!(" ({times} times)") } else { String::new() }));
            }
            Ok(text)
        }
    }
}

/// The file as a path that is not taken for the name of a machine.
fn as_path(file: &Path) -> String {
    let text = file.display().to_string();
    if text.contains('/') { text } else { format!("./{text}") }
}

/// TOML files with kernels, parameters or buffers are models, other TOML files are machines, and all other files are traces.
fn kind(file: &Path) -> Result<Kind, Failure> {
    if file.extension().is_none_or(|extension| extension != "toml") {
        return Ok(Kind::Trace);
    }
    let text = crate::config::input::read_text(file)
        .map_err(|error| Failure::new(Exit::Config, format!("cannot read {}: {error}", file.display())))?;
    // A file with a syntax error is a model if it has the head of a kernel.
    let is_model = match text.parse::<toml::Table>() {
        Ok(table) => ["kernel", "parameters", "buffers"].iter().any(|key| table.contains_key(*key)),
        Err(_) => text.lines().any(|line| line.trim_start().starts_with("[[kernel]]")),
    };
    Ok(if is_model { Kind::Model } else { Kind::Machine })
}
