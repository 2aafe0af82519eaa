//! Section 3: what a limit of warps does to the memory's congestion, to the GPU and to the CPU cores.

use super::published::Finding;
use super::results::{Results, change, clear, hardly, listed, mean};
use super::setup::{DIVERGENT, GATHER, GEMM, HEAVY, KERNELS, LIGHT, LIMITS, PRESSING, STREAM, Setup};

/// Under the tightest limit.
const TIGHT: u32 = LIMITS[LIMITS.len() - 1];

pub(super) fn findings(results: &Results) -> Vec<Finding> {
    [on_the_gpu(results), on_the_memory(results), on_the_cpus(results)].concat()
}

fn on_the_gpu(results: &Results) -> Vec<Finding> {
    let best = |kernel: &'static str| {
        let ipc = |warps: u32| results.gpu_under_limit(kernel, HEAVY, warps);
        LIMITS.into_iter().max_by(|a, b| ipc(*a).total_cmp(&ipc(*b))).map_or((0, 1.0), |warps| (warps, ipc(warps)))
    };
    let all: Vec<(&str, (u32, f64))> = KERNELS.map(|kernel| (kernel, best(kernel))).into();
    let of = |kernel: &'static str, warps: u32| results.gpu_under_limit(kernel, HEAVY, warps);
    let gains = |kernel: &&(&str, (u32, f64))| kernel.1.1 > 1.0 + clear();
    let needs = KERNELS.iter().any(|kernel| of(kernel, TIGHT) < 1.0 - hardly());
    vec![
        Finding::direction(
            "tlp-helps-some-and-hurts-some",
            listed(all.iter().map(|(name, (warps, ipc))| (*name, format!("best at {warps} ({})", change(*ipc))))),
            needs && all.iter().any(|kernel| gains(&kernel)),
        ),
        Finding::direction(
            "compute-needs-warps",
            format!("{GEMM} {} at {TIGHT}", change(of(GEMM, TIGHT))),
            of(GEMM, TIGHT) < 1.0 - hardly(),
        ),
        Finding::direction(
            "too-few-warps-do-not-hide-latency",
            listed([STREAM, DIVERGENT].map(|kernel| (kernel, format!("{} from 8 to 4", change(of(kernel, 4) / of(kernel, 8)))))),
            [STREAM, DIVERGENT].iter().all(|kernel| of(kernel, 4) < of(kernel, 8) * (1.0 - clear())),
        ),
    ]
}

fn on_the_memory(results: &Results) -> Vec<Finding> {
    let under = |kernel: &'static str, warps: u32| results.get(&Setup { warps, ..Setup::together(kernel, HEAVY) });
    let sweep = |of: &dyn Fn(u32) -> f64| LIMITS.map(|warps| format!("{:.2}", of(warps))).join(" ");
    let mc = |kernel: &'static str| sweep(&|warps| under(kernel, warps).stall_mc);
    let relieved = [STREAM, DIVERGENT];
    let net = KERNELS.into_iter().max_by(|a, b| under(a, 48).stall_net.total_cmp(&under(b, 48).stall_net));
    let net = net.unwrap_or(STREAM);
    let stalls = under(GATHER, TIGHT).stall_mc / under(GATHER, LIMITS[0]).stall_mc;
    let gather_gpu = results.gpu_under_limit(GATHER, HEAVY, TIGHT);
    let per_instruction = |warps: u32| under(DIVERGENT, warps).llc_accesses / under(DIVERGENT, warps).gpu_ipc;
    let memory_first = KERNELS.iter().filter(|kernel| under(kernel, 48).stall_mc > under(kernel, 48).stall_net).count();
    vec![
        Finding::direction(
            "fewer-warps-relieve-controllers",
            listed(relieved.map(|kernel| (kernel, mc(kernel)))),
            relieved.iter().all(|kernel| under(kernel, TIGHT).stall_mc < under(kernel, LIMITS[0]).stall_mc * (1.0 - hardly())),
        ),
        Finding::direction(
            "fewer-warps-relieve-the-reply-network",
            format!("{net} {}", sweep(&|warps| under(net, warps).stall_net)),
            under(net, TIGHT).stall_net < under(net, LIMITS[0]).stall_net * (1.0 - hardly()),
        ),
        Finding::direction(
            "some-press-with-few-warps",
            format!("{GATHER}: stall_mc {}, GPU {} at {TIGHT}", change(stalls), change(gather_gpu)),
            stalls > 1.0 - 2.0 * hardly() && gather_gpu > 1.0 - 2.0 * hardly(),
        ),
        Finding::direction(
            "memory-is-the-bottleneck",
            format!("stall_mc above stall_net for {memory_first} of {} kernels", KERNELS.len()),
            memory_first * 2 > KERNELS.len(),
        ),
        Finding::direction(
            "fewer-warps-fewer-llc-accesses",
            format!("{DIVERGENT} {} per instruction at {TIGHT}", change(per_instruction(TIGHT) / per_instruction(LIMITS[0]))),
            per_instruction(TIGHT) < per_instruction(LIMITS[0]) * (1.0 - clear()),
        ),
    ]
}

fn on_the_cpus(results: &Results) -> Vec<Finding> {
    let sweep = |kernel: &'static str, mix| LIMITS.map(|warps| change(results.cpu_under_limit(kernel, mix, warps))).join(" ");
    let tight = |kernel: &'static str, mix| results.cpu_under_limit(kernel, mix, TIGHT);
    let relieved = [STREAM, DIVERGENT];
    let speedup = |setup: &Setup| results.weighted_speedup(setup).unwrap_or(f64::NAN);
    let gemm = speedup(&Setup::together(GEMM, HEAVY)) / speedup(&Setup::cpus_alone(HEAVY));
    let light = PRESSING.map(|kernel| (kernel, tight(kernel, LIGHT)));
    let heavy = mean(relieved.map(|kernel| tight(kernel, HEAVY)));
    let every = || {
        let limits = KERNELS.iter().flat_map(|kernel| LIMITS.map(|warps| (*kernel, warps)));
        limits.flat_map(|(kernel, warps)| [HEAVY, LIGHT].map(|mix| (kernel, mix, warps, results.cpu_under_limit(kernel, mix, warps))))
    };
    let worst = every().min_by(|a, b| a.3.total_cmp(&b.3));
    let worst_text =
        worst.map_or_else(String::new, |(kernel, mix, warps, ratio)| format!("at worst {} ({kernel}, {mix}, {warps})", change(ratio)));
    let from_eight = results.cpu_under_limit(STREAM, HEAVY, 4) / results.cpu_under_limit(STREAM, HEAVY, 8);
    vec![
        Finding::direction(
            "fewer-warps-help-heavy-cpus",
            listed(relieved.map(|kernel| (kernel, sweep(kernel, HEAVY)))),
            relieved.iter().all(|kernel| tight(kernel, HEAVY) > 1.0 + clear()),
        ),
        Finding::direction(
            "light-cpus-hardly-move",
            listed(light.map(|(kernel, ratio)| (kernel, change(ratio)))),
            light.iter().all(|(_, ratio)| (ratio - 1.0).abs() < hardly().max((heavy - 1.0) / 4.0)) && heavy > 1.0,
        ),
        Finding::direction("fewer-warps-never-hurt-cpus", worst_text, worst.is_some_and(|(.., ratio)| ratio > 1.0 - hardly())),
        Finding::direction("compute-leaves-cpus-alone", format!("{GEMM}: CPU {}", change(gemm)), gemm > 1.0 - hardly()),
        Finding::number(
            "four-warps-for-eight",
            Some(from_eight),
            format!(
                " with {STREAM}, GPU {}",
                change(results.gpu_under_limit(STREAM, HEAVY, 4) / results.gpu_under_limit(STREAM, HEAVY, 8))
            ),
        ),
    ]
}
