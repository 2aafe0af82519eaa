//! The keys of the tables `system.kinds.NAME`, which describe other kinds of GPUs in a system.

use super::keys;
use super::source::Schema;

/// The table that contains the tables of all kinds.
pub(super) const KINDS_TABLE: &str = "system.kinds";

/// The keys that only the table of a kind has: name, value, meaning.
pub(super) const KIND_KEYS: [(&str, &str, &str); 2] = [
    ("gpus", "a list of numbers, such as [2, 3]", "GPUs of the kind. GPU 0 is described by the rest of the file."),
    (
        "extends",
        "a string",
        "The base machine, which provides the values that this table does not give; without it, the rest of the file provides them.",
    ),
];

/// Returns `true` if a key describes a GPU, and `false` if it describes the whole system.
pub(super) fn is_of_gpu(key: &str) -> bool {
    !matches!(key, "name" | "decision_latency") && !["system.", "cpu.", "energy."].iter().any(|table| key.starts_with(table))
}

/// Returns the keys allowed in the table of a kind.
pub(super) fn schema() -> Schema {
    let own = KIND_KEYS.iter().map(|(key, ..)| *key);
    Schema {
        keys: own.chain(keys::all().map(|key| key.path).filter(|key| is_of_gpu(key))).collect(),
        ignored_keys: Vec::new(),
        nested: None,
    }
}
