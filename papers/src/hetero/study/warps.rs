//! Section 3: the effect of a warp limit on memory congestion, on the GPU and on the CPU cores.

use super::published::Finding;
use super::results::{DirectionResults, percent_change, clear_margin, hardly_margin, format_list, mean};
use super::setup::{DIVERGENT_KERNEL, GATHER_KERNEL, GEMM_KERNEL, HEAVY_MIX, KERNEL_NAMES, LIGHT_MIX, WARP_LIMITS, SATURATING_KERNELS, STREAM_KERNEL, ChipSetup};

/// The tightest warp limit, in warps per SM.
const TIGHTEST_LIMIT: u32 = WARP_LIMITS[WARP_LIMITS.len() - 1];

pub(super) fn findings(results: &DirectionResults) -> Vec<Finding> {
    [gpu_findings(results), memory_findings(results), cpus_findings(results)].concat()
}

fn gpu_findings(results: &DirectionResults) -> Vec<Finding> {
    let best = |kernel: &'static str| {
        let ipc = |warps: u32| results.gpu_under_limit(kernel, HEAVY_MIX, warps);
        WARP_LIMITS.into_iter().max_by(|a, b| ipc(*a).total_cmp(&ipc(*b))).map_or((0, 1.0), |warps| (warps, ipc(warps)))
    };
    let all: Vec<(&str, (u32, f64))> = KERNEL_NAMES.map(|kernel| (kernel, best(kernel))).into();
    let of = |kernel: &'static str, warps: u32| results.gpu_under_limit(kernel, HEAVY_MIX, warps);
    let gains = |kernel: &&(&str, (u32, f64))| kernel.1.1 > 1.0 + clear_margin();
    let needs = KERNEL_NAMES.iter().any(|kernel| of(kernel, TIGHTEST_LIMIT) < 1.0 - hardly_margin());
    vec![
        Finding::direction(
            "tlp-helps-some-and-hurts-some",
            format_list(all.iter().map(|(name, (warps, ipc))| (*name, format!("best at {warps} ({})", percent_change(*ipc))))),
            needs && all.iter().any(|kernel| gains(&kernel)),
        ),
        Finding::direction(
            "compute-needs-warps",
            format!("{GEMM_KERNEL} {} at {TIGHTEST_LIMIT}", percent_change(of(GEMM_KERNEL, TIGHTEST_LIMIT))),
            of(GEMM_KERNEL, TIGHTEST_LIMIT) < 1.0 - hardly_margin(),
        ),
        Finding::direction(
            "too-few-warps-do-not-hide-latency",
            format_list([STREAM_KERNEL, DIVERGENT_KERNEL].map(|kernel| (kernel, format!("{} from 8 to 4", percent_change(of(kernel, 4) / of(kernel, 8)))))),
            [STREAM_KERNEL, DIVERGENT_KERNEL].iter().all(|kernel| of(kernel, 4) < of(kernel, 8) * (1.0 - clear_margin())),
        ),
    ]
}

fn memory_findings(results: &DirectionResults) -> Vec<Finding> {
    let under = |kernel: &'static str, warps: u32| results.get(&ChipSetup { warps, ..ChipSetup::together(kernel, HEAVY_MIX) });
    let sweep = |of: &dyn Fn(u32) -> f64| WARP_LIMITS.map(|warps| format!("{:.2}", of(warps))).join(" ");
    let mc = |kernel: &'static str| sweep(&|warps| under(kernel, warps).stall_mc);
    let relieved = [STREAM_KERNEL, DIVERGENT_KERNEL];
    let net = KERNEL_NAMES.into_iter().max_by(|a, b| under(a, 48).stall_net.total_cmp(&under(b, 48).stall_net));
    let net = net.unwrap_or(STREAM_KERNEL);
    let stalls = under(GATHER_KERNEL, TIGHTEST_LIMIT).stall_mc / under(GATHER_KERNEL, WARP_LIMITS[0]).stall_mc;
    let gather_gpu = results.gpu_under_limit(GATHER_KERNEL, HEAVY_MIX, TIGHTEST_LIMIT);
    let per_instruction = |warps: u32| under(DIVERGENT_KERNEL, warps).llc_accesses / under(DIVERGENT_KERNEL, warps).gpu_ipc;
    let memory_first = KERNEL_NAMES.iter().filter(|kernel| under(kernel, 48).stall_mc > under(kernel, 48).stall_net).count();
    vec![
        Finding::direction(
            "fewer-warps-relieve-controllers",
            format_list(relieved.map(|kernel| (kernel, mc(kernel)))),
            relieved.iter().all(|kernel| under(kernel, TIGHTEST_LIMIT).stall_mc < under(kernel, WARP_LIMITS[0]).stall_mc * (1.0 - hardly_margin())),
        ),
        Finding::direction(
            "fewer-warps-relieve-the-reply-network",
            format!("{net} {}", sweep(&|warps| under(net, warps).stall_net)),
            under(net, TIGHTEST_LIMIT).stall_net < under(net, WARP_LIMITS[0]).stall_net * (1.0 - hardly_margin()),
        ),
        Finding::direction(
            "some-press-with-few-warps",
            format!("{GATHER_KERNEL}: stall_mc {}, GPU {} at {TIGHTEST_LIMIT}", percent_change(stalls), percent_change(gather_gpu)),
            stalls > 1.0 - 2.0 * hardly_margin() && gather_gpu > 1.0 - 2.0 * hardly_margin(),
        ),
        Finding::direction(
            "memory-is-the-bottleneck",
            format!("stall_mc above stall_net for {memory_first} of {} kernels", KERNEL_NAMES.len()),
            memory_first * 2 > KERNEL_NAMES.len(),
        ),
        Finding::direction(
            "fewer-warps-fewer-llc-accesses",
            format!("{DIVERGENT_KERNEL} {} per instruction at {TIGHTEST_LIMIT}", percent_change(per_instruction(TIGHTEST_LIMIT) / per_instruction(WARP_LIMITS[0]))),
            per_instruction(TIGHTEST_LIMIT) < per_instruction(WARP_LIMITS[0]) * (1.0 - clear_margin()),
        ),
    ]
}

fn cpus_findings(results: &DirectionResults) -> Vec<Finding> {
    let sweep = |kernel: &'static str, mix| WARP_LIMITS.map(|warps| percent_change(results.cpu_under_limit(kernel, mix, warps))).join(" ");
    let tight = |kernel: &'static str, mix| results.cpu_under_limit(kernel, mix, TIGHTEST_LIMIT);
    let relieved = [STREAM_KERNEL, DIVERGENT_KERNEL];
    let speedup = |setup: &ChipSetup| results.weighted_speedup(setup).unwrap_or(f64::NAN);
    let gemm = speedup(&ChipSetup::together(GEMM_KERNEL, HEAVY_MIX)) / speedup(&ChipSetup::cpus_alone(HEAVY_MIX));
    let light = SATURATING_KERNELS.map(|kernel| (kernel, tight(kernel, LIGHT_MIX)));
    let heavy = mean(relieved.map(|kernel| tight(kernel, HEAVY_MIX)));
    let every = || {
        let limits = KERNEL_NAMES.iter().flat_map(|kernel| WARP_LIMITS.map(|warps| (*kernel, warps)));
        limits.flat_map(|(kernel, warps)| [HEAVY_MIX, LIGHT_MIX].map(|mix| (kernel, mix, warps, results.cpu_under_limit(kernel, mix, warps))))
    };
    let worst = every().min_by(|a, b| a.3.total_cmp(&b.3));
    let worst_text =
        worst.map_or_else(String::new, |(kernel, mix, warps, ratio)| format!("at worst {} ({kernel}, {mix}, {warps})", percent_change(ratio)));
    let from_eight = results.cpu_under_limit(STREAM_KERNEL, HEAVY_MIX, 4) / results.cpu_under_limit(STREAM_KERNEL, HEAVY_MIX, 8);
    vec![
        Finding::direction(
            "fewer-warps-help-heavy-cpus",
            format_list(relieved.map(|kernel| (kernel, sweep(kernel, HEAVY_MIX)))),
            relieved.iter().all(|kernel| tight(kernel, HEAVY_MIX) > 1.0 + clear_margin()),
        ),
        Finding::direction(
            "light-cpus-hardly-move",
            format_list(light.map(|(kernel, ratio)| (kernel, percent_change(ratio)))),
            light.iter().all(|(_, ratio)| (ratio - 1.0).abs() < hardly_margin().max((heavy - 1.0) / 4.0)) && heavy > 1.0,
        ),
        Finding::direction("fewer-warps-never-hurt-cpus", worst_text, worst.is_some_and(|(.., ratio)| ratio > 1.0 - hardly_margin())),
        Finding::direction("compute-leaves-cpus-alone", format!("{GEMM_KERNEL}: CPU {}", percent_change(gemm)), gemm > 1.0 - hardly_margin()),
        Finding::number(
            "four-warps-for-eight",
            Some(from_eight),
            format!(
                " with {STREAM_KERNEL}, GPU {}",
                percent_change(results.gpu_under_limit(STREAM_KERNEL, HEAVY_MIX, 4) / results.gpu_under_limit(STREAM_KERNEL, HEAVY_MIX, 8))
            ),
        ),
    ]
}
