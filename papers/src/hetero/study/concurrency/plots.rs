//! Plots of gains by kind of workload, overall speed-ups, fixed limits, metrics, and warp limits over time.

use warpshard_report::bars::{BarGroup, Bars};
use warpshard_report::plot::{PlotForm, Plot, Series};
use warpshard_lab::output::StudyOutput;
use warpshard_lab::statistics::{harmonic_mean, mean};

use super::pairs::{WorkloadPair, kinds};
use super::results::ConcurrencyResults;
use super::scheme::{FIXED_LIMITS, ConcurrencyScheme, System};
use super::span::Total;
use super::tables::{figure_19_alphas, negligible_stall_mc, relative_oss};

/// The schemes of Figures 16 and 17 that are plotted; a chart has four colours.
const PLOTTED_SCHEMES: [ConcurrencyScheme; 4] = [ConcurrencyScheme::DynCta, ConcurrencyScheme::CmCpu, ConcurrencyScheme::CmBal(1), ConcurrencyScheme::CmBal(4)];
/// The schemes of Figures 15 and 18.
const METRIC_SCHEMES: [ConcurrencyScheme; 2] = [ConcurrencyScheme::CmCpu, ConcurrencyScheme::CmBal(1)];

/// Adds the plots whose schemes were run.
pub(super) fn add_plots(results: &ConcurrencyResults, output: &mut StudyOutput) {
    let ran = |schemes: &[ConcurrencyScheme]| schemes.iter().all(|scheme| results.schemes.contains(scheme));
    if ran(&PLOTTED_SCHEMES) {
        let gain = |pair: &WorkloadPair, scheme| results.gain(System::Base, pair, scheme);
        add_bars(results, output, "gpu.svg", "GPU performance", "over 48 warps", &PLOTTED_SCHEMES, Some(1.0), &|pair, scheme| {
            Some(gain(pair, scheme).gpu)
        });
        add_bars(results, output, "cpu.svg", "CPU weighted speed-up", "over 48 warps", &PLOTTED_SCHEMES, Some(1.0), &|pair, scheme| {
            Some(gain(pair, scheme).cpu)
        });
        output.plot("oss.svg", plot_overall_speedups(results));
    }
    if ran(&METRIC_SCHEMES) {
        add_bars(
            results,
            output,
            "active-warps.svg",
            "Active warps",
            "warps per SM",
            &METRIC_SCHEMES,
            None,
            &|pair, scheme| Some(results.run_of(pair, scheme).active_warps()),
        );
        let over = |pair: &WorkloadPair, scheme, least: f64, of: &dyn Fn(&super::job::JobMeasurements) -> f64| {
            let base = of(results.run_of(pair, ConcurrencyScheme::All));
            (base > least).then(|| of(results.run_of(pair, scheme)) / base)
        };
        add_bars(
            results,
            output,
            "stall-mc.svg",
            "stall_mc per cycle",
            "over 48 warps",
            &METRIC_SCHEMES,
            Some(1.0),
            &|pair, scheme| over(pair, scheme, negligible_stall_mc(), &|run| run.per_cycle(Total::StallMc)),
        );
        let name = "stall-gpu.svg";
        add_bars(results, output, name, "stall_gpu per GPU instruction", "over 48 warps", &METRIC_SCHEMES, Some(1.0), &|pair, scheme| {
            over(pair, scheme, 0.0, &|run| run.stall_gpu_per_instruction())
        });
        output.plot("over-time.svg", plot_limits_over_time(results));
    }
    let fixed: Vec<ConcurrencyScheme> = FIXED_LIMITS.iter().take(3).copied().map(ConcurrencyScheme::Static).chain([ConcurrencyScheme::CmBal(1)]).collect();
    if ran(&fixed) {
        add_bars(
            results,
            output,
            "static.svg",
            "GPU performance: fixed limits",
            "over 48 warps",
            &fixed,
            Some(1.0),
            &|pair, scheme| Some(results.gain(System::Base, pair, scheme).gpu),
        );
    }
}

/// Adds a chart with a group of bars per kind of workload: harmonic means if `line`, the baseline of ratios, is given, otherwise
/// arithmetic means.
#[expect(clippy::too_many_arguments, reason = "a chart has as many texts")]
fn add_bars(
    results: &ConcurrencyResults,
    output: &mut StudyOutput,
    name: &'static str,
    title: &str,
    y: &str,
    schemes: &[ConcurrencyScheme],
    line: Option<f64>,
    of: &dyn Fn(&WorkloadPair, ConcurrencyScheme) -> Option<f64>,
) {
    let mean = |pairs: &[&'static WorkloadPair], scheme| {
        let values: Vec<f64> = pairs.iter().filter_map(|pair| of(pair, scheme)).collect();
        let mean = if line.is_some() { harmonic_mean(values) } else { mean(values) };
        mean.unwrap_or(line.unwrap_or(0.0))
    };
    let group = |name: String, pairs: Vec<&'static WorkloadPair>| {
        (!pairs.is_empty()).then(|| BarGroup { name, values: schemes.iter().map(|scheme| mean(&pairs, *scheme)).collect() })
    };
    let of_kinds = kinds().filter_map(|kind| group(kind.to_string(), results.pairs_of(|other| other == kind)));
    let groups = of_kinds.chain(group("all".into(), results.all())).collect();
    let series = schemes.iter().map(ToString::to_string).collect();
    output.bars(name, Bars { title: format!("{title} (GPU type-CPU type)"), y: y.into(), series, groups, line });
}

fn plot_overall_speedups(results: &ConcurrencyResults) -> Plot {
    let schemes = [ConcurrencyScheme::DynCta, ConcurrencyScheme::CmCpu].into_iter().chain((1..=4).map(ConcurrencyScheme::CmBal));
    let schemes = schemes.filter(|scheme| results.schemes.contains(scheme));
    let points = |scheme| figure_19_alphas().filter_map(|alpha| relative_oss(results, scheme, alpha).map(|oss| (alpha, oss))).collect();
    Plot {
        title: "Overall system speed-up".into(),
        x: "alpha (0: CPU alone counts, 1: GPU alone)".into(),
        y: "OSS over 48 warps".into(),
        form: PlotForm::Lines,
        series: schemes.map(|scheme| Series { name: scheme.to_string(), points: points(scheme) }).collect(),
    }
}

/// Plots Figure 13: PATH with L1 and H1 under both schemes, or another pair if neither was run.
fn plot_limits_over_time(results: &ConcurrencyResults) -> Plot {
    let path: Vec<&WorkloadPair> =
        results.all().into_iter().filter(|pair| pair.gpu == "PATH" && ["L1", "H1"].contains(&pair.mix.as_str())).collect();
    let pairs = if path.is_empty() { results.all().into_iter().take(1).collect() } else { path };
    let line = |pair: &WorkloadPair, scheme: ConcurrencyScheme| {
        let run = results.run_of(pair, scheme);
        let step = 100.0 / run.limits.len().max(1) as f64;
        let points = run.limits.iter().enumerate().map(|(i, limit)| ((i as f64 + 0.5) * step, *limit)).collect();
        Series { name: format!("{scheme}, {pair}"), points }
    };
    Plot {
        title: "Limit of warps over time".into(),
        x: "part of the run [%]".into(),
        y: "warps per SM, mean".into(),
        form: PlotForm::Lines,
        series: pairs.iter().flat_map(|pair| METRIC_SCHEMES.map(|scheme| line(pair, scheme))).collect(),
    }
}
