//! `study cpu`: instructions per cycle on the recorded CPU traces, compared with Ramulator 1 on two memories.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use warpshard_config::cpu::CpuSpec;
use warpshard_cpu_load::{CpuStream, CpuTrace};
use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::References;
use warpshard_lab::verdict::magnitude_headline;
use warpshard_mem::dram::standard::Standard;
use warpshard_report::plot::{Plot, PlotForm, Series};
use warpshard_rig::cpu::{ClockRatio, CpuMemory, CpuResult, CpuRun, run as run_core};

use super::reference::MeasuredTable;

/// The reference's memories: Ramulator's name, our standard, and the ratio of the clocks.
const REFERENCE_MEMORIES: [(&str, &str, ClockRatio); 2] =
    [("DDR4", "ddr4-2400r", ClockRatio { core: 8, dram: 3 }), ("GDDR5", "gddr5-6000", ClockRatio { core: 2, dram: 1 })];

/// One measured run.
#[derive(Clone, Debug)]
struct CpuRow {
    trace: String,
    memory: String,
    instructions: u64,
    ipc: f64,
    /// Mean read latency in cycles of the command clock.
    latency: f64,
}

/// Runs every available trace on both memories.
///
/// # Errors
/// Fails if the reference's results cannot be read, or none of their traces is available.
pub fn run(references: &References) -> Result<StudyOutput, StudyError> {
    let rows = read_reference(references).map_err(StudyError::reference)?;
    let results: Vec<(CpuRow, Result<Option<CpuResult>, TaskError>)> = rows
        .into_par_iter()
        .map(|row| (row.clone(), trace_file(references, &row.trace).map(|path| measure_trace(&path, &row)).transpose()))
        .collect();
    let mut output = StudyOutput::new("cpu", "IPC of a CPU core on recorded traces, compared with Ramulator 1".to_owned());
    output.columns(&["trace", "memory", "IPC", "reference", "error %", "read latency", "reference latency"]);
    let mut errors = Vec::new();
    let mut missing = 0;
    let mut series = REFERENCE_MEMORIES.map(|(name, ..)| Series { name: name.to_owned(), points: Vec::new() });
    for (row, result) in results {
        let result = match result {
            Ok(Some(result)) => result,
            Ok(None) => {
                missing += 1;
                continue;
            }
            Err(why) => return Err(StudyError::Input(format!("{} on {}: {why}", row.trace, row.memory))),
        };
        let error = (result.ipc() / row.ipc - 1.0) * 100.0;
        errors.push(error);
        let Some(at) = REFERENCE_MEMORIES.iter().position(|(name, ..)| *name == row.memory) else { continue };
        series[at].points.push((row.ipc, result.ipc()));
        let ratio = REFERENCE_MEMORIES[at].2;
        let latency = result.read_latency * f64::from(ratio.dram) / f64::from(ratio.core);
        let cells = [format!("{:.4}", result.ipc()), format!("{:.4}", row.ipc), format!("{error:+.2}")];
        let latencies = [format!("{latency:.2}"), format!("{:.2}", row.latency)];
        output.row([row.trace, row.memory].into_iter().chain(cells).chain(latencies).collect());
    }
    if errors.is_empty() {
        let folder = references.folder().join("cpu-traces");
        let why = format!("it needs recorded CPU traces, and {} has none of them", folder.display());
        return Err(StudyError::Nothing(format!("{why}; --reference names a folder that has them")));
    }
    output.headline("mean absolute error of the IPC, %", &magnitude_headline(&errors, None));
    output.figure(LARGEST_ERROR_FIGURE, errors.iter().fold(0.0, |worst, error| worst.max(error.abs())));
    if missing > 0 {
        output.note(format!("{missing} rows of the reference are skipped, since their recorded traces are missing"));
    }
    output.note("latencies are in cycles of the DRAM's command clock, from the core's request to its next cycle after the data".to_owned());
    output.scatter(Plot {
        title: "IPC, compared with Ramulator 1".into(),
        x: "IPC of the reference".into(),
        y: "IPC of warpshard".into(),
        form: PlotForm::Scatter,
        series: series.into(),
    });
    Ok(output)
}

/// Name of the headline figure with the largest error.
pub const LARGEST_ERROR_FIGURE: &str = "largest error of the IPC, %";

fn measure_trace(path: &Path, row: &CpuRow) -> Result<CpuResult, TaskError> {
    let (_, standard, ratio) =
        REFERENCE_MEMORIES.iter().find(|(name, ..)| *name == row.memory).ok_or("the reference names an unknown memory")?;
    let standard = Standard::named(standard).ok_or_else(|| format!("there is no standard {standard}"))?;
    let trace = CpuTrace::open(path)?;
    let stream = CpuStream::Trace(trace.stream(false)?);
    let memory = CpuMemory::Dram(standard, *ratio);
    let plan = CpuRun { spec: CpuSpec::ramulator(), memory, warm: 0, instructions: row.instructions, skip: true };
    run_core(stream, &plan).map_err(|why| why.to_string().into())
}

/// Returns the file of a trace if it exists.
fn trace_file(references: &References, name: &str) -> Option<PathBuf> {
    ["ramulator", "own-kernels"].iter().find_map(|part| references.recorded(&format!("cpu-traces/{part}/{name}.gz")))
}

fn read_reference(references: &References) -> Result<Vec<CpuRow>, TaskError> {
    let columns = ["trace", "mem", "instructions", "ipc", "avg_read_lat_dram_cycles"];
    let table = MeasuredTable::Ramulator1.table(references, &columns)?;
    let rows = table.rows().map(|row| {
        Ok(CpuRow {
            trace: row.text("trace").to_owned(),
            memory: row.text("mem").to_owned(),
            instructions: row.number("instructions")?,
            ipc: row.number("ipc")?,
            latency: row.number("avg_read_lat_dram_cycles")?,
        })
    });
    rows.collect()
}
