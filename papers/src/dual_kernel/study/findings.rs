//! Figures of the runs next to the published figures: means over benchmarks, each with the same weight.

use warpshard_report::bars::{BarGroup, Bars};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::published::Value;
use warpshard_lab::statistics::mean;

use super::figures::{PreemptionFigures, BenchmarkRuns};
use super::published::{Configuration, ValueSelector, Quantity, SCHEMES, PublishedScheme, published};

/// The runs of a study.
#[derive(Clone, Debug)]
pub(super) struct DualKernelResults {
    pub(super) configuration: Configuration,
    /// Core cycles of the task alone.
    pub(super) task_alone: f64,
    pub(super) benchmarks: Vec<BenchmarkRuns>,
}

impl DualKernelResults {
    /// Returns the mean of a figure over the benchmarks that have the figure.
    fn mean_figure(&self, scheme: PublishedScheme, bound: u32, of: impl Fn(&PreemptionFigures) -> Option<f64>) -> Option<f64> {
        mean(self.benchmarks.iter().filter_map(|point| of(point.figures_of(scheme, bound)?)))
    }

    /// Returns the spread of a mean over benchmarks, from the spread of each benchmark.
    fn mean_spread(&self, scheme: PublishedScheme, bound: u32, of: impl Fn(&PreemptionFigures) -> Option<f64>) -> Option<f64> {
        let all: Vec<f64> = self.benchmarks.iter().filter_map(|point| of(point.figures_of(scheme, bound)?)).collect();
        let sum = all.iter().map(|spread| spread.powi(2)).sum::<f64>();
        (!all.is_empty()).then(|| sum.sqrt() / all.len() as f64)
    }

    /// Returns true if Oracle has no more than the dual kernel, and the dual kernel no more than Chimera, at every bound.
    fn schemes_are_in_order(&self, of: impl Fn(&PreemptionFigures) -> Option<f64>) -> Option<bool> {
        let at = |bound: &u32| {
            let [oracle, dual, chimera] = [PublishedScheme::Oracle, PublishedScheme::Dual, PublishedScheme::Chimera].map(|scheme| self.mean_figure(scheme, *bound, &of));
            Some(oracle? <= dual? && dual? <= chimera?)
        };
        let all: Option<Vec<bool>> = published().own.parameters.bounds.iter().map(at).collect();
        all.map(|all| all.into_iter().all(|holds| holds))
    }

    /// Returns the error of Chimera's draining estimates minus the dual kernel's error, over benchmarks in which the dual kernel has fewer
    /// violations.
    fn drain_error(&self, bound: u32) -> Option<f64> {
        let one = |point: &BenchmarkRuns| {
            let (chimera, dual) = (point.figures_of(PublishedScheme::Chimera, bound)?, point.figures_of(PublishedScheme::Dual, bound)?);
            let fewer = dual.violation_rate()? < chimera.violation_rate()?;
            fewer.then_some(chimera.mean_drain_error()? - dual.mean_drain_error()?)
        };
        mean(self.benchmarks.iter().filter_map(one))
    }

    fn grade(&self, value: &Value<ValueSelector>, output: &mut StudyOutput) {
        let ValueSelector { quantity, scheme, bound } = value.of;
        let tightest = published().own.parameters.bounds.iter().min().copied().unwrap_or_default();
        let shown = |order: Option<bool>| order.map_or("-", |holds| if holds { "yes" } else { "no" }).to_owned();
        match quantity {
            Quantity::Violations => {
                output.grade_number(value, self.mean_figure(scheme, bound, PreemptionFigures::violation_rate), "");
            }
            Quantity::Deadlines => {
                output.grade_number(value, self.mean_figure(scheme, bound, |figures| figures.missed_rate(self.task_alone)), "");
            }
            Quantity::Overhead => {
                output.grade_number(value, self.mean_figure(scheme, bound, PreemptionFigures::overhead_rate), "");
            }
            Quantity::ViolationOrder => {
                let order = self.schemes_are_in_order(PreemptionFigures::violation_rate);
                output.grade_direction(value, shown(order), order);
            }
            Quantity::OverheadOrder => {
                let order = self.schemes_are_in_order(PreemptionFigures::overhead_rate);
                output.grade_direction(value, shown(order), order);
            }
            Quantity::OverheadReduction => {
                let of = |scheme| self.mean_figure(scheme, tightest, PreemptionFigures::overhead_rate);
                let ours = of(PublishedScheme::Dual).zip(of(PublishedScheme::Chimera)).map(|(dual, chimera)| 100.0 * (chimera - dual) / chimera);
                output.grade_number(value, ours, "");
            }
            Quantity::Utilisation => {
                let of = |scheme| self.mean_figure(scheme, tightest, PreemptionFigures::mean_utilisation);
                let ours = of(PublishedScheme::Dual).zip(of(PublishedScheme::Chimera)).map(|(dual, chimera)| dual / chimera);
                output.grade_number(value, ours, "");
            }
            Quantity::DrainError => {
                output.grade_number(value, self.drain_error(tightest), "");
            }
        }
    }
}

fn name(scheme: PublishedScheme) -> &'static str {
    match scheme {
        PublishedScheme::Dual => "dual kernel",
        PublishedScheme::Oracle => "Oracle",
        PublishedScheme::Chimera => "Chimera",
        PublishedScheme::ChimeraPlus => "Chimera+",
    }
}

fn format_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

/// Adds the tables, the comparison and the bar charts to the output.
pub(super) fn show_findings(output: &mut StudyOutput, results: &DualKernelResults) {
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
        ("violations.svg", "Preemptions above the bound", PreemptionFigures::violation_rate as fn(&PreemptionFigures) -> Option<f64>),
        ("overhead.svg", "Overhead over flushing", PreemptionFigures::overhead_rate),
    ] {
        let schemes = [PublishedScheme::Chimera, PublishedScheme::Dual, PublishedScheme::Oracle];
        let group = |bound: &u32| BarGroup {
            name: format!("{bound} us"),
            values: schemes.iter().map(|scheme| results.mean_figure(*scheme, *bound, of).unwrap_or(0.0)).collect(),
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

fn show_means(output: &mut StudyOutput, results: &DualKernelResults) {
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
            let of = |of: &dyn Fn(&PreemptionFigures) -> Option<f64>| format_or_dash(results.mean_figure(scheme, *bound, of));
            if results.benchmarks.iter().all(|point| point.figures_of(scheme, *bound).is_none()) {
                continue;
            }
            output.row(vec![
                bound.to_string(),
                name(scheme).into(),
                of(&PreemptionFigures::violation_rate),
                format_or_dash(results.mean_spread(scheme, *bound, PreemptionFigures::violation_spread)),
                of(&PreemptionFigures::late_rate),
                of(&|figures| figures.missed_rate(results.task_alone)),
                of(&PreemptionFigures::overhead_rate),
                format_or_dash(results.mean_spread(scheme, *bound, PreemptionFigures::overhead_spread)),
                of(&PreemptionFigures::enforced_rate),
                of(&|figures| figures.technique_rate(|seen| seen.drained)),
                of(&|figures| figures.technique_rate(|seen| seen.switched)),
                of(&|figures| figures.technique_rate(|seen| seen.flushed)),
                of(&PreemptionFigures::mean_utilisation),
                of(&PreemptionFigures::mean_drain_error),
                of(&|figures| Some(figures.median_finish()? * f64::from(*bound) / figures.bound as f64)),
            ]);
        }
    }
}

fn show_benchmarks(output: &mut StudyOutput, results: &DualKernelResults) {
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
    let rows = results.benchmarks.iter().flat_map(|point| {
        point.figures.iter().map(|(cell, figures)| {
            let cycles = figures.bound as f64 / f64::from(cell.bound);
            let us = |span: Option<f64>| span.map_or_else(|| "-".to_owned(), |span| format!("{:.2}", span / cycles));
            vec![
                point.benchmark.name.clone(),
                cell.bound.to_string(),
                name(cell.scheme).into(),
                figures.total_count(|_| 1).to_string(),
                figures.total_count(|seen| seen.preemptions).to_string(),
                figures.total_count(|seen| seen.emptied).to_string(),
                format_or_dash(figures.violation_rate()),
                format_or_dash(figures.violation_spread()),
                format_or_dash(figures.late_rate()),
                format_or_dash(figures.missed_rate(results.task_alone)),
                format_or_dash(figures.overhead_rate()),
                format_or_dash(figures.overhead_spread()),
                format_or_dash(figures.enforced_rate()),
                figures.total_count(|seen| seen.drained).to_string(),
                figures.total_count(|seen| seen.switched).to_string(),
                figures.total_count(|seen| seen.flushed).to_string(),
                format_or_dash(figures.mean_utilisation()),
                format_or_dash(figures.mean_drain_error()),
                us(figures.latency_quantile(0.5)),
                us(figures.latency_quantile(0.95)),
                figures.median_finish().map_or_else(|| "-".to_owned(), |finish| format!("{:.1}", finish / cycles)),
            ]
        })
    });
    output.section("Benchmarks", "benchmarks.csv", header.map(String::from).to_vec(), rows.collect());
}

fn show_kernels(output: &mut StudyOutput, results: &DualKernelResults) {
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
    let rows = results.benchmarks.iter().flat_map(|point| {
        let rows = point.benchmark.kernels.iter().zip(&point.times.kernels).zip(&point.times.shares);
        rows.map(|((row, (ctas, cycles, instructions, fit)), share)| {
            let of = |figures: &PreemptionFigures| figures.total_count(|seen| seen.kernels.get(&row.kernel).copied().unwrap_or_default());
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
                format!("{:.1}", point.times.window_cycles() as f64 / per_us),
                preemptions().min().unwrap_or_default().to_string(),
                preemptions().max().unwrap_or_default().to_string(),
            ]
        })
    });
    output.section("Kernels", "kernels.csv", header.map(String::from).to_vec(), rows.collect());
}
