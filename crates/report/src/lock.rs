//! Locks between processes: a file that its holder has locked with the operating system.
//!
//! The operating system releases a lock when its holder ends for any reason, so an unlocked file was left by a killed process. On a file
//! system without locks, every lock is granted and no file is treated as left over.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum number of attempts before a lock counts as held: a process that cleans up briefly holds the locks of dead processes.
const MAX_ATTEMPTS: usize = 5;

/// Time between two attempts.
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// A lock that this process holds, with its file; dropping the lock removes the file.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// The locked file; `None` if the file system has no locks.
    file: Option<File>,
}

impl Lock {
    /// Takes the lock at `path`; `None` if another process holds it.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub(super) fn acquire(path: &Path) -> io::Result<Option<Self>> {
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(RETRY_DELAY);
            }
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
        }
        Ok(None)
    }

    /// Takes the lock at `path` if its file exists and no process holds it; `None` also if the file system has no locks.
    pub(super) fn acquire_abandoned(path: &Path) -> Option<Self> {
        Self::try_acquire(path).ok().flatten().filter(|lock| lock.file.is_some())
    }

    fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, path)? => {
                // The process id is only used in messages to other processes; a full disk must not prevent the lock.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                Ok(Some(Self { path: path.to_owned(), file: Some(file) }))
            }
            // The previous holder removed the file between the opening and the locking.
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if is_unsupported(&error) => Ok(Some(Self { path: path.to_owned(), file: None })),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns the id of the process that holds the lock at `path`, if known.
    pub(super) fn holder(path: &Path) -> Option<u32> {
        fs::read_to_string(path).ok()?.parse().ok()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file is removed while it is locked, so that no other process can lock a file that is about to be removed. The next process
        // takes over a file that cannot be removed.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns true if `file` is still the file at `path`, and has not been removed.
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

/// Returns true if the file system has no locks; a network file system without a lock service returns `ENOLCK`.
fn is_unsupported(error: &io::Error) -> bool {
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
        let lock = Lock::acquire(&path).unwrap().unwrap();
        assert_eq!(Lock::holder(&path), Some(std::process::id()));
        assert!(Lock::acquire(&path).unwrap().is_none());
        assert!(Lock::acquire_abandoned(&path).is_none());
        drop(lock);
        assert!(!path.exists());
        assert!(Lock::acquire(&path).unwrap().is_some());
    }

    #[test]
    fn only_one_thread_holds_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.lock");
        let turns = std::sync::Mutex::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Some(lock) = Lock::try_acquire(&path).unwrap() {
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
    fn an_unlocked_file_is_taken_over() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.lock");
        fs::write(&path, "4711").unwrap();
        assert!(Lock::acquire_abandoned(&path).is_some());
    }
}
