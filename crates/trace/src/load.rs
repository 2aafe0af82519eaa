//! Loading of a trace as a workload, and checking of a trace without keeping it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};

use warpshard_base::KernelIndex;
use warpshard_workload::{Command, CtaSource, Kernel, Workload};

use super::decode::Decoder;
use super::decoder::DecodeEnd;
use super::error::TraceError;
use super::kernel::{self, OpenedKernel};
use super::list::{KernelList, ListLine};
use super::notes::NoteTally;
use super::options::TraceOptions;
use super::report::{KernelReport, TraceReport};
use super::source::{CtaWindow, ResidentKernel, StreamedKernel};

/// Loads the trace at `path`: a `kernelslist.g`, a folder that holds one, or a single `.traceg` file, each kernel plain or compressed as
/// `.xz`, `.gz` or `.zst`; or a native file.
///
/// The headers of all kernels are checked. Kernels are decoded completely while their text fits into [`TraceOptions::eager_bytes`]; other
/// kernels are decoded when their CTAs are requested.
///
/// # Errors
/// A file is missing, unreadable or malformed in the part that loading reads. [`CtaSource::failure`] returns errors that are found later.
pub fn load(path: &Path, options: &TraceOptions) -> Result<Workload, TraceError> {
    let start = Instant::now();
    let result = load_untimed(path, options);
    options.clock.add_since(start);
    result
}

fn load_untimed(path: &Path, options: &TraceOptions) -> Result<Workload, TraceError> {
    let list = KernelList::read(path)?;
    let pool = pool(options);
    let mut eager = options.eager_bytes;
    let mut workload = Workload {
        name: list.name,
        commands: Vec::new(),
        kernels: Vec::new(),
        applications: Vec::new(),
        notes: list.notes,
        homes: Vec::new(),
    };
    for line in list.lines {
        match line {
            ListLine::Copy { addr, bytes } => workload.commands.push(Command::CopyToDevice { addr, bytes }),
            ListLine::Kernel { file, .. } => {
                let index = workload.kernels.len();
                workload.commands.push(Command::Launch(KernelIndex(index as u32)));
                let opened = kernel::open(&file, options, pool.as_ref())?;
                kernel::check_order(&opened, index)?;
                add(&mut workload.notes, opened.notes.iter().map(|note| (note.clone(), 1)));
                let source = source(&opened, options, &mut eager, &mut workload.notes)?;
                workload.kernels.push(Kernel { info: opened.info, source });
            }
        }
    }
    Ok(workload)
}

/// Decodes the kernel completely if its text fits into the remaining `eager` bytes; otherwise returns a source that decodes on request.
fn source(
    opened: &OpenedKernel,
    options: &TraceOptions,
    eager: &mut u64,
    notes: &mut Vec<(String, u64)>,
) -> Result<Arc<dyn CtaSource>, TraceError> {
    let mut window = CtaWindow::new(Decoder::new(Arc::clone(&opened.setup)));
    while window.end().is_none() && window.decoder().bytes_read() < *eager {
        window.advance(opened.setup.chunk);
    }
    *eager = eager.saturating_sub(window.decoder().bytes_read());
    match window.end() {
        Some(DecodeEnd::Failed { error, .. }) => Err(error.clone()),
        Some(DecodeEnd::Finished) => {
            opened.check_lines()?;
            let (programs, found) = window.into_programs();
            add(notes, found.into_iter());
            Ok(Arc::new(ResidentKernel::new(programs, &opened.setup)))
        }
        None => Ok(Arc::new(StreamedKernel::new(window, &opened.setup, options))),
    }
}

/// Decodes all of the trace at `path` without keeping it, and reports its contents.
///
/// # Errors
/// The errors of [`load`], found up to the end of every file.
pub fn check(path: &Path, options: &TraceOptions) -> Result<TraceReport, TraceError> {
    let start = Instant::now();
    let result = check_untimed(path, options);
    options.clock.add_since(start);
    result
}

fn check_untimed(path: &Path, options: &TraceOptions) -> Result<TraceReport, TraceError> {
    let list = KernelList::read(path)?;
    let pool = pool(options);
    let mut report = TraceReport { name: list.name, notes: list.notes, ..TraceReport::default() };
    for line in list.lines {
        let ListLine::Kernel { file, .. } = line else {
            report.copies += 1;
            continue;
        };
        let opened = kernel::open(&file, options, pool.as_ref())?;
        kernel::check_order(&opened, report.kernels.len())?;
        let mut kernel = KernelReport::new(&opened);
        let mut decoder = Decoder::new(Arc::clone(&opened.setup));
        let mut tally = NoteTally::default();
        loop {
            let batch = decoder.next_batch(opened.setup.chunk);
            for cta in &batch.ctas {
                kernel.count(&cta.program);
                tally.add(cta.notes.as_deref());
            }
            match batch.end {
                None => {}
                Some(DecodeEnd::Finished) => break,
                Some(DecodeEnd::Failed { error, .. }) => return Err(error),
            }
        }
        opened.check_lines()?;
        kernel.text_bytes = decoder.bytes_read();
        kernel.static_instructions = decoder.table().map_or(0, |table| table.entries().len()) as u64;
        add(&mut report.notes, opened.notes.into_iter().map(|note| (note, 1)));
        add(&mut report.notes, decoder.table().map(|table| tally.descriptions(table.notes())).into_iter().flatten());
        report.kernels.push(kernel);
    }
    Ok(report)
}

/// Returns the decoding threads if there is more than one.
pub(super) fn pool(options: &TraceOptions) -> Option<Arc<ThreadPool>> {
    if options.threads < 2 {
        return None;
    }
    // Without a pool the caller's thread decodes, with the same result.
    let builder = ThreadPoolBuilder::new().num_threads(options.threads).thread_name(|i| format!("trace-decoder-{i}"));
    builder.build().ok().map(Arc::new)
}

fn add(notes: &mut Vec<(String, u64)>, more: impl Iterator<Item = (String, u64)>) {
    for (text, times) in more {
        match notes.iter_mut().find(|(known, _)| *known == text) {
            Some((_, sum)) => *sum += times,
            None => notes.push((text, times)),
        }
    }
}
