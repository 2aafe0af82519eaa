//! `study micro`: microbenchmarks of the suite on a machine, beside those that a GPU measured; and `warpshard calibrate`, which makes a machine of
//! such measurements.
//!
//! In: numbers by key, measured on an H100 or by the user (`programs/tools/measure.py`), and which program measures which key
//! (`validate/reference/micro-programs.toml`). A clock register of a simulated warp counts instructions, so that the time is the launch's: every
//! program is run with two lengths, and the difference of their cycles belongs to the difference of their lengths. What both have in common
//! (launch, first touch, the first fetch of code) is in neither number. The same holds on a GPU. Nothing is fitted.

mod calibrate;
mod measurements;
mod probe;
mod rows;

use std::collections::BTreeMap;

use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::request::Request;
use warpshard_lab::statistics::{mean_magnitude, median};
use warpshard_report::plot::{Form, Plot, Series};

use probe::Bench;
use rows::Row;

pub use calibrate::{Calibrated, calibrate};
pub use measurements::{Measurements, MeasurementsError};

/// The machine of the study.
pub(crate) const MACHINE: &str = "h100";

/// What a row has.
struct Shown {
    row: Row,
    measured: Option<f64>,
    ours: f64,
}

impl Shown {
    /// The error in percent.
    fn error(&self) -> Option<f64> {
        self.measured.map(|measured| (self.ours / measured - 1.0) * 100.0)
    }

    /// The first part of its key, which names the kind.
    fn kind(&self) -> &str {
        self.row.key.split(['.', ' ']).next().unwrap_or_default()
    }
}

/// The measured value of a row: that of its key, less the one that it is counted from.
fn measured(row: &Row, measurements: &Measurements) -> Result<Option<f64>, TaskError> {
    let number = |key: &str| measurements.number(key).map_err(|error| error.to_string());
    let (Some(value), true) = (number(&row.key)?, row.measured) else { return Ok(None) };
    let Some(minus) = &row.minus else { return Ok(Some(value)) };
    let Some(base) = number(minus)? else { return Ok(None) };
    if base >= value {
        return Err(format!("{}: `{}` is {value}, not more than `{minus}`, which is {base}", measurements.name(), row.key).into());
    }
    Ok(Some(value - base))
}

/// Runs all microbenchmarks that are asked for.
///
/// # Errors
/// When the measurements cannot be read, no row is asked for, or a run fails.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let measurements = Measurements::of(&request.references).map_err(StudyError::reference)?;
    let machine = request.machine.as_deref().unwrap_or(MACHINE);
    let bench = Bench { catalogue: request.catalogue, machine, overrides: &request.set };
    let (rows, left_out) = rows::all().map_err(StudyError::reference)?;
    let long = rows.iter().filter(|row| row.full && request.wants(&row.key)).count();
    let chosen: Vec<&Row> = rows.iter().filter(|row| request.wants(&row.key) && (request.full || !row.full)).collect();
    if chosen.is_empty() {
        let asked = request.only.as_deref().unwrap_or_default();
        let full = if long > 0 { "; those that are take minutes and run with --full" } else { "" };
        return Err(StudyError::Nothing(format!("no microbenchmark has a key like `{asked}`{full}")));
    }
    let values = bench.values(&chosen, &request.lab()).map_err(StudyError::input)?;
    let shown = |(row, ours): (&&Row, f64)| {
        let measured = measured(row, &measurements).map_err(StudyError::reference)?;
        Ok(Shown { row: (*row).clone(), measured, ours })
    };
    let shown = chosen.iter().zip(values).map(shown).collect::<Result<Vec<Shown>, StudyError>>()?;
    let mut output = StudyOutput::new("micro", format!("microbenchmarks on {machine}, and as measured ({})", measurements.name()));
    show(&mut output, &shown);
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

fn show(output: &mut StudyOutput, rows: &[Shown]) {
    output.columns(&["key", "unit", "measured", "ours", "error %"]);
    let number = |value: f64| format!("{value:.3}");
    for shown in rows {
        let error = shown.error().map_or_else(|| "-".into(), |error| format!("{error:+.1}"));
        let measured = shown.measured.map_or_else(|| "-".into(), number);
        output.row(vec![shown.row.key.clone(), shown.row.quantity.unit().into(), measured, number(shown.ours), error]);
    }
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for shown in rows {
        kinds.entry(shown.kind()).or_default().extend(shown.error());
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
    let errors: Vec<f64> = rows.iter().filter_map(Shown::error).collect();
    output.figure("values compared", errors.len() as f64);
    if let Some(mean) = mean_magnitude(&errors) {
        output.figure("mean absolute error, %", mean);
    }
    if let Some(middle) = median(&errors.iter().map(|error| error.abs()).collect::<Vec<_>>()) {
        output.figure("median absolute error, %", middle);
    }
    let series = kinds.keys().map(|kind| Series {
        name: (*kind).to_owned(),
        points: rows.iter().filter(|shown| shown.kind() == *kind).filter_map(|shown| Some((shown.measured?, shown.ours))).collect(),
    });
    output.scatter(Plot {
        title: "Microbenchmarks".into(),
        x: "measured".into(),
        y: "warpshard".into(),
        form: Form::Scatter,
        series: series.filter(|series| !series.points.is_empty()).collect(),
    });
}

#[cfg(test)]
mod tests;
