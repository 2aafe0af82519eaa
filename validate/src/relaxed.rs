//! `study relaxed`: error and speed of epochs longer than the lookahead.
//!
//! Every trace of the standard set runs exactly, and with epochs of one, two, four and eight lookaheads, on one thread. The error compares
//! net cycles with the exact run. Runs are interleaved and the fastest of several is used, so that changes of the host's load affect all
//! lengths alike; the simulated figures do not vary between repetitions.

use std::path::Path;

use warpshard_chip::RunOptions;
use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::References;
use warpshard_lab::statistics::{error_percent, geometric_mean, mean_magnitude};
use warpshard_report::plot::{Plot, PlotForm, Series};

use super::bench::STANDARD_SET;
use super::reference::SkippedTraces;
use super::{TraceRun, Traces};

/// Lengths of epochs, in lookaheads.
const EPOCH_LOOKAHEADS: [u64; 4] = [1, 2, 4, 8];
/// Runs of each trace and length; the fastest one is used.
const RUNS_PER_EPOCH_LENGTH: usize = 3;

/// Runs the standard set.
///
/// # Errors
/// Fails if no trace ran.
pub fn run(references: &References, traces: &Traces<'_>) -> Result<StudyOutput, StudyError> {
    let mut output = StudyOutput::new("relaxed", format!("epochs beyond the lookahead on {}, against exact runs", traces.machine));
    output.columns(&[
        "trace",
        "lookaheads",
        "net cycles",
        "error %",
        "late %",
        "mean lateness",
        "largest",
        "exact ms",
        "ms",
        "speed ratio",
    ]);
    let mut by_factor: [RelaxedErrors; EPOCH_LOOKAHEADS.len()] = Default::default();
    let mut left_out = SkippedTraces::default();
    for &(trace, _) in STANDARD_SET {
        let folder = crate::trace_folder(references, &traces.cache, trace);
        let Some((exact, relaxed)) = left_out.unwrap_or_skip(
            trace,
            folder.and_then(|folder| folder.map(|folder| measure_relaxed(&folder, traces)).transpose()),
            &mut output,
        ) else {
            continue;
        };
        for ((factor, run), of_factor) in EPOCH_LOOKAHEADS.iter().zip(&relaxed).zip(&mut by_factor) {
            let error = error_percent(run.net_cycles, exact.net_cycles).unwrap_or(0.0);
            let ratio = exact.simulate_seconds / run.simulate_seconds;
            let late = run.relaxed.and_then(|relaxed| relaxed.late_share()).unwrap_or(0.0) * 100.0;
            let mean = run.relaxed.and_then(|relaxed| relaxed.mean_lateness());
            of_factor.errors.push(error);
            of_factor.ratios.push(ratio);
            of_factor.late.push(late);
            output.row(vec![
                trace.to_owned(),
                factor.to_string(),
                run.net_cycles.to_string(),
                format!("{error:+.2}"),
                format!("{late:.1}"),
                mean.map_or_else(|| "-".into(), |mean| format!("{mean:.1}")),
                run.relaxed.map_or_else(|| "-".into(), |relaxed| relaxed.late.worst.to_string()),
                format!("{:.2}", exact.simulate_seconds * 1e3),
                format!("{:.2}", run.simulate_seconds * 1e3),
                format!("{ratio:.2}"),
            ]);
        }
    }
    left_out.note_missing(references, &mut output);
    output.figure("traces", by_factor[0].errors.len() as f64);
    let mut series: Vec<Series> = ["mean", "largest"].map(|which| Series { name: format!("{which} error"), points: Vec::new() }).into();
    for (factor, measured) in EPOCH_LOOKAHEADS.iter().zip(&by_factor) {
        let mean = mean_magnitude(&measured.errors).ok_or_else(|| StudyError::Nothing("no trace ran".into()))?;
        let largest = measured.errors.iter().fold(0.0f64, |worst, error| worst.max(error.abs()));
        let name = |what: &str| format!("{factor} lookahead(s): {what}");
        output.figure(&name("mean absolute error of net cycles, %"), mean);
        output.figure(&name("largest error, %"), largest);
        output.figure(&name("mean share of late messages, %"), mean_magnitude(&measured.late).unwrap_or(0.0));
        output.figure(&name("geometric mean of the speed ratio"), geometric_mean(&measured.ratios).unwrap_or(f64::NAN));
        for (series, value) in series.iter_mut().zip([mean, largest]) {
            series.points.push((*factor as f64, value));
        }
    }
    let (x, y) = ("length of an epoch [lookaheads]".into(), "error of net cycles against exact [%]".into());
    output.scatter(Plot { title: "error of relaxed epochs".into(), x, y, form: PlotForm::Lines, series });
    Ok(output)
}

/// Results of all traces at one epoch length.
#[derive(Default)]
struct RelaxedErrors {
    errors: Vec<f64>,
    late: Vec<f64>,
    ratios: Vec<f64>,
}

/// Returns the exact run and the relaxed runs, each with the host time of its fastest repetition.
fn measure_relaxed(folder: &Path, traces: &Traces<'_>) -> Result<(TraceRun, Vec<TraceRun>), TaskError> {
    let faster = |best: Option<TraceRun>, run: TraceRun| match best {
        Some(best) if best.simulate_seconds <= run.simulate_seconds => best,
        _ => run,
    };
    let mut exact = None;
    let mut relaxed: Vec<Option<TraceRun>> = vec![None; EPOCH_LOOKAHEADS.len()];
    for _ in 0..RUNS_PER_EPOCH_LENGTH {
        let run = traces.run_as(folder, &[], RunOptions::default())?;
        let lookahead = run.lookahead_cycles;
        exact = Some(faster(exact, run));
        for (best, factor) in relaxed.iter_mut().zip(EPOCH_LOOKAHEADS) {
            let options = RunOptions { epoch: Some(factor * lookahead), relaxed: true, ..RunOptions::default() };
            *best = Some(faster(best.take(), traces.run_as(folder, &[], options)?));
        }
    }
    Ok((exact.ok_or("no run")?, relaxed.into_iter().flatten().collect()))
}
