//! Results of studies that are stored with the sources: every folder names the build that made it, and one cheap row of it is simulated
//! again, so that results that the program no longer gives are noticed.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// `build.toml` of a folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    build: String,
    command: String,
    again: Again,
}

/// The row that is simulated again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Again {
    file: String,
    row: String,
}

/// What simulates the row of a folder again: from the cells of the row, the same row as the program gives it now.
pub type Rerun = fn(&[&str]) -> String;

/// For tests: checks that `results` has the folders of `known` and no others, that each names its build and command, and that the row which
/// `build.toml` names is what the program gives now.
///
/// # Panics
/// When one of these does not hold.
pub fn check_stored(results: &Path, known: &[(&str, Rerun)]) {
    let folders: Vec<_> =
        fs::read_dir(results).expect("there are stored results").map(|entry| entry.expect("it is there").path()).collect();
    assert_eq!(folders.len(), known.len(), "left: folders of {}, right: those that are simulated again", results.display());
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{name}/{file}: {error}"));
        let stored: Stored = toml::from_str(&read("build.toml")).unwrap_or_else(|error| panic!("{name}/build.toml: {error}"));
        assert!(stored.build.contains("commit ") && stored.command.starts_with("warpshard study "), "{name}: {stored:?}");
        let Again { file, row } = stored.again;
        assert!(read(&file).lines().any(|line| line.starts_with(&row)), "{name}: {file} has no row {row}");
        let Some((_, rerun)) = known.iter().find(|(known, _)| *known == name) else {
            panic!("{name}: nothing simulates a row of it again");
        };
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(rerun(&cells), row, "{name} is stale: make it again, or withdraw it");
    }
}
