//! Checks of launch files and listings without execution.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::super::Program;
use super::super::consistency;
use super::super::error::ProgramError;
use super::super::isa::{Banks, unsupported_instructions};
use super::text;

/// A summary of a launch file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramReport {
    /// Name of the program.
    pub name: String,
    /// Architectures of its listings: 70 for sm_70.
    pub archs: Vec<u32>,
    /// Kernel launches that a run executes.
    pub launches: u64,
    /// Number of buffers.
    pub buffers: u64,
    /// Bytes of all buffers.
    pub bytes: u64,
}

/// A summary of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingReport {
    /// Architecture of the listing: 70 for sm_70.
    pub arch: u32,
    /// Number of kernels.
    pub kernels: u64,
    /// Instructions of all kernels.
    pub instructions: u64,
    /// Opcodes with modifiers that cannot be executed, each with its number of occurrences, first line and reason.
    pub refused: BTreeMap<String, (u64, u32, String)>,
}

/// Checks a launch file with all of its listings, and the contents of its buffers.
pub(in super::super) fn program(path: &Path) -> Result<ProgramReport, ProgramError> {
    let text = text::read(path)?;
    let file = text::parse(path, &text)?;
    let names: Vec<String> = file.modules.keys().cloned().collect();
    let mut report = None;
    let mut archs = Vec::new();
    for name in &names {
        let arch = name.strip_prefix("sm_").and_then(|digits| digits.parse().ok());
        let arch = arch.ok_or_else(|| {
            let line = text::line_of_key(&text, 0, "modules");
            ProgramError::new(path, line, "a module has no architecture").found(name.clone()).expected("a name such as sm_70")
        })?;
        let program = Arc::new(super::load(path, Some(arch), &[])?);
        archs.push(arch);
        report = Some(program);
    }
    let Some(program) = report else { return super::load(path, None, &[]).map(|program| program_report(&program, archs)) };
    program.memory()?;
    Ok(program_report(&program, archs))
}

fn program_report(program: &Program, archs: Vec<u32>) -> ProgramReport {
    ProgramReport {
        name: program.name.clone(),
        archs,
        launches: program.launches.len() as u64,
        buffers: program.buffers.len() as u64,
        bytes: program.buffers.iter().map(|buffer| buffer.count as u64 * buffer.element.bytes() as u64).sum(),
    }
}

/// Checks a listing for instructions that cannot be executed.
pub(in super::super) fn listing(path: &Path) -> Result<ListingReport, ProgramError> {
    let module = consistency::load(path)?;
    let mut refused = BTreeMap::new();
    // The values of constants are irrelevant here.
    let banks = Banks::new(std::array::from_fn(|_| vec![0; 1 << 16]), 0);
    for kernel in &module.kernels {
        for (mnemonic, line, why) in unsupported_instructions(kernel, &banks) {
            refused.entry(mnemonic).or_insert((0, line, why)).0 += 1;
        }
    }
    Ok(ListingReport {
        arch: module.arch,
        kernels: module.kernels.len() as u64,
        instructions: module.kernels.iter().map(|kernel| kernel.code.len() as u64).sum(),
        refused,
    })
}
