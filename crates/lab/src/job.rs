//! A simulated run of a kernel model on a machine, and the measurements that studies use.
//!
//! A [`Job`] holds machine, settings, model, parameters, policies and length. Its [`Run`] holds a series of short intervals and the records
//! of the controllers. Runs are stored by content, see [`warpshard_report::store`].

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use serde::{Deserialize, Serialize};

use warpshard_config::{Loaded, Override};
use warpshard_energy::{Breakdown, Model};
use warpshard_report::metrics;
use warpshard_run::{Catalogue, OpenedRun, Request};
use warpshard_stats::{CounterValue, IntervalRow, Outcome};
use warpshard_sync::StopFlag;
use warpshard_workload::Workload;

use super::Task;
use super::verdict::RunEnd;
use crate::error::TaskError;

/// Core cycles per interval.
pub const INTERVAL_CYCLES: u64 = 1000;

/// Inputs of a simulated run.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Catalogue with the machine, the workload and the controllers.
    pub catalogue: &'static Catalogue,
    /// Name or file of the machine.
    pub machine: String,
    /// Settings of the machine, as key and value, without duplicate keys.
    pub settings: Vec<(String, String)>,
    /// Name of a built-in kernel model.
    pub workload: String,
    /// Parameters of the model that override its file.
    pub parameters: Vec<(String, String)>,
    /// Controllers, each as `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
    pub policies: Vec<String>,
    /// Core cycles after the kernel launch; `None` runs to the end of the workload.
    pub cycles: Option<u64>,
}

impl Job {
    /// Returns the job with one machine key overridden.
    pub fn set(mut self, key: &str, value: impl ToString) -> Self {
        self.settings.retain(|(other, _)| other != key);
        self.settings.push((key.to_owned(), value.to_string()));
        self
    }

    /// Returns the job with an additional controller.
    pub fn policy(mut self, policy: impl Into<String>) -> Self {
        self.policies.push(policy.into());
        self
    }

    /// Returns the job with another length.
    pub fn cycles(self, cycles: Option<u64>) -> Self {
        Self { cycles, ..self }
    }

    /// Loads the machine with its settings.
    ///
    /// # Errors
    /// Fails if the machine is invalid, with a message for the user.
    pub fn load(&self) -> Result<Loaded, TaskError> {
        let overrides: Vec<Override> = self.settings.iter().map(|(key, value)| Override::new(key, value)).collect();
        self.catalogue.machine(&self.machine, &overrides).map_err(TaskError::from)
    }

    /// Simulates `workload` on the job's machine instead of the job's model.
    ///
    /// # Errors
    /// Fails if the run cannot be prepared or simulated.
    pub fn simulate(&self, loaded: Loaded, workload: Workload) -> Result<Run, TaskError> {
        let launch = loaded.machine.gpu.dispatch.launch_latency;
        let energy = Model::of(&loaded.machine)?;
        let request = Request {
            policies: self.policies.clone(),
            max_cycles: self.cycles.and_then(|cycles| NonZeroU64::new(launch + cycles)),
            interval: NonZeroU64::new(INTERVAL_CYCLES),
            threads: Some(NonZeroU32::MIN),
            ..Request::default()
        };
        let ready = OpenedRun::with_machine(self.catalogue, &request, loaded)?.with_workload(workload)?;
        let outcome = ready.simulate(Vec::new(), StopFlag::new(), None)?.outcome;
        Ok(Run::of(&outcome, energy.as_ref(), launch))
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.workload, self.machine)?;
        self.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))?;
        self.policies.iter().try_for_each(|policy| write!(f, " {policy}"))
    }
}

impl Task for Job {
    type Result = Run;

    fn key(&self) -> Result<String, TaskError> {
        Ok(format!("run {self:?} {} {:?}", self.load()?.provenance.to_toml(), self.catalogue.model_text(&self.workload)))
    }

    fn run(&self) -> Result<Run, TaskError> {
        let model = self.catalogue.model(&self.workload, 1, &self.parameters)?;
        self.simulate(self.load()?, model.workload())
    }
}

/// Counts of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "RowCells", from = "RowCells")]
pub struct Row {
    /// Core cycles of the interval.
    pub cycles: u64,
    /// Issued warp instructions. An SM with dual issue has fewer scheduler cycles with an issue.
    pub issued: u64,
    /// Completed loads.
    pub loads: u64,
    /// Loads in flight, summed over the cycles.
    pub load_cycles: u64,
    /// Loads in flight, summed over the cycles in which an arithmetic unit has an instruction.
    pub overlapped: u64,
    /// DRAM bursts, of reads and writes.
    pub bursts: u64,
    /// DRAM bursts of writes.
    pub writes: u64,
    /// Energy in joules; 0 for a machine without event energies.
    pub joules: f64,
    /// Static energy in joules, a part of `joules`.
    pub at_rest: f64,
    /// Simulated seconds.
    pub seconds: f64,
}

/// The stored form of a row, without names; floating-point numbers are stored as their bits, so that they are exact.
type RowCells = [u64; 10];

impl From<Row> for RowCells {
    fn from(row: Row) -> Self {
        let Row { cycles, issued, loads, load_cycles, overlapped, bursts, writes, joules, at_rest, seconds } = row;
        let [joules, at_rest, seconds] = [joules, at_rest, seconds].map(f64::to_bits);
        [cycles, issued, loads, load_cycles, overlapped, bursts, writes, joules, at_rest, seconds]
    }
}

impl From<RowCells> for Row {
    fn from(cells: RowCells) -> Self {
        let [cycles, issued, loads, load_cycles, overlapped, bursts, writes, joules, at_rest, seconds] = cells;
        let [joules, at_rest, seconds] = [joules, at_rest, seconds].map(f64::from_bits);
        Self { cycles, issued, loads, load_cycles, overlapped, bursts, writes, joules, at_rest, seconds }
    }
}

/// A signal that a controller recorded, or a knob that it set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Core cycle after the launch.
    pub cycle: u64,
    /// The SM; `None` means the whole machine.
    pub sm: Option<u16>,
    /// Name of the signal or knob.
    pub name: String,
    /// Value of the signal or knob.
    pub value: f64,
}

/// The result of a [`Job`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Core cycles after the launch.
    pub cycles: u64,
    /// Core cycles without launch latencies.
    pub net_cycles: u64,
    /// Issued warp instructions.
    pub issued: u64,
    /// True if the workload ended.
    pub ended: bool,
    /// The intervals, of [`INTERVAL_CYCLES`] core cycles except the last.
    pub rows: Vec<Row>,
    /// Records of the controllers.
    pub records: Vec<Record>,
}

impl Run {
    fn of(outcome: &Outcome, energy: Option<&Model>, launch: u64) -> Self {
        let mut before = launch;
        let mut rows = Vec::new();
        let mut breakdowns = energy.map(|energy| energy.intervals(&outcome.intervals));
        for interval in outcome.intervals.iter() {
            let breakdown = breakdowns.as_mut().and_then(|all| all.next());
            if interval.cycle <= launch {
                continue;
            }
            rows.push(Row::of(&interval, interval.cycle - before, breakdown.as_ref().map(|(_, energy)| energy)));
            before = interval.cycle;
        }
        let record = |entry: &warpshard_stats::TimelineEntry| {
            let (cycle, sm, name) = (entry.cycle.saturating_sub(launch), entry.sm, entry.name.to_owned());
            entry.value.map(|value| Record { cycle, sm, name, value })
        };
        let issued = outcome.kernels.iter().filter_map(|kernel| kernel.counters.get(metrics::WARP_INSTRUCTIONS));
        Self {
            cycles: outcome.cycles.saturating_sub(launch).max(1),
            net_cycles: metrics::net_cycles(outcome).max(1),
            issued: issued.sum(),
            ended: outcome.kernels.iter().all(|kernel| kernel.ended.is_some()),
            rows,
            records: outcome.timeline.iter().filter_map(record).collect(),
        }
    }

    /// Returns the sum of all intervals between two cycles; `None` if no interval lies between them.
    pub fn sum_within(&self, from: u64, to: u64) -> Option<Row> {
        let mut end = 0;
        let inside = self.rows.iter().filter(|row| {
            let begin = end;
            end += row.cycles;
            begin >= from && end <= to
        });
        let sum = inside.copied().fold(Row::default(), Row::plus);
        (sum.cycles > 0).then_some(sum)
    }

    /// Returns the sum of all intervals between two cycles, or of all intervals of the run if no interval lies between them.
    pub fn sum_within_or_all(&self, from: u64, to: u64) -> Row {
        self.sum_within(from, to).unwrap_or_else(|| self.rows.iter().copied().fold(Row::default(), Row::plus))
    }

    /// Returns the warp instructions per core cycle of the whole run.
    pub fn mean_rate(&self) -> f64 {
        self.issued as f64 / self.cycles.max(1) as f64
    }

    /// Returns the warp instructions per core cycle of the complete intervals from a cycle on, or of the whole run if there is no such
    /// interval.
    pub fn rate_from(&self, from: u64) -> f64 {
        self.sum_within(from, self.cycles / INTERVAL_CYCLES * INTERVAL_CYCLES).map_or_else(|| self.mean_rate(), |row| row.rate())
    }

    /// Returns the warp instructions per core cycle after the first quarter, or of the whole run if the workload ended.
    pub fn steady_rate(&self, cycles: Option<u64>) -> f64 {
        if self.ended { self.mean_rate() } else { self.rate_from(cycles.unwrap_or(0) / 4 / INTERVAL_CYCLES * INTERVAL_CYCLES) }
    }

    /// Returns the rate with which runs of one grid are compared: of the whole grid if it ended, otherwise from a cycle on.
    pub fn comparable_rate(&self, from: u64) -> f64 {
        if self.ended { self.mean_rate() } else { self.rate_from(from) }
    }

    /// Returns the energy of the whole run in joules.
    pub fn joules(&self) -> f64 {
        self.rows.iter().map(|row| row.joules).sum()
    }

    /// Returns the records with this name for the whole machine, in order.
    pub fn of_machine<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a Record> {
        self.records.iter().filter(move |record| record.sm.is_none() && record.name == name)
    }

    /// Returns the end of the run, as headlines report it.
    pub fn run_end(&self) -> RunEnd {
        if self.ended { RunEnd::Whole } else { RunEnd::Cut }
    }
}

impl Row {
    fn of(interval: &IntervalRow, cycles: u64, energy: Option<&Breakdown>) -> Self {
        let get = |kind: &str, name: &str| {
            let is = |(of, counted): &&(&'static str, CounterValue)| *of == kind && counted.info.name == name;
            interval.counters.iter().find(is).map_or(0, |(_, counted)| counted.value)
        };
        Self {
            cycles,
            issued: get("sm", metrics::WARP_INSTRUCTIONS),
            loads: get("sm", "loads_answered"),
            load_cycles: get("sm", "load_cycles"),
            overlapped: get("sm", "load_overlapped_cycles"),
            bursts: get("dram", "reads") + get("dram", "writes"),
            writes: get("dram", "writes"),
            joules: energy.map_or(0.0, Breakdown::total),
            at_rest: energy.map_or(0.0, Breakdown::at_rest),
            seconds: energy.map_or(0.0, |energy| energy.seconds),
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

    /// Returns the warp instructions per core cycle.
    pub fn rate(&self) -> f64 {
        self.issued as f64 / self.cycles.max(1) as f64
    }

    /// Returns the joules per core cycle.
    pub fn joules_per_cycle(&self) -> f64 {
        self.joules / self.cycles.max(1) as f64
    }

    /// Returns the mean power and the static power in watts.
    pub fn watts(&self) -> (f64, f64) {
        let seconds = self.seconds.max(f64::MIN_POSITIVE);
        (self.joules / seconds, self.at_rest / seconds)
    }

    /// Returns the mean memory access time: core cycles from a load's entry into the load/store unit to its last data.
    pub fn amat(&self) -> f64 {
        self.load_cycles as f64 / self.loads.max(1) as f64
    }

    /// Returns the part of [`Row::amat`] in which an arithmetic unit of the same SM has an instruction.
    pub fn amat_overlapped(&self) -> f64 {
        self.overlapped as f64 / self.loads.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lab;

    fn run() -> Run {
        let row = |issued| Row { cycles: 1000, issued, loads: 10, load_cycles: 4000, overlapped: 1000, ..Row::default() };
        let rows = vec![row(9000), row(1000), row(3000), Row { cycles: 500, ..row(5000) }];
        Run { cycles: 3500, net_cycles: 3500, issued: 18_000, ended: false, rows, records: Vec::new() }
    }

    #[test]
    fn a_stretch_is_whole_intervals() {
        let run = run();
        assert_eq!((run.sum_within_or_all(1000, 3000).issued, run.sum_within_or_all(900, 2999).issued), (4000, 1000));
        assert_eq!((run.sum_within(3100, 3400), run.sum_within_or_all(3100, 3400).issued), (None, 18_000), "no interval lies within");
        assert_eq!((run.rate_from(2000), run.rate_from(3000)), (3.0, 18_000.0 / 3500.0), "a partial interval does not count");
        assert_eq!(run.steady_rate(Some(3500)), 13_000.0 / 3000.0);
        assert_eq!(Run { ended: true, ..run }.steady_rate(Some(3500)), 18_000.0 / 3500.0);
    }

    #[test]
    fn latencies_are_means_over_loads() {
        let sum = run().sum_within_or_all(0, 2000);
        assert_eq!((sum.amat(), sum.amat_overlapped()), (400.0, 100.0));
        assert_eq!(Row::default().amat(), 0.0);
    }

    #[test]
    fn a_stored_run_is_the_simulated_one_and_every_part_of_a_job_is_in_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab::new(Some(folder.path().to_owned()));
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let job = Job { machine: "gtx480".into(), workload: "vecadd".into(), cycles: Some(4000), ..Job::default() };
        let one = job.clone().policy("static_limit:cores=1");
        let first = lab.run_task(&one).unwrap();
        assert!(first.issued > 0 && first.sum_within_or_all(0, 4000).loads > 0 && first.run_end() == RunEnd::Cut);
        let (watts, at_rest) = first.sum_within_or_all(0, 4000).watts();
        assert!(at_rest > 0.0 && watts > at_rest, "{watts} W, {at_rest} W at rest");
        assert_eq!((lab.run_task(&one).unwrap(), files()), (first.clone(), 1));
        let all = lab.run_task(&job).unwrap();
        assert!(all.issued > first.issued && all.sum_within_or_all(0, 4000).watts().1 > at_rest, "unused cores without power do not leak");
        for other in [job.clone().cycles(Some(3000)), job.clone().set("gpu.sms", 14), Job { machine: "m2090".into(), ..job.clone() }] {
            let before = files();
            lab.run_task(&other).unwrap();
            assert_eq!(files(), before + 1, "{other}");
        }
        assert!(lab.run_task(&job.set("gpu.smss", 3)).unwrap_err().to_string().contains("gpu.smss"));
    }
}
