//! Section 1: what CPU and GPU applications do to each other, everything shared.

use super::published::Finding;
use super::results::{Results, change, clear, hardly, listed, mean};
use super::setup::{APPLICATIONS, CORES, Cpus, HEAVY, KERNELS, LIGHT, PRESSING, STREAM, Setup};

/// CPU performance with a kernel, over that with idle SMs.
fn cpu_relative(results: &Results, kernel: &'static str, application: &'static str) -> f64 {
    let cpus = Cpus::All(application, CORES);
    results.cpu_ipc(&Setup::together(kernel, cpus)) / results.cpu_ipc(&Setup::cpus_alone(cpus))
}

/// GPU performance with CPU cores, over that alone.
fn gpu_relative(results: &Results, kernel: &'static str, cpus: Cpus) -> f64 {
    results.gpu_speedup(&Setup::together(kernel, cpus)).unwrap_or(f64::NAN)
}

/// CPU performance without a kernel over that with one, mean over kernels and both mixes.
fn without_gpu(results: &Results) -> f64 {
    let one = |(kernel, mix): (&'static str, Cpus)| {
        let of = |setup: &Setup| results.weighted_speedup(setup).unwrap_or(f64::NAN);
        of(&Setup::cpus_alone(mix)) / of(&Setup::together(kernel, mix))
    };
    mean(KERNELS.iter().flat_map(|kernel| [(*kernel, HEAVY), (*kernel, LIGHT)]).map(one))
}

pub(super) fn findings(results: &Results) -> Vec<Finding> {
    let pairs = || KERNELS.iter().flat_map(|kernel| APPLICATIONS.map(|application| (*kernel, application)));
    let cpu = mean(pairs().map(|(kernel, application)| cpu_relative(results, kernel, application)));
    let gpu = mean(pairs().map(|(kernel, application)| gpu_relative(results, kernel, Cpus::All(application, CORES))));
    let of_cpu = |application: &'static str| mean(PRESSING.map(|kernel| cpu_relative(results, kernel, application)));
    let light = of_cpu("perlbench");
    let by_application = APPLICATIONS.map(|application| (application, change(of_cpu(application))));
    let fewer =
        mean(PRESSING.map(|kernel| {
            gpu_relative(results, kernel, Cpus::All("omnetpp", 8)) / gpu_relative(results, kernel, Cpus::All("omnetpp", CORES))
        }));
    vec![
        Finding::direction("cpus-lose-more", format!("CPU {}, GPU {} on average", change(cpu), change(gpu)), cpu < gpu - clear()),
        Finding::number("mcf-beside-a-kernel", Some(cpu_relative(results, STREAM, "mcf")), format!(" with {STREAM}")),
        Finding::number("a-kernel-beside-mcf", Some(gpu_relative(results, STREAM, Cpus::All("mcf", CORES))), format!(" of {STREAM}")),
        Finding::direction("low-mpki-loses-little", listed(by_application), light > 1.0 - hardly() && light > of_cpu("omnetpp") + clear()),
        Finding::number("eight-cores-for-fourteen", Some(fewer), ""),
        Finding::number("without-the-gpu", Some(without_gpu(results)), ""),
    ]
}
