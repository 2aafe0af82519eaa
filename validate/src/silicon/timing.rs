//! Our cycles and counters of the launches of a program.

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
use warpshard_stats::{Counted, Outcome};
use warpshard_workload::{Command, KernelInfo, OpClass, Workload};

/// The architecture of the measured code: sm_90.
const ARCH: u32 = 90;
/// The step of the clocks of NVIDIA's GPUs, in hertz.
const STEP: f64 = 15e6;
/// The launches of a program to run.
pub(super) struct Timing<'a> {
    pub(super) program: String,
    pub(super) set: String,
    pub(super) parameters: Vec<(String, String)>,
    /// The launches to run alone, in ascending order, each with the SMs' clock in hertz.
    pub(super) alone: Vec<(u64, f64)>,
    /// The last launch of the run of all in sequence, and the clock; none where no such run is wanted.
    pub(super) until: Option<(u64, f64)>,
    pub(super) catalogue: &'static Catalogue,
    pub(super) machine: &'a str,
    pub(super) overrides: &'a [(String, String)],
}

/// What a program gave.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Taken {
    /// The launches that ran alone, in the order in which they were asked for.
    pub(super) alone: Vec<Launch>,
    /// Why a run refuses the program, where it does; then there is nothing else.
    #[serde(default)]
    pub(super) refused: Option<String>,
    /// The active cycles of the launches of the run of all, from the first.
    pub(super) sequence: Vec<(String, u64)>,
}

/// What a launch gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Launch {
    pub(super) kernel: String,
    /// Core cycles from the start of the first CTA to the end of the last.
    pub(super) active: u64,
    /// Warp instructions.
    pub(super) instructions: u64,
    /// Requests of SMs to the LLC, a sector each.
    pub(super) llc_sectors: u64,
    /// Bytes that DRAM read and wrote.
    pub(super) dram_bytes: u64,
    /// Share of the cycles with a CTA in which an SM's matrix units multiplied, in percent.
    #[serde(default)]
    pub(super) tensor: f64,
    /// Resident warps of an SM with any.
    pub(super) warps: f64,
    /// Bytes of shared memory that an SM is given.
    pub(super) shared_bytes: u64,
    /// Scheduler cycles by reason.
    pub(super) schedulers: Vec<(String, u64)>,
    /// Warp cycles by the counter of their state, where the SMs count them.
    pub(super) states: Vec<(String, u64)>,
}

impl Timing<'_> {
    fn file(&self) -> PathBuf {
        Path::new("programs").join(format!("{}.toml", self.program))
    }

    /// The machine at a clock of its SMs, in the GPU's steps.
    fn machine(&self, clock: f64) -> Result<Loaded, TaskError> {
        let megahertz = (clock / STEP).round() * STEP / 1e6;
        // The network and the LLC have clocks of their own.
        let clock = Override::new("clocks.core", format!("{megahertz} MHz"));
        let others = self.overrides.iter().map(|(key, value)| Override::new(key, value));
        let overrides: Vec<Override> = std::iter::once(clock).chain(others).collect();
        let mut loaded = self.catalogue.machine(self.machine, &overrides).map_err(TaskError::from)?;
        // The states of its warps are compared with Nsight's.
        loaded.machine.gpu.sm.warp_states |= loaded.machine.gpu.sm.style == CoreStyle::ControlWords;
        Ok(loaded)
    }
}

impl fmt::Display for Timing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) on {}", self.program, self.set, self.machine)
    }
}

impl Task for Timing<'_> {
    type Result = Taken;

    fn key(&self) -> Result<String, TaskError> {
        let Self { program, parameters, alone, until, .. } = self;
        let machine = self.machine(alone.first().or(until.as_ref()).map_or(STEP, |(_, clock)| *clock))?.provenance.to_toml();
        let code = crc32fast::hash(programs::content(&self.file())?.as_bytes());
        Ok(format!("silicon {program} {parameters:?} {alone:?} {until:?} {machine} {code:08x}"))
    }

    fn run(&self) -> Result<Taken, TaskError> {
        let program = Program::load(&self.file(), Some(ARCH), &self.parameters)?;
        let whole = match program.workload() {
            Ok(whole) => whole,
            // The whole text: file, kernel and reason.
            Err(refused) => return Ok(Taken { refused: Some(refused.to_string()), ..Taken::default() }),
        };
        let mut taken = Taken::default();
        let mut executed = 0;
        for &(launch, clock) in &self.alone {
            if launch as usize >= whole.kernels.len() {
                return Err(format!("launch {launch} was measured, but {} has {}", self.file().display(), whole.kernels.len()).into());
            }
            // Launches that are not asked for are executed only.
            for skipped in &whole.kernels[executed..launch as usize] {
                (0..skipped.info.ctas()).for_each(|cta| drop(skipped.source.cta(CtaIndex(cta))));
            }
            executed = launch as usize + 1;
            let machine = self.machine(clock)?.machine;
            let commands = vec![Command::Launch(KernelIndex(launch as u32))];
            let outcome = simulate(&machine, &Arc::new(Workload { commands, ..whole.clone() }), RunOptions::default())?.outcome;
            taken.alone.push(of_launch(&machine, &whole.kernels[launch as usize].info, &outcome, launch as usize));
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

fn of_launch(machine: &Machine, info: &KernelInfo, outcome: &Outcome, launch: usize) -> Launch {
    let kernel = &outcome.kernels[launch];
    let totals = Totals::of(&outcome.components);
    let (burst, _) = machine.mem.dram.burst();
    let spec = &machine.gpu.sm;
    let ctas = resident_ctas(spec, info).unwrap_or(1);
    let needed = info.shared_bytes.max(spec.shared_least).next_multiple_of(spec.shared_granularity);
    let shared = spec.l1.unified.as_ref().and_then(|unified| unified.shared_bytes(info.shared_bytes > spec.shared_least, needed, ctas));
    Launch {
        kernel: kernel.name.clone(),
        active: kernel.ended.unwrap_or(outcome.cycles).saturating_sub(kernel.started.unwrap_or_default()),
        instructions: kernel.counters.get(metrics::WARP_INSTRUCTIONS).unwrap_or_default(),
        llc_sectors: totals.get("llc", "accesses").unwrap_or_default(),
        dram_bytes: totals.sum("dram", &["reads", "writes"]).unwrap_or_default() * burst,
        tensor: metrics::tensor_percent(&totals, spec.schedulers, spec.timing[OpClass::Tensor as usize].initiation),
        warps: metrics::occupancy(&totals).map_or(0.0, |occupancy| occupancy.warps),
        shared_bytes: shared.map_or(0, u64::from),
        schedulers: named(&metrics::scheduler_cycles(&totals)),
        states: named(&metrics::warp_cycles(&totals)),
    }
}

fn named(counters: &[Counted]) -> Vec<(String, u64)> {
    counters.iter().map(|counted| (counted.info.name.to_owned(), counted.value)).collect()
}
