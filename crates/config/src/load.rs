//! From a name or a path to a loaded machine: built-in texts, files, `extends`, settings of the command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpshard_configs::{File, Files, Kind};

use super::check;
use super::error::{ConfigErrors, Place, Problem, Source};
use super::input;
use super::kinds::{self, Around};
use super::machine::Machine;
use super::nearest::nearest;
use super::provenance::Provenance;
use super::resolve::{self, resolve};
use super::source::{self, Entry, Override};
use super::value::Raw;

/// A machine that comes with the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// What to call it on the command line and in `extends`.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: String,
}

/// A machine, and where each of its values came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The machine.
    pub machine: Machine,
    /// The origin of every value.
    pub provenance: Provenance,
    /// What is allowed but probably not intended.
    pub warnings: Vec<Problem>,
}

/// The machines among `files`.
pub fn builtin_machines(files: &Files) -> Vec<Builtin> {
    let schema = resolve::schema();
    let summary = |name: &str, text: &str| {
        let entries = source::parse(&Source::file(name, text), &schema, &mut Vec::new());
        text_of(&entries, "summary", &mut Vec::new()).map(|(text, _)| text).unwrap_or_default()
    };
    files.of(Kind::Machine).map(|file| Builtin { name: file.name, summary: summary(file.name, file.text) }).collect()
}

impl Machine {
    /// Loads a machine of no particular paper by name, or one from a path; see [`Machine::load_among`].
    ///
    /// # Errors
    /// As [`Machine::load_among`].
    pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        Self::load_among(Files::core(), name_or_path, overrides)
    }

    /// Loads a machine among `files` by name, or from a path when `name_or_path` contains a `/` or ends in `.toml`.
    ///
    /// # Errors
    /// Everything that is wrong with the file, with what it extends and with the overrides, together.
    pub fn load_among(files: &Files, name_or_path: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        let text = Text::open(files, name_or_path, None, None)?;
        load(files, text, overrides)
    }

    /// Loads a machine from a text; messages call the file `name`. `extends` looks among the machines of no particular paper and in the
    /// working directory.
    ///
    /// # Errors
    /// As [`Machine::load_among`].
    pub fn from_text(name: &str, text: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        Self::from_text_among(Files::core(), name, text, overrides)
    }

    /// Loads a machine from a text, as [`Machine::from_text`]; `extends` looks among `files`.
    ///
    /// # Errors
    /// As [`Machine::load_among`].
    pub fn from_text_among(files: &Files, name: &str, text: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
        let id = Id::File(PathBuf::from(name));
        load(files, Text { source: Source::file(name, text), id }, overrides)
    }
}

/// What a text is, for finding cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Id {
    Builtin(&'static str),
    File(PathBuf),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(name) => f.write_str(name),
            Self::File(path) => write!(f, "{}", path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()),
        }
    }
}

struct Text {
    source: Arc<Source>,
    id: Id,
}

impl Text {
    /// Opens a machine among `files` or a file; `asked` is where it was requested, `folder` where relative paths start.
    fn open(files: &Files, name: &str, asked: Option<&Place>, folder: Option<&Path>) -> Result<Self, Problem> {
        let problem =
            |message: String| asked.map_or_else(|| Problem::nowhere(message.clone()), |place| Problem::at(place, message.clone()));
        if !name.contains('/') && !name.ends_with(".toml") {
            let Some(&File { name, text, .. }) = files.find(Kind::Machine, name) else {
                let known = || files.names(Kind::Machine);
                let list: Vec<&str> = known().collect();
                let near = nearest(name, known()).map(|near| format!("did you mean \"{near}\"?"));
                return Err(problem(format!("unknown machine \"{name}\""))
                    .help_if(near)
                    .help(format!("built-in machines: {}; a file is given by a path with a `/` or ending in `.toml`", list.join(", "))));
            };
            return Ok(Self { source: Source::file(format!("{name} (built in)"), text), id: Id::Builtin(name) });
        }
        let path = folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
        let text = input::read_text(&path)
            .map_err(|error| problem(format!("cannot read the machine file `{}`: {}", path.display(), reason(&error))))?;
        let id = Id::File(path.canonicalize().unwrap_or_else(|_| path.clone()));
        Ok(Self { source: Source::file(path.display().to_string(), text), id })
    }

    /// The name that the machine has when its text gives none.
    fn default_name(&self) -> String {
        match &self.id {
            Id::Builtin(name) => (*name).to_owned(),
            Id::File(path) => path.file_stem().map_or_else(|| "machine".to_owned(), |stem| stem.to_string_lossy().into_owned()),
        }
    }

    fn folder(&self) -> Option<&Path> {
        match &self.id {
            Id::Builtin(_) => None,
            Id::File(path) => path.parent(),
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

fn load(files: &Files, top: Text, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
    let schema = resolve::schema();
    let mut problems = Vec::new();
    let at = Place::whole(&top.source);
    let mut layers = Layers::default();
    layers.add(files, top, &mut problems);
    let Layers { mut entries, summary, complete, .. } = layers;
    entries.extend(overrides.iter().filter_map(|setting| source::parse_override(setting, &schema, &mut problems)));
    if !complete {
        return Err(ConfigErrors { problems });
    }
    let tables = kinds::take(&mut entries);
    let around = if tables.is_empty() { Vec::new() } else { entries.clone() };
    let (mut machine, settings) = resolve(entries, &at, &mut problems);
    let mut warnings = Vec::new();
    let mut kinds = Vec::new();
    if problems.is_empty() {
        check::check(&machine, &settings, &mut problems, &mut warnings);
        if problems.is_empty() {
            let around = Around {
                entries: &around,
                settings: &settings,
                open: &|name, asked, folder, problems| entries_of(files, name, asked, folder, problems),
            };
            kinds = kinds::add(&mut machine, tables, &around, &mut problems, &mut warnings);
        }
        check::check_sizes(&machine, &settings, &mut problems);
    }
    ConfigErrors::unless_empty(Loaded { machine, provenance: Provenance::new(settings, summary, kinds), warnings }, problems)
}

/// The entries of the machine `name`, which is asked for at a place, and of all that it extends, the weakest first; `None` with a problem.
fn entries_of(files: &Files, name: &str, asked: &Place, folder: Option<&Path>, problems: &mut Vec<Problem>) -> Option<Vec<Entry>> {
    let before = problems.len();
    let mut layers = Layers::default();
    match Text::open(files, name, Some(asked), folder) {
        Ok(text) => layers.add(files, text, problems),
        Err(problem) => problems.push(problem),
    }
    (problems.len() == before).then_some(layers.entries)
}

/// The entries of a text and of all that it extends, the weakest first.
#[derive(Default)]
struct Layers {
    entries: Vec<Entry>,
    summary: String,
    /// Whether every text of the chain could be read, so that a missing key is really missing.
    complete: bool,
}

impl Layers {
    /// Follows the chain of `extends` from `top`; name and summary are the top's own.
    fn add(&mut self, files: &Files, top: Text, problems: &mut Vec<Problem>) {
        let schema = resolve::schema();
        let mut chain = vec![top.id.clone()];
        let mut stack: Vec<Vec<Entry>> = Vec::new();
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
                entries.push(name_entry(text.default_name(), &Place::whole(&text.source)));
            }
            stack.push(entries);
            if let Some((name, place)) = base {
                match Text::open(files, &name, Some(&place), text.folder()) {
                    Ok(base) if chain.contains(&base.id) => {
                        let names: Vec<String> = chain.iter().chain([&base.id]).map(Id::to_string).collect();
                        problems.push(Problem::at(&place, format!("`extends` forms a circle: {}", names.join(" -> "))));
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
            self.entries.extend(entries.into_iter().map(|entry| Entry { layer, ..entry }));
        }
    }
}

/// The text that a file gives for one of the keys about the file itself.
fn text_of(entries: &[Entry], key: &str, problems: &mut Vec<Problem>) -> Option<(String, Place)> {
    let entry = entries.iter().find(|entry| entry.path == key)?;
    match &entry.raw {
        Raw::Text(text) => Some((text.clone(), entry.place.clone())),
        _ => {
            problems.push(Problem::at(&entry.place, format!("`{key}` is {}, expected a text in quotes", entry.shown)));
            None
        }
    }
}

fn name_entry(name: String, place: &Place) -> Entry {
    Entry { path: "name".to_owned(), shown: name.clone(), raw: Raw::Text(name), place: place.clone(), layer: 0 }
}
