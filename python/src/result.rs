//! The results of a run: the files of the command line, and tables.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use warpshard::report::metrics::{self, Totals, WorkTotals};
use warpshard::report::text::Style;
use warpshard::report::{Destination, csv, energy, json, summary};
use warpshard::run::{Exit, FinishedRun, check_experiment};
use warpshard::stats::{ComponentStats, CounterValue};

use crate::errors::Failure;
use crate::table::{Columns, Table};

/// All results of a run.
#[pyclass(module = "warpshard._native", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    finished: Arc<FinishedRun>,
    partitions: u32,
}

impl Outcome {
    pub(crate) fn new(finished: FinishedRun, partitions: u32) -> Self {
        Self { finished: Arc::new(finished), partitions }
    }
}

/// Adds a column per counter of the rows, which have the same counters, unless a column of this name exists with the same value.
fn counters(columns: &mut Columns, rows: &[&[CounterValue]]) {
    let first = rows.iter().max_by_key(|row| row.len()).copied().unwrap_or_default();
    for (place, known) in first.iter().enumerate() {
        if columns.has(known.info.name) {
            continue;
        }
        let value = |row: &&[CounterValue]| match row.get(place) {
            Some(counted) if counted.info.name == known.info.name => Some(counted.value),
            _ => metrics::counter(row, known.info.name),
        };
        columns.numbers(known.info.name, rows.iter().map(value));
    }
}

#[pymethods]
impl Outcome {
    /// Returns the contents of `stats.json`.
    fn stats_json(&self) -> String {
        json::stats(&self.finished.facts, &self.finished.outcome)
    }

    /// Returns the contents of `host.json`.
    fn host_json(&self) -> String {
        json::host(&self.finished.facts, &self.finished.outcome, &self.finished.host)
    }

    /// Returns the contents of `run.toml`.
    fn run_toml(&self) -> &str {
        &self.finished.run_toml
    }

    /// Returns the report as text.
    fn summary(&self) -> String {
        summary(&self.finished.facts, &self.finished.outcome, &self.finished.host, Style::Plain)
    }

    /// Returns the headline numbers.
    fn headline<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let FinishedRun { facts, outcome, host, .. } = &*self.finished;
        let (totals, work) = (Totals::of(&outcome.components), WorkTotals::of_run(outcome));
        let levels = metrics::memory_levels(outcome, &totals, facts.dram_burst_bytes);
        let level = |name: &str| levels.iter().find(|level| level.name == name);
        let rate = |name: &str| level(name).and_then(|level| level.share(level.hits));
        let occupancy = metrics::occupancy(&totals);
        let spent = energy::breakdown(facts, outcome);
        let made = PyDict::new(py);
        made.set_item("machine", &facts.machine)?;
        made.set_item("workload", &facts.workload)?;
        made.set_item("ended_by", json::ended_by(outcome.ended_by))?;
        made.set_item("cycles", outcome.cycles)?;
        made.set_item("net_cycles", metrics::net_cycles(outcome))?;
        made.set_item("seconds", facts.seconds(outcome.cycles))?;
        made.set_item("warp_instructions", work.warp_instructions)?;
        made.set_item("thread_instructions", work.thread_instructions)?;
        made.set_item("ipc", work.ipc())?;
        made.set_item("resident_warps", occupancy.map(|occupancy| occupancy.warps))?;
        made.set_item("l1_hit_rate", rate("L1"))?;
        made.set_item("llc_hit_rate", rate("LLC"))?;
        made.set_item("dram_row_hit_rate", rate("DRAM"))?;
        let bytes = level("DRAM").and_then(|level| level.bytes);
        made.set_item("dram_bytes", bytes)?;
        let rate = bytes.and_then(|bytes| metrics::per_second(bytes as f64, metrics::counted_seconds(facts, outcome)));
        made.set_item("dram_bytes_per_second", rate)?;
        made.set_item("joules", spent.as_ref().map(|energy| energy.total()))?;
        made.set_item("mean_watts", spent.as_ref().map(|energy| energy.mean_watts()))?;
        made.set_item("host_seconds", host.simulate_seconds)?;
        Ok(made)
    }

    /// Returns the scheduler cycles over all SMs by reason, as pairs of name and cycles.
    fn scheduler_cycles(&self) -> Vec<(String, u64)> {
        let reasons = metrics::scheduler_cycles(&Totals::of(&self.finished.outcome.components));
        reasons.into_iter().map(|counted| (counted.info.name.to_owned(), counted.value)).collect()
    }

    /// Returns description and unit of a counter; `None` if the kind of component has no such counter.
    fn counter_help(&self, kind: &str, name: &str) -> Option<(&'static str, &'static str)> {
        let outcome = &self.finished.outcome;
        let of_kernel = outcome.kernels.iter().take(1).filter(|_| kind == "kernel").flat_map(|kernel| kernel.counters.iter());
        let of_component = outcome.components.iter().filter(|component| component.kind == kind).take(1);
        let mut counters = of_kernel.chain(of_component.flat_map(|component| component.counters.iter().copied()));
        let found = counters.find(|counted| counted.info.name == name)?;
        Some((found.info.unit, found.info.help))
    }

    /// Returns the files of the result folder, with their contents.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = py.detach(|| self.finished.files().0);
        let made = PyDict::new(py);
        for file in files {
            let contents = file.contents();
            made.set_item(file.name, PyBytes::new(py, &contents))?;
        }
        Ok(made)
    }

    /// Writes the result folder.
    fn save(&self, py: Python<'_>, folder: PathBuf, force: bool) -> PyResult<PathBuf> {
        let write = || {
            let destination = Destination::folder(&folder, force)?;
            if !force {
                check_experiment(&folder, &self.finished.run_toml, false)?;
            }
            destination.write(&self.finished.files().0)
        };
        Ok(py.detach(write).map_err(|error| Failure::new(Exit::Output, error))?)
    }

    /// Returns a table with a row per kernel launch.
    fn kernels(&self) -> PyResult<Table> {
        let outcome = &self.finished.outcome;
        let (kernels, mut columns) = (&outcome.kernels, Columns::default());
        let works: Vec<WorkTotals> = kernels.iter().map(|kernel| WorkTotals::of_kernel(kernel, outcome)).collect();
        columns.numbers("index", kernels.iter().map(|kernel| Some(u64::from(kernel.index.0))));
        columns.texts("name", kernels.iter().map(|kernel| Some(kernel.name.as_str())));
        columns.numbers("id", kernels.iter().map(|kernel| Some(kernel.id)));
        columns.numbers("stream", kernels.iter().map(|kernel| Some(kernel.stream.0)));
        columns.numbers("ctas", kernels.iter().map(|kernel| Some(u64::from(kernel.ctas))));
        columns.numbers("ctas_done", kernels.iter().map(|kernel| Some(u64::from(kernel.ctas_done))));
        columns.numbers("ctas_per_sm", kernels.iter().map(|kernel| Some(u64::from(kernel.ctas_per_sm))));
        columns.numbers("launched", kernels.iter().map(|kernel| kernel.launched));
        columns.numbers("started", kernels.iter().map(|kernel| kernel.started));
        columns.numbers("ended", kernels.iter().map(|kernel| kernel.ended));
        let elapsed = works.iter().zip(kernels).map(|(work, kernel)| Some(work.cycles + kernel.launch_latency_cycles));
        columns.numbers("cycles", elapsed);
        columns.numbers("cycles_active", works.iter().map(|work| Some(work.cycles)));
        columns.numbers("launch_latency_cycles", kernels.iter().map(|kernel| Some(kernel.launch_latency_cycles)));
        columns.floats("ipc", works.iter().map(WorkTotals::ipc));
        let rows: Vec<Vec<CounterValue>> = kernels.iter().map(|kernel| kernel.counters.iter().collect()).collect();
        counters(&mut columns, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
        columns.table()
    }

    /// Returns a table with a row per component of a kind, such as "sm", "llc" or "dram".
    fn components(&self, kind: &str) -> PyResult<Table> {
        let mut members: Vec<&ComponentStats> =
            self.finished.outcome.components.iter().filter(|component| component.kind == kind).collect();
        members.sort_by_key(|component| component.id);
        let mut columns = Columns::default();
        columns.numbers("id", members.iter().map(|component| Some(u64::from(component.id))));
        counters(&mut columns, &members.iter().map(|component| component.counters.as_slice()).collect::<Vec<_>>());
        columns.table()
    }

    /// Returns the kinds of components that have counters.
    fn kinds(&self) -> Vec<&'static str> {
        Totals::of(&self.finished.outcome.components).0.iter().map(|total| total.kind).collect()
    }

    /// Returns a table with a row per memory partition; counters of several components of a kind inside one partition are summed.
    fn partitions(&self) -> PyResult<Table> {
        let (components, count) = (&self.finished.outcome.components, self.partitions as usize);
        let mut columns = Columns::default();
        columns.numbers("id", (0..count as u64).map(Some));
        for total in &Totals::of(components).0 {
            let inside = !matches!(total.kind, "sm" | "grid" | "cpu") && !total.kind.contains("net");
            let (members, many) = (total.count as usize, total.count as usize / count.max(1));
            if !inside || many == 0 || !members.is_multiple_of(count) {
                continue;
            }
            let mut of_kind: Vec<&ComponentStats> = components.iter().filter(|component| component.kind == total.kind).collect();
            of_kind.sort_by_key(|component| component.id);
            for known in &total.counters {
                let value = |part: &[&ComponentStats]| part.iter().filter_map(|one| metrics::counter(&one.counters, known.info.name)).sum();
                columns.numbers(format!("{}.{}", total.kind, known.info.name), of_kind.chunks(many).map(value).map(Some));
            }
        }
        columns.table()
    }

    /// Returns a table with a row per interval.
    fn intervals(&self) -> PyResult<Table> {
        let series = &self.finished.outcome.intervals;
        let mut lists = vec![Vec::with_capacity(series.len()); 1 + series.columns().len()];
        let mut rows = series.values();
        while let Some((cycle, values)) = rows.next_row() {
            lists.iter_mut().zip(std::iter::once(cycle).chain(values.iter().copied())).for_each(|(list, value)| list.push(value));
        }
        let names = series.columns().iter().map(|(kind, info)| format!("{kind}.{}", info.name));
        let mut columns = Columns::default();
        for (name, list) in std::iter::once("cycle".to_owned()).chain(names).zip(lists) {
            columns.numbers(name, list.into_iter().map(Some));
        }
        columns.table()
    }

    /// Returns a table with a row per component with event energies, and a row with the total.
    fn energy(&self) -> PyResult<Table> {
        let breakdown = energy::breakdown(&self.finished.facts, &self.finished.outcome);
        let mut rows: Vec<(&str, f64)> = breakdown.iter().flat_map(|energy| energy.components()).collect();
        rows.extend(breakdown.iter().map(|energy| ("total", energy.total())));
        let (total, seconds) = breakdown.as_ref().map_or((0.0, 0.0), |energy| (energy.total(), energy.seconds));
        let mut columns = Columns::default();
        columns.texts("component", rows.iter().map(|(name, _)| Some(*name)));
        columns.floats("joules", rows.iter().map(|(_, joules)| Some(*joules)));
        columns.floats("mean_watts", rows.iter().map(|(_, joules)| Some(joules / seconds)));
        columns.floats("share", rows.iter().map(|(_, joules)| (total > 0.0).then(|| joules / total)));
        columns.table()
    }

    /// Returns a table with a row per interval and the mean power of each component.
    fn power(&self) -> PyResult<Table> {
        let FinishedRun { facts, outcome, .. } = &*self.finished;
        let rows = facts.energy.as_ref().map_or_else(Vec::new, |model| model.intervals(&outcome.intervals).collect());
        let mut columns = Columns::default();
        columns.numbers("cycle", rows.iter().map(|(cycle, _)| Some(*cycle)));
        columns.floats("joules", rows.iter().map(|(_, energy)| Some(energy.total())));
        columns.floats("watts", rows.iter().map(|(_, energy)| Some(energy.mean_watts())));
        let names: Vec<&str> = rows.first().map_or_else(Vec::new, |(_, energy)| energy.components().map(|(name, _)| name).collect());
        for (place, name) in names.iter().enumerate() {
            let watts = |(_, energy): &(u64, warpshard::energy::Breakdown)| {
                energy.components().nth(place).map(|(_, joules)| joules / energy.seconds)
            };
            columns.floats(format!("{name}_watts"), rows.iter().map(watts));
        }
        columns.table()
    }

    /// Returns a table with a row per decision, signal or remark of a controller.
    fn timeline(&self) -> PyResult<Table> {
        let rows = &self.finished.outcome.timeline;
        let mut columns = Columns::default();
        columns.numbers("cycle", rows.iter().map(|entry| Some(entry.cycle)));
        columns.texts("controller", rows.iter().map(|entry| Some(entry.controller.as_str())));
        columns.numbers("sm", rows.iter().map(|entry| entry.sm.map(u64::from)));
        columns.texts("name", rows.iter().map(|entry| Some(entry.name)));
        columns.floats("value", rows.iter().map(|entry| entry.value));
        columns.texts("reason", rows.iter().map(|entry| Some(entry.reason.as_str())));
        columns.table()
    }

    /// Returns the contents of `timeline.csv`.
    fn timeline_csv(&self) -> String {
        csv::timeline(&self.finished.outcome.timeline)
    }
}
