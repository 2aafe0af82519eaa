//! Keys of the chip as a whole: its name, its clocks, its SMs and the grid scheduler.

use super::super::choices::Words;
use super::super::machine::{Capability, CtaOrder, InFlightPolicy, Sharing, Switch};
use super::super::value::ValueKind;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    key!("name", ValueKind::Text, "The machine's name in reports.", |m| m.name),
    key!("decision_latency", ValueKind::Cycles("core", 0, 1 << 20), "Cycles from a controller's decision to its effect.", |m| m.decision_latency)
        .default("0"),
    key!("clocks.core", ValueKind::Frequency, "Clock of the SMs and the grid scheduler.", |m| m.clocks.core).option("-gpgpu_clock_domains, 1st"),
    key!("clocks.noc", ValueKind::Frequency, "Clock of the network subnets.", |m| m.clocks.noc).option("-gpgpu_clock_domains, 2nd"),
    key!("clocks.llc", ValueKind::Frequency, "LLC slices.", |m| m.clocks.llc).option("-gpgpu_clock_domains, 3rd"),
    key!("clocks.dram", ValueKind::Frequency, "Clock of DRAM commands.", |m| m.clocks.dram).option("-gpgpu_clock_domains, 4th"),
    key!(
        "clocks.tensor_load",
        ValueKind::Numbers,
        "SM clock in MHz at 0, 20, 40, .. % utilisation of the matrix units, for `--clock auto`; empty if it is not known.",
        |m| m.gpu.tensor_clocks
    )
    .default("[]")
    .quiet(),
    key!(
        "gpu.compute_capability",
        ValueKind::Choice(Capability::WORDS),
        "Generation of machine code that the GPU executes. It selects the listing of a program; code for another generation is noted or rejected.",
        |m| m.gpu.compute_capability
    )
    .default("\"unknown\"")
    .quiet()
    .option("-gpgpu_compute_capability_major and _minor"),
    key!("gpu.sms", ValueKind::Count(1, 4096), "Number of SMs.", |m| m.gpu.sms).option("-gpgpu_n_clusters x -gpgpu_n_cores_per_cluster"),
    key!(
        "gpu.dispatch.latency",
        ValueKind::Cycles("core", 1, 4096),
        "Latency of the links between the grid scheduler and the SMs, each way.",
        |m| m.gpu.dispatch.latency
    ),
    key!("gpu.dispatch.ahead", ValueKind::Count(0, 64), "CTAs bound to an SM beyond the resident CTAs.", |m| m.gpu.dispatch.ahead).default("1"),
    key!(
        "gpu.dispatch.order",
        ValueKind::Numbers,
        "Dispatch order of the SMs, as a list of all SM numbers; ascending if empty.",
        |m| m.gpu.dispatch.order
    )
    .default("[]"),
    key!("gpu.dispatch.cta_order", ValueKind::Choice(CtaOrder::WORDS), "Policy that selects the SM of the next CTA.", |m| m.gpu.dispatch.cta_order)
        .default("\"rotating\""),
    key!(
        "gpu.dispatch.ctas_per_cycle",
        ValueKind::Count(0, 65535),
        "Maximum number of CTAs per cycle, clusters not counted, that the grid scheduler sends to SMs on which CTAs of their kernel have ended; 0 for one per SM.",
        |m| m.gpu.dispatch.ctas_per_cycle
    )
    .default("0")
    .quiet(),
    key!(
        "gpu.dispatch.cta_interval",
        ValueKind::Cycles("core", 0, 4096),
        "Minimum cycles between the starts of two CTAs on an SM, in addition to `warp_interval` for each warp.",
        |m| m.gpu.dispatch.cta_interval
    )
    .default("0")
    .quiet(),
    key!(
        "gpu.dispatch.warp_interval",
        ValueKind::Cycles("core", 0, 256),
        "Minimum cycles between the starts of two CTAs on an SM, per warp of the CTA.",
        |m| m.gpu.dispatch.warp_interval
    )
    .default("0")
    .quiet(),
    key!(
        "gpu.dispatch.launch_latency",
        ValueKind::Cycles("core", 0, 1 << 30),
        "Cycles from the launch of a kernel, after the end of its predecessors in the stream, to the start of its first CTA.",
        |m| m.gpu.dispatch.launch_latency
    )
    .option("-gpgpu_kernel_launch_latency"),
    key!("gpu.dispatch.max_kernels", ValueKind::Count(1, 1024), "Maximum number of concurrent kernels on the chip.", |m| m.gpu.dispatch.max_kernels)
        .option("-gpgpu_max_concurrent_kernel"),
    key!("gpu.dispatch.share_sm", ValueKind::Flag, "True if CTAs of different kernels may share an SM.", |m| m.gpu.dispatch.share_sm)
        .default("false")
        .option("-gpgpu_concurrent_kernel_sm"),
    key!(
        "gpu.dispatch.sharing",
        ValueKind::Choice(Sharing::WORDS),
        "Division of the SMs between concurrent kernels. With `interleaved`, kernels share SMs even if `share_sm` is false.",
        |m| m.gpu.dispatch.sharing
    )
    .default("\"left-over\""),
    key!(
        "gpu.dispatch.switch",
        ValueKind::Choice(Switch::WORDS),
        "Cost model of saving and restoring the context of a CTA that a controller preempts.",
        |m| m.gpu.dispatch.switch
    )
    .default("\"time\""),
    key!(
        "gpu.dispatch.under_way",
        ValueKind::Choice(InFlightPolicy::WORDS),
        "Treatment of in-flight instructions of a CTA that a controller preempts.",
        |m| m.gpu.dispatch.under_way
    )
    .default("\"awaited\""),
    key!(
        "gpu.cluster.gpcs",
        ValueKind::Numbers,
        "GPC of each SM, in SM order: the CTAs of a cluster run on SMs of one GPC. If empty, one GPC contains all SMs.",
        |m| m.gpu.cluster.gpcs
    )
    .default("[]")
    .quiet(),
    key!(
        "gpu.cluster.interval",
        ValueKind::Cycles("core", 1, 4096),
        "Cycles between the launches of two clusters (H100: 3.2).",
        |m| m.gpu.cluster.interval
    )
    .default("3")
    .quiet(),
    key!(
        "gpu.cluster.link_latency",
        ValueKind::Cycles("core", 1, 4096),
        "Latency of the links between an SM and the cluster network, each way.",
        |m| m.gpu.cluster.link_latency
    )
    .default("40")
    .quiet(),
    key!(
        "gpu.cluster.hop",
        ValueKind::Cycles("core", 0, 4096),
        "Cycles that a packet spends in the cluster network on its way to an SM (H100, clusters.dsmem_latency_4: 205 with both links and hops).",
        |m| m.gpu.cluster.hop
    )
    .default("40")
    .quiet(),
    key!(
        "gpu.cluster.request",
        ValueKind::Cycles("core", 1, 4096),
        "Cycles per KiB requested from the shared memory of other SMs: the rate at which requests leave an SM (H100: SMs that read each other's shared memory get 17.07 bytes per cycle).",
        |m| m.gpu.cluster.request
    )
    .default("20")
    .quiet(),
    key!(
        "gpu.cluster.reply",
        ValueKind::Cycles("core", 1, 4096),
        "Cycles per KiB of replies that leave an SM (H100: 25.6 bytes per cycle leave an SM that several SMs read).",
        |m| m.gpu.cluster.reply
    )
    .default("40")
    .quiet(),
    key!(
        "gpu.cluster.receive",
        ValueKind::Cycles("core", 1, 4096),
        "Cycles per KiB of replies that an SM receives (H100: 21.3 bytes per cycle).",
        |m| m.gpu.cluster.receive
    )
    .default("48")
    .quiet(),
    key!(
        "gpu.cluster.store",
        ValueKind::Cycles("core", 1, 4096),
        "Cycles per KiB of stores that leave an SM (H100: 20.4 bytes per cycle).",
        |m| m.gpu.cluster.store
    )
    .default("50")
    .quiet(),
    key!(
        "gpu.cluster.accept",
        ValueKind::Cycles("core", 1, 4096),
        "Cycles per KiB of stores that an SM receives (H100: 38 bytes per cycle from several SMs).",
        |m| m.gpu.cluster.accept
    )
    .default("27")
    .quiet(),
    key!(
        "gpu.cluster.in_flight",
        ValueKind::Count(1, 1024),
        "Maximum number of an SM's outstanding instructions on the shared memory of other SMs (chosen).",
        |m| m.gpu.cluster.in_flight
    )
    .default("64")
    .quiet(),
];
