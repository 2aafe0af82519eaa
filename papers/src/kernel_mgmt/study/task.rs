//! A task of the study: a run of kernels that share the GPU, or of one kernel alone.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_lab::error::TaskError;
use warpshard_base::KernelIndex;
use warpshard_chip::{RunOptions, facts, simulate};
use warpshard_config::{Loaded, Machine, Override};
use warpshard_control::KernelFacts;
use warpshard_energy::Model;
use warpshard_program::Program;
use warpshard_workload::{Command, MixedApplication, Workload, mix};
use warpshard_report::metrics::Totals;
use warpshard_lab::Task;

use super::published::{Input, PublishedKernel};

/// The sharing of the GPU among kernels.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SharingScheme {
    /// Default concurrency: the next kernel runs on SMs that the previous one leaves idle.
    LeftOver,
    /// A kernel alone with this number of CTAs per SM.
    Alone(u32),
    /// Fixed CTAs per SM of each of two kernels.
    Fixed([u32; 2]),
    /// Kernel management with the profiles of the kernels; with `within_opt`, dynamic modulation does not exceed the optimum of a kernel
    /// either.
    Managed { opt: Vec<u32>, preference: Vec<f64>, dynamic: bool, bypass: bool, within_opt: bool },
    /// Smart-Even: an equal share of the SMs for each kernel.
    SmartEven,
    /// SMC: a searched partition of the SMs and searched CTA limits, with the parameters of the policy.
    Smc(&'static str),
}

impl SharingScheme {
    fn sharing_mode(&self) -> &'static str {
        match self {
            Self::LeftOver | Self::Alone(_) => "left-over",
            Self::Fixed(_) | Self::Managed { .. } => "interleaved",
            Self::SmartEven | Self::Smc(_) => "spatial",
        }
    }

    /// Returns the policy in the form of the option `--policy`.
    pub(super) fn policy(&self) -> Option<String> {
        match self {
            Self::LeftOver => None,
            Self::Alone(ctas) => Some(format!("static_limit:ctas={ctas}")),
            Self::Fixed(ctas) => Some(format!("kernel_mgmt:ctas={ctas:?},dynamic=false,bypass=false")),
            Self::Managed { opt, preference, dynamic, bypass, within_opt } => {
                let known: Vec<String> = preference.iter().map(|one| format!("{one:.4}")).collect();
                let known = known.join(",");
                let limit = if *within_opt { ",within_opt=true" } else { "" };
                Some(format!("kernel_mgmt:opt={opt:?},preference=[{known}],dynamic={dynamic},bypass={bypass}{limit}"))
            }
            Self::SmartEven => Some("smart_even".into()),
            Self::Smc("") => Some("smc".into()),
            Self::Smc(parameters) => Some(format!("smc:{parameters}")),
        }
    }
}

/// Kernels, scheme, machine and input of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SchemeRun {
    pub(super) kernels: Vec<&'static PublishedKernel>,
    pub(super) scheme: SharingScheme,
    pub(super) machine: &'static str,
    pub(super) settings: Vec<(String, String)>,
    pub(super) input: Input,
}

/// The execution of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Execution {
    pub(super) instructions: u64,
    /// Core cycle in which the kernel ended.
    pub(super) ended: u64,
}

/// Results of a run, for the whole machine and per kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunResult {
    pub(super) kernels: Vec<Execution>,
    /// Core cycles until the last kernel ended.
    pub(super) cycles: u64,
    pub(super) joules: f64,
    /// Reads that accessed the L1; `l1_hits` counts the reads that hit a line, valid or pending.
    pub(super) l1_reads: u64,
    pub(super) l1_hits: u64,
    /// Scheduler cycles that wait for a register; `structural_stalls` counts the cycles that wait for a unit.
    pub(super) memory_stalls: u64,
    pub(super) structural_stalls: u64,
    /// Utilisation of the SP pipelines of all SMs; `ldst` is the utilisation of the LD/ST pipelines.
    pub(super) sp: f64,
    pub(super) ldst: f64,
    /// CTAs that bypassed the L1.
    pub(super) bypassing: u64,
    /// Sampling periods that ended, on all SMs; `moves` counts the changed numbers of CTAs.
    pub(super) periods: u64,
    pub(super) moves: u64,
    /// CTAs per SM of each kernel at the start of kernel management.
    pub(super) chosen: Vec<u32>,
}

impl RunResult {
    /// Returns the fraction of the L1 reads that miss.
    pub(super) fn miss_rate(&self) -> f64 {
        1.0 - self.l1_hits as f64 / self.l1_reads.max(1) as f64
    }
}

impl SchemeRun {
    /// Returns the machine with the settings of the run.
    ///
    /// # Errors
    /// Returns a message for the user if the machine or a setting is invalid.
    pub(super) fn machine(&self) -> Result<Loaded, TaskError> {
        let own = [("gpu.dispatch.sharing".to_owned(), self.scheme.sharing_mode().to_owned())];
        let set: Vec<Override> = self.settings.iter().chain(&own).map(|(key, value)| Override::new(key, value)).collect();
        crate::machine(self.machine, &set).map_err(TaskError::from)
    }

    fn workload(&self) -> Result<Workload, TaskError> {
        let part = |kernel: &&PublishedKernel| Ok(MixedApplication { workload: workload(kernel, self.input)?, priority: 0 });
        let parts = self.kernels.iter().map(part).collect::<Result<Vec<_>, TaskError>>()?;
        mix(parts, false).map_err(TaskError::from)
    }
}

/// Returns the first launch of a kernel alone, with the registers of the paper's compiler.
fn workload(kernel: &PublishedKernel, input: Input) -> Result<Workload, TaskError> {
    let program = Program::load(Path::new(kernel.program(input)), Some(70), kernel.size_parameters(input))?;
    let workload = program.workload()?;
    let at = workload.kernels.iter().position(|one| one.info.name == kernel.kernel);
    let at = at.ok_or_else(|| format!("{}: there is no launch of `{}`", kernel.program(input), kernel.kernel))?;
    let mut one = workload.kernels[at].clone();
    one.info.registers = kernel.registers;
    one.info.after.clear();
    let commands = workload.commands.iter().filter_map(|command| match *command {
        Command::Launch(index) if index.index() == at => Some(Command::Launch(KernelIndex(0))),
        Command::Launch(_) => None,
        copy @ Command::CopyToDevice { .. } => Some(copy),
    });
    let commands = commands.collect();
    Ok(Workload { commands, kernels: vec![one], ..workload })
}

/// Occupancy of an SM by a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Occupancy {
    /// CTAs that fit an SM.
    pub(super) most: u32,
    /// Threads, shared memory and registers of a CTA, in percent of an SM.
    pub(super) each: [f64; 3],
    /// CTAs of the launch.
    pub(super) ctas: u32,
}

/// Computes the occupancy of a kernel on a machine.
///
/// # Errors
/// Returns a message for the user if the program cannot be loaded or no CTA fits an SM.
pub(super) fn occupancy(kernel: &'static PublishedKernel, machine: &Machine, input: Input) -> Result<Occupancy, TaskError> {
    let workload = workload(kernel, input)?;
    let facts = facts(machine, &workload);
    let (KernelFacts { needs, ctas, .. }, sm) = (&facts.kernels[0], &facts.sm);
    let most = sm.fitting_ctas(needs, needs, 0);
    if most == 0 {
        return Err(format!("{}: no CTA fits an SM of {}", kernel.name, machine.name).into());
    }
    let percent = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(whole);
    let each = [percent(needs.threads, sm.threads), percent(needs.shared_bytes, sm.shared_bytes), percent(needs.registers, sm.registers)];
    Ok(Occupancy { most, each, ctas: *ctas })
}

impl fmt::Display for SchemeRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        write!(f, "{} {}", names.join(" + "), self.scheme.sharing_mode())?;
        self.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))?;
        self.scheme.policy().iter().try_for_each(|policy| write!(f, " {policy}"))
    }
}

impl Task for SchemeRun {
    type Result = RunResult;

    fn key(&self) -> Result<String, TaskError> {
        let mut all = String::new();
        for kernel in &self.kernels {
            all += &format!("{} {:?} {}\n{}", kernel.kernel, kernel.size_parameters(self.input), kernel.registers, kernel.input_text(self.input)?);
        }
        let machine = self.machine()?.provenance.to_toml();
        Ok(format!("kernel-mgmt {self} {machine} {:08x}", crc32fast::hash(all.as_bytes())))
    }

    fn run(&self) -> Result<RunResult, TaskError> {
        let machine = self.machine()?.machine;
        let workload = Arc::new(self.workload()?);
        let controllers = self.scheme.policy().iter().map(|policy| crate::catalogue().controller(policy)).collect::<Result<Vec<_>, _>>()?;
        let options = RunOptions { controllers, ..RunOptions::default() };
        let outcome = simulate(&machine, &workload, options)?.outcome;
        let totals = Totals::of(&outcome.components);
        let sum = |names: &[&str]| totals.sum("sm", names).unwrap_or(0);
        let energy = Model::of(&machine)?.map(|model| model.of_run(&outcome));
        let execution = |app: &warpshard_stats::ApplicationStats| {
            let ended = app.ended.ok_or("a kernel did not end")?;
            Ok(Execution { instructions: app.warp_instructions, ended })
        };
        let kernels = outcome.applications.iter().map(execution).collect::<Result<Vec<_>, TaskError>>()?;
        let cycles = kernels.iter().map(|kernel| kernel.ended).max().unwrap_or(0);
        let sm_cycles = cycles as f64 * f64::from(machine.gpu.sms);
        let issue = f64::from(machine.gpu.sm.schedulers * machine.gpu.sm.issue_width);
        let of_sms = |name: &str| outcome.timeline.iter().filter(|entry| entry.sm.is_some() && entry.name == name).count() as u64;
        let chosen = outcome.timeline.iter().filter(|entry| entry.cycle == 0 && entry.name == "kernel_ctas");
        let hits = ["l1_read_hits", "l1_read_pending_hits"];
        Ok(RunResult {
            kernels,
            cycles,
            joules: energy.as_ref().map_or(0.0, |energy| energy.total()),
            l1_reads: sum(&hits) + sum(&["l1_read_misses", "l1_read_sector_misses"]),
            l1_hits: sum(&hits),
            memory_stalls: sum(&["stall_scoreboard_memory", "stall_scoreboard_alu"]),
            structural_stalls: sum(&["stall_memory_pipeline", "stall_memory_collectors", "stall_pipeline"]),
            sp: sum(&["issued_sp", "issued_int", "issued_alu", "issued_branch"]) as f64 / (issue * sm_cycles),
            ldst: sum(&["memory_accesses", "shared_instructions", "shared_conflict_cycles"]) as f64 / sm_cycles,
            bypassing: sum(&["ctas_bypassing"]),
            periods: of_sms("sp"),
            moves: of_sms("kernel_ctas"),
            chosen: chosen.filter_map(|entry| entry.value.map(|value| value as u32)).collect(),
        })
    }
}
