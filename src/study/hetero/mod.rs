//! `study hetero-directions`: what Sections 1 to 3 of "Managing GPU Concurrency in Heterogeneous Architectures" (Kayiran et al.,
//! MICRO 2014) state of the CPU+GPU chip, beside what ours does: interference, limits of warps, partitioned networks and controllers.
//!
//! In: lengths of the runs and settings of the machine. Out: a row per statement, `ours | stated | agrees?`, a table of all runs,
//! and plots. Every run is simulated once, on one thread, all runs side by side; what is shown follows from the runs in the order
//! of their setups, so that the bytes are the same on every host.

pub mod concurrency;
mod interference;
mod measure;
mod partitions;
mod plots;
mod published;
mod results;
mod setup;
#[cfg(test)]
mod tests;
mod warps;

use rayon::prelude::*;

use crate::config::Override;

use super::lab::request::Request;
use super::{StudyError, StudyOutput};
use measure::measure;
use results::{Finding, Results};
use setup::all_setups;

/// How long runs are, and changes to the machine.
#[derive(Clone, Debug)]
pub struct HeteroOptions {
    /// The machine.
    pub machine: String,
    /// Changes to it.
    pub overrides: Vec<Override>,
    /// Instructions that CPU cores with memory-heavy applications retire before they are measured.
    pub cpu_warm: u64,
    /// Instructions of such cores that are measured.
    pub cpu_measure: u64,
    /// Core cycles of runs without CPU cores.
    pub gpu_cycles: u64,
    /// Core cycles after which a run is cut, whether or not its slowest CPU core is through.
    pub longest: u64,
    /// Instructions that cores with light applications retire before kernels start: the near lines of a profile, 384, are gone
    /// through once in 192 thousand instructions at two hits of the L2 per thousand.
    pub light_warm: u64,
    /// Core cycles between which cores with light applications are measured: from here.
    pub light_from: u64,
    /// To here.
    pub light_until: u64,
}

impl HeteroOptions {
    /// The chip of Table I, with runs that take a few minutes in all.
    pub fn new() -> Self {
        Self {
            machine: "hetero".to_owned(),
            overrides: Vec::new(),
            cpu_warm: 5000,
            cpu_measure: 5000,
            gpu_cycles: 100_000,
            longest: 300_000,
            light_warm: 200_000,
            light_from: 160_000,
            light_until: 220_000,
        }
    }
}

impl Default for HeteroOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs the study as asked.
///
/// # Errors
/// As [`run`].
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let default = HeteroOptions::new();
    run(&HeteroOptions {
        machine: request.machine.clone().unwrap_or(default.machine),
        overrides: request.machine_settings().into_iter().map(|(key, value)| Override::new(key, value)).collect(),
        cpu_warm: request.cpu_warm.unwrap_or(default.cpu_warm),
        cpu_measure: request.cpu_measure.unwrap_or(default.cpu_measure),
        gpu_cycles: request.gpu_cycles.unwrap_or(default.gpu_cycles),
        longest: request.longest.unwrap_or(default.longest),
        light_warm: default.light_warm,
        light_from: default.light_from,
        light_until: default.light_until,
    })
}

/// Runs every setup and judges every statement.
///
/// # Errors
/// When a machine or a run is not possible as asked.
pub fn run(options: &HeteroOptions) -> Result<StudyOutput, StudyError> {
    let setups = all_setups();
    let measured = setups.par_iter().map(|setup| measure(setup, options).map_err(|why| StudyError::Input(format!("{setup}: {why}"))));
    let measured: Vec<_> = measured.collect::<Result<_, _>>()?;
    let results = Results::new(setups.into_iter().zip(measured));
    Ok(report(&results))
}

/// Every finding, in the order of the sections of the paper.
fn findings(results: &Results) -> Vec<Finding> {
    [interference::findings(results), partitions::findings(results), warps::findings(results)].concat()
}

fn report(results: &Results) -> StudyOutput {
    let mut output = StudyOutput::new("hetero-directions", "the CPU+GPU chip beside what its paper states of it".into());
    output.columns(&["statement", "where", "kind", "ours", "stated", "agrees?"]);
    let (mut agree, mut judged) = (0u32, 0u32);
    for finding in findings(results) {
        let statement = published::statement(finding.id);
        let agrees = match finding.agrees {
            Some(agrees) => {
                judged += 1;
                agree += u32::from(agrees);
                if agrees { "yes" } else { "no" }
            }
            None => "-",
        };
        output.row(vec![
            statement.id.clone(),
            statement.source.clone(),
            statement.kind.clone(),
            finding.ours,
            statement.text.clone(),
            agrees.into(),
        ]);
    }
    output.figure("directions stated", f64::from(judged));
    output.figure("directions that agree", f64::from(agree));
    output.note(
        "`stream`, `divergent` and `gather` press the memory, `gemm_tiled` does not; they stand for the paper's applications, which \
         are others. Numbers of the paper stand beside ours and are not judged"
            .into(),
    );
    output.table("runs.csv", &results::RUN_COLUMNS, results.rows());
    for (names, plot) in plots::plots(results) {
        output.plot(names, plot);
    }
    output
}
