//! The rate at which a machine executes a kernel once it is under way, measured over a stretch of a run that is long enough for
//! several waves of CTAs and ends before the grid does. Results are kept in files, so that an interrupted study resumes.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::chip::{RunOptions, simulate};
use crate::config::{Machine, Override};
use crate::frontend::model::{builtin_model, builtin_text};
use crate::report::metrics;
use crate::stats::{Counted, Outcome};

/// Core cycles of an interval of the series.
const INTERVAL: u64 = 1000;

/// What is run.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// A built-in machine.
    pub(super) machine: &'static str,
    /// Settings of the machine.
    pub(super) settings: Vec<(String, String)>,
    /// A built-in model.
    pub(super) workload: String,
    /// Parameters of the model that are not as in its file.
    pub(super) parameters: Vec<(String, String)>,
    /// Core cycles behind the launch; the whole kernel when not given, for a grid of few waves.
    pub(super) cycles: Option<u64>,
}

/// What a run of a [`Job`] gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Warp instructions per core cycle behind the first quarter of the run, or of the whole kernel when it ends before.
    pub(super) rate: f64,
    /// Warp instructions issued in all.
    pub(super) issued: u64,
    /// Core cycles behind the launch.
    pub(super) cycles: u64,
    /// Whether the grid ended.
    pub(super) ended: bool,
}

impl Measured {
    /// The rate that runs of one grid are compared by: that of the whole grid where it ended, else that behind the beginning.
    pub(super) fn mean_rate(&self) -> f64 {
        if self.ended { self.issued as f64 / self.cycles.max(1) as f64 } else { self.rate }
    }
}

impl Job {
    /// The rate alone, see [`Job::measure`].
    ///
    /// # Errors
    /// Whatever goes wrong, as a message for the user.
    pub(super) fn rate(&self, cache: Option<&Path>) -> Result<f64, String> {
        self.measure(cache).map(|measured| measured.rate)
    }

    /// Runs the job, or reads what an earlier run gave.
    ///
    /// # Errors
    /// Whatever goes wrong, as a message for the user.
    pub(super) fn measure(&self, cache: Option<&Path>) -> Result<Measured, String> {
        let overrides: Vec<Override> = self.settings.iter().map(|(key, value)| Override::new(key, value)).collect();
        let loaded = Machine::load(self.machine, &overrides).map_err(|errors| errors.to_string())?;
        let model = builtin_model(&self.workload, 1, &self.parameters).map_err(|error| error.to_string())?;
        kept(cache, "rate", (self, loaded.provenance.to_toml(), builtin_text(&self.workload)), || {
            let machine = &loaded.machine;
            let launch = machine.gpu.dispatch.launch_latency;
            let options =
                RunOptions { max_cycles: self.cycles.map(|cycles| launch + cycles), interval: Some(INTERVAL), ..RunOptions::default() };
            let outcome = simulate(machine, &Arc::new(model.workload()), options).map_err(|error| error.to_string())?.outcome;
            let from = launch + self.cycles.unwrap_or(0) / 4;
            let steady: Vec<u64> = outcome.intervals.iter().filter(|row| row.cycle > from).map(|row| issued(&row.counters)).collect();
            let ended = outcome.kernels.iter().all(|kernel| kernel.ended.is_some());
            let all = warp_instructions(&outcome);
            let cycles = outcome.cycles.saturating_sub(launch).max(1);
            let rate = if ended || steady.is_empty() {
                all as f64 / cycles as f64
            } else {
                steady.iter().sum::<u64>() as f64 / (steady.len() as u64 * INTERVAL) as f64
            };
            Ok(Measured { rate, issued: all, cycles, ended })
        })
    }
}

/// Warp instructions of an interval. An SM that issues two at a time has fewer scheduler cycles with an issue.
pub(super) fn issued(counters: &[(&'static str, Counted)]) -> u64 {
    let of_sms = |(kind, counted): &&(&'static str, Counted)| *kind == "sm" && counted.info.name == metrics::WARP_INSTRUCTIONS;
    counters.iter().find(of_sms).map_or(0, |(_, counted)| counted.value)
}

/// Warp instructions of all kernels.
pub(super) fn warp_instructions(outcome: &Outcome) -> u64 {
    outcome.kernels.iter().filter_map(|kernel| metrics::counter(&kernel.counters, metrics::WARP_INSTRUCTIONS)).sum()
}

/// What `make` gives, read from the folder `cache` where an earlier call left it. `of` is all that the result depends on, but
/// for the program, whose version is added; `kind` is the result's type.
///
/// # Errors
/// Those of `make`.
pub(super) fn kept<T: Serialize + DeserializeOwned>(
    cache: Option<&Path>,
    kind: &str,
    of: impl Debug,
    make: impl FnOnce() -> Result<T, String>,
) -> Result<T, String> {
    crate::study::lab::store::stored(cache, &format!("{kind} {of:?}"), make)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_kept_rate_is_the_measured_one_and_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job { machine: "tiny", settings: Vec::new(), workload: "vecadd".into(), parameters: Vec::new(), cycles: Some(4000) };
        let measured = job.rate(Some(folder.path())).unwrap();
        assert!(measured > 0.0);
        let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        assert_eq!(job.rate(Some(folder.path())), Ok(measured));
        let mut other: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        other["result"]["rate"] = 42.0.into();
        fs::write(file, other.to_string()).unwrap();
        assert_eq!(job.rate(Some(folder.path())), Ok(42.0));
        assert_ne!(Job { cycles: Some(5000), ..job }.rate(Some(folder.path())), Ok(42.0));
    }
}
