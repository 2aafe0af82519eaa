//! An open native file with its index; blocks are read on demand.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use warpshard_config::input;
use warpshard_workload::{LaunchCounts, UsedLine};

use super::super::error::{Problem, ProblemKind, TraceError, unreadable};
use super::footprint;
use super::frame::{BLOCK_HEADER_BYTES, BlockKind, BlockRef, END_MAGIC, FILE_HEADER_BYTES, MAGIC, TRAILER_BYTES, VERSION, unpack};
use super::index::{Index, KernelEntry};
use super::template::Template;
use super::wire::{ByteReader, write_number, write_text};

/// An open native file.
#[derive(Debug)]
pub(in super::super) struct Container {
    path: PathBuf,
    pub(super) index: Index,
    file: Mutex<File>,
    bytes: u64,
}

/// One kernel of a native file: its header's text and the templates of its lines.
#[derive(Debug)]
pub(in super::super) struct NativeKernel {
    pub(super) container: Arc<Container>,
    pub(super) number: usize,
    pub(super) code: KernelTemplates,
}

/// The data that all CTAs of a kernel share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelTemplates {
    /// The text before the first CTA.
    pub(super) head: Vec<u8>,
    /// The text after the last CTA.
    pub(super) tail: Vec<u8>,
    pub(super) templates: Vec<Template>,
}

impl KernelTemplates {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_text(&mut out, &self.head);
        write_text(&mut out, &self.tail);
        write_number(&mut out, self.templates.len() as u64);
        self.templates.iter().for_each(|template| template.write(&mut out));
        out
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        let mut bytes = ByteReader::new(raw);
        let (head, tail) = (bytes.text()?.to_vec(), bytes.text()?.to_vec());
        let templates = (0..bytes.count()?).map(|_| Template::read(&mut bytes)).collect::<Option<_>>()?;
        (bytes.remaining() == 0).then_some(Self { head, tail, templates })
    }
}

/// Returns true if the file starts with the magic bytes of a native trace.
pub(in super::super) fn is_native(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    // An unreadable file is reported when it is opened as text.
    input::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == MAGIC
}

impl Container {
    /// Opens the file and parses its index.
    pub(in super::super) fn open(path: &Path) -> Result<Arc<Self>, TraceError> {
        let io = |error: io::Error| TraceError::from(unreadable(path, &error));
        let mut file = input::open(path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?.len();
        let mut header = [0; FILE_HEADER_BYTES];
        let least = (FILE_HEADER_BYTES + BLOCK_HEADER_BYTES + TRAILER_BYTES) as u64;
        if bytes < least {
            return Err(truncated_file(path, format!("{bytes} bytes"), format!("at least {least}")).into());
        }
        file.read_exact(&mut header).map_err(io)?;
        let version = check_header(path, &header)?;
        let mut trailer = [0; TRAILER_BYTES];
        file.seek(SeekFrom::Start(bytes - TRAILER_BYTES as u64)).and_then(|_| file.read_exact(&mut trailer)).map_err(io)?;
        let mut fields = ByteReader::new(&trailer);
        let (low, high, length, crc) = (fields.word(), fields.word(), fields.word(), fields.word());
        let offset = u64::from(low.unwrap_or_default()) | u64::from(high.unwrap_or_default()) << 32;
        let length = u64::from(length.unwrap_or_default());
        if trailer[16..] != END_MAGIC {
            let found = format!("{bytes} bytes without the magic bytes at the end");
            return Err(truncated_file(path, found, "a trailer of 24 bytes with the location of the index".into()).into());
        }
        if crc != Some(crc32fast::hash(&trailer[..12])) || offset.checked_add(length) != Some(bytes - TRAILER_BYTES as u64) {
            let at = bytes - TRAILER_BYTES as u64;
            return Err(
                damaged(path, &format!("the trailer at byte {at}"), "a wrong checksum or a wrong location of the index".into()).into()
            );
        }
        let place = format!("the index at byte {offset}");
        let mut block = vec![0; length as usize];
        file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut block)).map_err(io)?;
        let raw = unpack(BlockKind::Index, &block, None).map_err(|found| damaged(path, &place, found))?;
        let index = Index::decode(&raw, version).ok_or_else(|| damaged(path, &place, "contradictory contents".into()))?;
        Ok(Arc::new(Self { path: path.to_path_buf(), index, file: Mutex::new(file), bytes }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size of the file in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns a kernel's name for messages: the native file and the kernel's original text file.
    pub(in super::super) fn label(&self, number: usize) -> PathBuf {
        PathBuf::from(format!("{}:{}", self.path.display(), self.index.kernels[number].listed))
    }

    /// Returns the trace's name, its kernel list, and the kernel number of each launch.
    pub(in super::super) fn contents(&self) -> (&str, Option<&[u8]>, &[u32]) {
        (&self.index.name, self.index.list.as_deref(), &self.index.launches)
    }

    /// Returns the name of a kernel's file in the list.
    pub(in super::super) fn listed(&self, number: usize) -> &str {
        &self.index.kernels[number].listed
    }

    /// Reads a block without unpacking it.
    pub(super) fn read_packed(&self, kind: BlockKind, at: &BlockRef, number: usize) -> Result<Vec<u8>, TraceError> {
        // A block that extends beyond the file is rejected before its memory is allocated.
        if at.offset.checked_add(at.file_bytes()).is_none_or(|end| end > self.bytes) {
            let found = format!("a block of {} bytes in a file of {}", at.file_bytes(), self.bytes);
            return Err(self.damaged(kind, at, number, found).into());
        }
        let mut block = vec![0; at.file_bytes() as usize];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(at.offset)).and_then(|_| file.read_exact(&mut block));
        drop(file);
        read.map_err(|error| unreadable(&self.path, &error))?;
        Ok(block)
    }

    /// Reads and unpacks a block.
    pub(super) fn block(&self, kind: BlockKind, at: &BlockRef, number: usize) -> Result<Vec<u8>, TraceError> {
        let packed = self.read_packed(kind, at, number)?;
        unpack(kind, &packed, Some(at.crc)).map_err(|found| self.damaged(kind, at, number, found).into())
    }

    /// Returns the problem for a damaged block of a kernel.
    pub(super) fn damaged(&self, kind: BlockKind, at: &BlockRef, number: usize, found: String) -> Problem {
        let listed = &self.index.kernels[number].listed;
        damaged(&self.path, &format!("the {} block of {listed} at byte {}", kind.name(), at.offset), found)
    }

    /// Reads the data that all CTAs of a kernel share.
    pub(in super::super) fn kernel(self: &Arc<Self>, number: usize) -> Result<NativeKernel, TraceError> {
        let at = &self.index.kernels[number].code;
        let raw = self.block(BlockKind::Code, at, number)?;
        let code = KernelTemplates::decode(&raw).ok_or_else(|| self.damaged(BlockKind::Code, at, number, CONTRADICTION.into()))?;
        Ok(NativeKernel { container: Arc::clone(self), number, code })
    }
}

/// Message for malformed data with a correct checksum.
pub(super) const CONTRADICTION: &str = "contradictory contents with a correct checksum";

impl NativeKernel {
    /// Returns the text before the first CTA, which contains the header.
    pub(in super::super) fn head(&self) -> &[u8] {
        &self.code.head
    }

    /// Returns the bytes in the file that simulation reads, and the bytes that only the text needs.
    pub(in super::super) fn file_bytes(&self) -> (u64, u64) {
        self.index().file_bytes()
    }

    pub(super) fn index(&self) -> &KernelEntry {
        &self.container.index.kernels[self.number]
    }

    /// Returns the counts of the kernel from the index.
    pub(in super::super) fn counts(&self) -> LaunchCounts {
        let index = self.index();
        let short = LaunchCounts { warp_instructions: index.instructions, ..LaunchCounts::default() };
        index.footprint.map_or(short, |footprint| footprint.counts(index.instructions))
    }

    /// Returns the cache lines that the kernel uses: the `limit` most recently used lines, or all. `None` if the file does not contain
    /// them.
    pub(in super::super) fn used_lines(&self, limit: usize) -> Result<Option<Vec<UsedLine>>, TraceError> {
        let Some(at) = self.index().footprint.as_ref().and_then(|footprint| footprint.block_with(limit)) else { return Ok(None) };
        let kind = BlockKind::Lines;
        let raw = self.container.block(kind, at, self.number)?;
        let lines = footprint::decode(&raw, limit);
        lines.map(Some).ok_or_else(|| self.container.damaged(kind, at, self.number, CONTRADICTION.into()).into())
    }
}

/// Checks the file's header and returns the version of its format.
fn check_header(path: &Path, header: &[u8; FILE_HEADER_BYTES]) -> Result<u32, TraceError> {
    let mut fields = ByteReader::new(&header[MAGIC.len()..]);
    let (version, crc) = (fields.word().unwrap_or_default(), fields.word().unwrap_or_default());
    if header[..MAGIC.len()] != MAGIC {
        return Err(problem(
            path,
            ProblemKind::Unreadable,
            "this is not a native trace".into(),
            format!("`{}` at byte 0", header[..MAGIC.len()].escape_ascii()),
            format!("`{}`", MAGIC.escape_ascii()),
            "give a file that `warpshard convert` wrote",
        )
        .into());
    }
    if crc != crc32fast::hash(&header[..12]) {
        return Err(damaged(path, "the file's header at byte 0", "a wrong checksum".into()).into());
    }
    if version == 0 || version > VERSION {
        return Err(problem(
            path,
            ProblemKind::Header,
            "the file has a version that this program cannot read".into(),
            format!("version {version} at byte 8"),
            format!("version {VERSION} or older"),
            "use a newer warpshard, or convert the trace again from its text",
        )
        .into());
    }
    Ok(version)
}

fn problem(path: &Path, kind: ProblemKind, what: String, found: String, expected: String, help: &str) -> Problem {
    Problem { kind, file: path.to_path_buf(), line: None, what, found, expected, help: help.into() }
}

fn damaged(path: &Path, place: &str, found: String) -> Problem {
    let help = "copy the file again, or convert the trace again from its text";
    problem(path, ProblemKind::Unreadable, format!("{place} is damaged"), found, "the bytes that were written".into(), help)
}

fn truncated_file(path: &Path, found: String, expected: String) -> Problem {
    let help = "the copy is incomplete: copy the file again, or convert the trace again from its text";
    problem(path, ProblemKind::Cut, "the file is cut off".into(), found, expected, help)
}
