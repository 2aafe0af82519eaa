//! Folders under temporary names: files written there appear under the final name only when the folder is complete.
//!
//! A folder `.warpshard-KEY.partial` belongs to the process that holds the lock `.warpshard-KEY.lock` next to it. A killed process leaves
//! both; the next process that creates a temporary folder there removes them. The lock file is empty if its process was killed before it
//! wrote its id.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::lock::Lock;

const NAME_PREFIX: &str = ".warpshard-";
const FOLDER_SUFFIX: &str = ".partial";
const LOCK_SUFFIX: &str = ".lock";

/// Counter that distinguishes the folders of one process; no results depend on it.
static NEXT_NUMBER: Mutex<u32> = Mutex::new(0);

/// Returns a number that this process has not used.
fn next_number() -> u32 {
    let mut next = NEXT_NUMBER.lock().unwrap_or_else(PoisonError::into_inner);
    *next += 1;
    *next
}

/// A temporary folder, which is removed with its contents when it is dropped before it was renamed.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    moved: bool,
    /// Dropped after the folder has been removed.
    _lock: Lock,
}

impl Scratch {
    /// Creates an empty folder in `parent`, after removing the remains of killed processes.
    ///
    /// # Errors
    /// Fails if `parent` cannot be written.
    pub fn new(parent: &Path) -> io::Result<Self> {
        remove_abandoned(parent);
        loop {
            let key = format!("{}-{}", std::process::id(), next_number());
            // A process on another host may have the same process id.
            if let Some(lock) = Lock::acquire(&lock_path(parent, &key))? {
                let path = parent.join(format!("{NAME_PREFIX}{key}{FOLDER_SUFFIX}"));
                match fs::create_dir(&path) {
                    Ok(()) => return Ok(Self { path, moved: false, _lock: lock }),
                    // The remains of a killed process could not be removed.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the folder to its final name.
    ///
    /// # Errors
    /// Fails if `to` is a file or a folder that is not empty, or the rename fails.
    pub fn rename(&mut self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        self.moved = true;
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.moved {
            // The next process removes what this one could not.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Returns the path of the lock file of `key` in `parent`.
pub(super) fn lock_path(parent: &Path, key: &str) -> PathBuf {
    parent.join(format!("{NAME_PREFIX}{key}{LOCK_SUFFIX}"))
}

/// Returns true if `name` is the name of a lock file or a temporary folder.
pub(super) fn is_temporary(name: &str) -> bool {
    key(name).is_some()
}

/// Returns the key that a temporary folder and its lock share.
fn key(name: &str) -> Option<&str> {
    let name = name.strip_prefix(NAME_PREFIX)?;
    name.strip_suffix(FOLDER_SUFFIX).or_else(|| name.strip_suffix(LOCK_SUFFIX))
}

/// Removes temporary folders and locks whose process has ended. Files that cannot be removed, such as files of another user, stay.
pub(super) fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(key) = name.to_str().and_then(key) else { continue };
        if let Some(_lock) = Lock::acquire_abandoned(&lock_path(parent, key)) {
            let left_over = parent.join(format!("{NAME_PREFIX}{key}{FOLDER_SUFFIX}"));
            let _ = if left_over.is_dir() { fs::remove_dir_all(left_over) } else { fs::remove_file(left_over) };
        }
    }
}

/// Returns true if the path is a device, a pipe or a socket, which a file must not replace.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| !facts.is_file() && !facts.is_dir())
}

/// Writes a file under a temporary name and renames it, so that an incomplete file never appears. If the path is a symbolic link, its
/// target is replaced. Devices and pipes are written directly.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    if is_special(path) {
        return fs::OpenOptions::new().write(true).open(path)?.write_all(contents);
    }
    // A dangling link is itself replaced.
    let target = fs::canonicalize(path);
    let path = target.as_deref().unwrap_or(path);
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scratch = Scratch::new(folder)?;
    let written = scratch.path().join(name);
    fs::write(&written, contents)?;
    fs::rename(written, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_dropped_folder_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(root.path()).unwrap();
        fs::write(scratch.path().join("a"), "1").unwrap();
        assert_eq!(names(root.path()).len(), 2);
        drop(scratch);
        assert_eq!(names(root.path()), [""; 0]);
    }

    #[test]
    fn a_renamed_folder_stays() {
        let root = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::new(root.path()).unwrap();
        scratch.rename(&root.path().join("done")).unwrap();
        drop(scratch);
        assert_eq!(names(root.path()), ["done"]);
    }

    #[test]
    fn sweep_removes_only_remains_of_dead_processes() {
        let root = tempfile::tempdir().unwrap();
        let alive = Scratch::new(root.path()).unwrap();
        fs::write(alive.path().join("stats.json"), "1").unwrap();
        // The remains cover a lock with a folder, a folder or a file without a lock, and a lock alone.
        for name in ["1-0", "2-0"] {
            fs::create_dir(root.path().join(format!(".warpshard-{name}.partial"))).unwrap();
            fs::write(root.path().join(format!(".warpshard-{name}.partial/stats.json")), "").unwrap();
        }
        fs::write(root.path().join(".warpshard-3-0.partial"), "").unwrap();
        for (name, number) in [("1-0", "1"), ("4-0", "1"), ("5-0", "")] {
            fs::write(root.path().join(format!(".warpshard-{name}.lock")), number).unwrap();
        }
        fs::write(root.path().join("thesis.tex"), "mine").unwrap();
        drop(Scratch::new(root.path()).unwrap());
        assert_eq!(names(root.path()).len(), 3, "{:?}", names(root.path()));
        assert!(alive.path().join("stats.json").exists());
        drop(alive);
        assert_eq!(names(root.path()), ["thesis.tex"]);
    }
}
