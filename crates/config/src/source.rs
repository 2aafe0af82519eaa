//! The first stage: a TOML text or a command-line override becomes a list of entries, each a dotted key with its raw value and source
//! location. This stage knows only which keys and tables exist ([`Schema`]).

use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigErrors, Problem, SourceSpan, SourceText};
use super::nearest::nearest_key;
use super::value::RawValue;

/// The beginning of the message of a syntax error.
pub const NOT_TOML: &str = "not valid TOML";

/// A key with its raw value.
#[derive(Clone, Debug)]
pub struct SettingEntry {
    /// The full dotted key.
    pub path: String,
    /// The raw value.
    pub raw: RawValue,
    /// The text of the value, for messages.
    pub shown_value: String,
    /// The source location of the value.
    pub location: SourceSpan,
    /// The layer; a higher layer overrides a lower one.
    pub layer: usize,
}

/// The keys that a text may have.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// The full dotted keys, in the order of the reference.
    pub keys: Vec<&'static str>,
    /// Top-level keys and tables for other readers of the same file, which are ignored.
    pub ignored_keys: Vec<&'static str>,
    /// A table of named tables, and the keys of each named table.
    pub nested: Option<(&'static str, Box<Schema>)>,
}

/// A setting from the command line, such as `gpu.sms=56`.
#[derive(Clone, Debug)]
pub struct Override {
    key: String,
    value: String,
}

impl Override {
    /// Creates an override of `key` by `value`; quotes around strings may be omitted.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into() }
    }

    /// Returns the dotted key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl FromStr for Override {
    type Err = ConfigErrors;

    fn from_str(text: &str) -> Result<Self, ConfigErrors> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => Ok(Self::new(key.trim(), value.trim())),
            _ => {
                let source = SourceText::command_line(format!("--set {text}"));
                let location = SourceSpan { span: 6..source.text.len().max(7), source };
                Err(Problem::at(&location, format!("`{text}` is not a setting")).help("write KEY=VALUE, such as --set gpu.sms=56").into())
            }
        }
    }
}

impl Schema {
    /// Returns the keys of a table, then its subtables as `name.*`.
    fn keys_of(&self, table: &str) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        let mut tables: Vec<String> = Vec::new();
        for key in &self.keys {
            let rest = if table.is_empty() { Some(*key) } else { key.strip_prefix(table).and_then(|rest| rest.strip_prefix('.')) };
            match rest.map(|rest| rest.split_once('.').map_or((rest, false), |(first, _)| (first, true))) {
                Some((name, false)) => keys.push(name.to_owned()),
                Some((name, true)) if tables.last().is_none_or(|last| last != &format!("{name}.*")) => tables.push(format!("{name}.*")),
                _ => {}
            }
        }
        keys.extend(tables);
        keys
    }

    /// Returns the schema of the nested table that contains `path`, and the key within that table; no key for the nested table itself.
    fn nested<'a>(&self, path: &'a str) -> Option<(&Self, Option<&'a str>)> {
        let (table, schema) = self.nested.as_ref()?;
        let inside = path.strip_prefix(table)?;
        let named = inside.strip_prefix('.');
        (inside.is_empty() || named.is_some()).then(|| (&**schema, named.and_then(|named| named.split_once('.')).map(|(_, key)| key)))
    }

    fn is_table(&self, path: &str) -> bool {
        if let Some((schema, key)) = self.nested(path) {
            return key.is_none_or(|key| schema.is_table(key));
        }
        self.nested.as_ref().is_some_and(|(table, _)| table.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
            || self.keys.iter().any(|key| key.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
    }

    fn tables(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().filter_map(|key| key.rsplit_once('.').map(|(table, _)| table))
    }

    /// Returns the problem if `path` is not a key.
    fn unknown(&self, path: &str, location: &SourceSpan) -> Option<Problem> {
        match self.nested(path) {
            Some((schema, Some(key))) => return schema.unknown(key, location),
            Some((schema, None)) => {
                let problem = Problem::at(location, format!("`{path}` is a table of keys, not a value"));
                return Some(problem.help(format!("its keys: {}", schema.keys_of("").join(", "))));
            }
            None => {}
        }
        if self.keys.contains(&path) {
            return None;
        }
        if self.is_table(path) {
            let problem = Problem::at(location, format!("`{path}` is a table of keys, not a value"));
            return Some(problem.help(format!("its keys: {}", self.keys_of(path).join(", "))));
        }
        let table = path.rsplit_once('.').map_or("", |(table, _)| table);
        let mut help = match nearest_key(path, self.keys.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? "),
            None => String::new(),
        };
        let known = self.keys_of(table);
        if !known.is_empty() {
            let of = if table.is_empty() { "at the top".to_owned() } else { format!("of [{table}]") };
            help += &format!("known keys {of}: {}", known.join(", "));
        }
        Some(Problem::at(location, format!("unknown key `{path}`")).help_if((!help.is_empty()).then(|| help.trim_end().to_owned())))
    }
}

/// Parses a whole text. Entries with unknown keys are omitted and reported, and so are syntax errors.
pub fn parse(source: &Arc<SourceText>, schema: &Schema, problems: &mut Vec<Problem>) -> Vec<SettingEntry> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let at = |span: Range<usize>| SourceSpan { source: Arc::clone(source), span };
    if !errors.is_empty() {
        // The keys of an invalid text would be guesses, so only syntax errors are reported.
        problems.extend(errors.iter().map(|error| {
            let span = error.span().unwrap_or(0..0);
            Problem::at(&at(span.start..span.end.max(span.start + 1)), format!("{NOT_TOML}: {}", error.message()))
        }));
        return Vec::new();
    }
    let mut entries = Vec::new();
    flatten("", table.get_ref(), &mut FlattenedEntries { source, schema, problems, entries: &mut entries });
    entries
}

/// Parses one override of the command line.
pub fn parse_override(setting: &Override, schema: &Schema, problems: &mut Vec<Problem>) -> Option<SettingEntry> {
    let source = SourceText::command_line(format!("--set {}={}", setting.key, setting.value));
    let key_end = 6 + setting.key.len();
    let location = SourceSpan { source: Arc::clone(&source), span: key_end + 1..source.text.len() };
    if let Some(problem) = schema.unknown(&setting.key, &SourceSpan { source, span: 6..key_end }) {
        problems.push(problem);
        return None;
    }
    // A shell strips quotes, so a value that is not TOML is taken as a string.
    let raw = DeValue::parse(&setting.value).map_or_else(|_| RawValue::Text(setting.value.clone()), |value| raw_value(value.get_ref()));
    Some(SettingEntry { path: setting.key.clone(), raw, shown_value: setting.value.clone(), location, layer: usize::MAX })
}

struct FlattenedEntries<'a> {
    source: &'a Arc<SourceText>,
    schema: &'a Schema,
    problems: &'a mut Vec<Problem>,
    entries: &'a mut Vec<SettingEntry>,
}

fn flatten(prefix: &str, table: &DeTable<'_>, into: &mut FlattenedEntries<'_>) {
    for (key, value) in table.iter() {
        let path = if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        let key_location = SourceSpan { source: Arc::clone(into.source), span: key.span() };
        match value.get_ref() {
            _ if prefix.is_empty() && into.schema.ignored_keys.contains(&path.as_str()) => {}
            DeValue::Table(inner) if into.schema.is_table(&path) => flatten(&path, inner, into),
            DeValue::Table(_) if !into.schema.keys.contains(&path.as_str()) => {
                let near = nearest_key(&path, into.schema.tables()).map(|near| format!("did you mean [{near}]?"));
                into.problems.push(Problem::at(&key_location, format!("unknown table [{path}]")).help_if(near));
            }
            _ => match into.schema.unknown(&path, &key_location) {
                Some(problem) => into.problems.push(problem),
                None => into.entries.push(entry(path, value, into.source)),
            },
        }
    }
}

fn entry(path: String, value: &Spanned<DeValue<'_>>, source: &Arc<SourceText>) -> SettingEntry {
    let span = value.span();
    let shown = source.text.get(span.clone()).unwrap_or("").to_owned();
    SettingEntry {
        path,
        raw: raw_value(value.get_ref()),
        shown_value: shown,
        location: SourceSpan { source: Arc::clone(source), span },
        layer: 0,
    }
}

fn raw_value(value: &DeValue<'_>) -> RawValue {
    match value {
        DeValue::String(text) => RawValue::Text(text.to_string()),
        DeValue::Integer(number) => match u64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => RawValue::Number(number.to_string()),
            Err(_) => RawValue::Number(number.to_string()),
        },
        DeValue::Float(number) => RawValue::Number(number.to_string()),
        DeValue::Boolean(flag) => RawValue::Flag(*flag),
        DeValue::Array(list) => RawValue::List(list.iter().map(|item| raw_value(item.get_ref())).collect()),
        DeValue::Table(_) => RawValue::Other("a table"),
        DeValue::Datetime(_) => RawValue::Other("a date"),
    }
}

/// Returns the value of a valid TOML text with one key; for defaults and tests.
pub fn raw_of_text(text: &str) -> RawValue {
    let table = DeTable::parse(text).unwrap_or_else(|error| panic!("`{text}` is not TOML: {error}"));
    let (_, value) = table.get_ref().iter().next().unwrap_or_else(|| panic!("`{text}` has no key"));
    raw_value(value.get_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema { keys: vec!["name", "gpu.sms", "gpu.sm.warps"], ignored_keys: vec!["run"], nested: None }
    }

    #[test]
    fn every_key_is_found_with_its_location() {
        let source = SourceText::file("a.toml", "name = \"x\"\n[gpu]\nsms = 0x10\nsm = { warps = 4 }\n[run]\nthreads = 1\n");
        let mut problems = Vec::new();
        let entries = parse(&source, &schema(), &mut problems);
        assert_eq!(problems, []);
        let seen: Vec<_> = entries.iter().map(|e| (e.path.as_str(), &e.raw, e.location.line())).collect();
        let number = |n: &str| RawValue::Number(n.to_owned());
        assert_eq!(seen, [("name", &RawValue::Text("x".to_owned()), 1), ("gpu.sms", &number("16"), 3), ("gpu.sm.warps", &number("4"), 4)]);
    }

    #[test]
    fn an_override_needs_a_key_and_a_value() {
        assert!("gpu.sms".parse::<Override>().is_err());
        assert!("gpu.sms=".parse::<Override>().is_err());
        assert_eq!("gpu.sms = 56".parse::<Override>().unwrap().key(), "gpu.sms");
    }
}
