//! `study sampling`: sampled runs of long workloads, compared with full runs: error, coverage of the confidence intervals, and time saved.
//!
//! Programs are executed once and recorded as native traces in the cache; full and sampled runs read the same file. Each workload runs in
//! full once and sampled with several seeds.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use warpshard_chip::{LaunchSelection, RunError, RunOptions, RunResult};
use warpshard_config::{Machine, Override};
use warpshard_lab::Task;
use warpshard_lab::error::TaskError;
use warpshard_lab::output::{StudyError, StudyOutput};
use warpshard_lab::request::Request;
use warpshard_lab::verdict::Verdict;
use warpshard_program::Program;
use warpshard_report::metrics::{self, Totals};
use warpshard_sample::{SampleError, SamplingOptions, sample};
use warpshard_stats::Outcome;
use warpshard_trace::{NATIVE_VERSION, TraceOptions};
use warpshard_workload::Workload;

use super::reference::native_trace;

const PROGRAMS_FOLDER: &str = "programs";

/// Minimum warp instructions of a long workload. One core simulates this many in about a minute, so that sampling pays off.
const LONG_WARP_INSTRUCTIONS: u64 = 100_000_000;

/// Length class of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CaseLength {
    /// A workload for a test of the stored results; no figure includes it.
    Short,
    /// Less than [`LONG_WARP_INSTRUCTIONS`]. Separate figures show the effect of sampling on runs that are not long.
    Medium,
    /// [`LONG_WARP_INSTRUCTIONS`] or more; the verdict includes only these workloads.
    Long,
}

impl CaseLength {
    fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Medium => "medium",
            Self::Long => "long",
        }
    }
}

/// A workload of the study: a program with its parameters, and overrides of the machine.
struct SamplingCase {
    name: &'static str,
    program: &'static str,
    parameters: &'static [(&'static str, u64)],
    machine: &'static [(&'static str, &'static str)],
    /// `true` if the quick study includes the case.
    quick: bool,
    length: CaseLength,
    /// `true` if the case did not influence the method; such cases have separate figures.
    fresh: bool,
}

const fn long_case(name: &'static str, program: &'static str, parameters: &'static [(&'static str, u64)]) -> SamplingCase {
    SamplingCase { name, program, parameters, machine: &[], quick: false, length: CaseLength::Long, fresh: false }
}

/// Returns a case of medium length.
const fn medium_case(name: &'static str, program: &'static str, parameters: &'static [(&'static str, u64)]) -> SamplingCase {
    SamplingCase { length: CaseLength::Medium, ..long_case(name, program, parameters) }
}

/// Overrides for a machine with few SMs, so that a grid of some ten thousand CTAs takes many waves.
const FEW_SMS_OVERRIDES: &[(&str, &str)] = &[("gpu.sms", "8"), ("mem.map.partitions", "4")];

/// Moves a case to the machine with few SMs.
const fn on_few_sms(case: SamplingCase) -> SamplingCase {
    SamplingCase { machine: FEW_SMS_OVERRIDES, ..case }
}

const fn fresh_case(case: SamplingCase) -> SamplingCase {
    SamplingCase { fresh: true, ..case }
}

const fn quick_case(case: SamplingCase) -> SamplingCase {
    SamplingCase { quick: true, ..case }
}

const SAMPLING_CASES: &[SamplingCase] = &[
    SamplingCase {
        length: CaseLength::Short,
        ..quick_case(long_case("short", "parboil/stencil.toml", &[("nx", 64), ("ny", 16), ("nz", 8), ("pairs", 40)]))
    },
    long_case("srad_v2-long", "rodinia/srad_v2.toml", &[("n", 128), ("iterations", 750)]),
    long_case("stencil-long", "parboil/stencil.toml", &[("nx", 128), ("ny", 64), ("nz", 16), ("pairs", 320)]),
    long_case("lbm-long", "parboil/lbm.toml", &[("nx", 64), ("ny", 16), ("nz", 8), ("pairs", 400)]),
    long_case("sp-long", "lonestar/sp.toml", &[("variables", 1536), ("rounds", 1400)]),
    long_case("streamcluster-long", "rodinia/streamcluster.toml", &[("n", 16384), ("candidates", 800)]),
    long_case("gaussian-long", "rodinia/gaussian.toml", &[("n", 512)]),
    long_case("nw-long", "rodinia/nw.toml", &[("n", 6144)]),
    long_case("srad_v1-long", "rodinia/srad_v1.toml", &[("rows", 128), ("columns", 128), ("iterations", 480)]),
    long_case("pathfinder-long", "rodinia/pathfinder.toml", &[("columns", 8000), ("pairs", 450)]),
    long_case("cfd-long", "rodinia/cfd.toml", &[("n", 3072), ("steps", 180)]),
    on_few_sms(long_case("vecadd-long", "vecadd.toml", &[("n", 209_715_200)])),
    on_few_sms(long_case("transpose-long", "transpose.toml", &[("width", 16384), ("height", 16384)])),
    long_case("lud-long", "rodinia/lud.toml", &[("n", 1536)]),
    long_case("sssp-long", "lonestar/sssp.toml", &[("n", 8192), ("launches", 1400)]),
    long_case("bfs-long", "lonestar/bfs.toml", &[("n", 16384), ("launches", 760)]),
    on_few_sms(long_case("BlackScholes-long", "sdk/BlackScholes.toml", &[("n", 33_554_432), ("ctas", 262_144)])),
    on_few_sms(long_case("scalarProd-long", "sdk/scalarProd.toml", &[("vectors", 65_536), ("length", 256), ("ctas", 65_536)])),
    long_case("3DConvolution-long", "polybench/3DConvolution.toml", &[("n", 340)]),
    long_case("sortingNetworks-long", "sdk/sortingNetworks.toml", &[("n", 524_288), ("doublings", 9), ("lengths", 10)]),
    on_few_sms(long_case("2DConvolution-long", "polybench/2DConvolution.toml", &[("n", 8192)])),
    on_few_sms(long_case("dct8x8-long", "sdk/dct8x8.toml", &[("n", 6144)])),
    on_few_sms(long_case("backprop-long", "rodinia/backprop.toml", &[("n", 1_048_560), ("steps", 2)])),
    on_few_sms(long_case("cp-long", "gpgpusim/cp.toml", &[("atoms", 20), ("across", 128), ("down", 2048)])),
    fresh_case(on_few_sms(long_case("convolutionSeparable-long", "sdk/convolutionSeparable.toml", &[("n", 8192)]))),
    on_few_sms(long_case("kmeans-long", "rodinia/kmeans.toml", &[("points", 2_457_600), ("features", 34)])),
    fresh_case(on_few_sms(long_case("hotspot-long", "rodinia/hotspot.toml", &[("n", 3072)]))),
    fresh_case(long_case("heartwall-long", "rodinia/heartwall.toml", &[("points", 51), ("frames", 66), ("h", 600), ("w", 600)])),
    fresh_case(long_case("mriq-long", "parboil/mriq.toml", &[("voxels", 4096), ("points", 14336)])),
    quick_case(medium_case("srad_v2-medium", "rodinia/srad_v2.toml", &[("n", 128), ("iterations", 250)])),
    quick_case(medium_case("stencil-medium", "parboil/stencil.toml", &[("nx", 128), ("ny", 64), ("nz", 16), ("pairs", 150)])),
    medium_case("lbm-medium", "parboil/lbm.toml", &[("nx", 64), ("ny", 16), ("nz", 8), ("pairs", 100)]),
    medium_case("sp-medium", "lonestar/sp.toml", &[("variables", 1536), ("rounds", 280)]),
    medium_case("nw-medium", "rodinia/nw.toml", &[("n", 4096)]),
    medium_case("srad_v1-medium", "rodinia/srad_v1.toml", &[("rows", 128), ("columns", 128), ("iterations", 250)]),
    medium_case("pathfinder-medium", "rodinia/pathfinder.toml", &[("columns", 8000), ("pairs", 200)]),
    medium_case("cfd-medium", "rodinia/cfd.toml", &[("n", 3072), ("steps", 150)]),
    on_few_sms(medium_case("vecadd-medium", "vecadd.toml", &[("n", 33_554_432)])),
    on_few_sms(medium_case("transpose-medium", "transpose.toml", &[("width", 4096), ("height", 4096)])),
    medium_case("lud-medium", "rodinia/lud.toml", &[("n", 1024)]),
    medium_case("sssp-medium", "lonestar/sssp.toml", &[("n", 8192), ("launches", 400)]),
    medium_case("bfs-medium", "lonestar/bfs.toml", &[("n", 16384), ("launches", 300)]),
    medium_case("3DConvolution-medium", "polybench/3DConvolution.toml", &[("n", 300)]),
    medium_case("sortingNetworks-medium", "sdk/sortingNetworks.toml", &[("n", 524_288), ("doublings", 9)]),
    on_few_sms(medium_case("2DConvolution-medium", "polybench/2DConvolution.toml", &[("n", 6144)])),
    on_few_sms(medium_case("dct8x8-medium", "sdk/dct8x8.toml", &[("n", 4096)])),
    on_few_sms(medium_case("backprop-medium", "rodinia/backprop.toml", &[("n", 1_048_560)])),
    on_few_sms(medium_case("cp-medium", "gpgpusim/cp.toml", &[("atoms", 20), ("across", 128), ("down", 512)])),
];

/// Targets of the whole study: error in percent, speed-up, and coverage in percent.
const MAX_ERROR_PERCENT: f64 = 2.0;
const MIN_SPEED_UP: f64 = 20.0;
const MIN_COVERAGE_PERCENT: f64 = 90.0;

/// Function that loads a new instance of a workload.
type LoadWorkload<'a> = dyn Fn() -> Result<Arc<Workload>, TaskError> + 'a;

/// Results of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SampledRun {
    net_cycles: f64,
    half_width: f64,
    dram: f64,
    /// Simulated warp instructions.
    simulated: u64,
    launches: (u32, u32, u32, u32),
    warming: f64,
    /// Processor time of loading and simulating, in seconds.
    seconds: f64,
}

/// Runs the study.
///
/// # Errors
/// Fails if the programs are missing, no case is selected, or a run fails.
pub(super) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let cases: Vec<&SamplingCase> =
        SAMPLING_CASES.iter().filter(|case| (!request.quick || case.quick) && request.includes(case.name)).collect();
    if cases.is_empty() {
        let names: Vec<&str> = SAMPLING_CASES.iter().map(|case| case.name).collect();
        let only = request.only.as_deref().unwrap_or_default();
        return Err(StudyError::Input(format!("--only {only} selects none of {}", names.join(", "))));
    }
    let seeds = if request.full { 30 } else { 10 };
    let mut output = StudyOutput::new("sampling", "sampled runs of long workloads, compared with whole ones".to_owned());
    output.columns(&[
        "workload",
        "launches",
        "warp instructions",
        "net cycles",
        "mean error %",
        "worst %",
        "within %",
        "hits",
        "DRAM error %",
        "measured",
        "warming",
        "in parts",
        "rounds",
        "speed-up",
        "of time",
        "whole s",
        "unwarmed %",
    ]);
    let mut all: BTreeMap<(Reverse<CaseLength>, bool), SamplingSummary> = BTreeMap::new();
    let mut rows = Vec::new();
    for case in cases {
        study_case(request, case, seeds, &mut output, &mut all, &mut rows)?;
        if let Some(progress) = &request.progress {
            progress(case.name);
        }
    }
    let header = ["workload", "seed", "net cycles", "truth", "error %", "within %", "DRAM error %", "simulated"];
    output.table("runs.csv", &header, rows);
    for ((Reverse(length), fresh), summary) in &all {
        let which = if *fresh { "fresh" } else { "development" };
        summary.judge_targets(&format!("{}, {which}", length.name()), &mut output);
    }
    Ok(output)
}

/// Results over the development workloads, or over the fresh ones.
#[derive(Default)]
struct SamplingSummary {
    errors: Vec<f64>,
    hits: usize,
    runs: usize,
    instructions: Vec<f64>,
    seconds: Vec<f64>,
}

impl SamplingSummary {
    fn judge_targets(&self, which: &str, output: &mut StudyOutput) {
        if self.runs == 0 {
            return;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let geometric = |values: &[f64]| mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).exp();
        let coverage = 100.0 * self.hits as f64 / self.runs as f64;
        let rows = [
            (
                "mean error of net cycles over the workloads, %",
                mean(&self.errors),
                format!("at most {MAX_ERROR_PERCENT}"),
                mean(&self.errors) <= MAX_ERROR_PERCENT,
            ),
            (
                "speed-up in simulated warp instructions, geometric mean",
                geometric(&self.instructions),
                format!("at least {MIN_SPEED_UP}"),
                geometric(&self.instructions) >= MIN_SPEED_UP,
            ),
            (
                "speed-up in processor time, geometric mean",
                geometric(&self.seconds),
                format!("at least {MIN_SPEED_UP}"),
                geometric(&self.seconds) >= MIN_SPEED_UP,
            ),
            (
                "runs whose interval contains the truth, %",
                coverage,
                format!("at least {MIN_COVERAGE_PERCENT}"),
                coverage >= MIN_COVERAGE_PERCENT,
            ),
        ];
        for (figure, ours, asked, holds) in rows {
            output.compare(
                &["workloads", "figure", "ours", "asked", "verdict"],
                vec![which.to_owned(), figure.to_owned(), format!("{ours:.2}"), asked, Verdict::of(holds).name().to_owned()],
            );
        }
    }
}

fn study_case(
    request: &Request,
    case: &SamplingCase,
    seeds: u64,
    output: &mut StudyOutput,
    all: &mut BTreeMap<(Reverse<CaseLength>, bool), SamplingSummary>,
    rows: &mut Vec<Vec<String>>,
) -> Result<(), StudyError> {
    let wrong = |error: TaskError| StudyError::Input(format!("{}: {error}", case.name));
    let machine = machine(case, &request.set).map_err(wrong)?;
    let trace = recorded_trace(case, request.cache.as_deref().unwrap_or(Path::new("target/traces"))).map_err(wrong)?;
    let lab = request.lab();
    // Runs execute one after the other, so that the processor time of this process belongs to one run.
    let run = |seed| lab.run_task(&CaseRun { case, machine: &machine, trace: &trace, seed });
    let truth = run(None).map_err(StudyError::input)?;
    let runs: Vec<SampledRun> = (1..=seeds).map(|seed| run(Some(seed))).collect::<Result<_, _>>().map_err(StudyError::input)?;

    let errors: Vec<f64> = runs.iter().map(|run| difference_percent(run.net_cycles, truth.net_cycles)).collect();
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / runs.len() as f64;
    let error = mean(&mut errors.iter().map(|error| error.abs()));
    let hit = |run: &SampledRun| (run.net_cycles - truth.net_cycles).abs() <= run.half_width;
    let hits = runs.iter().filter(|run| hit(run)).count();
    let speed_up = truth.simulated as f64 / mean(&mut runs.iter().map(|run| run.simulated as f64));
    let of_time = truth.seconds / mean(&mut runs.iter().map(|run| run.seconds)).max(1e-3);
    let launches = |pick: fn(&SampledRun) -> u32| format!("{:.1}", mean(&mut runs.iter().map(|run| f64::from(pick(run)))));
    output.row(vec![
        case.name.to_owned(),
        truth.launches.0.to_string(),
        truth.simulated.to_string(),
        format!("{:.0}", truth.net_cycles),
        format!("{error:.3}"),
        format!("{:.3}", errors.iter().fold(0.0f64, |worst, error| if error.abs() > worst.abs() { *error } else { worst })),
        format!("{:.3}", mean(&mut runs.iter().map(|run| 100.0 * run.half_width / run.net_cycles))),
        format!("{hits}/{}", runs.len()),
        format!("{:.3}", mean(&mut runs.iter().map(|run| difference_percent(run.dram, truth.dram).abs()))),
        launches(|run| run.launches.0),
        launches(|run| run.launches.1),
        launches(|run| run.launches.2),
        launches(|run| run.launches.3),
        format!("{speed_up:.1}"),
        format!("{of_time:.1}"),
        format!("{:.1}", truth.seconds),
        format!("{:.2}", mean(&mut runs.iter().map(|run| 100.0 * run.warming))),
    ]);
    rows.extend((1..).zip(&runs).map(|(seed, run)| run_row(case, seed, run, &truth)));
    if case.length == CaseLength::Short {
        return Ok(());
    }
    if (case.length == CaseLength::Long) != (truth.simulated >= LONG_WARP_INSTRUCTIONS) {
        return Err(wrong(
            format!("it has {} warp instructions; long workloads have {LONG_WARP_INSTRUCTIONS} or more, the others fewer", truth.simulated)
                .into(),
        ));
    }
    let all = all.entry((Reverse(case.length), case.fresh)).or_default();
    all.errors.push(error);
    all.hits += hits;
    all.runs += runs.len();
    all.instructions.push(speed_up);
    all.seconds.push(of_time);
    Ok(())
}

/// A run of a case, in full or sampled with a seed.
struct CaseRun<'a> {
    case: &'a SamplingCase,
    machine: &'a Machine,
    trace: &'a Path,
    seed: Option<u64>,
}

impl fmt::Display for CaseRun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed {
            Some(seed) => write!(f, "{} sampled with seed {seed}", self.case.name),
            None => write!(f, "{} whole", self.case.name),
        }
    }
}

impl Task for CaseRun<'_> {
    type Result = SampledRun;

    fn key(&self) -> Result<String, TaskError> {
        let program = warpshard_config::input::read_text(&Path::new(PROGRAMS_FOLDER).join(self.case.program))?;
        Ok(format!("{self} {:?} {:?} {:08x}", self.case.parameters, self.machine, crc32fast::hash(program.as_bytes())))
    }

    fn sources(&self) -> &'static str {
        // A full run does not depend on the code that draws samples.
        if self.seed.is_some() { warpshard_build::SOURCES_DIGEST } else { warpshard_build::SIMULATOR_DIGEST }
    }

    fn run(&self) -> Result<SampledRun, TaskError> {
        let load = || load(self.trace);
        self.seed.map_or_else(|| simulate_whole(self.machine, &load), |seed| simulate_sampled(self.machine, &load, seed))
    }
}

fn difference_percent(value: f64, base: f64) -> f64 {
    100.0 * (value / base.max(1.0) - 1.0)
}

/// Formats a row of `runs.csv`.
fn run_row(case: &SamplingCase, seed: u64, run: &SampledRun, truth: &SampledRun) -> Vec<String> {
    vec![
        case.name.to_owned(),
        seed.to_string(),
        format!("{:.1}", run.net_cycles),
        format!("{:.0}", truth.net_cycles),
        format!("{:.4}", difference_percent(run.net_cycles, truth.net_cycles)),
        format!("{:.4}", 100.0 * run.half_width / run.net_cycles),
        format!("{:.4}", difference_percent(run.dram, truth.dram)),
        run.simulated.to_string(),
    ]
}

/// Recomputes the first row of `runs.csv`, without recording, because the program is short.
#[cfg(test)]
pub(super) fn recompute_first_run() -> Result<String, TaskError> {
    let case = &SAMPLING_CASES[0];
    let parameters: Vec<(String, String)> = case.parameters.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
    let load = || {
        let program = Program::load(&Path::new(PROGRAMS_FOLDER).join(case.program), Some(70), &parameters);
        Ok(Arc::new(program?.workload()?))
    };
    let machine = machine(case, &[])?;
    Ok(run_row(case, 1, &simulate_sampled(&machine, &load, 1)?, &simulate_whole(&machine, &load)?).join(","))
}

fn machine(case: &SamplingCase, set: &[(String, String)]) -> Result<Machine, TaskError> {
    let given = set.iter().map(|(key, value)| Override::new(key, value));
    let overrides: Vec<Override> = case.machine.iter().map(|(key, value)| Override::new(*key, *value)).chain(given).collect();
    Machine::load("v100", &overrides).map(|loaded| loaded.machine).map_err(TaskError::from)
}

/// Returns the trace of a program; records it unless the cache has it.
fn recorded_trace(case: &SamplingCase, cache: &Path) -> Result<PathBuf, TaskError> {
    let parameters: Vec<(String, String)> = case.parameters.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
    // The version is in the name, because older versions record less about launches.
    let name = format!(
        "sampling-v{NATIVE_VERSION}-{}{}",
        case.name,
        parameters.iter().map(|(key, value)| format!("-{key}{value}")).collect::<String>()
    );
    let native = cache.join("native").join(format!("{name}.wst"));
    if native.is_file() {
        return Ok(native);
    }
    let text = |error: &dyn fmt::Display| error.to_string();
    let program = Program::load(&Path::new(PROGRAMS_FOLDER).join(case.program), Some(70), &parameters).map_err(|error| text(&error))?;
    std::fs::create_dir_all(cache).map_err(|error| text(&error))?;
    let folder = cache.join(format!("{name}-text"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| text(&error))?;
    }
    program.record(&folder).map_err(|error| text(&error))?;
    let made = native_trace(&folder, cache, &name)?;
    std::fs::remove_dir_all(&folder).map_err(|error| text(&error))?;
    Ok(made)
}

fn load(trace: &Path) -> Result<Arc<Workload>, TaskError> {
    let options = TraceOptions { eager_bytes: 0, window_bytes: 16 << 20, ..TraceOptions::default() };
    warpshard_trace::load(trace, &options).map(Arc::new).map_err(TaskError::from)
}

fn dram_accesses(outcome: &Outcome) -> f64 {
    Totals::of(&outcome.components).sum("dram", &["reads", "writes"]).unwrap_or(0) as f64
}

fn simulate_whole(machine: &Machine, load: &LoadWorkload<'_>) -> Result<SampledRun, TaskError> {
    let before = processor_seconds();
    let result = warpshard_chip::simulate(machine, &load()?, RunOptions::default())?;
    let seconds = processor_seconds() - before;
    Ok(whole_run(&result.outcome, seconds))
}

fn whole_run(outcome: &Outcome, seconds: f64) -> SampledRun {
    let instructions = metrics::counter(&metrics::kernel_totals(outcome), metrics::WARP_INSTRUCTIONS).unwrap_or(0);
    SampledRun {
        net_cycles: metrics::net_cycles(outcome) as f64,
        half_width: 0.0,
        dram: dram_accesses(outcome),
        simulated: instructions,
        launches: (outcome.kernels.len() as u32, 0, 0, 0),
        warming: 0.0,
        seconds,
    }
}

fn simulate_sampled(machine: &Machine, load: &LoadWorkload<'_>, seed: u64) -> Result<SampledRun, TaskError> {
    let options = SamplingOptions { seed, ..SamplingOptions::default() };
    let before = processor_seconds();
    let mut simulate = |part: &Arc<Workload>, measure: Option<LaunchSelection>| -> Result<RunResult, RunError> {
        warpshard_chip::simulate(machine, part, RunOptions { measure, ..RunOptions::default() })
    };
    let result = sample(machine, &load()?, &options, &mut simulate).map_err(|error: SampleError| error.to_string())?;
    let seconds = processor_seconds() - before;
    let outcome = &result.outcome;
    let Some(sampled) = &outcome.sampled else {
        // The sampler simulated the whole workload, because the sample would have been most of it.
        return Ok(whole_run(outcome, seconds));
    };
    let net = sampled.estimate("net_cycles").ok_or("a sampled run has an estimate of its net cycles")?;
    Ok(SampledRun {
        net_cycles: net.value,
        half_width: net.half_width,
        dram: dram_accesses(outcome),
        simulated: sampled.simulated_warp_instructions,
        launches: (sampled.measured, sampled.warmed, sampled.in_parts, sampled.rounds),
        warming: sampled.warming,
        seconds,
    })
}

/// Returns the processor seconds used by this process; 0 if the host does not report them.
fn processor_seconds() -> f64 {
    // Fields 14 and 15 are in hundredths of a second. The second field, the name, ends with the last parenthesis.
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}
