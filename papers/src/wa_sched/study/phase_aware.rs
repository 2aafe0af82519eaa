//! `study phase-aware`: the kernels of Tables 3.2 and 3.3 under each warp scheduler, compared with Section 3.5 of the thesis.
//!
//! A kernel is of type A on a level if oldest first (the thesis's "GTO") beats round robin, otherwise of type B. Means are over
//! the kernels of a published type, so our means and the thesis's means are over the same kernels. The study also shows GTO as usually
//! defined (greedy, then oldest). Idle time is the share of scheduler cycles without an issue.

use std::sync::OnceLock;

use rayon::prelude::*;
use serde::Deserialize;

use warpshard_report::bars::{BarGroup, Bars};
use warpshard_lab::job::{Job, Run};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::{Published, read};
use warpshard_lab::request::Request;
use warpshard_lab::statistics::{mean, percent_over};
use warpshard_lab::verdict::{Aggregate, RunEnd, Headline};

use super::programs::KernelJob;
use super::{KernelGrid, ThesisKernel, StudyError, Thesis, kernel_library, tail};

/// The study's own part of its published file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StudySection {
    near: f64,
    types: PublishedTypes,
    tail: tail::Parameters,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PublishedTypes {
    single: TypeLists,
    two_level: TypeLists,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeLists {
    #[serde(rename = "A")]
    a: Vec<String>,
    #[serde(rename = "B")]
    b: Vec<String>,
}

/// The subject of a published mean over the kernels of a type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueSelector {
    quantity: Quantity,
    level: SchedulerLevel,
    #[serde(rename = "type")]
    of: PhaseType,
    order: WarpOrder,
    over: WarpOrder,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Quantity {
    SpeedUp,
    Idle,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum SchedulerLevel {
    Single,
    TwoLevel,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum PhaseType {
    A,
    B,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum WarpOrder {
    Lrr,
    Oldest,
    Phase,
    Gto,
}

impl SchedulerLevel {
    const ALL: [Self; 2] = [Self::Single, Self::TwoLevel];

    fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::TwoLevel => "two-level",
        }
    }

    /// Returns the warp orders that exist on the level.
    fn warp_orders(self) -> &'static [WarpOrder] {
        match self {
            Self::Single => &[WarpOrder::Lrr, WarpOrder::Oldest, WarpOrder::Phase, WarpOrder::Gto],
            Self::TwoLevel => &[WarpOrder::Lrr, WarpOrder::Oldest, WarpOrder::Phase],
        }
    }
}

impl WarpOrder {
    /// Returns the thesis's name of the order, except that the thesis's GTO is called oldest first.
    fn name(self) -> &'static str {
        match self {
            Self::Lrr => "RR",
            Self::Oldest => "oldest",
            Self::Phase => "phase-aware",
            Self::Gto => "GTO",
        }
    }

    /// Returns the value of `gpu.sm.order`.
    fn key(self, level: SchedulerLevel) -> String {
        let word = match self {
            Self::Lrr => "lrr",
            Self::Oldest => "oldest",
            Self::Phase => "phase",
            Self::Gto => "gto",
        };
        if level == SchedulerLevel::Single { word.to_owned() } else { format!("two-level-{word}") }
    }
}

impl PublishedTypes {
    fn type_of(&self, kernel: &str, level: SchedulerLevel) -> Option<PhaseType> {
        let lists = if level == SchedulerLevel::Single { &self.single } else { &self.two_level };
        let is_in = |list: &[String]| list.iter().any(|name| name == kernel);
        if is_in(&lists.a) { Some(PhaseType::A) } else { is_in(&lists.b).then_some(PhaseType::B) }
    }
}

/// A kernel on a level: warp instructions per core cycle, and the share of scheduler cycles without an issue, per order.
#[derive(Clone, Debug, PartialEq)]
struct OrderPoint {
    kernel: String,
    /// `true` if the kernel ran as a program, `false` if as a model.
    program: bool,
    level: SchedulerLevel,
    published: Option<PhaseType>,
    /// `true` if the model was fitted to the types of Figure 3.7.
    fitted: bool,
    ended: RunEnd,
    rates: Vec<f64>,
    idle_shares: Vec<f64>,
    /// Warp instructions per core cycle with the user's policy and order.
    candidate: Option<f64>,
}

impl OrderPoint {
    fn index(&self, order: WarpOrder) -> usize {
        self.level.warp_orders().iter().position(|o| *o == order).unwrap_or_default()
    }

    fn rate(&self, order: WarpOrder) -> f64 {
        self.rates[self.index(order)]
    }

    fn of_type(&self) -> PhaseType {
        if self.rate(WarpOrder::Oldest) >= self.rate(WarpOrder::Lrr) { PhaseType::A } else { PhaseType::B }
    }

    fn phase_over_better(&self) -> f64 {
        self.rate(WarpOrder::Phase) / self.rate(WarpOrder::Lrr).max(self.rate(WarpOrder::Oldest))
    }

    fn is_near(&self) -> bool {
        self.phase_over_better() >= 1.0 - published().own.near
    }
}

impl ValueSelector {
    /// Returns the mean of the kernels' speed-ups, or the ratio of the mean idle times, in percent.
    fn of_points(&self, points: &[&OrderPoint]) -> Option<f64> {
        match self.quantity {
            Quantity::SpeedUp => mean(points.iter().map(|point| percent_over(point.rate(self.order), point.rate(self.over)))),
            Quantity::Idle => {
                let idle = |order| mean(points.iter().map(|point| point.idle_shares[point.index(order)]));
                idle(self.order).zip(idle(self.over)).filter(|(_, base)| *base > 0.0).map(|(idle, base)| percent_over(idle, base))
            }
        }
    }

    fn headline(&self, points: &[OrderPoint]) -> Headline {
        let of: Vec<&OrderPoint> = points.iter().filter(|point| point.level == self.level && point.published == Some(self.of)).collect();
        Headline::new(&of, &point_aggregate(&|points| self.of_points(points), Some(("no difference", 0.0))))
    }
}

fn point_aggregate<'a>(of: &'a dyn Fn(&[&OrderPoint]) -> Option<f64>, trivial: Option<(&'a str, f64)>) -> Aggregate<'a, OrderPoint> {
    Aggregate { of, fitted: &|point| point.fitted, ended: &|point| point.ended, trivial }
}

fn published() -> &'static Published<StudySection, ValueSelector> {
    static PUBLISHED_FILE: OnceLock<Published<StudySection, ValueSelector>> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("phase-aware", include_str!("../published/phase-aware.toml")))
}

/// Runs the study.
///
/// # Errors
/// Fails if `--only` names no kernel, or a kernel cannot be run.
pub(crate) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let programs = match request.configuration.as_deref() {
        None | Some("programs") => true,
        Some("models") => false,
        Some(other) => return Err(StudyError::Input(format!("--configuration {other}: expected one of programs, models"))),
    };
    run(&Thesis::new(request), programs)
}

fn run(thesis: &Thesis<'_>, programs: bool) -> Result<StudyOutput, StudyError> {
    let machine = kernel_library().own.machines.phases.as_str();
    let kernels = thesis.kernels("Tables 3.2 and 3.3", |kernel| kernel.phases.is_some())?;
    let grid = |kernel: &&'static ThesisKernel| KernelJob::new(base_job(thesis, kernel), kernel, programs).grid();
    let grids = kernels.par_iter().map(grid).collect::<Result<Vec<_>, _>>().map_err(StudyError::input)?;
    let pairs: Vec<(&'static ThesisKernel, &KernelGrid, SchedulerLevel)> =
        kernels.iter().zip(&grids).flat_map(|(kernel, grid)| SchedulerLevel::ALL.map(|level| (*kernel, grid, level))).collect();
    let of_pair = |(kernel, grid, level): &(&'static ThesisKernel, &KernelGrid, SchedulerLevel)| {
        let job = base_job(thesis, kernel).cycles(grid.cycles(thesis.cycles));
        let lrr = job.clone().set("gpu.sm.order", WarpOrder::Lrr.key(*level));
        let orders = level.warp_orders().iter().map(|order| job.clone().set("gpu.sm.order", order.key(*level)));
        let jobs = orders.chain(thesis.candidate.iter().map(|candidate| candidate.apply(&lrr)));
        jobs.map(|job| KernelJob::new(job, kernel, programs)).collect::<Vec<KernelJob>>()
    };
    let jobs: Vec<Vec<KernelJob>> = pairs.iter().map(of_pair).collect();
    let mut runs = thesis.lab.run_tasks(&jobs.concat()).map_err(StudyError::input)?.into_iter();
    let gpu = base_job(thesis, kernels[0]).load().map_err(StudyError::input)?.machine.gpu;
    let slots = f64::from(gpu.sms * gpu.sm.schedulers);
    let point = |((kernel, grid, level), jobs): (&(&'static ThesisKernel, &KernelGrid, SchedulerLevel), &Vec<KernelJob>)| {
        let runs: Vec<(Run, &KernelJob)> = runs.by_ref().take(jobs.len()).zip(jobs).collect();
        let mut rates: Vec<f64> = runs.iter().map(|(run, job)| run.steady_rate(job.job.cycles)).collect();
        let candidate = rates.get(level.warp_orders().len()).copied();
        rates.truncate(level.warp_orders().len());
        OrderPoint {
            kernel: kernel.name.clone(),
            program: jobs[0].program.is_some(),
            level: *level,
            published: published().own.types.type_of(&kernel.name, *level),
            fitted: grid.is_fitted_to("Figure 3.7", &[]),
            ended: if runs.iter().all(|(run, _)| run.ended) { RunEnd::Whole } else { RunEnd::Cut },
            idle_shares: rates.iter().map(|rate| 1.0 - rate / slots).collect(),
            rates,
            candidate,
        }
    };
    let points: Vec<OrderPoint> = pairs.iter().zip(&jobs).map(point).collect();
    let of = if programs { "programs" } else { "models" };
    let title = format!("warp schedulers on {machine}, kernels as {of}, compared with {}; runs of {} cycles or more", published().source, thesis.cycles);
    let mut output = StudyOutput::new("phase-aware", title);
    add_rows(&mut output, &points, thesis.candidate_name());
    table_of_runs(&mut output, &points);
    for value in &published().values {
        output.grade_headline(value, &value.of.headline(&points));
    }
    grade_shares(&mut output, &points);
    add_bar_charts(&mut output, &points, machine);
    tail::add_residency_plots(&mut output, thesis, &published().own.tail).map_err(StudyError::input)?;
    Ok(output)
}

/// Simulates a kernel with a value of `gpu.sm.order` and returns its row of `runs.csv`.
#[cfg(test)]
pub(crate) fn recompute_row(kernel: &str, order: &str) -> String {
    use warpshard_lab::Task;
    let request = Request::default();
    let thesis = Thesis::new(&request);
    let kernel = kernel_library().own.kernel_named(kernel).expect("a kernel of the study");
    let job = KernelJob::new(base_job(&thesis, kernel), kernel, true);
    let cycles = job.grid().expect("it has a grid").cycles(thesis.cycles);
    let job = KernelJob { job: job.job.cycles(cycles).set("gpu.sm.order", order), program: job.program };
    let gpu = job.job.load().expect("the machine is there").machine.gpu;
    let rate = job.run().expect("the study runs").steady_rate(cycles);
    format!("{},{order},{rate:.4},{:.4}", kernel.name, 1.0 - rate / f64::from(gpu.sms * gpu.sm.schedulers))
}

fn base_job(thesis: &Thesis<'_>, kernel: &ThesisKernel) -> Job {
    thesis.kernel_job(kernel, &kernel_library().own.machines.phases, &Default::default())
}

fn format_yes_no(yes: bool) -> String {
    String::from(if yes { "yes" } else { "no" })
}

fn add_rows(output: &mut StudyOutput, points: &[OrderPoint], candidate: Option<String>) {
    let columns = ["kernel", "level", "RR IPC", "oldest/RR", "phase/RR", "gto/RR", "type", "published", "agrees", "phase/better", "near", "as"];
    let candidate = candidate.map(|name| format!("{name}/RR"));
    output.columns(&columns.into_iter().chain(["run"]).chain(candidate.as_deref()).collect::<Vec<_>>());
    for point in points {
        let over = |rate: f64| format!("{:.3}", rate / point.rate(WarpOrder::Lrr));
        let gto = if point.level == SchedulerLevel::Single { over(point.rate(WarpOrder::Gto)) } else { "-".into() };
        let mut cells = vec![
            point.kernel.clone(),
            point.level.name().into(),
            format!("{:.2}", point.rate(WarpOrder::Lrr)),
            over(point.rate(WarpOrder::Oldest)),
            over(point.rate(WarpOrder::Phase)),
            gto,
            format!("{:?}", point.of_type()),
            point.published.map_or_else(|| "-".into(), |published| format!("{published:?}")),
            format_yes_no(point.published == Some(point.of_type())),
            format!("{:.3}", point.phase_over_better()),
            format_yes_no(point.is_near()),
            if point.program { "program" } else { "model" }.into(),
            if point.ended == RunEnd::Cut { "cut" } else { "whole" }.into(),
        ];
        cells.extend(point.candidate.map(over));
        output.row(cells);
    }
}

/// Adds the share of kernels with the published type, and the share of points with phase-aware near the better order.
fn grade_shares(output: &mut StudyOutput, points: &[OrderPoint]) {
    let percent = |holds: bool| 100.0 * f64::from(u8::from(holds));
    for level in SchedulerLevel::ALL {
        let of: Vec<&OrderPoint> = points.iter().filter(|point| point.level == level).collect();
        let trivial = mean(of.iter().map(|point| percent(point.published == Some(PhaseType::A)))).unwrap_or_default();
        let agree = |points: &[&OrderPoint]| mean(points.iter().map(|point| percent(point.published == Some(point.of_type()))));
        let by = point_aggregate(&agree, Some(("all of type A", trivial)));
        output.headline(&format!("{}: kernels of the published type, %", level.name()), &Headline::new(&of, &by));
    }
    let all: Vec<&OrderPoint> = points.iter().collect();
    let oldest = |point: &&OrderPoint| percent(point.rate(WarpOrder::Oldest) >= point.rate(WarpOrder::Lrr) * (1.0 - published().own.near));
    let near = |points: &[&OrderPoint]| mean(points.iter().map(|point| percent(point.is_near())));
    let by = point_aggregate(&near, mean(all.iter().map(oldest)).map(|share| ("oldest first everywhere", share)));
    output.headline("points with phase-aware within 2 % of the better of RR and oldest, %", &Headline::new(&all, &by));
    output.note(
        "\"oldest\" is the order that the thesis calls GTO; types and means use it. Means are arithmetic, over kernels of the published type"
            .into(),
    );
}

/// Adds the table of all runs.
fn table_of_runs(output: &mut StudyOutput, points: &[OrderPoint]) {
    let rows = points.iter().flat_map(|point| {
        let orders = point.level.warp_orders().iter().zip(&point.rates).zip(&point.idle_shares);
        orders.map(|((order, rate), idle)| vec![point.kernel.clone(), order.key(point.level), format!("{rate:.4}"), format!("{idle:.4}")])
    });
    output.table("runs.csv", &["kernel", "order", "warp_instructions_per_cycle", "idle_share"], rows.collect());
}

/// Adds bar charts of speed-ups over round robin in the manner of Figure 3.7.
fn add_bar_charts(output: &mut StudyOutput, points: &[OrderPoint], machine: &str) {
    for (level, names) in [(SchedulerLevel::Single, "single.svg"), (SchedulerLevel::TwoLevel, "two-level.svg")] {
        let others = &level.warp_orders()[1..];
        let groups = points.iter().filter(|point| point.level == level).map(|point| BarGroup {
            name: point.kernel.clone(),
            values: others.iter().map(|order| point.rate(*order) / point.rate(WarpOrder::Lrr)).collect(),
        });
        let (title, y) = (format!("Performance by warp scheduler, {} ({machine})", level.name()), "IPC over that of RR".into());
        let series = others.iter().map(|order| order.name().to_owned()).collect();
        output.bars(names, Bars { title, y, series, groups: groups.collect(), line: Some(1.0) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(kernel: &str, rates: [f64; 4]) -> OrderPoint {
        let idle = rates.iter().map(|rate| 1.0 - rate / 16.0).collect();
        let (level, published, fitted) = (SchedulerLevel::Single, Some(PhaseType::A), kernel == "f");
        OrderPoint { kernel: kernel.into(), program: false, level, published, fitted, ended: RunEnd::Cut, rates: rates.into(), idle_shares: idle, candidate: None }
    }

    #[test]
    fn every_kernel_has_a_published_type_on_both_levels() {
        let kernels: Vec<&ThesisKernel> = kernel_library().own.kernel.iter().filter(|kernel| kernel.phases.is_some()).collect();
        let types = &published().own.types;
        assert!(kernels.iter().all(|kernel| SchedulerLevel::ALL.iter().all(|level| types.type_of(&kernel.name, *level).is_some())));
        assert_eq!([types.single.a.len(), types.two_level.b.len()], [11, 6]);
        assert!(published().own.tail.kernels.iter().all(|name| kernel_library().own.kernel_named(name).is_some()));
    }

    #[test]
    fn the_better_order_makes_the_type_and_phase_aware_is_near_within_2_percent() {
        let a = point("a", [10.0, 12.0, 11.8, 12.5]);
        assert_eq!((a.of_type(), a.is_near()), (PhaseType::A, true));
        let b = point("b", [10.0, 9.0, 9.7, 9.0]);
        assert_eq!((b.of_type(), b.is_near()), (PhaseType::B, false));
    }

    #[test]
    fn speed_ups_are_means_of_ratios_and_idle_time_is_a_ratio_of_means() {
        let points = [point("a", [8.0, 12.0, 10.0, 8.0]), point("f", [12.0, 12.0, 12.0, 12.0])];
        let mean = |quantity, of| ValueSelector { quantity, level: SchedulerLevel::Single, of, order: WarpOrder::Oldest, over: WarpOrder::Lrr }.headline(&points);
        let speed_up = mean(Quantity::SpeedUp, PhaseType::A);
        assert_eq!((speed_up.all, speed_up.unfitted, speed_up.marked), (Some(25.0), (Some(50.0), 1), (2, 0)));
        // The idle shares are 0.5 and 0.25 under round robin, and 0.25 for both under oldest first.
        let idle = mean(Quantity::Idle, PhaseType::A).all.unwrap();
        assert!((idle + 100.0 / 3.0).abs() < 1e-9, "{idle}");
        assert_eq!(mean(Quantity::SpeedUp, PhaseType::B).all, None);
    }

    #[test]
    fn one_kernel_runs_from_end_to_end_with_an_order_of_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Some(folder.path().to_owned());
        let request = Request { only: Some("bt_k2".into()), order: Some("gto".into()), cache, ..Request::default() };
        let thesis = Thesis { cycles: 4000, ..Thesis::new(&request) };
        let output = run(&thesis, false).unwrap();
        assert_eq!(output.column("level"), Some(vec!["single", "two-level"]));
        assert!(output.column("RR IPC").unwrap().iter().all(|ipc| ipc.parse::<f64>().unwrap() > 0.0));
        assert_eq!(output.column("order gto/RR").unwrap()[0], output.column("gto/RR").unwrap()[0], "GTO is in the study, too");
        assert!(output.text().contains("single, type A: speed-up of oldest over RR, %"));
    }
}
