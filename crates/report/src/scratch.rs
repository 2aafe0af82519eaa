//! Folders under temporary names: what is written there appears under its own name when it is complete, and not before.
//!
//! A folder `.warpshard-KEY.partial` belongs to the process that holds the lock `.warpshard-KEY.lock` next to it. A killed
//! process leaves both; whoever makes the next temporary folder there removes them. The lock is empty where its process was killed before it
//! wrote its number.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::lock::Lock;

const PREFIX: &str = ".warpshard-";
const FOLDER: &str = ".partial";
const LOCK: &str = ".lock";

/// Distinguishes the folders of one process; no results depend on it.
static NEXT: Mutex<u32> = Mutex::new(0);

/// A number that this process has not used.
fn next() -> u32 {
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    *next += 1;
    *next
}

/// A temporary folder, removed with all that is in it when it is dropped before it was moved.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    moved: bool,
    /// Dropped after the folder has gone.
    _lock: Lock,
}

impl Scratch {
    /// An empty folder in `parent`, from which the remains of killed processes are removed first.
    ///
    /// # Errors
    /// When nothing can be written into `parent`.
    pub fn new(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        loop {
            let key = format!("{}-{}", std::process::id(), next());
            // Another host's process may have this number.
            if let Some(lock) = Lock::take(&lock_path(parent, &key))? {
                let path = parent.join(format!("{PREFIX}{key}{FOLDER}"));
                match fs::create_dir(&path) {
                    Ok(()) => return Ok(Self { path, moved: false, _lock: lock }),
                    // Remains that could not be removed.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// When `to` is a file or a folder that is not empty, or the system refuses.
    pub fn rename(&mut self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        self.moved = true;
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.moved {
            // What cannot be removed is left to the next process.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// The file in `parent` whose lock stands for `key`.
pub(super) fn lock_path(parent: &Path, key: &str) -> PathBuf {
    parent.join(format!("{PREFIX}{key}{LOCK}"))
}

/// Whether a file of this name is a lock or a temporary folder.
pub(super) fn is_temporary(name: &str) -> bool {
    key(name).is_some()
}

/// What a temporary folder and its lock have in common.
fn key(name: &str) -> Option<&str> {
    let name = name.strip_prefix(PREFIX)?;
    name.strip_suffix(FOLDER).or_else(|| name.strip_suffix(LOCK))
}

/// Removes temporary folders and locks whose process has ended. What cannot be removed, as another user's, stays.
pub(super) fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(key) = name.to_str().and_then(key) else { continue };
        if let Some(_lock) = Lock::take_over(&lock_path(parent, key)) {
            let left_over = parent.join(format!("{PREFIX}{key}{FOLDER}"));
            let _ = if left_over.is_dir() { fs::remove_dir_all(left_over) } else { fs::remove_file(left_over) };
        }
    }
}

/// Whether there is a device, a pipe or a socket of this name, which a file must not replace.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| !facts.is_file() && !facts.is_dir())
}

/// Writes a file under a temporary name first, so that it is complete or not there. A link stays, and its target is written. Devices and pipes are
/// written into.
///
/// # Errors
/// When the system refuses.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    if is_special(path) {
        return fs::OpenOptions::new().write(true).open(path)?.write_all(contents);
    }
    // Of a link that leads nowhere the link itself is replaced.
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
    fn a_folder_that_was_not_moved_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(root.path()).unwrap();
        fs::write(scratch.path().join("a"), "1").unwrap();
        assert_eq!(names(root.path()).len(), 2);
        drop(scratch);
        assert_eq!(names(root.path()), [""; 0]);
    }

    #[test]
    fn a_folder_that_was_moved_stays() {
        let root = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::new(root.path()).unwrap();
        scratch.rename(&root.path().join("done")).unwrap();
        drop(scratch);
        assert_eq!(names(root.path()), ["done"]);
    }

    #[test]
    fn remains_of_dead_processes_go_and_what_a_live_one_writes_stays() {
        let root = tempfile::tempdir().unwrap();
        let alive = Scratch::new(root.path()).unwrap();
        fs::write(alive.path().join("stats.json"), "1").unwrap();
        // With a lock and without, a folder and a file, and a lock alone.
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
