//! `study perf-sat`: the kernels of Table 4.2 under Perf-Sat, beside Section 4.3.3 of the thesis.
//!
//! Perf-Sat's detection is simulated in full, and then some waves of CTAs more; the rest of the grid is reckoned at the rate of
//! those waves and marked as extrapolated. Beside it the kernel runs with every limit of CTAs for as long. The optimum and the
//! run with all CTAs that Perf-Sat is compared with come from these, at their rates in the same stretch behind the detection,
//! since rates vary over a grid: what is found early is to be right later. A grid that ends before is compared as a whole.
//! What Perf-Sat detected is the mean of its limits over the cores. The class that a mean is over is the published one.
//!
//! A few kernels of short grids run to their end as well, to show what extrapolating costs.

use std::ops::RangeInclusive;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::chip::{RunOptions, simulate};
use crate::config::Machine;
use crate::frontend::model::{builtin_model, builtin_text};
use crate::policy::registry;
use crate::report::bars::{Bars, Group};
use crate::stats::Outcome;
use crate::study::{StudyError, StudyOutput};

use super::characterise::{FERMI_31, KEPLER, Options, class, optimum, optimum_by_steps, workload};
use super::kernels::{Grid, of_table_4_2};
use super::published::{Class, CtaCells, Kernel, published};
use super::stated::{self, Kind, Stated, mean, percent_over};
use super::steady::{Measured, issued, kept, warp_instructions};

/// CTA waves after the last core has settled, at least.
const WAVES: u32 = 16;
/// Core cycles that these are to last if each core issued one instruction per cycle: where CTAs are as short as Gaussian's, sixteen waves
/// are a small part of a grid whose rate varies.
const BEHIND: f64 = 60_000.0;
/// Core cycles after which a detection is given up.
const LONGEST: u64 = 4_000_000;
/// Core cycles of an interval of the series.
const INTERVAL: u64 = 1000;
/// Kernels whose grids are short enough to run to their end beside what is extrapolated, on the M2090.
const IN_FULL: [&str; 5] = ["cfd", "gaussian", "lud", "srad_2", "srad_6"];

/// The published figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    source: String,
    figure: Vec<Figure>,
}

/// A mean over kernels and machines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    quantity: Quantity,
    #[serde(default)]
    machines: Vec<String>,
    #[serde(default)]
    classes: Vec<Class>,
    value: f64,
    within: Option<(f64, f64)>,
    section: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Quantity {
    Accuracy,
    Saved,
    Gain,
}

/// What a run under Perf-Sat gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Detected {
    /// The last limit of each core.
    limits: Vec<u32>,
    /// The cycle in which the last core settled; `None` when one did not.
    settled: Option<u64>,
    /// The run, with the rate behind that cycle.
    run: Measured,
    /// Runs that are as long with a limit of 1 CTA, 2, and so on up to all, and their rates behind that cycle; with all CTAs
    /// alone where nothing else was asked for.
    limited: Vec<Measured>,
}

/// The last limit of each core, and the cycle in which the last one settled, if all did.
fn limits(outcome: &Outcome, cores: u32) -> (Vec<u32>, Option<u64>) {
    let mut limits = vec![0; cores as usize];
    let mut settled = vec![None; cores as usize];
    for entry in &outcome.timeline {
        let (Some(value), core) = (entry.value, entry.sm.map(usize::from)) else { continue };
        match (entry.name, core) {
            ("cta_limit", Some(core)) => limits[core] = value as u32,
            ("cta_limit", None) => limits.fill(value as u32),
            ("settled", Some(core)) => settled[core] = Some(entry.cycle),
            _ => {}
        }
    }
    (limits, settled.into_iter().collect::<Option<Vec<u64>>>().and_then(|cycles| cycles.into_iter().max()))
}

/// What a run gave, with its rate from a cycle on; of the whole run where that leaves no interval.
fn measured(outcome: &Outcome, from: u64, launch: u64) -> Measured {
    let rows = outcome.intervals.iter().filter(|row| row.cycle.is_multiple_of(INTERVAL) && row.cycle >= from + INTERVAL);
    let steady: Vec<u64> = rows.map(|row| issued(&row.counters)).collect();
    let (all, cycles) = (warp_instructions(outcome), outcome.cycles.saturating_sub(launch).max(1));
    let rate = match steady.len() as u64 {
        0 => all as f64 / cycles as f64,
        rows => steady.iter().sum::<u64>() as f64 / (rows * INTERVAL) as f64,
    };
    let ended = outcome.kernels.iter().all(|kernel| kernel.ended.is_some());
    Measured { rate, issued: all, cycles, ended }
}

impl Detected {
    /// The mean limit over the cores.
    fn count(&self) -> f64 {
        mean(self.limits.iter().map(|limit| f64::from(*limit))).unwrap_or(0.0)
    }

    /// The run with all CTAs.
    fn all(&self) -> &Measured {
        self.limited.last().unwrap_or(&self.run)
    }

    /// Whether a run stopped before its grid ended.
    fn is_extrapolated(&self) -> bool {
        !self.run.ended || !self.all().ended
    }

    /// Speed-up of Perf-Sat over all CTAs for a grid of so many instructions, in percent.
    fn gain(&self, instructions: f64) -> f64 {
        percent_over(whole(self.all(), instructions), whole(&self.run, instructions))
    }
}

/// Core cycles of a whole grid: those simulated, and the rest of its instructions at the run's rate.
fn whole(run: &Measured, instructions: f64) -> f64 {
    let rest = if run.ended { 0.0 } else { (instructions - run.issued as f64).max(0.0) };
    run.cycles as f64 + rest / run.rate.max(f64::MIN_POSITIVE)
}

/// A kernel on a machine.
#[derive(Clone, Debug)]
struct Point {
    kernel: String,
    machine: &'static str,
    published: CtaCells,
    most: u32,
    optimum: u32,
    /// The optimum after the other reading, step by step.
    by_steps: u32,
    class: Class,
    detected: f64,
    settled: bool,
    extrapolated: bool,
    /// Speed-up over all CTAs, in percent.
    gain: f64,
    /// That of the optimum.
    best_gain: f64,
    fitted: bool,
}

impl Point {
    fn error(&self) -> f64 {
        self.error_against(self.optimum)
    }

    fn error_against(&self, optimum: u32) -> f64 {
        (self.detected - f64::from(optimum)).abs() / f64::from(optimum)
    }

    /// Threads and registers left free, of those that all CTAs take; both grow with the number of CTAs.
    fn saved(&self) -> f64 {
        saved(self.detected, self.most)
    }
}

/// The part of the threads and registers that `all` CTAs take which `detected` leave free, in percent.
fn saved(detected: f64, all: u32) -> f64 {
    100.0 * (1.0 - detected / f64::from(all))
}

impl Figure {
    fn name(&self) -> String {
        let machines = if self.machines.is_empty() { "both machines".into() } else { self.machines.join(", ") };
        let classes = self.classes.iter().map(|class| class.name()).collect::<Vec<_>>().join(" and ");
        let of = if classes.is_empty() { machines } else { format!("{machines}, {classes}") };
        match self.quantity {
            Quantity::Accuracy => format!("{of}: accuracy of the detected count, %"),
            Quantity::Saved => format!("{of}: threads and registers saved, %"),
            Quantity::Gain => format!("{of}: speed-up over all CTAs, %"),
        }
    }

    fn ours(&self, points: &[Point], fitted_too: bool) -> Stated<'_> {
        let of: Vec<&Point> = points
            .iter()
            .filter(|point| self.machines.is_empty() || self.machines.iter().any(|machine| machine == point.machine))
            .filter(|point| self.classes.is_empty() || self.classes.contains(&point.published.class))
            .filter(|point| fitted_too || !point.fitted)
            .collect();
        let ours = match self.quantity {
            Quantity::Accuracy => mean(of.iter().map(|point| point.error())).map(|error| 100.0 * (1.0 - error)),
            Quantity::Saved => mean(of.iter().map(|point| point.saved())),
            Quantity::Gain => mean(of.iter().map(|point| point.gain)),
        };
        let kind = if self.within.is_some() { Kind::Number } else { Kind::Direction };
        let within = self.within.unwrap_or((self.value, self.value));
        Stated { figure: self.name(), ours, kernels: of.len(), published: self.value, kind, within, section: &self.section }
    }
}

fn read() -> Published {
    match toml::from_str(include_str!("../../../configs/published/perf_sat.toml")) {
        Ok(published) => published,
        Err(error) => panic!("configs/published/perf_sat.toml: {error}"),
    }
}

/// Runs the study; with `full` grids are simulated to their end, and nothing is extrapolated.
///
/// # Errors
/// When `only` names no kernel, or a kernel does not run.
pub fn run(options: &Options, full: bool) -> Result<StudyOutput, StudyError> {
    let stated = read();
    let library = published();
    let wanted = |kernel: &&Kernel| options.only.as_ref().is_none_or(|only| kernel.name.contains(only.as_str()));
    let pairs: Vec<(&Kernel, &'static str, CtaCells)> = library
        .kernel
        .iter()
        .filter(wanted)
        .flat_map(|kernel| {
            [(FERMI_31, kernel.m2090), (KEPLER, kernel.k20x)].map(|(machine, cells)| cells.map(|cells| (kernel, machine, cells)))
        })
        .flatten()
        .collect();
    if pairs.is_empty() {
        return Err(StudyError::Input("no kernel of Table 4.2 has such a name".into()));
    }
    let (points, in_full) = rayon::join(
        || pairs.par_iter().map(|(kernel, machine, cells)| point(kernel, machine, *cells, options, full)).collect::<Result<Vec<_>, _>>(),
        || {
            let short =
                pairs.par_iter().filter(|(kernel, machine, _)| !full && *machine == FERMI_31 && IN_FULL.contains(&kernel.name.as_str()));
            short.map(|(kernel, machine, _)| InFull::of(kernel, machine, options)).collect::<Result<Vec<_>, _>>()
        },
    );
    let (points, in_full) = (points.map_err(StudyError::Input)?, in_full.map_err(StudyError::Input)?);
    let how = if full { "whole grids".to_owned() } else { format!("detection and {WAVES} waves of CTAs or more, the rest extrapolated") };
    let mut output = StudyOutput::new("perf-sat", format!("Perf-Sat beside {}: {how}", stated.source));
    rows(&mut output, &points, &in_full);
    for figure in &stated.figure {
        output.compare(&stated::COLUMNS, figure.ours(&points, true).cells());
    }
    figures(&mut output, &points, &stated);
    beside(&mut output, &points, &in_full);
    bars(&mut output, &points);
    Ok(output)
}

fn point(kernel: &Kernel, machine: &'static str, published: CtaCells, options: &Options, full: bool) -> Result<Point, String> {
    let grid = Grid::of(kernel, machine, &of_table_4_2(kernel))?;
    let detected = detect(kernel, machine, 1..=grid.most, options, full)?;
    let rates: Vec<f64> = detected.limited.iter().map(Measured::mean_rate).collect();
    let best = optimum(&rates);
    let column = if machine == FERMI_31 { "M2090" } else { "K20X" };
    Ok(Point {
        kernel: kernel.name.clone(),
        machine,
        published,
        most: grid.most,
        optimum: best,
        by_steps: optimum_by_steps(&rates),
        class: class(&rates),
        detected: detected.count(),
        settled: detected.settled.is_some(),
        extrapolated: detected.is_extrapolated(),
        gain: detected.gain(grid.instructions()),
        best_gain: percent_over(rates[best as usize - 1], rates[rates.len() - 1]),
        fitted: grid.fitted_to.iter().any(|figure| {
            figure.starts_with("Table 4.2") && figure.contains(column) && ["Opt", "Type"].iter().any(|word| figure.contains(word))
        }),
    })
}

/// A kernel that ran to the end of its grid under Perf-Sat and with all CTAs.
#[derive(Clone, Debug)]
struct InFull {
    kernel: String,
    machine: &'static str,
    detected: f64,
    gain: f64,
}

impl InFull {
    fn of(kernel: &Kernel, machine: &'static str, options: &Options) -> Result<Self, String> {
        let grid = Grid::of(kernel, machine, &of_table_4_2(kernel))?;
        let detected = detect(kernel, machine, grid.most..=grid.most, options, true)?;
        Ok(Self { kernel: kernel.name.clone(), machine, detected: detected.count(), gain: detected.gain(grid.instructions()) })
    }

    fn is_of(&self, point: &Point) -> bool {
        self.kernel == point.kernel && self.machine == point.machine
    }
}

/// CTA waves that are simulated behind the detection.
fn waves_behind(grid: &Grid) -> u32 {
    ((BEHIND / (grid.per_cta * f64::from(grid.most))).ceil() as u32).max(WAVES)
}

/// A run under Perf-Sat, and one for each of the limits that is as long; to the end of the grid when `full`.
fn detect(kernel: &Kernel, machine: &str, limits_of: RangeInclusive<u32>, options: &Options, full: bool) -> Result<Detected, String> {
    let loaded = Machine::load(machine, &[]).map_err(|errors| errors.to_string())?;
    let (name, parameters) = (workload(kernel), of_table_4_2(kernel));
    let (waves, longest) = if full { (0, None) } else { (waves_behind(&Grid::of(kernel, machine, &parameters)?), Some(LONGEST)) };
    let of = ("perf-sat", loaded.provenance.to_toml(), &name, &parameters, builtin_text(&name), &limits_of, waves, longest);
    kept(options.cache.as_deref(), "detected", of, || {
        let machine = &loaded.machine;
        let launch = machine.gpu.dispatch.launch_latency;
        let run = |machine: &Machine, controllers, max_cycles| {
            let model = builtin_model(&name, 1, &parameters).map_err(|error| error.to_string())?;
            let options = RunOptions { max_cycles, interval: Some(INTERVAL), controllers, ..RunOptions::default() };
            simulate(machine, &Arc::new(model.workload()), options).map(|result| result.outcome).map_err(|error| error.to_string())
        };
        let mut table = toml::Table::new();
        table.insert("stop_after".into(), i64::from(waves).into());
        let policy = registry::find("perf_sat").and_then(|policy| (policy.build)(table)).map_err(|error| error.to_string())?;
        let outcome = run(machine, vec![policy], longest.map(|cycles| launch + cycles))?;
        let (limits, settled) = limits(&outcome, machine.gpu.sms);
        let from = settled.unwrap_or(outcome.counted_until);
        let found = measured(&outcome, from, launch);
        let limited = limits_of
            .clone()
            .into_par_iter()
            .map(|limit| {
                let mut machine = machine.clone();
                machine.gpu.sm.max_ctas = machine.gpu.sm.max_ctas.min(limit);
                let outcome = run(&machine, Vec::new(), (!found.ended).then_some(outcome.cycles))?;
                Ok(measured(&outcome, from, launch))
            })
            .collect::<Result<Vec<Measured>, String>>()?;
        Ok(Detected { limits, settled, run: found, limited })
    })
}

fn rows(output: &mut StudyOutput, points: &[Point], in_full: &[InFull]) {
    output.columns(&[
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
    ]);
    for point in points {
        let mut how = if point.extrapolated { "extrapolated" } else { "simulated" }.to_owned();
        if !point.settled {
            how.push_str(", not settled");
        }
        output.row(vec![
            point.kernel.clone(),
            point.machine.into(),
            point.most.to_string(),
            point.optimum.to_string(),
            point.published.opt.to_string(),
            format!("{:.2}", point.detected),
            point.class.name().into(),
            point.published.class.name().into(),
            format!("{:.1}", point.saved()),
            format!("{:+.2}", point.gain),
            format!("{:+.2}", point.best_gain),
            how,
        ]);
        for full in in_full.iter().filter(|full| full.is_of(point)) {
            let blank = String::from("-");
            output.row(vec![
                full.kernel.clone(),
                full.machine.into(),
                point.most.to_string(),
                blank.clone(),
                point.published.opt.to_string(),
                format!("{:.2}", full.detected),
                blank.clone(),
                point.published.class.name().into(),
                format!("{:.1}", saved(full.detected, point.most)),
                format!("{:+.2}", full.gain),
                blank,
                "in full".into(),
            ]);
        }
    }
}

/// What extrapolating changed of the speed-ups of the kernels that ran to their end as well.
fn beside(output: &mut StudyOutput, points: &[Point], in_full: &[InFull]) {
    let off: Vec<f64> = in_full
        .iter()
        .filter_map(|full| points.iter().find(|point| full.is_of(point)).map(|point| (point.gain - full.gain).abs()))
        .collect();
    if let Some(mean) = mean(off.iter().copied()) {
        output.figure("extrapolated speed-up against that in full: mean distance, points", mean);
        output.figure("extrapolated speed-up against that in full: greatest distance, points", off.iter().copied().fold(0.0, f64::max));
    }
}

fn figures(output: &mut StudyOutput, points: &[Point], stated: &Published) {
    let of_class = |class| mean(points.iter().filter(|point| point.class == class).map(|point| point.gain));
    for class in [Class::Strong, Class::Weak, Class::Mem] {
        if let Some(gain) = of_class(class) {
            output.figure(&format!("speed-up over all CTAs, of the points that are {} here, %", class.name()), gain);
        }
    }
    for machine in [FERMI_31, KEPLER] {
        let of = points.iter().filter(|point| point.machine == machine);
        if let Some(error) = mean(of.map(|point| point.error_against(point.by_steps))) {
            output.figure(&format!("{machine}: accuracy against the optimum read step by step, %"), 100.0 * (1.0 - error));
        }
    }
    if points.iter().any(|point| point.fitted) {
        for figure in &stated.figure {
            let (row, all) = (figure.ours(points, false), figure.ours(points, true));
            if let (true, Some(ours)) = (row.kernels < all.kernels, row.ours) {
                output.figure(&format!("{} (over the {} not fitted to an optimum or a class)", row.figure, row.kernels), ours);
            }
        }
    } else {
        output.note("no kernel was fitted to an optimum or a class, so the means are over kernels not fitted to them".into());
    }
    output.note("the accuracy is against our optimum; means by class are over the published classes".into());
}

/// Counts in the manner of Figure 4.5.
fn bars(output: &mut StudyOutput, points: &[Point]) {
    for (machine, names) in [(FERMI_31, ["m2090.svg", "m2090.png"]), (KEPLER, ["k20x.svg", "k20x.png"])] {
        let of = points.iter().filter(|point| point.machine == machine);
        let group = |point: &Point| Group {
            name: point.kernel.clone(),
            values: vec![f64::from(point.most), f64::from(point.optimum), point.detected],
        };
        output.bars(
            names,
            Bars {
                title: format!("CTAs per core ({machine})"),
                y: "CTAs".into(),
                series: ["all", "optimum", "Perf-Sat"].map(String::from).into(),
                groups: of.map(group).collect(),
                line: None,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(machine: &'static str, class: Class, detected: f64, gain: f64) -> Point {
        let published = CtaCells { max: 8, opt: 5, class };
        Point {
            kernel: "k".into(),
            machine,
            published,
            most: 8,
            optimum: 5,
            by_steps: 4,
            class,
            detected,
            settled: true,
            extrapolated: false,
            gain,
            best_gain: 0.0,
            fitted: gain > 9.0,
        }
    }

    #[test]
    fn the_rest_of_a_grid_is_reckoned_at_the_rate_of_the_run() {
        let run = Measured { rate: 10.0, issued: 4000, cycles: 500, ended: false };
        assert_eq!(whole(&run, 10_000.0), 1100.0);
        assert_eq!(whole(&run, 3000.0), 500.0, "a grid that was estimated too small");
        assert_eq!(whole(&Measured { ended: true, ..run }, 10_000.0), 500.0);
    }

    #[test]
    fn accuracy_savings_and_gains_are_means_over_the_machines_and_classes_named() {
        let points = [point(FERMI_31, Class::Weak, 4.0, 1.0), point(FERMI_31, Class::Mem, 6.0, 10.0), point(KEPLER, Class::Mem, 5.0, 4.0)];
        let figure = |quantity, machines: &[&str], classes: &[Class]| Figure {
            quantity,
            machines: machines.iter().map(|machine| (*machine).to_owned()).collect(),
            classes: classes.to_vec(),
            value: 1.0,
            within: None,
            section: String::new(),
        };
        let ours = |quantity, machines: &[&str], classes: &[Class]| figure(quantity, machines, classes).ours(&points, true).ours.unwrap();
        assert!((ours(Quantity::Accuracy, &[FERMI_31], &[]) - 80.0).abs() < 1e-9);
        assert!((ours(Quantity::Saved, &[], &[Class::Mem]) - 31.25).abs() < 1e-9);
        assert!((ours(Quantity::Gain, &[], &[]) - 5.0).abs() < 1e-9);
        assert!((points[0].error_against(points[0].by_steps) - 0.0).abs() < 1e-9, "4 of 4 step by step, of 5 otherwise");
        let unfitted = figure(Quantity::Gain, &[], &[Class::Mem]);
        assert_eq!(unfitted.ours(&points, false).ours, Some(4.0));
        assert_eq!(figure(Quantity::Gain, &[KEPLER], &[Class::Weak]).ours(&points, true).verdict(), "not run");
    }

    #[test]
    fn the_published_figures_are_read() {
        let stated = read();
        assert_eq!(stated.figure.iter().filter(|figure| figure.quantity == Quantity::Saved).count(), 8);
        assert!(stated.figure.iter().all(|figure| figure.machines.iter().all(|machine| [FERMI_31, KEPLER].contains(&machine.as_str()))));
    }

    #[test]
    fn short_ctas_take_more_waves_behind_the_detection() {
        let library = published();
        let waves = |name: &str| {
            let kernel = library.kernel.iter().find(|kernel| kernel.name == name).unwrap();
            waves_behind(&Grid::of(kernel, FERMI_31, &[]).unwrap())
        };
        assert_eq!(waves("bt_k2"), WAVES);
        assert!(waves("gaussian") > 4 * WAVES, "{}", waves("gaussian"));
    }

    #[test]
    fn one_kernel_is_detected_on_both_machines() {
        let library = published();
        let kernel = library.kernel.iter().find(|kernel| kernel.name == "srad_1").unwrap();
        let options = Options { cycles: 4000, only: None, cache: None };
        for (machine, cores, most) in [(FERMI_31, 16, 6), (KEPLER, 14, 8)] {
            let found = detect(kernel, machine, most..=most, &options, false).unwrap();
            assert_eq!((found.limits.len(), found.limited.len()), (cores, 1));
            assert!(found.limits.iter().all(|limit| (1..=most).contains(limit)), "{:?}", found.limits);
            assert_eq!(found.all().cycles, found.run.cycles, "both are as long");
            assert!(found.settled.is_some() && found.is_extrapolated());
        }
    }

    #[test]
    fn what_extrapolating_changed_is_told_by_the_kernels_that_ran_in_full() {
        let points = [point(FERMI_31, Class::Weak, 4.0, 1.0), point(KEPLER, Class::Mem, 5.0, 4.0)];
        let in_full = [InFull { kernel: "k".into(), machine: FERMI_31, detected: 4.0, gain: 3.5 }];
        let mut output = StudyOutput::new("perf-sat", String::new());
        rows(&mut output, &points, &in_full);
        beside(&mut output, &points, &in_full);
        assert_eq!(output.column("how"), Some(vec!["simulated", "in full", "simulated"]));
        assert_eq!(output.column("speed-up %"), Some(vec!["+1.00", "+3.50", "+4.00"]));
        assert_eq!(output.figure_named("extrapolated speed-up against that in full: mean distance, points"), Some(2.5));
    }
}
