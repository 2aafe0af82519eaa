//! The folder of a sweep: results by content, each complete or not there.
//!
//! ```text
//! OUT/runs/DIGEST/        the result folder of a run
//! OUT/failed/DIGEST.json  why a run failed, until it succeeds
//! OUT/sweep.csv           the collected table
//! ```
//! Processes of several hosts may write into one store: a run is written under a temporary name and renamed, and whoever comes second
//! finds that the result is there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use warpshard_report::{FolderError, ResultFile, Scratch};
use warpshard_run::Digest;

/// A sweep's folder.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Failed {
    exit_code: u8,
    message: String,
}

/// What a store has of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Its results, in this folder.
    Done(PathBuf),
    /// It failed, with this exit code and message.
    Failed(u8, String),
    /// Nothing.
    Missing,
}

impl Store {
    /// The store in `folder`, which is made where it does not exist.
    ///
    /// # Errors
    /// When the system refuses, or the folder holds something else.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        let runs = folder.join("runs");
        if !runs.is_dir() {
            let found = fs::read_dir(folder).ok().and_then(|mut entries| entries.next()).and_then(Result::ok);
            if let Some(found) = found {
                let found = found.file_name().to_string_lossy().into_owned();
                return Err(FolderError::NotOurs { folder: folder.to_owned(), found });
            }
        }
        for made in [&runs, &folder.join("failed")] {
            fs::create_dir_all(made).map_err(|source| FolderError::Io { action: "make the folder", path: made.clone(), source })?;
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// A file of the store beside the results.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The result folder of a run.
    pub fn run(&self, digest: Digest) -> PathBuf {
        self.folder.join("runs").join(digest.to_string())
    }

    fn failure(&self, digest: Digest) -> PathBuf {
        self.folder.join("failed").join(format!("{digest}.json"))
    }

    /// Whether the results of a run are there.
    pub fn has(&self, digest: Digest) -> bool {
        self.run(digest).join("stats.json").is_file()
    }

    /// What there is of a run.
    pub fn entry(&self, digest: Digest) -> Entry {
        if self.has(digest) {
            return Entry::Done(self.run(digest));
        }
        let failed = fs::read(self.failure(digest)).ok().and_then(|text| serde_json::from_slice::<Failed>(&text).ok());
        failed.map_or(Entry::Missing, |failed| Entry::Failed(failed.exit_code, failed.message))
    }

    /// A place for results that are being written. What killed processes left is removed.
    ///
    /// # Errors
    /// When nothing can be written into the folder.
    pub fn staging(&self) -> Result<Staging<'_>, FolderError> {
        let made = Scratch::new(&self.folder);
        let scratch = made.map_err(|source| FolderError::Io { action: "write into", path: self.folder.clone(), source })?;
        Ok(Staging { store: self, scratch })
    }
}

/// Writes results into a store.
#[derive(Debug)]
pub struct Staging<'a> {
    store: &'a Store,
    scratch: Scratch,
}

impl Staging<'_> {
    /// Stores the results of a run. When another process was faster, its results stay: they are the same.
    ///
    /// # Errors
    /// When the system refuses anything; there is then nothing of the run.
    pub fn put(&self, digest: Digest, files: &[ResultFile]) -> Result<(), FolderError> {
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
        // What is not there needs no removal.
        let _ = fs::remove_file(self.store.failure(digest));
        Ok(())
    }

    /// Stores that a run failed.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn fail(&self, digest: Digest, exit_code: u8, message: &str) -> Result<(), FolderError> {
        let target = self.store.failure(digest);
        let made = self.scratch.path().join(format!("{digest}.json"));
        let failed = Failed { exit_code, message: message.to_owned() };
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
    fn a_result_is_there_with_all_its_files_and_the_first_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a/b")).unwrap();
        let (staging, digest) = (store.staging().unwrap(), Digest::of(b"1"));
        assert_eq!(store.entry(digest), Entry::Missing);
        staging.fail(digest, 5, "deadlock").unwrap();
        assert_eq!(store.entry(digest), Entry::Failed(5, "deadlock".into()));
        staging.put(digest, &files("first")).unwrap();
        staging.put(digest, &files("second")).unwrap();
        assert_eq!(store.entry(digest), Entry::Done(store.run(digest)));
        assert_eq!(fs::read_to_string(store.run(digest).join("stats.json")).unwrap(), "first");
        assert_eq!(fs::read_dir(store.path("failed")).unwrap().count(), 0);
        drop(staging);
        assert_eq!(fs::read_dir(folder.path().join("a/b")).unwrap().count(), 2, "nothing temporary is left");
        Store::open(&folder.path().join("a/b")).unwrap();
    }

    #[test]
    fn what_was_written_in_part_is_no_result() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let broken = [files("1"), vec![ResultFile::new("missing/folder", "")]].concat();
        let digest = Digest::of(b"1");
        assert!(matches!(store.staging().unwrap().put(digest, &broken), Err(FolderError::Io { action: "write", .. })));
        assert_eq!(store.entry(digest), Entry::Missing);
        store.staging().unwrap().put(digest, &files("1")).unwrap();
        assert!(store.has(digest));
    }

    #[test]
    fn a_folder_with_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.tex"), "mine").unwrap();
        assert!(matches!(Store::open(folder.path()), Err(FolderError::NotOurs { .. })));
    }
}
