//! Figures of the runs, beside the thesis'.
//!
//! A *preemption* is that of one SM with CTAs of the benchmark at one request: it violates its bound when its last victim leaves later. Means are over benchmarks, each with
//! the same weight. Overhead is in percent of what flushing all victims would have wasted.
//!
//! Preemptions of one request are not independent of each other, requests are: the spread of a rate is that of a ratio of sums over requests, as half the
//! width of its interval of 95 %.

use super::cell::Counts;
use super::published::{Benchmark, Configuration, Of, Quantity, Scheme, published};
use super::task::Times;
use crate::report::bars::{Bars, Group as BarGroup};
use crate::study::StudyOutput;
use crate::study::lab::published::Value;
use crate::study::lab::statistics::{mean, median};

/// A scheme with a bound in us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) scheme: Scheme,
    pub(super) bound: u32,
}

/// A benchmark's runs.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) benchmark: &'static Benchmark,
    pub(super) times: Times,
    pub(super) counts: Vec<(Cell, Counts)>,
}

/// All runs.
#[derive(Clone, Debug)]
pub(super) struct Results {
    pub(super) configuration: Configuration,
    /// Core cycles of the task alone.
    pub(super) task_alone: f64,
    pub(super) points: Vec<Point>,
}

fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

/// Half the width of the interval of 95 %, in percent, of the sum of `part` over that of `whole`, of each of which there is one per request.
fn spread(requests: &[[f64; 4]], part: usize, whole: usize) -> Option<f64> {
    let sum = |of: usize| requests.iter().map(|one| one[of]).sum::<f64>();
    let (count, all) = (requests.len() as f64, sum(whole));
    if requests.len() < 2 || all <= 0.0 {
        return None;
    }
    let ratio = sum(part) / all;
    let squares = requests.iter().map(|one| (one[part] - ratio * one[whole]).powi(2)).sum::<f64>();
    Some(100.0 * 1.96 * (squares * count / (count - 1.0)).sqrt() / all)
}

impl Counts {
    fn violation_spread(&self) -> Option<f64> {
        spread(&self.by_request, 1, 0)
    }

    pub(super) fn overhead_spread(&self) -> Option<f64> {
        spread(&self.by_request, 2, 3)
    }

    /// Preemptions above the bound, in percent.
    pub(super) fn violation_rate(&self) -> Option<f64> {
        percent(self.violations as f64, self.preemptions as f64)
    }

    /// Requests with an SM above the bound, in percent of those that found CTAs of the benchmark.
    fn late_rate(&self) -> Option<f64> {
        percent(self.late as f64, self.busy as f64)
    }

    /// Tasks that ended later than their execution alone and the bound allow, in percent.
    pub(super) fn missed_rate(&self, alone: f64) -> Option<f64> {
        let deadline = alone + self.bound as f64;
        percent(self.finished.iter().filter(|cycles| **cycles as f64 > deadline).count() as f64, self.requests as f64)
    }

    /// Overhead in percent of that of flushing.
    pub(super) fn overhead_rate(&self) -> Option<f64> {
        percent(self.overhead, self.flush_overhead)
    }

    /// The same, if SMs above the bound had flushed all their victims instead.
    fn enforced_rate(&self) -> Option<f64> {
        percent(self.overhead + self.late_overhead, self.flush_overhead)
    }

    /// Median of the time from a request to the end of the task, in core cycles.
    fn median_finish(&self) -> Option<f64> {
        let all: Vec<f64> = self.finished.iter().map(|cycles| *cycles as f64).collect();
        median(&all)
    }

    fn mean_utilisation(&self) -> Option<f64> {
        percent(self.utilisation.0, self.utilisation.1 as f64)
    }

    /// Mean error of the estimates of draining, in percent.
    fn mean_drain_error(&self) -> Option<f64> {
        percent(self.drain_error.0, self.drain_error.1 as f64)
    }
}

impl Point {
    fn of(&self, scheme: Scheme, bound: u32) -> Option<&Counts> {
        self.counts.iter().find(|(cell, _)| *cell == Cell { scheme, bound }).map(|(_, counts)| counts)
    }
}

impl Results {
    /// The mean of a figure over the benchmarks that have one.
    fn mean(&self, scheme: Scheme, bound: u32, of: impl Fn(&Counts) -> Option<f64>) -> Option<f64> {
        mean(self.points.iter().filter_map(|point| of(point.of(scheme, bound)?)))
    }

    /// The spread of the mean of a figure over benchmarks that each have a spread.
    fn mean_spread(&self, scheme: Scheme, bound: u32, of: impl Fn(&Counts) -> Option<f64>) -> Option<f64> {
        let all: Vec<f64> = self.points.iter().filter_map(|point| of(point.of(scheme, bound)?)).collect();
        let sum = all.iter().map(|spread| spread.powi(2)).sum::<f64>();
        (!all.is_empty()).then(|| sum.sqrt() / all.len() as f64)
    }

    /// Whether Oracle has no more than the dual kernel and that no more than Chimera, at every bound.
    fn in_order(&self, of: impl Fn(&Counts) -> Option<f64>) -> Option<bool> {
        let at = |bound: &u32| {
            let [oracle, dual, chimera] = [Scheme::Oracle, Scheme::Dual, Scheme::Chimera].map(|scheme| self.mean(scheme, *bound, &of));
            Some(oracle? <= dual? && dual? <= chimera?)
        };
        let all: Option<Vec<bool>> = published().own.parameters.bounds.iter().map(at).collect();
        all.map(|all| all.into_iter().all(|holds| holds))
    }

    /// Errors of draining estimates of Chimera less those of the dual kernel, over benchmarks of which the latter has fewer violations.
    fn drain_error(&self, bound: u32) -> Option<f64> {
        let one = |point: &Point| {
            let (chimera, dual) = (point.of(Scheme::Chimera, bound)?, point.of(Scheme::Dual, bound)?);
            let fewer = dual.violation_rate()? < chimera.violation_rate()?;
            fewer.then_some(chimera.mean_drain_error()? - dual.mean_drain_error()?)
        };
        mean(self.points.iter().filter_map(one))
    }

    fn grade(&self, value: &Value<Of>, output: &mut StudyOutput) {
        let Of { quantity, scheme, bound } = value.of;
        let tightest = published().own.parameters.bounds.iter().min().copied().unwrap_or_default();
        let shown = |order: Option<bool>| order.map_or("-", |holds| if holds { "yes" } else { "no" }).to_owned();
        match quantity {
            Quantity::Violations => {
                output.graded_number(value, self.mean(scheme, bound, Counts::violation_rate), "");
            }
            Quantity::Overhead => {
                output.graded_number(value, self.mean(scheme, bound, Counts::overhead_rate), "");
            }
            Quantity::ViolationOrder => {
                let order = self.in_order(Counts::violation_rate);
                output.graded_direction(value, shown(order), order);
            }
            Quantity::OverheadOrder => {
                let order = self.in_order(Counts::overhead_rate);
                output.graded_direction(value, shown(order), order);
            }
            Quantity::OverheadReduction => {
                let of = |scheme| self.mean(scheme, tightest, Counts::overhead_rate);
                let ours = of(Scheme::Dual).zip(of(Scheme::Chimera)).and_then(|(dual, chimera)| percent(chimera - dual, chimera));
                output.graded_number(value, ours, "");
            }
            Quantity::Utilisation => {
                let of = |scheme| self.mean(scheme, tightest, Counts::mean_utilisation);
                let ours = of(Scheme::Dual).zip(of(Scheme::Chimera)).map(|(dual, chimera)| dual / chimera);
                output.graded_number(value, ours, "");
            }
            Quantity::DrainError => {
                output.graded_number(value, self.drain_error(tightest), "");
            }
        }
    }
}

fn name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Dual => "dual kernel",
        Scheme::Oracle => "Oracle",
        Scheme::Chimera => "Chimera",
        Scheme::ChimeraPlus => "Chimera+",
    }
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

/// Adds the tables, the comparison and the pictures.
pub(super) fn show(output: &mut StudyOutput, results: &Results) {
    show_means(output, results);
    show_benchmarks(output, results);
    show_kernels(output, results);
    output.figure("execution of the task alone, core cycles", results.task_alone);
    for value in published().values.iter().filter(|_| results.configuration == Configuration::Base) {
        results.grade(value, output);
    }
    if results.configuration != Configuration::Base {
        output.note("published values are compared with the base configuration alone".into());
    }
    for (file, title, of) in [
        (["violations.svg", "violations.png"], "Preemptions above the bound", Counts::violation_rate as fn(&Counts) -> Option<f64>),
        (["overhead.svg", "overhead.png"], "Overhead over flushing", Counts::overhead_rate),
    ] {
        let schemes = [Scheme::Chimera, Scheme::Dual, Scheme::Oracle];
        let group = |bound: &u32| BarGroup {
            name: format!("{bound} us"),
            values: schemes.iter().map(|scheme| results.mean(*scheme, *bound, of).unwrap_or(0.0)).collect(),
        };
        output.bars(
            file,
            Bars {
                title: title.into(),
                y: "%".into(),
                series: schemes.iter().map(|scheme| name(*scheme).to_owned()).collect(),
                groups: published().own.parameters.bounds.iter().map(group).collect(),
                line: None,
            },
        );
    }
}

fn show_means(output: &mut StudyOutput, results: &Results) {
    output.columns(&[
        "bound us",
        "scheme",
        "violations %",
        "+-",
        "requests late %",
        "deadlines missed %",
        "overhead %",
        "+-",
        "late flushed: overhead %",
        "drained %",
        "switched %",
        "flushed %",
        "utilisation %",
        "drain error %",
        "task ends, us",
    ]);
    for bound in &published().own.parameters.bounds {
        for scheme in super::SCHEMES {
            let of = |of: &dyn Fn(&Counts) -> Option<f64>| shown(results.mean(scheme, *bound, of));
            if results.points.iter().all(|point| point.of(scheme, *bound).is_none()) {
                continue;
            }
            let victims = |counts: &Counts| (counts.drained + counts.switched + counts.flushed) as f64;
            output.row(vec![
                bound.to_string(),
                name(scheme).into(),
                of(&Counts::violation_rate),
                shown(results.mean_spread(scheme, *bound, Counts::violation_spread)),
                of(&Counts::late_rate),
                of(&|counts| counts.missed_rate(results.task_alone)),
                of(&Counts::overhead_rate),
                shown(results.mean_spread(scheme, *bound, Counts::overhead_spread)),
                of(&Counts::enforced_rate),
                of(&|counts| percent(counts.drained as f64, victims(counts))),
                of(&|counts| percent(counts.switched as f64, victims(counts))),
                of(&|counts| percent(counts.flushed as f64, victims(counts))),
                of(&Counts::mean_utilisation),
                of(&Counts::mean_drain_error),
                of(&|counts| Some(counts.median_finish()? * f64::from(*bound) / counts.bound as f64)),
            ]);
        }
    }
}

fn show_benchmarks(output: &mut StudyOutput, results: &Results) {
    let header = [
        "benchmark",
        "bound us",
        "scheme",
        "requests",
        "preemptions",
        "with victims",
        "violations %",
        "violations +-",
        "requests late %",
        "deadlines missed %",
        "overhead %",
        "overhead +-",
        "late flushed: overhead %",
        "drained",
        "switched",
        "flushed",
        "utilisation %",
        "drain error %",
        "latency us, median",
        "latency us, 95 of 100",
        "task ends, us",
    ];
    let rows = results.points.iter().flat_map(|point| {
        point.counts.iter().map(|(cell, counts)| {
            let mut latencies = counts.latencies.clone();
            latencies.sort_unstable();
            let cycles = counts.bound as f64 / f64::from(cell.bound);
            let at = |share: f64| {
                let place = ((latencies.len() as f64 * share) as usize).min(latencies.len().saturating_sub(1));
                latencies.get(place).map_or_else(|| "-".to_owned(), |latency| format!("{:.2}", *latency as f64 / cycles))
            };
            vec![
                point.benchmark.name.clone(),
                cell.bound.to_string(),
                name(cell.scheme).into(),
                counts.requests.to_string(),
                counts.preemptions.to_string(),
                counts.emptied.to_string(),
                shown(counts.violation_rate()),
                shown(counts.violation_spread()),
                shown(counts.late_rate()),
                shown(counts.missed_rate(results.task_alone)),
                shown(counts.overhead_rate()),
                shown(counts.overhead_spread()),
                shown(counts.enforced_rate()),
                counts.drained.to_string(),
                counts.switched.to_string(),
                counts.flushed.to_string(),
                shown(counts.mean_utilisation()),
                shown(counts.mean_drain_error()),
                at(0.5),
                at(0.95),
                counts.median_finish().map_or_else(|| "-".to_owned(), |finish| format!("{:.1}", finish / cycles)),
            ]
        })
    });
    output.section("Benchmarks", "benchmarks.csv", header.map(String::from).to_vec(), rows.collect());
}

fn show_kernels(output: &mut StudyOutput, results: &Results) {
    let header = [
        "benchmark",
        "kernel",
        "published",
        "registers",
        "shared",
        "threads",
        "CTAs / SM",
        "published CTAs / SM",
        "idempotent",
        "CTAs",
        "us / CTA",
        "warp instructions / CTA",
        "warp slots occupied %",
        "share of time %",
        "window us",
        "preemptions of a cell, least",
        "most",
    ];
    let rows = results.points.iter().flat_map(|point| {
        let rows = point.benchmark.kernels.iter().zip(&point.times.kernels).zip(&point.times.shares);
        rows.map(|((row, (ctas, cycles, instructions, fit)), share)| {
            let preemptions = || point.counts.iter().map(|(_, counts)| counts.kernels.get(&row.kernel).copied().unwrap_or_default());
            let per_us = point.counts.first().map_or(1400.0, |(cell, counts)| counts.bound as f64 / f64::from(cell.bound));
            vec![
                point.benchmark.name.clone(),
                row.kernel.clone(),
                row.published.clone(),
                row.registers.to_string(),
                row.shared.to_string(),
                row.threads.to_string(),
                fit.to_string(),
                row.ctas.to_string(),
                if row.idempotent { "yes" } else { "no" }.to_owned(),
                ctas.to_string(),
                format!("{:.2}", cycles / per_us),
                format!("{instructions:.0}"),
                format!("{:.0}", 100.0 * point.times.occupancy),
                format!("{:.1}", 100.0 * share),
                format!("{:.1}", point.times.window() as f64 / per_us),
                preemptions().min().unwrap_or_default().to_string(),
                preemptions().max().unwrap_or_default().to_string(),
            ]
        })
    });
    output.section("Kernels", "kernels.csv", header.map(String::from).to_vec(), rows.collect());
}
