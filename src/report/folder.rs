//! The result folder: all of it or nothing.
//!
//! Files are written under a temporary name on the same file system and only then renamed. A folder that exists is refilled so
//! that `stats.json` comes last and the old one goes first: whoever finds a `stats.json` finds every other file of the same
//! run. A process killed at any moment leaves at most a temporary folder. When they get to the disk is left to the system: nine
//! flushes would cost more than many a run, and what a power cut takes of the last seconds can be simulated again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file of a result folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultFile {
    /// Its name, without folders.
    pub name: String,
    /// Its contents.
    pub contents: Vec<u8>,
}

impl ResultFile {
    /// A file `name` with `contents`.
    pub fn new(name: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), contents: contents.into() }
    }
}

/// The file that lists the names of all files of a result, one per line: a folder with anything else in it is not
/// overwritten unless forced.
const MANIFEST: &str = ".warpshard-files";

/// What `warpshard timeline` adds to a result later.
const ADDED_LATER: [&str; 2] = ["timeline.svg", "timeline.png"];

/// The file whose presence says that a result is complete.
const MARK: &str = "stats.json";

/// How the names of temporary folders begin and end; a killed process may leave one.
const PARTIAL: (&str, &str) = (".warpshard-", ".partial");

/// Why results cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder holds files that no run has written.
    #[error("{} is not empty and holds {found:?}, which is no result of a run; choose another folder or empty it; `warpshard run --force` writes beside it", .folder.display())]
    NotOurs {
        /// The folder.
        folder: PathBuf,
        /// A file in it.
        found: String,
    },
    /// The system refused.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Where a run's results go. Made before the run, so that what cannot work fails before hours of simulating.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// This folder and no other.
    Folder { path: PathBuf, force: bool },
    /// The first of `STEM-1`, `STEM-2`, ... that does not exist.
    Numbered { parent: PathBuf, stem: String },
}

impl Destination {
    /// The folder `path`, which is made with its parents where it does not exist. An existing one must be empty, or hold
    /// the results of an earlier run, which are replaced; with `force` it may hold anything, and what is not ours stays.
    ///
    /// # Errors
    /// When the folder holds other files, or nothing can be written there.
    pub fn folder(path: &Path, force: bool) -> Result<Self, FolderError> {
        if path.exists() {
            if !force {
                refuse_foreign(path)?;
            }
            try_writing(path)?;
        } else {
            try_writing(&make_parent(path)?)?;
        }
        Ok(Self { target: Target::Folder { path: path.to_owned(), force } })
    }

    /// The first free one of `parent/STEM-1`, `parent/STEM-2` and so on, settled when the results are written.
    ///
    /// # Errors
    /// When nothing can be written into `parent`.
    pub fn numbered(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        fs::create_dir_all(parent).map_err(io_error("make the folder", parent))?;
        try_writing(parent)?;
        Ok(Self { target: Target::Numbered { parent: parent.to_owned(), stem: stem.to_owned() } })
    }

    /// Writes the files and says in which folder they are.
    ///
    /// # Errors
    /// When the system refuses anything, a full disk included; an earlier result in the folder then is as it was, unless
    /// the very renaming failed.
    pub fn write(&self, files: &[ResultFile]) -> Result<PathBuf, FolderError> {
        match &self.target {
            Target::Folder { path, force } if path.exists() => {
                if !force {
                    refuse_foreign(path)?;
                }
                refill(path, files)?;
                Ok(path.clone())
            }
            Target::Folder { path, .. } => {
                let parent = make_parent(path)?;
                let written = write_temporary(&parent, files)?;
                rename(written.path(), path)?;
                forget(written);
                Ok(path.clone())
            }
            Target::Numbered { parent, stem } => {
                let written = write_temporary(parent, files)?;
                let path = rename_to_first_free(written.path(), parent, stem)?;
                forget(written);
                Ok(path)
            }
        }
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { action, path, source }
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
    let left_over = |name: &str| name.starts_with(PARTIAL.0) && name.ends_with(PARTIAL.1);
    match names.into_iter().find(|name| !left_over(name) && !ours.contains(name)) {
        Some(found) => Err(FolderError::NotOurs { folder: folder.to_owned(), found }),
        None => Ok(()),
    }
}

/// The names of the files of the result that a folder holds; none without its manifest, whatever lies there.
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

fn temporary_folder(parent: &Path) -> Result<tempfile::TempDir, FolderError> {
    let made = tempfile::Builder::new().prefix(PARTIAL.0).suffix(PARTIAL.1).tempdir_in(parent);
    made.map_err(io_error("make a folder in", parent))
}

fn try_writing(parent: &Path) -> Result<(), FolderError> {
    temporary_folder(parent)?.close().map_err(io_error("remove a folder in", parent))
}

fn write_temporary(parent: &Path, files: &[ResultFile]) -> Result<tempfile::TempDir, FolderError> {
    let folder = temporary_folder(parent)?;
    readable_by_others(folder.path())?;
    for file in files.iter().chain([&manifest(files)]) {
        write_new(&folder.path().join(&file.name), &file.contents)?;
    }
    Ok(folder)
}

/// Temporary folders are private to the user; results are as readable as the folder they lie in.
fn readable_by_others(folder: &Path) -> Result<(), FolderError> {
    let parent = folder.parent().unwrap_or(Path::new("."));
    let permissions = fs::metadata(parent).map_err(io_error("read the permissions of", parent))?.permissions();
    fs::set_permissions(folder, permissions).map_err(io_error("set the permissions of", folder))
}

fn write_new(path: &Path, contents: &[u8]) -> Result<(), FolderError> {
    let mut file = File::create_new(path).map_err(io_error("create", path))?;
    file.write_all(contents).map_err(io_error("write", path))
}

fn rename(from: &Path, to: &Path) -> Result<(), FolderError> {
    fs::rename(from, to).map_err(io_error("rename the results to", to))
}

/// Keeps a temporary folder that has got its final name from being removed under its old one.
fn forget(folder: tempfile::TempDir) {
    let _renamed = folder.keep();
}

fn rename_to_first_free(from: &Path, parent: &Path, stem: &str) -> Result<PathBuf, FolderError> {
    let mut number = 1;
    loop {
        let path = parent.join(format!("{stem}-{number}"));
        if !path.exists() {
            match fs::rename(from, &path) {
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
    let written = write_temporary(folder, files)?;
    // The mark goes first, and the manifest last, so that whoever is interrupted in between can be continued.
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
        rename(&written.path().join(&file.name), &folder.join(&file.name))?;
    }
    written.close().map_err(io_error("remove a folder in", folder))
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
        assert!(matches!(destination.write(&broken), Err(FolderError::Io { action: "create", .. })));
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
        assert_eq!(names(root.path()), [""; 0]);
    }
}
