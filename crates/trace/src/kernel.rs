//! Opening of a kernel's file: parses its header, guesses missing values in lenient mode and prepares the decoder.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::ThreadPool;

use warpshard_base::MAX_KERNELS;
use warpshard_isa::Generation;
use warpshard_workload::KernelInfo;

use super::block::BlockLayout;
use super::decode::Decoder;
use super::decoder::{DecodeEnd, DecoderSetup};
use super::error::{Problem, ProblemKind, TextFault, TraceError, unreadable};
use super::header::{self, Header};
use super::native::{Container, NativeKernel};
use super::options::TraceOptions;
use super::reader;
use super::table::{Dialect, StaticEntry, StaticTable};

/// Location of a kernel.
#[derive(Clone, Debug)]
pub(super) enum KernelFile {
    /// A text file.
    Text(PathBuf),
    /// Kernel number in a native file.
    Native(Arc<Container>, usize),
}

impl PartialEq for KernelFile {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::Native(one, number), Self::Native(two, other)) => Arc::ptr_eq(one, two) && number == other,
            _ => false,
        }
    }
}

impl fmt::Display for KernelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.label().display().fmt(f)
    }
}

impl KernelFile {
    /// Returns the file's name for messages.
    fn label(&self) -> PathBuf {
        match self {
            Self::Text(file) => file.clone(),
            Self::Native(container, number) => container.label(*number),
        }
    }
}

/// A kernel with a parsed header and an unread body.
#[derive(Debug)]
pub(super) struct OpenedKernel {
    pub(super) info: KernelInfo,
    pub(super) header: Header,
    pub(super) generation: Generation,
    pub(super) setup: Arc<DecoderSetup>,
    /// Bytes of the kernel's text file, or bytes in the native file that simulation reads.
    pub(super) stored: u64,
    /// Guesses and unknown header lines.
    pub(super) notes: Vec<String>,
}

impl OpenedKernel {
    /// Checks that the list of used cache lines in a native file can be read.
    pub(super) fn check_lines(&self) -> Result<(), TraceError> {
        self.setup.native.as_ref().map_or(Ok(()), |native| native.used_lines(0).map(drop))
    }
}

/// Reads the header of `kernel`.
pub(super) fn open(kernel: &KernelFile, options: &TraceOptions, pool: Option<&Arc<ThreadPool>>) -> Result<OpenedKernel, TraceError> {
    let label = kernel.label();
    let file = label.as_path();
    let (native, text, stored) = match kernel {
        KernelFile::Text(file) => {
            let io = |error| unreadable(file, &error);
            (None, read_head(file).map_err(io)?, std::fs::metadata(file).map_err(io)?.len())
        }
        KernelFile::Native(container, number) => {
            let native = Arc::new(container.kernel(*number)?);
            let (head, stored) = (native.head().to_vec(), native.file_bytes().0);
            (Some(native), head, stored)
        }
    };
    if text.iter().all(|&b| b <= b' ') {
        return Err(empty_file(file).into());
    }
    let mut header = header::parse(&text, options.lenient).map_err(|faults| locate_faults(file, &text, faults))?;
    let mut notes = std::mem::take(&mut header.notes);
    let mut info = header.info.clone();
    let mut generation = header.generation.unwrap_or(Generation::Volta);
    if header.generation.is_none() || header.guess_registers {
        let survey = StaticSurvey::of(setup(file, native.as_ref(), &header, generation, options, pool))?;
        if header.generation.is_none() {
            generation = survey.generation();
            let (wrong, name) = (header.binary_version, generation.name());
            let version = generation.versions()[0];
            notes.push(format!("binary version {wrong} is in no table: {name} ({version}) guessed from the opcodes"));
        }
        if header.guess_registers {
            let (wrong, guess) = (info.registers, survey.registers());
            notes.push(format!("{wrong} registers per thread are impossible: {guess} assumed, from the highest register used"));
            info.registers = guess;
        }
    }
    let setup = setup(file, native.as_ref(), &header, generation, options, pool);
    Ok(OpenedKernel { info, header, generation, setup, stored, notes })
}

fn setup(
    file: &Path,
    native: Option<&Arc<NativeKernel>>,
    header: &Header,
    generation: Generation,
    options: &TraceOptions,
    pool: Option<&Arc<ThreadPool>>,
) -> Arc<DecoderSetup> {
    let known = header.generation.is_some();
    Arc::new(DecoderSetup {
        file: file.to_path_buf(),
        dialect: Dialect {
            generation,
            binary_version: if known { header.binary_version } else { generation.versions()[0] },
            lenient: options.lenient,
            immediate: header.tracer_version >= 5,
            windows: header.info.shared_base.0 != 0 && header.info.local_base.0 != 0,
            images: header.images,
        },
        layout: BlockLayout {
            lead: if header.tracer_version < 3 { 4 } else { 0 } + usize::from(header.lineinfo),
            warps: header.info.warps_per_cta(),
        },
        ctas: header.info.ctas(),
        grid: header.info.grid.to_string(),
        // One chunk per thread.
        chunk: options.chunk_bytes.max(1) * options.threads.max(1),
        native: native.cloned(),
        pool: pool.cloned(),
    })
}

/// Returns the text of a file up to its first CTA, or all text without a CTA.
fn read_head(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut reader = reader::open(file)?;
    let mut text = Vec::new();
    loop {
        let read = reader.by_ref().take(1 << 14).read_to_end(&mut text)?;
        // A line that starts with `#` ends the header; a long text without line ends is not a trace.
        if read == 0 || text.starts_with(b"#") || memchr::memmem::find(&text, b"\n#").is_some() || text.len() > 1 << 20 {
            return Ok(text);
        }
    }
}

fn locate_faults(file: &Path, text: &[u8], faults: Vec<TextFault>) -> TraceError {
    let line = |at: usize| 1 + memchr::memchr_iter(b'\n', &text[..at.min(text.len())]).count() as u64;
    let listed = warps_of_first_cta(text);
    let problems = faults.into_iter().map(|mut fault| {
        if let Some(warps) = listed.filter(|_| fault.what == "no SM holds a CTA of this size") {
            fault.found = format!("{}; the first CTA lists {warps} warps", fault.found);
        }
        let at = fault.at;
        fault.in_file(file, Some(line(at)))
    });
    TraceError { problems: problems.collect() }
}

/// Returns the number of warps that the first CTA lists, or `None` if the text does not contain the whole CTA.
fn warps_of_first_cta(text: &[u8]) -> Option<usize> {
    let end = memchr::memmem::find(text, b"#END_TB")?;
    Some(memchr::memmem::find_iter(&text[..end], b"\nwarp = ").count())
}

fn empty_file(file: &Path) -> Problem {
    Problem {
        kind: ProblemKind::Header,
        file: file.to_path_buf(),
        line: None,
        what: "the file is empty".into(),
        found: "no text".into(),
        expected: "the header of a kernel trace".into(),
        help: "the tracer was stopped or the copy is incomplete: trace or copy it again".into(),
    }
}

/// All static instructions of a file, the input of guesses.
struct StaticSurvey(Decoder);

impl StaticSurvey {
    fn of(setup: Arc<DecoderSetup>) -> Result<Self, TraceError> {
        let chunk = setup.chunk;
        let mut decoder = Decoder::new(setup);
        loop {
            match decoder.next_batch(chunk).end {
                None => {}
                Some(DecodeEnd::Finished) => return Ok(Self(decoder)),
                Some(DecodeEnd::Failed { error, .. }) => return Err(error),
            }
        }
    }

    fn entries(&self) -> &[StaticEntry] {
        self.0.table().map_or(&[], StaticTable::entries)
    }

    fn generation(&self) -> Generation {
        warpshard_isa::guess(self.entries().iter().map(|entry| (entry.inst.pc, &*entry.mnemonic)))
    }

    fn registers(&self) -> u32 {
        let of = |entry: &StaticEntry| {
            // A wide access names only the first register of its value.
            let wide = entry.inst.mem.map_or(0, |mem| u16::from(mem.width).div_ceil(4) - 1);
            let names = std::iter::once(entry.inst.dst).chain(entry.inst.src);
            names.filter(|&register| u64::from(register) < header::MAX_REGISTERS).map(|register| register + wide).max()
        };
        let highest = self.entries().iter().filter_map(of).max();
        highest.map_or(1, |register| u32::from(register) + 1).min(header::MAX_REGISTERS as u32)
    }
}

/// Rejects kernel `number` of a list, counted from 0, if it waits for a kernel that is not launched before it.
pub(super) fn check_order(opened: &OpenedKernel, number: usize) -> Result<(), TraceError> {
    let Some(early) = opened.info.after.iter().find(|before| before.index() >= number) else { return Ok(()) };
    Err(TraceError::from(Problem {
        kind: ProblemKind::Header,
        file: opened.setup.file.clone(),
        line: None,
        what: "the kernel waits for a kernel that is not launched before it".into(),
        found: format!("`-after kernels` with {}, in kernel {} of the list", early.index() + 1, number + 1),
        expected: "numbers of kernels before it in the list".into(),
        help: "run the whole trace, or take the line out of the header".into(),
    }))
}

pub(super) fn too_many_kernels(path: &Path, kernels: usize) -> Problem {
    Problem {
        kind: ProblemKind::List,
        file: path.to_path_buf(),
        line: None,
        what: "the trace launches too many kernels".into(),
        found: format!("{kernels} kernels"),
        expected: format!("at most {MAX_KERNELS}"),
        help: "split the kernel list, and simulate its parts one after the other".into(),
    }
}
