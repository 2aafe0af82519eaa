//! `warpshard check`: checks files without simulating.

use std::path::Path;

use warpshard_config::Machine;
use warpshard_model::Model;
use warpshard_program::Program;
use warpshard_report::text::{count_with_noun, printable, si_number};
use warpshard_run::{Exit, check_code, code_notes, listing_for};
use warpshard_trace::TraceOptions;
use warpshard_workload::{AsyncOpCounts, CodeRequirements, OpClass};

use super::args::CheckArgs;
use super::failure::Failure;
use super::output;

/// The kind of a file.
enum FileKind {
    Machine,
    Model,
    Program,
    Listing,
    Trace,
}

/// Checks every file and prints its contents in one line, or its errors. Returns the exit code of the first invalid file.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let machine = args.machine.as_deref().map(|name| crate::catalogue().machine(name, &[])).transpose();
    let machine = machine.map_err(|errors| Failure::new(Exit::Config, errors))?.map(|loaded| loaded.machine);
    let mut exit = Exit::Ok;
    for file in &args.files {
        match check_file(file, args.lenient, machine.as_ref()) {
            Ok(found) => output::print(&format!("{}: ok, {found}\n", file.display()))?,
            Err(failure) => {
                output::report(&failure);
                exit = if exit == Exit::Ok { failure.exit } else { exit };
            }
        }
    }
    Ok(exit)
}

/// Returns the notes about the execution of code on a machine, one per line.
fn execution_notes(machine: Option<&Machine>, code: CodeRequirements, what: &str) -> Result<String, Failure> {
    let Some(machine) = machine else { return Ok(String::new()) };
    let capability = machine.gpu.compute_capability;
    check_code(capability, code, what, &machine.name)?;
    Ok(code_notes(capability, code).iter().map(|note| format!("\n  note: on {}: {note}", machine.name)).collect())
}

fn check_file(file: &Path, lenient: bool, machine: Option<&Machine>) -> Result<String, Failure> {
    match kind(file)? {
        FileKind::Machine => {
            let loaded = crate::catalogue().machine(&as_path(file), &[]).map_err(|errors| Failure::new(Exit::Config, errors))?;
            for warning in &loaded.warnings {
                output::warn(&format!("warning: {}", warning.to_string().trim_end()));
            }
            let machine = &loaded.machine;
            warpshard_energy::Model::of(machine).map_err(|problem| Failure::new(Exit::Config, problem))?;
            let of_gpu = |machine: &Machine| {
                let map = &machine.mem.map;
                format!(
                    "{}, {} of {}, core clock {}",
                    count_with_noun(machine.gpu.sms.into(), "SM"),
                    count_with_noun(map.partitions.into(), "memory partition"),
                    count_with_noun(map.slices_per_partition.into(), "slice"),
                    machine.clocks.core
                )
            };
            let kinds = machine.kinds.iter().map(|kind| format!("; GPUs {:?} of kind {}: {}", kind.gpus, kind.name, of_gpu(&kind.machine)));
            Ok(format!("a machine: {}, {}{}", machine.name, of_gpu(machine), kinds.collect::<String>()))
        }
        FileKind::Model => {
            let model = Model::load(file, 1, &[]).map_err(|error| Failure::new(Exit::Workload, error))?;
            let ctas: u64 = model.kernels.iter().map(|k| u64::from(k.kernel.info.ctas())).sum();
            Ok(format!(
                "a kernel model: {}, {}, {}",
                model.name,
                count_with_noun(model.kernels.len() as u64, "kernel"),
                count_with_noun(ctas, "CTA")
            ))
        }
        FileKind::Program => {
            let report = Program::check_file(file).map_err(|error| Failure::new(Exit::Workload, error))?;
            let archs: Vec<String> = report.archs.iter().map(|arch| format!("sm_{arch}")).collect();
            let execution_notes = match machine {
                Some(on) => {
                    let program =
                        Program::load(file, listing_for(on, &report.archs), &[]).map_err(|error| Failure::new(Exit::Workload, error))?;
                    format!("\n  on {}: the listing for sm_{}", on.name, program.arch)
                        + &execution_notes(machine, program.code(), &printable(&report.name))?
                }
                None => String::new(),
            };
            Ok(format!(
                "a program: {} for {}, {}, {} of {}B{execution_notes}",
                printable(&report.name),
                archs.join(", "),
                count_with_noun(report.launches, "launch"),
                count_with_noun(report.buffers, "buffer"),
                si_number(report.bytes as f64)
            ))
        }
        FileKind::Listing => {
            let report = Program::check_listing(file).map_err(|error| Failure::new(Exit::Workload, error))?;
            let facts = format!(
                "a listing for sm_{}: {}, {}",
                report.arch,
                count_with_noun(report.kernels, "kernel"),
                count_with_noun(report.instructions, "instruction")
            );
            if report.refused.is_empty() {
                return Ok(facts);
            }
            let refused = report.refused.iter().map(|(opcode, (times, line, why))| {
                format!("\n  refused: {} ({times} times, first in line {line}): {why}", printable(opcode))
            });
            let what = format!("error: {}: {facts}, of which some cannot be executed{}", file.display(), refused.collect::<String>());
            Err(Failure::new(Exit::Workload, what))
        }
        FileKind::Trace => {
            let options = TraceOptions { lenient, ..TraceOptions::default() };
            let report = warpshard_trace::check(file, &options).map_err(|error| Failure::new(Exit::Workload, error))?;
            let mut text = format!(
                "a trace: {}, {}, {}, {}, {}",
                report.name,
                count_with_noun(report.kernels.len() as u64, "kernel"),
                count_with_noun(report.ctas(), "CTA"),
                count_with_noun(report.warp_instructions(), "warp instruction"),
                count_with_noun(report.thread_instructions(), "thread instruction")
            );
            let mut said: Vec<String> = Vec::new();
            for kernel in &report.kernels {
                let code = CodeRequirements {
                    arch: kernel.binary_version,
                    tensor: kernel.classes[OpClass::Tensor as usize] > 0,
                    copies: false,
                    async_counts: AsyncOpCounts::default(),
                };
                let execution_notes = execution_notes(machine, code, &format!("kernel `{}`", printable(&kernel.info.name)))?;
                if !said.contains(&execution_notes) {
                    text.push_str(&execution_notes);
                    said.push(execution_notes);
                }
            }
            for (note, times) in &report.notes {
                text.push_str(&format!("\n  note: {note}{}", if *times > 1 { format!(" ({times} times)") } else { String::new() }));
            }
            Ok(text)
        }
    }
}

/// Returns the file as a path that cannot be mistaken for the name of a machine.
fn as_path(file: &Path) -> String {
    let text = file.display().to_string();
    if text.contains('/') { text } else { format!("./{text}") }
}

/// Returns the kind of a file. A TOML file with modules or launches is a program, one with kernels, parameters or buffers is a model, and
/// any other TOML file is a machine. A file with the extension `.sass` is a listing, and any other file is a trace.
fn kind(file: &Path) -> Result<FileKind, Failure> {
    if file.extension().is_some_and(|extension| extension == "sass") {
        return Ok(FileKind::Listing);
    }
    if file.extension().is_none_or(|extension| extension != "toml") {
        return Ok(FileKind::Trace);
    }
    let text = warpshard_config::input::read_text(file)
        .map_err(|error| Failure::new(Exit::Config, format!("cannot read {}: {error}", file.display())))?;
    // The table headers decide the kind of a file with a syntax error.
    let (program, model) = match text.parse::<toml::Table>() {
        Ok(table) => {
            let has = |keys: &[&str]| keys.iter().any(|key| table.contains_key(*key));
            (has(&["modules", "launches"]), has(&["kernel", "parameters", "buffers"]))
        }
        Err(_) => {
            let has = |head: &str| text.lines().any(|line| line.trim_start().starts_with(head));
            (has("[[launches]]") || has("[modules]") || has("modules"), has("[[kernel]]"))
        }
    };
    Ok(if program {
        FileKind::Program
    } else if model {
        FileKind::Model
    } else {
        FileKind::Machine
    })
}
