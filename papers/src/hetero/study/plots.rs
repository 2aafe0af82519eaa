//! Plots of the effects of warp limits and of partitioning.

use warpshard_report::plot::{PlotForm, Plot, Series};

use super::partitions::{mean_relative, overall_speedup};
use super::results::DirectionResults;
use super::setup::{Cpus, HEAVY_MIX, KERNEL_NAMES, LIGHT_MIX, WARP_LIMITS, SATURATING_KERNELS, STREAM_KERNEL, ChipSetup, Split};

/// Returns the plots with their file names.
pub(super) fn plots(results: &DirectionResults) -> Vec<(&'static str, Plot)> {
    vec![
        ("warps-cpu.svg", warps_cpu(results)),
        (
            "warps-gpu.svg",
            sweep("GPU under a limit of warps, with CPU mix H2", "GPU IPC over that with 48 warps", &|kernel, warps| {
                results.gpu_under_limit(kernel, HEAVY_MIX, warps)
            }),
        ),
        (
            "warps-stalls.svg",
            sweep("controllers that are full, with CPU mix H2", "stall_mc [controllers]", &|kernel, warps| {
                results.get(&ChipSetup { warps, ..ChipSetup::together(kernel, HEAVY_MIX) }).stall_mc
            }),
        ),
        (
            "controllers.svg",
            splits(results, "controllers for CPU cores alone, of 8 (0: all shared)", 7, Split::controllers),
        ),
        (
            "network.svg",
            splits(results, "virtual channels and quarters of the width for CPU cores (0: all shared)", 3, Split::network),
        ),
    ]
}

fn line(name: &str, of: &dyn Fn(u32) -> f64) -> Series {
    Series { name: name.to_owned(), points: WARP_LIMITS.iter().rev().map(|&warps| (f64::from(warps), of(warps))).collect() }
}

fn lines(title: &str, x: &str, y: &str, series: Vec<Series>) -> Plot {
    Plot { title: title.into(), x: x.into(), y: y.into(), form: PlotForm::Lines, series }
}

fn sweep(title: &str, y: &str, of: &dyn Fn(&'static str, u32) -> f64) -> Plot {
    let series = KERNEL_NAMES.iter().map(|kernel| line(kernel, &|warps| of(kernel, warps))).collect();
    lines(title, "limit of warps per SM", y, series)
}

fn warps_cpu(results: &DirectionResults) -> Plot {
    let of = |kernel: &'static str, mix: Cpus| line(&format!("{mix} with {kernel}"), &|warps| results.cpu_under_limit(kernel, mix, warps));
    let heavy = KERNEL_NAMES.into_iter().map(|kernel| of(kernel, HEAVY_MIX));
    let series = heavy.chain([of(STREAM_KERNEL, LIGHT_MIX)]).collect();
    lines("CPU cores under a limit of the GPU's warps", "limit of warps per SM", "CPU weighted speed-up over that with 48 warps", series)
}

/// Plots performance over the number of resources dedicated to CPU cores, on average over the kernels that saturate memory.
fn splits(results: &DirectionResults, x: &str, most: u32, split: fn(u32) -> Split) -> Plot {
    let points = |of: &dyn Fn(Split) -> f64| (0..=most).map(|own| (f64::from(own), of(split(own)))).collect();
    let series = vec![
        Series { name: "CPU".into(), points: points(&|split| mean_relative(results, split).0) },
        Series { name: "GPU".into(), points: points(&|split| mean_relative(results, split).1) },
        Series { name: "both, equal weights".into(), points: points(&|split| overall_speedup(results, split)) },
    ];
    let title = format!("omnetpp on all CPU cores, mean with {}", SATURATING_KERNELS.join(", "));
    lines(&title, x, "performance over everything shared", series)
}
