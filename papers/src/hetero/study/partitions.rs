//! Section 2.2: shared and partitioned networks and controllers, with omnetpp on all CPU cores.

use super::published::Finding;
use super::results::{DirectionResults, percent_change, clear_margin, hardly_margin, format_list, mean};
use super::setup::{KERNEL_NAMES, OMNETPP_ON_ALL_CORES, SATURATING_KERNELS, ChipSetup, Split, splits};

/// Returns CPU and GPU performance relative to everything shared, on average over the kernels that saturate memory.
pub(super) fn mean_relative(results: &DirectionResults, split: Split) -> (f64, f64) {
    let of = SATURATING_KERNELS.map(|kernel| results.relative_performance(kernel, split));
    (mean(of.map(|(cpu, _)| cpu)), mean(of.map(|(_, gpu)| gpu)))
}

/// Returns the overall system speed-up of a split with equal weights, relative to everything shared.
pub(super) fn overall_speedup(results: &DirectionResults, split: Split) -> f64 {
    let (cpu, gpu) = mean_relative(results, split);
    (cpu + gpu) / 2.0
}

/// Returns `true` if the values fall from first to last without a significant rise.
fn is_falling(values: &[f64]) -> bool {
    let steps = values.windows(2).all(|pair| pair[1] <= pair[0] + clear_margin());
    steps && values.last().zip(values.first()).is_some_and(|(last, first)| *last < *first - clear_margin())
}

/// Returns the effect of one virtual channel for the CPU cores, without and with a quarter of the width: the change of CPU and GPU
/// performance relative to everything shared, in percent. The paper changes virtual channels and width together.
pub(super) fn width_and_channels(results: &DirectionResults) -> [(&'static str, f64); 4] {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let channels = mean_relative(results, Split { bytes: 0, ..Split::network(1) });
    let both = mean_relative(results, Split::network(1));
    [
        ("CPU with 1 virtual channel of its own, %", percent(channels.0)),
        ("GPU with 1 virtual channel of the CPU's, %", percent(channels.1)),
        ("CPU with 1 virtual channel and 8 B of its own, %", percent(both.0)),
        ("GPU with 1 virtual channel and 8 B of the CPU's, %", percent(both.1)),
    ]
}

pub(super) fn findings(results: &DirectionResults) -> Vec<Finding> {
    [network_findings(results), controllers(results), both_partitions_findings(results)].concat()
}

fn network_findings(results: &DirectionResults) -> Vec<Finding> {
    let of = |cpu: u32| mean_relative(results, Split::network(cpu));
    let names = ["3G1C", "2G2C", "1G3C"];
    let gpu = [1, 2, 3].map(|cpu| of(cpu).1);
    let cpu = [1, 2, 3].map(|cpu| of(cpu).0);
    let list = |values: [f64; 3]| format_list(names.into_iter().zip(values.map(percent_change)));
    // `true` if the CPU cores lose with a kernel when their share of the network grows.
    let hurts = |kernel: &'static str| {
        let cpu = [1, 2, 3].map(|cpu| results.relative_performance(kernel, Split::network(cpu)).0);
        cpu.windows(2).any(|pair| pair[1] < pair[0] * (1.0 - clear_margin()))
    };
    let hurt: Vec<&str> = KERNEL_NAMES.into_iter().filter(|kernel| hurts(kernel)).collect();
    vec![
        Finding::direction("network-shared-for-gpu", list(gpu), gpu.iter().all(|gpu| *gpu < 1.0 - clear_margin())),
        Finding::direction("network-share-helps-gpu", list(gpu), is_falling(&gpu)),
        Finding::direction("network-own-for-cpu", list(cpu), cpu.iter().any(|cpu| *cpu > 1.0 + clear_margin())),
        Finding::direction(
            "network-share-may-hurt-cpu",
            if hurt.is_empty() { "with no kernel".into() } else { format!("with {}", hurt.join(", ")) },
            !hurt.is_empty(),
        ),
    ]
}

fn controllers(results: &DirectionResults) -> Vec<Finding> {
    let of: Vec<(f64, f64)> = (1..=7).map(|cpu| mean_relative(results, Split::controllers(cpu))).collect();
    let name = |cpu: usize| format!("{}G{cpu}C", 8 - cpu);
    let list = |values: &[f64]| {
        let changes = values.iter().enumerate().map(|(i, value)| format!("{} {}", name(i + 1), percent_change(*value)));
        changes.collect::<Vec<_>>().join(", ")
    };
    let cpu: Vec<f64> = of.iter().map(|(cpu, _)| *cpu).collect();
    let gpu: Vec<f64> = of.iter().map(|(_, gpu)| *gpu).collect();
    let best = (0..7).max_by(|a, b| cpu[*a].total_cmp(&cpu[*b])).unwrap_or(0);
    let busy = |split: Split| mean(SATURATING_KERNELS.map(|kernel| results.get(&ChipSetup { split, ..ChipSetup::together(kernel, OMNETPP_ON_ALL_CORES) }).bandwidth));
    let shared = busy(Split::ALL_SHARED);
    let divided: Vec<f64> = (1..=7).map(|cpu| busy(Split::controllers(cpu))).collect();
    let most = divided.iter().copied().fold(0.0, f64::max);
    vec![
        Finding::direction("controllers-fewer-hurt-gpu", list(&gpu), is_falling(&gpu)),
        Finding::direction("controllers-shared-for-gpu", list(&gpu), gpu.iter().all(|gpu| *gpu < 1.0 + clear_margin())),
        Finding::direction("controllers-four-for-cpu", format!("best at {}; {}", name(best + 1), list(&cpu)), best == 3),
        Finding::direction(
            "controllers-more-than-four-hurt",
            format!(
                "4G4C {}, then {}",
                percent_change(cpu[3]),
                format_list([("3G5C", percent_change(cpu[4])), ("2G6C", percent_change(cpu[5])), ("1G7C", percent_change(cpu[6]))])
            ),
            cpu[4..].iter().all(|cpu4| *cpu4 < cpu[3] * (1.0 + clear_margin())) && cpu[6] < cpu[3] * (1.0 - clear_margin()),
        ),
        Finding::direction(
            "controllers-shared-hardly-hurt-cpu",
            format!("shared {} relative to 4G4C", percent_change(1.0 / cpu[3])),
            1.0 / cpu[3] > 1.0 - 2.0 * hardly_margin(),
        ),
        Finding::direction(
            "controllers-bandwidth-drops",
            format!("DRAM bus busy {:.0} % shared, {:.0} % at most dedicated", shared * 100.0, most * 100.0),
            most < shared,
        ),
    ]
}

fn both_partitions_findings(results: &DirectionResults) -> Vec<Finding> {
    let own = |controllers: u32| Split { controllers, ..Split::network(1) };
    let of = [4, 1].map(|controllers| mean_relative(results, own(controllers)));
    let text = |(name, (cpu, gpu)): (&str, (f64, f64))| format!("{name}: CPU {}, GPU {}", percent_change(cpu), percent_change(gpu));
    let ours = ["3G1C and 4G4C", "3G1C and 7G1C"].into_iter().zip(of).map(text).collect::<Vec<_>>().join("; ");
    let all = splits();
    let best = all.iter().copied().max_by(|a, b| overall_speedup(results, *a).total_cmp(&overall_speedup(results, *b))).unwrap_or_default();
    vec![
        Finding::direction("both-partitioned-degrade-both", ours, of.iter().all(|(cpu, gpu)| *cpu < 1.0 - clear_margin() && *gpu < 1.0 - clear_margin())),
        Finding::direction(
            "shared-is-the-best-whole",
            format!("best: {best}, {} over shared", percent_change(overall_speedup(results, best))),
            overall_speedup(results, best) <= 1.0 + clear_margin(),
        ),
    ]
}
