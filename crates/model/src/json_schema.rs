//! The JSON schema of model files, with which editors complete keys and mark errors.
//!
//! The schema is generated from the parser's tables of keys. It does not check names of buffers and registers or formulas, so the parser
//! may reject a file that matches the schema.

use serde_json::{Map, Value, json};

use warpshard_workload::MemKind;

use super::keys::{ATOMIC, IF, Kind, LET, LOAD, LOOP, MODEL, PLAIN_OP, STORE, Table, USE};
use super::ops::{Effect, OPS};

/// Returns the schema as text.
pub fn json_schema() -> String {
    let memory = |wanted: &[MemKind]| names(|effect| matches!(effect, Effect::Memory(kind) if wanted.contains(&kind)));
    let steps = [
        operation(&PLAIN_OP, names(|effect| !matches!(effect, Effect::Memory(_)))),
        operation(&LOAD, memory(&[MemKind::Load])),
        operation(&STORE, memory(&[MemKind::Store])),
        operation(&ATOMIC, memory(&[MemKind::Atomic, MemKind::Reduction])),
        table(&LOOP),
        table(&IF),
        table(&LET),
        table(&USE),
    ];
    let mut schema = table(&MODEL);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("A kernel model of warpshard");
    schema["definitions"] = json!({
        "formula": {"type": ["integer", "string"], "description": "An integer, or a formula in quotes."},
        "steps": {"type": "array", "items": {"$ref": "#/definitions/step"}},
        "step": {"oneOf": steps},
    });
    format!("{schema:#}\n")
}

fn names(wanted: impl Fn(Effect) -> bool) -> Vec<&'static str> {
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

fn kind(kind: Kind) -> Value {
    let formula = || json!({"$ref": "#/definitions/formula"});
    let steps = || json!({"$ref": "#/definitions/steps"});
    let named = |value: Value| json!({"type": "object", "additionalProperties": value});
    // A reference is put inside `allOf`, since validators ignore keys next to a reference.
    let referred = |value: Value| json!({"allOf": [value]});
    match kind {
        Kind::Text | Kind::Register => json!({"type": "string"}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Formula => referred(formula()),
        Kind::Formulas => json!({"type": "array", "items": formula()}),
        Kind::Extent => json!({"anyOf": [formula(), {"type": "array", "items": formula(), "minItems": 1, "maxItems": 3}]}),
        Kind::NamedFormulas => named(formula()),
        Kind::NamedTables(keys) => named(table(keys)),
        Kind::Tables(keys) => json!({"type": "array", "items": table(keys), "minItems": 1}),
        Kind::Steps => referred(steps()),
        Kind::NamedSteps => named(steps()),
        Kind::Operation => json!({"enum": names(|_| true)}),
        Kind::Registers => json!({"type": "array", "items": {"type": "string"}, "maxItems": 4}),
        Kind::Word(words) => json!({"enum": words}),
    }
}
