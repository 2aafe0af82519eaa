//! The sizes of a trace: bytes of its text, its files and its decoded streams per warp instruction.

use std::path::Path;

use warpshard_report::text::{Align, Table, count, count_with_noun, printable};
use warpshard_run::Exit;
use warpshard_trace::{TraceOptions, TraceReport, native_facts, trace_is_native};

use super::failure::Failure;
use super::output;

/// Decodes a whole trace and returns its sizes.
///
/// # Errors
/// Fails if the trace is invalid.
pub(super) fn trace_report(path: &Path) -> Result<TraceReport, Failure> {
    warpshard_trace::check(path, &TraceOptions::default()).map_err(|error| Failure::new(Exit::Workload, error))
}

/// Prints the sizes of every kernel of a recorded trace.
///
/// # Errors
/// Fails if the trace is invalid, or standard output cannot be written.
pub(super) fn show(path: &Path) -> Result<Exit, Failure> {
    let report = trace_report(path)?;
    let right = |name| (name, Align::Right);
    let columns = ["CTAs", "warp instr", "text bytes", "/instr", "stored", "/instr", "decoded", "/instr"].map(right);
    let mut table = Table::new(&[&[("kernel", Align::Left)][..], &columns].concat());
    for kernel in &report.kernels {
        let mut cells = vec![kernel.info.name.clone(), count(kernel.ctas), count(kernel.warp_instructions)];
        for bytes in [kernel.text_bytes, kernel.stored_bytes, kernel.decoded_bytes] {
            cells.push(count(bytes));
            cells.push(bytes_per_instruction(bytes, kernel.warp_instructions));
        }
        table.row(cells);
    }
    let mut text = format!("{}: {}\n", printable(&report.name), count_with_noun(report.kernels.len() as u64, "kernel"));
    text.push_str(&table.render(output::stdout_style()));
    text.push_str(&line(&report));
    if trace_is_native(path) {
        let facts = native_facts(path).map_err(|error| Failure::new(Exit::Workload, error))?;
        text.push_str(&format!(
            "native file: {} bytes, {} of them only to restore the text\n",
            count(facts.bytes),
            count(facts.text_bytes)
        ));
    }
    output::print_styled(&text).map(|()| Exit::Ok)
}

/// Formats the sizes of all kernels in one line.
pub(super) fn line(report: &TraceReport) -> String {
    let instructions = report.warp_instructions();
    let sum = |bytes: fn(&warpshard_trace::KernelReport) -> u64| report.kernels.iter().map(bytes).sum::<u64>();
    let (text, stored, decoded) = (sum(|kernel| kernel.text_bytes), sum(|kernel| kernel.stored_bytes), sum(|kernel| kernel.decoded_bytes));
    format!(
        "{}; bytes per warp instruction: {} as text, {} as stored for simulation, {} decoded\n",
        count_with_noun(instructions, "warp instruction"),
        bytes_per_instruction(text, instructions),
        bytes_per_instruction(stored, instructions),
        bytes_per_instruction(decoded, instructions),
    )
}

fn bytes_per_instruction(bytes: u64, instructions: u64) -> String {
    format!("{:.2}", bytes as f64 / instructions.max(1) as f64)
}
