//! The rate at which a machine executes a kernel once it is under way, measured over a stretch of a run that is long enough for
//! several waves of CTAs and ends before the grid does. Results are kept in files, so that an interrupted study resumes.

use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHasher;

use crate::config::{Machine, Override};
use crate::engine::{RunOptions, simulate};
use crate::frontend::model::{builtin_model, builtin_text};
use crate::report::metrics;

/// Core cycles of an interval of the series.
const INTERVAL: u64 = 1000;

/// What is run.
#[derive(Clone, Debug, Hash)]
pub(super) struct Job {
    /// A built-in machine.
    pub(super) machine: &'static str,
    /// Settings of the machine.
    pub(super) settings: Vec<(String, String)>,
    /// A built-in model.
    pub(super) workload: String,
    /// Core cycles behind the launch; the whole kernel when not given, for a grid of few waves.
    pub(super) cycles: Option<u64>,
}

impl Job {
    /// Warp instructions per core cycle: of the whole kernel, or behind the first quarter of a run of limited length.
    ///
    /// # Errors
    /// Whatever goes wrong, as a message for the user.
    pub(super) fn rate(&self, cache: Option<&Path>) -> Result<f64, String> {
        let overrides: Vec<Override> = self.settings.iter().map(|(key, value)| Override::new(key, value)).collect();
        let loaded = Machine::load(self.machine, &overrides).map_err(|errors| errors.to_string())?;
        let model = builtin_model(&self.workload, 1, &[]).map_err(|error| error.to_string())?;
        let kept = cache.map(|folder| {
            folder.join(format!("{:016x}.rate", self.key(&loaded.provenance.to_toml(), builtin_text(&self.workload).unwrap_or_default())))
        });
        if let Some(rate) = kept.as_ref().and_then(|path| fs::read_to_string(path).ok()).and_then(|text| text.trim().parse().ok()) {
            return Ok(rate);
        }
        let machine = loaded.machine;
        let launch = machine.gpu.dispatch.launch_latency;
        let options =
            RunOptions { max_cycles: self.cycles.map(|cycles| launch + cycles), interval: Some(INTERVAL), ..RunOptions::default() };
        let result = simulate(&machine, &Arc::new(model.workload()), options).map_err(|error| error.to_string())?;
        let outcome = result.outcome;
        let issued = |names: &[(&'static str, crate::stats::Counted)]| {
            names.iter().find(|(kind, counted)| *kind == "sm" && counted.info.name == "issued").map_or(0, |(_, counted)| counted.value)
        };
        let from = launch + self.cycles.unwrap_or(0) / 4;
        let steady: Vec<u64> = outcome.intervals.iter().filter(|row| row.cycle > from).map(|row| issued(&row.counters)).collect();
        let ended = outcome.kernels.iter().all(|kernel| kernel.ended.is_some());
        let rate = if ended || steady.is_empty() {
            let all: u64 = outcome.kernels.iter().filter_map(|kernel| metrics::counter(&kernel.counters, metrics::WARP_INSTRUCTIONS)).sum();
            all as f64 / outcome.cycles.saturating_sub(launch).max(1) as f64
        } else {
            steady.iter().sum::<u64>() as f64 / (steady.len() as u64 * INTERVAL) as f64
        };
        if let Some(path) = kept {
            // A study that cannot keep its results runs all the same.
            let _ = path.parent().map(fs::create_dir_all);
            let _ = fs::write(path, format!("{rate}\n"));
        }
        Ok(rate)
    }

    /// Equal for runs whose results are equal: the job, everything about the machine and the model, and the program.
    fn key(&self, machine: &str, model: &str) -> u64 {
        let mut hasher = FxHasher::default();
        (self, machine, model, env!("CARGO_PKG_VERSION"), env!("WARPSHARD_COMMIT")).hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_rate_is_the_measured_one_and_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job { machine: "tiny", settings: Vec::new(), workload: "vecadd".into(), cycles: Some(4000) };
        let measured = job.rate(Some(folder.path())).unwrap();
        assert!(measured > 0.0);
        let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        assert_eq!(job.rate(Some(folder.path())), Ok(measured));
        fs::write(file, "42\n").unwrap();
        assert_eq!(job.rate(Some(folder.path())), Ok(42.0));
        assert_ne!(Job { cycles: Some(5000), ..job }.rate(Some(folder.path())), Ok(42.0));
    }
}
