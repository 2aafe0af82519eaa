//! The intra-block tail effect (Section 3.5.5): under a two-level scheduler that prefers the oldest, some warps of a CTA end
//! long before the others, and until those have ended too no CTA takes their place.
//!
//! In: runs in which the policy `probe` records the resident warps of core 0 every 100 cycles. Out: per kernel and order the
//! share of time with fewer warps than the core holds, and a plot over time.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::chip::{RunOptions, simulate};
use crate::config::{Machine, Override};
use crate::frontend::model::{builtin_model, builtin_text};
use crate::policy::registry;
use crate::report::plot::{Form, Plot, Series};
use crate::study::StudyOutput;
use crate::study::output::PlotNames;

use super::characterise::{FERMI, Options, workload};
use super::kernels::Grid;
use super::published::{Kernel, published};
use super::steady::kept;

/// The kernels with a short last phase, and the plots of the first two orders.
const KERNELS: [(&str, [PlotNames; 2]); 3] = [
    ("lud", [["tail-lud-rr.svg", "tail-lud-rr.png"], ["tail-lud-oldest.svg", "tail-lud-oldest.png"]]),
    ("km", [["tail-km-rr.svg", "tail-km-rr.png"], ["tail-km-oldest.svg", "tail-km-oldest.png"]]),
    ("bp_k1", [["tail-bp_k1-rr.svg", "tail-bp_k1-rr.png"], ["tail-bp_k1-oldest.svg", "tail-bp_k1-oldest.png"]]),
];
/// The orders that are compared.
const ORDERS: [&str; 3] = ["two-level-lrr", "two-level-oldest", "two-level-phase"];
/// Waves of CTAs that a run lasts on a core that issues one instruction per cycle; with fewer there are no tails to show.
const WAVES: f64 = 6.0;
/// Core cycles of a sample.
const PERIOD: u64 = 100;
/// The part of a run that a plot shows, in the same waves.
const SHOWN: f64 = 4.0;
/// Points of a line of a plot.
const POINTS: usize = 200;

/// Resident warps of a core over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Residency {
    /// The mean of each period, from the first on in which the core was full.
    warps: Vec<f64>,
}

impl Residency {
    /// The share of periods in which a warp or more was missing, in percent.
    fn below(&self, full: u32) -> f64 {
        let below = self.warps.iter().filter(|warps| **warps <= f64::from(full) - 1.0).count();
        100.0 * below as f64 / self.warps.len().max(1) as f64
    }

    /// What a plot of the first `shown` periods shows: means of a few of them, by their first cycle.
    fn points(&self, shown: usize) -> Vec<(f64, f64)> {
        let warps = &self.warps[..shown.min(self.warps.len())];
        let at_once = warps.len().div_ceil(POINTS).max(1);
        let point = |(i, few): (usize, &[f64])| ((i * at_once) as f64 * PERIOD as f64, few.iter().sum::<f64>() / few.len() as f64);
        warps.chunks(at_once).enumerate().map(point).collect()
    }

    /// Warps missing on average, in percent of a full core.
    fn missing(&self, full: u32) -> f64 {
        let resident: f64 = self.warps.iter().sum();
        100.0 * (1.0 - resident / (self.warps.len().max(1) as f64 * f64::from(full)))
    }
}

/// Measures and adds plots, figures and a remark to the study.
///
/// # Errors
/// When a kernel does not run.
pub(super) fn show(output: &mut StudyOutput, options: &Options) -> Result<(), String> {
    let library = published();
    for (name, files) in KERNELS {
        if options.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let Some(kernel) = library.kernel.iter().find(|kernel| kernel.name == name) else { continue };
        let grid = Grid::of(kernel, FERMI, &[])?;
        let full = grid.most * warps_of_a_cta(kernel)?;
        let cycles = options.cycles.max((WAVES * grid.per_cta * f64::from(grid.most)) as u64);
        let runs = ORDERS.par_iter().map(|order| residency(kernel, order, full, cycles, options)).collect::<Result<Vec<_>, String>>()?;
        for (order, run) in ORDERS.iter().zip(&runs) {
            output.figure(&format!("{name}, {order}: time with fewer than {full} warps on core 0, %"), run.below(full));
            output.figure(&format!("{name}, {order}: warps missing on average, %"), run.missing(full));
        }
        let shown = cycles as f64 * SHOWN / WAVES / PERIOD as f64;
        for ((order, run), names) in ORDERS.iter().zip(&runs).zip(files).filter(|((_, run), _)| !run.warps.is_empty()) {
            output.plot(
                names,
                Plot {
                    title: format!("Intra-block tail effect: {name}, {order}, core 0 ({FERMI})"),
                    x: "core cycles since the core was full".into(),
                    y: "resident warps".into(),
                    form: Form::Lines,
                    series: vec![Series { name: (*order).into(), points: run.points(shown as usize) }],
                },
            );
        }
    }
    Ok(())
}

fn warps_of_a_cta(kernel: &Kernel) -> Result<u32, String> {
    let model = builtin_model(&workload(kernel), 1, &[]).map_err(|error| error.to_string())?;
    Ok(model.kernels[0].kernel.info.warps_per_cta())
}

fn residency(kernel: &Kernel, order: &str, full: u32, cycles: u64, options: &Options) -> Result<Residency, String> {
    let loaded = Machine::load(FERMI, &[Override::new("gpu.sm.order", order)]).map_err(|errors| errors.to_string())?;
    let name = workload(kernel);
    let of = ("tail", order, loaded.provenance.to_toml(), &name, builtin_text(&name), cycles, PERIOD, full);
    kept(options.cache.as_deref(), "tail", of, || {
        let model = builtin_model(&name, 1, &[]).map_err(|error| error.to_string())?;
        let machine = &loaded.machine;
        let table = format!("period = {PERIOD}\nsms = [0]\ncounters = [\"resident_warp_cycles\"]");
        let table: toml::Table = table.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let probe = registry::find("probe").and_then(|policy| (policy.build)(table)).map_err(|error| error.to_string())?;
        let max_cycles = Some(machine.gpu.dispatch.launch_latency + cycles);
        let options = RunOptions { max_cycles, controllers: vec![probe], ..RunOptions::default() };
        let outcome = simulate(machine, &Arc::new(model.workload()), options).map_err(|error| error.to_string())?.outcome;
        let samples = outcome.timeline.iter().filter_map(|entry| entry.value);
        let warps = samples.map(|cycles| cycles / PERIOD as f64).skip_while(|warps| *warps < f64::from(full)).collect();
        Ok(Residency { warps })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_counts_when_a_whole_warp_is_missing() {
        let run = Residency { warps: vec![48.0, 47.5, 47.0, 24.0] };
        assert_eq!(run.below(48), 50.0);
        assert_eq!(run.points(3), [(0.0, 48.0), (100.0, 47.5), (200.0, 47.0)]);
        let long = Residency { warps: vec![48.0; 401] };
        assert_eq!((long.points(999).len(), long.points(999)[1].0), (134, 300.0));
        assert!((run.missing(48) - 100.0 * (1.0 - 166.5 / 192.0)).abs() < 1e-9);
    }
}
