//! Summary of a program's execution: results, instructions and accesses.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpshard_workload::MemSpace;

use super::Program;
use super::contents::Element;
use super::error::ProgramError;
use super::exec::{Count, Tally};
use super::run::Runner;
use super::schema::Tolerance;

/// The results of a program's execution.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Kernels in the order of their first launches.
    pub kernels: Vec<KernelSummary>,
    /// Output buffers of the launch file.
    pub outputs: Vec<OutputSummary>,
    /// Text that the kernels printed.
    pub printed: String,
    /// Warnings, each with its number of occurrences.
    pub warnings: Vec<(String, u64)>,
}

/// A summary of all launches of a kernel.
#[derive(Clone, Debug)]
pub struct KernelSummary {
    /// Name of the kernel.
    pub name: String,
    /// Number of launches.
    pub launches: u64,
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Thread instructions executed: active lanes summed over the warp instructions.
    pub thread_instructions: u64,
    /// Executions by opcode, with modifiers, most frequent first.
    pub mix: Vec<(String, u64)>,
    /// Warp accesses to device memory, and the 32-byte sectors that they touched.
    pub global: (u64, u64),
    /// Warp accesses to shared memory, and the passes that they took: one per access without bank conflicts.
    pub shared: (u64, u64),
}

/// An output buffer after the last launch.
#[derive(Clone, Debug)]
pub struct OutputSummary {
    /// Name of the buffer.
    pub buffer: String,
    /// CRC-32 of the buffer's bytes.
    pub crc32: u32,
    /// CRC-32 that the launch file expects.
    pub expected: Option<u32>,
    /// True if the launch file contains expected contents, with which the buffer was compared.
    pub compared: bool,
    /// Difference from the expected contents; `None` if there is no difference or nothing is expected.
    pub difference: Option<Difference>,
    /// First elements of the buffer, as many as the launch file requests.
    pub first: Vec<String>,
    /// All bytes of the buffer.
    pub bytes: Vec<u8>,
}

/// The difference of a buffer from its expected contents.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Elements that differ by more than the tolerance.
    pub elements: u64,
    /// Index of the first differing element.
    pub first: u64,
    /// Actual and expected value of the first differing element.
    pub values: [f64; 2],
    /// Largest difference of any element; infinite if one value is NaN.
    pub largest: f64,
}

impl Execution {
    /// Returns the warp instructions of all kernels.
    pub fn warp_instructions(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.warp_instructions).sum()
    }

    /// Returns true if all outputs have the expected hash and contents.
    pub fn matches_expected(&self) -> bool {
        let fits = |output: &OutputSummary| output.difference.is_none() && output.expected.is_none_or(|expected| expected == output.crc32);
        self.outputs.iter().all(fits)
    }
}

/// Executes a program to its end.
pub(super) fn execute(program: &Arc<Program>, measure: bool, check: bool) -> Result<Execution, ProgramError> {
    let mut runner = Runner::counting(program, measure)?;
    if check {
        runner.check();
    }
    while runner.next(false)?.is_some() {}
    let mut order: Vec<&str> = Vec::new();
    let mut groups: BTreeMap<&str, (Tally, u64, usize)> = BTreeMap::new();
    for (number, (launch, tally)) in program.launches.iter().zip(&runner.tallies).enumerate() {
        let name = launch.kernel.name.as_str();
        if !order.contains(&name) {
            order.push(name);
        }
        let group = groups.entry(name).or_insert_with(|| (Tally::default(), 0, number));
        group.0.add(tally);
        group.1 += 1;
    }
    let kernels = order.iter().map(|name| summary(program, name, &groups[name])).collect();
    let expected = program.outputs.iter().map(|output| match &output.expected {
        Some(contents) => program.bytes(&program.buffers[output.buffer], contents).map(Some),
        None => Ok(None),
    });
    let expected = expected.collect::<Result<Vec<_>, _>>()?;
    let outputs = program.outputs.iter().zip(expected).map(|(output, wanted)| {
        let (buffer, allocation) = (&program.buffers[output.buffer], &runner.memory.allocations()[output.buffer]);
        let first = allocation.bytes.chunks_exact(buffer.element.bytes()).take(output.show);
        OutputSummary {
            buffer: buffer.name.clone(),
            crc32: crc32fast::hash(&allocation.bytes),
            expected: output.crc32,
            compared: wanted.is_some(),
            difference: wanted.and_then(|wanted| difference(buffer.element, output.tolerance, &allocation.bytes, &wanted)),
            first: first.map(|bytes| buffer.element.first_as_text(bytes)).collect(),
            bytes: allocation.bytes.clone(),
        }
    });
    let unwritten = runner.memory.allocations().iter().zip(&runner.memory.unwritten).filter(|(_, count)| **count > 0);
    let warnings = unwritten.map(|(allocation, count)| (format!("`{}` is read where nothing was written", allocation.name), *count));
    let mut warnings: Vec<(String, u64)> = warnings.collect();
    warnings.extend(runner.unwritten());
    let outputs = outputs.collect();
    let (printed, left_out) = runner.printed();
    if left_out > 0 {
        warnings.push(("the text of printf no longer fits, and is left out".into(), left_out));
    }
    Ok(Execution { kernels, outputs, printed, warnings })
}

/// Returns the difference between two buffers, if elements differ by more than the tolerance.
fn difference(element: Element, tolerance: Tolerance, bytes: &[u8], wanted: &[u8]) -> Option<Difference> {
    let size = element.bytes();
    let mut found: Option<Difference> = None;
    for (place, (mine, theirs)) in bytes.chunks_exact(size).zip(wanted.chunks_exact(size)).enumerate() {
        // Equal bits count as equal, even for NaN.
        if mine == theirs {
            continue;
        }
        let (mine, theirs) = (element.first_as_number(mine), element.first_as_number(theirs));
        let far = (mine - theirs).abs();
        if far <= tolerance.absolute + tolerance.relative * theirs.abs() {
            continue;
        }
        let one = Difference { elements: 0, first: place as u64, values: [mine, theirs], largest: 0.0 };
        let all = found.get_or_insert(one);
        all.elements += 1;
        all.largest = all.largest.max(if far.is_nan() { f64::INFINITY } else { far });
    }
    found
}

fn summary(program: &Program, name: &str, (tally, launches, first): &(Tally, u64, usize)) -> KernelSummary {
    let launch = &program.launches[*first];
    let mut mix: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut global, mut shared) = ((0, 0), (0, 0));
    for (place, count) in tally.0.iter().enumerate().filter(|(_, count)| **count != Count::default()) {
        *mix.entry(launch.kernel.mnemonics[place].as_str()).or_default() += count.warps;
        if let Some(access) = launch.kernel.access[place] {
            let group = if access.space == MemSpace::Shared { &mut shared } else { &mut global };
            *group = (group.0 + count.warps, group.1 + count.parts);
        }
    }
    let mut mix: Vec<(String, u64)> = mix.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    mix.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    KernelSummary {
        name: name.to_owned(),
        launches: *launches,
        warp_instructions: tally.0.iter().map(|count| count.warps).sum(),
        thread_instructions: tally.0.iter().map(|count| count.lanes).sum(),
        mix,
        global,
        shared,
    }
}
