//! One run of a GPU application and CPU applications under a scheme on a system, with its measurements.
//!
//! A GPU application that has ended starts again, since the CPU applications must run with it all the time. The paper states how long
//! an application is measured, but not what follows.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_lab::error::TaskError;
use warpshard_base::KernelIndex;
use warpshard_chip::{CpuApplication, CpuEnd, CpuLoad, RunOptions, simulate};
use warpshard_config::{Loaded, Machine, Override};
use warpshard_program::Program;
use warpshard_workload::{Command, Workload};
use warpshard_stats::{Outcome, TimelineEntry};
use warpshard_lab::Task;

use super::super::published::applications;
use super::scheme::{ConcurrencyScheme, System};
use super::span::{SpanCounts, SpanGoals, STEP_CYCLES, Span, Total};

/// Maximum number of times that a GPU application starts in a run; no run reaches it.
const MAX_PASSES: usize = 200;
/// Maximum number of kernel launches in a run.
const MAX_LAUNCHES: usize = 20_000;
/// SM architecture of the programs' machine code: sm_70, as in all studies of programs.
const SM_ARCHITECTURE: u32 = 70;
/// Maximum number of points of the warp limit over time.
const MAX_SLICES: u64 = 100;

/// The load of the CPU cores.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Cpus {
    /// No application; the CPU cores are idle.
    Off,
    /// One application, on the first core.
    One(String),
    /// A mix of Table IV.
    Mix(String),
}

/// Lengths of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct JobLengths {
    /// Instructions that the slowest CPU core retires before the GPU application starts.
    pub(super) warm: u64,
    /// Instructions of the slowest CPU core, counted from the start of the run, at which the measurement of the CPU cores ends.
    pub(super) cpu: u64,
    /// Warp instructions at which the measurement of the GPU application ends.
    pub(super) gpu: u64,
    /// A number of warp instructions and a number of core cycles: the measurement of the GPU application also ends when both are reached.
    pub(super) gpu_enough: (u64, u64),
    /// Core cycles after which the span is cut; `None` never cuts it.
    pub(super) longest: Option<u64>,
}

/// A run of the study.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct ConcurrencyJob {
    /// The simulated chip.
    pub(super) system: System,
    /// The load of the CPU cores.
    pub(super) cpus: Cpus,
    /// The GPU application by its abbreviation in Table II; with `None` the SMs are idle.
    pub(super) gpu: Option<String>,
    /// The scheme that manages the GPU's concurrency.
    pub(super) scheme: ConcurrencyScheme,
}

impl fmt::Display for ConcurrencyJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gpu = self.gpu.as_deref().unwrap_or("no GPU");
        match &self.cpus {
            Cpus::Off => write!(f, "{gpu} alone")?,
            Cpus::One(name) => write!(f, "{name} alone")?,
            Cpus::Mix(mix) => write!(f, "{gpu} with {mix}")?,
        }
        write!(f, ", {}, {}", self.scheme, self.system)
    }
}

/// Measurements of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct JobMeasurements {
    /// Counts over the span.
    pub(super) counts: SpanCounts,
    /// The application of each CPU core.
    pub(super) applications: Vec<String>,
    /// The warp limit, on average over the SMs and the span.
    pub(super) limit: f64,
    /// The warp limit, on average over the SMs, in equal parts of the span: one part per step of the span, at most 100.
    pub(super) limits: Vec<f64>,
    /// The number of SMs, warp slots per SM, and DRAM cycles per core cycle over all channels.
    pub(super) chip: (u32, u32, f64),
}

impl JobMeasurements {
    /// Returns the warp instructions per core cycle of the GPU application while it was measured.
    pub(super) fn gpu_ipc(&self) -> f64 {
        ratio(self.counts.gpu_issued, self.counts.gpu_cycles)
    }

    /// Returns the warp instructions per core cycle over the whole span.
    pub(super) fn gpu_ipc_throughout(&self) -> f64 {
        ratio(self.counts.total(Total::Issued), self.counts.cycles)
    }

    /// Returns the application and the instructions per cycle of every CPU core.
    pub(super) fn core_ipcs(&self) -> impl Iterator<Item = (&str, f64)> {
        let ipc = |core: &super::span::CpuCoreCounts| ratio(core.instructions, core.cycles);
        self.applications.iter().map(String::as_str).zip(self.counts.cores.iter().map(ipc))
    }

    /// Returns a total of the span divided by its core cycles.
    pub(super) fn per_cycle(&self, total: Total) -> f64 {
        ratio(self.counts.total(total), self.counts.cycles)
    }

    /// Returns `stall_gpu` in an interval of 1024 cycles, on average over the SMs: from 0 to 2048 for two schedulers.
    pub(super) fn stall_gpu(&self) -> f64 {
        self.per_cycle(Total::StallGpu) * STEP_CYCLES as f64 / f64::from(self.chip.0.max(1))
    }

    /// Returns the scheduler cycles without an issue per warp instruction.
    pub(super) fn stall_gpu_per_instruction(&self) -> f64 {
        ratio(self.counts.total(Total::StallGpu), self.counts.total(Total::Issued))
    }

    /// Returns the L2 misses per thousand instructions, over all CPU cores together.
    pub(super) fn mpki(&self) -> f64 {
        let sum = |of: fn(&super::span::CpuCoreCounts) -> u64| self.counts.cores.iter().map(of).sum::<u64>();
        1000.0 * ratio(sum(|core| core.reads), sum(|core| core.instructions))
    }

    /// Returns the mean latency of a CPU core's read, from its request to its reply, in CPU cycles.
    pub(super) fn read_latency(&self) -> f64 {
        ratio(self.counts.total(Total::ReadCycles), self.counts.total(Total::Reads))
    }

    /// Returns the share of DRAM cycles in which data moves.
    pub(super) fn bandwidth_share(&self) -> f64 {
        self.per_cycle(Total::DramBusy) / self.chip.2.max(f64::MIN_POSITIVE)
    }

    /// Returns the resident warps per SM, on average over SMs and cycles.
    pub(super) fn resident_warps(&self) -> f64 {
        self.per_cycle(Total::WarpCycles) / f64::from(self.chip.0.max(1))
    }

    /// Returns the warps per SM that may issue: the mean limit, or the mean number of resident warps if that is lower.
    pub(super) fn active_warps(&self) -> f64 {
        self.limit.min(self.resident_warps())
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

/// Returns the name of the model of a GPU application.
pub(super) fn model_name(application: &str) -> String {
    format!("hetero/{}", application.to_lowercase())
}

/// A job with the run lengths and machine settings of the study.
#[derive(Clone, Debug)]
pub(super) struct JobTask<'a> {
    pub(super) job: ConcurrencyJob,
    pub(super) lengths: JobLengths,
    pub(super) overrides: &'a [Override],
    /// `true` to run programs in place of models, for the GPU applications that exist as programs.
    pub(super) programs: bool,
}

impl fmt::Display for JobTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.job.fmt(f)
    }
}

impl Task for JobTask<'_> {
    type Result = JobMeasurements;

    fn key(&self) -> Result<String, TaskError> {
        let Self { job, lengths, .. } = self;
        let loaded = job.load(self.overrides)?;
        let applications = job.applications(&loaded.machine)?;
        let text = match (&job.gpu, job.program(self.programs)) {
            (_, Some((file, parameters))) => format!("{parameters:?}\n{}", warpshard_lab::programs::content(Path::new(file))?),
            (Some(gpu), None) => crate::catalogue().model_text(&model_name(gpu)).unwrap_or_default().to_owned(),
            (None, None) => "no GPU".to_owned(),
        };
        Ok(format!("{}\n{lengths:?}\n{applications:?}\n{text}\n{}", job.scheme.key(), loaded.provenance.to_toml()))
    }

    fn run(&self) -> Result<JobMeasurements, TaskError> {
        let loaded = self.job.load(self.overrides)?;
        self.job.simulate(self.lengths, &loaded.machine, self.job.applications(&loaded.machine)?, self.programs)
    }
}

impl ConcurrencyJob {
    fn load(&self, overrides: &[Override]) -> Result<Loaded, TaskError> {
        let of = [self.system.overrides(), self.scheme.overrides()].concat();
        let own = of.iter().map(|(key, value)| Override::new(*key, value.as_str()));
        let overrides: Vec<Override> = overrides.iter().cloned().chain(own).collect();
        crate::machine(self.system.machine(), &overrides).map_err(TaskError::from)
    }

    fn applications(&self, machine: &Machine) -> Result<Vec<CpuApplication>, TaskError> {
        let names = match &self.cpus {
            Cpus::Off => Vec::new(),
            Cpus::One(name) => vec![name.clone()],
            Cpus::Mix(mix) => vec![format!("@{mix}")],
        };
        CpuApplication::all(&names, machine.cpu.as_ref().map_or(0, |cpu| cpu.count)).map_err(TaskError::from)
    }

    fn simulate(&self, lengths: JobLengths, machine: &Machine, applications: Vec<CpuApplication>, programs: bool) -> Result<JobMeasurements, TaskError> {
        let (workload, pass) = self.workload(programs)?;
        let (send, result) = crossbeam_channel::unbounded();
        let JobLengths { warm, cpu, gpu, gpu_enough, longest } = lengths;
        let goals = SpanGoals { warm, cpu, gpu, gpu_enough, pass, longest };
        let mut controllers = self.scheme.controllers()?;
        controllers.push(Box::new(Span::new(goals, send)));
        // The span ends the run: the engine's own measurement of CPU cores never ends, and kernels run for longer.
        let end = if pass.is_some() { CpuEnd::Both } else { CpuEnd::Cpu };
        let load = CpuLoad { applications, warm, measure: 1 << 40, gpu_waits: true, end, seed: 1 };
        let cpu = (self.cpus != Cpus::Off).then_some(load);
        let outcome = simulate(machine, &workload, RunOptions { cpu, controllers, ..RunOptions::default() });
        let outcome = outcome?.outcome;
        let counts = result.try_recv().map_err(|_| format!("the GPU application ended {MAX_PASSES} times before the run was over"))?;
        Ok(measurements(counts, &outcome, machine))
    }

    /// Returns the launch file and the parameters of the GPU application, if it exists as a program and `programs` is set.
    fn program(&self, programs: bool) -> Option<(&'static str, &'static [(String, String)])> {
        let gpu = self.gpu.as_ref().filter(|_| programs)?;
        let application = applications().iter().find(|application| application.name == *gpu)?;
        Some((application.program.as_deref()?, &application.parameters))
    }

    /// Returns the repeated GPU application, and the last launch of its first pass.
    fn workload(&self, programs: bool) -> Result<(Arc<Workload>, Option<KernelIndex>), TaskError> {
        let Some(gpu) = &self.gpu else {
            let nothing = Workload {
                name: "nothing".to_owned(),
                commands: Vec::new(),
                kernels: Vec::new(),
                applications: Vec::new(),
                notes: Vec::new(),
                homes: Vec::new(),
            };
            return Ok((Arc::new(nothing), None));
        };
        let once = match self.program(programs) {
            Some((file, parameters)) => Program::load(Path::new(file), Some(SM_ARCHITECTURE), parameters)?.workload()?,
            None => crate::catalogue().model(&model_name(gpu), 1, &[])?.workload(),
        };
        let launches = once.kernels.len();
        Ok((Arc::new(repeat_workload(once, MAX_PASSES.min(MAX_LAUNCHES / launches.max(1)).max(2))), Some(KernelIndex(launches as u32 - 1))))
    }
}

/// Returns a workload that executes `once` `times` times; the copies to the device run only the first time.
fn repeat_workload(once: Workload, times: usize) -> Workload {
    let launches = once.kernels.len();
    let later = |pass: usize| {
        let commands = once.commands.iter().filter(move |command| pass == 0 || matches!(command, Command::Launch(_)));
        commands.map(move |command| match *command {
            Command::Launch(kernel) => Command::Launch(KernelIndex(kernel.0 + (pass * launches) as u32)),
            copy @ Command::CopyToDevice { .. } => copy,
        })
    };
    let commands = (0..times).flat_map(later).collect();
    let kernels = once.kernels.iter().cycle().take(times * launches).cloned().collect();
    Workload { name: once.name, commands, kernels, applications: Vec::new(), notes: once.notes, homes: Vec::new() }
}

fn measurements(counts: SpanCounts, outcome: &Outcome, machine: &Machine) -> JobMeasurements {
    let (sms, warps) = (machine.gpu.sms, machine.gpu.sm.warps);
    let clocks = machine.clocks;
    let channels = f64::from(machine.mem.map.partitions) * clocks.dram.0 as f64 / clocks.core.0 as f64;
    let (limit, limits) = mean_limits(&outcome.timeline, counts.start, counts.cycles, sms, warps);
    JobMeasurements { applications: outcome.cpu_applications.clone(), limit, limits, chip: (sms, warps, channels), counts }
}

/// Returns the mean warp limit of the SMs over `cycles` core cycles from `start` on, and the mean limit in equal parts of that span.
fn mean_limits(timeline: &[TimelineEntry], start: u64, cycles: u64, sms: u32, warps: u32) -> (f64, Vec<f64>) {
    let parts = (cycles / STEP_CYCLES).clamp(1, MAX_SLICES);
    let mut sums = vec![0.0; parts as usize];
    let mut now = vec![f64::from(warps); sms as usize];
    let mut since = start;
    // A limit holds until the next one; its share of each part is added to the part's sum.
    let mut hold = |sum: f64, from: u64, to: u64| {
        let at = |cycle: u64| (cycle.clamp(start, start + cycles) - start) as f64 * parts as f64 / cycles.max(1) as f64;
        let (from, to) = (at(from), at(to));
        for (part, held) in sums.iter_mut().enumerate().skip(from as usize) {
            let share = to.min(part as f64 + 1.0) - from.max(part as f64);
            if share <= 0.0 {
                break;
            }
            *held += share * sum / f64::from(sms.max(1));
        }
    };
    for entry in timeline.iter().filter(|entry| entry.name == "warp_limit" && !entry.reason.is_empty()) {
        let Some(limit) = entry.value else { continue };
        if entry.cycle > since {
            hold(now.iter().sum(), since, entry.cycle);
            since = entry.cycle;
        }
        match entry.sm {
            Some(sm) => now[usize::from(sm)] = limit,
            None => now.fill(limit),
        }
    }
    hold(now.iter().sum(), since, start + cycles);
    (sums.iter().sum::<f64>() / parts as f64, sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_entry(cycle: u64, sm: Option<u16>, limit: f64) -> TimelineEntry {
        TimelineEntry { cycle, controller: "x".into(), sm, name: "warp_limit", value: Some(limit), reason: "why".into() }
    }

    #[test]
    fn limits_are_weighted_by_the_time_for_which_they_held() {
        let all = mean_limits(&[], 5000, 4096, 2, 48);
        assert_eq!(all, (48.0, vec![48.0; 4]));
        // One limit before the span on both SMs, one in the middle of the span's second part on SM 1.
        let timeline = [limit_entry(1000, None, 8.0), limit_entry(5000 + 1536, Some(1), 4.0)];
        let (mean, parts) = mean_limits(&timeline, 5000, 4096, 2, 48);
        assert_eq!(parts, [8.0, 7.0, 6.0, 6.0]);
        assert!((mean - 6.75).abs() < 1e-12);
    }

    #[test]
    fn a_repeated_workload_launches_every_kernel_again() {
        let once = crate::catalogue().model("reduce", 1, &[]).unwrap().workload();
        let launches = once.kernels.len();
        let thrice = repeat_workload(once.clone(), 3);
        assert_eq!((thrice.kernels.len(), thrice.commands.len()), (3 * launches, once.commands.len() + 2 * launches));
        let launched: Vec<u32> = thrice
            .commands
            .iter()
            .filter_map(|command| if let Command::Launch(kernel) = command { Some(kernel.0) } else { None })
            .collect();
        assert_eq!(launched, (0..3 * launches as u32).collect::<Vec<_>>());
    }
}
