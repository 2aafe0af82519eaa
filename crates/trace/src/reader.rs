//! Reader of plain and compressed files. It delivers their text in chunks, and reads ahead on a thread if requested.
//!
//! With read-ahead one thread decompresses into a channel of one chunk, so at most three chunks of text exist per file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crossbeam_channel::{Receiver, bounded};

use warpshard_config::input;

/// Suffixes of compressed files, in the order in which they are tried if the named file does not exist.
const COMPRESSION_SUFFIXES: [&str; 3] = ["xz", "gz", "zst"];

/// A source of a file's text in chunks.
pub(super) enum TextFeed {
    /// The caller's thread reads.
    Direct(Box<dyn Read + Send>),
    /// A separate thread reads ahead.
    Ahead(Receiver<io::Result<Vec<u8>>>),
    /// The end of the file was reached.
    Done,
}

impl std::fmt::Debug for TextFeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Direct(_) => "Direct",
            Self::Ahead(_) => "Ahead",
            Self::Done => "Done",
        })
    }
}

impl TextFeed {
    /// Opens `path` and decompresses it according to its suffix; with `ahead` a thread decompresses while the caller decodes.
    pub(super) fn open(path: &Path, chunk: usize, ahead: bool) -> io::Result<Self> {
        let mut reader = open(path)?;
        let compressed = COMPRESSION_SUFFIXES.iter().any(|suffix| path.extension().is_some_and(|own| own == *suffix));
        // Reading a plain file from the page cache is faster than passing chunks between threads.
        if !ahead || !compressed {
            return Ok(Self::Direct(reader));
        }
        let (send, receive) = bounded(1);
        std::thread::Builder::new().name("trace-reader".into()).spawn(move || {
            loop {
                let mut text = Vec::new();
                let read = read_chunk(&mut *reader, &mut text, chunk);
                let last = !matches!(read, Ok(n) if n > 0);
                // The receiver is dropped if its kernel is dropped before the end of the file.
                if send.send(read.map(|_| text)).is_err() || last {
                    return;
                }
            }
        })?;
        Ok(Self::Ahead(receive))
    }

    /// Appends the next chunk to `text`; returns false at the end of the file.
    pub(super) fn fill(&mut self, text: &mut Vec<u8>, chunk: usize) -> io::Result<bool> {
        let more = match self {
            Self::Direct(reader) => read_chunk(&mut **reader, text, chunk)? > 0,
            Self::Ahead(receive) => {
                let next = receive.recv().map_err(|_| io::Error::other("the reading thread ended early"))??;
                text.extend_from_slice(&next);
                !next.is_empty()
            }
            Self::Done => false,
        };
        if !more {
            *self = Self::Done;
        }
        Ok(more)
    }
}

/// Opens `path` for reading its decompressed bytes.
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let file = input::open(path)?;
    Ok(match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("xz") => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(io::BufReader::with_capacity(1 << 16, file))),
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, file))),
        Some("zst") => Box::new(zstd::stream::read::Decoder::new(file)?),
        _ => Box::new(file),
    })
}

/// Returns the file that a list names with `path`: the file itself, or its compressed version if only that exists.
pub(super) fn resolve(path: &Path) -> PathBuf {
    if path.exists() {
        return path.to_path_buf();
    }
    let with = |suffix: &str| {
        let mut name = path.as_os_str().to_os_string();
        name.push(".");
        name.push(suffix);
        PathBuf::from(name)
    };
    let compressed = COMPRESSION_SUFFIXES.iter().map(|suffix| with(suffix)).find(|candidate| candidate.exists());
    // A list may also name a compressed file that has been unpacked.
    let plain = || COMPRESSION_SUFFIXES.iter().any(|s| path.extension().is_some_and(|e| e == *s)).then(|| path.with_extension(""));
    compressed.or_else(|| plain().filter(|candidate| candidate.exists())).unwrap_or_else(|| path.to_path_buf())
}

fn read_chunk(reader: &mut dyn Read, text: &mut Vec<u8>, chunk: usize) -> io::Result<usize> {
    text.reserve(chunk);
    reader.take(chunk as u64).read_to_end(text)
}
