//! File input: opens regular files only, and limits the size of texts.
//!
//! A named pipe, a terminal or another device can be read only once and may never end, but inputs are read several times: to check them, to
//! simulate them, and to restart the trace of a CPU core from its beginning.
//!
//! If no such file exists, the programs built into warpshard are searched: `programs/saxpy.toml` works in every folder.

use std::fs::{File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Maximum size in bytes of a text that is read as a whole: machines, runs, kernel models, mixes and profiles of CPU cores, event energies.
pub const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Maximum size in bytes of a result file or a checkpoint that is read as a whole.
pub const MAX_RESULT_BYTES: u64 = 4 << 30;

/// Opens a regular file.
///
/// # Errors
/// The errors of [`File::open`]; also if `path` is a folder or a special file.
pub fn open(path: &Path) -> io::Result<File> {
    // The check comes first because opening a named pipe blocks until a writer opens it.
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() {
        let message = format!("it is {}, expected a regular file; save the input to a file first", name(kind));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    File::open(path)
}

/// Reads a regular file of at most `max_bytes` bytes, or a program built into warpshard.
///
/// # Errors
/// The errors of [`open`]; also if the file is longer.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = match (open(path), warpshard_programs::find(path)) {
        (Err(error), Some(text)) if error.kind() == io::ErrorKind::NotFound => return Ok(text.as_bytes().to_vec()),
        (opened, _) => opened?,
    };
    read_limited(file, max_bytes)
}

/// Reads a regular file of UTF-8 text of at most [`MAX_TEXT_BYTES`] bytes.
///
/// # Errors
/// The errors of [`read`]; also if the file is not UTF-8 text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path, MAX_TEXT_BYTES)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads a file that warpshard wrote, such as results or a checkpoint: a regular file of at most [`MAX_RESULT_BYTES`] bytes.
///
/// # Errors
/// The errors of [`open`]; also if the file is longer.
pub fn read_result(path: &Path) -> io::Result<Vec<u8>> {
    read_limited(open(path)?, MAX_RESULT_BYTES)
}

fn read_limited(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.metadata()?.len() <= max_bytes {
        (&file).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= max_bytes {
            return Ok(bytes);
        }
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max_bytes} bytes, the maximum size")))
}

/// Reads a file of UTF-8 text that warpshard wrote.
///
/// # Errors
/// The errors of [`read_result`]; also if the file is not UTF-8 text.
pub fn read_result_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_result(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Returns `true` if `path` is a regular file or a program built into warpshard.
pub fn exists(path: &Path) -> bool {
    path.is_file() || warpshard_programs::find(path).is_some()
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "a special file"
    }
}

#[cfg(not(unix))]
fn name(kind: FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "a special file" }
}
