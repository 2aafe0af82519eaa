//! Keys and values of a plan in the syntax of `--set`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

/// Keys with one value each, in the order of the file. `gpu.sms = 56`, `"gpu.sms" = 56` and `sms = 56` under `[set.gpu]` are equivalent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyValues(pub(super) Vec<(String, String)>);

/// Keys with a list of values each, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GridAxes(pub(super) Vec<(String, Vec<String>)>);

impl<'de> Deserialize<'de> for KeyValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |key: &str, value: &toml::Value| {
            text(value).ok_or_else(|| format!("`{key}`: expected one value; lists stand in [grid] or [[zip]]"))
        };
        deserializer.deserialize_map(Flat(read)).map(Self)
    }
}

impl<'de> Deserialize<'de> for GridAxes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |key: &str, value: &toml::Value| {
            let values = value.as_array().and_then(|values| values.iter().map(text).collect::<Option<Vec<_>>>());
            values.filter(|values| !values.is_empty()).ok_or_else(|| format!("`{key}`: expected a list of values, such as [56, 80]"))
        };
        deserializer.deserialize_map(Flat(read)).map(Self)
    }
}

/// Returns a value as text for `--set`; `None` for lists and tables.
fn text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Deserializes a table whose nested tables are prefixes of keys.
struct Flat<F>(F);

impl<'de, T, F: Fn(&str, &toml::Value) -> Result<T, String>> Visitor<'de> for Flat<F> {
    type Value = Vec<(String, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of keys, such as gpu.sms")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries: Vec<(String, T)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, toml::Value>()? {
            self.add(key, &value, &mut entries).map_err(A::Error::custom)?;
        }
        Ok(entries)
    }
}

impl<T, F: Fn(&str, &toml::Value) -> Result<T, String>> Flat<F> {
    fn add(&self, key: String, value: &toml::Value, entries: &mut Vec<(String, T)>) -> Result<(), String> {
        if let toml::Value::Table(table) = value {
            return table.iter().try_for_each(|(name, value)| self.add(format!("{key}.{name}"), value, entries));
        }
        if entries.iter().any(|(known, _)| *known == key) {
            return Err(format!("`{key}` is given twice"));
        }
        let value = (self.0)(&key, value)?;
        entries.push((key, value));
        Ok(())
    }
}
