//! `study perf-sat`: the kernels of Table 4.2 under Perf-Sat, compared with Section 4.3.3 of the thesis.
//!
//! Perf-Sat's detection is simulated in full, with some further waves of CTAs; the rest of the grid is extrapolated at the rate of
//! those waves and marked. The kernel also runs with every CTA limit for the same time. These runs give the optimum and the baseline with
//! all CTAs, at their rates in the stretch after the detection, since rates vary over a grid. A grid that ends earlier is compared as a
//! whole. The detected count is the mean of Perf-Sat's limits over the cores. Means by class use the published class.
//!
//! Some kernels with short grids are also run to completion, which shows the error of the extrapolation.

use std::sync::OnceLock;

use rayon::prelude::*;
use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_report::bars::{BarGroup, Bars};
use warpshard_lab::job::{Job, Run};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::{Published, read};
use warpshard_lab::request::Request;
use warpshard_lab::statistics::{mean, percent_over};
use warpshard_lab::verdict::{Aggregate, RunEnd, Headline};

use super::{CtaClass, CtaCells, KernelGrid, ThesisKernel, StudyError, Thesis, kernel_library, optimal_ctas, optimal_ctas_by_steps};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StudySection {
    parameters: Parameters,
}

/// Parameters of the study, explained in its published file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    waves: u32,
    after: f64,
    longest: u64,
    in_full: Vec<String>,
}

/// The subject of a published mean over kernels and machines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueSelector {
    quantity: Quantity,
    #[serde(default)]
    machines: Vec<String>,
    #[serde(default)]
    classes: Vec<CtaClass>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Quantity {
    Accuracy,
    Saved,
    Gain,
}

/// Name of the configuration that counts a core cycle as stalled if all warps of the core are stalled.
const WHOLE_CORE: &str = "whole-core";

fn published() -> &'static Published<StudySection, ValueSelector> {
    static PUBLISHED_FILE: OnceLock<Published<StudySection, ValueSelector>> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("perf-sat", include_str!("../published/perf-sat.toml")))
}

/// A run under Perf-Sat, and runs of the same length with fixed limits.
#[derive(Clone, Debug, PartialEq)]
struct DetectedRun {
    /// The last limit of each core.
    limits: Vec<u32>,
    /// Core cycle after the launch in which the last core settled; `None` if a core did not settle.
    settled: Option<u64>,
    run: Run,
    /// Runs with limits of 1, 2, ... CTAs up to all CTAs, or only the run with all CTAs.
    limited_runs: Vec<Run>,
    /// The run with all CTAs and the user's policy and warp order.
    candidate: Option<Run>,
}

/// Returns the last limit of each core, and the cycle in which the last core settled; `None` if a core did not settle.
fn final_limits(run: &Run, cores: u32) -> (Vec<u32>, Option<u64>) {
    let mut limits = vec![0; cores as usize];
    let mut settled = vec![None; cores as usize];
    for record in &run.records {
        match (record.name.as_str(), record.sm.map(usize::from)) {
            ("cta_limit", Some(core)) => limits[core] = record.value as u32,
            ("cta_limit", None) => limits.fill(record.value as u32),
            ("settled", Some(core)) => settled[core] = Some(record.cycle),
            _ => {}
        }
    }
    (limits, settled.into_iter().collect::<Option<Vec<u64>>>().and_then(|cycles| cycles.into_iter().max()))
}

impl DetectedRun {
    /// Returns the mean limit over the cores.
    fn mean_limit(&self) -> f64 {
        mean(self.limits.iter().map(|limit| f64::from(*limit))).unwrap_or(0.0)
    }

    /// Returns the run with all CTAs.
    fn run_with_all_ctas(&self) -> &Run {
        self.limited_runs.last().unwrap_or(&self.run)
    }

    /// Returns the first cycle of the compared stretch.
    fn stretch_start(&self) -> u64 {
        self.settled.unwrap_or(self.run.cycles)
    }

    /// Returns the rates of the runs with fixed limits.
    fn rates(&self) -> Vec<f64> {
        self.limited_runs.iter().map(|run| run.comparable_rate(self.stretch_start())).collect()
    }

    fn ended(&self) -> RunEnd {
        if self.run.ended && self.run_with_all_ctas().ended { RunEnd::Whole } else { RunEnd::Extrapolated }
    }

    /// Returns the speed-up of `run` over all CTAs for a grid of `instructions` warp instructions, in percent.
    fn speedup_percent(&self, run: &Run, instructions: f64) -> f64 {
        percent_over(grid_cycles(self.run_with_all_ctas(), self.stretch_start(), instructions), grid_cycles(run, self.stretch_start(), instructions))
    }
}

/// Returns the core cycles of a whole grid: the simulated cycles, and the remaining instructions at the run's rate after cycle `from`.
fn grid_cycles(run: &Run, from: u64, instructions: f64) -> f64 {
    let rest = if run.ended { 0.0 } else { (instructions - run.issued as f64).max(0.0) };
    run.cycles as f64 + rest / run.rate_from(from).max(f64::MIN_POSITIVE)
}

/// The results of a kernel on a machine.
#[derive(Clone, Debug)]
struct SaturationPoint {
    kernel: String,
    machine: &'static str,
    published: CtaCells,
    most: u32,
    optimum: u32,
    /// The optimum by comparing each count with the next one only.
    by_steps: u32,
    class: CtaClass,
    detected_ctas: f64,
    settled: bool,
    ended: RunEnd,
    /// Speed-up of Perf-Sat over all CTAs, in percent.
    gain: f64,
    /// Speed-up of the optimum over all CTAs, in percent.
    best_gain: f64,
    /// Speed-up of the user's policy and warp order over all CTAs, in percent.
    candidate: Option<f64>,
    fitted: bool,
}

impl SaturationPoint {
    /// Returns the relative error of a count compared with the optimum.
    fn relative_error(count: f64, optimum: u32) -> f64 {
        (count - f64::from(optimum)).abs() / f64::from(optimum)
    }

    /// Returns the threads and registers left free, in percent of the use of all CTAs; both are proportional to the number of CTAs.
    fn saved_percent(&self) -> f64 {
        saved_percent(self.detected_ctas, self.most)
    }
}

/// Returns the share of the threads and registers of `all` CTAs that `detected` CTAs leave free, in percent.
fn saved_percent(detected: f64, all: u32) -> f64 {
    100.0 * (1.0 - detected / f64::from(all))
}

/// Returns 100 minus the mean relative error of counts, in percent.
fn accuracy_percent<'a>(points: impl Iterator<Item = &'a SaturationPoint>, of: impl Fn(&SaturationPoint) -> (f64, u32)) -> Option<f64> {
    mean(points.map(of).map(|(count, optimum)| SaturationPoint::relative_error(count, optimum))).map(|error| 100.0 * (1.0 - error))
}

impl ValueSelector {
    fn headline(&self, points: &[SaturationPoint]) -> Headline {
        let of: Vec<&SaturationPoint> = points
            .iter()
            .filter(|point| self.machines.is_empty() || self.machines.iter().any(|machine| machine == point.machine))
            .filter(|point| self.classes.is_empty() || self.classes.contains(&point.published.class))
            .collect();
        let figure = |points: &[&SaturationPoint]| match self.quantity {
            Quantity::Accuracy => accuracy_percent(points.iter().copied(), |point| (point.detected_ctas, point.optimum)),
            Quantity::Saved => mean(points.iter().map(|point| point.saved_percent())),
            Quantity::Gain => mean(points.iter().map(|point| point.gain)),
        };
        let trivial = match self.quantity {
            Quantity::Accuracy => accuracy_percent(of.iter().copied(), |point| (f64::from(point.most), point.optimum)).unwrap_or_default(),
            Quantity::Saved | Quantity::Gain => 0.0,
        };
        Headline::new(&of, &point_aggregate(&figure, trivial))
    }
}

fn point_aggregate<'a>(of: &'a dyn Fn(&[&SaturationPoint]) -> Option<f64>, trivial: f64) -> Aggregate<'a, SaturationPoint> {
    Aggregate { of, fitted: &|point| point.fitted, ended: &|point| point.ended, trivial: Some(("all CTAs", trivial)) }
}

/// Runs the study; with `--full` grids are simulated to their end, and nothing is extrapolated.
///
/// # Errors
/// Fails if `--only` names no kernel, or a kernel cannot be run.
pub(crate) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    if let Some(other) = request.configuration.as_deref().filter(|name| *name != WHOLE_CORE) {
        return Err(StudyError::Input(format!("--configuration {other}: expected {WHOLE_CORE}, or none")));
    }
    let thesis = Thesis::new(request);
    let full = request.full;
    let kernels = thesis.kernels("Table 4.2", |kernel| kernel.machine_columns().count() > 0)?;
    let pairs: Vec<_> = kernels.iter().flat_map(|kernel| kernel.machine_columns().map(move |column| (*kernel, column))).collect();
    let Parameters { in_full, waves, .. } = &published().own.parameters;
    let (points, in_full) = rayon::join(
        || pairs.par_iter().map(|(kernel, column)| point(&thesis, kernel, *column)).collect::<Result<Vec<_>, _>>(),
        || {
            let short = pairs.par_iter().filter(|(kernel, (_, column, _))| !full && *column == "M2090" && in_full.contains(&kernel.name));
            short.map(|(kernel, (machine, ..))| FullRun::run_kernel(&thesis, kernel, machine)).collect::<Result<Vec<_>, _>>()
        },
    );
    let (points, in_full) = (points.map_err(StudyError::input)?, in_full.map_err(StudyError::input)?);
    let how = if full { "whole grids".to_owned() } else { format!("detection and {waves} waves of CTAs or more, the rest extrapolated") };
    let mut output = StudyOutput::new("perf-sat", format!("Perf-Sat, compared with {}: {how}", published().source));
    add_rows(&mut output, &points, &in_full, thesis.candidate_name());
    for value in &published().values {
        output.grade_headline(value, &value.of.headline(&points));
    }
    grade_figures(&mut output, &points);
    compare_in_full(&mut output, &points, &in_full);
    add_bar_charts(&mut output, &points);
    Ok(output)
}

fn point(thesis: &Thesis<'_>, kernel: &ThesisKernel, column: (&'static str, &str, CtaCells)) -> Result<SaturationPoint, TaskError> {
    let (machine, column, published) = column;
    let step = kernel_library().own.parameters.step;
    let job = thesis.kernel_job(kernel, machine, &kernel.table_4_2);
    let grid = KernelGrid::from_job(&job)?;
    let detected = run_detection(thesis, &job, &grid, 1, thesis.request.full)?;
    let rates = detected.rates();
    let (best, instructions) = (optimal_ctas(&rates, step), grid.grid_instructions());
    Ok(SaturationPoint {
        kernel: kernel.name.clone(),
        machine,
        published,
        most: grid.most,
        optimum: best,
        by_steps: optimal_ctas_by_steps(&rates, step),
        class: CtaClass::from_rates(&rates, step),
        detected_ctas: detected.mean_limit(),
        settled: detected.settled.is_some(),
        ended: detected.ended(),
        gain: detected.speedup_percent(&detected.run, instructions),
        best_gain: percent_over(rates[best as usize - 1], rates[rates.len() - 1]),
        candidate: detected.candidate.as_ref().map(|run| detected.speedup_percent(run, instructions)),
        fitted: ["Opt", "Type"].iter().any(|word| grid.is_fitted_to("Table 4.2", &[word, column])),
    })
}

/// A kernel that ran to the end of its grid under Perf-Sat and with all CTAs.
#[derive(Clone, Debug)]
struct FullRun {
    kernel: String,
    machine: &'static str,
    detected_ctas: f64,
    gain: f64,
}

impl FullRun {
    fn run_kernel(thesis: &Thesis<'_>, kernel: &ThesisKernel, machine: &'static str) -> Result<Self, TaskError> {
        let job = thesis.kernel_job(kernel, machine, &kernel.table_4_2);
        let grid = KernelGrid::from_job(&job)?;
        let detected = run_detection(thesis, &job, &grid, grid.most, true)?;
        let gain = detected.speedup_percent(&detected.run, grid.grid_instructions());
        Ok(Self { kernel: kernel.name.clone(), machine, detected_ctas: detected.mean_limit(), gain })
    }

    fn is_of(&self, point: &SaturationPoint) -> bool {
        self.kernel == point.kernel && self.machine == point.machine
    }
}

/// Returns the number of CTA waves simulated after the detection. With short CTAs the minimum of waves would be a small part of a grid
/// whose rate varies, so more are simulated.
fn waves_after(grid: &KernelGrid) -> u32 {
    let Parameters { waves, after, .. } = &published().own.parameters;
    ((after / (grid.per_cta * f64::from(grid.most))).ceil() as u32).max(*waves)
}

/// Runs a kernel under Perf-Sat, and for the same time with each limit from `first` on; to the end of the grid if `full`.
fn run_detection(thesis: &Thesis<'_>, job: &Job, grid: &KernelGrid, first: u32, full: bool) -> Result<DetectedRun, TaskError> {
    let (waves, longest) = if full { (0, None) } else { (waves_after(grid), Some(published().own.parameters.longest)) };
    let whole_core = if thesis.request.configuration.is_some() { ",whole_core=true" } else { "" };
    let run = thesis.lab.run_task(&job.clone().policy(format!("perf_sat:stop_after={waves}{whole_core}")).cycles(longest))?;
    let (limits, settled) = final_limits(&run, job.load()?.machine.gpu.sms);
    let as_long = job.clone().cycles((!run.ended).then_some(run.cycles));
    let mut jobs: Vec<Job> = (first..=grid.most).map(|limit| as_long.clone().set("gpu.sm.max_ctas", limit)).collect();
    let fixed = jobs.len();
    jobs.extend(thesis.candidate.iter().map(|candidate| candidate.apply(&as_long.clone().set("gpu.sm.max_ctas", grid.most))));
    let mut limited = thesis.lab.run_tasks(&jobs)?;
    let candidate = limited.drain(fixed..).next();
    Ok(DetectedRun { limits, settled, run, limited_runs: limited, candidate })
}

fn add_rows(output: &mut StudyOutput, points: &[SaturationPoint], in_full: &[FullRun], candidate: Option<String>) {
    let columns = [
        "kernel",
        "machine",
        "all",
        "optimum",
        "published",
        "detected",
        "class",
        "published",
        "saved %",
        "speed-up %",
        "of optimum %",
        "how",
    ];
    let candidate = candidate.map(|name| format!("{name} %"));
    output.columns(&columns.into_iter().chain(candidate.as_deref()).collect::<Vec<_>>());
    for point in points {
        let mut how = if point.ended == RunEnd::Extrapolated { "extrapolated" } else { "simulated" }.to_owned();
        if !point.settled {
            how.push_str(", not settled");
        }
        let mut cells = vec![
            point.kernel.clone(),
            point.machine.into(),
            point.most.to_string(),
            point.optimum.to_string(),
            point.published.opt.to_string(),
            format!("{:.2}", point.detected_ctas),
            point.class.name().into(),
            point.published.class.name().into(),
            format!("{:.1}", point.saved_percent()),
            format!("{:+.2}", point.gain),
            format!("{:+.2}", point.best_gain),
            how,
        ];
        cells.extend(point.candidate.map(|gain| format!("{gain:+.2}")));
        output.row(cells);
        for full in in_full.iter().filter(|full| full.is_of(point)) {
            let blank = String::from("-");
            let mut cells = vec![
                full.kernel.clone(),
                full.machine.into(),
                point.most.to_string(),
                blank.clone(),
                point.published.opt.to_string(),
                format!("{:.2}", full.detected_ctas),
                blank.clone(),
                point.published.class.name().into(),
                format!("{:.1}", saved_percent(full.detected_ctas, point.most)),
                format!("{:+.2}", full.gain),
                blank.clone(),
                "in full".into(),
            ];
            cells.extend(candidate.iter().map(|_| blank.clone()));
            output.row(cells);
        }
    }
}

/// Adds the distances between extrapolated and complete speed-ups, for the kernels that also ran to their end.
fn compare_in_full(output: &mut StudyOutput, points: &[SaturationPoint], in_full: &[FullRun]) {
    let pairs = in_full.iter().filter_map(|full| points.iter().find(|point| full.is_of(point)).map(|point| (point.gain - full.gain).abs()));
    let off: Vec<f64> = pairs.collect();
    if let Some(mean) = mean(off.iter().copied()) {
        output.figure("extrapolated speed-up compared with that in full: mean distance, points", mean);
        output
            .figure("extrapolated speed-up compared with that in full: largest distance, points", off.iter().copied().fold(0.0, f64::max));
    }
}

fn grade_figures(output: &mut StudyOutput, points: &[SaturationPoint]) {
    let gain = |points: &[&SaturationPoint]| mean(points.iter().map(|point| point.gain));
    for class in CtaClass::ALL {
        let of: Vec<&SaturationPoint> = points.iter().filter(|point| point.class == class).collect();
        if !of.is_empty() {
            let name = format!("speed-up over all CTAs, of the points that are {} here, %", class.name());
            output.headline(&name, &Headline::new(&of, &point_aggregate(&gain, 0.0)));
        }
    }
    let by_steps = |points: &[&SaturationPoint]| accuracy_percent(points.iter().copied(), |point| (point.detected_ctas, point.by_steps));
    for machine in [&kernel_library().own.machines.m2090, &kernel_library().own.machines.k20x] {
        let of: Vec<&SaturationPoint> = points.iter().filter(|point| point.machine == machine).collect();
        let trivial = accuracy_percent(of.iter().copied(), |point| (f64::from(point.most), point.by_steps));
        if let Some(trivial) = trivial {
            let headline = Headline::new(&of, &point_aggregate(&by_steps, trivial));
            output.headline(&format!("{machine}: accuracy compared with the optimum read step by step, %"), &headline);
        }
    }
    output.note("the accuracy is relative to our optimum; means by class are over the published classes".into());
}

/// Adds bar charts of CTA counts in the manner of Figure 4.5.
fn add_bar_charts(output: &mut StudyOutput, points: &[SaturationPoint]) {
    let machines = &kernel_library().own.machines;
    for (machine, names) in [(&machines.m2090, "m2090.svg"), (&machines.k20x, "k20x.svg")] {
        let group = |point: &SaturationPoint| BarGroup {
            name: point.kernel.clone(),
            values: vec![f64::from(point.most), f64::from(point.optimum), point.detected_ctas],
        };
        let groups = points.iter().filter(|point| point.machine == machine).map(group).collect();
        let series = ["all", "optimum", "Perf-Sat"].map(String::from).into();
        output.bars(names, Bars { title: format!("CTAs per core ({machine})"), y: "CTAs".into(), series, groups, line: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FERMI_MACHINE: &str = "m2090-v31";
    const KEPLER_MACHINE: &str = "k20x-l1";

    fn point(machine: &'static str, class: CtaClass, detected: f64, gain: f64) -> SaturationPoint {
        SaturationPoint {
            kernel: "k".into(),
            machine,
            published: CtaCells { max: 8, opt: 5, class },
            most: 8,
            optimum: 5,
            by_steps: 4,
            class,
            detected_ctas: detected,
            settled: true,
            ended: RunEnd::Extrapolated,
            gain,
            best_gain: 0.0,
            candidate: None,
            fitted: gain > 9.0,
        }
    }

    fn example_run(ended: bool) -> Run {
        Run { cycles: 500, net_cycles: 500, issued: 5000, ended, rows: Vec::new(), records: Vec::new() }
    }

    #[test]
    fn the_rest_of_a_grid_is_extrapolated_at_the_rate_of_the_run() {
        assert_eq!(grid_cycles(&example_run(false), 0, 10_000.0), 1000.0);
        assert_eq!(grid_cycles(&example_run(false), 0, 3000.0), 500.0, "a grid that was estimated too small");
        assert_eq!(grid_cycles(&example_run(true), 0, 10_000.0), 500.0);
    }

    #[test]
    fn accuracy_savings_and_gains_are_means_over_the_machines_and_classes_named() {
        let points = [point(FERMI_MACHINE, CtaClass::Weak, 4.0, 1.0), point(FERMI_MACHINE, CtaClass::Mem, 6.0, 10.0), point(KEPLER_MACHINE, CtaClass::Mem, 5.0, 4.0)];
        let headline = |quantity, machines: &[&str], classes: &[CtaClass]| {
            let machines = machines.iter().map(|machine| (*machine).to_owned()).collect();
            ValueSelector { quantity, machines, classes: classes.to_vec() }.headline(&points)
        };
        let accuracy = headline(Quantity::Accuracy, &[FERMI_MACHINE], &[]);
        assert!((accuracy.all.unwrap() - 80.0).abs() < 1e-9);
        assert_eq!(accuracy.trivial, "40.00 (all CTAs)", "8 CTAs are off by 3 of 5");
        assert!((headline(Quantity::Saved, &[], &[CtaClass::Mem]).all.unwrap() - 31.25).abs() < 1e-9);
        let gain = headline(Quantity::Gain, &[], &[]);
        assert_eq!((gain.all, gain.unfitted, gain.marked), (Some(5.0), (Some(2.5), 2), (0, 3)));
        assert_eq!(headline(Quantity::Gain, &[KEPLER_MACHINE], &[CtaClass::Weak]).all, None);
    }

    #[test]
    fn the_published_figures_name_known_machines_and_kernels() {
        let file = published();
        assert_eq!(file.values.iter().filter(|value| value.of.quantity == Quantity::Saved).count(), 8);
        assert!(file.values.iter().all(|value| value.of.machines.iter().all(|machine| [FERMI_MACHINE, KEPLER_MACHINE].contains(&machine.as_str()))));
        assert!(file.own.parameters.in_full.iter().all(|name| kernel_library().own.kernel_named(name).is_some_and(|kernel| kernel.m2090.is_some())));
    }

    #[test]
    fn short_ctas_take_more_waves_after_the_detection() {
        let request = Request::default();
        let waves = |name: &str| {
            let kernel = kernel_library().own.kernel_named(name).unwrap();
            waves_after(&KernelGrid::from_job(&Job { parameters: Vec::new(), ..Thesis::new(&request).kernel_job(kernel, FERMI_MACHINE, &kernel.table_4_2) }).unwrap())
        };
        let least = published().own.parameters.waves;
        assert_eq!(waves("bt_k2"), least);
        assert!(waves("gaussian") > 4 * least, "{}", waves("gaussian"));
    }

    #[test]
    fn one_kernel_is_detected_on_both_machines_and_compared_with_a_policy_of_the_user() {
        let request = Request { policy: vec!["static_limit:ctas=1".into()], ..Request::default() };
        let thesis = Thesis::new(&request);
        let kernel = kernel_library().own.kernel_named("srad_1").unwrap();
        for (machine, cores, most) in [(FERMI_MACHINE, 16, 6), (KEPLER_MACHINE, 14, 8)] {
            let job = thesis.kernel_job(kernel, machine, &kernel.table_4_2);
            let grid = KernelGrid::from_job(&job).unwrap();
            let found = run_detection(&thesis, &job, &grid, most, false).unwrap();
            assert_eq!((grid.most, found.limits.len(), found.limited_runs.len()), (most, cores, 1));
            assert!(found.limits.iter().all(|limit| (1..=most).contains(limit)), "{:?}", found.limits);
            assert_eq!(found.run_with_all_ctas().cycles, found.run.cycles, "both are as long");
            assert!(found.settled.is_some() && found.ended() == RunEnd::Extrapolated);
            let candidate = found.candidate.as_ref().unwrap();
            assert!(found.speedup_percent(candidate, grid.grid_instructions()) < -20.0, "one CTA is slower than all");
        }
    }

    #[test]
    fn kernels_that_ran_in_full_show_the_error_of_extrapolating() {
        let points = [point(FERMI_MACHINE, CtaClass::Weak, 4.0, 1.0), point(KEPLER_MACHINE, CtaClass::Mem, 5.0, 4.0)];
        let in_full = [FullRun { kernel: "k".into(), machine: FERMI_MACHINE, detected_ctas: 4.0, gain: 3.5 }];
        let mut output = StudyOutput::new("perf-sat", String::new());
        add_rows(&mut output, &points, &in_full, None);
        compare_in_full(&mut output, &points, &in_full);
        assert_eq!(output.column("how"), Some(vec!["extrapolated", "in full", "extrapolated"]));
        assert_eq!(output.column("speed-up %"), Some(vec!["+1.00", "+3.50", "+4.00"]));
        assert_eq!(output.figure_named("extrapolated speed-up compared with that in full: mean distance, points"), Some(2.5));
    }
}
