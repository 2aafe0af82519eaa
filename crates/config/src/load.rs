//! Loading of a machine by name or path: built-in texts, files, `extends`, settings of the command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_configs::{File, Files, Kind};

use super::check;
use super::error::{ConfigErrors, Problem, SourceSpan, SourceText};
use super::input;
use super::kinds::{self, EnclosingMachine};
use super::machine::Machine;
use super::nearest::nearest;
use super::provenance::Provenance;
use super::resolve::{self, resolve};
use super::source::{self, Override, SettingEntry};
use super::value::RawValue;

/// A built-in machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The name for the command line and for `extends`.
    pub name: &'static str,
    /// A one-line description.
    pub summary: String,
}

/// A machine with the origin of each value.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The machine.
    pub machine: Machine,
    /// The origin of every value.
    pub provenance: Provenance,
    /// Warnings about values that are allowed but probably not intended.
    pub warnings: Vec<Problem>,
}

/// Returns the machines among `files`.
pub fn builtin_machines(files: &Files) -> Vec<Builtin> {
    let schema = resolve::schema();
    let summary = |name: &str, text: &str| {
        let entries = source::parse(&SourceText::file(name, text), &schema, &mut Vec::new());
        text_of(&entries, "summary", &mut Vec::new()).map(|(text, _)| text).unwrap_or_default()
    };
    files.files_of_kind(Kind::Machine).map(|file| Builtin { name: file.name, summary: summary(file.name, file.text) }).collect()
}

impl Machine {
    /// Loads a built-in machine by name, or a machine from a path, without the files of any paper; see [`Machine::load_among`].
    ///
    /// # Errors
    /// The errors of [`Machine::load_among`].
    pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        Self::load_among(Files::core(), name_or_path, overrides)
    }

    /// Loads a machine among `files` by name, or from a path if `name_or_path` contains a `/` or ends in `.toml`.
    ///
    /// # Errors
    /// All problems of the file, of the machines that it extends, and of the overrides.
    pub fn load_among(files: &Files, name_or_path: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        let text = MachineText::open(files, name_or_path, None, None)?;
        load(files, text, overrides)
    }

    /// Loads a machine from a text; messages call the file `name`. `extends` searches the built-in machines, without the files of any
    /// paper, and the working directory.
    ///
    /// # Errors
    /// The errors of [`Machine::load_among`].
    pub fn from_text(name: &str, text: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        Self::from_text_among(Files::core(), name, text, overrides)
    }

    /// Loads a machine from a text like [`Machine::from_text`]; `extends` searches `files`.
    ///
    /// # Errors
    /// The errors of [`Machine::load_among`].
    pub fn from_text_among(files: &Files, name: &str, text: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        let id = MachineTextId::File(PathBuf::from(name));
        load(files, MachineText { source: SourceText::file(name, text), id }, overrides)
    }
}

/// The identity of a text, for the detection of cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MachineTextId {
    Builtin(&'static str),
    File(PathBuf),
}

impl fmt::Display for MachineTextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(name) => f.write_str(name),
            Self::File(path) => write!(f, "{}", path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()),
        }
    }
}

struct MachineText {
    source: Arc<SourceText>,
    id: MachineTextId,
}

impl MachineText {
    /// Opens a machine among `files` or from a path; `requested_at` is the source location of the request, and relative paths start at `folder`.
    fn open(files: &Files, name: &str, requested_at: Option<&SourceSpan>, folder: Option<&Path>) -> Result<Self, Problem> {
        let problem = |message: String| {
            requested_at.map_or_else(|| Problem::without_location(message.clone()), |location| Problem::at(location, message.clone()))
        };
        if !name.contains('/') && !name.ends_with(".toml") {
            let Some(&File { name, text, .. }) = files.find(Kind::Machine, name) else {
                let known = || files.names(Kind::Machine);
                let list: Vec<&str> = known().collect();
                let near = nearest(name, known()).map(|near| format!("did you mean \"{near}\"?"));
                return Err(problem(format!("unknown machine \"{name}\""))
                    .help_if(near)
                    .help(format!("built-in machines: {}; a file is given by a path with a `/` or ending in `.toml`", list.join(", "))));
            };
            return Ok(Self { source: SourceText::file(format!("{name} (built in)"), text), id: MachineTextId::Builtin(name) });
        }
        let path = folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
        let text = input::read_text(&path)
            .map_err(|error| problem(format!("cannot read the machine file `{}`: {}", path.display(), reason(&error))))?;
        let id = MachineTextId::File(path.canonicalize().unwrap_or_else(|_| path.clone()));
        Ok(Self { source: SourceText::file(path.display().to_string(), text), id })
    }

    /// Returns the name of a machine whose text gives none.
    fn default_name(&self) -> String {
        match &self.id {
            MachineTextId::Builtin(name) => (*name).to_owned(),
            MachineTextId::File(path) => path.file_stem().map_or_else(|| "machine".to_owned(), |stem| stem.to_string_lossy().into_owned()),
        }
    }

    fn folder(&self) -> Option<&Path> {
        match &self.id {
            MachineTextId::Builtin(_) => None,
            MachineTextId::File(path) => path.parent(),
        }
    }
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::InvalidData => "it is not text".to_owned(),
        _ => error.to_string(),
    }
}

fn load(files: &Files, top: MachineText, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
    let schema = resolve::schema();
    let mut problems = Vec::new();
    let at = SourceSpan::whole(&top.source);
    let mut layers = MachineLayers::default();
    layers.add(files, top, &mut problems);
    let MachineLayers { mut entries, summary, complete, .. } = layers;
    entries.extend(overrides.iter().filter_map(|setting| source::parse_override(setting, &schema, &mut problems)));
    if !complete {
        return Err(ConfigErrors { problems });
    }
    let tables = kinds::remove_kind_entries(&mut entries);
    let enclosing = if tables.is_empty() { Vec::new() } else { entries.clone() };
    let (mut machine, settings) = resolve(entries, &at, &mut problems);
    let mut warnings = Vec::new();
    let mut kinds = Vec::new();
    if problems.is_empty() {
        check::check(&machine, &settings, &mut problems, &mut warnings);
        if problems.is_empty() {
            let enclosing = EnclosingMachine {
                entries: &enclosing,
                settings: &settings,
                open: &|name, requested_at, folder, problems| entries_of(files, name, requested_at, folder, problems),
            };
            kinds = kinds::add_kinds(&mut machine, tables, &enclosing, &mut problems, &mut warnings);
        }
        check::check_sizes(&machine, &settings, &mut problems);
    }
    ConfigErrors::unless_empty(Loaded { machine, provenance: Provenance::new(settings, summary, kinds), warnings }, problems)
}

/// Returns the entries of the machine `name`, requested at `requested_at`, and of all machines that it extends, the lowest layer first; `None`
/// after a problem.
fn entries_of(
    files: &Files,
    name: &str,
    requested_at: &SourceSpan,
    folder: Option<&Path>,
    problems: &mut Vec<Problem>,
) -> Option<Vec<SettingEntry>> {
    let before = problems.len();
    let mut layers = MachineLayers::default();
    match MachineText::open(files, name, Some(requested_at), folder) {
        Ok(text) => layers.add(files, text, problems),
        Err(problem) => problems.push(problem),
    }
    (problems.len() == before).then_some(layers.entries)
}

/// The entries of a text and of all texts that it extends, the lowest layer first.
#[derive(Default)]
struct MachineLayers {
    entries: Vec<SettingEntry>,
    summary: String,
    /// `true` if every text of the chain was read, so that a missing key is really missing.
    complete: bool,
}

impl MachineLayers {
    /// Follows the chain of `extends` from `top`. The name and the summary come from `top`.
    fn add(&mut self, files: &Files, top: MachineText, problems: &mut Vec<Problem>) {
        let schema = resolve::schema();
        let mut chain = vec![top.id.clone()];
        let mut stack: Vec<Vec<SettingEntry>> = Vec::new();
        let mut next = Some(top);
        self.complete = true;
        while let Some(text) = next.take() {
            let before = problems.len();
            let mut entries = source::parse(&text.source, &schema, problems);
            self.complete &= !problems[before..].iter().any(|problem| problem.message.starts_with(source::NOT_TOML));
            let before = problems.len();
            let base = text_of(&entries, "extends", problems);
            self.complete &= problems.len() == before;
            let summary = text_of(&entries, "summary", problems);
            let top = stack.is_empty();
            if top {
                self.summary = summary.map(|(text, _)| text).unwrap_or_default();
            }
            entries.retain(|entry| entry.path != "extends" && entry.path != "summary" && (top || entry.path != "name"));
            if top && !entries.iter().any(|entry| entry.path == "name") {
                entries.push(name_entry(text.default_name(), &SourceSpan::whole(&text.source)));
            }
            stack.push(entries);
            if let Some((name, location)) = base {
                match MachineText::open(files, &name, Some(&location), text.folder()) {
                    Ok(base) if chain.contains(&base.id) => {
                        let names: Vec<String> = chain.iter().chain([&base.id]).map(MachineTextId::to_string).collect();
                        problems.push(Problem::at(&location, format!("`extends` forms a cycle: {}", names.join(" -> "))));
                        self.complete = false;
                    }
                    Ok(base) => {
                        chain.push(base.id.clone());
                        next = Some(base);
                    }
                    Err(problem) => {
                        problems.push(problem);
                        self.complete = false;
                    }
                }
            }
        }
        for (layer, entries) in stack.into_iter().rev().enumerate() {
            self.entries.extend(entries.into_iter().map(|entry| SettingEntry { layer, ..entry }));
        }
    }
}

/// Returns the text of one of the keys that describe the file.
fn text_of(entries: &[SettingEntry], key: &str, problems: &mut Vec<Problem>) -> Option<(String, SourceSpan)> {
    let entry = entries.iter().find(|entry| entry.path == key)?;
    match &entry.raw {
        RawValue::Text(text) => Some((text.clone(), entry.location.clone())),
        _ => {
            problems.push(Problem::at(&entry.location, format!("`{key}` is {}, expected a string in quotes", entry.shown_value)));
            None
        }
    }
}

fn name_entry(name: String, location: &SourceSpan) -> SettingEntry {
    SettingEntry { path: "name".to_owned(), shown_value: name.clone(), raw: RawValue::Text(name), location: location.clone(), layer: 0 }
}
