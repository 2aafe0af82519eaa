//! The key reference of `docs/machines.md`, generated from the declarations of the keys.

use super::keys::{self, Key};
use super::kind_keys;
use super::resolve::FILE_KEYS;
use super::value::ValueKind;

/// Returns all keys as Markdown tables, one for each table of a machine file.
pub fn key_reference() -> String {
    let mut text = String::from("### At the top of the file\n\n");
    text += TABLE_HEAD;
    for (name, doc) in FILE_KEYS {
        text += &format!("| `{name}` | a string | none | {doc} | |\n");
    }
    let mut table = "";
    for key in keys::all() {
        if key.table() != table {
            table = key.table();
            text += &format!("\n### `[{table}]`\n\n{TABLE_HEAD}");
        }
        text += &key_row(key);
    }
    text += &format!(
        "\n### `[{}.NAME]`\n\nAll keys of a GPU (the tables above except `cpu`, `energy` and `system`), and:\n\n{TABLE_HEAD}",
        kind_keys::KINDS_TABLE
    );
    for (name, takes, doc) in kind_keys::KIND_KEYS {
        let default = if name == "gpus" { "required" } else { "none" };
        text += &format!("| `{name}` | {takes} | {default} | {doc} | |\n");
    }
    text
}

const TABLE_HEAD: &str = "| key | takes | default | meaning | in Accel-Sim |\n|---|---|---|---|---|\n";

fn key_row(key: &Key) -> String {
    let default = match (key.default, key.when) {
        (Some(default), _) => format!("`{default}`"),
        (None, _) if key.path == "name" => "the file's name".to_owned(),
        (None, Some((flag, value))) => {
            let flag = flag.rsplit('.').next().unwrap_or(flag);
            match (keys::find(key.when.map_or("", |(flag, _)| flag)).map(|flag| flag.kind), value) {
                (Some(ValueKind::Choice(choices)), _) => format!("required if `{flag} = \"{}\"`", choices[usize::from(value)].name),
                (Some(ValueKind::Count(..)), true) => format!("required if `{flag}` is above 0"),
                _ => format!("required if `{flag} = {value}`"),
            }
        }
        (None, None) => "required".to_owned(),
    };
    let takes = match key.kind {
        ValueKind::Choice(choices) => {
            let words: Vec<String> = choices.iter().map(|choice| format!("`\"{}\"` ({})", choice.name, choice.doc)).collect();
            words.join(", ")
        }
        kind => kind.describe(),
    };
    let option = key.option.unwrap_or_default();
    format!("| `{}` | {takes} | {default} | {} | {option} |\n", key.name(), key.doc)
}
