//! What the reports contain about a run besides its outcome: what was simulated, and with which version of the program.

use serde_json::{Map, Value};

use warpshard_base::Frequency;
use warpshard_config::Machine;
use warpshard_energy::Model;
use warpshard_stats::Launch;

use super::measurements::Measurements;
use super::roofs::Roofs;

/// The version of the layout of `stats.json` and `host.json`; raised whenever a field changes its name or meaning.
///
/// Since 2 `kernels` lists the launches that were reached, and `total.kernels_not_launched` counts the others; 1 listed all. Readers take both.
pub const SCHEMA_VERSION: u32 = 2;

/// How a run was called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// The options that results depend on, by their names: machine, workload, overrides, policies and more. Neither threads
    /// nor the result folder are among them, so that equal results have equal bytes.
    pub options: Map<String, Value>,
    /// A command with these options and no others.
    pub command: String,
    /// The command line as it was given, with the name of the program; only `host.json` has it.
    pub arguments: Vec<String>,
}

/// What was simulated. The same inputs give the same facts on every host.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFacts {
    /// The program's version.
    pub version: String,
    /// The commit the program was built from, or "unknown".
    pub commit: String,
    /// The machine's name.
    pub machine: String,
    /// The workload's name.
    pub workload: String,
    /// The compute capability of the machine's GPU, or "unknown".
    pub capability: String,
    /// The architectures that the workload's machine code is for ("sm_70"); empty where it has none.
    pub code: String,
    /// The seed of the run.
    pub seed: u64,
    /// Core clock.
    pub core: Frequency,
    /// SMs of the machine.
    pub sms: u32,
    /// Size of a DRAM burst, in bytes.
    pub dram_burst_bytes: u64,
    /// Peak bandwidth of all DRAM channels together, in bytes per second.
    pub dram_bytes_per_second: f64,
    /// The roofs of each GPU, by its number.
    pub roofs: Vec<Roofs>,
    /// What each kernel is launched with, in their order; empty where that is not known.
    pub launches: Vec<Launch>,
    /// Measured launches that verdicts are compared with.
    pub measured: Measurements,
    /// The energy model of machines that name a set of event energies.
    pub energy: Option<Model>,
    /// How the run was called; `None` for runs that are part of something larger.
    pub configuration: Option<Configuration>,
}

impl RunFacts {
    /// The facts of a run of this program, without its configuration. Without energy where the machine names no set of event
    /// energies, or one that cannot be read, for which [`Model::of`] gives the reason.
    pub fn of(machine: &Machine, workload: &str, seed: u64) -> Self {
        let dram_bytes_per_second = |gpu: &Machine| {
            let (burst_bytes, bursts_per_clock) = gpu.mem.dram.burst();
            let clocks_per_second = gpu.clocks.dram.0 as f64 * 1000.0;
            f64::from(gpu.mem.map.partitions) * burst_bytes as f64 * bursts_per_clock * clocks_per_second
        };
        Self {
            version: warpshard_build::VERSION.to_owned(),
            commit: warpshard_build::commit().to_owned(),
            machine: machine.name.clone(),
            workload: workload.to_owned(),
            capability: machine.gpu.compute_capability.to_string(),
            code: String::new(),
            seed,
            core: machine.clocks.core,
            sms: machine.each_gpu().map(|gpu| gpu.gpu.sms).sum(),
            dram_burst_bytes: machine.mem.dram.burst().0,
            dram_bytes_per_second: machine.each_gpu().map(dram_bytes_per_second).sum(),
            roofs: machine.each_gpu().map(Roofs::of).collect(),
            launches: Vec::new(),
            measured: Measurements::default(),
            energy: Model::of(machine).ok().flatten(),
            configuration: None,
        }
    }

    /// Seconds that `cycles` core cycles take on the simulated machine.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.core.0 as f64 * 1000.0)
    }
}
