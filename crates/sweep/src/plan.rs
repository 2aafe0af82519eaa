//! Plan files: machines, changes, workloads, policies and seeds, every combination of which is a run.

use std::fmt;
use std::num::NonZeroU64;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor, value::MapAccessDeserializer};

use warpshard_config::input;
use warpshard_run::{WorkloadSource, architecture};

use super::values::{GridAxes, KeyValues};

/// Maximum number of runs of a plan.
pub(super) const MAX_RUNS: usize = 1_000_000;

/// An error in a plan file, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct PlanError {
    file: String,
    problem: String,
}

/// A plan: every combination of machines, workloads, policies, changes and seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the plan, from which the default result folder is named [default: the file name].
    #[serde(default)]
    pub name: String,
    #[serde(default = "default_machines")]
    pub(super) machines: Vec<String>,
    pub(super) workloads: Vec<PlannedWorkload>,
    #[serde(default = "no_policy")]
    pub(super) policies: Vec<PolicyList>,
    #[serde(default = "default_seeds")]
    pub(super) seeds: Vec<u64>,
    #[serde(default)]
    pub(super) run: PlanOptions,
    /// Keys and values of all runs.
    #[serde(default)]
    pub(super) set: KeyValues,
    /// Lists of values whose combinations are all simulated.
    #[serde(default)]
    pub(super) grid: GridAxes,
    /// Lists of equal lengths, whose values change together.
    #[serde(default)]
    pub(super) zip: Vec<GridAxes>,
    /// Single combinations of values.
    #[serde(default)]
    pub(super) points: Vec<KeyValues>,
}

/// Options of all runs, with the names and meanings of `warpshard run`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanOptions {
    pub(super) max_cycles: Option<NonZeroU64>,
    pub(super) interval: Option<NonZeroU64>,
    pub(super) kernels: Option<String>,
    pub(super) cpu_warm: Option<u64>,
    pub(super) cpu_measure: Option<NonZeroU64>,
    #[serde(default)]
    pub(super) lenient: bool,
    #[serde(default)]
    pub(super) skip_matrix_values: bool,
}

fn default_machines() -> Vec<String> {
    vec!["v100".to_owned()]
}

fn no_policy() -> Vec<PolicyList> {
    vec![PolicyList(Vec::new())]
}

fn default_seeds() -> Vec<u64> {
    vec![1]
}

/// A workload of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedWorkload {
    /// Name of the workload in tables.
    pub name: String,
    /// WorkloadSource of the workload.
    pub source: WorkloadSource,
    /// Applications of the CPU cores, as for `--cpu`; `None` without CPU applications.
    pub cpu: Option<String>,
    /// Parameters with their values.
    pub set: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadTable {
    model: Option<String>,
    trace: Option<String>,
    program: Option<String>,
    apps: Option<Vec<String>>,
    #[serde(default)]
    once: bool,
    cpu: Option<String>,
    arch: Option<String>,
    #[serde(default)]
    set: KeyValues,
}

impl TryFrom<WorkloadTable> for PlannedWorkload {
    type Error = String;

    fn try_from(table: WorkloadTable) -> Result<Self, String> {
        let one = |name: Option<String>| name.map(|name| vec![name]);
        let named = [("model", one(table.model)), ("trace", one(table.trace)), ("program", one(table.program)), ("apps", table.apps)];
        let mut named = named.into_iter().filter_map(|(key, names)| names.map(|names| (key, names)));
        let (Some((key, names)), None) = (named.next(), named.next()) else {
            return Err("expected one of `model`, `trace`, `program` and `apps`".to_owned());
        };
        if names.is_empty() {
            return Err("`apps` is an empty list".to_owned());
        }
        if table.arch.is_some() && key != "program" {
            return Err("`arch` is for a `program` only".to_owned());
        }
        if table.once && key != "apps" {
            return Err("`once` is for `apps` only".to_owned());
        }
        if !table.set.0.is_empty() && matches!(key, "trace" | "apps") {
            let which = if key == "apps" { "applications have" } else { "a trace has" };
            return Err(format!("{which} no parameters that could be `set`"));
        }
        let arch = table.arch.as_deref().map(architecture).transpose().map_err(|error| error.to_string())?;
        let name = || names[0].clone();
        let source = match key {
            "model" => WorkloadSource::Model(name()),
            "trace" => WorkloadSource::Trace(name().into()),
            "program" => WorkloadSource::Program { file: name().into(), arch },
            _ => WorkloadSource::Applications { apps: names.clone(), once: table.once, alone: false },
        };
        let name = [names, table.cpu.iter().cloned().collect()].concat().join(" + ");
        Ok(Self { name, source, cpu: table.cpu, set: table.set.0 })
    }
}

impl<'de> Deserialize<'de> for PlannedWorkload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WorkloadVisitor;
        impl<'de> Visitor<'de> for WorkloadVisitor {
            type Value = PlannedWorkload;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a kernel model, or a table such as { trace = \"traces/bfs\" }")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<PlannedWorkload, E> {
                Ok(PlannedWorkload { name: name.to_owned(), source: WorkloadSource::Model(name.to_owned()), cpu: None, set: Vec::new() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PlannedWorkload, A::Error> {
                let table = WorkloadTable::deserialize(MapAccessDeserializer::new(map))?;
                table.try_into().map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(WorkloadVisitor)
    }
}

/// Policies that a run uses at the same time; "" means no policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyList(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for PolicyList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a policy, \"\" for none, or a list of policies that a run has together")]
        enum OneOrMany {
            One(String),
            Several(Vec<String>),
        }
        Ok(match OneOrMany::deserialize(deserializer)? {
            OneOrMany::One(name) if name.is_empty() => Self(Vec::new()),
            OneOrMany::One(name) => Self(vec![name]),
            OneOrMany::Several(names) => Self(names),
        })
    }
}

impl Plan {
    /// Reads a plan file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is invalid; the message names the line.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let file = path.display().to_string();
        let problem = |problem: String| PlanError { file: file.clone(), problem };
        let text = input::read_text(path).map_err(|error| problem(format!("the plan cannot be read: {error}")))?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self::parsed(&name, &text).map_err(problem)
    }

    /// Returns the text of a plan that a program has generated: an object with the keys of plan files.
    ///
    /// # Errors
    /// Fails if plan files cannot contain a value.
    pub fn text_of(made: &serde_json::Value) -> Result<String, toml::ser::Error> {
        toml::to_string(made)
    }

    /// Parses a plan; `name` is its default name.
    ///
    /// # Errors
    /// Fails if the text is invalid; the message names the line.
    pub fn parse(name: &str, text: &str) -> Result<Self, PlanError> {
        Self::parsed(name, text).map_err(|problem| PlanError { file: name.to_owned(), problem })
    }

    fn parsed(name: &str, text: &str) -> Result<Self, String> {
        let mut plan: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        if plan.name.is_empty() {
            name.clone_into(&mut plan.name);
        }
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        let safe = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !self.name.chars().all(safe) || self.name.is_empty() {
            return Err(format!("`name` is {:?}; expected letters, digits, -, _ and .", self.name));
        }
        for (key, empty) in [
            ("machines", self.machines.is_empty()),
            ("workloads", self.workloads.is_empty()),
            ("policies", self.policies.is_empty()),
            ("seeds", self.seeds.is_empty()),
        ] {
            if empty {
                return Err(format!("`{key}` is an empty list, so that there is no run"));
            }
        }
        if (self.run.cpu_warm.is_some() || self.run.cpu_measure.is_some()) && !self.workloads.iter().any(|workload| workload.cpu.is_some())
        {
            return Err("[run]: `cpu_warm` and `cpu_measure` are for workloads with `cpu`, and there is none".to_owned());
        }
        for zip in &self.zip {
            if let Some((key, values)) = zip.0.iter().find(|(_, values)| values.len() != zip.0[0].1.len()) {
                let (first, expected) = (&zip.0[0].0, zip.0[0].1.len());
                return Err(format!("[[zip]]: `{key}` has {} values and `{first}` has {expected}; they change together", values.len()));
            }
        }
        self.check_keys()?;
        match self.count() {
            Some(runs) if runs <= MAX_RUNS => Ok(()),
            _ => Err(format!("more than {MAX_RUNS} runs; divide the plan")),
        }
    }

    /// Rejects a key that two parts of a plan change, since the last would silently override the first.
    fn check_keys(&self) -> Result<(), String> {
        let mut known: Vec<(&str, String)> = Vec::new();
        let mut add = |part: &'static str, keys: &mut dyn Iterator<Item = &String>| {
            for key in keys {
                match known.iter().find(|(_, other)| other == key) {
                    Some((other, _)) => return Err(format!("`{key}` is in {other} and in {part}; only one of them may change it")),
                    None => known.push((part, key.clone())),
                }
            }
            Ok(())
        };
        add("[set]", &mut self.set.0.iter().map(|(key, _)| key))?;
        add("[grid]", &mut self.grid.0.iter().map(|(key, _)| key))?;
        for zip in &self.zip {
            add("[[zip]]", &mut zip.0.iter().map(|(key, _)| key))?;
        }
        let of_points: std::collections::BTreeSet<&String> =
            self.points.iter().flat_map(|point| point.0.iter().map(|(key, _)| key)).collect();
        add("[[points]]", &mut of_points.into_iter())
    }

    /// Returns the number of runs; `None` if it overflows.
    fn count(&self) -> Option<usize> {
        let grid = self.grid.0.iter().map(|(_, values)| values.len());
        let zips = self.zip.iter().filter_map(|zip| zip.0.first().map(|(_, values)| values.len()));
        let lists = [self.machines.len(), self.workloads.len(), self.policies.len(), self.seeds.len(), self.points.len().max(1)];
        grid.chain(zips).chain(lists).try_fold(1usize, usize::checked_mul)
    }
}
