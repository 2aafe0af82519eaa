//! Our cycles and counters for the launches of a program.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_base::{CtaIndex, KernelIndex};
use warpshard_chip::{RunOptions, simulate};
use warpshard_config::machine::CoreStyle;
use warpshard_config::{Loaded, Machine, Override};
use warpshard_gpu::occupancy::resident_ctas;
use warpshard_lab::error::TaskError;
use warpshard_lab::{Task, programs};
use warpshard_program::Program;
use warpshard_report::metrics::{self, Totals};
use warpshard_run::Catalogue;
use warpshard_stats::{CounterValue, Outcome};
use warpshard_workload::{Command, KernelInfo, OpClass, Workload};

/// Architecture of the measured code: sm_90.
const SM_ARCHITECTURE: u32 = 90;
/// Step of the core clock of NVIDIA's GPUs, in hertz.
const CLOCK_STEP_HZ: f64 = 15e6;
/// The launches of a program to run.
pub(super) struct SiliconTiming<'a> {
    pub(super) program: String,
    pub(super) set: String,
    pub(super) parameters: Vec<(String, String)>,
    /// Launches to run alone, in ascending order, each with the clock of the SMs in hertz.
    pub(super) alone: Vec<(u64, f64)>,
    /// Last launch of the sequence, and its clock in hertz; `None` if no sequence is needed.
    pub(super) until: Option<(u64, f64)>,
    pub(super) catalogue: &'static Catalogue,
    pub(super) machine: &'a str,
    pub(super) overrides: &'a [(String, String)],
}

/// Results of a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ProgramResults {
    /// Launches that ran alone, in the order of the request.
    pub(super) alone: Vec<SimulatedLaunch>,
    /// Reason why the simulator refuses the program; the other fields are then empty.
    #[serde(default)]
    pub(super) refused: Option<String>,
    /// Kernel name and active cycles of each launch of the sequence, from the first.
    pub(super) sequence: Vec<(String, u64)>,
}

/// Results of a launch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SimulatedLaunch {
    pub(super) kernel: String,
    /// Core cycles from the start of the first CTA to the end of the last CTA.
    pub(super) active: u64,
    /// Warp instructions.
    pub(super) instructions: u64,
    /// Requests from SMs to the LLC, of one sector each.
    pub(super) llc_sectors: u64,
    /// Bytes that DRAM read and wrote.
    pub(super) dram_bytes: u64,
    /// Utilisation of the SMs' matrix units, in percent of the cycles with a CTA.
    #[serde(default)]
    pub(super) tensor: f64,
    /// Mean resident warps of an active SM.
    pub(super) warps: f64,
    /// Bytes of an SM's memory that are configured as shared memory.
    pub(super) shared_bytes: u64,
    /// Scheduler cycles by reason.
    pub(super) schedulers: Vec<(String, u64)>,
    /// Warp cycles by state counter, if the SMs count them.
    pub(super) states: Vec<(String, u64)>,
}

impl SiliconTiming<'_> {
    fn launch_file(&self) -> PathBuf {
        Path::new("programs").join(format!("{}.toml", self.program))
    }

    /// Loads the machine with this core clock, rounded to the GPU's steps.
    fn machine(&self, clock: f64) -> Result<Loaded, TaskError> {
        let megahertz = (clock / CLOCK_STEP_HZ).round() * CLOCK_STEP_HZ / 1e6;
        // The network and the LLC have separate clocks.
        let clock = Override::new("clocks.core", format!("{megahertz} MHz"));
        let others = self.overrides.iter().map(|(key, value)| Override::new(key, value));
        let overrides: Vec<Override> = std::iter::once(clock).chain(others).collect();
        let mut loaded = self.catalogue.machine(self.machine, &overrides).map_err(TaskError::from)?;
        // The study compares the warp states with Nsight's.
        loaded.machine.gpu.sm.warp_states |= loaded.machine.gpu.sm.style == CoreStyle::ControlWords;
        Ok(loaded)
    }
}

impl fmt::Display for SiliconTiming<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) on {}", self.program, self.set, self.machine)
    }
}

impl Task for SiliconTiming<'_> {
    type Result = ProgramResults;

    fn key(&self) -> Result<String, TaskError> {
        let Self { program, parameters, alone, until, .. } = self;
        let machine = self.machine(alone.first().or(until.as_ref()).map_or(CLOCK_STEP_HZ, |(_, clock)| *clock))?.provenance.to_toml();
        let code = crc32fast::hash(programs::content(&self.launch_file())?.as_bytes());
        Ok(format!("silicon {program} {parameters:?} {alone:?} {until:?} {machine} {code:08x}"))
    }

    fn run(&self) -> Result<ProgramResults, TaskError> {
        let program = Program::load(&self.launch_file(), Some(SM_ARCHITECTURE), &self.parameters)?;
        let whole = match program.workload() {
            Ok(whole) => whole,
            // The text names the file, the kernel and the reason.
            Err(refused) => return Ok(ProgramResults { refused: Some(refused.to_string()), ..ProgramResults::default() }),
        };
        let mut taken = ProgramResults::default();
        let mut executed = 0;
        for &(launch, clock) in &self.alone {
            if launch as usize >= whole.kernels.len() {
                return Err(
                    format!("launch {launch} was measured, but {} has {}", self.launch_file().display(), whole.kernels.len()).into()
                );
            }
            // Launches that are not requested are executed without timing.
            for skipped in &whole.kernels[executed..launch as usize] {
                (0..skipped.info.ctas()).for_each(|cta| drop(skipped.source.cta(CtaIndex(cta))));
            }
            executed = launch as usize + 1;
            let machine = self.machine(clock)?.machine;
            let commands = vec![Command::Launch(KernelIndex(launch as u32))];
            let outcome = simulate(&machine, &Arc::new(Workload { commands, ..whole.clone() }), RunOptions::default())?.outcome;
            taken.alone.push(simulated_launch(&machine, &whole.kernels[launch as usize].info, &outcome, launch as usize));
        }
        if let Some((last, clock)) = self.until {
            let machine = self.machine(clock)?.machine;
            let mut workload = program.workload()?;
            workload.commands.retain(|command| !matches!(command, Command::Launch(kernel) if u64::from(kernel.0) > last));
            let outcome = simulate(&machine, &Arc::new(workload), RunOptions::default())?.outcome;
            let cycles = |kernel: &warpshard_stats::KernelStats| Some((kernel.name.clone(), kernel.ended? - kernel.started?));
            taken.sequence = outcome.kernels.iter().map_while(cycles).collect();
        }
        Ok(taken)
    }
}

fn simulated_launch(machine: &Machine, info: &KernelInfo, outcome: &Outcome, launch: usize) -> SimulatedLaunch {
    let kernel = &outcome.kernels[launch];
    let totals = Totals::of(&outcome.components);
    let (burst, _) = machine.mem.dram.burst();
    let spec = &machine.gpu.sm;
    let ctas = resident_ctas(spec, info).unwrap_or(1);
    let needed = info.shared_bytes.max(spec.shared_least).next_multiple_of(spec.shared_granularity);
    let shared = spec.l1.unified.as_ref().and_then(|unified| unified.shared_bytes(info.shared_bytes > spec.shared_least, needed, ctas));
    SimulatedLaunch {
        kernel: kernel.name.clone(),
        active: kernel.ended.unwrap_or(outcome.cycles).saturating_sub(kernel.started.unwrap_or_default()),
        instructions: kernel.counters.get(metrics::WARP_INSTRUCTIONS).unwrap_or_default(),
        llc_sectors: totals.get("llc", "accesses").unwrap_or_default(),
        dram_bytes: totals.sum("dram", &["reads", "writes"]).unwrap_or_default() * burst,
        tensor: metrics::tensor_percent(&totals, spec.schedulers, spec.timing[OpClass::Tensor as usize].initiation),
        warps: metrics::occupancy(&totals).map_or(0.0, |occupancy| occupancy.warps),
        shared_bytes: shared.map_or(0, u64::from),
        schedulers: counters_by_name(&metrics::scheduler_cycles(&totals)),
        states: counters_by_name(&metrics::warp_cycles(&totals)),
    }
}

fn counters_by_name(counters: &[CounterValue]) -> Vec<(String, u64)> {
    counters.iter().map(|counted| (counted.info.name.to_owned(), counted.value)).collect()
}
