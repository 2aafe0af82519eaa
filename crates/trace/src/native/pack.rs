//! Conversion of text to the native format. It reads a trace once, CTA by CTA, and verifies that each block reproduces its text and
//! programs.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use warpshard_workload::{CtaProgram, KernelInfo};

use super::super::decode::Decoder;
use super::super::decoder::{DecodeEnd, TextDecoder};
use super::super::error::{Problem, ProblemKind, TraceError};
use super::super::kernel::{self, KernelFile};
use super::super::list::{KernelList, ListLine};
use super::super::load::pool;
use super::super::options::TraceOptions;
use super::container::KernelTemplates;
use super::footprint::{FileLines, KernelFootprint};
use super::frame::{BlockKind, BlockWriter};
use super::index::{BatchEntry, Index, KernelEntry};
use super::program;
use super::record::{BlockBuilder, CtaRecords, read_block};
use super::render::{apply_patch, render, write_patch};
use super::scan::{Scanner, begin};
use super::wire::ByteReader;

/// Maximum bytes of text that a block represents, except for a larger CTA. It is small enough for a decoder's window to hold a few blocks,
/// and large enough for many warps to share paths and for zstd to find repetitions.
const TARGET_BLOCK_TEXT_BYTES: usize = 4 << 20;
/// Maximum bytes of a block, except for a larger CTA.
const TARGET_BLOCK_BYTES: usize = 1 << 20;

/// Progress of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConvertProgress {
    /// Kernels already converted.
    pub kernels_done: usize,
    /// Total number of kernels.
    pub kernels: usize,
    /// Bytes of text read or written so far.
    pub text_bytes: u64,
}

/// A callback that receives the progress of a conversion at intervals; it returns `false` to stop the conversion.
pub type ProgressWatcher<'a> = &'a mut dyn FnMut(ConvertProgress) -> bool;

/// Sizes of a finished conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// Converted kernels.
    pub kernels: usize,
    /// Warp instructions of all kernels.
    pub warp_instructions: u64,
    /// Bytes of text, kernel list included.
    pub text_bytes: u64,
    /// Bytes of the native file.
    pub native_bytes: u64,
    /// Bytes of the native file that simulation reads.
    pub program_bytes: u64,
}

/// An error of a conversion.
#[derive(Debug)]
pub enum ConvertError {
    /// The input trace is faulty.
    Trace(TraceError),
    /// The output cannot be written.
    Output(io::Error),
    /// The watcher requested a stop.
    Stopped,
    /// The converter is faulty: its output does not reproduce the input. The text names the location and the difference.
    Internal(String),
}

impl From<TraceError> for ConvertError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<io::Error> for ConvertError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
            Self::Stopped => f.write_str("the conversion was stopped"),
            Self::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

impl std::error::Error for ConvertError {}

/// Writes the text trace at `path` (in a form that [`super::super::load`] accepts) to `out` in the native format, with or without zstd
/// compression of its blocks.
///
/// The same text gives the same bytes. The text is checked as in [`super::super::check`].
///
/// # Errors
/// The trace is faulty or already native, `out` fails, or `watch` stops the conversion.
pub fn to_native(
    path: &Path,
    out: &mut dyn Write,
    compress: bool,
    options: &TraceOptions,
    watch: ProgressWatcher<'_>,
) -> Result<Conversion, ConvertError> {
    let list = KernelList::read(path)?;
    let mut files: Vec<(KernelFile, String)> = Vec::new();
    let mut index = Index { name: list.name, list: list.text, ..Index::default() };
    for line in list.lines {
        let ListLine::Kernel { file, listed } = line else { continue };
        let number = files.iter().position(|(known, _)| *known == file).unwrap_or_else(|| {
            files.push((file, listed));
            files.len() - 1
        });
        index.launches.push(number as u32);
    }
    let pool = pool(options);
    let mut blocks = BlockWriter::new(out, compress)?;
    let mut reading = FileLines::default();
    let mut done = Conversion { kernels: files.len(), text_bytes: index.list.as_ref().map_or(0, Vec::len) as u64, ..Conversion::default() };
    for (number, (file, listed)) in files.iter().enumerate() {
        let progress = ConvertProgress { kernels_done: number, kernels: files.len(), text_bytes: done.text_bytes };
        let opened = kernel::open(file, options, pool.as_ref())?;
        let info = &opened.info;
        let decoder = match Decoder::new(Arc::clone(&opened.setup)) {
            Decoder::Text(decoder) => decoder,
            Decoder::Native(_) => return Err(already_native(path).into()),
        };
        let lead = opened.setup.layout.lead;
        let packer = KernelPacker {
            scanner: Scanner::new(opened.setup.dialect.clone(), lead),
            warps: opened.setup.layout.warps,
            file: file.to_string(),
            keeps_lines: index.launches.len() > 1,
            ..KernelPacker::new(decoder, info, &mut blocks, KernelEntry { listed: listed.clone(), ..KernelEntry::default() })
        };
        let (kernel, text_bytes) = packer.kernel(&mut reading, progress, watch)?;
        done.text_bytes += text_bytes;
        done.warp_instructions += kernel.instructions;
        done.program_bytes += kernel.file_bytes().0;
        index.kernels.push(kernel);
    }
    done.native_bytes = blocks.finish(&index.encode())?;
    Ok(done)
}

fn already_native(path: &Path) -> TraceError {
    let problem = Problem {
        kind: ProblemKind::List,
        file: path.to_path_buf(),
        line: None,
        what: "the trace is already native".into(),
        found: "the first bytes of a native file".into(),
        expected: "a kernelslist.g, a folder that holds one, or a .traceg file".into(),
        help: "convert it to text, or use it as it is".into(),
    };
    problem.into()
}

/// A converter of one kernel.
struct KernelPacker<'a, 'b> {
    decoder: TextDecoder,
    out: &'a mut BlockWriter<'b>,
    scanner: Scanner,
    warps: u32,
    file: String,
    kernel: KernelEntry,
    head: Vec<u8>,
    block: BlockBuilder,
    /// Recorded text of the block's CTAs in sequence, and the end of each CTA.
    text: Vec<u8>,
    ends: Vec<usize>,
    patches: Vec<u8>,
    patched: bool,
    /// Programs of the block's CTAs from the text decoder.
    programs: Vec<Arc<CtaProgram>>,
    ctas: u64,
    text_bytes: u64,
    footprint: KernelFootprint<'a>,
    /// True if the file stores the cache lines that the kernel uses.
    keeps_lines: bool,
    /// Canonical text of a CTA, and the piece ends of its canonical and recorded text.
    canonical: Vec<u8>,
    marks: [Vec<usize>; 2],
}

impl<'a, 'b> KernelPacker<'a, 'b> {
    fn new(mut decoder: TextDecoder, info: &'a KernelInfo, out: &'a mut BlockWriter<'b>, kernel: KernelEntry) -> Self {
        decoder.keep_tail();
        let scanner = Scanner::new(decoder.setup().dialect.clone(), 0);
        Self {
            decoder,
            out,
            scanner,
            warps: 0,
            file: String::new(),
            kernel,
            head: Vec::new(),
            block: BlockBuilder::default(),
            text: Vec::new(),
            ends: Vec::new(),
            patches: Vec::new(),
            patched: false,
            programs: Vec::new(),
            ctas: 0,
            text_bytes: 0,
            footprint: KernelFootprint::new(info),
            keeps_lines: false,
            canonical: Vec::new(),
            marks: Default::default(),
        }
    }

    fn kernel(
        mut self,
        reading: &mut FileLines,
        progress: ConvertProgress,
        watch: ProgressWatcher<'_>,
    ) -> Result<(KernelEntry, u64), ConvertError> {
        loop {
            if !watch(ConvertProgress { text_bytes: progress.text_bytes + self.text_bytes, ..progress }) {
                return Err(ConvertError::Stopped);
            }
            let batch = self.decoder.next_batch(TARGET_BLOCK_TEXT_BYTES);
            if let Some(DecodeEnd::Failed { error, .. }) = batch.end {
                return Err(error.into());
            }
            for (number, cta) in batch.ctas.into_iter().enumerate() {
                self.cta(number, cta.program)?;
            }
            if batch.end.is_some() {
                break;
            }
        }
        self.flush()?;
        let tail = self.decoder.take_tail();
        self.text_bytes += tail.len() as u64;
        let templates = std::mem::take(&mut self.scanner.templates);
        let code = KernelTemplates { head: std::mem::take(&mut self.head), tail, templates };
        self.kernel.code = self.out.block(BlockKind::Code, &code.encode())?;
        let (mut footprint, lines) = self.footprint.finish(reading);
        footprint.block = if self.keeps_lines { Some(self.out.block(BlockKind::Lines, &lines)?) } else { None };
        self.kernel.footprint = Some(footprint);
        Ok((self.kernel, self.text_bytes))
    }

    /// Packs CTA `number` of the decoder's last batch.
    fn cta(&mut self, number: usize, program: Arc<CtaProgram>) -> Result<(), ConvertError> {
        let mut text = self.decoder.text_of(number);
        self.text_bytes += text.len() as u64;
        if self.ctas == 0 {
            let at = begin(text).unwrap_or(0);
            self.head = text[..at].to_vec();
            text = &text[at..];
        }
        let [marks, recorded] = &mut self.marks;
        self.canonical.clear();
        marks.clear();
        recorded.clear();
        let file = &self.file;
        let cta = self.scanner.cta(text, recorded).map_err(|at| {
            ConvertError::Internal(format!("{file}: the text of cta {}, byte {}, was accepted and cannot be packed", self.ctas, at.0))
        })?;
        render(&cta, self.ctas, &self.scanner.templates, &mut self.canonical, marks);
        self.patched |= self.canonical != text;
        write_patch(&mut self.patches, &self.canonical, marks, text, recorded);
        self.text.extend_from_slice(text);
        self.ends.push(self.text.len());
        self.kernel.instructions += cta.warps.iter().map(|warp| warp.steps.len() as u64).sum::<u64>();
        self.footprint.cta(&program);
        self.block.add(cta, self.scanner.templates.len());
        self.programs.push(program);
        self.ctas += 1;
        if self.text.len() >= TARGET_BLOCK_TEXT_BYTES || self.block.bytes() + self.patches.len() >= TARGET_BLOCK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes a block with the CTAs since the last block.
    fn flush(&mut self) -> Result<(), ConvertError> {
        let ctas = self.block.ctas();
        if ctas == 0 {
            return Ok(());
        }
        let raw = self.block.finish();
        if let Some(what) = self.find_difference(&raw) {
            let first = self.ctas - u64::from(ctas);
            return Err(ConvertError::Internal(format!("{}: the block from cta {first} on does not reproduce {what}", self.file)));
        }
        let head = if self.kernel.batches.is_empty() { self.head.len() } else { 0 };
        let text_bytes = (self.text.len() + head) as u64;
        let programs = self.out.block(BlockKind::Programs, &raw)?;
        let text = if self.patched { Some(self.out.block(BlockKind::Text, &self.patches)?) } else { None };
        self.kernel.batches.push(BatchEntry { ctas, text_bytes, programs, text });
        self.text.clear();
        self.ends.clear();
        self.patches.clear();
        self.programs.clear();
        self.patched = false;
        Ok(())
    }

    /// Returns the part of the CTAs that the block does not reproduce, if any.
    fn find_difference(&mut self, raw: &[u8]) -> Option<&'static str> {
        let Some(decoded) = program::decode(raw, &self.scanner.meanings, self.warps) else { return Some("anything") };
        let same = |(parsed, known): (&super::super::block::ParsedBlock, &Arc<CtaProgram>)| {
            parsed.warps.len() == known.warps.len() && parsed.warps.iter().zip(&*known.warps).all(|((stream, _), known)| stream == known)
        };
        if decoded.len() != self.programs.len() || !decoded.iter().zip(&self.programs).all(same) {
            return Some("its programs");
        }
        let mut records = CtaRecords::default();
        if read_block(raw, self.scanner.templates.len(), &mut records).is_none() {
            return Some("its instructions");
        }
        let first = self.ctas - records.ctas.len() as u64;
        let mut patches = ByteReader::new(&self.patches);
        let mut from = 0;
        for (number, (cta, &end)) in (first..).zip(records.ctas.iter().zip(&self.ends)) {
            let mut text = Vec::with_capacity(end - from);
            self.canonical.clear();
            render(cta, number, &self.scanner.templates, &mut self.canonical, &mut self.marks[0]);
            let applied = apply_patch(&mut patches, &self.canonical, &mut text);
            if applied.is_none() || text != self.text[from..end] {
                return Some("its text");
            }
            from = end;
        }
        None
    }
}
