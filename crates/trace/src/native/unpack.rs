//! Conversion of the native format to text: it restores every kernel file and the list byte by byte.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::super::error::{Problem, ProblemKind, TraceError};
use super::super::list::{LIST_FILE_NAME, NAME_FILE};
use super::container::{CONTRADICTION, Container};
use super::frame::BlockKind;
use super::pack::{Conversion, ConvertError, ConvertProgress, ProgressWatcher};
use super::record::{CtaRecords, read_block};
use super::render::{apply_patch, render};
use super::wire::ByteReader;

/// Writes the native trace at `path` as text: into the existing folder `out`, or to the file `out` if the trace is a single kernel without
/// a list. `named` is the final name of `out`.
///
/// With `compress` kernel files are compressed according to their suffix (`.xz`, `.gz`, `.zst`). Otherwise they are written plain without
/// this suffix, and readers of the list find them under the shorter name. The list keeps its bytes in both cases.
///
/// # Errors
/// The trace is damaged or names files outside of its folder, a file cannot be written, or `watch` stops the conversion.
pub fn to_text(path: &Path, out: &Path, named: &Path, compress: bool, watch: ProgressWatcher<'_>) -> Result<Conversion, ConvertError> {
    let container = Container::open(path)?;
    let index = &container.index;
    let mut done = Conversion { kernels: index.kernels.len(), native_bytes: container.bytes(), ..Conversion::default() };
    for (number, kernel) in index.kernels.iter().enumerate() {
        let (target, suffix) = match &index.list {
            None => (out.to_path_buf(), Suffix::of(named)),
            Some(_) => {
                let place = path_in_folder(&kernel.listed).ok_or_else(|| outside_folder(&container, &kernel.listed))?;
                let suffix = Suffix::of(&place);
                (out.join(if compress { place } else { suffix.strip_suffix(&place) }), if compress { suffix } else { Suffix::None })
            }
        };
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = CompressedFile::create(&target, suffix)?;
        let progress = ConvertProgress { kernels_done: number, kernels: index.kernels.len(), text_bytes: done.text_bytes };
        done.text_bytes += write_kernel(&container, number, &mut file, progress, watch)?;
        file.finish()?;
        done.warp_instructions += kernel.instructions;
        done.program_bytes += kernel.file_bytes().0;
    }
    if let Some(list) = &index.list {
        fs::write(out.join(LIST_FILE_NAME), list)?;
        done.text_bytes += list.len() as u64;
        // A trace has the name of its folder; a different name is stored in a file.
        if named.file_name().is_none_or(|folder| folder != index.name.as_str()) {
            fs::write(out.join(NAME_FILE), format!("{}\n", index.name))?;
        }
    }
    Ok(done)
}

fn write_kernel(
    container: &Arc<Container>,
    number: usize,
    out: &mut dyn Write,
    progress: ConvertProgress,
    watch: ProgressWatcher<'_>,
) -> Result<u64, ConvertError> {
    let native = container.kernel(number)?;
    let templates = &native.code.templates;
    out.write_all(&native.code.head)?;
    let mut written = native.code.head.len() as u64;
    let mut cta = 0u64;
    let (mut canonical, mut text) = (Vec::new(), Vec::new());
    for batch in &container.index.kernels[number].batches {
        if !watch(ConvertProgress { text_bytes: progress.text_bytes + written, ..progress }) {
            return Err(ConvertError::Stopped);
        }
        let wrong = |kind, at| ConvertError::from(TraceError::from(container.damaged(kind, at, number, CONTRADICTION.into())));
        let raw = container.block(BlockKind::Programs, &batch.programs, number)?;
        let mut records = CtaRecords::default();
        if read_block(&raw, templates.len(), &mut records) != Some(batch.ctas) {
            return Err(wrong(BlockKind::Programs, &batch.programs));
        }
        let patches = match &batch.text {
            Some(at) => Some((at, container.block(BlockKind::Text, at, number)?)),
            None => None,
        };
        let mut bytes = patches.as_ref().map(|(at, raw)| (*at, ByteReader::new(raw)));
        for record in &records.ctas {
            canonical.clear();
            render(record, cta, templates, &mut canonical, &mut Vec::new());
            cta += 1;
            let shown = match &mut bytes {
                None => &canonical,
                Some((at, bytes)) => {
                    text.clear();
                    apply_patch(bytes, &canonical, &mut text).ok_or_else(|| wrong(BlockKind::Text, at))?;
                    &text
                }
            };
            out.write_all(shown)?;
            written += shown.len() as u64;
        }
        if let Some((at, _)) = bytes.filter(|(_, bytes)| bytes.remaining() > 0) {
            return Err(wrong(BlockKind::Text, at));
        }
    }
    // The text does not need these lines, but a trace with a damaged block is rejected.
    native.used_lines(0)?;
    out.write_all(&native.code.tail)?;
    Ok(written + native.code.tail.len() as u64)
}

/// Returns the path of a listed file if it is in the list's folder.
fn path_in_folder(listed: &str) -> Option<PathBuf> {
    let path = Path::new(listed);
    let harmless = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (harmless && path.file_name().is_some()).then(|| path.to_path_buf())
}

fn outside_folder(container: &Container, listed: &str) -> TraceError {
    Problem {
        kind: ProblemKind::List,
        file: container.path().to_path_buf(),
        line: None,
        what: "the kernel list names a file outside of its folder, which is not written".into(),
        found: format!("`{listed}`"),
        expected: "files below the folder of the list".into(),
        help: "simulate the native file as it is, or convert from a list whose kernels are in its folder".into(),
    }
    .into()
}

/// The compression of a text file according to its suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suffix {
    None,
    Xz,
    Gz,
    Zst,
}

impl Suffix {
    fn of(path: &Path) -> Self {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("xz") => Self::Xz,
            Some("gz") => Self::Gz,
            Some("zst") => Self::Zst,
            _ => Self::None,
        }
    }

    fn strip_suffix(self, path: &Path) -> PathBuf {
        if self == Self::None { path.to_path_buf() } else { path.with_extension("") }
    }
}

/// A file writer with optional compression.
enum CompressedFile {
    None(BufWriter<File>),
    Xz(liblzma::write::XzEncoder<BufWriter<File>>),
    Gz(flate2::write::GzEncoder<BufWriter<File>>),
    Zst(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

/// Preset of xz; higher presets take minutes for a trace of a gigabyte.
const XZ_PRESET: u32 = 3;

impl CompressedFile {
    fn create(path: &Path, suffix: Suffix) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 18, File::create(path)?);
        Ok(match suffix {
            Suffix::None => Self::None(file),
            Suffix::Xz => Self::Xz(liblzma::write::XzEncoder::new(file, XZ_PRESET)),
            Suffix::Gz => Self::Gz(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Suffix::Zst => Self::Zst(zstd::stream::write::Encoder::new(file, 3)?),
        })
    }

    fn finish(self) -> io::Result<()> {
        let mut file = match self {
            Self::None(file) => file,
            Self::Xz(writer) => writer.finish()?,
            Self::Gz(writer) => writer.finish()?,
            Self::Zst(writer) => writer.finish()?,
        };
        file.flush()?;
        file.get_ref().sync_all()
    }
}

impl Write for CompressedFile {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match self {
            Self::None(file) => file.write(text),
            Self::Xz(writer) => writer.write(text),
            Self::Gz(writer) => writer.write(text),
            Self::Zst(writer) => writer.write(text),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None(file) => file.flush(),
            Self::Xz(writer) => writer.flush(),
            Self::Gz(writer) => writer.flush(),
            Self::Zst(writer) => writer.flush(),
        }
    }
}
