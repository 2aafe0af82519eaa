//! The values of `run.toml` that differ between runs.

use std::collections::BTreeMap;

use super::super::RunFolder;
use super::Difference;

/// Settings that do not affect results, and the path of a trace. The epoch of a relaxed run is among its options.
const NO_EFFECT_KEYS: [&str; 6] = ["run.threads", "run.pin", "run.epoch", "run.version", "run.commit", "run.workload.trace_path"];

/// Returns the keys whose values differ: keys of the machine in the order of its file, then keys of the run.
pub(super) fn differences(runs: &[RunFolder]) -> Vec<Difference> {
    let sides: Vec<Vec<(String, String)>> = runs.iter().map(values).collect();
    let maps: Vec<BTreeMap<&str, &str>> =
        sides.iter().map(|side| side.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()).collect();
    let mut keys: Vec<&str> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for (key, _) in sides.iter().flatten() {
        if known.insert(key.as_str()) {
            keys.push(key);
        }
    }
    let row = |key: &str| Difference {
        key: key.to_owned(),
        values: maps.iter().map(|map| map.get(key).map(|&value| value.to_owned())).collect(),
    };
    let differs = |difference: &Difference| difference.values.windows(2).any(|pair| pair[0] != pair[1]);
    keys.into_iter().map(row).filter(differs).collect()
}

/// Returns all values of a run with their keys.
fn values(run: &RunFolder) -> Vec<(String, String)> {
    let mut values = Vec::new();
    flatten("", &run.configuration, &mut values);
    if let Some(epoch) = run.stats.number(&["relaxed", "epoch_cycles"]) {
        values.push(("run.relaxed_epoch".into(), epoch.to_string()));
    }
    values
}

fn flatten(prefix: &str, table: &toml::Table, values: &mut Vec<(String, String)>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            toml::Value::Table(table) => flatten(&key, table, values),
            _ if NO_EFFECT_KEYS.contains(&key.as_str()) => {}
            toml::Value::String(text) => values.push((key, text.clone())),
            other => values.push((key, other.to_string())),
        }
    }
}
