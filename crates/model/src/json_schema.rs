//! The JSON schema of model files, with which editors complete keys and mark errors.
//!
//! The schema is generated from the parser's tables of keys. It does not check names of buffers and registers or formulas, so the parser
//! may reject a file that matches the schema.

use serde_json::{Map, Value, json};

use warpshard_workload::MemKind;

use super::keys::{ATOMIC_KEYS, IF_KEYS, KeyKind, LET_KEYS, LOAD_KEYS, LOOP_KEYS, MODEL_KEYS, PLAIN_OP_KEYS, STORE_KEYS, Table, USE_KEYS};
use super::ops::{OPS, OpEffect};

/// Returns the schema as text.
pub fn json_schema() -> String {
    let memory = |wanted: &[MemKind]| names(|effect| matches!(effect, OpEffect::Memory(kind) if wanted.contains(&kind)));
    let steps = [
        operation(&PLAIN_OP_KEYS, names(|effect| !matches!(effect, OpEffect::Memory(_)))),
        operation(&LOAD_KEYS, memory(&[MemKind::Load])),
        operation(&STORE_KEYS, memory(&[MemKind::Store])),
        operation(&ATOMIC_KEYS, memory(&[MemKind::Atomic, MemKind::Reduction])),
        table(&LOOP_KEYS),
        table(&IF_KEYS),
        table(&LET_KEYS),
        table(&USE_KEYS),
    ];
    let mut schema = table(&MODEL_KEYS);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("A kernel model of warpshard");
    schema["definitions"] = json!({
        "formula": {"type": ["integer", "string"], "description": "An integer, or a formula in quotes."},
        "steps": {"type": "array", "items": {"$ref": "#/definitions/step"}},
        "step": {"oneOf": steps},
    });
    format!("{schema:#}\n")
}

fn names(wanted: impl Fn(OpEffect) -> bool) -> Vec<&'static str> {
    OPS.iter().filter(|op| wanted(op.effect)).map(|op| op.name).collect()
}

/// Returns the schema of a step whose operation is one of `operations`.
fn operation(keys: &Table, operations: Vec<&'static str>) -> Value {
    let mut schema = table(keys);
    schema["properties"]["op"] = json!({"enum": operations, "description": "An instruction."});
    schema
}

fn table(table: &Table) -> Value {
    let mut properties = Map::new();
    for key in table.keys {
        let mut value = kind(key.kind);
        value["description"] = json!(key.help);
        properties.insert(key.name.to_owned(), value);
    }
    let required: Vec<&str> = table.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn kind(kind: KeyKind) -> Value {
    let formula = || json!({"$ref": "#/definitions/formula"});
    let steps = || json!({"$ref": "#/definitions/steps"});
    let named = |value: Value| json!({"type": "object", "additionalProperties": value});
    // A reference is put inside `allOf`, since validators ignore keys next to a reference.
    let referred = |value: Value| json!({"allOf": [value]});
    match kind {
        KeyKind::Text | KeyKind::Register => json!({"type": "string"}),
        KeyKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        KeyKind::Boolean => json!({"type": "boolean"}),
        KeyKind::Formula => referred(formula()),
        KeyKind::Formulas => json!({"type": "array", "items": formula()}),
        KeyKind::Extent => json!({"anyOf": [formula(), {"type": "array", "items": formula(), "minItems": 1, "maxItems": 3}]}),
        KeyKind::NamedFormulas => named(formula()),
        KeyKind::NamedTables(keys) => named(table(keys)),
        KeyKind::Tables(keys) => json!({"type": "array", "items": table(keys), "minItems": 1}),
        KeyKind::Steps => referred(steps()),
        KeyKind::NamedSteps => named(steps()),
        KeyKind::Operation => json!({"enum": names(|_| true)}),
        KeyKind::Registers => json!({"type": "array", "items": {"type": "string"}, "maxItems": 4}),
        KeyKind::Word(words) => json!({"enum": words}),
    }
}
