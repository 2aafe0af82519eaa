//! A task of the study: a run of applications that share the GPU, or of one application alone.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_lab::error::TaskError;
use warpshard_chip::{RunOptions, simulate};
use warpshard_config::{Loaded, Override};
use warpshard_energy::Model;
use warpshard_program::Program;
use warpshard_workload::{MixedApplication, mix};
use warpshard_report::metrics::Totals;
use warpshard_lab::Task;

use super::published::PublishedApplication;

/// Applications, machine and policy of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SharedRun {
    pub(super) apps: Vec<&'static PublishedApplication>,
    /// A policy in the form of the option `--policy`.
    pub(super) policy: Option<String>,
    pub(super) machine: &'static str,
    pub(super) settings: Vec<(String, String)>,
    /// Length of the run in core cycles.
    pub(super) cycles: u64,
}

/// The first execution of an application, up to its end or the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Execution {
    pub(super) instructions: u64,
    pub(super) cycles: u64,
}

impl Execution {
    /// Returns the warp instructions per core cycle.
    pub(super) fn ipc(self) -> f64 {
        self.instructions as f64 / self.cycles.max(1) as f64
    }
}

/// Results of a run, for the whole machine and per application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunResult {
    /// The execution of each application.
    pub(super) apps: Vec<Execution>,
    pub(super) cycles: u64,
    pub(super) joules: f64,
    pub(super) seconds: f64,
    pub(super) instructions: u64,
    pub(super) llc_accesses: u64,
    pub(super) llc_misses: u64,
    pub(super) dram_bursts: u64,
    /// Bursts that DRAM can transfer in the cycles of the run.
    pub(super) dram_peak: f64,
    /// Values that the controller recorded: cycle, SM (0 for the whole machine), name, value.
    pub(super) signals: Vec<(u64, u16, String, f64)>,
}

impl RunResult {
    /// Returns the mean power in watts.
    pub(super) fn watts(&self) -> f64 {
        self.joules / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// Returns the fraction of DRAM cycles that transfer data.
    pub(super) fn dram_utilisation(&self) -> f64 {
        self.dram_bursts as f64 / self.dram_peak.max(1.0)
    }

    /// Returns true for each application that CD-search classified as memory-intensive; empty if the run ended before the classification.
    pub(super) fn memory_intensive_flags(&self) -> Vec<bool> {
        self.last_signals("memory_intensive").iter().map(|(_, memory)| *memory > 0.0).collect()
    }

    /// Returns the last value of a signal at each SM, ordered by SM.
    pub(super) fn last_signals(&self, name: &str) -> Vec<(u16, f64)> {
        let mut all: Vec<(u16, f64)> = Vec::new();
        for (_, sm, _, value) in self.signals.iter().filter(|(_, _, other, _)| other == name) {
            match all.iter_mut().find(|(known, _)| known == sm) {
                Some((_, last)) => *last = *value,
                None => all.push((*sm, *value)),
            }
        }
        all.sort_by_key(|(sm, _)| *sm);
        all
    }
}

impl SharedRun {
    /// Returns the machine with the settings of the run.
    ///
    /// # Errors
    /// Returns a message for the user if the machine or a setting is invalid.
    pub(super) fn machine(&self) -> Result<Loaded, TaskError> {
        let set: Vec<Override> = self.settings.iter().map(|(key, value)| Override::new(key, value)).collect();
        crate::machine(self.machine, &set).map_err(TaskError::from)
    }
}

impl fmt::Display for SharedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.apps.iter().map(|app| app.name.as_str()).collect();
        write!(f, "{}", names.join(" + "))?;
        self.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))?;
        self.policy.iter().try_for_each(|policy| write!(f, " {policy}"))
    }
}

impl Task for SharedRun {
    type Result = RunResult;

    fn key(&self) -> Result<String, TaskError> {
        let mut files = String::new();
        for app in &self.apps {
            files += &app.input_text()?;
        }
        let machine = self.machine()?.provenance.to_toml();
        Ok(format!("sharing {self} {} {machine} {:08x}", self.cycles, crc32fast::hash(files.as_bytes())))
    }

    fn run(&self) -> Result<RunResult, TaskError> {
        let machine = self.machine()?.machine;
        let part = |app: &&PublishedApplication| -> Result<MixedApplication, TaskError> {
            let program = Program::load(Path::new(&app.program), Some(70), &app.parameters)?;
            Ok(MixedApplication { workload: program.workload()?, priority: 0 })
        };
        let parts = self.apps.iter().map(part).collect::<Result<Vec<_>, _>>()?;
        let again = parts.len() > 1;
        let workload = Arc::new(mix(parts, again)?);
        let controllers = self.policy.iter().map(|policy| crate::catalogue().controller(policy)).collect::<Result<Vec<_>, _>>()?;
        let options = RunOptions { max_cycles: Some(self.cycles), controllers, ..RunOptions::default() };
        let outcome = simulate(&machine, &workload, options)?.outcome;
        let totals = Totals::of(&outcome.components);
        let sum = |kind, names: &[&str]| totals.sum(kind, names).unwrap_or(0);
        let energy = Model::of(&machine)?.map(|model| model.of_run(&outcome));
        let execution = |app: &warpshard_stats::ApplicationStats| Execution {
            instructions: app.warp_instructions,
            cycles: app.ended.unwrap_or(outcome.cycles) - app.launched.unwrap_or(0),
        };
        let clocks = machine.clocks.dram.0 as f64 / machine.clocks.core.0 as f64;
        let signals = outcome.timeline.iter().filter(|entry| entry.reason.is_empty());
        Ok(RunResult {
            apps: outcome.applications.iter().map(execution).collect(),
            cycles: outcome.cycles,
            joules: energy.as_ref().map_or(0.0, |energy| energy.total()),
            seconds: energy.as_ref().map_or(0.0, |energy| energy.seconds),
            instructions: sum("sm", &["warp_instructions"]),
            llc_accesses: sum("llc", &["accesses"]),
            llc_misses: sum("llc", &["misses"]),
            dram_bursts: sum("dram", &["reads", "writes"]),
            dram_peak: f64::from(machine.mem.map.partitions) * machine.mem.dram.burst().1 * clocks * outcome.cycles as f64,
            signals: signals.filter_map(|entry| Some((entry.cycle, entry.sm.unwrap_or(0), entry.name.to_owned(), entry.value?))).collect(),
        })
    }
}
