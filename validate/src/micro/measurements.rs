//! Measurements of microbenchmarks: numbers by key, from JSON as `programs/tools/measure.py` writes it on a GPU.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use warpshard_config::input;
use warpshard_lab::error::TaskError;
use warpshard_lab::reference::References;

/// Our measurements of an H100, and the file of a reference folder that overrides them.
const BUILT_IN_MEASUREMENTS: (&str, &str) = ("h100/micro.json", include_str!("../../reference/h100/micro.json"));
/// File name of one GPU's measurements in a folder.
const FOLDER_FILE: &str = "micro.json";

/// Measured numbers by key. The key of a nested number joins the names and indices on its path with dots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Name of the file in messages.
    name: String,
    numbers: BTreeMap<String, f64>,
}

/// Errors of reading measurements.
#[derive(Debug, Error)]
pub enum MeasurementsError {
    /// The operating system cannot read the file.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The text is not JSON.
    #[error("{name}: {source}; expected the JSON that programs/tools/measure.py writes")]
    Json {
        /// Name of the file.
        name: String,
        /// Position and cause of the error.
        source: serde_json::Error,
    },
    /// A value is not a valid measurement.
    #[error("{name}: `{key}` is {value}; expected a number above 0")]
    Number {
        /// Name of the file.
        name: String,
        /// Key of the value.
        key: String,
        /// The invalid value.
        value: String,
    },
    /// The file contains no numbers.
    #[error("{0}: there are no numbers; expected the JSON that programs/tools/measure.py writes")]
    Empty(String),
}

impl Measurements {
    /// Reads a JSON file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not JSON, or contains no numbers.
    pub fn read(path: &Path) -> Result<Self, MeasurementsError> {
        let text = input::read_text(path).map_err(|source| MeasurementsError::Read { path: path.to_owned(), source })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Parses JSON; `name` names the file in messages.
    ///
    /// # Errors
    /// Fails if the text is not JSON or contains no numbers.
    pub fn parse(name: &str, text: &str) -> Result<Self, MeasurementsError> {
        let value = serde_json::from_str(text).map_err(|source| MeasurementsError::Json { name: name.to_owned(), source })?;
        let mut numbers = BTreeMap::new();
        flatten(String::new(), &value, &mut numbers);
        if numbers.is_empty() {
            return Err(MeasurementsError::Empty(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), numbers })
    }

    /// Returns the measurements of a reference folder, or the built-in ones.
    ///
    /// # Errors
    /// Fails with a message for the user if the measurements cannot be read.
    pub(crate) fn from_references(references: &References) -> Result<Self, TaskError> {
        let (file, built_in) = BUILT_IN_MEASUREMENTS;
        let own = references.text(FOLDER_FILE, "")?;
        let (file, text) = if matches!(own, Cow::Borrowed(_)) { (file, references.text(file, built_in)?) } else { (FOLDER_FILE, own) };
        let name = if matches!(text, Cow::Borrowed(_)) {
            format!("built-in {file}")
        } else {
            references.folder().join(file).display().to_string()
        };
        Self::parse(&name, &text).map_err(|error| error.to_string().into())
    }

    /// Returns the name of the file in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of a key.
    ///
    /// # Errors
    /// Fails if the number is not above 0.
    pub fn number(&self, key: &str) -> Result<Option<f64>, MeasurementsError> {
        let Some(&number) = self.numbers.get(key) else { return Ok(None) };
        if number.is_finite() && number > 0.0 {
            return Ok(Some(number));
        }
        Err(MeasurementsError::Number { name: self.name.clone(), key: key.to_owned(), value: number.to_string() })
    }

    /// Iterates over all keys in alphabetical order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.numbers.keys().map(String::as_str)
    }
}

fn flatten(key: String, value: &Value, numbers: &mut BTreeMap<String, f64>) {
    let inner = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        Value::Number(number) => {
            numbers.extend(number.as_f64().map(|number| (key, number)));
        }
        Value::Object(object) => object.iter().for_each(|(name, value)| flatten(inner(name), value, numbers)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, value)| flatten(inner(&i.to_string()), value, numbers)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_join_nested_names_and_invalid_measurements_are_refused() {
        let text = r#"{"latency": {"ffma": 4.0, "note": "x"}, "stream_us": {"l2_read_1": [10, 2.5]}, "atomics": {"shared_latency": -1}}"#;
        let read = Measurements::parse("m.json", text).unwrap();
        assert_eq!(
            read.keys().collect::<Vec<_>>(),
            ["atomics.shared_latency", "latency.ffma", "stream_us.l2_read_1.0", "stream_us.l2_read_1.1"]
        );
        assert_eq!(read.number("stream_us.l2_read_1.1").unwrap(), Some(2.5));
        assert_eq!(read.number("latency.fadd").unwrap(), None);
        let wrong = read.number("atomics.shared_latency").unwrap_err().to_string();
        assert_eq!(wrong, "m.json: `atomics.shared_latency` is -1; expected a number above 0");
        for (text, expected) in
            [("{", "m.json: EOF while parsing"), ("{}", "there are no numbers"), (r#"{"a": 1e999}"#, "number out of range")]
        {
            let error = Measurements::parse("m.json", text).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("measure.py"), "{error}");
        }
        let absent = Measurements::read(Path::new("no/such.json")).unwrap_err().to_string();
        assert!(absent.starts_with("cannot read no/such.json"), "{absent}");
    }
}
