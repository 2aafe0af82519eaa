//! Opening files that a user names: regular files only, and texts of a limited size.
//!
//! A named pipe, a terminal or another device can be read once at most and may never end, while inputs are read several times:
//! to check them, to simulate them, and to read a trace of a CPU core again from its start.
//!
//! The programs that come with warpshard are read where there is no such file: `programs/saxpy.toml` means the same in every folder.

use std::fs::{File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of a text that is read as a whole: a machine, a run, a kernel model, a mix or profiles of CPU cores, energies of events.
pub const LONGEST_TEXT: u64 = 16 << 20;

/// The most bytes of a result file or a checkpoint that is read as a whole.
pub const LONGEST_RESULT: u64 = 4 << 30;

/// Opens a regular file.
///
/// # Errors
/// As [`File::open`], and when `path` is a folder or a special file.
pub fn open(path: &Path) -> io::Result<File> {
    // Before it is opened, since to open a named pipe waits for its writer.
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() {
        let message = format!("it is {}, expected a regular file; save the input to a file first", name(kind));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    File::open(path)
}

/// Reads a regular file of at most `most` bytes, or one of the programs that come with warpshard.
///
/// # Errors
/// As [`open`], and when the file is longer.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = match (open(path), warpshard_programs::find(path)) {
        (Err(error), Some(text)) if error.kind() == io::ErrorKind::NotFound => return Ok(text.as_bytes().to_vec()),
        (opened, _) => opened?,
    };
    bounded(file, most)
}

/// Reads a regular file of UTF-8 text of at most [`LONGEST_TEXT`] bytes.
///
/// # Errors
/// As [`read`], and when the file is no text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path, LONGEST_TEXT)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads a file that this program wrote, results or a checkpoint: a regular file of at most [`LONGEST_RESULT`] bytes.
///
/// # Errors
/// As [`open`], and when the file is longer.
pub fn read_written(path: &Path) -> io::Result<Vec<u8>> {
    bounded(open(path)?, LONGEST_RESULT)
}

fn bounded(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.metadata()?.len() <= most {
        (&file).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= most {
            return Ok(bytes);
        }
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes, the most that is read")))
}

/// The same of UTF-8 text.
///
/// # Errors
/// As [`open`], and when the file is no text.
pub fn read_written_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_written(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Whether there is a file of this path, or a program that comes with warpshard.
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
