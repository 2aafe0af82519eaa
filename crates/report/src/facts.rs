//! Facts about a run in addition to its outcome: the simulated machine and workload, and the version of the program.

use serde_json::{Map, Value};

use warpshard_base::Frequency;
use warpshard_config::Machine;
use warpshard_energy::Model;
use warpshard_stats::Launch;

use super::measurements::Measurements;
use super::roofs::Roofs;

/// The version of the layout of `stats.json` and `host.json`, incremented whenever a field changes its name or meaning.
///
/// In version 2 `kernels` lists the started launches, and `total.kernels_not_launched` counts the others; version 1 listed all launches.
/// Readers accept both.
pub const SCHEMA_VERSION: u32 = 2;

/// Options and command line of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// The options on which results depend, by name: machine, workload, overrides, policies and more. The number of threads and the result
    /// folder are excluded, so that equal results have equal bytes.
    pub options: Map<String, Value>,
    /// A command line with exactly these options.
    pub command: String,
    /// The original command line, with the name of the program; only `host.json` contains it.
    pub arguments: Vec<String>,
}

/// Facts about the simulated system. The same inputs give the same facts on every host.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFacts {
    /// The program's version.
    pub version: String,
    /// The commit from which the program was built, or "unknown".
    pub commit: String,
    /// The machine's name.
    pub machine: String,
    /// The workload's name.
    pub workload: String,
    /// The compute capability of the machine's GPU, or "unknown".
    pub capability: String,
    /// The architectures of the workload's machine code ("sm_70"); empty without machine code.
    pub code: String,
    /// The random seed of the run.
    pub seed: u64,
    /// Core clock of the machine.
    pub core_clock: Frequency,
    /// Number of SMs of the machine.
    pub sms: u32,
    /// Bytes of a DRAM burst.
    pub dram_burst_bytes: u64,
    /// Peak bandwidth of all DRAM channels together, in bytes per second.
    pub dram_bytes_per_second: f64,
    /// Roofline limits of each GPU, indexed by its number.
    pub roofs: Vec<Roofs>,
    /// Launch parameters of all kernels in launch order; empty if unknown.
    pub launches: Vec<Launch>,
    /// Measured launches with which verdicts are compared.
    pub measurements: Measurements,
    /// The energy model of machines that name a set of event energies.
    pub energy: Option<Model>,
    /// Options and command line; `None` for runs that are part of a study or another larger computation.
    pub configuration: Option<Configuration>,
}

impl RunFacts {
    /// Returns the facts of a run of this program, without its configuration. The energy is `None` if the machine names no set of event
    /// energies, or a set that cannot be read; [`Model::of`] returns the reason.
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
            core_clock: machine.clocks.core,
            sms: machine.each_gpu().map(|gpu| gpu.gpu.sms).sum(),
            dram_burst_bytes: machine.mem.dram.burst().0,
            dram_bytes_per_second: machine.each_gpu().map(dram_bytes_per_second).sum(),
            roofs: machine.each_gpu().map(Roofs::of).collect(),
            launches: Vec::new(),
            measurements: Measurements::default(),
            energy: Model::of(machine).ok().flatten(),
            configuration: None,
        }
    }

    /// Returns the simulated time of `cycles` core cycles in seconds.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.core_clock.0 as f64 * 1000.0)
    }
}
