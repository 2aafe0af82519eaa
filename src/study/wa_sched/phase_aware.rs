//! `study phase-aware`: the kernels of Tables 3.2 and 3.3 under each warp scheduler, beside Section 3.5 of the thesis.
//!
//! A kernel is of type A on a level where oldest first (the thesis's "GTO") beats round robin, else of type B. Means are over
//! the kernels of a type as published, so that ours and the thesis's are means over the same kernels. GTO as it is known
//! elsewhere (greedy, then oldest) is shown beside.
//!
//! Idle time is the share of scheduler cycles without an issue.

use rayon::prelude::*;
use serde::Deserialize;

use crate::config::Machine;
use crate::report::bars::{Bars, Group};
use crate::study::{StudyError, StudyOutput};

use super::characterise::{FERMI, Options, workload};
use super::kernels::{Grid, as_published};
use super::published::{Kernel, published};
use super::stated::{self, Kind, Stated, half_and_half_again, mean, percent_over};
use super::steady::Job;
use super::tail;

/// How near to the better of round robin and oldest first phase-aware is to be.
const NEAR: f64 = 0.02;

/// The published figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    source: String,
    types: Types,
    mean: Vec<Mean>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Types {
    single: Lists,
    two_level: Lists,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    #[serde(rename = "A")]
    a: Vec<String>,
    #[serde(rename = "B")]
    b: Vec<String>,
}

/// A mean over the kernels of a type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mean {
    quantity: Quantity,
    level: Level,
    #[serde(rename = "type")]
    of: Type,
    order: Order,
    over: Order,
    value: f64,
    kind: Kind,
    section: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Quantity {
    #[serde(rename = "speed-up")]
    SpeedUp,
    #[serde(rename = "idle time")]
    Idle,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Single,
    TwoLevel,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Type {
    A,
    B,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Order {
    Lrr,
    Oldest,
    Phase,
    Gto,
}

impl Level {
    const ALL: [Self; 2] = [Self::Single, Self::TwoLevel];

    fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::TwoLevel => "two-level",
        }
    }

    /// The orders that exist on the level.
    fn orders(self) -> &'static [Order] {
        match self {
            Self::Single => &[Order::Lrr, Order::Oldest, Order::Phase, Order::Gto],
            Self::TwoLevel => &[Order::Lrr, Order::Oldest, Order::Phase],
        }
    }
}

impl Order {
    /// The thesis's name, but for its GTO, which is oldest first.
    fn name(self) -> &'static str {
        match self {
            Self::Lrr => "RR",
            Self::Oldest => "oldest",
            Self::Phase => "phase-aware",
            Self::Gto => "GTO",
        }
    }

    /// The value of `gpu.sm.order`.
    fn key(self, level: Level) -> String {
        let word = match self {
            Self::Lrr => "lrr",
            Self::Oldest => "oldest",
            Self::Phase => "phase",
            Self::Gto => "gto",
        };
        if level == Level::Single { word.to_owned() } else { format!("two-level-{word}") }
    }
}

impl Types {
    fn of(&self, kernel: &str, level: Level) -> Option<Type> {
        let lists = if level == Level::Single { &self.single } else { &self.two_level };
        let is_in = |list: &[String]| list.iter().any(|name| name == kernel);
        if is_in(&lists.a) { Some(Type::A) } else { is_in(&lists.b).then_some(Type::B) }
    }
}

/// A kernel on a level: warp instructions per core cycle, and the share of scheduler cycles without an issue, by order.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    kernel: String,
    level: Level,
    published: Option<Type>,
    /// The model was fitted to what the study is about.
    fitted: bool,
    rates: Vec<f64>,
    idle: Vec<f64>,
}

impl Point {
    fn place(&self, order: Order) -> usize {
        self.level.orders().iter().position(|o| *o == order).unwrap_or_default()
    }

    fn rate(&self, order: Order) -> f64 {
        self.rates[self.place(order)]
    }

    fn of_type(&self) -> Type {
        if self.rate(Order::Oldest) >= self.rate(Order::Lrr) { Type::A } else { Type::B }
    }

    fn phase_over_better(&self) -> f64 {
        self.rate(Order::Phase) / self.rate(Order::Lrr).max(self.rate(Order::Oldest))
    }

    fn is_near(&self) -> bool {
        self.phase_over_better() >= 1.0 - NEAR
    }
}

impl Mean {
    fn figure(&self) -> String {
        let (level, of, order, over) = (self.level.name(), self.of, self.order.name(), self.over.name());
        match self.quantity {
            Quantity::SpeedUp => format!("{level}, type {of:?}: speed-up of {order} over {over}, %"),
            Quantity::Idle => format!("{level}, type {of:?}: idle time of {order} against {over}, %"),
        }
    }

    /// Ours. A speed-up is the mean of the kernels' speed-ups, idle time the mean of one against the mean of the other.
    fn ours(&self, points: &[Point], fitted_too: bool) -> Stated<'_> {
        let of: Vec<&Point> = points
            .iter()
            .filter(|point| point.level == self.level && point.published == Some(self.of) && (fitted_too || !point.fitted))
            .collect();
        let ours = match self.quantity {
            Quantity::SpeedUp => mean(of.iter().map(|point| percent_over(point.rate(self.order), point.rate(self.over)))),
            Quantity::Idle => {
                let idle = |order| mean(of.iter().map(|point| point.idle[point.place(order)]));
                idle(self.order).zip(idle(self.over)).filter(|(_, base)| *base > 0.0).map(|(idle, base)| percent_over(idle, base))
            }
        };
        Stated {
            figure: self.figure(),
            ours,
            kernels: of.len(),
            published: self.value,
            kind: self.kind,
            within: half_and_half_again(self.value),
            section: &self.section,
        }
    }
}

fn read() -> Published {
    match toml::from_str(include_str!("../../../configs/published/phase_aware.toml")) {
        Ok(published) => published,
        Err(error) => panic!("configs/published/phase_aware.toml: {error}"),
    }
}

/// Runs the study.
///
/// # Errors
/// When `only` names no kernel, or a kernel does not run.
pub fn run(options: &Options) -> Result<StudyOutput, StudyError> {
    let stated = read();
    let library = published();
    let wanted = |kernel: &&Kernel| kernel.phases.is_some() && options.only.as_ref().is_none_or(|only| kernel.name.contains(only.as_str()));
    let kernels: Vec<&Kernel> = library.kernel.iter().filter(wanted).collect();
    if kernels.is_empty() {
        return Err(StudyError::Input("no kernel of Tables 3.2 and 3.3 has such a name".into()));
    }
    let pairs: Vec<(&Kernel, Level)> = kernels.iter().flat_map(|kernel| Level::ALL.map(|level| (*kernel, level))).collect();
    let points: Vec<Point> = pairs
        .par_iter()
        .map(|(kernel, level)| point(kernel, *level, &stated.types, options))
        .collect::<Result<_, _>>()
        .map_err(StudyError::Input)?;
    let title = format!("warp schedulers on {FERMI} beside {}; runs of {} cycles or more", stated.source, options.cycles);
    let mut output = StudyOutput::new("phase-aware", title);
    rows(&mut output, &points);
    runs(&mut output, &points);
    for mean in &stated.mean {
        output.compare(&stated::COLUMNS, mean.ours(&points, true).cells());
    }
    figures(&mut output, &points, &stated);
    bars(&mut output, &points);
    tail::show(&mut output, options).map_err(StudyError::Input)?;
    Ok(output)
}

fn point(kernel: &Kernel, level: Level, types: &Types, options: &Options) -> Result<Point, String> {
    let sm = Machine::load(FERMI, &[]).map_err(|errors| errors.to_string())?.machine.gpu;
    let slots = f64::from(sm.sms * sm.sm.schedulers);
    let parameters = as_published(kernel);
    let grid = Grid::of(kernel, FERMI, &parameters)?;
    let rates = level
        .orders()
        .par_iter()
        .map(|order| {
            let settings = vec![("gpu.sm.order".to_owned(), order.key(level))];
            let (workload, parameters) = (workload(kernel), parameters.clone());
            let job = Job { machine: FERMI, settings, workload, parameters, cycles: grid.cycles(options.cycles) };
            job.rate(options.cache.as_deref())
        })
        .collect::<Result<Vec<f64>, String>>()?;
    Ok(Point {
        kernel: kernel.name.clone(),
        level,
        published: types.of(&kernel.name, level),
        fitted: grid.is_fitted_to("Figure 3.7", &[""]),
        idle: rates.iter().map(|rate| 1.0 - rate / slots).collect(),
        rates,
    })
}

fn rows(output: &mut StudyOutput, points: &[Point]) {
    output.columns(&[
        "kernel",
        "level",
        "RR IPC",
        "oldest/RR",
        "phase/RR",
        "gto/RR",
        "type",
        "published",
        "agrees",
        "phase/better",
        "near",
    ]);
    for point in points {
        let over = |order| format!("{:.3}", point.rate(order) / point.rate(Order::Lrr));
        let gto = if point.level == Level::Single { over(Order::Gto) } else { "-".into() };
        let yes_no = |yes: bool| String::from(if yes { "yes" } else { "no" });
        output.row(vec![
            point.kernel.clone(),
            point.level.name().into(),
            format!("{:.2}", point.rate(Order::Lrr)),
            over(Order::Oldest),
            over(Order::Phase),
            gto,
            format!("{:?}", point.of_type()),
            point.published.map_or_else(|| "-".into(), |published| format!("{published:?}")),
            yes_no(point.published == Some(point.of_type())),
            format!("{:.3}", point.phase_over_better()),
            yes_no(point.is_near()),
        ]);
    }
}

fn figures(output: &mut StudyOutput, points: &[Point], stated: &Published) {
    for level in Level::ALL {
        let of = || points.iter().filter(|point| point.level == level);
        let agree = of().filter(|point| point.published == Some(point.of_type())).count();
        output.figure(&format!("{}: kernels of the published type, of {}", level.name(), of().count()), agree as f64);
    }
    let near = points.iter().filter(|point| point.is_near()).count();
    output.figure("points with phase-aware within 2 % of the better of RR and oldest, %", 100.0 * near as f64 / points.len() as f64);
    if points.iter().any(|point| point.fitted) {
        for mean in stated.mean.iter().filter(|mean| mean.quantity == Quantity::SpeedUp) {
            let row = mean.ours(points, false);
            if let Some(ours) = row.ours {
                output.figure(&format!("{} (over the {} not fitted to it)", row.figure, row.kernels), ours);
            }
        }
    } else {
        output.note("no kernel was fitted to types or speed-ups of schedulers, so the means are over kernels not fitted to them".into());
    }
    output.note(
        "\"oldest\" is what the thesis calls GTO; type and means go by it. Means are arithmetic, over the published types' kernels".into(),
    );
}

/// Every run: what the rows above are made of.
fn runs(output: &mut StudyOutput, points: &[Point]) {
    let rows = points.iter().flat_map(|point| {
        let orders = point.level.orders().iter().zip(&point.rates).zip(&point.idle);
        orders.map(|((order, rate), idle)| vec![point.kernel.clone(), order.key(point.level), format!("{rate:.4}"), format!("{idle:.4}")])
    });
    output.table("runs.csv", &["kernel", "order", "warp_instructions_per_cycle", "idle_share"], rows.collect());
}

/// Speed-ups over round robin in the manner of Figure 3.7.
fn bars(output: &mut StudyOutput, points: &[Point]) {
    for (level, names) in [(Level::Single, ["single.svg", "single.png"]), (Level::TwoLevel, ["two-level.svg", "two-level.png"])] {
        let of: Vec<&Point> = points.iter().filter(|point| point.level == level).collect();
        let others = &level.orders()[1..];
        let groups = of.iter().map(|point| Group {
            name: point.kernel.clone(),
            values: others.iter().map(|order| point.rate(*order) / point.rate(Order::Lrr)).collect(),
        });
        output.bars(
            names,
            Bars {
                title: format!("Performance by warp scheduler, {} ({FERMI})", level.name()),
                y: "IPC over that of RR".into(),
                series: others.iter().map(|order| order.name().to_owned()).collect(),
                groups: groups.collect(),
                line: Some(1.0),
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(kernel: &str, published: Type, rates: [f64; 4]) -> Point {
        let idle = rates.iter().map(|rate| 1.0 - rate / 16.0).collect();
        Point { kernel: kernel.into(), level: Level::Single, published: Some(published), fitted: kernel == "f", rates: rates.into(), idle }
    }

    #[test]
    fn every_kernel_has_a_published_type_on_both_levels() {
        let (stated, library) = (read(), published());
        let kernels: Vec<&Kernel> = library.kernel.iter().filter(|kernel| kernel.phases.is_some()).collect();
        assert_eq!(kernels.len(), 14);
        assert!(kernels.iter().all(|kernel| Level::ALL.iter().all(|level| stated.types.of(&kernel.name, *level).is_some())));
        assert_eq!([stated.types.single.a.len(), stated.types.two_level.b.len()], [11, 6]);
    }

    #[test]
    fn the_better_order_makes_the_type_and_phase_aware_is_near_within_2_percent() {
        let a = point("a", Type::A, [10.0, 12.0, 11.8, 12.5]);
        assert_eq!((a.of_type(), a.is_near()), (Type::A, true));
        let b = point("b", Type::A, [10.0, 9.0, 9.7, 9.0]);
        assert_eq!((b.of_type(), b.is_near()), (Type::B, false));
    }

    #[test]
    fn speed_ups_are_means_of_ratios_and_idle_time_is_a_ratio_of_means() {
        let points = [point("a", Type::A, [8.0, 12.0, 10.0, 8.0]), point("f", Type::A, [12.0, 12.0, 12.0, 12.0])];
        let mean = |quantity| {
            let (level, of, order, over) = (Level::Single, Type::A, Order::Oldest, Order::Lrr);
            Mean { quantity, level, of, order, over, value: 10.0, kind: Kind::Number, section: String::new() }
        };
        let speed_up = mean(Quantity::SpeedUp);
        assert_eq!(speed_up.ours(&points, true).ours, Some(25.0));
        assert_eq!(speed_up.ours(&points, false).ours, Some(50.0), "without the fitted kernel");
        // Idle shares are 0.5 and 0.25 under round robin, twice 0.25 under oldest first.
        let idle = mean(Quantity::Idle).ours(&points, true).ours.unwrap();
        assert!((idle + 100.0 / 3.0).abs() < 1e-9, "{idle}");
        assert_eq!(Mean { of: Type::B, ..speed_up }.ours(&points, true).verdict(), "not run");
    }

    #[test]
    fn one_kernel_runs_from_end_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { cycles: 4000, only: Some("bt_k2".into()), cache: Some(folder.path().to_owned()) };
        let output = run(&options).unwrap();
        assert_eq!(output.column("level"), Some(vec!["single", "two-level"]));
        assert!(output.column("RR IPC").unwrap().iter().all(|ipc| ipc.parse::<f64>().unwrap() > 0.0));
        assert!(std::fs::read_dir(folder.path()).unwrap().count() >= 7, "what was measured is kept");
        assert!(output.text().contains("single, type A: speed-up of oldest over RR, %"));
    }
}
