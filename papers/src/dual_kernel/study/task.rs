//! The runs of a cell: a benchmark that is repeated, and a task of higher priority that arrives repeatedly.
//!
//! All preemptions of a benchmark under a scheme are in one run. Arrivals are uniform in consecutive windows; in the rest of a window the
//! task ends and the benchmark recovers. For a kernel that few arrivals hit there are further arrivals, each in a separate run
//! (`strata.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_lab::error::TaskError;
use warpshard_lab::programs::content;
use warpshard_base::{Cycle, Rng};
use warpshard_chip::{RunOptions, simulate};
use warpshard_config::{Loaded, Machine, Override};
use warpshard_control::Controller;
use warpshard_program::Program;
use warpshard_workload::{MixedApplication, Workload, mix};
use warpshard_lab::Task;

use crate::dual_kernel::control::SIGNALS_PER_CTA;
use super::published::{Benchmark, Configuration, PublishedScheme, published};
use super::strata::random_cycles;

/// The configuration and settings that all runs share.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StudySetup {
    pub(super) configuration: Configuration,
    pub(super) settings: Vec<(String, String)>,
}

impl StudySetup {
    /// Returns the machine for a scheme, or for an application alone if `scheme` is `None`.
    ///
    /// # Errors
    /// Returns a message for the user if the machine or a setting is invalid.
    pub(super) fn machine(&self, scheme: Option<PublishedScheme>) -> Result<Loaded, TaskError> {
        let mut set: Vec<Override> = Vec::new();
        if scheme.is_some_and(|scheme| !scheme.shares_sms()) {
            set.push(Override::new("gpu.dispatch.sharing", "spatial"));
            set.push(Override::new("gpu.dispatch.share_sm", "false"));
        }
        if self.configuration == Configuration::Traffic {
            set.push(Override::new("gpu.dispatch.switch", "traffic"));
        }
        if self.configuration == Configuration::InTurn {
            set.push(Override::new("gpu.dispatch.switch", "in-turn"));
        }
        set.extend(self.settings.iter().map(|(key, value)| Override::new(key, value)));
        crate::machine(&published().own.parameters.machine, &set).map_err(TaskError::from)
    }

    /// Returns a benchmark with the resources of Table 4.2, or with the resources as compiled.
    fn benchmark_workload(&self, benchmark: &Benchmark, overwrites: &Overwrites) -> Result<Workload, TaskError> {
        let mut program = program(&benchmark.program, &benchmark.parameters)?;
        if let Some(program) = Arc::get_mut(&mut program) {
            program.set_overwrites(overwrites);
        }
        let mut workload = program.workload()?;
        for kernel in workload.kernels.iter_mut().filter(|_| self.configuration != Configuration::Compiled) {
            let row = benchmark.kernels.iter().find(|row| row.kernel == kernel.info.name);
            let Some(row) = row else {
                return Err(format!("{}: Table 4.2 has no row for kernel `{}`", benchmark.program, kernel.info.name).into());
            };
            kernel.info.registers = row.registers / row.threads;
            kernel.info.shared_bytes = row.shared;
        }
        Ok(workload)
    }

    /// Returns the CTAs of the task per SM.
    pub(super) fn task_ctas(&self) -> u32 {
        let task = &published().own.task;
        if self.configuration == Configuration::Wide { task.wide_ctas } else { task.ctas }
    }

    /// Returns the task, launched `launches` times.
    fn task_workload(&self, launches: u32, sms: u32) -> Result<Workload, TaskError> {
        let task = &published().own.task;
        let columns = task.columns_per_cta * self.task_ctas() * sms;
        let mut parameters = task.parameters.clone();
        parameters.extend([("columns".to_owned(), columns.to_string()), ("pairs".to_owned(), launches.div_ceil(2).to_string())]);
        let mut workload = program(&task.program, &parameters)?.workload()?;
        for kernel in &mut workload.kernels {
            // Registers and shared memory of Section 4.2.
            (kernel.info.registers, kernel.info.shared_bytes) = (4096 / 256, 2048);
        }
        Ok(workload)
    }
}

fn program(file: &str, parameters: &[(String, String)]) -> Result<Arc<Program>, TaskError> {
    Program::load(Path::new(file), Some(70), parameters).map_err(TaskError::from)
}

/// Code locations of stores and atomics, per kernel, after which a CTA must not be restarted.
pub(super) type Overwrites = BTreeMap<String, BTreeSet<u32>>;

/// A run of a benchmark alone, which measures the duration of its CTAs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AloneRun {
    pub(super) setup: StudySetup,
    pub(super) benchmark: &'static Benchmark,
}

/// Results of a benchmark alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AloneTimes {
    /// Length of the run in core cycles.
    pub(super) cycles: u64,
    /// Per kernel of Table 4.2: its CTAs, their mean cycles and warp instructions, and the CTAs that fit an SM.
    pub(super) kernels: Vec<(u64, f64, f64, u32)>,
    /// Share of the run's time per kernel; `spans` has the start and end cycle of each launch.
    pub(super) shares: Vec<f64>,
    pub(super) spans: Vec<Vec<(u64, u64)>>,
    /// Fraction of the warp slots that were occupied.
    pub(super) occupancy: f64,
    /// Overwriting stores and atomics, found by executing the programs.
    pub(super) overwrites: Overwrites,
}

impl AloneTimes {
    /// Returns the core cycles of a window.
    pub(super) fn window_cycles(&self) -> u64 {
        let parameters = &published().own.parameters;
        let longest = self.kernels.iter().map(|kernel| kernel.1).fold(0.0, f64::max);
        ((longest * parameters.recovery) as u64).clamp(parameters.window.0, parameters.window.1)
    }

    /// Returns the number of arrivals of the task, at most `most`: enough for every kernel to be hit, and for one execution of the
    /// benchmark.
    pub(super) fn arrival_count(&self, most: u32) -> u32 {
        let parameters = &published().own.parameters;
        let rarest = self.shares.iter().copied().fold(1.0, f64::min);
        let of_kernels = f64::from(parameters.kernel_points) / rarest;
        let of_execution = self.cycles as f64 / self.window_cycles() as f64;
        (of_kernels.max(of_execution).ceil() as u32).clamp(parameters.kernel_points, most)
    }

    /// Returns the indices of kernels that are expected to be hit by too few of `points` arrivals.
    pub(super) fn rare_kernels(&self, points: u32) -> Vec<usize> {
        let few = |share: &f64| *share > 0.0 && share * f64::from(points) < published().own.parameters.rare_points;
        (0..self.shares.len()).filter(|kernel| few(&self.shares[*kernel])).collect()
    }
}

impl fmt::Display for AloneRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} alone {:?}", self.benchmark.name, self.setup.configuration)?;
        self.setup.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl Task for AloneRun {
    type Result = AloneTimes;

    fn key(&self) -> Result<String, TaskError> {
        let machine = self.setup.machine(None)?.provenance.to_toml();
        Ok(format!(
            "preempt {self} by overwrites {:?} {machine} {:08x}",
            self.benchmark,
            crc32fast::hash(content(Path::new(&self.benchmark.program))?.as_bytes())
        ))
    }

    fn run(&self) -> Result<AloneTimes, TaskError> {
        let machine = self.setup.machine(None)?.machine;
        let overwrites = program(&self.benchmark.program, &self.benchmark.parameters)?.overwrites()?;
        let workload = Arc::new(self.setup.benchmark_workload(self.benchmark, &Overwrites::new())?);
        let controllers = vec![crate::catalogue().controller("cta_times")?];
        let options = RunOptions { controllers, ..RunOptions::default() };
        let outcome = simulate(&machine, &workload, options)?.outcome;
        let signals: Vec<f64> = outcome.timeline.iter().filter_map(|entry| entry.value).collect();
        let rows = self.benchmark.kernels.iter().map(|row| {
            let (mut ctas, mut cycles, mut instructions) = (0u64, 0.0, 0.0);
            for numbers in signals.chunks_exact(SIGNALS_PER_CTA) {
                if workload.kernels[numbers[0] as usize].info.name == row.kernel {
                    ctas += 1;
                    cycles += numbers[2];
                    instructions += numbers[3];
                }
            }
            let fit = outcome.kernels.iter().find(|kernel| kernel.name == row.kernel).map_or(0, |kernel| kernel.ctas_per_sm);
            (ctas, cycles / ctas.max(1) as f64, instructions / ctas.max(1) as f64, fit)
        });
        let kernels = rows.collect();
        let spans = |name: &str| -> Vec<(u64, u64)> {
            let own = outcome.kernels.iter().filter(|kernel| kernel.name == name);
            own.filter_map(|kernel| Some((kernel.started?, kernel.ended?))).collect()
        };
        let spans: Vec<Vec<(u64, u64)>> = self.benchmark.kernels.iter().map(|row| spans(&row.kernel)).collect();
        let share = |spans: &Vec<(u64, u64)>| spans.iter().map(|(from, to)| to - from).sum::<u64>() as f64 / outcome.cycles.max(1) as f64;
        let shares = spans.iter().map(share).collect();
        let slots = u64::from(machine.gpu.sm.warps) * u64::from(machine.gpu.sms) * outcome.cycles.max(1);
        let residency: u64 = outcome
            .components
            .iter()
            .filter(|component| component.kind == "sm")
            .flat_map(|component| &component.counters)
            .filter(|counted| counted.info.name == "resident_warp_cycles")
            .map(|counted| counted.value)
            .sum();
        let occupancy = residency as f64 / slots as f64;
        Ok(AloneTimes { cycles: outcome.cycles, kernels, shares, spans, occupancy, overwrites })
    }
}

/// A run of the task alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TaskAloneRun {
    pub(super) setup: StudySetup,
}

/// Launches of the task in a run alone; few suffice, since their execution times differ little.
const ALONE_LAUNCHES: u32 = 16;

impl fmt::Display for TaskAloneRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the task alone {:?}", self.setup.configuration)?;
        self.setup.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl Task for TaskAloneRun {
    /// Mean core cycles of an execution of the task.
    type Result = f64;

    fn key(&self) -> Result<String, TaskError> {
        let machine = self.setup.machine(None)?.provenance.to_toml();
        let task = &published().own.task;
        Ok(format!("preempt {self} {task:?} {machine} {:08x}", crc32fast::hash(content(Path::new(&task.program))?.as_bytes())))
    }

    fn run(&self) -> Result<f64, TaskError> {
        let machine = self.setup.machine(None)?.machine;
        let workload = Arc::new(self.setup.task_workload(ALONE_LAUNCHES, machine.gpu.sms)?);
        let outcome = simulate(&machine, &workload, RunOptions::default())?.outcome;
        let spans: Vec<f64> = outcome.kernels.iter().filter_map(|kernel| Some((kernel.ended? - kernel.started?) as f64)).collect();
        Ok(spans.iter().sum::<f64>() / spans.len().max(1) as f64)
    }
}

/// A run of a benchmark that the task preempts.
#[derive(Clone, Debug)]
pub(super) struct PreemptedRun {
    pub(super) setup: StudySetup,
    pub(super) benchmark: &'static Benchmark,
    pub(super) scheme: PublishedScheme,
    /// Bound of the preemption latency in us.
    pub(super) bound: u32,
    pub(super) points: u32,
    pub(super) window: u64,
    /// Cycle of the only arrival, instead of `points` arrivals in windows.
    pub(super) at: Option<u64>,
    pub(super) overwrites: Arc<Overwrites>,
}

/// Preemptions of a benchmark while one of its kernels runs, each in a separate run without earlier preemptions.
#[derive(Clone, Debug)]
pub(super) struct KernelStratum {
    pub(super) cell: PreemptedRun,
    pub(super) kernel: String,
    pub(super) arrivals: Vec<u64>,
}

impl KernelStratum {
    /// Creates the stratum of the kernel in row `row` of Table 4.2; arrivals are uniform over the spans in which the kernel runs in the
    /// benchmark alone.
    pub(super) fn new(cell: PreemptedRun, times: &AloneTimes, row: usize) -> Self {
        let parameters = &published().own.parameters;
        let kernel = cell.benchmark.kernels[row].kernel.clone();
        let words = [&cell.benchmark.name, &kernel].map(|name| u64::from(crc32fast::hash(name.as_bytes())));
        let arrivals = random_cycles(&times.spans[row], parameters.kernel_points, &mut Rng::keyed(parameters.seed, &words));
        Self { cell, kernel, arrivals }
    }
}

impl fmt::Display for KernelStratum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, and {} times in {}", self.cell, self.arrivals.len(), self.kernel)
    }
}

/// The controller's knowledge of the ends of CTAs at a request.
#[derive(Clone, Debug)]
pub(super) enum EndKnowledge {
    /// Estimates only.
    Estimates,
    /// None: the controller decides nothing, and records the ends of CTAs for this number of core cycles.
    Watch(u64),
    /// Known ends of CTAs, by launch and index. The controller records the ends for `watch` core cycles.
    Known { ends: BTreeMap<(u32, u32), f64>, watch: u64 },
}

impl fmt::Display for PreemptedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setup, benchmark, scheme, bound, points, .. } = self;
        write!(f, "{} {scheme:?} {bound} us, {points} times {:?}", benchmark.name, setup.configuration)?;
        self.setup.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl PreemptedRun {
    /// Returns the controller; `per_us` is the core cycles of 1 us.
    pub(super) fn policy(&self, per_us: u64, knowledge: &EndKnowledge) -> Result<Box<dyn Controller>, TaskError> {
        let whole = |number: u64| toml::Value::Integer(number as i64);
        let idempotent = self.benchmark.idempotent_kernels().into_iter().map(toml::Value::String).collect();
        let mut table = toml::Table::from_iter([
            ("scheme".to_owned(), toml::Value::String(self.scheme.scheme_parameter().to_owned())),
            ("bound".to_owned(), whole(u64::from(self.bound) * per_us)),
            ("slack".to_owned(), whole(published().own.parameters.slack)),
            ("idempotent".to_owned(), toml::Value::Array(idempotent)),
            ("ctas".to_owned(), whole(u64::from(self.setup.task_ctas()))),
            ("requests".to_owned(), whole(u64::from(self.points))),
            ("unknown_beyond_mean".to_owned(), toml::Value::Boolean(self.setup.configuration != Configuration::Beyond)),
        ]);
        let watch = match knowledge {
            EndKnowledge::Estimates => 0,
            EndKnowledge::Watch(cycles) => *cycles,
            EndKnowledge::Known { ends, watch } => {
                let row = |((kernel, cta), cycles): (&(u32, u32), &f64)| {
                    toml::Value::Array(vec![whole(u64::from(*kernel)), whole(u64::from(*cta)), toml::Value::Float(*cycles)])
                };
                table.insert("known".to_owned(), toml::Value::Array(ends.iter().map(row).collect()));
                *watch
            }
        };
        table.insert("watch".to_owned(), whole(watch));
        let policy = crate::catalogue().policies().find("dual_kernel")?;
        (policy.build)(table).map_err(TaskError::from)
    }

    /// Returns the workload: the benchmark, repeated, and the task with its arrivals.
    pub(super) fn workload(&self, machine: &Machine) -> Result<Workload, TaskError> {
        let task = self.setup.task_workload(self.points, machine.gpu.sms)?;
        let parts = vec![
            MixedApplication { workload: self.setup.benchmark_workload(self.benchmark, &self.overwrites)?, priority: 0 },
            MixedApplication { workload: task, priority: 1 },
        ];
        let mut workload = mix(parts, true)?;
        let mut arrivals = self.arrival_cycles();
        // Launches come in pairs; with an odd number of points the last launch never arrives.
        arrivals.resize(workload.applications[1].kernels.len(), Cycle(u64::MAX / 4));
        workload.applications[1].arrivals = arrivals;
        Ok(workload)
    }

    /// Returns the maximum core cycles of the run. A task that does not end within ten windows is a failure of the scheme; the run then has
    /// fewer requests.
    pub(super) fn max_cycles(&self) -> u64 {
        self.at.unwrap_or(u64::from(self.points) * self.window) + 10 * self.window
    }

    /// Returns the cycles at which the task arrives.
    pub(super) fn arrival_cycles(&self) -> Vec<Cycle> {
        if let Some(at) = self.at {
            return vec![Cycle(at)];
        }
        let parameters = &published().own.parameters;
        // The arrivals are equal for all schemes and bounds, so all of these observe the benchmark at the same points.
        let mut rng = Rng::keyed(parameters.seed, &[u64::from(crc32fast::hash(self.benchmark.name.as_bytes()))]);
        let spread = (self.window as f64 * parameters.spread) as u64;
        (1..=u64::from(self.points)).map(|i| Cycle(i * self.window + rng.below(spread.max(1)))).collect()
    }
}
