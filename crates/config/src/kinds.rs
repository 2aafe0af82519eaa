//! Other kinds of GPUs in a system: the tables `system.kinds.NAME` of a machine file, each with the keys of a GPU.
//!
//! In: the entries of these tables and of the machine around them. Out: a machine for each kind. What a table does not give comes from the
//! machine that it extends, or, where it extends none, from the machine around it with all its settings. What a system has once (its links,
//! its name, the decision latency, the energy set) is no key of a kind.

use std::collections::BTreeMap;
use std::path::Path;

use super::check;
use super::error::{Place, Problem};
use super::kind_keys::{KIND_KEYS, TABLE, is_of_gpu};
use super::machine::{GpuKind, Machine};
use super::provenance::KindSettings;
use super::resolve::{Setting, resolve};
use super::source::Entry;
use super::system::System;
use super::value::Raw;

/// Gives the entries of a machine by its name or path, asked for at a place; relative paths start in the folder.
pub(super) type Open<'a> = dyn Fn(&str, &Place, Option<&Path>, &mut Vec<Problem>) -> Option<Vec<Entry>> + 'a;

/// The machine around the kinds, as entries and as settings, and how others are opened.
pub(super) struct Around<'a> {
    pub(super) entries: &'a [Entry],
    pub(super) settings: &'a [Setting],
    pub(super) open: &'a Open<'a>,
}

/// Takes the entries of kinds out of `entries`: by name, with their keys as those of a machine.
pub(super) fn take(entries: &mut Vec<Entry>) -> BTreeMap<String, Vec<Entry>> {
    let mut kinds: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    entries.retain(|entry| {
        let inside = entry.path.strip_prefix(TABLE).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.split_once('.'));
        if let Some((name, key)) = inside {
            kinds.entry(name.to_owned()).or_default().push(Entry { path: key.to_owned(), ..entry.clone() });
        }
        inside.is_none()
    });
    kinds
}

/// Resolves and checks the kinds of `machine` and puts them into it.
pub(super) fn add(
    machine: &mut Machine,
    kinds: BTreeMap<String, Vec<Entry>>,
    around: &Around<'_>,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Vec<KindSettings> {
    let mut made: Vec<KindSettings> = Vec::new();
    for (name, own) in kinds {
        let Some(first) = own.first() else { continue };
        let Some(system) = machine.system.clone() else {
            let help = "kinds are those of several GPUs; set `system.gpus`, or remove the table";
            problems.push(Problem::at(&first.place, format!("`{TABLE}.{name}` means nothing to a machine of one GPU")).help(help));
            continue;
        };
        if let Some(kind) = resolved(&name, &own, (machine, &system), around, &made, problems, warnings) {
            let (kind, settings) = kind;
            machine.kinds.push(kind);
            made.push(settings);
        }
    }
    made
}

/// One kind; `made` are those before it.
fn resolved(
    name: &str,
    own: &[Entry],
    (machine, system): (&Machine, &System),
    around: &Around<'_>,
    made: &[KindSettings],
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Option<(GpuKind, KindSettings)> {
    let of = |key: &str| own.iter().rev().find(|entry| entry.path == key);
    let base = around.settings;
    let whole = Place::whole(&own[0].place.source);
    let before = problems.len();
    let listed = of("gpus");
    let gpus = numbers(name, listed, &own[0].place, (system.gpus, made), problems);
    let below: Vec<Entry> = match of("extends") {
        None => around.entries.to_vec(),
        Some(entry) => extended(entry, around.open, problems)?,
    };
    let below = below.into_iter().filter(|entry| is_of_gpu(&entry.path)).map(|entry| Entry { layer: 0, ..entry });
    let above = own.iter().filter(|entry| KIND_KEYS.iter().all(|(key, ..)| *key != entry.path));
    let above = above.map(|entry| Entry { layer: 1_usize.saturating_add(entry.layer), ..entry.clone() });
    let named =
        Entry { path: "name".to_owned(), raw: Raw::Text(name.to_owned()), shown: name.to_owned(), place: own[0].place.clone(), layer: 0 };
    let (mut kind, resolved) = resolve(std::iter::once(named).chain(below).chain(above).collect(), &whole, problems);
    if problems.len() > before {
        return None;
    }
    kind.energy = machine.energy.clone();
    kind.decision_latency = machine.decision_latency;
    kind.system = Some(system.clone());
    // What a system has once is read from the machine around, in checks as in the model.
    let of_gpu = |setting: &&Setting| is_of_gpu(setting.key.path);
    let once = base.iter().filter(|setting| !of_gpu(setting));
    let all: Vec<Setting> = resolved.iter().filter(of_gpu).chain(once).cloned().collect();
    check::check_kind(name, (machine, base), (&kind, &all), problems, warnings);
    let differs = |setting: &Setting| !base.iter().any(|other| other.key.path == setting.key.path && other.value == setting.value);
    let settings = resolved.into_iter().filter(|setting| is_of_gpu(setting.key.path) && differs(setting)).collect();
    let place = listed.map_or(whole, |entry| entry.place.clone());
    let made = KindSettings { name: name.to_owned(), gpus: gpus.clone(), place, settings };
    Some((GpuKind { name: name.to_owned(), gpus, machine: kind }, made))
}

/// The GPUs of a kind, in ascending order; empty where there is a problem.
fn numbers(
    name: &str,
    entry: Option<&Entry>,
    table: &Place,
    (count, made): (u32, &[KindSettings]),
    problems: &mut Vec<Problem>,
) -> Vec<u32> {
    let key = format!("{TABLE}.{name}.gpus");
    let Some(entry) = entry else {
        problems.push(Problem::at(table, format!("missing key `{key}`")).help("it lists the GPUs of the kind, such as gpus = [2, 3]"));
        return Vec::new();
    };
    let mut refuse = |message: String, help: &str| {
        problems.push(Problem::at(&entry.place, message).help(help));
        Vec::new()
    };
    let items = if let Raw::List(items) = &entry.raw { items.as_slice() } else { &[] };
    let number = |item: &Raw| if let Raw::Number(text) = item { text.parse().ok() } else { None };
    let Some(mut gpus) = items.iter().map(number).collect::<Option<Vec<u32>>>().filter(|gpus| !gpus.is_empty()) else {
        return refuse(format!("`{key}` is {}, expected a list of numbers, such as [2, 3]", entry.shown), "GPUs count from 0");
    };
    gpus.sort_unstable();
    if gpus[0] == 0 {
        return refuse(
            format!("`{key}` has GPU 0"),
            "GPU 0 is what the rest of the file describes; its core clock counts the run's cycles",
        );
    }
    if let Some(gpu) = gpus.iter().find(|gpu| **gpu >= count) {
        return refuse(
            format!("`{key}` has GPU {gpu}, but the system has {count} GPUs, counted from 0"),
            "raise `system.gpus`, or list others",
        );
    }
    let twice = gpus.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| (pair[0], name));
    let other = || made.iter().find_map(|kind| Some((*gpus.iter().find(|gpu| kind.gpus.contains(gpu))?, kind.name.as_str())));
    if let Some((gpu, kind)) = twice.or_else(other) {
        return refuse(format!("`{key}` has GPU {gpu}, which `{TABLE}.{kind}` has already"), "a GPU is of one kind");
    }
    gpus
}

/// The entries of the machine that a kind extends.
fn extended(entry: &Entry, open: &Open<'_>, problems: &mut Vec<Problem>) -> Option<Vec<Entry>> {
    let Raw::Text(machine) = &entry.raw else {
        problems.push(Problem::at(&entry.place, format!("`extends` is {}, expected a text in quotes", entry.shown)));
        return None;
    };
    let source = &entry.place.source;
    let folder = Path::new(&source.name).parent().filter(|_| source.is_file && source.name.ends_with(".toml"));
    open(machine, &entry.place, folder, problems)
}
