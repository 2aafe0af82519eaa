//! The result folder, which is either complete or absent.
//!
//! Files are written to a temporary folder on the same file system and then renamed. In an existing folder the old `stats.json` is removed
//! first and the new one is written last: if `stats.json` exists, all other files are from the same run. From before the run until its
//! results are written, a lock excludes other processes from the folder. Files are not flushed to the disk: flushing would take longer than
//! many runs, which can be repeated after a power failure.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lock::Lock;
use super::scratch::{self, Scratch};

/// A destination for the contents of a file.
pub type Target<'a> = &'a mut (dyn Write + Send);

/// A function that writes the contents of a file, the same bytes at each call.
type WriteFn = dyn Fn(Target<'_>) -> io::Result<()> + Send + Sync;

/// A file of a result folder.
#[derive(Clone)]
pub struct ResultFile {
    /// The file name, without folders.
    pub name: String,
    contents: Contents,
}

#[derive(Clone)]
enum Contents {
    Bytes(Arc<[u8]>),
    Streamed(Arc<WriteFn>),
}

impl ResultFile {
    /// Creates a file `name` with `contents`.
    pub fn new(name: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), contents: Contents::Bytes(contents.into().into()) }
    }

    /// Creates a large file `name`: `writing` writes its contents, the same bytes at each call, so that they are never in memory as a
    /// whole.
    pub fn streamed(name: impl Into<String>, writing: impl Fn(Target<'_>) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), contents: Contents::Streamed(Arc::new(writing)) }
    }

    /// Writes the contents to `to`.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write_to(&self, to: Target<'_>) -> io::Result<()> {
        match &self.contents {
            Contents::Bytes(bytes) => to.write_all(bytes),
            Contents::Streamed(writing) => writing(to),
        }
    }

    /// Writes the contents to an open file.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write_into(&self, file: File) -> io::Result<()> {
        let mut to = BufWriter::with_capacity(1 << 16, file);
        self.write_to(&mut to)?;
        to.flush()
    }

    /// Returns the whole contents in memory.
    pub fn contents(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes).expect("memory takes every byte");
        bytes
    }
}

impl fmt::Debug for ResultFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultFile").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Files are equal if their names and contents are equal.
impl PartialEq for ResultFile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.contents() == other.contents()
    }
}

impl Eq for ResultFile {}

/// The file that lists the names of all files of a result, one per line: a folder with any other file is not overwritten unless forced.
const MANIFEST: &str = ".warpshard-files";

/// Files that `warpshard timeline` and `warpshard report` add to a result later; version 0.1 also wrote bitmaps.
const LATER_FILES: [&str; 5] = ["timeline.svg", "timeline.png", "owners.svg", "owners.png", "report.html"];

/// The file whose presence marks a complete result.
const COMPLETION_FILE: &str = "stats.json";

/// Reasons for which results cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder contains files that no run has written.
    #[error("{} holds {found:?}, which is not a result of a run; choose another folder, empty this one, or add --force to `warpshard run` to keep its files and add the results", .folder.display())]
    ForeignFile {
        /// The folder.
        folder: PathBuf,
        /// The name of such a file.
        found: String,
    },
    /// The folder contains the results of another experiment.
    #[error("{} holds the results of another experiment: {found}; choose another folder, empty this one, or add --force to `warpshard run` to replace the results", .folder.display())]
    OtherExperiment {
        /// The folder.
        folder: PathBuf,
        /// The differences to that experiment.
        found: String,
    },
    /// Another process has locked the folder for its results.
    #[error("{} is in use by another run{}; wait until it has ended, or choose another folder with --out", .folder.display(), process(*.holder))]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The id of that process, if known.
        holder: Option<u32>,
    },
    /// A system call failed.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The path of the action.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

fn process(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |number| format!(" (process {number})"))
}

/// The destination of a run's results. It is created before the run, so that an unusable folder is reported before hours of simulation.
#[derive(Debug)]
pub struct Destination {
    target: DestinationKind,
}

#[derive(Debug)]
enum DestinationKind {
    /// A given folder, locked against other processes.
    Folder {
        path: PathBuf,
        force: bool,
        /// True if the folder existed before the run; the lock is then inside the folder, otherwise next to it.
        existed: bool,
        _lock: Lock,
    },
    /// The first of `STEM-1`, `STEM-2`, ... that does not exist.
    Numbered { parent: PathBuf, stem: String },
}

impl Destination {
    /// Returns the destination `path`, which is created with its parents if it does not exist. An existing folder must be empty, or contain
    /// the results of an earlier run, which are replaced; with `force` it may contain any other files, which are kept.
    ///
    /// # Errors
    /// Fails if another process has the same destination, the folder contains other files, or it cannot be written.
    pub fn folder(path: &Path, force: bool) -> Result<Self, FolderError> {
        let existed = path.exists();
        let lock = if existed {
            if !force {
                refuse_foreign(path)?;
            }
            let lock = lock_inside(path)?;
            check_writable(path)?;
            scratch::remove_abandoned(&create_parent(path)?);
            lock
        } else {
            let parent = create_parent(path)?;
            // The folder name may have the maximum length of the file system, so the lock is named after a checksum of the name.
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let lock = lock(path, &scratch::lock_path(&parent, &format!("{:08x}", crc32fast::hash(name))))?;
            check_writable(&parent)?;
            lock
        };
        Ok(Self { target: DestinationKind::Folder { path: path.to_owned(), force, existed, _lock: lock } })
    }

    /// Returns the first unused folder of `parent/STEM-1`, `parent/STEM-2` and so on, chosen when the results are written.
    ///
    /// # Errors
    /// Fails if `parent` cannot be written.
    pub fn numbered(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        fs::create_dir_all(parent).map_err(io_error("make the folder", parent))?;
        check_writable(parent)?;
        Ok(Self { target: DestinationKind::Numbered { parent: parent.to_owned(), stem: stem.to_owned() } })
    }

    /// Writes the files and returns their folder.
    ///
    /// # Errors
    /// Fails if a system call fails, for example because the disk is full; an earlier result in the folder is then unchanged, unless the
    /// renaming itself failed.
    pub fn write(&self, files: &[ResultFile]) -> Result<PathBuf, FolderError> {
        match &self.target {
            DestinationKind::Folder { path, force, existed, .. } if path.exists() => {
                if !force {
                    refuse_foreign(path)?;
                }
                // Another process may have created the folder meanwhile; the lock inside the folder must then also be taken.
                let _lock = if *existed { None } else { Some(lock_inside(path)?) };
                refill(path, files)?;
                Ok(path.clone())
            }
            DestinationKind::Folder { path, .. } => {
                let mut written = write_temporary(&create_parent(path)?, path, files)?;
                written.rename(path).map_err(io_error("rename the results to", path))?;
                Ok(path.clone())
            }
            DestinationKind::Numbered { parent, stem } => {
                let mut written = write_temporary(parent, &parent.join(format!("{stem}-N")), files)?;
                rename_to_first_free(&mut written, parent, stem)
            }
        }
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { action, path, source }
}

fn lock(folder: &Path, file: &Path) -> Result<Lock, FolderError> {
    let taken = Lock::acquire(file).map_err(io_error("write into", folder))?;
    taken.ok_or_else(|| FolderError::InUse { folder: folder.to_owned(), holder: Lock::holder(file) })
}

/// Takes the lock of an existing folder.
fn lock_inside(folder: &Path) -> Result<Lock, FolderError> {
    lock(folder, &scratch::lock_path(folder, "run"))
}

/// Returns the parent folder of `path` and creates it if it does not exist.
fn create_parent(path: &Path) -> Result<PathBuf, FolderError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    fs::create_dir_all(&parent).map_err(io_error("make the folder", &parent))?;
    Ok(parent)
}

fn refuse_foreign(folder: &Path) -> Result<(), FolderError> {
    let entries = fs::read_dir(folder).map_err(io_error("read the folder", folder))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(io_error("read the folder", folder))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let result_names = result_names(folder)?;
    match names.into_iter().find(|name| !scratch::is_temporary(name) && !result_names.contains(name)) {
        Some(found) => Err(FolderError::ForeignFile { folder: folder.to_owned(), found }),
        None => Ok(()),
    }
}

/// Returns the names of the result files in a folder; empty if the folder has no manifest.
fn result_names(folder: &Path) -> Result<Vec<String>, FolderError> {
    let path = folder.join(MANIFEST);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().chain([MANIFEST]).chain(LATER_FILES).map(str::to_owned).collect()),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(io_error("read", &path)(source)),
    }
}

/// Returns the manifest of `files`.
fn manifest(files: &[ResultFile]) -> ResultFile {
    let lines: String = files.iter().map(|file| format!("{}\n", file.name)).collect();
    ResultFile::new(MANIFEST, lines)
}

fn check_writable(parent: &Path) -> Result<(), FolderError> {
    Scratch::new(parent).map(drop).map_err(io_error("make a folder in", parent))
}

/// Writes the files to a temporary folder in `parent`; error messages name `target`, the final folder.
fn write_temporary(parent: &Path, target: &Path, files: &[ResultFile]) -> Result<Scratch, FolderError> {
    let scratch = Scratch::new(parent).map_err(io_error("make a folder in", parent))?;
    for file in files.iter().chain([&manifest(files)]) {
        write_new(&scratch.path().join(&file.name), file).map_err(io_error("write", &target.join(&file.name)))?;
    }
    Ok(scratch)
}

fn write_new(path: &Path, file: &ResultFile) -> io::Result<()> {
    file.write_into(File::create_new(path)?)
}

fn rename_to_first_free(from: &mut Scratch, parent: &Path, stem: &str) -> Result<PathBuf, FolderError> {
    let mut number = 1;
    loop {
        let path = parent.join(format!("{stem}-{number}"));
        if !path.exists() {
            match from.rename(&path) {
                Ok(()) => return Ok(path),
                // Another run was faster; a rename never replaces a folder that is not empty.
                Err(_) if path.exists() => {}
                Err(source) => return Err(io_error("rename the results to", &path)(source)),
            }
        }
        number += 1;
    }
}

/// Replaces the result files of an earlier run in an existing folder.
fn refill(folder: &Path, files: &[ResultFile]) -> Result<(), FolderError> {
    let written = write_temporary(folder, folder, files)?;
    // The mark is removed first and the manifest last, so that a process that is killed in between leaves no complete result, and the next
    // process can still identify the result files.
    let mut old: Vec<String> = result_names(folder)?.into_iter().filter(|name| name != MANIFEST && name != COMPLETION_FILE).collect();
    old.insert(0, COMPLETION_FILE.to_owned());
    old.push(MANIFEST.to_owned());
    for name in old {
        let old = folder.join(name);
        match fs::remove_file(&old) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(io_error("replace", &old)(source)),
            _ => {}
        }
    }
    let (mark, others): (Vec<_>, Vec<_>) = files.iter().partition(|f| f.name == COMPLETION_FILE);
    let manifest = manifest(files);
    for file in [&manifest].into_iter().chain(others).chain(mark) {
        let target = folder.join(&file.name);
        fs::rename(written.path().join(&file.name), &target).map_err(io_error("rename the results to", &target))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(stats: &str) -> Vec<ResultFile> {
        vec![ResultFile::new("stats.json", stats), ResultFile::new("summary.txt", format!("of {stats}"))]
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_appears_with_all_files_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a/b");
        let written = Destination::folder(&out, false).unwrap().write(&files("1")).unwrap();
        assert_eq!(written, out);
        assert_eq!(names(&out), [MANIFEST, "stats.json", "summary.txt"]);
        assert_eq!(names(&root.path().join("a")), ["b"]);
    }

    #[test]
    fn a_dropped_destination_leaves_no_files() {
        let root = tempfile::tempdir().unwrap();
        Destination::folder(&root.path().join("x"), false).unwrap();
        Destination::numbered(root.path(), "tiny-vecadd").unwrap();
        assert_eq!(names(root.path()), [""; 0]);
    }

    #[test]
    fn numbered_folders_count_up_and_never_replace_anything() {
        let root = tempfile::tempdir().unwrap();
        let destination = Destination::numbered(root.path(), "tiny-vecadd").unwrap();
        destination.write(&files("1")).unwrap();
        destination.write(&files("2")).unwrap();
        assert_eq!(names(root.path()), ["tiny-vecadd-1", "tiny-vecadd-2"]);
        assert_eq!(fs::read_to_string(root.path().join("tiny-vecadd-1/stats.json")).unwrap(), "1");
    }

    #[test]
    fn results_of_an_earlier_run_are_replaced_whole() {
        let root = tempfile::tempdir().unwrap();
        let mut first = files("1");
        first.push(ResultFile::new("timeline.csv", "old"));
        Destination::folder(root.path(), false).unwrap().write(&first).unwrap();
        Destination::folder(root.path(), false).unwrap().write(&files("2")).unwrap();
        assert_eq!(names(root.path()), [MANIFEST, "stats.json", "summary.txt"]);
        assert_eq!(fs::read_to_string(root.path().join("summary.txt")).unwrap(), "of 2");
    }

    #[test]
    fn a_folder_with_other_files_is_refused_and_with_force_they_stay() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("thesis.tex"), "mine").unwrap();
        let error = Destination::folder(root.path(), false).unwrap_err().to_string();
        assert!(error.contains("thesis.tex") && error.contains("--force"), "{error}");
        Destination::folder(root.path(), true).unwrap().write(&files("1")).unwrap();
        assert_eq!(names(root.path()), [MANIFEST, "stats.json", "summary.txt", "thesis.tex"]);
    }

    #[test]
    fn remains_of_a_killed_run_are_replaced() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".warpshard-abc.partial")).unwrap();
        Destination::folder(root.path(), false).unwrap().write(&files("1")).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("stats.json")).unwrap(), "1");
    }

    #[test]
    fn a_folder_has_one_writer_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let new = root.path().join("new");
        for path in [root.path(), &new] {
            let first = Destination::folder(path, true).unwrap();
            let error = Destination::folder(path, true).unwrap_err();
            let process = format!("(process {})", std::process::id());
            assert!(matches!(error, FolderError::InUse { .. }) && error.to_string().contains(&process), "{error}");
            first.write(&files("1")).unwrap();
            drop(first);
            Destination::folder(path, true).unwrap();
        }
    }

    #[test]
    fn a_known_name_without_a_manifest_is_foreign() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("summary.txt"), "of my thesis").unwrap();
        assert!(matches!(Destination::folder(root.path(), false), Err(FolderError::ForeignFile { .. })));
    }

    #[test]
    fn an_interrupted_replacement_is_repeated() {
        let root = tempfile::tempdir().unwrap();
        Destination::folder(root.path(), false).unwrap().write(&files("1")).unwrap();
        fs::remove_file(root.path().join(COMPLETION_FILE)).unwrap();
        Destination::folder(root.path(), false).unwrap().write(&files("2")).unwrap();
        assert_eq!(names(root.path()), [MANIFEST, "stats.json", "summary.txt"]);
    }

    #[test]
    fn a_parent_that_is_a_file_is_an_error_before_the_run() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(Destination::folder(&file.join("out"), false), Err(FolderError::Io { .. })));
        assert!(matches!(Destination::folder(&file, false), Err(FolderError::Io { .. })));
        assert!(matches!(Destination::numbered(&file, "x"), Err(FolderError::Io { .. })));
    }

    #[test]
    fn a_write_that_fails_leaves_the_earlier_result_and_no_temporary_folder() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        let destination = Destination::folder(&out, false).unwrap();
        destination.write(&files("1")).unwrap();
        let mut broken = files("2");
        broken.push(ResultFile::new("missing/folder.csv", String::new()));
        assert!(matches!(destination.write(&broken), Err(FolderError::Io { action: "write", .. })));
        assert_eq!(names(&out), [MANIFEST, "stats.json", "summary.txt"]);
        assert_eq!(fs::read_to_string(out.join("stats.json")).unwrap(), "1");
    }

    #[test]
    fn a_write_that_fails_on_a_new_folder_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let destination = Destination::folder(&root.path().join("out"), false).unwrap();
        let mut broken = files("1");
        broken.push(ResultFile::new("missing/folder.csv", String::new()));
        destination.write(&broken).unwrap_err();
        drop(destination);
        assert_eq!(names(root.path()), [""; 0]);
    }
}
