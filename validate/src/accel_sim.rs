//! `study accel-sim`: net cycles and accesses of the caches and of DRAM, compared with Accel-Sim's results for every trace that Accel-Sim
//! ran.

use rayon::prelude::*;

use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::References;
use warpshard_lab::statistics::{error_percent, log_correlation};
use warpshard_lab::verdict::magnitude_headline;
use warpshard_report::plot::{Plot, PlotForm, Series};

use super::bench::TraceOrigin;
use super::reference::{AccelSimResults, ReferenceRow, SkippedTraces};
use super::{TraceRun, Traces};

/// Accel-Sim configurations, each with the built-in machine imported from it.
const IMPORTED_CONFIGURATIONS: [(&str, &str); 3] = [("SM7_QV100", "v100"), ("SM75_RTX2060", "rtx2060"), ("SM86_RTX3070", "rtx3070")];

/// Returns the configuration that a built-in machine was imported from; for any other machine, the configuration of `v100`.
pub fn configuration_of(machine: &str) -> &'static str {
    let [(first, _), ..] = IMPORTED_CONFIGURATIONS;
    IMPORTED_CONFIGURATIONS.iter().find(|(_, own)| *own == machine).map_or(first, |(configuration, _)| *configuration)
}

/// Reference results and our result for one trace.
struct TraceRow {
    reference: ReferenceRow,
    /// Our run; `Ok(None)` if the recorded trace is missing.
    ours: Result<Option<TraceRun>, TaskError>,
}

/// Runs every trace of `configuration` on `machine` and compares the results with the reference.
///
/// # Errors
/// Fails if the reference cannot be read, or no trace ran.
pub fn run(references: &References, configuration: &str, traces: &Traces<'_>) -> Result<StudyOutput, StudyError> {
    let AccelSimResults { rows, failed } = crate::accel_sim_results(references, configuration).map_err(StudyError::reference)?;
    let rows: Vec<TraceRow> = rows
        .into_par_iter()
        .map(|row| {
            let folder = crate::trace_folder(references, &traces.cache, &row.trace);
            let ours = folder.and_then(|folder| folder.map(|folder| traces.run(&folder, 1, &[])).transpose());
            TraceRow { reference: row, ours }
        })
        .collect();
    let mut left_out = SkippedTraces::default();
    rows.iter().filter(|row| matches!(row.ours, Ok(None))).for_each(|row| left_out.add_missing(&row.reference.trace));
    let compared = rows.iter().filter(|row| matches!(row.ours, Ok(Some(_)))).count();
    let of = left_out.missing_suffix(compared);
    let title = format!("net cycles on {} and on Accel-Sim's {configuration}: {compared}{of} traces", traces.machine);
    let mut output = StudyOutput::new("accel-sim", title);
    if let Some((_, own)) = IMPORTED_CONFIGURATIONS.iter().find(|(name, own)| *name == configuration && *own != traces.machine)
        && IMPORTED_CONFIGURATIONS.iter().any(|(_, other)| *other == traces.machine)
    {
        output.note(format!(
            "{} is not the machine of {configuration} (--machine {own}), so the errors compare different chips",
            traces.machine
        ));
    }
    output.columns(&[
        "trace",
        "origin",
        "net cycles",
        "reference",
        "error %",
        "warp instr",
        "ref",
        "L1 acc",
        "ref",
        "L1 miss",
        "ref",
        "LLC acc",
        "ref",
        "LLC miss",
        "ref",
        "DRAM rd",
        "ref",
        "DRAM wr",
        "ref",
    ]);
    let (mut errors, mut points, mut worst_of) = (Vec::new(), Vec::new(), LargestDifferences::default());
    for TraceRow { reference: theirs, ours } in &rows {
        let ours = match ours {
            Ok(Some(ours)) => ours,
            Ok(None) => continue,
            Err(why) => {
                output.note(format!("{}: {why}", theirs.trace));
                continue;
            }
        };
        let error = error_percent(ours.net_cycles, theirs.net_cycles);
        errors.extend(error);
        points.push((theirs.net_cycles as f64, ours.net_cycles.max(1) as f64));
        let pairs = [
            (ours.warp_instructions, theirs.warp_instructions),
            (ours.l1_accesses, theirs.l1_accesses),
            (ours.l1_misses, theirs.l1_misses),
            (ours.llc_accesses, theirs.llc_accesses),
            (ours.llc_misses, theirs.llc_misses),
            (ours.dram_reads, theirs.dram_reads),
            (ours.dram_writes, theirs.dram_writes),
        ];
        let mut cells = vec![
            theirs.trace.clone(),
            TraceOrigin::from_name(&theirs.trace).to_string(),
            ours.net_cycles.to_string(),
            theirs.net_cycles.to_string(),
            error.map_or_else(|| "-".into(), |error| format!("{error:+.1}")),
        ];
        cells.extend(pairs.iter().flat_map(|(ours, theirs)| [ours.to_string(), theirs.to_string()]));
        output.row(cells);
        worst_of.update_largest(ours, theirs);
        if ours.warp_instructions != theirs.warp_instructions || ours.thread_instructions != theirs.thread_instructions {
            output.note(format!("{}: instruction counts differ from the reference's", theirs.trace));
        }
    }
    for trace in failed {
        output.note(format!("{trace}: the reference failed to run it"));
    }
    left_out.note_missing(references, &mut output);
    if errors.is_empty() {
        return Err(StudyError::Nothing("no trace ran".into()));
    }
    let worst = errors.iter().fold(0.0f64, |worst, error| worst.max(error.abs()));
    output.headline("mean absolute error of net cycles, %", &magnitude_headline(&errors, None));
    output.figure("largest error of net cycles, %", worst);
    output.figure("traces compared", errors.len() as f64);
    if let Some(correlation) = log_correlation(&points) {
        output.figure("correlation of the logarithms", correlation);
    }
    output.figure("largest difference of L1 hit rates, points", worst_of.l1);
    output.figure("largest difference of LLC hit rates, points", worst_of.llc);
    output.figure("largest difference of DRAM accesses, %", worst_of.dram);
    output.scatter(Plot {
        title: format!("Net cycles: {} against {configuration}", traces.machine),
        x: "reference, cycles".into(),
        y: "warpshard, cycles".into(),
        form: PlotForm::Scatter,
        series: vec![Series { name: "one trace".into(), points }],
    });
    Ok(output)
}

/// Largest differences per counter, over the traces with at least [`MIN_ACCESSES`] accesses in the reference.
#[derive(Debug, Default)]
struct LargestDifferences {
    l1: f64,
    llc: f64,
    dram: f64,
}

/// Accesses that the reference must count before a rate is compared.
const MIN_ACCESSES: u64 = 1000;

impl LargestDifferences {
    fn update_largest(&mut self, ours: &TraceRun, theirs: &ReferenceRow) {
        let points = |a: (u64, u64), b: (u64, u64)| {
            let rate = |(accesses, misses): (u64, u64)| 100.0 * misses as f64 / accesses.max(1) as f64;
            if b.0 < MIN_ACCESSES { 0.0 } else { (rate(a) - rate(b)).abs() }
        };
        self.l1 = self.l1.max(points((ours.l1_accesses, ours.l1_misses), (theirs.l1_accesses, theirs.l1_misses)));
        self.llc = self.llc.max(points((ours.llc_accesses, ours.llc_misses), (theirs.llc_accesses, theirs.llc_misses)));
        let (dram, reference) = (ours.dram_reads + ours.dram_writes, theirs.dram_reads + theirs.dram_writes);
        if reference >= MIN_ACCESSES {
            self.dram = self.dram.max(error_percent(dram, reference).map_or(0.0, f64::abs));
        }
    }
}
