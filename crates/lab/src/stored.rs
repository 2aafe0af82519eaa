//! Results of studies that are stored with the sources: every folder names the build that generated it, and a test simulates one cheap row
//! of it again, so that outdated results are noticed.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// Contents of the file `build.toml` of a folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    build: String,
    command: String,
    again: RerunRow,
}

/// The row that a test simulates again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RerunRow {
    file: String,
    row: String,
}

/// A function that simulates a row of a folder again: it takes the cells of the row, and returns the row with simulated values.
pub type Rerun = fn(&[&str]) -> String;

/// Checks, for tests, that `results` has exactly the folders in `known`, that each folder names its build and command, and that the row
/// named in `build.toml` equals the result of this build.
///
/// # Panics
/// Panics if a check fails.
pub fn check_stored(results: &Path, known: &[(&str, Rerun)]) {
    let folders: Vec<_> =
        fs::read_dir(results).expect("there are stored results").map(|entry| entry.expect("it is there").path()).collect();
    assert_eq!(folders.len(), known.len(), "left: folders of {}, right: those that are simulated again", results.display());
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{name}/{file}: {error}"));
        let stored: Stored = toml::from_str(&read("build.toml")).unwrap_or_else(|error| panic!("{name}/build.toml: {error}"));
        assert!(stored.build.contains("commit ") && stored.command.starts_with("warpshard study "), "{name}: {stored:?}");
        let RerunRow { file, row } = stored.again;
        assert!(read(&file).lines().any(|line| line.starts_with(&row)), "{name}: {file} has no row {row}");
        let Some((_, rerun)) = known.iter().find(|(known, _)| *known == name) else {
            panic!("{name}: no function simulates a row of it again");
        };
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(rerun(&cells), row, "{name} is stale: make it again, or withdraw it");
    }
}
