//! One run: a benchmark that goes on and on, and a task of higher priority that arrives again and again.
//!
//! All preemptions of a benchmark and a scheme are in one run. Arrivals are uniform in windows that follow each
//! other; the rest of a window is for the task to end and the benchmark to recover. While a kernel runs that few of them hit, further ones arrive, each in
//! a run of its own (`strata.rs`).

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
use warpshard_workload::{Part, Workload, mix};
use warpshard_lab::Task;

use crate::dual_kernel::control::CTA_NUMBERS;
use super::published::{Benchmark, Configuration, Scheme, published};
use super::strata::within;

/// What all runs have in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setup {
    pub(super) configuration: Configuration,
    pub(super) settings: Vec<(String, String)>,
}

impl Setup {
    /// The machine for a scheme; without one, for an application alone.
    ///
    /// # Errors
    /// When it is not valid, as a message for the user.
    pub(super) fn machine(&self, scheme: Option<Scheme>) -> Result<Loaded, TaskError> {
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

    /// A benchmark with the needs of Table 4.2, or its own.
    fn benchmark(&self, benchmark: &Benchmark, overwrites: &Overwrites) -> Result<Workload, TaskError> {
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

    /// CTAs of the task for each SM.
    pub(super) fn task_ctas(&self) -> u32 {
        let task = &published().own.task;
        if self.configuration == Configuration::Wide { task.wide_ctas } else { task.ctas }
    }

    /// The task, launched so many times.
    fn task(&self, launches: u32, sms: u32) -> Result<Workload, TaskError> {
        let task = &published().own.task;
        let columns = task.columns_per_cta * self.task_ctas() * sms;
        let mut parameters = task.parameters.clone();
        parameters.extend([("columns".to_owned(), columns.to_string()), ("pairs".to_owned(), launches.div_ceil(2).to_string())]);
        let mut workload = program(&task.program, &parameters)?.workload()?;
        for kernel in &mut workload.kernels {
            // Section 4.2.
            (kernel.info.registers, kernel.info.shared_bytes) = (4096 / 256, 2048);
        }
        Ok(workload)
    }
}

fn program(file: &str, parameters: &[(String, String)]) -> Result<Arc<Program>, TaskError> {
    Program::load(Path::new(file), Some(70), parameters).map_err(TaskError::from)
}

/// By kernel the places of stores and atomics after which a CTA may not be executed anew.
pub(super) type Overwrites = BTreeMap<String, BTreeSet<u32>>;

/// A benchmark alone, which shows how long its CTAs take.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alone {
    pub(super) setup: Setup,
    pub(super) benchmark: &'static Benchmark,
}

/// What a benchmark does alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Times {
    /// Core cycles.
    pub(super) cycles: u64,
    /// By kernel of Table 4.2: CTAs, their mean cycles and warp instructions, CTAs that fit an SM.
    pub(super) kernels: Vec<(u64, f64, f64, u32)>,
    /// By kernel: the share of the time in which it ran, and from when to when.
    pub(super) shares: Vec<f64>,
    pub(super) spans: Vec<Vec<(u64, u64)>>,
    /// Share of the warp slots that were occupied.
    pub(super) occupancy: f64,
    /// Found by executing the programs.
    pub(super) overwrites: Overwrites,
}

impl Times {
    /// Core cycles from one window to the next.
    pub(super) fn window(&self) -> u64 {
        let parameters = &published().own.parameters;
        let longest = self.kernels.iter().map(|kernel| kernel.1).fold(0.0, f64::max);
        ((longest * parameters.recovery) as u64).clamp(parameters.window.0, parameters.window.1)
    }

    /// Arrivals of the task: so many that there are enough while each kernel runs, and that the benchmark is executed once, within `most`.
    pub(super) fn points(&self, most: u32) -> u32 {
        let parameters = &published().own.parameters;
        let rarest = self.shares.iter().copied().fold(1.0, f64::min);
        let of_kernels = f64::from(parameters.kernel_points) / rarest;
        let of_execution = self.cycles as f64 / self.window() as f64;
        (of_kernels.max(of_execution).ceil() as u32).clamp(parameters.kernel_points, most)
    }

    /// The places of kernels which too few of so many arrivals are expected to hit.
    pub(super) fn rare(&self, points: u32) -> Vec<usize> {
        let few = |share: &f64| *share > 0.0 && share * f64::from(points) < published().own.parameters.rare_points;
        (0..self.shares.len()).filter(|kernel| few(&self.shares[*kernel])).collect()
    }
}

impl fmt::Display for Alone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} alone {:?}", self.benchmark.name, self.setup.configuration)?;
        self.setup.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl Task for Alone {
    type Result = Times;

    fn key(&self) -> Result<String, TaskError> {
        let machine = self.setup.machine(None)?.provenance.to_toml();
        Ok(format!(
            "preempt {self} by overwrites {:?} {machine} {:08x}",
            self.benchmark,
            crc32fast::hash(content(Path::new(&self.benchmark.program))?.as_bytes())
        ))
    }

    fn run(&self) -> Result<Times, TaskError> {
        let machine = self.setup.machine(None)?.machine;
        let overwrites = program(&self.benchmark.program, &self.benchmark.parameters)?.overwrites()?;
        let workload = Arc::new(self.setup.benchmark(self.benchmark, &Overwrites::new())?);
        let controllers = vec![crate::catalogue().controller("cta_times")?];
        let options = RunOptions { controllers, ..RunOptions::default() };
        let outcome = simulate(&machine, &workload, options)?.outcome;
        let signals: Vec<f64> = outcome.timeline.iter().filter_map(|entry| entry.value).collect();
        let rows = self.benchmark.kernels.iter().map(|row| {
            let (mut ctas, mut cycles, mut instructions) = (0u64, 0.0, 0.0);
            for numbers in signals.chunks_exact(CTA_NUMBERS) {
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
        Ok(Times { cycles: outcome.cycles, kernels, shares, spans, occupancy, overwrites })
    }
}

/// The task alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TaskAlone {
    pub(super) setup: Setup,
}

/// Launches of the task alone: their execution times differ little.
const ALONE_LAUNCHES: u32 = 16;

impl fmt::Display for TaskAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the task alone {:?}", self.setup.configuration)?;
        self.setup.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl Task for TaskAlone {
    /// Core cycles of its execution, in the mean.
    type Result = f64;

    fn key(&self) -> Result<String, TaskError> {
        let machine = self.setup.machine(None)?.provenance.to_toml();
        let task = &published().own.task;
        Ok(format!("preempt {self} {task:?} {machine} {:08x}", crc32fast::hash(content(Path::new(&task.program))?.as_bytes())))
    }

    fn run(&self) -> Result<f64, TaskError> {
        let machine = self.setup.machine(None)?.machine;
        let workload = Arc::new(self.setup.task(ALONE_LAUNCHES, machine.gpu.sms)?);
        let outcome = simulate(&machine, &workload, RunOptions::default())?.outcome;
        let spans: Vec<f64> = outcome.kernels.iter().filter_map(|kernel| Some((kernel.ended? - kernel.started?) as f64)).collect();
        Ok(spans.iter().sum::<f64>() / spans.len().max(1) as f64)
    }
}

/// A benchmark that is preempted.
#[derive(Clone, Debug)]
pub(super) struct Preempted {
    pub(super) setup: Setup,
    pub(super) benchmark: &'static Benchmark,
    pub(super) scheme: Scheme,
    /// In us.
    pub(super) bound: u32,
    pub(super) points: u32,
    pub(super) window: u64,
    /// The cycle of the only arrival, instead of points in windows.
    pub(super) at: Option<u64>,
    pub(super) overwrites: Arc<Overwrites>,
}

/// A benchmark that is preempted while one of its kernels runs: each time in a run of its own, which is not preempted before.
#[derive(Clone, Debug)]
pub(super) struct Stratum {
    pub(super) cell: Preempted,
    pub(super) kernel: String,
    pub(super) arrivals: Vec<u64>,
}

impl Stratum {
    /// Of the kernel in a place of Table 4.2, with arrivals that are uniform over the spans in which it runs alone.
    pub(super) fn new(cell: Preempted, times: &Times, place: usize) -> Self {
        let parameters = &published().own.parameters;
        let kernel = cell.benchmark.kernels[place].kernel.clone();
        let words = [&cell.benchmark.name, &kernel].map(|name| u64::from(crc32fast::hash(name.as_bytes())));
        let arrivals = within(&times.spans[place], parameters.kernel_points, &mut Rng::keyed(parameters.seed, &words));
        Self { cell, kernel, arrivals }
    }
}

impl fmt::Display for Stratum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, and {} times in {}", self.cell, self.arrivals.len(), self.kernel)
    }
}

/// What the controller knows of the CTAs at a request.
#[derive(Clone, Debug)]
pub(super) enum Knowledge {
    /// Only what it estimates.
    Estimates,
    /// Nothing: it decides nothing, and records for so many core cycles when CTAs end.
    Watch(u64),
    /// When CTAs end: by their launch and their index. It records for so many core cycles when they do.
    Known { ends: BTreeMap<(u32, u32), f64>, watch: u64 },
}

impl fmt::Display for Preempted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setup, benchmark, scheme, bound, points, .. } = self;
        write!(f, "{} {scheme:?} {bound} us, {points} times {:?}", benchmark.name, setup.configuration)?;
        self.setup.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl Preempted {
    /// The controller; 1 us has so many core cycles.
    pub(super) fn policy(&self, per_us: u64, knowledge: &Knowledge) -> Result<Box<dyn Controller>, TaskError> {
        let whole = |number: u64| toml::Value::Integer(number as i64);
        let idempotent = self.benchmark.idempotent().into_iter().map(toml::Value::String).collect();
        let mut table = toml::Table::from_iter([
            ("scheme".to_owned(), toml::Value::String(self.scheme.word().to_owned())),
            ("bound".to_owned(), whole(u64::from(self.bound) * per_us)),
            ("slack".to_owned(), whole(published().own.parameters.slack)),
            ("idempotent".to_owned(), toml::Value::Array(idempotent)),
            ("ctas".to_owned(), whole(u64::from(self.setup.task_ctas()))),
            ("requests".to_owned(), whole(u64::from(self.points))),
            ("unknown_beyond_mean".to_owned(), toml::Value::Boolean(self.setup.configuration != Configuration::Beyond)),
        ]);
        let watch = match knowledge {
            Knowledge::Estimates => 0,
            Knowledge::Watch(cycles) => *cycles,
            Knowledge::Known { ends, watch } => {
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

    /// The benchmark, again and again, and the task with its arrivals.
    pub(super) fn workload(&self, machine: &Machine) -> Result<Workload, TaskError> {
        let task = self.setup.task(self.points, machine.gpu.sms)?;
        let parts = vec![
            Part { workload: self.setup.benchmark(self.benchmark, &self.overwrites)?, priority: 0 },
            Part { workload: task, priority: 1 },
        ];
        let mut workload = mix(parts, true)?;
        let mut arrivals = self.arrivals();
        // Launches come in pairs; one beyond the points never arrives.
        arrivals.resize(workload.applications[1].kernels.len(), Cycle(u64::MAX / 4));
        workload.applications[1].arrivals = arrivals;
        Ok(workload)
    }

    /// Core cycles of the run at most. A task that does not end for ten windows is a failure of the scheme, which the run shows by having fewer
    /// requests.
    pub(super) fn longest(&self) -> u64 {
        self.at.unwrap_or(u64::from(self.points) * self.window) + 10 * self.window
    }

    /// The cycles at which the task arrives.
    pub(super) fn arrivals(&self) -> Vec<Cycle> {
        if let Some(at) = self.at {
            return vec![Cycle(at)];
        }
        let parameters = &published().own.parameters;
        // The same for all schemes and bounds, so that these see the benchmark at the same points.
        let mut rng = Rng::keyed(parameters.seed, &[u64::from(crc32fast::hash(self.benchmark.name.as_bytes()))]);
        let spread = (self.window as f64 * parameters.spread) as u64;
        (1..=u64::from(self.points)).map(|i| Cycle(i * self.window + rng.below(spread.max(1)))).collect()
    }
}
