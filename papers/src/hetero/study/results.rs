//! The runs' figures, and what follows from several of them: weighted speed-ups and performance relative to another run.

use std::collections::BTreeMap;

use warpshard_lab::statistics;

use super::measure::Measured;
use super::published::directions;
use super::setup::{Cpus, LIMITS, OMNETPP, Setup, Split};

/// Relative differences below this do not count.
pub(super) fn clear() -> f64 {
    directions().own.margins.clear
}

/// What the paper's "not greatly" and "hardly" allow.
pub(super) fn hardly() -> f64 {
    directions().own.margins.hardly
}

/// All runs.
#[derive(Clone, Debug)]
pub(super) struct Results(BTreeMap<Setup, Measured>);

/// Columns of the table of runs.
pub(super) const RUN_COLUMNS: [&str; 18] = [
    "kernel",
    "cpus",
    "warp limit",
    "cpu VCs",
    "cpu channel bytes",
    "cpu controllers",
    "GPU warp IPC",
    "GPU speed-up",
    "CPU weighted speed-up",
    "stall_mc",
    "stall_net",
    "LLC accesses per 1000 cycles",
    "LLC miss share",
    "DRAM bus busy",
    "mean CPU IPC",
    "CPU read latency",
    "CPU cores cut short",
    "CPU IPC by core",
];

impl Results {
    pub(super) fn new(runs: impl IntoIterator<Item = (Setup, Measured)>) -> Self {
        Self(runs.into_iter().collect())
    }

    /// Runs that were cut before every CPU core had reached its count.
    pub(super) fn cut(&self) -> usize {
        self.0.values().filter(|measured| measured.cut > 0).count()
    }

    /// The figures of a run.
    ///
    /// # Panics
    /// When `setup` is not among [`super::setup::all_setups`].
    pub(super) fn get(&self, setup: &Setup) -> &Measured {
        self.0.get(setup).unwrap_or_else(|| panic!("the study has no run of {setup}"))
    }

    /// The sum over cores of instructions per cycle over those of the same application alone on the chip.
    pub(super) fn weighted_speedup(&self, setup: &Setup) -> Option<f64> {
        let alone = |name: &str| {
            let is_alone =
                |run: &&Setup| matches!(run, Setup { kernel: None, cpus: Cpus::All(application, 1), .. } if *application == name);
            let run = self.0.keys().find(is_alone)?;
            self.get(run).cores.first().map(|(_, ipc)| *ipc)
        };
        self.get(setup).cores.iter().map(|(name, ipc)| alone(name).map(|alone| ipc / alone)).sum()
    }

    /// Mean instructions per cycle of the cores.
    pub(super) fn cpu_ipc(&self, setup: &Setup) -> f64 {
        let cores = &self.get(setup).cores;
        cores.iter().map(|(_, ipc)| ipc).sum::<f64>() / cores.len().max(1) as f64
    }

    /// The kernel's instructions per cycle over those alone on the chip.
    pub(super) fn gpu_speedup(&self, setup: &Setup) -> Option<f64> {
        let alone = Setup { cpus: Cpus::Off, warps: LIMITS[0], split: Split::SHARED, ..*setup };
        setup.kernel.map(|_| self.get(setup).gpu_ipc / self.get(&alone).gpu_ipc)
    }

    /// CPU and GPU performance with a split, both over what they are with everything shared; all cores run omnetpp.
    pub(super) fn relative(&self, kernel: &'static str, split: Split) -> (f64, f64) {
        let shared = Setup::together(kernel, OMNETPP);
        let divided = Setup { split, ..shared };
        (self.cpu_ipc(&divided) / self.cpu_ipc(&shared), self.get(&divided).gpu_ipc / self.get(&shared).gpu_ipc)
    }

    /// Weighted speed-up of a mix under a limit of warps, over that without a limit.
    pub(super) fn cpu_under_limit(&self, kernel: &'static str, mix: Cpus, warps: u32) -> f64 {
        let free = Setup::together(kernel, mix);
        let of = |setup: &Setup| self.weighted_speedup(setup).unwrap_or(f64::NAN);
        of(&Setup { warps, ..free }) / of(&free)
    }

    /// Instructions per cycle of a kernel under a limit of warps, over those without a limit.
    pub(super) fn gpu_under_limit(&self, kernel: &'static str, mix: Cpus, warps: u32) -> f64 {
        let free = Setup::together(kernel, mix);
        self.get(&Setup { warps, ..free }).gpu_ipc / self.get(&free).gpu_ipc
    }

    /// The table of runs, in their order.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let row = |(setup, measured): (&Setup, &Measured)| {
            let Setup { kernel, cpus, warps, split } = setup;
            let optional = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
            let weighted = if measured.cores.is_empty() { None } else { self.weighted_speedup(setup) };
            vec![
                kernel.unwrap_or("-").to_owned(),
                cpus.to_string(),
                warps.to_string(),
                split.vcs.to_string(),
                split.bytes.to_string(),
                split.controllers.to_string(),
                format!("{:.4}", measured.gpu_ipc),
                optional(self.gpu_speedup(setup)),
                optional(weighted),
                format!("{:.4}", measured.stall_mc),
                format!("{:.4}", measured.stall_net),
                format!("{:.1}", measured.llc_accesses),
                format!("{:.4}", measured.llc_misses),
                format!("{:.4}", measured.bandwidth),
                format!("{:.4}", self.cpu_ipc(setup)),
                format!("{:.0}", measured.read_latency),
                measured.cut.to_string(),
                measured.cores.iter().map(|(name, ipc)| format!("{name} {ipc:.4}")).collect::<Vec<_>>().join("; "),
            ]
        };
        self.0.iter().map(row).collect()
    }
}

/// The arithmetic mean; 0 without values.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    statistics::mean(values).unwrap_or(0.0)
}

/// "+12 %" of a ratio of 1.12.
pub(super) fn change(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}

/// A list of changes or values with their names.
pub(super) fn listed<'a>(values: impl IntoIterator<Item = (&'a str, String)>) -> String {
    values.into_iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}
