//! `study hetero-directions`: Sections 1 to 4 of "Managing GPU Concurrency in Heterogeneous Architectures" (Kayiran et al.,
//! MICRO 2014): interference, warp limits, and partitioned networks and controllers of the CPU+GPU chip.
//!
//! In: run lengths and machine settings. Out: a graded comparison, a table of all runs, and plots. Every run is simulated once, on one
//! thread, and all runs in parallel. The report depends only on the runs in the order of their setups, so its bytes are the same on
//! every host.

pub mod concurrency;
mod interference;
mod measure;
mod options;
mod partitions;
mod plots;
mod published;
mod results;
mod setup;
#[cfg(test)]
mod tests;
mod warps;

use warpshard_lab::request::Request;
use warpshard_lab::output::{StudyError, StudyOutput};

use measure::MeasurementTask;
use options::HeteroOptions;
use published::{Finding, directions};
use results::DirectionResults;
use setup::all_setups;

/// Runs every setup and grades every statement of the paper.
///
/// # Errors
/// Fails if a machine or a run is impossible with the given settings.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let options = HeteroOptions::new(request);
    let setups = all_setups();
    let tasks: Vec<MeasurementTask<'_>> = setups.iter().map(|&setup| MeasurementTask { setup, options: &options }).collect();
    let measured = request.lab().run_tasks(&tasks).map_err(StudyError::input)?;
    Ok(report(&DirectionResults::new(setups.into_iter().zip(measured))))
}

/// Returns all findings, in the order of the paper's sections.
fn findings(results: &DirectionResults) -> Vec<Finding> {
    [interference::findings(results), partitions::findings(results), warps::findings(results)].concat()
}

fn report(results: &DirectionResults) -> StudyOutput {
    let (rows, cut) = (results.rows(), results.cut_runs());
    let title = format!("the CPU+GPU chip, compared with {}; {cut} of {} runs cut", directions().source, rows.len());
    let mut output = StudyOutput::new("hetero-directions", title);
    // The last column lists single cores and appears only in the file.
    let shown = results::RUN_COLUMNS.len() - 1;
    output.columns(&results::RUN_COLUMNS[..shown]);
    rows.iter().for_each(|row| output.row(row[..shown].to_vec()));
    output.table("runs.csv", &results::RUN_COLUMNS, rows);
    published::compare(&directions().values, &findings(results), &mut output);
    for (name, value) in partitions::width_and_channels(results) {
        output.figure(name, value);
    }
    output.note(
        "`stream`, `divergent` and `gather` saturate memory, `gemm_tiled` does not; they represent the paper's \
         applications, but are other kernels"
            .into(),
    );
    for (names, plot) in plots::plots(results) {
        output.plot(names, plot);
    }
    output
}
