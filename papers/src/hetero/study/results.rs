//! Figures of the runs, weighted speed-ups, and performance relative to another run.

use std::collections::BTreeMap;

use warpshard_lab::statistics;

use super::measure::SetupMeasurements;
use super::published::directions;
use super::setup::{Cpus, WARP_LIMITS, OMNETPP_ON_ALL_CORES, ChipSetup, Split};

/// Returns the relative difference below which values count as equal.
pub(super) fn clear_margin() -> f64 {
    directions().own.margins.clear
}

/// Returns the relative difference that the paper's "not greatly" and "hardly" allow.
pub(super) fn hardly_margin() -> f64 {
    directions().own.margins.hardly
}

/// All runs of the study.
#[derive(Clone, Debug)]
pub(super) struct DirectionResults(BTreeMap<ChipSetup, SetupMeasurements>);

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

impl DirectionResults {
    pub(super) fn new(runs: impl IntoIterator<Item = (ChipSetup, SetupMeasurements)>) -> Self {
        Self(runs.into_iter().collect())
    }

    /// Returns the number of runs that were cut before every CPU core reached its count.
    pub(super) fn cut_runs(&self) -> usize {
        self.0.values().filter(|measured| measured.cut > 0).count()
    }

    /// Returns the figures of a run.
    ///
    /// # Panics
    /// If `setup` is not among [`super::setup::all_setups`].
    pub(super) fn get(&self, setup: &ChipSetup) -> &SetupMeasurements {
        self.0.get(setup).unwrap_or_else(|| panic!("the study has no run of {setup}"))
    }

    /// Returns the sum over cores of instructions per cycle, each relative to the same application alone on the chip.
    pub(super) fn weighted_speedup(&self, setup: &ChipSetup) -> Option<f64> {
        let alone = |name: &str| {
            let is_alone =
                |run: &&ChipSetup| matches!(run, ChipSetup { kernel: None, cpus: Cpus::All(application, 1), .. } if *application == name);
            let run = self.0.keys().find(is_alone)?;
            self.get(run).cores.first().map(|(_, ipc)| *ipc)
        };
        self.get(setup).cores.iter().map(|(name, ipc)| alone(name).map(|alone| ipc / alone)).sum()
    }

    /// Returns the mean instructions per cycle of the CPU cores.
    pub(super) fn cpu_ipc(&self, setup: &ChipSetup) -> f64 {
        let cores = &self.get(setup).cores;
        cores.iter().map(|(_, ipc)| ipc).sum::<f64>() / cores.len().max(1) as f64
    }

    /// Returns the kernel's instructions per cycle relative to the kernel alone on the chip.
    pub(super) fn gpu_speedup(&self, setup: &ChipSetup) -> Option<f64> {
        let alone = ChipSetup { cpus: Cpus::Off, warps: WARP_LIMITS[0], split: Split::ALL_SHARED, ..*setup };
        setup.kernel.map(|_| self.get(setup).gpu_ipc / self.get(&alone).gpu_ipc)
    }

    /// Returns CPU and GPU performance with a split, both relative to everything shared; all CPU cores run omnetpp.
    pub(super) fn relative_performance(&self, kernel: &'static str, split: Split) -> (f64, f64) {
        let shared = ChipSetup::together(kernel, OMNETPP_ON_ALL_CORES);
        let divided = ChipSetup { split, ..shared };
        (self.cpu_ipc(&divided) / self.cpu_ipc(&shared), self.get(&divided).gpu_ipc / self.get(&shared).gpu_ipc)
    }

    /// Returns the weighted speed-up of a mix under a warp limit, relative to no limit.
    pub(super) fn cpu_under_limit(&self, kernel: &'static str, mix: Cpus, warps: u32) -> f64 {
        let free = ChipSetup::together(kernel, mix);
        let of = |setup: &ChipSetup| self.weighted_speedup(setup).unwrap_or(f64::NAN);
        of(&ChipSetup { warps, ..free }) / of(&free)
    }

    /// Returns the instructions per cycle of a kernel under a warp limit, relative to no limit.
    pub(super) fn gpu_under_limit(&self, kernel: &'static str, mix: Cpus, warps: u32) -> f64 {
        let free = ChipSetup::together(kernel, mix);
        self.get(&ChipSetup { warps, ..free }).gpu_ipc / self.get(&free).gpu_ipc
    }

    /// Returns the rows of the table of runs, in the order of their setups.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let row = |(setup, measured): (&ChipSetup, &SetupMeasurements)| {
            let ChipSetup { kernel, cpus, warps, split } = setup;
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

/// Returns the arithmetic mean; 0 without values.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    statistics::mean(values).unwrap_or(0.0)
}

/// Formats a ratio as a change: 1.12 gives "+12 %".
pub(super) fn percent_change(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}

/// Formats a list of names with their changes or values.
pub(super) fn format_list<'a>(values: impl IntoIterator<Item = (&'a str, String)>) -> String {
    values.into_iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}
