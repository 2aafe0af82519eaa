//! Checkpoint files.
//!
//! A file consists of the magic bytes, the version of the format, the lengths of header and body, a digest of both, the header as JSON, and
//! the body. The body is the compressed state of the run from the engine. The header names the build that wrote the file, and identifies
//! the run by digests of all inputs of its results. A new file replaces the old one only after it is complete and on the disk, so that a
//! process that is killed at any time leaves a complete file.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error as Described;
use twox_hash::XxHash3_128;

use warpshard_base::Cycle;
use warpshard_chip::Checkpoints;
use warpshard_config::{Loaded, input};

use super::configuration::configuration_of;
use super::digest::{Digest, Digests};
use super::files_of::files_of;
use super::request::Request;
use super::{Catalogue, Error};

/// The reason why a checkpoint cannot be used.
#[derive(Debug, Described)]
pub enum CheckpointError {
    /// The file cannot be read.
    #[error("cannot read the checkpoint {}: {source}", file.display())]
    Unreadable {
        /// The checkpoint file.
        file: PathBuf,
        /// Error of the read.
        source: io::Error,
    },
    /// The file is not a checkpoint, or it is damaged.
    #[error("{}: {problem}", file.display())]
    Damaged {
        /// The checkpoint file.
        file: PathBuf,
        /// The problem of the file.
        problem: String,
    },
    /// The checkpoint belongs to another run.
    #[error("{} is a checkpoint of another run:\n  {}\n  it belongs to: {command}", file.display(), other.join("\n  "))]
    OfAnotherRun {
        /// The checkpoint file.
        file: PathBuf,
        /// Differences between the two runs.
        other: Vec<String>,
        /// A command that repeats the run to which the checkpoint belongs.
        command: String,
    },
    /// The checkpoint of a complete run cannot be removed.
    #[error("cannot remove the checkpoint {} of a complete run: {source}", file.display())]
    NotRemoved {
        /// The checkpoint file.
        file: PathBuf,
        /// Error of the removal.
        source: io::Error,
    },
}

const MAGIC: [u8; 8] = *b"WSCHECKP";
/// Version of the file format; the format of the state in the body belongs to one build.
const FORMAT_VERSION: u32 = 1;
/// Number of bytes before the header.
const HEADER_BYTES: usize = 8 + 4 + 8 + 8 + 16;
/// Compression level of zstd. State is repetitive, so that higher levels take longer and gain little.
const ZSTD_LEVEL: i32 = 1;

/// The header of a checkpoint, which identifies the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CheckpointHeader {
    /// Build of the program that wrote the file.
    build: String,
    /// A command that repeats the run from its beginning.
    command: String,
    /// Core cycle of the checkpoint.
    cycle: u64,
    /// Uncompressed bytes of the state.
    bytes: u64,
    /// Inputs of the results: a name for the user, and a digest.
    parts: Vec<(String, String)>,
}

impl CheckpointHeader {
    /// Creates the header of a run with these options, without cycle and state.
    fn of(catalogue: &Catalogue, request: &Request, loaded: &Loaded) -> Result<Self, Error> {
        let mut configuration = configuration_of(request, &[]);
        // A resumed run may have a different cycle limit.
        configuration.options.remove("max_cycles");
        let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
        let mut parts = vec![("machine".to_owned(), digest(&loaded.provenance.to_toml()))];
        parts.extend(
            configuration.options.iter().map(|(name, value)| (format!("option {}", name.replace('_', "-")), digest(&value.to_string()))),
        );
        let known = Digests::new(Path::new(""));
        for file in files_of(catalogue, request)? {
            let unreadable = |source: io::Error| Error::Unreadable { file: file.clone(), source };
            parts.push((format!("file {}", file.display()), known.file(&file).map_err(unreadable)?));
        }
        Ok(Self { build: warpshard_build::build().to_owned(), command: configuration.command, cycle: 0, bytes: 0, parts })
    }

    /// Lists the differences between this header, from a file, and the header of `run`.
    fn differences_from(&self, run: &Self) -> Vec<String> {
        let mut other = Vec::new();
        if self.build != run.build {
            other.push(format!("it was written by build {}, and this is build {}", self.build, run.build));
        }
        let differs = |(name, digest): &&(String, String)| !run.parts.iter().any(|(own, other)| own == name && other == digest);
        let missing = run.parts.iter().filter(|(name, _)| !self.parts.iter().any(|(own, _)| own == name));
        other.extend(self.parts.iter().filter(differs).chain(missing).map(|(name, _)| format!("another {name}")));
        other
    }
}

/// Returns the checkpoints that the options request, and a message for the user about the resumed cycle.
///
/// # Errors
/// Fails if the checkpoint to resume from cannot be read, is damaged, or belongs to another run or build.
pub(crate) fn of(catalogue: &Catalogue, request: &Request, loaded: &Loaded) -> Result<(Checkpoints, Option<String>), Error> {
    if request.checkpoint_every.is_none() && request.resume.is_none() {
        return Ok((Checkpoints::default(), None));
    }
    let run = CheckpointHeader::of(catalogue, request, loaded)?;
    let (mut checkpoints, mut resumed) = (Checkpoints::default(), None);
    if let Some(path) = &request.resume {
        let (header, state) = read(path)?;
        let other = header.differences_from(&run);
        if !other.is_empty() {
            return Err(CheckpointError::OfAnotherRun { file: path.clone(), other, command: header.command }.into());
        }
        resumed = Some(format!("the run resumes at cycle {}, from {}", header.cycle, path.display()));
        checkpoints.resume = Some(state);
    }
    if let (Some(every), Some(path)) = (request.checkpoint_every, request.checkpoint_file.clone()) {
        checkpoints.every = Some(every.get());
        checkpoints.store = Some(Box::new(move |at: Cycle, state: Vec<u8>| {
            let header = CheckpointHeader { cycle: at.0, bytes: state.len() as u64, ..run.clone() };
            write(&path, &header, &state).map_err(|error| {
                format!("cannot write the checkpoint {}: {error}\n  the run ended at cycle {}; an earlier checkpoint is still there if one was written", path.display(), at.0)
            })
        }));
    }
    Ok((checkpoints, resumed))
}

/// Removes the checkpoint of a complete run.
///
/// # Errors
/// Fails if the operating system cannot remove the file.
pub fn remove_checkpoint(request: &Request) -> Result<(), CheckpointError> {
    let (Some(path), true) = (&request.checkpoint_file, request.checkpoint_every.is_some()) else { return Ok(()) };
    // A process that was killed while writing has left a partial file.
    for path in [partial_file_of(path), path.clone()] {
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(CheckpointError::NotRemoved { file: path, source }),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the path of a checkpoint while it is being written.
fn partial_file_of(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    partial.into()
}

fn digest_of(header: &[u8], body: &[u8]) -> u128 {
    let mut hasher = twox_hash::xxhash3_128::Hasher::new();
    hasher.write(header);
    hasher.write(body);
    hasher.finish_128()
}

fn write(path: &Path, header: &CheckpointHeader, state: &[u8]) -> io::Result<()> {
    let header = serde_json::to_vec(header)?;
    let body = zstd::bulk::compress(state, ZSTD_LEVEL)?;
    let partial = partial_file_of(path);
    let mut file = File::create(&partial)?;
    file.write_all(&MAGIC)?;
    file.write_all(&FORMAT_VERSION.to_le_bytes())?;
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(&(body.len() as u64).to_le_bytes())?;
    file.write_all(&digest_of(&header, &body).to_le_bytes())?;
    file.write_all(&header)?;
    file.write_all(&body)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&partial, path)?;
    // The file's name is on the disk only after its folder is.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn read(path: &Path) -> Result<(CheckpointHeader, Vec<u8>), CheckpointError> {
    let file = || path.to_owned();
    let bytes = input::read_result(path).map_err(|source| CheckpointError::Unreadable { file: file(), source })?;
    decode(&bytes).map_err(|problem| CheckpointError::Damaged { file: file(), problem })
}

fn decode(bytes: &[u8]) -> Result<(CheckpointHeader, Vec<u8>), String> {
    if bytes.get(..8) != Some(&MAGIC[..]) {
        return Err("this is not a checkpoint of warpshard".into());
    }
    let damaged = |what: &str| format!("the checkpoint is damaged: {what}; resume from another checkpoint, or start again");
    let Some((head, rest)) = bytes.split_at_checked(HEADER_BYTES) else { return Err(damaged("it ends too early")) };
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
    let format = number(8) as u32;
    if format != FORMAT_VERSION {
        return Err(format!("the checkpoint has version {format} of the format, and this program reads version {FORMAT_VERSION}"));
    }
    let (header_bytes, body_bytes) = (number(12), number(20));
    let expected = u128::from_le_bytes(std::array::from_fn(|i| head[28 + i]));
    if header_bytes.checked_add(body_bytes) != Some(rest.len() as u64) {
        return Err(damaged(&format!("it has {} bytes, which differs from the size in its header", bytes.len())));
    }
    if XxHash3_128::oneshot(rest) != expected {
        return Err(damaged("its checksum is wrong"));
    }
    let (header, body) = rest.split_at(header_bytes as usize);
    let header: CheckpointHeader =
        serde_json::from_slice(header).map_err(|error| damaged(&format!("its header cannot be read: {error}")))?;
    let size = usize::try_from(header.bytes).map_err(|_| damaged("its state is larger than this host's memory"))?;
    // The allocation grows with the unpacked bytes instead of trusting the size in the header.
    let mut state = Vec::new();
    let unpacked =
        zstd::stream::read::Decoder::new(body).and_then(|body| body.take(header.bytes.saturating_add(1)).read_to_end(&mut state));
    unpacked.map_err(|error| damaged(&format!("its state cannot be unpacked: {error}")))?;
    if state.len() != size {
        return Err(damaged(&format!("its state has {} bytes instead of {size}", state.len())));
    }
    Ok((header, state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(build: &str, parts: &[(&str, &str)]) -> CheckpointHeader {
        let parts = parts.iter().map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned())).collect();
        CheckpointHeader { build: build.into(), command: "warpshard run".into(), cycle: 5000, bytes: 3, parts }
    }

    fn written() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.checkpoint");
        for state in [b"old", b"new"] {
            write(&path, &header("1", &[("machine", "m")]), state).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::read(&path).unwrap()
    }

    #[test]
    fn the_last_written_checkpoint_is_read() {
        assert_eq!(decode(&written()), Ok((header("1", &[("machine", "m")]), b"new".to_vec())));
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_an_error() {
        let bytes = written();
        for bit in 0..8 * bytes.len() {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&other).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(decode(&[bytes, vec![0]].concat()).unwrap_err().contains("differs from the size"));
    }

    #[test]
    fn a_state_of_unexpected_size_is_an_error_without_a_large_allocation() {
        for bytes in [0, 2, 4, u64::MAX - 1, u64::MAX] {
            let forged = serde_json::to_vec(&CheckpointHeader { bytes, ..header("1", &[]) }).unwrap();
            let body = zstd::bulk::compress(b"new", ZSTD_LEVEL).unwrap();
            let lengths = [forged.len() as u64, body.len() as u64].map(u64::to_le_bytes);
            let digest = digest_of(&forged, &body).to_le_bytes();
            let file = [&MAGIC[..], &FORMAT_VERSION.to_le_bytes(), &lengths[0], &lengths[1], &digest, &forged, &body].concat();
            assert!(decode(&file).unwrap_err().contains("instead of"), "{bytes}");
        }
    }

    #[test]
    fn another_version_is_an_error_that_names_both_versions() {
        let mut bytes = written();
        bytes[8] = 9;
        assert_eq!(decode(&bytes).unwrap_err(), "the checkpoint has version 9 of the format, and this program reads version 1");
    }

    #[test]
    fn differences_are_named() {
        let file = header("1", &[("machine", "m"), ("option seed", "a")]);
        assert!(file.differences_from(&file).is_empty());
        let run = header("2", &[("machine", "m"), ("option seed", "b"), ("option interval", "c")]);
        let expected = ["it was written by build 1, and this is build 2", "another option seed", "another option interval"];
        assert_eq!(file.differences_from(&run), expected);
        assert_eq!(run.differences_from(&file)[1..], ["another option seed".to_owned(), "another option interval".into()]);
    }
}
