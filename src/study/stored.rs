//! Tests of stored results: every folder in `docs/validation/results` names the build that made it, and one cheap row of it is simulated
//! again, so that results that the program no longer gives are noticed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::lab::Lab;
use super::lab::request::Request;
use super::sampling;
use super::wa_sched::onac;

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
type Rerun = fn(&[&str]) -> String;

/// The folders, each with what simulates its row.
const FOLDERS: &[(&str, Rerun)] = &[("onac-quick", sample), ("sampling", |_| sampling::first_run().unwrap())];

fn sample(cells: &[&str]) -> String {
    onac::first_sample(cells[0], &Request::default(), &Lab::new(None)).unwrap()
}

fn folders() -> Vec<PathBuf> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/validation/results");
    fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn read(folder: &Path) -> Stored {
    let file = folder.join("build.toml");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn every_stored_folder_names_its_build_and_command_and_has_a_row_that_is_simulated_again() {
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let stored = read(&folder);
        assert!(stored.build.contains("commit ") && stored.command.starts_with("warpshard study "), "{name}: {stored:?}");
        assert!(FOLDERS.iter().any(|(known, _)| *known == name), "{name}: nothing simulates a row of it again");
        let text = fs::read_to_string(folder.join(&stored.again.file)).unwrap();
        assert!(
            text.lines().any(|line| line.starts_with(&stored.again.row)),
            "{name}: {} has no row {}",
            stored.again.file,
            stored.again.row
        );
    }
    assert_eq!(folders().len(), FOLDERS.len());
}

#[test]
fn a_row_of_every_stored_folder_is_what_the_program_gives_now() {
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let (Stored { again, .. }, Some((_, rerun))) = (read(&folder), FOLDERS.iter().find(|(known, _)| *known == name)) else {
            panic!("{name}: nothing simulates a row of it again");
        };
        let cells: Vec<&str> = again.row.split(',').collect();
        assert_eq!(rerun(&cells), again.row, "{name} is stale: make it again, or withdraw it");
    }
}
