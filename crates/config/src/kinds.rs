//! Other kinds of GPUs in a system: the tables `system.kinds.NAME` of a machine file, each with the keys of a GPU.
//!
//! Input: the entries of these tables and of the enclosing machine. Output: a machine for each kind. A key missing from a table comes from
//! the machine that the table extends, or, if it extends none, from the enclosing machine with all its settings. Properties of the whole
//! system (its links, its name, the decision latency, the energy set) are not keys of a kind.

use std::collections::BTreeMap;
use std::path::Path;

use super::check;
use super::error::{Problem, SourceSpan};
use super::kind_keys::{KIND_KEYS, KINDS_TABLE, is_of_gpu};
use super::machine::{GpuKind, Machine};
use super::provenance::KindSettings;
use super::resolve::{Setting, resolve};
use super::source::SettingEntry;
use super::system::System;
use super::value::RawValue;

/// A function that returns the entries of a machine, given its name or path, the source location of the request, and the folder for
/// relative paths.
pub(super) type OpenMachine<'a> = dyn Fn(&str, &SourceSpan, Option<&Path>, &mut Vec<Problem>) -> Option<Vec<SettingEntry>> + 'a;

/// The machine that encloses the kinds, as entries and as settings, and the function that opens other machines.
pub(super) struct EnclosingMachine<'a> {
    pub(super) entries: &'a [SettingEntry],
    pub(super) settings: &'a [Setting],
    pub(super) open: &'a OpenMachine<'a>,
}

/// Removes the entries of kinds from `entries` and returns them by kind, with keys relative to the table of the kind.
pub(super) fn remove_kind_entries(entries: &mut Vec<SettingEntry>) -> BTreeMap<String, Vec<SettingEntry>> {
    let mut kinds: BTreeMap<String, Vec<SettingEntry>> = BTreeMap::new();
    entries.retain(|entry| {
        let inside = entry.path.strip_prefix(KINDS_TABLE).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.split_once('.'));
        if let Some((name, key)) = inside {
            kinds.entry(name.to_owned()).or_default().push(SettingEntry { path: key.to_owned(), ..entry.clone() });
        }
        inside.is_none()
    });
    kinds
}

/// Resolves and checks the kinds of `machine` and adds them to it.
pub(super) fn add_kinds(
    machine: &mut Machine,
    kinds: BTreeMap<String, Vec<SettingEntry>>,
    enclosing: &EnclosingMachine<'_>,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Vec<KindSettings> {
    let mut made: Vec<KindSettings> = Vec::new();
    for (name, own) in kinds {
        let Some(first) = own.first() else { continue };
        let Some(system) = machine.system.clone() else {
            let help = "only a system of several GPUs has kinds; set `system.gpus`, or remove the table";
            problems
                .push(Problem::at(&first.location, format!("`{KINDS_TABLE}.{name}` is not allowed on a machine with one GPU")).help(help));
            continue;
        };
        if let Some(kind) = resolve_kind(&name, &own, (machine, &system), enclosing, &made, problems, warnings) {
            let (kind, settings) = kind;
            machine.kinds.push(kind);
            made.push(settings);
        }
    }
    made
}

/// Resolves one kind; `made` are the kinds resolved before.
fn resolve_kind(
    name: &str,
    own: &[SettingEntry],
    (machine, system): (&Machine, &System),
    enclosing: &EnclosingMachine<'_>,
    made: &[KindSettings],
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Option<(GpuKind, KindSettings)> {
    let of = |key: &str| own.iter().rev().find(|entry| entry.path == key);
    let base = enclosing.settings;
    let whole = SourceSpan::whole(&own[0].location.source);
    let before = problems.len();
    let listed = of("gpus");
    let gpus = gpu_numbers(name, listed, &own[0].location, (system.gpus, made), problems);
    let below: Vec<SettingEntry> = match of("extends") {
        None => enclosing.entries.to_vec(),
        Some(entry) => base_entries(entry, enclosing.open, problems)?,
    };
    let below = below.into_iter().filter(|entry| is_of_gpu(&entry.path)).map(|entry| SettingEntry { layer: 0, ..entry });
    let above = own.iter().filter(|entry| KIND_KEYS.iter().all(|(key, ..)| *key != entry.path));
    let above = above.map(|entry| SettingEntry { layer: 1_usize.saturating_add(entry.layer), ..entry.clone() });
    let named = SettingEntry {
        path: "name".to_owned(),
        raw: RawValue::Text(name.to_owned()),
        shown_value: name.to_owned(),
        location: own[0].location.clone(),
        layer: 0,
    };
    let (mut kind, resolved) = resolve(std::iter::once(named).chain(below).chain(above).collect(), &whole, problems);
    if problems.len() > before {
        return None;
    }
    kind.energy = machine.energy.clone();
    kind.decision_latency = machine.decision_latency;
    kind.system = Some(system.clone());
    // Keys of the whole system have the values of the enclosing machine.
    let of_gpu = |setting: &&Setting| is_of_gpu(setting.key.path);
    let once = base.iter().filter(|setting| !of_gpu(setting));
    let all: Vec<Setting> = resolved.iter().filter(of_gpu).chain(once).cloned().collect();
    check::check_kind(name, (machine, base), (&kind, &all), problems, warnings);
    let differs = |setting: &Setting| !base.iter().any(|other| other.key.path == setting.key.path && other.value == setting.value);
    let settings = resolved.into_iter().filter(|setting| is_of_gpu(setting.key.path) && differs(setting)).collect();
    let location = listed.map_or(whole, |entry| entry.location.clone());
    let made = KindSettings { name: name.to_owned(), gpus: gpus.clone(), location, settings };
    Some((GpuKind { name: name.to_owned(), gpus, machine: kind }, made))
}

/// Returns the GPUs of a kind in ascending order; empty after a problem.
fn gpu_numbers(
    name: &str,
    entry: Option<&SettingEntry>,
    table: &SourceSpan,
    (count, made): (u32, &[KindSettings]),
    problems: &mut Vec<Problem>,
) -> Vec<u32> {
    let key = format!("{KINDS_TABLE}.{name}.gpus");
    let Some(entry) = entry else {
        problems.push(Problem::at(table, format!("missing key `{key}`")).help("it lists the GPUs of the kind, such as gpus = [2, 3]"));
        return Vec::new();
    };
    let mut refuse = |message: String, help: &str| {
        problems.push(Problem::at(&entry.location, message).help(help));
        Vec::new()
    };
    let items = if let RawValue::List(items) = &entry.raw { items.as_slice() } else { &[] };
    let number = |item: &RawValue| if let RawValue::Number(text) = item { text.parse().ok() } else { None };
    let Some(mut gpus) = items.iter().map(number).collect::<Option<Vec<u32>>>().filter(|gpus| !gpus.is_empty()) else {
        return refuse(format!("`{key}` is {}, expected a list of numbers, such as [2, 3]", entry.shown_value), "GPUs are numbered from 0");
    };
    gpus.sort_unstable();
    if gpus[0] == 0 {
        return refuse(format!("`{key}` contains GPU 0"), "the rest of the file describes GPU 0, whose core clock counts the run's cycles");
    }
    if let Some(gpu) = gpus.iter().find(|gpu| **gpu >= count) {
        return refuse(
            format!("`{key}` contains GPU {gpu}, but the system has {count} GPUs, counted from 0"),
            "increase `system.gpus`, or list other GPUs",
        );
    }
    let twice = gpus.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| (pair[0], name));
    let other = || made.iter().find_map(|kind| Some((*gpus.iter().find(|gpu| kind.gpus.contains(gpu))?, kind.name.as_str())));
    if let Some((gpu, kind)) = twice.or_else(other) {
        return refuse(format!("`{key}` contains GPU {gpu}, which already belongs to `{KINDS_TABLE}.{kind}`"), "a GPU has one kind");
    }
    gpus
}

/// Returns the entries of the machine that a kind extends.
fn base_entries(entry: &SettingEntry, open: &OpenMachine<'_>, problems: &mut Vec<Problem>) -> Option<Vec<SettingEntry>> {
    let RawValue::Text(machine) = &entry.raw else {
        problems.push(Problem::at(&entry.location, format!("`extends` is {}, expected a string in quotes", entry.shown_value)));
        return None;
    };
    let source = &entry.location.source;
    let folder = Path::new(&source.name).parent().filter(|_| source.is_file && source.name.ends_with(".toml"));
    open(machine, &entry.location, folder, problems)
}
