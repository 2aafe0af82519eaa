//! The result folder: complete or not there.
//!
//! Files are written to a temporary folder on the same file system and then renamed. In an existing folder the old
//! `stats.json` is removed first and the new one comes last: whoever finds a `stats.json` finds every other file of the same
//! run. From before the run until its results are written, a lock keeps other processes from the same folder. Files are not
//! flushed to the disk: flushing would take longer than many runs, which can be repeated after a power failure.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lock::Lock;
use super::scratch::{self, Scratch};

/// Where a file is written to.
pub type Target<'a> = &'a mut (dyn Write + Send);

/// Writes the contents of a file, the same bytes at each call.
type Writing = dyn Fn(Target<'_>) -> io::Result<()> + Send + Sync;

/// A file of a result folder.
#[derive(Clone)]
pub struct ResultFile {
    /// Its name, without folders.
    pub name: String,
    contents: Contents,
}

#[derive(Clone)]
enum Contents {
    Bytes(Arc<[u8]>),
    Written(Arc<Writing>),
}

impl ResultFile {
    /// A file `name` with `contents`.
    pub fn new(name: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), contents: Contents::Bytes(contents.into().into()) }
    }

    /// A file `name` that is large: `writing` writes its contents, the same bytes at each call, so that they are never in memory as a whole.
    pub fn written(name: impl Into<String>, writing: impl Fn(Target<'_>) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), contents: Contents::Written(Arc::new(writing)) }
    }

    /// Writes the contents.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_to(&self, to: Target<'_>) -> io::Result<()> {
        match &self.contents {
            Contents::Bytes(bytes) => to.write_all(bytes),
            Contents::Written(writing) => writing(to),
        }
    }

    /// Writes the contents into a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_into(&self, file: File) -> io::Result<()> {
        let mut to = BufWriter::with_capacity(1 << 16, file);
        self.write_to(&mut to)?;
        to.flush()
    }

    /// The contents, all in memory.
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

/// Of name and contents.
impl PartialEq for ResultFile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.contents() == other.contents()
    }
}

impl Eq for ResultFile {}

/// The file that lists the names of all files of a result, one per line: a folder with anything else in it is not
/// overwritten unless forced.
const MANIFEST: &str = ".warpshard-files";

/// What `warpshard timeline` and `warpshard report` add to a result later; version 0.1 wrote bitmaps, too.
const ADDED_LATER: [&str; 5] = ["timeline.svg", "timeline.png", "owners.svg", "owners.png", "report.html"];

/// The file whose presence says that a result is complete.
const MARK: &str = "stats.json";

/// Why results cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder holds files that no run has written.
    #[error("{} holds {found:?}, which is not a result of a run; choose another folder, empty this one, or add --force to `warpshard run` to keep its files and add the results", .folder.display())]
    NotOurs {
        /// The folder.
        folder: PathBuf,
        /// A file in it.
        found: String,
    },
    /// The folder holds the results of another experiment.
    #[error("{} holds the results of another experiment: {found}; choose another folder, empty this one, or add --force to `warpshard run` to replace the results", .folder.display())]
    Another {
        /// The folder.
        folder: PathBuf,
        /// How that experiment differs.
        found: String,
    },
    /// Another process is going to write there.
    #[error("{} is in use by another run{}; wait until it has ended, or choose another folder with --out", .folder.display(), process(*.holder))]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The number of that process, where it is known.
        holder: Option<u32>,
    },
    /// The system refused.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

fn process(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |number| format!(" (process {number})"))
}

/// Where a run's results go. Made before the run, so that what cannot work fails before hours of simulation.
#[derive(Debug)]
pub struct Destination {
    target: Place,
}

#[derive(Debug)]
enum Place {
    /// This folder and no other, which nobody else uses meanwhile.
    Folder {
        path: PathBuf,
        force: bool,
        /// Whether the folder existed before the run; the lock is then inside of it, otherwise next to it.
        existed: bool,
        _lock: Lock,
    },
    /// The first of `STEM-1`, `STEM-2`, ... that does not exist.
    Numbered { parent: PathBuf, stem: String },
}

impl Destination {
    /// The folder `path`, which is made with its parents where it does not exist. An existing one must be empty, or hold
    /// the results of an earlier run, which are replaced; with `force` it may hold anything, and other files stay.
    ///
    /// # Errors
    /// When another process has the same destination, the folder holds other files, or nothing can be written there.
    pub fn folder(path: &Path, force: bool) -> Result<Self, FolderError> {
        let existed = path.exists();
        let lock = if existed {
            if !force {
                refuse_foreign(path)?;
            }
            let lock = lock_inside(path)?;
            try_writing(path)?;
            scratch::sweep(&make_parent(path)?);
            lock
        } else {
            let parent = make_parent(path)?;
            // The name may be as long as the system allows, so that the lock is named by its checksum.
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let lock = lock(path, &scratch::lock_path(&parent, &format!("{:08x}", crc32fast::hash(name))))?;
            try_writing(&parent)?;
            lock
        };
        Ok(Self { target: Place::Folder { path: path.to_owned(), force, existed, _lock: lock } })
    }

    /// The first free one of `parent/STEM-1`, `parent/STEM-2` and so on, chosen when the results are written.
    ///
    /// # Errors
    /// When nothing can be written into `parent`.
    pub fn numbered(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        fs::create_dir_all(parent).map_err(io_error("make the folder", parent))?;
        try_writing(parent)?;
        Ok(Self { target: Place::Numbered { parent: parent.to_owned(), stem: stem.to_owned() } })
    }

    /// Writes the files and returns the folder in which they are.
    ///
    /// # Errors
    /// When the system refuses anything, a full disk included; an earlier result in the folder is then unchanged, unless
    /// the renaming itself failed.
    pub fn write(&self, files: &[ResultFile]) -> Result<PathBuf, FolderError> {
        match &self.target {
            Place::Folder { path, force, existed, .. } if path.exists() => {
                if !force {
                    refuse_foreign(path)?;
                }
                // Somebody else may have made the folder meanwhile; its own lock is then still to be taken.
                let _lock = if *existed { None } else { Some(lock_inside(path)?) };
                refill(path, files)?;
                Ok(path.clone())
            }
            Place::Folder { path, .. } => {
                let mut written = write_temporary(&make_parent(path)?, path, files)?;
                written.rename(path).map_err(io_error("rename the results to", path))?;
                Ok(path.clone())
            }
            Place::Numbered { parent, stem } => {
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
    let taken = Lock::take(file).map_err(io_error("write into", folder))?;
    taken.ok_or_else(|| FolderError::InUse { folder: folder.to_owned(), holder: Lock::holder(file) })
}

/// The lock of a folder that exists.
fn lock_inside(folder: &Path) -> Result<Lock, FolderError> {
    lock(folder, &scratch::lock_path(folder, "run"))
}

/// The folder that `path` is to be made in, which is made where it does not exist.
fn make_parent(path: &Path) -> Result<PathBuf, FolderError> {
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
    let ours = ours(folder)?;
    match names.into_iter().find(|name| !scratch::is_temporary(name) && !ours.contains(name)) {
        Some(found) => Err(FolderError::NotOurs { folder: folder.to_owned(), found }),
        None => Ok(()),
    }
}

/// The names of the files of the result that a folder holds; none without its manifest, whatever else is there.
fn ours(folder: &Path) -> Result<Vec<String>, FolderError> {
    let path = folder.join(MANIFEST);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().chain([MANIFEST]).chain(ADDED_LATER).map(str::to_owned).collect()),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(io_error("read", &path)(source)),
    }
}

/// The manifest of `files`.
fn manifest(files: &[ResultFile]) -> ResultFile {
    let lines: String = files.iter().map(|file| format!("{}\n", file.name)).collect();
    ResultFile::new(MANIFEST, lines)
}

fn try_writing(parent: &Path) -> Result<(), FolderError> {
    Scratch::new(parent).map(drop).map_err(io_error("make a folder in", parent))
}

/// The files in a temporary folder in `parent`; `target` is where they are meant to go.
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
                // Another run was faster; a folder that is not empty is never replaced by renaming.
                Err(_) if path.exists() => {}
                Err(source) => return Err(io_error("rename the results to", &path)(source)),
            }
        }
        number += 1;
    }
}

/// Replaces what an existing folder holds of an earlier run.
fn refill(folder: &Path, files: &[ResultFile]) -> Result<(), FolderError> {
    let written = write_temporary(folder, folder, files)?;
    // The mark is removed first and the manifest last, so that a process that is killed in between leaves no complete result
    // and the next one knows which files are its own.
    let mut old: Vec<String> = ours(folder)?.into_iter().filter(|name| name != MANIFEST && name != MARK).collect();
    old.insert(0, MARK.to_owned());
    old.push(MANIFEST.to_owned());
    for name in old {
        let old = folder.join(name);
        match fs::remove_file(&old) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(io_error("replace", &old)(source)),
            _ => {}
        }
    }
    let (mark, others): (Vec<_>, Vec<_>) = files.iter().partition(|f| f.name == MARK);
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
    fn preparing_leaves_nothing_behind() {
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
    fn what_a_killed_run_left_in_a_folder_is_no_obstacle() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".warpshard-abc.partial")).unwrap();
        Destination::folder(root.path(), false).unwrap().write(&files("1")).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("stats.json")).unwrap(), "1");
    }

    #[test]
    fn a_folder_has_one_writer_at_a_time_whether_it_exists_or_not() {
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
    fn a_familiar_name_without_a_manifest_is_not_ours() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("summary.txt"), "of my thesis").unwrap();
        assert!(matches!(Destination::folder(root.path(), false), Err(FolderError::NotOurs { .. })));
    }

    #[test]
    fn a_refilling_that_was_interrupted_is_begun_again() {
        let root = tempfile::tempdir().unwrap();
        Destination::folder(root.path(), false).unwrap().write(&files("1")).unwrap();
        fs::remove_file(root.path().join(MARK)).unwrap();
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
