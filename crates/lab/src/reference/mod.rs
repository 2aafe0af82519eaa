//! Where measured figures and the traces that were measured come from.
//!
//! The figures are built into the packages that compare with them, so that every study runs wherever the program does. A folder that is
//! named with `--reference` takes their place, file by file, and holds the recorded traces, which are not built in.

mod table;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::error::TaskError;

pub use table::{Row, Table};

/// Where figures and recorded traces come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    folder: PathBuf,
    /// Whether tables of the folder take the place of the built-in ones.
    replaces: bool,
}

impl Default for References {
    /// The built-in figures, and the recorded traces that are there.
    fn default() -> Self {
        let folder = std::env::var_os(Self::VARIABLE).filter(|folder| !folder.is_empty());
        Self { folder: folder.map_or_else(|| Self::FOLDER.into(), PathBuf::from), replaces: false }
    }
}

impl References {
    /// The environment variable that names another folder of recorded traces than [`References::FOLDER`].
    pub const VARIABLE: &'static str = "WARPSHARD_REFERENCE";
    /// The folder of recorded traces where nothing else is named.
    pub const FOLDER: &'static str = "../shared/reference";

    /// A folder whose tables take the place of the built-in ones, as far as it has them, with its recorded traces.
    ///
    /// # Errors
    /// When there is no such folder; a message for the user.
    pub fn in_folder(folder: &Path) -> Result<Self, TaskError> {
        if folder.is_dir() {
            return Ok(Self { folder: folder.to_owned(), replaces: true });
        }
        let why = format!("--reference: there is no folder `{}`", folder.display());
        Err(format!("{why}; without the option, the built-in figures and generated traces are used").into())
    }

    /// A file or folder of the references, such as a recorded trace, if it is there.
    pub fn recorded(&self, path: &str) -> Option<PathBuf> {
        Some(self.folder.join(path)).filter(|path| path.exists())
    }

    /// The folder of recorded traces, whether or not it is there.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A table with at least these columns: the file `path` of the folder, or the built-in one, whose name and text are given.
    ///
    /// # Errors
    /// When the table cannot be read or lacks a column; a message for the user.
    pub fn table(&self, path: &str, (name, text): (&str, &str), columns: &[&str]) -> Result<Table, TaskError> {
        let own = self.replaces && self.folder.join(path).exists();
        let called = if own { self.folder.join(path).display().to_string() } else { name.to_owned() };
        Table::parse(&called, &self.text(path, text)?, columns)
    }

    /// A text: the file `path` of the folder, or the built-in one.
    ///
    /// # Errors
    /// When the file cannot be read; a message for the user.
    pub fn text<'a>(&self, path: &str, built_in: &'a str) -> Result<Cow<'a, str>, TaskError> {
        let path = self.folder.join(path);
        if !self.replaces || !path.exists() {
            return Ok(Cow::Borrowed(built_in));
        }
        let text = warpshard_config::input::read_text(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(Cow::Owned(text))
    }
}
