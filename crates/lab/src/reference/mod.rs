//! Sources of measured figures and of the measured traces.
//!
//! The figures are compiled into the packages that compare with them, so that every study runs without further files. A folder that is
//! named with `--reference` replaces these figures, file by file, and contains the recorded traces, which are not built in.

mod table;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::error::TaskError;

pub use table::{Row, Table};

/// Sources of figures and recorded traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    folder: PathBuf,
    /// True if tables of the folder replace the built-in tables.
    replaces: bool,
}

impl Default for References {
    /// Returns the built-in figures, and the existing recorded traces.
    fn default() -> Self {
        let folder = std::env::var_os(Self::VARIABLE).filter(|folder| !folder.is_empty());
        Self { folder: folder.map_or_else(|| Self::FOLDER.into(), PathBuf::from), replaces: false }
    }
}

impl References {
    /// The environment variable that overrides [`References::FOLDER`].
    pub const VARIABLE: &'static str = "WARPSHARD_REFERENCE";
    /// The default folder of recorded traces.
    pub const FOLDER: &'static str = "../shared/reference";

    /// Returns the references of a folder: its tables replace the built-in tables of the same names, and its recorded traces are used.
    ///
    /// # Errors
    /// Fails if there is no such folder, with a message for the user.
    pub fn in_folder(folder: &Path) -> Result<Self, TaskError> {
        if folder.is_dir() {
            return Ok(Self { folder: folder.to_owned(), replaces: true });
        }
        let why = format!("--reference: there is no folder `{}`", folder.display());
        Err(format!("{why}; without the option, the built-in figures and generated traces are used").into())
    }

    /// Returns the path of a file or folder of the references, such as a recorded trace, if it exists.
    pub fn recorded(&self, path: &str) -> Option<PathBuf> {
        Some(self.folder.join(path)).filter(|path| path.exists())
    }

    /// Returns the folder of recorded traces, which may not exist.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a table with at least these columns: the file `path` of the folder, or the built-in table with the given name and text.
    ///
    /// # Errors
    /// Fails if the table cannot be read or lacks a column, with a message for the user.
    pub fn table(&self, path: &str, (name, text): (&str, &str), columns: &[&str]) -> Result<Table, TaskError> {
        let own = self.replaces && self.folder.join(path).exists();
        let called = if own { self.folder.join(path).display().to_string() } else { name.to_owned() };
        Table::parse(&called, &self.text(path, text)?, columns)
    }

    /// Returns a text: the file `path` of the folder, or the built-in text.
    ///
    /// # Errors
    /// Fails if the file cannot be read, with a message for the user.
    pub fn text<'a>(&self, path: &str, built_in: &'a str) -> Result<Cow<'a, str>, TaskError> {
        let path = self.folder.join(path);
        if !self.replaces || !path.exists() {
            return Ok(Cow::Borrowed(built_in));
        }
        let text = warpshard_config::input::read_text(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(Cow::Owned(text))
    }
}
