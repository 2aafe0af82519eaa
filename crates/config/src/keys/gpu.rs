//! Keys of the chip as a whole: its name, its clocks, its SMs and the grid scheduler.

use super::super::choices::Words;
use super::super::machine::{Capability, CtaOrder, Sharing, Switch, UnderWay};
use super::super::value::Kind;
use super::declaration::{Field, Key, key};

pub(super) const KEYS: &[Key] = &[
    key!("name", Kind::Text, "The machine's name, as reports print it.", |m| m.name),
    key!("decision_latency", Kind::Cycles("core", 0, 1 << 20), "From a controller's decision to its effect.", |m| m.decision_latency)
        .default("0"),
    key!("clocks.core", Kind::Frequency, "SMs and the grid scheduler.", |m| m.clocks.core).option("-gpgpu_clock_domains, 1st"),
    key!("clocks.noc", Kind::Frequency, "Network subnets.", |m| m.clocks.noc).option("-gpgpu_clock_domains, 2nd"),
    key!("clocks.llc", Kind::Frequency, "LLC slices.", |m| m.clocks.llc).option("-gpgpu_clock_domains, 3rd"),
    key!("clocks.dram", Kind::Frequency, "DRAM command clock.", |m| m.clocks.dram).option("-gpgpu_clock_domains, 4th"),
    key!(
        "clocks.tensor_load",
        Kind::Numbers,
        "The clock of the SMs in MHz where 0, 20, 40 .. % of what the matrix units can do is done, for `--clock auto`; empty where it is not known.",
        |m| m.gpu.tensor_clocks
    )
    .default("[]")
    .quiet(),
    key!(
        "gpu.compute_capability",
        Kind::Choice(Capability::WORDS),
        "The generation of machine code that the GPU executes. It chooses the listing of a program, and code that does not fit is noted or refused.",
        |m| m.gpu.compute_capability
    )
    .default("\"unknown\"")
    .quiet()
    .option("-gpgpu_compute_capability_major and _minor"),
    key!("gpu.sms", Kind::Count(1, 4096), "SMs of the chip.", |m| m.gpu.sms).option("-gpgpu_n_clusters x -gpgpu_n_cores_per_cluster"),
    key!(
        "gpu.dispatch.latency",
        Kind::Cycles("core", 1, 4096),
        "Latency of the links between the grid scheduler and the SMs, each way.",
        |m| m.gpu.dispatch.latency
    ),
    key!("gpu.dispatch.ahead", Kind::Count(0, 64), "CTAs bound to an SM beyond those resident.", |m| m.gpu.dispatch.ahead).default("1"),
    key!(
        "gpu.dispatch.order",
        Kind::Numbers,
        "The order in which the SMs are served, as a list of all their numbers; ascending where the list is empty.",
        |m| m.gpu.dispatch.order
    )
    .default("[]"),
    key!("gpu.dispatch.cta_order", Kind::Choice(CtaOrder::WORDS), "Which SM gets the next CTA.", |m| m.gpu.dispatch.cta_order)
        .default("\"rotating\""),
    key!(
        "gpu.dispatch.ctas_per_cycle",
        Kind::Count(0, 65535),
        "CTAs that the grid scheduler hands out in a cycle, beside clusters, to SMs on which CTAs of their kernel have ended; 0 for one to each SM.",
        |m| m.gpu.dispatch.ctas_per_cycle
    )
    .default("0")
    .quiet(),
    key!(
        "gpu.dispatch.cta_interval",
        Kind::Cycles("core", 0, 4096),
        "From the start of a CTA on an SM to that of the next, at least, without what its warps take.",
        |m| m.gpu.dispatch.cta_interval
    )
    .default("0")
    .quiet(),
    key!(
        "gpu.dispatch.warp_interval",
        Kind::Cycles("core", 0, 256),
        "So much longer for each warp of the CTA.",
        |m| m.gpu.dispatch.warp_interval
    )
    .default("0")
    .quiet(),
    key!(
        "gpu.dispatch.launch_latency",
        Kind::Cycles("core", 0, 1 << 30),
        "From the launch of a kernel, its predecessors in the stream having ended, to its first CTA's start.",
        |m| m.gpu.dispatch.launch_latency
    )
    .option("-gpgpu_kernel_launch_latency"),
    key!("gpu.dispatch.max_kernels", Kind::Count(1, 1024), "Kernels that may run at once on the chip.", |m| m.gpu.dispatch.max_kernels)
        .option("-gpgpu_max_concurrent_kernel"),
    key!("gpu.dispatch.share_sm", Kind::Flag, "Whether CTAs of different kernels may share an SM.", |m| m.gpu.dispatch.share_sm)
        .default("false")
        .option("-gpgpu_concurrent_kernel_sm"),
    key!(
        "gpu.dispatch.sharing",
        Kind::Choice(Sharing::WORDS),
        "How kernels that run at once divide the SMs. With `interleaved` they share SMs whatever `share_sm` says.",
        |m| m.gpu.dispatch.sharing
    )
    .default("\"left-over\""),
    key!(
        "gpu.dispatch.switch",
        Kind::Choice(Switch::WORDS),
        "What saving and restoring the context of a CTA is, when a controller takes it away.",
        |m| m.gpu.dispatch.switch
    )
    .default("\"time\""),
    key!(
        "gpu.dispatch.under_way",
        Kind::Choice(UnderWay::WORDS),
        "What becomes of the instructions under way of a CTA that a controller takes away.",
        |m| m.gpu.dispatch.under_way
    )
    .default("\"awaited\""),
    key!(
        "gpu.cluster.gpcs",
        Kind::Numbers,
        "The GPC of each SM, in the order of the SMs: the CTAs of a cluster run on SMs of one GPC. One GPC has all SMs where the list is empty.",
        |m| m.gpu.cluster.gpcs
    )
    .default("[]")
    .quiet(),
    key!(
        "gpu.cluster.interval",
        Kind::Cycles("core", 1, 4096),
        "From the launch of a cluster to that of the next (H100: 3.2).",
        |m| m.gpu.cluster.interval
    )
    .default("3")
    .quiet(),
    key!(
        "gpu.cluster.link_latency",
        Kind::Cycles("core", 1, 4096),
        "Latency of the links between an SM and the network of clusters, each way.",
        |m| m.gpu.cluster.link_latency
    )
    .default("40")
    .quiet(),
    key!(
        "gpu.cluster.hop",
        Kind::Cycles("core", 0, 4096),
        "In the network of clusters on the way to an SM (H100, clusters.dsmem_latency_4: 205 with both links and hops).",
        |m| m.gpu.cluster.hop
    )
    .default("40")
    .quiet(),
    key!(
        "gpu.cluster.request",
        Kind::Cycles("core", 1, 4096),
        "In which requests for 1 KiB of shared memory of others leave an SM (H100: SMs that read each other get 17.07 bytes per cycle).",
        |m| m.gpu.cluster.request
    )
    .default("20")
    .quiet(),
    key!(
        "gpu.cluster.reply",
        Kind::Cycles("core", 1, 4096),
        "In which 1 KiB of answers leaves an SM (H100: 25.6 bytes per cycle leave one that several read).",
        |m| m.gpu.cluster.reply
    )
    .default("40")
    .quiet(),
    key!(
        "gpu.cluster.receive",
        Kind::Cycles("core", 1, 4096),
        "In which 1 KiB of answers comes to an SM (H100: 21.3 bytes per cycle).",
        |m| m.gpu.cluster.receive
    )
    .default("48")
    .quiet(),
    key!(
        "gpu.cluster.store",
        Kind::Cycles("core", 1, 4096),
        "In which 1 KiB of stores leaves an SM (H100: 20.4 bytes per cycle).",
        |m| m.gpu.cluster.store
    )
    .default("50")
    .quiet(),
    key!(
        "gpu.cluster.accept",
        Kind::Cycles("core", 1, 4096),
        "In which 1 KiB of stores comes to an SM (H100: 38 bytes per cycle from several).",
        |m| m.gpu.cluster.accept
    )
    .default("27")
    .quiet(),
    key!(
        "gpu.cluster.in_flight",
        Kind::Count(1, 1024),
        "Instructions of an SM on shared memory of others that are not done (chosen).",
        |m| m.gpu.cluster.in_flight
    )
    .default("64")
    .quiet(),
];
