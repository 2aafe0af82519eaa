//! `study dispatch`: error of binding CTAs to SMs ahead of time, compared with a dispatch latency of one cycle.
//!
//! With `gpu.dispatch.latency = 1` the grid scheduler replies within the minimum latency of a link, and no CTA needs to be bound ahead. The
//! lookahead is then one cycle, which is slow and useful only for this comparison.

use std::path::PathBuf;

use rayon::prelude::*;

use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::References;
use warpshard_lab::statistics::error_percent;
use warpshard_lab::verdict::magnitude_headline;

use super::Traces;
use super::reference::SkippedTraces;

/// Runs every trace of `configuration` with the machine's dispatch and with dispatch in one cycle.
///
/// # Errors
/// Fails if the reference's list of traces cannot be read, or no trace ran.
pub fn run(references: &References, configuration: &str, traces: &Traces<'_>) -> Result<StudyOutput, StudyError> {
    let rows = crate::accel_sim_results(references, configuration).map_err(StudyError::reference)?.rows;
    let at_once = [("gpu.dispatch.latency", "1"), ("gpu.dispatch.ahead", "0")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let rows: Vec<_> = rows
        .into_par_iter()
        .map(|row| {
            let both = |folder: PathBuf| Ok((traces.run(&folder, 1, &[])?, traces.run(&folder, 1, &at_once)?));
            let runs = crate::trace_folder(references, &traces.cache, &row.trace).and_then(|folder| folder.map(both).transpose());
            (row.trace, runs)
        })
        .collect();
    let mut output = StudyOutput::new(
        "dispatch",
        format!("net cycles on {} with CTAs bound ahead, compared with dispatch in one cycle", traces.machine),
    );
    output.columns(&["trace", "net cycles", "in one cycle", "difference %"]);
    let (mut errors, mut left_out) = (Vec::new(), SkippedTraces::default());
    for (trace, runs) in rows {
        let Some((ahead, base)) = left_out.unwrap_or_skip(&trace, runs, &mut output) else { continue };
        let error = error_percent(ahead.net_cycles, base.net_cycles);
        errors.extend(error);
        let error = error.map_or_else(|| "-".into(), |error| format!("{error:+.2}"));
        output.row(vec![trace, ahead.net_cycles.to_string(), base.net_cycles.to_string(), error]);
    }
    if errors.is_empty() {
        return Err(StudyError::Nothing("no trace ran".into()));
    }
    left_out.note_missing(references, &mut output);
    output.figure("traces", errors.len() as f64);
    output.headline("mean absolute difference, %", &magnitude_headline(&errors, None));
    output.figure("largest difference, %", errors.iter().fold(0.0f64, |worst, error| worst.max(error.abs())));
    Ok(output)
}
