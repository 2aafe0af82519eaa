//! `study micro`: microbenchmarks of the suite on a machine, compared with the values measured on a GPU; and `warpshard calibrate`, which
//! derives a machine from such measurements.
//!
//! The inputs are numbers by key, measured on an H100 or by the user (`programs/tools/measure.py`), and the program for each key
//! (`validate/reference/micro-programs.toml`). The clock register of a simulated warp counts instructions, so the launch is timed instead:
//! every program runs with two lengths, and the difference of the cycles is divided by the difference of the lengths. The parts that both
//! runs share (launch, first touch, the first fetch of code) cancel out, as they do on a GPU. No parameter is fitted.

mod calibrate;
mod measurements;
mod probe;
mod rows;

use std::collections::BTreeMap;

use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::request::Request;
use warpshard_lab::statistics::{mean_magnitude, median};
use warpshard_report::plot::{Plot, PlotForm, Series};

use probe::ProbeMachine;
use rows::MicroRow;

pub use calibrate::{CalibratedMachine, calibrate};
pub use measurements::{Measurements, MeasurementsError};

/// Default machine of the study.
pub(crate) const DEFAULT_MACHINE: &str = "h100";

/// A row of the table with its values.
struct ComparedRow {
    row: MicroRow,
    measured: Option<f64>,
    ours: f64,
}

impl ComparedRow {
    /// Returns our error in percent.
    fn error_percent(&self) -> Option<f64> {
        self.measured.map(|measured| (self.ours / measured - 1.0) * 100.0)
    }

    /// Returns the kind: the first part of the row's key.
    fn row_kind(&self) -> &str {
        self.row.key.split(['.', ' ']).next().unwrap_or_default()
    }
}

/// Returns the measured value of a row: the value of its key minus the value of its `minus` key.
fn measured_value(row: &MicroRow, measurements: &Measurements) -> Result<Option<f64>, TaskError> {
    let number = |key: &str| measurements.number(key).map_err(|error| error.to_string());
    let (Some(value), true) = (number(&row.key)?, row.measured) else { return Ok(None) };
    let Some(minus) = &row.minus else { return Ok(Some(value)) };
    let Some(base) = number(minus)? else { return Ok(None) };
    if base >= value {
        return Err(format!("{}: `{}` is {value}, not more than `{minus}`, which is {base}", measurements.name(), row.key).into());
    }
    Ok(Some(value - base))
}

/// Runs all requested microbenchmarks.
///
/// # Errors
/// Fails if the measurements cannot be read, no row is requested, or a run fails.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let measurements = Measurements::from_references(&request.references).map_err(StudyError::reference)?;
    let machine = request.machine.as_deref().unwrap_or(DEFAULT_MACHINE);
    let bench = ProbeMachine { catalogue: request.catalogue, machine, overrides: &request.set };
    let (rows, left_out) = rows::all_rows().map_err(StudyError::reference)?;
    let long = rows.iter().filter(|row| row.full && request.includes(&row.key)).count();
    let chosen: Vec<&MicroRow> = rows.iter().filter(|row| request.includes(&row.key) && (request.full || !row.full)).collect();
    if chosen.is_empty() {
        let asked = request.only.as_deref().unwrap_or_default();
        let full = if long > 0 { "; the matching ones take minutes and need --full" } else { "" };
        return Err(StudyError::Nothing(format!("no microbenchmark has a key like `{asked}`{full}")));
    }
    let values = bench.simulate_rows(&chosen, &request.lab()).map_err(StudyError::input)?;
    let shown = |(row, ours): (&&MicroRow, f64)| {
        let measured = measured_value(row, &measurements).map_err(StudyError::reference)?;
        Ok(ComparedRow { row: (*row).clone(), measured, ours })
    };
    let shown = chosen.iter().zip(values).map(shown).collect::<Result<Vec<ComparedRow>, StudyError>>()?;
    let mut output =
        StudyOutput::new("micro", format!("microbenchmarks on {machine}, compared with measurements ({})", measurements.name()));
    add_table(&mut output, &shown);
    if long > 0 && !request.full {
        output.note(format!("{long} microbenchmarks with large buffers are left out; --full runs them"));
    }
    for one in left_out {
        let keys = measurements.keys().filter(|key| key.starts_with(&one.keys) && !rows.iter().any(|row| row.key == **key)).count();
        if keys > 0 && request.only.is_none() {
            output.note(format!("{keys} measured values of `{}` have no program: {}", one.keys, one.why));
        }
    }
    Ok(output)
}

fn add_table(output: &mut StudyOutput, rows: &[ComparedRow]) {
    output.columns(&["key", "unit", "measured", "ours", "error %"]);
    let number = |value: f64| format!("{value:.3}");
    for shown in rows {
        let error = shown.error_percent().map_or_else(|| "-".into(), |error| format!("{error:+.1}"));
        let measured = shown.measured.map_or_else(|| "-".into(), number);
        output.row(vec![shown.row.key.clone(), shown.row.quantity.unit().into(), measured, number(shown.ours), error]);
    }
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for shown in rows {
        kinds.entry(shown.row_kind()).or_default().extend(shown.error_percent());
    }
    let kind = |(kind, errors): (&&str, &Vec<f64>)| {
        let magnitudes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        let cell = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.1}"));
        let signed = errors.iter().sum::<f64>() / errors.len() as f64;
        let worst = magnitudes.iter().copied().reduce(f64::max);
        let cells = [cell((!errors.is_empty()).then_some(signed)), cell(mean_magnitude(errors)), cell(median(&magnitudes)), cell(worst)];
        [(*kind).to_owned(), errors.len().to_string()].into_iter().chain(cells).collect()
    };
    let header = ["kind", "compared", "mean error %", "mean absolute %", "median %", "worst %"].map(str::to_owned).to_vec();
    output.section("Errors by kind", "kinds.csv", header, kinds.iter().map(kind).collect());
    let errors: Vec<f64> = rows.iter().filter_map(ComparedRow::error_percent).collect();
    output.figure("values compared", errors.len() as f64);
    if let Some(mean) = mean_magnitude(&errors) {
        output.figure("mean absolute error, %", mean);
    }
    if let Some(middle) = median(&errors.iter().map(|error| error.abs()).collect::<Vec<_>>()) {
        output.figure("median absolute error, %", middle);
    }
    let series = kinds.keys().map(|kind| Series {
        name: (*kind).to_owned(),
        points: rows.iter().filter(|shown| shown.row_kind() == *kind).filter_map(|shown| Some((shown.measured?, shown.ours))).collect(),
    });
    output.scatter(Plot {
        title: "Microbenchmarks".into(),
        x: "measured".into(),
        y: "warpshard".into(),
        form: PlotForm::Scatter,
        series: series.filter(|series| !series.points.is_empty()).collect(),
    });
}

#[cfg(test)]
mod tests;
