//! The counters of a page with their units and descriptions.

use serde::Serialize;
use serde_json::Value;

use warpshard_report::text::count;

use super::super::RunFolder;

/// The counters of one kind of component.
#[derive(Debug, Serialize)]
pub(super) struct CounterTable {
    kind: String,
    rows: Vec<[String; 4]>,
}

/// Returns the sums of all counters: first of the kernels, then of each kind of component.
pub(super) fn all(run: &RunFolder) -> Vec<CounterTable> {
    let kinds = run.stats.object(&["components"]).into_iter().flatten().map(|(kind, _)| kind.as_str());
    let kernels = std::iter::once(("kernel", vec!["total", "counters"]));
    let of_kinds = kinds.map(|kind| (kind, vec!["components", kind, "total"]));
    kernels.chain(of_kinds).filter_map(|(kind, path)| of_kind(run, kind, &path)).collect()
}

fn of_kind(run: &RunFolder, kind: &str, path: &[&str]) -> Option<CounterTable> {
    let help =
        |name: &str, what: &str| run.stats.at(&["counters", kind, name, what]).and_then(Value::as_str).unwrap_or_default().to_owned();
    let counters = run.stats.object(path)?;
    let row = |(name, value): (&String, &Value)| {
        [name.clone(), value.as_u64().map_or_else(String::new, count), help(name, "unit"), help(name, "help")]
    };
    Some(CounterTable { kind: kind.to_owned(), rows: counters.iter().map(row).collect() })
}
