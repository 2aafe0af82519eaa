//! Section 1: interference between CPU and GPU applications with shared networks and controllers.

use super::published::Finding;
use super::results::{DirectionResults, percent_change, clear_margin, hardly_margin, format_list, mean};
use super::setup::{FIGURE_1_APPLICATIONS, CPU_CORES, Cpus, HEAVY_MIX, KERNEL_NAMES, LIGHT_MIX, SATURATING_KERNELS, STREAM_KERNEL, ChipSetup};

/// Returns the CPU performance with a kernel relative to idle SMs.
fn cpu_relative_performance(results: &DirectionResults, kernel: &'static str, application: &'static str) -> f64 {
    let cpus = Cpus::All(application, CPU_CORES);
    results.cpu_ipc(&ChipSetup::together(kernel, cpus)) / results.cpu_ipc(&ChipSetup::cpus_alone(cpus))
}

/// Returns the GPU performance with busy CPU cores relative to the kernel alone.
fn gpu_relative_performance(results: &DirectionResults, kernel: &'static str, cpus: Cpus) -> f64 {
    results.gpu_speedup(&ChipSetup::together(kernel, cpus)).unwrap_or(f64::NAN)
}

/// Returns the CPU performance without a kernel relative to that with one, on average over kernels and both mixes.
fn without_gpu(results: &DirectionResults) -> f64 {
    let one = |(kernel, mix): (&'static str, Cpus)| {
        let of = |setup: &ChipSetup| results.weighted_speedup(setup).unwrap_or(f64::NAN);
        of(&ChipSetup::cpus_alone(mix)) / of(&ChipSetup::together(kernel, mix))
    };
    mean(KERNEL_NAMES.iter().flat_map(|kernel| [(*kernel, HEAVY_MIX), (*kernel, LIGHT_MIX)]).map(one))
}

pub(super) fn findings(results: &DirectionResults) -> Vec<Finding> {
    let pairs = || KERNEL_NAMES.iter().flat_map(|kernel| FIGURE_1_APPLICATIONS.map(|application| (*kernel, application)));
    let cpu = mean(pairs().map(|(kernel, application)| cpu_relative_performance(results, kernel, application)));
    let gpu = mean(pairs().map(|(kernel, application)| gpu_relative_performance(results, kernel, Cpus::All(application, CPU_CORES))));
    let of_cpu = |application: &'static str| mean(SATURATING_KERNELS.map(|kernel| cpu_relative_performance(results, kernel, application)));
    let light = of_cpu("perlbench");
    let by_application = FIGURE_1_APPLICATIONS.map(|application| (application, percent_change(of_cpu(application))));
    let fewer =
        mean(SATURATING_KERNELS.map(|kernel| {
            gpu_relative_performance(results, kernel, Cpus::All("omnetpp", 8)) / gpu_relative_performance(results, kernel, Cpus::All("omnetpp", CPU_CORES))
        }));
    vec![
        Finding::direction("cpus-lose-more", format!("CPU {}, GPU {} on average", percent_change(cpu), percent_change(gpu)), cpu < gpu - clear_margin()),
        Finding::number("mcf-beside-a-kernel", Some(cpu_relative_performance(results, STREAM_KERNEL, "mcf")), format!(" with {STREAM_KERNEL}")),
        Finding::number("a-kernel-beside-mcf", Some(gpu_relative_performance(results, STREAM_KERNEL, Cpus::All("mcf", CPU_CORES))), format!(" of {STREAM_KERNEL}")),
        Finding::direction("low-mpki-loses-little", format_list(by_application), light > 1.0 - hardly_margin() && light > of_cpu("omnetpp") + clear_margin()),
        Finding::number("eight-cores-for-fourteen", Some(fewer), ""),
        Finding::number("without-the-gpu", Some(without_gpu(results)), ""),
    ]
}
