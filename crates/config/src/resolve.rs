//! The second stage: entries of all layers become one machine, and every value keeps its origin.
//!
//! A later layer overrides an earlier one: the bottom of the `extends` chain comes first, then the files that extend it, then the command
//! line.

use rustc_hash::FxHashMap;

use super::error::{Problem, SourceSpan};
use super::keys::{self, Key};
use super::kind_keys;
use super::machine::Machine;
use super::source::{Schema, SettingEntry, raw_of_text};
use super::value::Value;

/// Keys of a machine file that describe the file and not the machine.
pub const FILE_KEYS: [(&str, &str); 2] = [
    ("extends", "The base machine, which provides the values that this file does not give."),
    ("summary", "A one-line description of the machine."),
];

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// A value given in a text, with its source location.
    Given(SourceSpan),
    /// The key's default.
    Default,
}

/// A value of the resolved machine.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// The value.
    pub value: Value,
    /// The origin of the value.
    pub origin: SettingOrigin,
    /// The layer of the value; 0 for a default, and higher for layers that override it.
    pub layer: usize,
}

/// Returns the keys that a machine file may have.
pub fn schema() -> Schema {
    let keys = FILE_KEYS.iter().map(|(key, _)| *key).chain(keys::all().map(|key| key.path)).collect();
    Schema { keys, ignored_keys: vec!["run"], nested: Some((kind_keys::KINDS_TABLE, Box::new(kind_keys::schema()))) }
}

/// Resolves `layers`, the lowest layer first. Missing keys are reported at `at`.
pub fn resolve(layers: Vec<SettingEntry>, at: &SourceSpan, problems: &mut Vec<Problem>) -> (Machine, Vec<Setting>) {
    let mut given: FxHashMap<String, SettingEntry> = FxHashMap::default();
    for entry in layers {
        given.insert(entry.path.clone(), entry);
    }
    let mut machine = Machine::default();
    let mut settings: Vec<Setting> = Vec::new();
    let mut missing: Vec<&'static Key> = Vec::new();
    let mut wrong: Vec<Problem> = Vec::new();
    for key in keys::all() {
        if key.conditions().any(|(flag, wanted)| !is_flag_set(&settings, flag, wanted)) {
            if let Some(entry) = given.get(key.path) {
                wrong.extend(unread_value_problem(key, entry, &settings));
            }
            continue;
        }
        let (value, origin, layer) = match (given.get(key.path), key.default) {
            (Some(entry), _) => match key.kind.read(&entry.raw) {
                Ok(value) => (value, SettingOrigin::Given(entry.location.clone()), 1_usize.saturating_add(entry.layer)),
                Err(mismatch) => {
                    let message = format!("`{}` is {}, expected {}", key.path, entry.shown_value, mismatch.expected);
                    let help = format!("`{}`: {}", key.name(), key.doc);
                    wrong.push(Problem::at(&entry.location, message).help_if(mismatch.hint).help(help));
                    continue;
                }
            },
            (None, Some(default)) => (read_default(key, default), SettingOrigin::Default, 0),
            (None, None) => {
                missing.push(key);
                continue;
            }
        };
        (key.set)(&mut machine, &value);
        settings.push(Setting { key, value, origin, layer });
    }
    problems.extend(wrong);
    report_missing(&missing, at, problems);
    (machine, settings)
}

/// Parses a default value. A test checks that every default fits the kind of its key.
fn read_default(key: &Key, default: &str) -> Value {
    let raw = raw_of_text(&format!("default = {default}"));
    key.kind.read(&raw).unwrap_or_else(|_| panic!("the default of {} does not fit its kind", key.path))
}

fn is_flag_set(settings: &[Setting], flag: &str, wanted: bool) -> bool {
    settings.iter().any(|setting| setting.key.path == flag && setting.value.is_set()) == wanted
}

/// Returns the problem of a value whose key is not read. Values of lower layers are ignored, so that a machine that extends another one and
/// makes other choices does not have to remove them.
fn unread_value_problem(key: &'static Key, entry: &SettingEntry, settings: &[Setting]) -> Option<Problem> {
    let rejection = key.rejection?;
    // The choices that disable the key, and the choices on which they depend in turn.
    let mut names: Vec<&str> = key.conditions().map(|(flag, _)| flag).collect();
    let mut choices: Vec<&Setting> = Vec::new();
    while let Some(name) = names.pop() {
        let seen = choices.iter().any(|choice| choice.key.path == name);
        choices.extend(settings.iter().find(|setting| setting.key.path == name && !seen));
        names.extend(keys::find(name).into_iter().flat_map(Key::conditions).map(|(flag, _)| flag));
    }
    let decided = choices.iter().map(|choice| choice.layer).max().unwrap_or(0);
    let layer = 1_usize.saturating_add(entry.layer);
    if layer < decided || layer == decided && rejection.same_layer {
        return None;
    }
    let mut problem = Problem::at(&entry.location, format!("`{}` is not read for this machine", key.path)).help(rejection.help);
    for choice in choices {
        let origin = match &choice.origin {
            SettingOrigin::Given(location) => format!("comes from {location}"),
            SettingOrigin::Default => "is the default".to_owned(),
        };
        problem.notes.push(format!("`{}` = {} {origin}", choice.key.path, choice.key.kind.write(&choice.value)));
    }
    Some(problem)
}

/// One problem is reported per table, so that the output stays short for an almost empty file.
fn report_missing(missing: &[&'static Key], at: &SourceSpan, problems: &mut Vec<Problem>) {
    for group in missing.chunk_by(|a, b| a.table() == b.table()) {
        let problem = match group {
            [key] => Problem::at(at, format!("missing key `{}`", key.path)).help(format!(
                "`{}`: {} It takes {}",
                key.name(),
                key.doc,
                key.kind.describe()
            )),
            keys => {
                let names: Vec<&str> = keys.iter().map(|key| key.name()).collect();
                let table = keys[0].table();
                let location = if table.is_empty() { "at the top".to_owned() } else { format!("in [{table}]") };
                Problem::at(at, format!("missing keys {location}: {}", names.join(", ")))
            }
        };
        problems.push(problem);
    }
    if !missing.is_empty()
        && let Some(last) = problems.last_mut()
    {
        last.help.push("extends = \"v100\" takes missing values from another machine".to_owned());
    }
}
