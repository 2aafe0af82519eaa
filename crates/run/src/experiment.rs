//! A check that a result folder does not hold the results of a different experiment.
//!
//! Inputs: the folder, and the `run.toml` of the run. An experiment is a machine, a workload and settings, by their values; it excludes
//! threads, builds and everything else that does not affect results. Of the machine only keys in both files are compared, so that a folder
//! of an earlier build, which lacks a new key, holds the same experiment.

use std::collections::BTreeMap;
use std::path::Path;

use warpshard_config::input;
use warpshard_report::FolderError;

/// Settings of `[run]` that do not affect results. A trace file is compared by its absolute path instead of its given path.
const NO_EFFECT_KEYS: [&str; 5] = ["run.threads", "run.pin", "run.version", "run.commit", "run.workload.trace"];

/// Maximum number of differences that an error lists.
const MAX_LISTED: usize = 3;

/// Checks that `folder`, if it holds results, holds results of the experiment of `run_toml`. If the run was `resumed`, `--max-cycles` may
/// differ.
///
/// # Errors
/// Fails if the folder holds results of another experiment; the error lists the differences.
pub fn check_experiment(folder: &Path, run_toml: &str, resumed: bool) -> Result<(), FolderError> {
    let another = |found: String| Err(FolderError::OtherExperiment { folder: folder.to_owned(), found });
    // The code that opens the folder rejects all other contents.
    if !folder.join("stats.json").is_file() {
        return Ok(());
    }
    let Ok(text) = input::read_result_text(&folder.join("run.toml")) else { return another("they are not results of a run".into()) };
    let Some(theirs) = values(&text) else { return another("its run.toml cannot be read".into()) };
    let ours = values(run_toml).unwrap_or_default();
    let differences = differences(&theirs, &ours, resumed);
    if differences.is_empty() {
        return Ok(());
    }
    let more = differences.len().saturating_sub(MAX_LISTED);
    let listed = differences.into_iter().take(MAX_LISTED).collect::<Vec<_>>().join(", ");
    another(listed + &if more > 0 { format!(", and {more} more") } else { String::new() })
}

/// Checks that `folder`, if it holds results, holds results of the study `name`; with an empty name, that it holds neither a run nor a
/// study.
///
/// # Errors
/// Fails if the folder holds other results.
pub fn check_study(folder: &Path, name: &str) -> Result<(), FolderError> {
    let Ok(text) = input::read_result_text(&folder.join("stats.json")) else { return Ok(()) };
    let stats: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let found = match stats.get("study").and_then(serde_json::Value::as_str) {
        Some(study) if study == name => return Ok(()),
        Some(study) => format!("the study {study}"),
        None => "they are results of a run".into(),
    };
    Err(FolderError::OtherExperiment { folder: folder.to_owned(), found })
}

fn differences(theirs: &BTreeMap<String, String>, ours: &BTreeMap<String, String>, resumed: bool) -> Vec<String> {
    let relaxed = [theirs, ours].iter().any(|side| side.get("run.relaxed").is_some_and(|relaxed| relaxed == "true"));
    let counts = |key: &str| match key {
        "run.epoch" => relaxed,
        "run.max_cycles" => !resumed,
        _ => !NO_EFFECT_KEYS.contains(&key),
    };
    let keys = theirs.keys().chain(ours.keys().filter(|key| !theirs.contains_key(*key)));
    let word = |value: Option<&String>| value.map_or_else(|| "not set".to_owned(), Clone::clone);
    let differs = |key: &&String| {
        let (theirs, ours) = (theirs.get(*key), ours.get(*key));
        counts(key) && theirs != ours && (key.starts_with("run.") || theirs.is_some() && ours.is_some())
    };
    let line = |key: &String| format!("{key} is {} in the folder and {} in this run", word(theirs.get(key)), word(ours.get(key)));
    keys.filter(differs).map(line).collect()
}

/// Returns the values of a `run.toml` by key; `None` if the text is not TOML.
fn values(text: &str) -> Option<BTreeMap<String, String>> {
    let mut values = BTreeMap::new();
    flatten("", &text.parse().ok()?, &mut values);
    Some(values)
}

fn flatten(prefix: &str, table: &toml::Table, values: &mut BTreeMap<String, String>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            toml::Value::Table(table) => flatten(&key, table, values),
            other => {
                values.insert(key, other.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const RUN_TOML: &str =
        "name = \"tiny\"\n[gpu]\nsms = 4\n[run]\nversion = \"1\"\nthreads = 1\nseed = 1\n[run.workload]\nname = \"vecadd\"\n";

    fn refused(old: &str, new: &str, resumed: bool) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("stats.json"), "{}").unwrap();
        fs::write(folder.path().join("run.toml"), old).unwrap();
        check_experiment(folder.path(), new, resumed).err().map(|error| error.to_string())
    }

    #[test]
    fn another_machine_workload_or_setting_is_another_experiment_and_a_new_build_is_not() {
        for (from, to, expected) in [
            ("sms = 4", "sms = 8", "gpu.sms is 4 in the folder and 8 in this run"),
            ("seed = 1", "seed = 2", "run.seed is 1 in the folder and 2 in this run"),
            ("\"vecadd\"", "\"stream\"", "run.workload.name is \"vecadd\" in the folder and \"stream\" in this run"),
            ("seed = 1", "seed = 1\nmax_cycles = 9", "run.max_cycles is not set in the folder and 9 in this run"),
        ] {
            let found = refused(RUN_TOML, &RUN_TOML.replace(from, to), false).unwrap();
            assert!(
                found.contains("holds the results of another experiment") && found.contains(expected) && found.contains("--force"),
                "{found}"
            );
        }
        for (from, to) in [("threads = 1", "threads = 2"), ("version = \"1\"", "version = \"2\""), ("sms = 4", "sms = 4\nnew_key = 1")] {
            assert_eq!(refused(RUN_TOML, &RUN_TOML.replace(from, to), false), None, "{to}");
        }
        let longer = RUN_TOML.replace("seed = 1", "seed = 1\nmax_cycles = 9");
        assert_eq!(refused(RUN_TOML, &longer, true), None);
        let epoch = RUN_TOML.replace("seed = 1", "seed = 1\nrelaxed = true\nepoch = 80");
        assert!(refused(&epoch, &epoch.replace("80", "90"), false).is_some());
    }

    #[test]
    fn empty_and_missing_folders_hold_no_experiment() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            check_experiment(folder.path(), RUN_TOML, false).is_ok()
                && check_experiment(&folder.path().join("new"), RUN_TOML, false).is_ok()
        );
        fs::write(folder.path().join("stats.json"), "{}").unwrap();
        assert!(check_experiment(folder.path(), RUN_TOML, false).unwrap_err().to_string().contains("they are not results of a run"));
        fs::write(folder.path().join("stats.json"), "{\"study\": \"noc\"}").unwrap();
        assert!(check_study(folder.path(), "noc").is_ok());
        assert!(check_study(folder.path(), "dram").unwrap_err().to_string().contains("the study noc"));
    }
}
