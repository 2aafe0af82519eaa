//! The intra-block tail effect (Section 3.5.5): under a two-level scheduler that prefers the oldest warp, some warps of a CTA end
//! long before the others, and no new CTA starts in their slots until the whole CTA has ended.
//!
//! In: runs in which the policy `probe` records the resident warps of core 0. Out: per kernel and order the share of time with fewer
//! warps than the core can hold, and a plot over time.

use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_report::plot::{PlotForm, Plot, Series};
use warpshard_lab::job::Job;
use warpshard_lab::output::StudyOutput;

use super::{KernelGrid, Thesis, kernel_library};

/// Parameters of the runs, explained in `papers/src/wa_sched/published/phase-aware.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) kernels: Vec<String>,
    orders: Vec<String>,
    waves: f64,
    shown: f64,
    period: u64,
}

/// Plot files of the first two orders, by kernel.
const PLOT_FILES: [(&str, [&str; 2]); 3] = [
    ("lud", ["tail-lud-rr.svg", "tail-lud-oldest.svg"]),
    ("km", ["tail-km-rr.svg", "tail-km-oldest.svg"]),
    ("bp_k1", ["tail-bp_k1-rr.svg", "tail-bp_k1-oldest.svg"]),
];
/// Maximum number of points per line of a plot.
const MAX_POINTS: usize = 200;

/// Resident warps of a core over time: the mean of each period, starting with the first period in which the core was full.
#[derive(Clone, Debug, PartialEq)]
struct WarpResidency {
    warps: Vec<f64>,
}

impl WarpResidency {
    /// Returns the share of periods in which at least one warp was missing, in percent.
    fn below_full_percent(&self, full: u32) -> f64 {
        let below = self.warps.iter().filter(|warps| **warps <= f64::from(full) - 1.0).count();
        100.0 * below as f64 / self.warps.len().max(1) as f64
    }

    /// Returns points of a plot of the first `shown` periods: the mean of a few periods at the first cycle of each group.
    fn plot_points(&self, shown: usize, period: u64) -> Vec<(f64, f64)> {
        let warps = &self.warps[..shown.min(self.warps.len())];
        let at_once = warps.len().div_ceil(MAX_POINTS).max(1);
        let point = |(i, few): (usize, &[f64])| ((i * at_once) as f64 * period as f64, few.iter().sum::<f64>() / few.len() as f64);
        warps.chunks(at_once).enumerate().map(point).collect()
    }

    /// Returns the mean number of missing warps, in percent of a full core.
    fn missing(&self, full: u32) -> f64 {
        let resident: f64 = self.warps.iter().sum();
        100.0 * (1.0 - resident / (self.warps.len().max(1) as f64 * f64::from(full)))
    }
}

/// Runs the kernels with the probe and adds plots and figures to the study.
///
/// # Errors
/// Fails if a kernel cannot be run.
pub(super) fn add_residency_plots(output: &mut StudyOutput, thesis: &Thesis<'_>, parameters: &Parameters) -> Result<(), TaskError> {
    let Parameters { kernels, orders, waves, shown, period } = parameters;
    let machine = kernel_library().own.machines.phases.as_str();
    let wanted = kernels.iter().filter(|name| thesis.request.includes(name));
    for kernel in wanted.filter_map(|name| kernel_library().own.kernel_named(name)) {
        let base = Job { parameters: Vec::new(), ..thesis.kernel_job(kernel, machine, &kernel.table_4_2) };
        let grid = KernelGrid::from_job(&base)?;
        let full = grid.most * grid.warps;
        let cycles = thesis.cycles.max((waves * grid.per_cta * f64::from(grid.most)) as u64);
        let probe = format!("probe:period={period},sms=[0],counters=[\"resident_warp_cycles\"]");
        let jobs = orders.iter().map(|order| base.clone().set("gpu.sm.order", order).policy(probe.clone()).cycles(Some(cycles)));
        let name = &kernel.name;
        let plots = PLOT_FILES.iter().find(|(of, _)| of == name).map_or(&[][..], |(_, plots)| plots);
        let runs = thesis.lab.run_tasks(&jobs.collect::<Vec<_>>())?;
        for (i, (order, run)) in orders.iter().zip(runs).enumerate() {
            let samples = run.records.iter().map(|record| record.value / *period as f64);
            let run = WarpResidency { warps: samples.skip_while(|warps| *warps < f64::from(full)).collect() };
            output.figure(&format!("{name}, {order}: time with fewer than {full} warps on core 0, %"), run.below_full_percent(full));
            output.figure(&format!("{name}, {order}: warps missing on average, %"), run.missing(full));
            let points = run.plot_points((cycles as f64 * shown / waves) as usize / *period as usize, *period);
            if let Some(name) = plots.get(i).filter(|_| !points.is_empty()) {
                let title = format!("Intra-block tail effect: {name}, {order}, core 0 ({machine})");
                let (x, y) = ("core cycles since the core was full".into(), "resident warps".into());
                output.plot(name, Plot { title, x, y, form: PlotForm::Lines, series: vec![Series { name: order.clone(), points }] });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_counts_when_a_whole_warp_is_missing() {
        let run = WarpResidency { warps: vec![48.0, 47.5, 47.0, 24.0] };
        assert_eq!(run.below_full_percent(48), 50.0);
        assert_eq!(run.plot_points(3, 100), [(0.0, 48.0), (100.0, 47.5), (200.0, 47.0)]);
        let long = WarpResidency { warps: vec![48.0; 401] };
        assert_eq!((long.plot_points(999, 100).len(), long.plot_points(999, 100)[1].0), (134, 300.0));
        assert!((run.missing(48) - 100.0 * (1.0 - 166.5 / 192.0)).abs() < 1e-9);
    }
}
