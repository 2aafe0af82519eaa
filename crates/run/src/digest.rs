//! Digests of all inputs that determine the bytes of a result.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

/// Size in bytes from which the digests of files are stored. A stored digest is valid while size and modification time are unchanged.
const MIN_STORED_FILE_BYTES: u64 = 1 << 20;

/// A digest of 128 bits; its hexadecimal digits name a stored result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(u128);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Digest {
    /// Returns the digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(bytes))
    }
}

/// The inputs of a result, part by part.
#[derive(Default)]
pub struct Recipe(Vec<u8>);

impl Recipe {
    /// Adds a part. Equal sequences of parts have equal digests; different parts with the same concatenated text have different digests.
    pub fn add(&mut self, name: &str, bytes: &[u8]) {
        for part in [name.as_bytes(), bytes] {
            self.0.extend((part.len() as u64).to_le_bytes());
            self.0.extend(part);
        }
    }

    /// Returns the digest of all parts.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipe of {} bytes", self.0.len())
    }
}

/// The stored digest of a file, with its size and modification time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredDigest {
    bytes: u64,
    changed: u128,
    digest: String,
}

/// Digests of files. The digests of large files are stored in a file, and are valid while size and modification time are unchanged.
#[derive(Debug)]
pub struct Digests {
    digest_file: PathBuf,
    digests: Mutex<BTreeMap<PathBuf, StoredDigest>>,
}

impl Digests {
    /// Loads the digests of large files that an earlier sweep stored in `memory`; ignores a file that cannot be read.
    pub fn new(memory: &Path) -> Self {
        let known = fs::read(memory).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Self { digest_file: memory.to_owned(), digests: Mutex::new(known) }
    }

    /// Returns the digest of the contents of a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn file(&self, path: &Path) -> io::Result<String> {
        let facts = fs::metadata(path)?;
        let path = path.canonicalize()?;
        let changed = facts.modified()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let known = self.digests.lock().unwrap_or_else(PoisonError::into_inner).get(&path).cloned();
        if let Some(known) = known.filter(|known| (known.bytes, known.changed) == (facts.len(), changed)) {
            return Ok(known.digest);
        }
        let digest = contents_digest(&path)?.to_string();
        let known = StoredDigest { bytes: facts.len(), changed, digest: digest.clone() };
        self.digests.lock().unwrap_or_else(PoisonError::into_inner).insert(path, known);
        Ok(digest)
    }

    /// Stores the digests of large files for the next sweep. This only saves time, so errors are ignored.
    pub fn save(&self) {
        let known = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let large: BTreeMap<&PathBuf, &StoredDigest> = known.iter().filter(|(_, known)| known.bytes >= MIN_STORED_FILE_BYTES).collect();
        if let (false, Some(folder), Ok(text)) = (large.is_empty(), self.digest_file.parent(), serde_json::to_vec_pretty(&large)) {
            let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
                io::Write::write_all(&mut file, &text)?;
                file.persist(&self.digest_file).map_err(io::Error::from)
            });
            drop(written);
        }
    }
}

fn contents_digest(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    let mut hasher = twox_hash::xxhash3_128::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Digest(hasher.finish_128())),
            Ok(read) => hasher.write(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_depends_on_the_boundaries_of_its_parts() {
        let digest = |parts: &[(&str, &str)]| {
            let mut recipe = Recipe::default();
            parts.iter().for_each(|(name, part)| recipe.add(name, part.as_bytes()));
            recipe.digest()
        };
        let different = [digest(&[]), digest(&[("a", "bc")]), digest(&[("ab", "c")]), digest(&[("a", ""), ("b", "c")])];
        let mut sorted = different.to_vec();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), different.len());
        assert_eq!(digest(&[("a", "bc")]), different[1]);
        assert_eq!(different[0].to_string().len(), 32);
    }

    #[test]
    fn a_files_digest_depends_on_its_contents_only() {
        let folder = tempfile::tempdir().unwrap();
        let memory = folder.path().join("digests.json");
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let large = vec![7; MIN_STORED_FILE_BYTES as usize + 5];
        fs::write(&a, &large).unwrap();
        fs::write(&b, &large).unwrap();
        let digests = Digests::new(&memory);
        let first = digests.file(&a).unwrap();
        assert_eq!(first, Digest::of(&large).to_string());
        assert_eq!(digests.file(&b).unwrap(), first);
        digests.save();
        let again = Digests::new(&memory);
        assert_eq!(again.digests.lock().unwrap().len(), 2);
        assert_eq!(again.file(&a).unwrap(), first);
        fs::write(&a, b"less").unwrap();
        assert_eq!(again.file(&a).unwrap(), Digest::of(b"less").to_string());
        assert!(digests.file(&folder.path().join("none")).is_err());
    }
}
