//! Run files: a machine, a workload and the settings of a run, under one name.
//!
//! A run file has one table, `[run]`. A file may also contain a machine, as the `run.toml` of every result does; the run then uses that
//! machine, and loading the file as a machine ignores `[run]`.

use std::path::Path;
use std::str::FromStr;

use warpshard_configs::{File, Files};

use super::super::error::{ConfigErrors, Problem, SourceText};
use super::super::input;
use super::super::keys;
use super::super::nearest::nearest;
use super::super::provenance::Provenance;
use super::super::resolve::FILE_KEYS;
use super::super::source::{self, Schema, SettingEntry};
use super::super::value::{Mismatch, RawValue, Value, ValueKind};
use super::{RunConfig, SettingError};

const KEYS: [&str; 10] = [
    "run.machine",
    "run.workload",
    "run.trace",
    "run.threads",
    "run.epoch",
    "run.seed",
    "run.kernels",
    "run.max_cycles",
    "run.interval",
    "run.relaxed",
];

/// The workload of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadChoice {
    /// A kernel model, by name or path.
    Model(String),
    /// A recorded trace, by the path of its `kernelslist.g`.
    Trace(String),
}

/// The contents of a run file.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFile {
    /// The machine, by name or path.
    pub machine: String,
    /// The workload.
    pub workload: WorkloadChoice,
    /// The settings of the run.
    pub run: RunConfig,
}

impl RunFile {
    /// Loads a run file by name, or from a path if `name_or_path` contains a `/` or ends in `.toml`.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn load(name_or_path: &str) -> Result<Self, ConfigErrors> {
        if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
            let text = input::read_text(Path::new(name_or_path))
                .map_err(|error| Problem::without_location(format!("cannot read the run file `{name_or_path}`: {error}")))?;
            return Self::from_text(name_or_path, &text);
        }
        let known = || Files::core().names(warpshard_configs::Kind::Run);
        match Files::core().find(warpshard_configs::Kind::Run, name_or_path) {
            Some(File { name, text, .. }) => Self::from_text(&format!("{name} (built in)"), text),
            None => Err(Problem::without_location(format!("unknown run \"{name_or_path}\""))
                .help_if(nearest(name_or_path, known()).map(|near| format!("did you mean \"{near}\"?")))
                .help(format!("built-in runs: {}", known().collect::<Vec<_>>().join(", ")))
                .into()),
        }
    }

    /// Loads a run from a text; `name` is the name of the file, and of the machine if the text contains one.
    ///
    /// # Errors
    /// The errors of [`RunFile::load`].
    pub fn from_text(name: &str, text: &str) -> Result<Self, ConfigErrors> {
        let source = SourceText::file(name, text);
        let mut machine_keys: Vec<&str> = FILE_KEYS.iter().map(|(key, _)| *key).collect();
        machine_keys.extend(keys::all().filter_map(|key| key.path.split('.').next()));
        let schema = Schema { keys: KEYS.to_vec(), ignored_keys: machine_keys, nested: None };
        let mut problems = Vec::new();
        let entries = source::parse(&source, &schema, &mut problems);
        let mut reader = EntryReader { entries: &entries, problems: &mut problems };

        let machine = reader.text("run.machine").unwrap_or_else(|| name.to_owned());
        let model = reader.text("run.workload");
        let trace = reader.text("run.trace");
        let defaults = RunConfig::default();
        let run = RunConfig {
            threads: reader.parsed("run.threads").unwrap_or(defaults.threads),
            epoch: reader.parsed("run.epoch").unwrap_or(defaults.epoch),
            seed: reader.count("run.seed", 0).unwrap_or(defaults.seed),
            kernels: reader.parsed("run.kernels").unwrap_or(defaults.kernels),
            max_cycles: reader.count("run.max_cycles", 1),
            interval: reader.count("run.interval", 1).unwrap_or(defaults.interval),
            relaxed: reader.flag("run.relaxed").unwrap_or(defaults.relaxed),
        };
        let at = entries.iter().find(|entry| entry.path == "run.trace").map(|entry| entry.location.clone());
        let workload = match (model, trace, at) {
            (Some(_), Some(_), Some(at)) => {
                problems.push(Problem::at(&at, "both `run.workload` and `run.trace` are given").help("a run has one of them"));
                return Err(ConfigErrors { problems });
            }
            (_, Some(trace), _) => WorkloadChoice::Trace(trace),
            (Some(model), None, _) => WorkloadChoice::Model(model),
            (None, None, _) => {
                if problems.is_empty() {
                    let whole = super::super::error::SourceSpan::whole(&source);
                    problems.push(
                        Problem::at(&whole, "missing key `run.workload` or `run.trace`")
                            .help("workload = \"gemm_tiled\" names a kernel model, trace = \"path/kernelslist.g\" a recorded trace"),
                    );
                }
                return Err(ConfigErrors { problems });
            }
        };
        let file = Self { machine, workload, run };
        if problems.is_empty() {
            file.run.check()?;
        }
        ConfigErrors::unless_empty(file, problems)
    }

    /// Returns the run and its machine as one text, from which both load back equal; each line ends in the value's origin.
    pub fn to_toml(&self, machine: &Provenance) -> String {
        let defaults = RunConfig::default();
        let run = &self.run;
        let text = |value: &str| toml::Value::String(value.to_owned()).to_string();
        let mut lines = match &self.workload {
            WorkloadChoice::Model(name) => vec![("workload", text(name), false)],
            WorkloadChoice::Trace(path) => vec![("trace", text(path), false)],
        };
        lines.push(("threads", text(&run.threads.to_string()), run.threads == defaults.threads));
        lines.push(("epoch", text(&run.epoch.to_string()), run.epoch == defaults.epoch));
        lines.push(("seed", run.seed.to_string(), run.seed == defaults.seed));
        lines.push(("kernels", text(&run.kernels.to_string()), run.kernels == defaults.kernels));
        if let Some(cycles) = run.max_cycles {
            lines.push(("max_cycles", cycles.to_string(), false));
        }
        lines.push(("interval", run.interval.to_string(), run.interval == defaults.interval));
        lines.push(("relaxed", run.relaxed.to_string(), run.relaxed == defaults.relaxed));
        let mut toml = machine.to_toml();
        toml += "\n[run]\n";
        for (key, value, default) in lines {
            let line = format!("{key} = {value}");
            toml += &format!("{line:<40} # {}\n", if default { "default" } else { "given" });
        }
        toml
    }
}

/// A reader of values from the entries of a run file, which collects problems.
struct EntryReader<'a> {
    entries: &'a [SettingEntry],
    problems: &'a mut Vec<Problem>,
}

impl EntryReader<'_> {
    fn value(&mut self, key: &str, kind: ValueKind) -> Option<Value> {
        let entry = self.entries.iter().find(|entry| entry.path == key)?;
        kind.read(&entry.raw).map_err(|mismatch| self.mismatch(entry, &mismatch)).ok()
    }

    fn mismatch(&mut self, entry: &SettingEntry, mismatch: &Mismatch) {
        let message = format!("`{}` is {}, expected {}", entry.path, entry.shown_value, mismatch.expected);
        self.problems.push(Problem::at(&entry.location, message).help_if(mismatch.hint.clone()));
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.value(key, ValueKind::Text)? {
            Value::Text(text) => Some(text),
            other => panic!("{other:?} for a text"),
        }
    }

    fn count(&mut self, key: &str, least: u64) -> Option<u64> {
        match self.value(key, ValueKind::Count(least, u64::MAX))? {
            Value::Number(number) => Some(number),
            other => panic!("{other:?} for a number"),
        }
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        match self.value(key, ValueKind::Flag)? {
            Value::Flag(flag) => Some(flag),
            other => panic!("{other:?} for a flag"),
        }
    }

    /// Parses a number or a word with the target type's parser.
    fn parsed<T: FromStr<Err = SettingError>>(&mut self, key: &str) -> Option<T> {
        let entry = self.entries.iter().find(|entry| entry.path == key)?;
        let result = match &entry.raw {
            RawValue::Text(text) | RawValue::Number(text) => {
                text.parse().map_err(|error: SettingError| Mismatch { expected: error.expected.to_owned(), hint: Some(error.message) })
            }
            _ => Err(Mismatch { expected: "a string or a number".to_owned(), hint: None }),
        };
        result.map_err(|mismatch| self.mismatch(entry, &mismatch)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Epoch, KernelSelection, Threads};
    use super::*;
    use crate::Machine;

    #[test]
    fn the_default_run_is_the_v100_and_the_tiled_matrix_product() {
        let file = RunFile::load("default").unwrap();
        assert_eq!(file.machine, "v100");
        assert_eq!(file.workload, WorkloadChoice::Model("gemm_tiled".to_owned()));
        assert_eq!(file.run, RunConfig::default());
    }

    #[test]
    fn a_resolved_run_holds_its_machine_and_loads_back() {
        let loaded = Machine::load("tiny", &[]).unwrap();
        let run = RunConfig {
            threads: Threads::Exactly(3),
            epoch: Epoch::Cycles(7),
            seed: u64::MAX,
            kernels: "2-".parse::<KernelSelection>().unwrap(),
            max_cycles: Some(123_456_789_012),
            interval: 1000,
            relaxed: true,
        };
        let file = RunFile { machine: "run.toml".to_owned(), workload: WorkloadChoice::Trace("a/kernelslist.g".to_owned()), run };
        let text = file.to_toml(&loaded.provenance);
        assert_eq!(RunFile::from_text("run.toml", &text).unwrap(), file);
        assert_eq!(Machine::from_text("run.toml", &text, &[]).unwrap().machine, loaded.machine);
    }

    #[test]
    fn mistakes_in_a_run_file_are_reported_together() {
        let text = "[run]\nworkload = \"x\"\nthreds = 4\nepoch = 0\nkernels = \"5-2\"\nrelaxed = 1\n";
        let errors = RunFile::from_text("a.toml", text).unwrap_err().to_string();
        assert_eq!(
            errors,
            "error: unknown key `run.threds`
  --> a.toml:3:1
   | threds = 4
   | ^^^^^^
   = help: did you mean `run.threads`? known keys of [run]: machine, workload, trace, threads, epoch, seed, kernels, max_cycles, interval, relaxed

error: `run.epoch` is 0, expected \"auto\" or a number of core cycles, at least 1
  --> a.toml:4:9
   | epoch = 0
   |         ^
   = help: an epoch of 0 cycles never ends

error: `run.kernels` is \"5-2\", expected \"all\", numbers from 1 such as \"1-5,8\" or \"10-\", or a regular expression over kernel names
  --> a.toml:5:11
   | kernels = \"5-2\"
   |           ^^^^^
   = help: the range 5-2 is empty; did you mean 2-5?

error: `run.relaxed` is 1, expected true or false
  --> a.toml:6:11
   | relaxed = 1
   |           ^
"
        );
    }
}
