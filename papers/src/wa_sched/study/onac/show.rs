//! Tables, figures and plots of the study.

use warpshard_report::bars::{BarGroup, Bars};
use warpshard_report::plot::{PlotForm, Plot, Series};
use warpshard_lab::job::Row;
use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::Value;
use warpshard_lab::statistics::mean;
use warpshard_lab::verdict::{Aggregate, RunEnd, Headline};

use crate::wa_sched::study::CoreType;
use super::oracle::MACHINE_CORES;
use super::point::{GatingPoint, RelativeResult};
use super::published::{ValueSelector, Quantity, DetectionScheme, published};

/// The kernels of Figures 4.9 and 4.10 with the files of their plots of latency and of power.
const LATENCY_AND_POWER_PLOTS: [(&str, &str, &str); 2] = [
    ("pathfinder", "amat-pathfinder.svg", "power-pathfinder.svg"),
    ("bp_k2", "amat-bp_k2.svg", "power-bp_k2.svg"),
];

/// Adds all tables, figures and plots to the output.
pub(super) fn add_all(output: &mut StudyOutput, points: &[GatingPoint], candidate: Option<String>) {
    add_rows(output, points, candidate);
    for value in &published().values {
        output.grade_headline(value, &value.of.headline(points));
    }
    points.iter().for_each(|point| grade_core_numbers(output, point));
    grade_figures(output, points);
    add_notes(output, points);
    add_curves(output, points);
    add_detection_charts(output, points);
}

/// Formats a value; "-" for `None`.
fn or_dash(value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(|| "-".into(), |value| value.to_string())
}

pub(super) fn add_rows(output: &mut StudyOutput, points: &[GatingPoint], candidate: Option<String>) {
    let columns = [
        "kernel",
        "type",
        "published",
        "oracle",
        "ONAC",
        "Seq-Det",
        "first estimate",
        "ONAC perf. %",
        "Seq-Det perf. %",
        "ONAC saves %",
        "Seq-Det saves %",
        "ONAC det. kcycles",
        "Seq-Det det. kcycles",
        "ONAC det. % of run",
        "Seq-Det det. % of run",
        "ONAC from empty LLC",
        "as",
        "how",
    ];
    let candidate = candidate.map(|name| [format!("{name} perf. %"), format!("{name} saves %")]);
    output.columns(&columns.into_iter().chain(candidate.iter().flatten().map(String::as_str)).collect::<Vec<_>>());
    for point in points {
        let [onac, seq] = DetectionScheme::ALL.map(|scheme| point.detection(scheme));
        let mut cells = vec![
            point.entry.name.clone(),
            format!("{:?}", point.of_type()),
            format!("{:?}", point.published),
            point.curve.least_cores.to_string(),
            or_dash(onac.found_cores),
            or_dash(seq.found_cores),
            or_dash(onac.estimates.first()),
            format!("{:.1}", point.performance_percent(DetectionScheme::Onac)),
            format!("{:.1}", point.performance_percent(DetectionScheme::SeqDet)),
            format!("{:.1}", point.saved_percent(DetectionScheme::Onac)),
            format!("{:.1}", point.saved_percent(DetectionScheme::SeqDet)),
            format!("{:.0}", onac.cycles as f64 / 1e3),
            format!("{:.0}", seq.cycles as f64 / 1e3),
            format!("{:.1}", onac.share_percent()),
            format!("{:.1}", seq.share_percent()),
            or_dash(point.cold_detection.found_cores),
            if point.program { "program" } else { "model" }.into(),
            if point.ended() == RunEnd::Extrapolated { "extrapolated" } else { "simulated" }.into(),
        ];
        cells.extend(point.candidate.iter().flat_map(|relative| [relative.performance, relative.saved]).map(|value| format!("{value:.1}")));
        output.row(cells);
    }
}

impl ValueSelector {
    fn headline(&self, points: &[GatingPoint]) -> Headline {
        let scheme = self.scheme.unwrap_or(DetectionScheme::Onac);
        let percent = |holds: bool| 100.0 * f64::from(u8::from(holds));
        let value = |point: &GatingPoint| match self.quantity {
            Quantity::Types => percent(point.of_type() == point.published),
            Quantity::Performance => point.performance_percent(scheme),
            Quantity::Saved => point.saved_percent(scheme),
            Quantity::Ahead => point.saved_percent(DetectionScheme::Onac) - point.saved_percent(DetectionScheme::SeqDet),
            Quantity::Faster => point.detection_reduction_percent(),
            Quantity::Exact => percent(point.final_cores(scheme) == point.curve.least_cores),
            Quantity::Detection | Quantity::Shares => point.detection(scheme).share_percent(),
        };
        let figure = |points: &[&GatingPoint]| {
            let ours = mean(points.iter().map(|point| value(point)));
            match self.quantity {
                Quantity::Shares => {
                    let seq = mean(points.iter().map(|point| point.detection(DetectionScheme::SeqDet).share_percent()));
                    ours.zip(seq).map(|(onac, seq)| 100.0 * (1.0 - onac / seq))
                }
                _ => ours,
            }
        };
        let of: Vec<&GatingPoint> = points.iter().filter(|point| self.of.is_none_or(|of| point.published == of)).collect();
        let share = |holds: &dyn Fn(&GatingPoint) -> bool| mean(of.iter().map(|point| percent(holds(point)))).unwrap_or_default();
        let trivial = match self.quantity {
            Quantity::Types => Some(("all of type A", share(&|point| point.published == CoreType::A))),
            Quantity::Performance => Some(("all cores", 100.0)),
            Quantity::Saved | Quantity::Ahead | Quantity::Detection => Some(("all cores", 0.0)),
            Quantity::Exact => Some(("all cores", share(&|point| point.curve.least_cores == MACHINE_CORES))),
            Quantity::Faster | Quantity::Shares => None,
        };
        Headline::new(&of, &point_aggregate(&figure, trivial))
    }
}

fn point_aggregate<'a>(of: &'a dyn Fn(&[&GatingPoint]) -> Option<f64>, trivial: Option<(&'a str, f64)>) -> Aggregate<'a, GatingPoint> {
    Aggregate { of, fitted: &|point| point.fitted, ended: &GatingPoint::ended, trivial }
}

/// Grades the numbers of cores that the text states for a kernel.
fn grade_core_numbers(output: &mut StudyOutput, point: &GatingPoint) {
    let mut grade = |what: &str, ours: Option<u32>, stated: Option<u32>, source: &str| {
        let Some(stated) = stated else { return };
        let claim = published().band("cores").around(stated.into());
        let value = Value { figure: format!("{}: {what}", point.entry.name), source: source.into(), unit: String::new(), claim, of: () };
        output.grade_number(&value, ours.map(f64::from), if point.fitted { " (fitted)" } else { "" });
    };
    grade("cores that are enough", Some(point.curve.least_cores), point.entry.cores, "4.4.2.2, 4.4.4.1");
    grade("first estimate", point.detection(DetectionScheme::Onac).estimates.first().copied(), point.entry.first, "4.4.2.2");
}

fn grade_figures(output: &mut StudyOutput, points: &[GatingPoint]) {
    for of in [CoreType::A, CoreType::B] {
        let ours: Vec<&GatingPoint> = points.iter().filter(|point| point.of_type() == of).collect();
        for scheme in DetectionScheme::ALL.into_iter().filter(|_| !ours.is_empty()) {
            let performance = |points: &[&GatingPoint]| mean(points.iter().map(|point| point.performance_percent(scheme)));
            let name = format!("performance with {}, of the kernels that are {of:?} here, %", scheme.name());
            output.headline(&name, &Headline::new(&ours, &point_aggregate(&performance, Some(("all cores", 100.0)))));
        }
    }
}

fn add_notes(output: &mut StudyOutput, points: &[GatingPoint]) {
    for point in points.iter().filter(|point| point.of_type() != point.published) {
        let share = point.curve.relative_ipc(MACHINE_CORES - 1).map_or_else(String::new, |share| format!(", {:.1} % of the IPC with 31", 100.0 * share));
        output.note(format!("{} is {:?}, published {:?}{share}", point.entry.name, point.of_type(), point.published));
    }
    for point in points.iter().filter(|point| point.ctas != point.entry.ctas) {
        output.note(format!("{}: a grid of {} CTAs, published {}", point.entry.name, point.ctas, point.entry.ctas));
    }
    for point in points.iter().filter(|point| !point.curve.is_monotone()) {
        output.note(format!("{}: a number of cores above the oracle's {} does not reach 98 %", point.entry.name, point.curve.least_cores));
    }
    for point in points {
        if let Some(bisected) = point.curve.bisected_cores().filter(|_| point.curve.points.len() == MACHINE_CORES as usize) {
            let verdict = if bisected == point.curve.least_cores { "as by bisection" } else { "not as by bisection" };
            output.note(format!("{}: all numbers of cores were run, {} suffice, {verdict}", point.entry.name, point.curve.least_cores));
        }
    }
    let (mut slower, mut saving): (f64, f64) = (0.0, 0.0);
    for point in points {
        let Some(to_the_end) = &point.to_the_end else { continue };
        let pairs = |of: fn(RelativeResult) -> f64| DetectionScheme::ALL.map(|scheme| (of(point.relative_result(scheme)), of(to_the_end[scheme as usize])));
        let (performance, saved) = (pairs(|relative| relative.performance), pairs(|relative| relative.saved));
        let worst = |pairs: [(f64, f64); 2]| pairs.iter().fold(0.0f64, |worst, (ours, whole)| worst.max((ours - whole).abs()));
        (slower, saving) = (slower.max(worst(performance)), saving.max(worst(saved)));
        let pair = |pairs: [(f64, f64); 2]| {
            format!("{:.1} and {:.1} % extrapolated, {:.1} and {:.1} % of whole grids", pairs[0].0, pairs[1].0, pairs[0].1, pairs[1].1)
        };
        let name = &point.entry.name;
        output.note(format!("{name}, ONAC and Seq-Det: performance {}; energy saved {}", pair(performance), pair(saved)));
    }
    if points.iter().any(|point| point.to_the_end.is_some()) {
        output.figure("largest difference between extrapolated performance and that of whole grids, points", slower);
        output.figure("largest difference between extrapolated energy saved and that of whole grids, points", saving);
    }
}

/// Adds the table of curves and the plots of Figures 4.8 to 4.10.
fn add_curves(output: &mut StudyOutput, points: &[GatingPoint]) {
    let mut table = Vec::new();
    for point in points {
        for (cores, row) in &point.curve.points {
            let share = point.curve.relative_ipc(*cores).unwrap_or(0.0);
            let (watts, at_rest) = row.watts();
            table.push(vec![
                point.entry.name.clone(),
                cores.to_string(),
                format!("{:.4}", row.rate()),
                format!("{share:.4}"),
                format!("{:.1}", row.amat()),
                format!("{:.1}", row.amat_overlapped()),
                format!("{:.5}", row.bursts as f64 / row.cycles.max(1) as f64),
                format!("{:.5}", row.writes as f64 / row.cycles.max(1) as f64),
                format!("{watts:.3}"),
                format!("{at_rest:.3}"),
                format!("{:.4}", point.relative_energy(row)),
            ]);
        }
    }
    let memory = ["amat", "amat overlapped", "dram bursts per cycle", "dram writes per cycle"];
    let header = [&["kernel", "cores", "ipc", "of all"][..], &memory, &["watts", "watts at rest", "energy of all"]].concat();
    output.table("curve.csv", &header, table);
    let line = |point: &GatingPoint, name: String, value: &dyn Fn(u32) -> f64| Series {
        name,
        points: point.curve.points.iter().map(|(cores, _)| (f64::from(*cores), value(*cores))).collect(),
    };
    let shown: Vec<Series> = points
        .iter()
        .filter(|point| published().own.shown.curves.contains(&point.entry.name))
        .map(|point| line(point, point.entry.name.clone(), &|cores| point.curve.row_at(cores).map_or(0.0, Row::rate)))
        .collect();
    if !shown.is_empty() {
        let [title, x, y] = ["IPC against the number of cores (fermi32)", "cores at work", "warp instructions per cycle"].map(String::from);
        output.plot("ipc.svg", Plot { title, x, y, form: PlotForm::Lines, series: shown });
    }
    for (name, amat, power) in LATENCY_AND_POWER_PLOTS {
        let Some(point) = points.iter().find(|point| point.entry.name == name) else { continue };
        let one = point.curve.row_at(1).map_or(1.0, Row::amat).max(f64::MIN_POSITIVE);
        let of = |pick: fn(&Row) -> f64| move |cores: u32| point.curve.row_at(cores).map_or(0.0, pick) / one;
        let series = vec![line(point, "AMAT".into(), &of(Row::amat)), line(point, "AMAT overlapped".into(), &of(Row::amat_overlapped))];
        let title = format!("Memory latency and what arithmetic overlaps of it: {name}");
        let [x, y] = ["cores at work", "of the AMAT with one core"].map(String::from);
        output.plot(amat, Plot { title, x, y, form: PlotForm::Lines, series });
        let all = point.curve.row_at(MACHINE_CORES).map_or(1.0, |row| row.watts().0).max(f64::MIN_POSITIVE);
        let of = |pick: fn((f64, f64)) -> f64| move |cores: u32| point.curve.row_at(cores).map_or(0.0, |row| pick(row.watts())) / all;
        let series = vec![
            line(point, "static power".into(), &of(|(_, at_rest)| at_rest)),
            line(point, "dynamic power".into(), &of(|(watts, at_rest)| watts - at_rest)),
            line(point, "energy".into(), &|cores| point.curve.row_at(cores).map_or(0.0, |row| point.relative_energy(row))),
        ];
        let title = format!("Power and energy: {name}");
        let [x, y] = ["cores at work", "of power and energy with all cores"].map(String::from);
        output.plot(power, Plot { title, x, y, form: PlotForm::Lines, series });
    }
}

impl GatingPoint {
    /// Returns the energy per instruction relative to all cores.
    fn relative_energy(&self, row: &Row) -> f64 {
        let each = |row: &Row| row.joules / row.issued.max(1) as f64;
        each(row) / self.curve.row_at(MACHINE_CORES).map_or(1.0, each).max(f64::MIN_POSITIVE)
    }
}

/// Adds the charts of Figures 4.14 to 4.16 and the table of all samples.
fn add_detection_charts(output: &mut StudyOutput, points: &[GatingPoint]) {
    let mut table = Vec::new();
    for point in points {
        for scheme in DetectionScheme::ALL {
            for (i, (cores, ipc)) in point.detection(scheme).samples.iter().enumerate() {
                table.push(vec![
                    point.entry.name.clone(),
                    scheme.name().into(),
                    (i + 1).to_string(),
                    cores.to_string(),
                    format!("{ipc:.4}"),
                    point.curve.row_at(*cores).map_or_else(|| "-".into(), |row| format!("{:.4}", row.rate())),
                ]);
            }
        }
    }
    output.table("samples.csv", &["kernel", "scheme", "sample", "cores", "ipc", "steady ipc"], table);
    let mut chart = |name: &'static str, title: &str, y: &str, series: &[&str], line: Option<f64>, values: &dyn Fn(&GatingPoint) -> Vec<f64>| {
        let groups = points.iter().map(|point| BarGroup { name: point.entry.name.clone(), values: values(point) }).collect();
        let series = series.iter().map(|name| (*name).to_owned()).collect();
        output.bars(name, Bars { title: title.into(), y: y.into(), series, groups, line });
    };
    chart("cores.svg", "Cores that are found", "cores", &["oracle", "Seq-Det", "ONAC"], None, &|point| {
        [point.curve.least_cores, point.final_cores(DetectionScheme::SeqDet), point.final_cores(DetectionScheme::Onac)].map(f64::from).into()
    });
    let oracle = |point: &GatingPoint| 100.0 * point.curve.relative_ipc(point.curve.least_cores).unwrap_or(0.0);
    let (y, series) = ("% of all cores", ["oracle", "Seq-Det", "ONAC"]);
    chart("performance.svg", "Performance", y, &series, Some(100.0), &|point| {
        vec![oracle(point), point.performance_percent(DetectionScheme::SeqDet), point.performance_percent(DetectionScheme::Onac)]
    });
    let energy = |point: &GatingPoint| 100.0 * point.curve.row_at(point.curve.least_cores).map_or(1.0, |row| point.relative_energy(row));
    chart("energy.svg", "Energy", y, &series, Some(100.0), &|point| {
        vec![energy(point), 100.0 - point.saved_percent(DetectionScheme::SeqDet), 100.0 - point.saved_percent(DetectionScheme::Onac)]
    });
    let power = |point: &GatingPoint, scheme| (100.0 - point.saved_percent(scheme)) * point.performance_percent(scheme) / 100.0;
    chart("power.svg", "Average power", y, &series, Some(100.0), &|point| {
        vec![energy(point) * oracle(point) / 100.0, power(point, DetectionScheme::SeqDet), power(point, DetectionScheme::Onac)]
    });
    chart("detection.svg", "Time of detection", "% of the run", &["Seq-Det", "ONAC"], None, &|point| {
        vec![point.detection(DetectionScheme::SeqDet).share_percent(), point.detection(DetectionScheme::Onac).share_percent()]
    });
}
