//! The compared numbers of runs: cycles and instructions, stalls, caches, DRAM, energy, and all counters.

use serde_json::Value;

use warpshard_report::metrics::{MemoryLevel, ratio};

use super::super::RunFolder;
use super::{Quantity, Row, Section};

/// Returns the rows by subject, without subjects that no run has.
pub(super) fn sections(runs: &[RunFolder]) -> Vec<Section> {
    let levels: Vec<Vec<MemoryLevel>> = runs.iter().map(|run| run.stats.memory_levels()).collect();
    let all = [
        Section { title: "Performance", rows: performance(runs) },
        Section::sorted("Scheduler cycles", stalls(runs)),
        Section::sorted("Caches", [cache(&levels, "L1"), cache(&levels, "LLC")].concat()),
        Section::sorted("DRAM", dram(runs, &levels)),
        Section::sorted("Energy", energy(runs)),
    ];
    all.into_iter().filter(|section| !section.rows.is_empty()).collect()
}

/// Returns a row, or `None` if no run has the value.
fn row(runs: usize, name: &str, quantity: Quantity, value: impl Fn(usize) -> Option<f64>) -> Option<Row> {
    let values: Vec<Option<f64>> = (0..runs).map(value).collect();
    values.iter().any(Option::is_some).then(|| Row::new(name, quantity, values))
}

fn performance(runs: &[RunFolder]) -> Vec<Row> {
    let total = |name: &str, key: &'static str, quantity| row(runs.len(), name, quantity, |i| runs[i].stats.number(&["total", key]));
    let rows = [
        total("cycles", "cycles", Quantity::Amount),
        row(runs.len(), "seconds", Quantity::Seconds, |i| {
            let hertz = runs[i].stats.number(&["core_khz"]).filter(|khz| *khz > 0.0)? * 1000.0;
            Some(runs[i].stats.number(&["total", "cycles"])? / hertz)
        }),
        total("cycles without launch latency", "net_cycles", Quantity::Amount),
        total("IPC", "ipc", Quantity::Ratio),
        total("warp instructions", "warp_instructions", Quantity::Amount),
        total("thread instructions", "thread_instructions", Quantity::Amount),
        total("kernels ended", "kernels_ended", Quantity::Amount),
        total("CTAs done", "ctas_done", Quantity::Amount),
        row(runs.len(), "mean IPC of CPU cores", Quantity::Ratio, |i| cpu_ipc(&runs[i])),
        row(runs.len(), "STP", Quantity::Ratio, |i| runs[i].stats.number(&["applications", "stp"])),
        row(runs.len(), "ANTT", Quantity::Ratio, |i| runs[i].stats.number(&["applications", "antt"])),
    ];
    rows.into_iter().flatten().collect()
}

fn cpu_ipc(run: &RunFolder) -> Option<f64> {
    let cores: Vec<f64> = run.stats.at(&["cpu_cores"])?.as_array()?.iter().filter_map(|core| core.get("ipc")?.as_f64()).collect();
    (!cores.is_empty()).then(|| cores.iter().sum::<f64>() / cores.len() as f64)
}

/// Returns the stall reasons as shares of all scheduler cycles.
fn stalls(runs: &[RunFolder]) -> Vec<Row> {
    let share = |run: &RunFolder, reason: &str| {
        let all = run.stats.number(&["scheduler_cycles", "total"]).filter(|all| *all > 0.0)?;
        Some(run.stats.number(&["scheduler_cycles", "reasons", reason])? / all)
    };
    let reasons = names(runs, &["scheduler_cycles", "reasons"]);
    reasons.iter().filter_map(|reason| row(runs.len(), reason, Quantity::Share, |i| share(&runs[i], reason))).collect()
}

/// Returns the names in an object of all runs without duplicates.
fn names(runs: &[RunFolder], path: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in runs.iter().filter_map(|run| run.stats.object(path)).flat_map(serde_json::Map::keys) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn cache(levels: &[Vec<MemoryLevel>], name: &str) -> Vec<Row> {
    let level = |i: usize| levels[i].iter().find(|level| level.name == name);
    let amount = |what: &str, of: &dyn Fn(&MemoryLevel) -> Option<u64>| {
        row(levels.len(), &format!("{name} {what}"), Quantity::Amount, |i| of(level(i)?).map(|value| value as f64))
    };
    let rows = [
        row(levels.len(), &format!("{name} hit rate"), Quantity::Share, |i| level(i)?.share(level(i)?.hits)),
        row(levels.len(), &format!("{name} pending hits"), Quantity::Share, |i| level(i)?.share(level(i)?.pending?)),
        amount("accesses", &|level| Some(level.accesses)),
        amount("misses", &|level| Some(level.misses)),
    ];
    rows.into_iter().flatten().collect()
}

fn dram(runs: &[RunFolder], levels: &[Vec<MemoryLevel>]) -> Vec<Row> {
    let level = |i: usize| levels[i].iter().find(|level| level.name == "DRAM");
    let known = |bytes: u64| (bytes > 0).then_some(bytes as f64);
    let rows = [
        row(runs.len(), "bytes", Quantity::Bytes, |i| known(level(i)?.bytes?)),
        row(runs.len(), "bytes per cycle", Quantity::Ratio, |i| {
            // The bandwidth is relative to the time in which the channels counted, which can end after the last kernel.
            Some(known(level(i)?.bytes?)? / runs[i].stats.number(&["counted_until"]).filter(|cycles| *cycles > 0.0)?)
        }),
        row(runs.len(), "bursts", Quantity::Amount, |i| Some(level(i)?.accesses as f64)),
        row(runs.len(), "writes", Quantity::Amount, |i| Some(level(i)?.writes? as f64)),
        row(runs.len(), "row hit rate", Quantity::Share, |i| level(i)?.share(level(i)?.hits)),
        row(runs.len(), "mean read latency", Quantity::Ratio, |i| runs[i].stats.number(&["dram_read_latency_cycles", "mean"])),
    ];
    rows.into_iter().flatten().collect()
}

fn energy(runs: &[RunFolder]) -> Vec<Row> {
    let total = row(runs.len(), "joules", Quantity::Joules, |i| runs[i].stats.number(&["energy", "joules"]));
    let watts = row(runs.len(), "mean watts", Quantity::Ratio, |i| runs[i].stats.number(&["energy", "mean_watts"]));
    let component = |name: &String| row(runs.len(), name, Quantity::Joules, |i| runs[i].stats.number(&["energy", "components", name]));
    let components = names(runs, &["energy", "components"]);
    let parts = components.iter().filter_map(component).filter(|row| row.values.iter().any(|value| value.unwrap_or(0.0) != 0.0));
    total.into_iter().chain(watts).chain(parts).collect()
}

/// Returns every counter that is nonzero in some run, as `kind.name`.
pub(super) fn counters(runs: &[RunFolder]) -> Vec<Row> {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    let mut rows: Vec<Row> = Vec::new();
    let mut add = |label: String, value: &dyn Fn(usize) -> Option<f64>| {
        rows.extend(row(runs.len(), &label, Quantity::Amount, value).filter(|row| row.values.iter().any(|value| *value != Some(0.0))));
    };
    for name in names(runs, &["total", "counters"]) {
        add(format!("kernel.{name}"), &|i| number(runs[i].stats.object(&["total", "counters"])?.get(&name)));
    }
    for kind in names(runs, &["components"]) {
        for name in names(runs, &["components", &kind, "total"]) {
            add(format!("{kind}.{name}"), &|i| number(runs[i].stats.object(&["components", &kind, "total"])?.get(&name)));
        }
    }
    Section::sorted("", rows).rows
}

/// Returns `part / whole` of two optional numbers.
pub(super) fn quotient(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    ratio(part?, whole?)
}
