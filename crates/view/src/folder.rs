//! Reading of result folders.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use warpshard_config::input;
use warpshard_report::SCHEMA_VERSION;
use warpshard_report::metrics::{MemoryLevel, memory_levels_by};

/// Reasons for which a result folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The folder contains no results.
    #[error("{} is not a result folder: it has no stats.json; give a folder that `warpshard run` or a sweep has written", .0.display())]
    NoResult(PathBuf),
    /// A system call failed.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The contents of a file are not valid.
    #[error("{}: {problem}", .path.display())]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
}

/// The simulation results of a run: `stats.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats(pub Value);

impl Stats {
    /// Reads `stats.json` of a result folder.
    ///
    /// # Errors
    /// Fails if the folder is no result folder, or this version did not write the file.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        let path = folder.join("stats.json");
        let text = match input::read_result_text(&path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(ReadError::NoResult(folder.to_owned()));
            }
            read => read.map_err(|source| ReadError::Io { path: path.clone(), source })?,
        };
        let invalid = |problem: String| ReadError::Invalid { path: path.clone(), problem };
        let stats: Value = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        match stats.get("schema_version").and_then(Value::as_u64) {
            Some(version) if (1..=u64::from(SCHEMA_VERSION)).contains(&version) => Ok(Self(stats)),
            Some(version) => Err(invalid(format!("has layout {version}, and this program reads layouts 1 to {SCHEMA_VERSION}"))),
            None => Err(invalid("has no \"schema_version\", so that no run has written it".into())),
        }
    }

    /// Returns the value at a path of names: `["total", "cycles"]`.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        at(&self.0, path)
    }

    /// Returns a text at the top level, or an empty text if the key is absent.
    pub fn text(&self, key: &str) -> &str {
        self.at(&[key]).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the number at a path of names.
    pub fn number(&self, path: &[&str]) -> Option<f64> {
        self.at(path)?.as_f64()
    }

    /// Returns the count at a path of names.
    pub fn count(&self, path: &[&str]) -> Option<u64> {
        self.at(path)?.as_u64()
    }

    /// Returns the object at a path of names.
    pub fn object(&self, path: &[&str]) -> Option<&Map<String, Value>> {
        self.at(path)?.as_object()
    }

    /// Returns the kernels in launch order.
    pub fn kernels(&self) -> &[Value] {
        self.at(&["kernels"]).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the levels of the memory hierarchy. Results of earlier builds lack the burst size, so that their DRAM level has no bytes.
    pub fn memory_levels(&self) -> Vec<MemoryLevel> {
        let kernel = |name: &str| self.count(&["total", "counters", name]);
        let component = |kind: &str, name: &str| self.count(&["components", kind, "total", name]);
        memory_levels_by(&kernel, &component, self.count(&["dram_burst_bytes"]).unwrap_or(0))
    }
}

/// The results of a run with its configuration.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// Path of the folder.
    pub path: PathBuf,
    /// `stats.json`.
    pub stats: Stats,
    /// `run.toml`: every value of the machine and the run.
    pub configuration: toml::Table,
}

impl RunFolder {
    /// Reads `stats.json` and `run.toml` of a result folder.
    ///
    /// # Errors
    /// Fails if the folder is no result folder, or this version did not write its files.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        let stats = Stats::read(folder)?;
        let path = folder.join("run.toml");
        let text = input::read_result_text(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?;
        let configuration = toml::from_str(&text);
        let configuration = configuration.map_err(|error| ReadError::Invalid { path, problem: error.to_string().trim_end().to_owned() })?;
        Ok(Self { path: folder.to_owned(), stats, configuration })
    }

    /// Returns the text of a file of the folder; `None` if the run wrote no such file.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn file(&self, name: &str) -> Result<Option<String>, ReadError> {
        let path = self.path.join(name);
        match input::read_result_text(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ReadError::Io { path, source }),
        }
    }
}

/// Returns the value at a path of names.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_invalid_result_folder_is_rejected_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let read = || RunFolder::read(folder.path()).unwrap_err().to_string();
        assert!(read().contains("has no stats.json"));
        for (text, expected) in [
            ("{", "EOF while parsing"),
            ("{}", "no \"schema_version\""),
            (r#"{"schema_version": 99}"#, "has layout 99, and this program reads layouts 1 to 2"),
            (r#"{"schema_version": 1}"#, "cannot read"),
        ] {
            fs::write(folder.path().join("stats.json"), text).unwrap();
            assert!(read().contains(expected), "{text}: {}", read());
        }
        fs::write(folder.path().join("run.toml"), "a = [").unwrap();
        assert!(read().contains("run.toml: TOML parse error"), "{}", read());
        fs::write(folder.path().join("run.toml"), "").unwrap();
        assert_eq!(RunFolder::read(folder.path()).unwrap().stats.kernels().len(), 0);
    }
}
