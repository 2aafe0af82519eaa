//! Locks between processes: a file that its holder has locked with the operating system.
//!
//! The system releases a lock when its holder ends in whatever way, so a file that nobody has locked is left over from a
//! killed process. Where a file system has no locks, every lock is granted and nothing is ever taken for left over.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock is tried before it counts as held: a process that cleans up holds the locks of dead ones for a moment.
const TRIES: usize = 5;

/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// A lock that this process holds until it is dropped, and its file, which is then removed.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// The locked file; `None` where the file system has no locks.
    file: Option<File>,
}

impl Lock {
    /// Takes the lock at `path`; `None` when another holds it.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(super) fn take(path: &Path) -> io::Result<Option<Self>> {
        for attempt in 0..TRIES {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            if let Some(lock) = Self::try_take(path)? {
                return Ok(Some(lock));
            }
        }
        Ok(None)
    }

    /// Takes the lock at `path` if its holder is dead, or nobody ever held it; `None` also where that cannot be known.
    pub(super) fn take_over(path: &Path) -> Option<Self> {
        Self::try_take(path).ok().flatten().filter(|lock| lock.file.is_some())
    }

    fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, path)? => {
                // The number only helps whoever is refused, and a full disk may not keep it.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                Ok(Some(Self { path: path.to_owned(), file: Some(file) }))
            }
            // The holder before removed the file between the opening and the locking.
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if no_locks(&error) => Ok(Some(Self { path: path.to_owned(), file: None })),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The process that holds the lock at `path`, as far as it is known.
    pub(super) fn holder(path: &Path) -> Option<u32> {
        fs::read_to_string(path).ok()?.parse().ok()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file goes while it is locked, so that nobody can hold a lock on one that is about to go. What cannot be
        // removed is taken over by the next process.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether `file` is the one at `path`, not one that was removed from there.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let open = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (open.dev(), open.ino())))
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    Ok(path.exists())
}

/// Whether the file system has no locks; a network file system without its lock service says `ENOLCK`.
fn no_locks(error: &io::Error) -> bool {
    const ENOLCK: i32 = 37;
    error.kind() == io::ErrorKind::Unsupported || (cfg!(target_os = "linux") && error.raw_os_error() == Some(ENOLCK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_leaves_no_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.lock");
        let lock = Lock::take(&path).unwrap().unwrap();
        assert_eq!(Lock::holder(&path), Some(std::process::id()));
        assert!(Lock::take(&path).unwrap().is_none());
        assert!(Lock::take_over(&path).is_none());
        drop(lock);
        assert!(!path.exists());
        assert!(Lock::take(&path).unwrap().is_some());
    }

    #[test]
    fn of_many_threads_one_holds_the_lock_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.lock");
        let turns = std::sync::Mutex::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Some(lock) = Lock::try_take(&path).unwrap() {
                            let mut turns = turns.try_lock().expect("no other thread holds the lock");
                            std::thread::yield_now();
                            *turns += 1;
                            drop(turns);
                            drop(lock);
                        }
                    }
                });
            }
        });
        assert!(turns.into_inner().unwrap() > 0);
    }

    #[test]
    fn a_file_that_nobody_holds_is_taken_over() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.lock");
        fs::write(&path, "4711").unwrap();
        assert!(Lock::take_over(&path).is_some());
    }
}
