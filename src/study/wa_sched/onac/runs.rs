//! One run of a kernel on the machine of Table 4.4, with or without controllers, as a series of short intervals. Everything
//! that the study shows is made from such series; they are kept in files, so that an interrupted study resumes.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::chip::{RunOptions, simulate};
use crate::config::Machine;
use crate::energy::{Breakdown, Model};
use crate::frontend::model::{builtin_model, builtin_text};
use crate::policy::registry;
use crate::stats::{Counted, IntervalRow, Outcome};
use crate::study::wa_sched::steady::{kept, warp_instructions};

/// Core cycles of an interval.
pub(super) const INTERVAL: u64 = 1000;

/// What is run.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// A built-in machine.
    pub(super) machine: &'static str,
    /// A built-in model.
    pub(super) workload: String,
    /// Parameters of the model that are not as in its file.
    pub(super) parameters: Vec<(String, String)>,
    /// Controllers with the text of their tables.
    pub(super) policies: Vec<(&'static str, String)>,
    /// Core cycles behind the launch; the whole grid when not given.
    pub(super) cycles: Option<u64>,
}

/// What was counted in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    /// Core cycles.
    pub(super) cycles: u64,
    /// Warp instructions issued.
    pub(super) issued: u64,
    /// Loads that got their data.
    pub(super) loads: u64,
    /// Loads under way, summed over the cycles.
    pub(super) load_cycles: u64,
    /// The same, of cycles with arithmetic beside.
    pub(super) overlapped: u64,
    /// DRAM bursts.
    pub(super) bursts: u64,
    /// Of these, writes.
    pub(super) writes: u64,
    /// Energy.
    pub(super) joules: f64,
    /// The part of it that is paid for time alone.
    pub(super) at_rest: f64,
    /// Seconds on the simulated machine.
    pub(super) seconds: f64,
}

/// A number that a controller recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Core cycle behind the launch.
    pub(super) cycle: u64,
    /// Its name.
    pub(super) name: String,
    /// The number.
    pub(super) value: f64,
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    /// Core cycles behind the launch.
    pub(super) cycles: u64,
    /// Warp instructions.
    pub(super) issued: u64,
    /// Whether the grid ended.
    pub(super) ended: bool,
    /// The intervals, of [`INTERVAL`] core cycles but for the last.
    pub(super) rows: Vec<Row>,
    /// What controllers recorded for the whole machine.
    pub(super) records: Vec<Record>,
}

impl Task {
    /// Runs the task, or reads what an earlier run gave.
    ///
    /// # Errors
    /// Whatever goes wrong, as a message for the user.
    pub(super) fn run(&self, cache: Option<&Path>) -> Result<Run, String> {
        let loaded = Machine::load(self.machine, &[]).map_err(|errors| errors.to_string())?;
        kept(cache, "onac", (self, loaded.provenance.to_toml(), builtin_text(&self.workload)), || {
            let model = builtin_model(&self.workload, 1, &self.parameters).map_err(|error| error.to_string())?;
            let machine = &loaded.machine;
            let launch = machine.gpu.dispatch.launch_latency;
            let energy = Model::of(machine)?.ok_or_else(|| format!("{} names no set of energies", self.machine))?;
            let controllers = self.policies.iter().map(|(name, table)| {
                let table: toml::Table = table.parse().map_err(|error: toml::de::Error| error.to_string())?;
                registry::find(name).and_then(|policy| (policy.build)(table)).map_err(|error| error.to_string())
            });
            let controllers = controllers.collect::<Result<Vec<_>, String>>()?;
            let max_cycles = self.cycles.map(|cycles| launch + cycles);
            let options = RunOptions { max_cycles, interval: Some(INTERVAL), controllers, ..RunOptions::default() };
            let outcome = simulate(machine, &Arc::new(model.workload()), options).map_err(|error| error.to_string())?.outcome;
            Ok(Run::of(&outcome, &energy, launch))
        })
    }
}

impl Run {
    fn of(outcome: &Outcome, energy: &Model, launch: u64) -> Self {
        let mut before = launch;
        let mut rows = Vec::new();
        let intervals = outcome.intervals.iter().zip(energy.intervals(outcome));
        for (interval, (_, breakdown)) in intervals.filter(|(interval, _)| interval.cycle > launch) {
            rows.push(Row::of(interval, interval.cycle - before, &breakdown));
            before = interval.cycle;
        }
        let numbers = outcome.timeline.iter().filter(|entry| entry.sm.is_none() && entry.reason.is_empty());
        Self {
            cycles: outcome.cycles.saturating_sub(launch).max(1),
            issued: warp_instructions(outcome),
            ended: outcome.kernels.iter().all(|kernel| kernel.ended.is_some()),
            rows,
            records: numbers
                .filter_map(|entry| {
                    let value = entry.value?;
                    Some(Record { cycle: entry.cycle.saturating_sub(launch), name: entry.name.to_owned(), value })
                })
                .collect(),
        }
    }

    /// The sums of all whole intervals that lie between two cycles; of all of them when there is none.
    pub(super) fn stretch(&self, from: u64, to: u64) -> Row {
        let mut end = 0;
        let inside = self.rows.iter().filter(|row| {
            let begin = end;
            end += row.cycles;
            begin >= from && end <= to
        });
        match inside.copied().fold(Row::default(), Row::plus) {
            Row { cycles: 0, .. } => self.rows.iter().copied().fold(Row::default(), Row::plus),
            sum => sum,
        }
    }

    /// The energy of the whole run.
    pub(super) fn joules(&self) -> f64 {
        self.rows.iter().map(|row| row.joules).sum()
    }

    /// What was recorded last under a name.
    pub(super) fn last(&self, name: &str) -> Option<&Record> {
        self.records.iter().rev().find(|record| record.name == name)
    }
}

impl Row {
    fn of(interval: &IntervalRow, cycles: u64, energy: &Breakdown) -> Self {
        let get = |kind: &str, name: &str| {
            let is = |(of, counted): &&(&'static str, Counted)| *of == kind && counted.info.name == name;
            interval.counters.iter().find(is).map_or(0, |(_, counted)| counted.value)
        };
        Self {
            cycles,
            issued: get("sm", "warp_instructions"),
            loads: get("sm", "loads_answered"),
            load_cycles: get("sm", "load_cycles"),
            overlapped: get("sm", "load_overlapped_cycles"),
            bursts: get("dram", "reads") + get("dram", "writes"),
            writes: get("dram", "writes"),
            joules: energy.total(),
            at_rest: energy.at_rest(),
            seconds: energy.seconds,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cycles: self.cycles + other.cycles,
            issued: self.issued + other.issued,
            loads: self.loads + other.loads,
            load_cycles: self.load_cycles + other.load_cycles,
            overlapped: self.overlapped + other.overlapped,
            bursts: self.bursts + other.bursts,
            writes: self.writes + other.writes,
            joules: self.joules + other.joules,
            at_rest: self.at_rest + other.at_rest,
            seconds: self.seconds + other.seconds,
        }
    }

    /// Warp instructions per core cycle.
    pub(super) fn rate(&self) -> f64 {
        self.issued as f64 / self.cycles.max(1) as f64
    }

    /// Joules per core cycle.
    pub(super) fn joules_per_cycle(&self) -> f64 {
        self.joules / self.cycles.max(1) as f64
    }

    /// Mean power in watts, and the part of it that is paid for time alone.
    pub(super) fn watts(&self) -> (f64, f64) {
        let seconds = self.seconds.max(f64::MIN_POSITIVE);
        (self.joules / seconds, self.at_rest / seconds)
    }

    /// Mean cycles from a load's entry into the load/store unit to its last data.
    pub(super) fn amat(&self) -> f64 {
        self.load_cycles as f64 / self.loads.max(1) as f64
    }

    /// Those of them in which the core's arithmetic units had work.
    pub(super) fn amat_overlapped(&self) -> f64 {
        self.overlapped as f64 / self.loads.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run() -> Run {
        let row = |issued| Row { cycles: 1000, issued, loads: 10, load_cycles: 4000, overlapped: 1000, ..Row::default() };
        Run { cycles: 4000, issued: 100, ended: false, rows: vec![row(9000), row(1000), row(3000), row(5000)], records: Vec::new() }
    }

    #[test]
    fn a_stretch_is_whole_intervals() {
        let run = run();
        assert_eq!(run.stretch(1000, 3000).issued, 4000);
        assert_eq!(run.stretch(900, 3999).issued, 4000);
        assert_eq!(run.stretch(3500, 3600).issued, 18_000, "no interval lies within");
        assert_eq!(run.stretch(2000, 4000).rate(), 4.0);
    }

    #[test]
    fn latencies_are_means_over_loads() {
        let sum = run().stretch(0, 2000);
        assert_eq!((sum.amat(), sum.amat_overlapped()), (400.0, 100.0));
        assert_eq!(Row::default().amat(), 0.0);
    }

    #[test]
    fn a_kept_run_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let task = Task {
            machine: "fermi32",
            workload: "vecadd".into(),
            parameters: Vec::new(),
            policies: vec![("static_limit", "cores = 1".into())],
            cycles: Some(4000),
        };
        let first = task.run(Some(folder.path())).unwrap();
        assert!(first.issued > 0 && first.stretch(0, 4000).loads > 0 && !first.rows.is_empty());
        let (watts, at_rest) = first.stretch(0, 4000).watts();
        assert!(at_rest > 0.0 && watts > at_rest, "{watts} W, {at_rest} W at rest");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let again = task.run(Some(folder.path())).unwrap();
        assert_eq!((again.issued, again.rows.len(), &again.records), (first.issued, first.rows.len(), &first.records));
        let more = Task { policies: Vec::new(), ..task }.run(Some(folder.path())).unwrap();
        assert!(more.issued > first.issued, "{} instructions with all cores, {} with one", more.issued, first.issued);
        assert!(more.stretch(0, 4000).watts().1 > at_rest, "cores without power do not leak");
    }
}
