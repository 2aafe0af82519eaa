//! The keys of the tables `system.kinds.NAME`, which describe other kinds of GPUs in a system.

use super::keys;
use super::source::Schema;

/// The table that holds them.
pub(super) const TABLE: &str = "system.kinds";

/// The keys of a kind that are no keys of a machine.
pub(super) const KIND_KEYS: [(&str, &str, &str); 2] = [
    ("gpus", "a list of numbers, such as [2, 3]", "The GPUs of the kind. GPU 0 is what the rest of the file describes."),
    ("extends", "a text", "The machine whose values hold where this table gives none; those of the rest of the file where it is left out."),
];

/// Whether a key describes a GPU, and not what a system has once.
pub(super) fn is_of_gpu(key: &str) -> bool {
    !matches!(key, "name" | "decision_latency") && !["system.", "cpu.", "energy."].iter().any(|table| key.starts_with(table))
}

/// The keys that the table of a kind may have.
pub(super) fn schema() -> Schema {
    let own = KIND_KEYS.iter().map(|(key, ..)| *key);
    Schema { keys: own.chain(keys::all().map(|key| key.path).filter(|key| is_of_gpu(key))).collect(), foreign: Vec::new(), nested: None }
}
