//! Figures of the runs next to the published figures: means over benchmarks, each with the same weight.

use warpshard_report::bars::{Bars, Group as BarGroup};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::Value;
use warpshard_lab::statistics::mean;

use super::figures::{Figures, BenchmarkRuns};
use super::published::{Configuration, Selector, Quantity, SCHEMES, Scheme, published};

/// The runs of a study.
#[derive(Clone, Debug)]
pub(super) struct Results {
    pub(super) configuration: Configuration,
    /// Core cycles of the task alone.
    pub(super) task_alone: f64,
    pub(super) points: Vec<BenchmarkRuns>,
}

impl Results {
    /// Returns the mean of a figure over the benchmarks that have the figure.
    fn mean(&self, scheme: Scheme, bound: u32, of: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
        mean(self.points.iter().filter_map(|point| of(point.of(scheme, bound)?)))
    }

    /// Returns the spread of a mean over benchmarks, from the spread of each benchmark.
    fn mean_spread(&self, scheme: Scheme, bound: u32, of: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
        let all: Vec<f64> = self.points.iter().filter_map(|point| of(point.of(scheme, bound)?)).collect();
        let sum = all.iter().map(|spread| spread.powi(2)).sum::<f64>();
        (!all.is_empty()).then(|| sum.sqrt() / all.len() as f64)
    }

    /// Returns true if Oracle has no more than the dual kernel, and the dual kernel no more than Chimera, at every bound.
    fn in_order(&self, of: impl Fn(&Figures) -> Option<f64>) -> Option<bool> {
        let at = |bound: &u32| {
            let [oracle, dual, chimera] = [Scheme::Oracle, Scheme::Dual, Scheme::Chimera].map(|scheme| self.mean(scheme, *bound, &of));
            Some(oracle? <= dual? && dual? <= chimera?)
        };
        let all: Option<Vec<bool>> = published().own.parameters.bounds.iter().map(at).collect();
        all.map(|all| all.into_iter().all(|holds| holds))
    }

    /// Returns the error of Chimera's draining estimates minus the dual kernel's error, over benchmarks in which the dual kernel has fewer
    /// violations.
    fn drain_error(&self, bound: u32) -> Option<f64> {
        let one = |point: &BenchmarkRuns| {
            let (chimera, dual) = (point.of(Scheme::Chimera, bound)?, point.of(Scheme::Dual, bound)?);
            let fewer = dual.violation_rate()? < chimera.violation_rate()?;
            fewer.then_some(chimera.mean_drain_error()? - dual.mean_drain_error()?)
        };
        mean(self.points.iter().filter_map(one))
    }

    fn grade(&self, value: &Value<Selector>, output: &mut StudyOutput) {
        let Selector { quantity, scheme, bound } = value.of;
        let tightest = published().own.parameters.bounds.iter().min().copied().unwrap_or_default();
        let shown = |order: Option<bool>| order.map_or("-", |holds| if holds { "yes" } else { "no" }).to_owned();
        match quantity {
            Quantity::Violations => {
                output.graded_number(value, self.mean(scheme, bound, Figures::violation_rate), "");
            }
            Quantity::Deadlines => {
                output.graded_number(value, self.mean(scheme, bound, |figures| figures.missed_rate(self.task_alone)), "");
            }
            Quantity::Overhead => {
                output.graded_number(value, self.mean(scheme, bound, Figures::overhead_rate), "");
            }
            Quantity::ViolationOrder => {
                let order = self.in_order(Figures::violation_rate);
                output.graded_direction(value, shown(order), order);
            }
            Quantity::OverheadOrder => {
                let order = self.in_order(Figures::overhead_rate);
                output.graded_direction(value, shown(order), order);
            }
            Quantity::OverheadReduction => {
                let of = |scheme| self.mean(scheme, tightest, Figures::overhead_rate);
                let ours = of(Scheme::Dual).zip(of(Scheme::Chimera)).map(|(dual, chimera)| 100.0 * (chimera - dual) / chimera);
                output.graded_number(value, ours, "");
            }
            Quantity::Utilisation => {
                let of = |scheme| self.mean(scheme, tightest, Figures::mean_utilisation);
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

/// Adds the tables, the comparison and the bar charts to the output.
pub(super) fn show(output: &mut StudyOutput, results: &Results) {
    show_means(output, results);
    show_benchmarks(output, results);
    show_kernels(output, results);
    output.figure("execution of the task alone, core cycles", results.task_alone);
    for value in published().values.iter().filter(|_| results.configuration.is_compared()) {
        results.grade(value, output);
    }
    if !results.configuration.is_compared() {
        output.note("published values are compared with the configurations `base` and `in-turn` only".into());
    }
    for (file, title, of) in [
        ("violations.svg", "Preemptions above the bound", Figures::violation_rate as fn(&Figures) -> Option<f64>),
        ("overhead.svg", "Overhead over flushing", Figures::overhead_rate),
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
        for scheme in SCHEMES {
            let of = |of: &dyn Fn(&Figures) -> Option<f64>| shown(results.mean(scheme, *bound, of));
            if results.points.iter().all(|point| point.of(scheme, *bound).is_none()) {
                continue;
            }
            output.row(vec![
                bound.to_string(),
                name(scheme).into(),
                of(&Figures::violation_rate),
                shown(results.mean_spread(scheme, *bound, Figures::violation_spread)),
                of(&Figures::late_rate),
                of(&|figures| figures.missed_rate(results.task_alone)),
                of(&Figures::overhead_rate),
                shown(results.mean_spread(scheme, *bound, Figures::overhead_spread)),
                of(&Figures::enforced_rate),
                of(&|figures| figures.technique_rate(|seen| seen.drained)),
                of(&|figures| figures.technique_rate(|seen| seen.switched)),
                of(&|figures| figures.technique_rate(|seen| seen.flushed)),
                of(&Figures::mean_utilisation),
                of(&Figures::mean_drain_error),
                of(&|figures| Some(figures.median_finish()? * f64::from(*bound) / figures.bound as f64)),
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
        point.figures.iter().map(|(cell, figures)| {
            let cycles = figures.bound as f64 / f64::from(cell.bound);
            let us = |span: Option<f64>| span.map_or_else(|| "-".to_owned(), |span| format!("{:.2}", span / cycles));
            vec![
                point.benchmark.name.clone(),
                cell.bound.to_string(),
                name(cell.scheme).into(),
                figures.count(|_| 1).to_string(),
                figures.count(|seen| seen.preemptions).to_string(),
                figures.count(|seen| seen.emptied).to_string(),
                shown(figures.violation_rate()),
                shown(figures.violation_spread()),
                shown(figures.late_rate()),
                shown(figures.missed_rate(results.task_alone)),
                shown(figures.overhead_rate()),
                shown(figures.overhead_spread()),
                shown(figures.enforced_rate()),
                figures.count(|seen| seen.drained).to_string(),
                figures.count(|seen| seen.switched).to_string(),
                figures.count(|seen| seen.flushed).to_string(),
                shown(figures.mean_utilisation()),
                shown(figures.mean_drain_error()),
                us(figures.latency(0.5)),
                us(figures.latency(0.95)),
                figures.median_finish().map_or_else(|| "-".to_owned(), |finish| format!("{:.1}", finish / cycles)),
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
            let of = |figures: &Figures| figures.count(|seen| seen.kernels.get(&row.kernel).copied().unwrap_or_default());
            let preemptions = || point.figures.iter().map(|(_, figures)| of(figures));
            let per_us = point.figures.first().map_or(1400.0, |(cell, figures)| figures.bound as f64 / f64::from(cell.bound));
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
