//! The folder of a sweep: results by content, each of them complete or absent.
//!
//! ```text
//! OUT/runs/DIGEST/        the result folder of a run
//! OUT/failed/DIGEST.json  the failure of a run, until it succeeds
//! OUT/sweep.csv           the collected table
//! ```
//! Processes of several hosts may write into one store: a run is written under a temporary name and renamed, and a slower process keeps the
//! existing result.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use warpshard_report::{FolderError, ResultFile, Scratch};
use warpshard_run::Digest;

/// The store in the folder of a sweep.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

/// The stored failure of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredFailure {
    exit_code: u8,
    message: String,
}

/// States of a run in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreEntry {
    /// The results exist, in this folder.
    Done(PathBuf),
    /// The run failed, with this exit code and message.
    Failed(u8, String),
    /// The store has neither results nor a failure.
    Missing,
}

impl Store {
    /// Opens the store in `folder`, which is created if it does not exist.
    ///
    /// # Errors
    /// Fails if the folder cannot be read or written, or contains other files.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        let runs = folder.join("runs");
        if !runs.is_dir() {
            let found = fs::read_dir(folder).ok().and_then(|mut entries| entries.next()).and_then(Result::ok);
            if let Some(found) = found {
                let found = found.file_name().to_string_lossy().into_owned();
                return Err(FolderError::ForeignFile { folder: folder.to_owned(), found });
            }
        }
        for made in [&runs, &folder.join("failed")] {
            fs::create_dir_all(made).map_err(|source| FolderError::Io { action: "make the folder", path: made.clone(), source })?;
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// Returns the path of a file next to the results.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the path of a run's result folder.
    pub fn run(&self, digest: Digest) -> PathBuf {
        self.folder.join("runs").join(digest.to_string())
    }

    fn failure(&self, digest: Digest) -> PathBuf {
        self.folder.join("failed").join(format!("{digest}.json"))
    }

    /// Returns true if the results of a run exist.
    pub fn has(&self, digest: Digest) -> bool {
        self.run(digest).join("stats.json").is_file()
    }

    /// Returns the state of a run in the store.
    pub fn entry(&self, digest: Digest) -> StoreEntry {
        if self.has(digest) {
            return StoreEntry::Done(self.run(digest));
        }
        let failed = fs::read(self.failure(digest)).ok().and_then(|text| serde_json::from_slice::<StoredFailure>(&text).ok());
        failed.map_or(StoreEntry::Missing, |failed| StoreEntry::Failed(failed.exit_code, failed.message))
    }

    /// Prepares the store for writing, and removes the remains of killed processes.
    ///
    /// # Errors
    /// Fails if the folder cannot be written.
    pub fn staging(&self) -> Result<Staging<'_>, FolderError> {
        let made = Scratch::new(&self.folder);
        let scratch = made.map_err(|source| FolderError::Io { action: "write into", path: self.folder.clone(), source })?;
        Ok(Staging { store: self, scratch })
    }
}

/// Writer of results into a store.
#[derive(Debug)]
pub struct Staging<'a> {
    store: &'a Store,
    scratch: Scratch,
}

impl Staging<'_> {
    /// Stores the results of a run. If another process was faster, its results are kept: they are the same.
    ///
    /// # Errors
    /// Fails if a file cannot be written; the store then contains no results of the run.
    pub fn store_files(&self, digest: Digest, files: &[ResultFile]) -> Result<(), FolderError> {
        let made = self.scratch.path().join(digest.to_string());
        let error = |action, path: &Path| {
            let path = path.to_owned();
            move |source| FolderError::Io { action, path, source }
        };
        fs::create_dir_all(&made).map_err(error("make the folder", &made))?;
        for file in files {
            let path = made.join(&file.name);
            fs::File::create(&path).and_then(|to| file.write_into(to)).map_err(error("write", &path))?;
        }
        let target = self.store.run(digest);
        match fs::rename(&made, &target) {
            Err(_) if self.store.has(digest) => {}
            renamed => renamed.map_err(error("rename the results to", &target))?,
        }
        // The file may not exist.
        let _ = fs::remove_file(self.store.failure(digest));
        Ok(())
    }

    /// Stores the failure of a run.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn store_failure(&self, digest: Digest, exit_code: u8, message: &str) -> Result<(), FolderError> {
        let target = self.store.failure(digest);
        let made = self.scratch.path().join(format!("{digest}.json"));
        let failed = StoredFailure { exit_code, message: message.to_owned() };
        let written = serde_json::to_vec_pretty(&failed).map_err(io::Error::from).and_then(|text| {
            fs::write(&made, text)?;
            fs::rename(&made, &target)
        });
        written.map_err(|source| FolderError::Io { action: "write", path: target, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> Vec<ResultFile> {
        vec![ResultFile::new("stats.json", text), ResultFile::new("run.toml", "")]
    }

    #[test]
    fn the_first_result_is_kept_with_all_files() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a/b")).unwrap();
        let (staging, digest) = (store.staging().unwrap(), Digest::of(b"1"));
        assert_eq!(store.entry(digest), StoreEntry::Missing);
        staging.store_failure(digest, 5, "deadlock").unwrap();
        assert_eq!(store.entry(digest), StoreEntry::Failed(5, "deadlock".into()));
        staging.store_files(digest, &files("first")).unwrap();
        staging.store_files(digest, &files("second")).unwrap();
        assert_eq!(store.entry(digest), StoreEntry::Done(store.run(digest)));
        assert_eq!(fs::read_to_string(store.run(digest).join("stats.json")).unwrap(), "first");
        assert_eq!(fs::read_dir(store.path("failed")).unwrap().count(), 0);
        drop(staging);
        assert_eq!(fs::read_dir(folder.path().join("a/b")).unwrap().count(), 2, "nothing temporary is left");
        Store::open(&folder.path().join("a/b")).unwrap();
    }

    #[test]
    fn partial_results_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let broken = [files("1"), vec![ResultFile::new("missing/folder", "")]].concat();
        let digest = Digest::of(b"1");
        assert!(matches!(store.staging().unwrap().store_files(digest, &broken), Err(FolderError::Io { action: "write", .. })));
        assert_eq!(store.entry(digest), StoreEntry::Missing);
        store.staging().unwrap().store_files(digest, &files("1")).unwrap();
        assert!(store.has(digest));
    }

    #[test]
    fn a_foreign_folder_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.tex"), "mine").unwrap();
        assert!(matches!(Store::open(folder.path()), Err(FolderError::ForeignFile { .. })));
    }
}
