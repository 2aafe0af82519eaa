//! Machines: a built-in machine or a file, and overrides.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use warpshard::catalogue;
use warpshard::config::keys::{self, Key};
use warpshard::config::resolve::SettingOrigin;
use warpshard::config::value::{Value, ValueKind};
use warpshard::config::{Loaded, Machine as Model, Override, builtin_machines};
use warpshard::run::Error;

use crate::errors::Failure;

/// Sources of a machine's values.
#[derive(Clone, Debug)]
enum Base {
    /// A built-in name or a path.
    Named(String),
    /// A text, and its name in messages.
    Text(String, String),
}

/// A machine with all its values.
#[pyclass(module = "warpshard._native", frozen)]
#[derive(Debug)]
pub(crate) struct Machine {
    base: Base,
    changes: Vec<(String, String)>,
    loaded: Loaded,
}

fn load(base: &Base, changes: &[(String, String)]) -> Result<Loaded, Error> {
    let overrides: Vec<Override> = changes.iter().map(|(key, value)| Override::new(key, value)).collect();
    let loaded = match base {
        Base::Named(name) => catalogue().machine(name, &overrides),
        Base::Text(name, text) => Model::from_text_among(catalogue().files(), name, text, &overrides),
    };
    Ok(loaded?)
}

impl Machine {
    fn build_machine(base: Base, changes: Vec<(String, String)>) -> PyResult<Self> {
        let loaded = load(&base, &changes).map_err(Failure::from)?;
        Ok(Self { base, changes, loaded })
    }

    /// Returns the machine itself if it was made from a text, so that a request cannot name it; otherwise `None`.
    pub(crate) fn unnamed(&self) -> Option<Loaded> {
        matches!(self.base, Base::Text(..)).then(|| self.loaded.clone())
    }
}

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (name, text=None, changes=Vec::new()))]
    fn new(name: String, text: Option<String>, changes: Vec<(String, String)>) -> PyResult<Self> {
        let base = match text {
            Some(text) => Base::Text(name, text),
            None => Base::Named(name),
        };
        Self::build_machine(base, changes)
    }

    /// Returns the machine with further overrides; a key that was already overridden keeps its position.
    fn changed(&self, changes: Vec<(String, String)>) -> PyResult<Self> {
        let mut all = self.changes.clone();
        for (key, value) in changes {
            match all.iter_mut().find(|(known, _)| *known == key) {
                Some(place) => place.1 = value,
                None => all.push((key, value)),
            }
        }
        Self::build_machine(self.base.clone(), all)
    }

    /// Name or path from which the machine was made.
    #[getter]
    fn base(&self) -> &str {
        let (Base::Named(name) | Base::Text(name, _)) = &self.base;
        name
    }

    #[getter]
    fn name(&self) -> &str {
        &self.loaded.machine.name
    }

    #[getter]
    fn summary(&self) -> &str {
        self.loaded.provenance.summary()
    }

    /// Overridden keys with their values as text, in order.
    #[getter]
    fn changes(&self) -> Vec<(String, String)> {
        self.changes.clone()
    }

    /// Warnings about settings that are allowed but probably unintended.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.loaded.warnings.iter().map(|warning| warning.to_string().trim_end().to_owned()).collect()
    }

    fn to_toml(&self) -> String {
        self.loaded.provenance.to_toml()
    }

    /// Returns the value of a key; `None` if this machine does not use the key.
    fn value<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.loaded.provenance.settings().iter().find(|setting| setting.key.path == path);
        found.map(|setting| to_python(py, setting.key.kind, &setting.value)).transpose()
    }

    /// Returns the origin of a key's value.
    fn origin(&self, path: &str) -> Option<String> {
        let found = self.loaded.provenance.settings().iter().find(|setting| setting.key.path == path)?;
        Some(match &found.origin {
            SettingOrigin::Default => "default".to_owned(),
            SettingOrigin::Given(place) if place.source.is_file => place.to_string(),
            SettingOrigin::Given(place) => place.source.text.clone(),
        })
    }
}

/// Converts numbers and booleans to Python; quantities are texts as in machine files.
fn to_python<'py>(py: Python<'py>, kind: ValueKind, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match (kind, value) {
        (ValueKind::Count(..) | ValueKind::Cycles(..), Value::Number(number)) => number.into_pyobject(py)?.into_any(),
        (_, Value::Flag(flag)) => flag.into_pyobject(py)?.to_owned().into_any(),
        (_, Value::Text(text)) => text.into_pyobject(py)?.into_any(),
        (ValueKind::Sizes, Value::Sizes(sizes)) => {
            let texts = sizes.iter().map(|size| warpshard::config::quantity::Bytes(*size).to_string());
            PyList::new(py, texts.collect::<Vec<_>>())?.into_any()
        }
        (ValueKind::Nodes, Value::Nodes(nodes)) => {
            let written = kind.write(&Value::Nodes(nodes.clone()));
            let texts: Vec<&str> = written.trim_matches(['[', ']']).split(',').map(|text| text.trim().trim_matches('"')).collect();
            PyList::new(py, texts)?.into_any()
        }
        (ValueKind::Wires, Value::Wires(wires)) => PyList::new(py, wires.iter().map(ToString::to_string))?.into_any(),
        _ => kind.write(value).trim_matches('"').into_pyobject(py)?.into_any(),
    })
}

/// Returns the built-in machines: name and summary.
#[pyfunction]
pub(crate) fn machines() -> Vec<(String, String)> {
    builtin_machines(catalogue().files()).into_iter().map(|machine| (machine.name.to_owned(), machine.summary)).collect()
}

/// Returns every key of a machine in the order of the reference.
#[pyfunction]
pub(crate) fn machine_keys<'py>(py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    keys::all().map(|key| describe(py, key)).collect()
}

fn describe<'py>(py: Python<'py>, key: &Key) -> PyResult<Bound<'py, PyDict>> {
    let one = PyDict::new(py);
    one.set_item("path", key.path)?;
    one.set_item("doc", key.doc)?;
    one.set_item("takes", key.kind.describe())?;
    one.set_item("default", key.default)?;
    one.set_item("option", key.option)?;
    let choices: Vec<(&str, &str)> = match key.kind {
        ValueKind::Choice(choices) => choices.iter().map(|choice| (choice.name, choice.doc)).collect(),
        _ => Vec::new(),
    };
    one.set_item("choices", choices)?;
    one.set_item("when", key.conditions().collect::<Vec<_>>())?;
    Ok(one)
}
