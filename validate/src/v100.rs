//! `study v100`: cycles of the suite's programs, compared with a real V100 and with Accel-Sim on the same applications.
//!
//! The inputs are cycles of whole applications, and the program and parameters equivalent to each application (`validate/reference`).
//! Accel-Sim's published cycles include its launch latency of 5000 cycles per kernel, and a profiler's cycles include the hardware's
//! overhead at the begin and end of a kernel. Our cycles therefore include the machine's launch latency; they are also shown without it.
//! One run executes all launches in sequence. A profiler flushes the caches before each launch, so every launch also runs alone, and its
//! active cycles are summed.
//!
//! No empty kernel was measured on the V100, so the hardware's launch overhead is estimated from the applications with the smallest
//! kernels: measured cycles minus our active cycles, per launch, the median over these applications. The estimate contains any error of our
//! active cycles. No other parameter is fitted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_base::KernelIndex;
use warpshard_chip::{RunOptions, simulate};
use warpshard_config::{Loaded, Machine, Override};
use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::reference::Table;
use warpshard_lab::request::Request;
use warpshard_lab::statistics::{error_percent, log_correlation, median};
use warpshard_lab::verdict::magnitude_headline;
use warpshard_lab::{Task, programs};
use warpshard_program::Program;
use warpshard_report::metrics::{self, WorkTotals};
use warpshard_report::plot::{Plot, PlotForm, Series};
use warpshard_run::Catalogue;
use warpshard_workload::{Command, Workload};

use super::reference::MeasuredTable;

/// Folder of the suite.
const PROGRAMS_FOLDER: &str = "programs";

/// Error in percent above which an application is listed for analysis.
const LARGE_ERROR_PERCENT: f64 = 30.0;

/// Largest mean active cycles per launch of an application in the estimate of the launch overhead.
const SMALL_LAUNCH_CYCLES: u64 = 10_000;

/// An application and the equivalent program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredApplication {
    /// Name of the application in the table of cycles.
    name: String,
    /// Folder and name of the equivalent program.
    program: Option<String>,
    /// Parameters of the program.
    #[serde(default)]
    set: BTreeMap<String, i64>,
    /// Reason why no program has the same input.
    unknown: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Applications {
    application: Vec<MeasuredApplication>,
}

/// A program to run.
struct ProgramTiming<'a> {
    program: String,
    set: Vec<(String, String)>,
    catalogue: &'static Catalogue,
    machine: &'a str,
    overrides: &'a [(String, String)],
}

/// Cycles of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ProgramCycles {
    launches: u64,
    /// Core cycles, including the launch latency of every kernel.
    cycles: u64,
    /// Launch latency included in `cycles`.
    latency: u64,
    /// Core cycles, including launch latency, with caches that are empty before every launch.
    cold: u64,
    /// Core cycles from the start of a launch's first CTA to the end of its last CTA, summed over the launches, with caches that are empty
    /// before each.
    active: u64,
    warp_instructions: u64,
}

impl ProgramTiming<'_> {
    fn launch_file(&self) -> PathBuf {
        Path::new(PROGRAMS_FOLDER).join(format!("{}.toml", self.program))
    }

    fn machine(&self) -> Result<Loaded, TaskError> {
        load(self.catalogue, self.machine, self.overrides)
    }

    fn load(&self) -> Result<Arc<Program>, TaskError> {
        Program::load(&self.launch_file(), None, &self.set).map_err(TaskError::from)
    }
}

impl fmt::Display for ProgramTiming<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.program, self.machine)?;
        self.set.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

fn load(catalogue: &Catalogue, machine: &str, overrides: &[(String, String)]) -> Result<Loaded, TaskError> {
    let overrides: Vec<Override> = overrides.iter().map(|(key, value)| Override::new(key, value)).collect();
    catalogue.machine(machine, &overrides).map_err(TaskError::from)
}

/// Sums over the launches of a run.
struct CycleSums {
    /// Core cycles.
    cycles: u64,
    /// Launch latency included in `cycles`.
    latency: u64,
    /// Core cycles from the start of a launch's first CTA to the end of its last CTA.
    active: u64,
    warp_instructions: u64,
}

fn run(machine: &Machine, workload: Workload) -> Result<CycleSums, TaskError> {
    let outcome = simulate(machine, &Arc::new(workload), RunOptions::default())?.outcome;
    Ok(CycleSums {
        cycles: outcome.cycles,
        latency: metrics::launch_latency_cycles(&outcome),
        active: outcome.kernels.iter().map(|kernel| WorkTotals::of_kernel(kernel, &outcome).cycles).sum(),
        warp_instructions: outcome.kernels.iter().filter_map(|kernel| kernel.counters.get(metrics::WARP_INSTRUCTIONS)).sum(),
    })
}

impl Task for ProgramTiming<'_> {
    type Result = ProgramCycles;

    fn key(&self) -> Result<String, TaskError> {
        let code = crc32fast::hash(programs::content(&self.launch_file())?.as_bytes());
        Ok(format!("v100 active {:?} {} {code:08x}", self.set, self.machine()?.provenance.to_toml()))
    }

    fn run(&self) -> Result<ProgramCycles, TaskError> {
        let machine = self.machine()?.machine;
        let program = self.load()?;
        let workload = || program.workload().map_err(|error| error.to_string());
        let all = workload()?;
        let launches = all.kernels.len();
        let CycleSums { cycles, latency, mut active, warp_instructions } = run(&machine, all)?;
        let mut cold = cycles;
        if launches > 1 {
            // Each launch of one workload in a separate run: memory values persist, caches begin empty.
            let whole = workload()?;
            (cold, active) = (0, 0);
            for number in 0..launches {
                let alone = run(&machine, Workload { commands: vec![Command::Launch(KernelIndex(number as u32))], ..whole.clone() })?;
                cold += alone.cycles;
                active += alone.active;
            }
        }
        Ok(ProgramCycles { launches: launches as u64, cycles, latency, cold, active, warp_instructions })
    }
}

/// A measured application and our result.
struct ApplicationRow<'a> {
    application: &'a MeasuredApplication,
    hardware: u64,
    accel_sim: u64,
    ours: ProgramCycles,
}

/// Runs every application with an equivalent program, and compares cycles.
///
/// # Errors
/// Fails if the reference cannot be read, the suite is missing, or the request matches no application.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let columns = ["app", "hardware_cycles", "accel_sim_cycles"];
    let table = MeasuredTable::BoardCycles.table(&request.references, &columns).map_err(StudyError::reference)?;
    let machine = request.machine.as_deref().unwrap_or("v100-hw");
    load(request.catalogue, machine, &request.set).map_err(StudyError::input)?;
    let applications = applications();
    let measured = measured_cycles(&table).map_err(StudyError::reference)?;
    let known = |application: &&MeasuredApplication| request.includes(application.program.as_deref().unwrap_or(&application.name));
    let chosen: Vec<&MeasuredApplication> = applications.iter().filter(known).collect();
    let tasks: Vec<ProgramTiming<'_>> = chosen.iter().filter_map(|application| program_timing(application, request, machine)).collect();
    if tasks.is_empty() {
        let asked = request.only.as_deref().unwrap_or_default();
        return Err(StudyError::Nothing(format!("no application with a known input matches `{asked}`")));
    }
    let mut results = request.lab().run_tasks(&tasks).map_err(StudyError::input)?.into_iter();
    let mut output = StudyOutput::new("v100", format!("cycles of programs on {machine}, of a real V100, and of Accel-Sim"));
    let mut rows = Vec::new();
    for application in chosen {
        let ours = if application.program.is_some() { results.next() } else { None };
        if let (Some(ours), Some((_, hardware, accel_sim))) = (ours, measured.iter().find(|(name, ..)| *name == application.name)) {
            rows.push(ApplicationRow { application, hardware: *hardware, accel_sim: *accel_sim, ours });
        } else {
            let why = application.unknown.as_deref().unwrap_or("the table has no cycles of it");
            output.note(format!("{} is not compared: {why}", application.name));
        }
    }
    add_results(&mut output, &rows)?;
    Ok(output)
}

impl ApplicationRow<'_> {
    /// Returns measured cycles minus our active cycles, per launch; `None` unless the kernels are so small that most of it is launch
    /// overhead.
    fn launch_overhead(&self) -> Option<f64> {
        let ProgramCycles { launches, active, .. } = self.ours;
        (launches > 1 && active < SMALL_LAUNCH_CYCLES * launches).then(|| (self.hardware as f64 - active as f64) / launches as f64)
    }

    /// Returns our active cycles plus a launch overhead per launch.
    fn cycles_with_overhead(&self, overhead: f64) -> u64 {
        self.ours.active.saturating_add_signed((overhead * self.ours.launches as f64).round() as i64)
    }
}

/// Estimates the hardware's launch overhead in core cycles: the median over the applications with the smallest kernels.
fn estimate_launch_overhead(rows: &[ApplicationRow<'_>]) -> Option<f64> {
    median(&rows.iter().filter_map(ApplicationRow::launch_overhead).collect::<Vec<_>>())
}

fn applications() -> Vec<MeasuredApplication> {
    let text = include_str!("../reference/gv100-programs.toml");
    let read: Result<Applications, _> = toml::from_str(text);
    read.unwrap_or_else(|error| panic!("validate/reference/gv100-programs.toml: {error}")).application
}

fn program_timing<'a>(application: &MeasuredApplication, request: &'a Request, machine: &'a str) -> Option<ProgramTiming<'a>> {
    let set = application.set.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
    Some(ProgramTiming { program: application.program.clone()?, set, catalogue: request.catalogue, machine, overrides: &request.set })
}

fn measured_cycles(table: &Table) -> Result<Vec<(String, u64, u64)>, TaskError> {
    table.rows().map(|row| Ok((row.text("app").to_owned(), row.number("hardware_cycles")?, row.number("accel_sim_cycles")?))).collect()
}

fn add_results(output: &mut StudyOutput, rows: &[ApplicationRow<'_>]) -> Result<(), StudyError> {
    output.columns(&[
        "program",
        "launches",
        "warp instr",
        "V100",
        "Accel-Sim",
        "error %",
        "ours",
        "error %",
        "cold",
        "error %",
        "without launch latency",
        "error %",
        "active",
        "error %",
        "active with measured overhead",
        "error %",
    ]);
    let overhead = estimate_launch_overhead(rows);
    let mut errors: [Vec<f64>; 6] = Default::default();
    let mut others = Vec::new();
    let mut points = Vec::new();
    for row in rows {
        let ApplicationRow { application, hardware, accel_sim, ours } = row;
        let name = application.program.clone().unwrap_or_default();
        let net = ours.cycles.saturating_sub(ours.latency);
        let cycles = [*accel_sim, ours.cycles, ours.cold, net, ours.active, row.cycles_with_overhead(overhead.unwrap_or_default())];
        let own = cycles.map(|cycles| error_percent(cycles, *hardware).unwrap_or_default());
        errors.iter_mut().zip(own).for_each(|(errors, error)| errors.push(error));
        if row.launch_overhead().is_none() {
            others.push(own[5]);
        }
        points.push((*hardware as f64, ours.cycles as f64));
        if own[1].abs() > LARGE_ERROR_PERCENT {
            output.note(format!("{name}: {:+.0} % of the V100's cycles, Accel-Sim {:+.0} %", own[1], own[0]));
        }
        let mut cells = vec![name, ours.launches.to_string(), ours.warp_instructions.to_string(), hardware.to_string()];
        cells.extend(cycles.iter().zip(own).flat_map(|(cycles, error)| [cycles.to_string(), format!("{error:+.1}")]));
        output.row(cells);
    }
    if rows.is_empty() {
        return Err(StudyError::Nothing("the table has no cycles of these applications".into()));
    }
    let mean = |errors: &[f64]| errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64;
    output.headline("mean absolute error, %", &magnitude_headline(&errors[1], None));
    output.figure("mean absolute error of Accel-Sim on the same applications, %", mean(&errors[0]));
    output.figure("mean absolute error with empty caches before every launch, %", mean(&errors[2]));
    output.figure("mean absolute error without launch latency, %", mean(&errors[3]));
    output.figure("mean absolute error of active cycles, %", mean(&errors[4]));
    if let Some(overhead) = overhead {
        output.figure("launch overhead measured on the smallest kernels, cycles", overhead);
        output.figure("mean absolute error of active cycles with this overhead, %", mean(&errors[5]));
        output.note(format!(
            "no empty kernel was measured on the V100: the launch overhead is the median, over the {} applications with launches below {SMALL_LAUNCH_CYCLES} active \
             cycles, of measured cycles minus our active cycles, per launch",
            rows.len() - others.len()
        ));
        if !others.is_empty() {
            output.figure("the same of the applications that the overhead is not from, %", mean(&others));
        }
    }
    output.figure("applications compared", rows.len() as f64);
    if let Some(correlation) = log_correlation(&points) {
        output.figure("correlation of the logarithms", correlation);
    }
    output.note("programs are compiled by NVRTC 12.9; the measured binaries came from nvcc of 2018 to 2020".into());
    output.scatter(Plot {
        title: "Cycles of applications on a V100".into(),
        x: "measured, cycles".into(),
        y: "warpshard, cycles".into(),
        form: PlotForm::Scatter,
        series: vec![Series { name: "one application".into(), points }],
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measured_application_has_a_program_with_its_parameters_or_a_reason() {
        let (name, text) = MeasuredTable::BoardCycles.built_in();
        let measured = measured_cycles(&Table::parse(name, text, &["app"]).unwrap()).unwrap();
        let applications = applications();
        for (app, hardware, accel_sim) in &measured {
            let known = applications.iter().find(|application| application.name == *app).unwrap_or_else(|| panic!("{app}"));
            assert!(known.program.is_some() != known.unknown.is_some() && *hardware > 0 && *accel_sim > 0, "{app}");
            if let Some(timing) = program_timing(known, &Request::default(), "tiny") {
                let launch: toml::Table = toml::from_str(&warpshard_config::input::read_text(&timing.launch_file()).unwrap()).unwrap();
                assert!(known.set.keys().all(|key| launch["parameters"].get(key).is_some()), "{app}");
                timing.key().unwrap();
            }
        }
        assert_eq!(applications.len(), measured.len());
    }

    #[test]
    fn a_program_takes_longer_with_empty_caches() {
        let applications = applications();
        let application = applications.iter().find(|known| known.program.as_deref() == Some("rodinia/lud")).unwrap();
        let task = ProgramTiming {
            program: "rodinia/lud".into(),
            set: vec![("n".into(), "48".into())],
            catalogue: Catalogue::core(),
            machine: "tiny",
            overrides: &[],
        };
        let ours = task.run().unwrap();
        assert_eq!(ours.launches, 7);
        assert!(ours.cold > ours.cycles && ours.cycles > ours.latency, "{ours:?}");
        let mut output = StudyOutput::new("v100", String::new());
        // Seven launches, each alone. All cycles other than launch latency are active, except for the dispatcher's links.
        assert!(ours.active <= ours.cold - ours.latency && ours.active > 7 * 100, "{ours:?}");
        let rows = [ApplicationRow { application, hardware: ours.cycles * 2, accel_sim: ours.cycles * 3, ours }];
        add_results(&mut output, &rows).unwrap();
        // With a single application, the estimated overhead makes its active cycles equal to the measured ones.
        assert!(output.figure_named("mean absolute error of active cycles with this overhead, %").unwrap() < 0.1);
        let overhead = output.figure_named("launch overhead measured on the smallest kernels, cycles").unwrap();
        assert!((overhead - (rows[0].hardware - rows[0].ours.active) as f64 / 7.0).abs() < 1e-6);
        assert_eq!(output.figure_named("the same of the applications that the overhead is not from, %"), None);
        assert_eq!(output.figure_named("mean absolute error of Accel-Sim on the same applications, %"), Some(50.0));
        assert_eq!(output.figure_named("mean absolute error, %"), Some(50.0));
    }
}
