//! Runs of a microbenchmark: the cycles of its one timed launch.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_chip::{RunOptions, simulate};
use warpshard_config::{Loaded, Override};
use warpshard_lab::error::TaskError;
use warpshard_lab::{Lab, Task, programs};
use warpshard_program::Program;
use warpshard_run::Catalogue;

use super::rows::MicroRow;

/// Architecture of the listings: sm_90.
const SM_ARCHITECTURE: u32 = 90;

/// A machine that microbenchmarks run on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeMachine<'a> {
    pub(super) catalogue: &'static Catalogue,
    /// Name or file of the machine.
    pub(super) machine: &'a str,
    /// Overrides of the machine's keys.
    pub(super) overrides: &'a [(String, String)],
}

/// A run of a program with parameters on a machine.
struct Probe<'a> {
    bench: ProbeMachine<'a>,
    file: &'a Path,
    set: &'a [(String, String)],
}

/// Core cycles from the start of the first CTA to the end of the last CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProbeCycles(u64);

impl ProbeMachine<'_> {
    /// Loads the machine.
    pub(super) fn load(&self) -> Result<Loaded, TaskError> {
        let overrides: Vec<Override> = self.overrides.iter().map(|(key, value)| Override::new(key, value)).collect();
        self.catalogue.machine(self.machine, &overrides).map_err(TaskError::from)
    }

    /// Simulates the rows and returns the value of each.
    pub(super) fn simulate_rows(&self, rows: &[&MicroRow], lab: &Lab) -> Result<Vec<f64>, TaskError> {
        let megahertz = self.load()?.machine.clocks.core.0 as f64 / 1000.0;
        let probes: Vec<Probe<'_>> =
            rows.iter().flat_map(|row| row.runs.iter().map(|set| Probe { bench: *self, file: &row.file, set })).collect();
        let cycles = lab.run_tasks(&probes)?;
        let value = |(row, cycles): (&&MicroRow, &[ProbeCycles])| {
            if cycles[1].0 <= cycles[0].0 {
                let (key, short, long) = (&row.key, cycles[0].0, cycles[1].0);
                return Err(format!("{key}: the longer run takes {long} cycles, no more than the {short} of the shorter one").into());
            }
            let difference = (cycles[1].0 - cycles[0].0) as f64;
            Ok(row.quantity.value_of(difference / row.longer as f64, row.amount, megahertz))
        };
        rows.iter().zip(cycles.chunks_exact(2)).map(value).collect()
    }
}

impl fmt::Display for Probe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.file.file_stem().unwrap_or_default().to_string_lossy(), self.bench.machine)?;
        self.set.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl Task for Probe<'_> {
    type Result = ProbeCycles;

    fn key(&self) -> Result<String, TaskError> {
        let code = crc32fast::hash(programs::content(self.file)?.as_bytes());
        Ok(format!("micro {} {:?} {code:08x} {}", self.file.display(), self.set, self.bench.load()?.provenance.to_toml()))
    }

    fn run(&self) -> Result<ProbeCycles, TaskError> {
        let machine = self.bench.load()?.machine;
        let program = Program::load(self.file, Some(SM_ARCHITECTURE), self.set).map(Arc::new)?;
        let workload = program.workload().map_err(|error| error.to_string())?;
        let outcome = simulate(&machine, &Arc::new(workload), RunOptions::default())?.outcome;
        let span = |kernel: &warpshard_stats::KernelStats| Some(kernel.ended? - kernel.started?);
        let cycles = outcome.kernels.last().and_then(span);
        cycles.map(ProbeCycles).ok_or_else(|| format!("{self}: the launch did not end").into())
    }
}
