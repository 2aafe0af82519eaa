//! Section 1: interference between CPU and GPU applications with shared networks and controllers.

use super::published::Finding;
use super::results::{Results, percent_change, clear_margin, hardly_margin, listed, mean};
use super::setup::{FIGURE_1_APPLICATIONS, CPU_CORES, Cpus, HEAVY_MIX, KERNELS, LIGHT_MIX, SATURATING, STREAM, Setup};

/// Returns the CPU performance with a kernel relative to idle SMs.
fn cpu_relative(results: &Results, kernel: &'static str, application: &'static str) -> f64 {
    let cpus = Cpus::All(application, CPU_CORES);
    results.cpu_ipc(&Setup::together(kernel, cpus)) / results.cpu_ipc(&Setup::cpus_alone(cpus))
}

/// Returns the GPU performance with busy CPU cores relative to the kernel alone.
fn gpu_relative(results: &Results, kernel: &'static str, cpus: Cpus) -> f64 {
    results.gpu_speedup(&Setup::together(kernel, cpus)).unwrap_or(f64::NAN)
}

/// Returns the CPU performance without a kernel relative to that with one, on average over kernels and both mixes.
fn without_gpu(results: &Results) -> f64 {
    let one = |(kernel, mix): (&'static str, Cpus)| {
        let of = |setup: &Setup| results.weighted_speedup(setup).unwrap_or(f64::NAN);
        of(&Setup::cpus_alone(mix)) / of(&Setup::together(kernel, mix))
    };
    mean(KERNELS.iter().flat_map(|kernel| [(*kernel, HEAVY_MIX), (*kernel, LIGHT_MIX)]).map(one))
}

pub(super) fn findings(results: &Results) -> Vec<Finding> {
    let pairs = || KERNELS.iter().flat_map(|kernel| FIGURE_1_APPLICATIONS.map(|application| (*kernel, application)));
    let cpu = mean(pairs().map(|(kernel, application)| cpu_relative(results, kernel, application)));
    let gpu = mean(pairs().map(|(kernel, application)| gpu_relative(results, kernel, Cpus::All(application, CPU_CORES))));
    let of_cpu = |application: &'static str| mean(SATURATING.map(|kernel| cpu_relative(results, kernel, application)));
    let light = of_cpu("perlbench");
    let by_application = FIGURE_1_APPLICATIONS.map(|application| (application, percent_change(of_cpu(application))));
    let fewer =
        mean(SATURATING.map(|kernel| {
            gpu_relative(results, kernel, Cpus::All("omnetpp", 8)) / gpu_relative(results, kernel, Cpus::All("omnetpp", CPU_CORES))
        }));
    vec![
        Finding::direction("cpus-lose-more", format!("CPU {}, GPU {} on average", percent_change(cpu), percent_change(gpu)), cpu < gpu - clear_margin()),
        Finding::number("mcf-beside-a-kernel", Some(cpu_relative(results, STREAM, "mcf")), format!(" with {STREAM}")),
        Finding::number("a-kernel-beside-mcf", Some(gpu_relative(results, STREAM, Cpus::All("mcf", CPU_CORES))), format!(" of {STREAM}")),
        Finding::direction("low-mpki-loses-little", listed(by_application), light > 1.0 - hardly_margin() && light > of_cpu("omnetpp") + clear_margin()),
        Finding::number("eight-cores-for-fourteen", Some(fewer), ""),
        Finding::number("without-the-gpu", Some(without_gpu(results)), ""),
    ]
}
