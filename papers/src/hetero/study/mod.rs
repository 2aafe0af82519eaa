//! `study hetero-directions`: what Sections 1 to 4 of "Managing GPU Concurrency in Heterogeneous Architectures" (Kayiran et al.,
//! MICRO 2014) state of the CPU+GPU chip: interference, limits of warps, partitioned networks and controllers.
//!
//! In: lengths of the runs and settings of the machine. Out: a graded comparison, a table of all runs, and plots. Every run is simulated
//! once, on one thread, all in parallel; what is shown follows from the runs in the order of their setups, so that the bytes are the
//! same on every host.

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

use warpshard_config::Override;

use warpshard_lab::request::Request;
use warpshard_lab::output::{StudyError, StudyOutput};
use measure::Measurement;
use published::{Finding, Lengths, directions};
use results::Results;
use setup::all_setups;

/// Lengths of runs, and changes to the machine; `papers/src/hetero/published/hetero-directions.toml` explains each.
#[derive(Clone, Debug)]
struct HeteroOptions {
    machine: String,
    overrides: Vec<Override>,
    cpu_warm: u64,
    cpu_measure: u64,
    gpu_cycles: u64,
    longest: u64,
    light_warm: u64,
    light_from: u64,
    light_until: u64,
}

impl HeteroOptions {
    fn new(request: &Request) -> Self {
        let Lengths { machine, cpu_warm, cpu_measure, gpu_cycles, longest, light_warm, light_from, light_until } =
            directions().own.lengths.clone();
        Self {
            machine: request.machine.clone().unwrap_or(machine),
            overrides: request.machine_settings().into_iter().map(|(key, value)| Override::new(key, value)).collect(),
            cpu_warm: request.cpu_warm.unwrap_or(cpu_warm),
            cpu_measure: request.cpu_measure.unwrap_or(cpu_measure),
            gpu_cycles: request.gpu_cycles.unwrap_or(gpu_cycles),
            longest: request.longest.unwrap_or(longest),
            light_warm,
            light_from,
            light_until,
        }
    }
}

/// Runs every setup and grades every statement.
///
/// # Errors
/// When a machine or a run is not possible as asked.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let options = HeteroOptions::new(request);
    let setups = all_setups();
    let tasks: Vec<Measurement<'_>> = setups.iter().map(|&setup| Measurement { setup, options: &options }).collect();
    let measured = request.lab().all(&tasks).map_err(StudyError::input)?;
    Ok(report(&Results::new(setups.into_iter().zip(measured))))
}

/// Every finding, in the order of the sections of the paper.
fn findings(results: &Results) -> Vec<Finding> {
    [interference::findings(results), partitions::findings(results), warps::findings(results)].concat()
}

fn report(results: &Results) -> StudyOutput {
    let (rows, cut) = (results.rows(), results.cut());
    let title = format!("the CPU+GPU chip, compared with {}; {cut} of {} runs cut", directions().source, rows.len());
    let mut output = StudyOutput::new("hetero-directions", title);
    // The last column lists the cores and is left to the file.
    let shown = results::RUN_COLUMNS.len() - 1;
    output.columns(&results::RUN_COLUMNS[..shown]);
    rows.iter().for_each(|row| output.row(row[..shown].to_vec()));
    output.table("runs.csv", &results::RUN_COLUMNS, rows);
    published::compare(&directions().values, &findings(results), &mut output);
    for (name, value) in partitions::width_and_channels(results) {
        output.figure(name, value);
    }
    output.note(
        "`stream`, `divergent` and `gather` saturate memory, `gemm_tiled` does not; they stand for the paper's applications, which \
         are others"
            .into(),
    );
    for (names, plot) in plots::plots(results) {
        output.plot(names, plot);
    }
    output
}
