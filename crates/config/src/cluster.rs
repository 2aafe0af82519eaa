//! Parameters of thread-block clusters and of the network between their SMs.

/// Clusters of CTAs, and the network between their SMs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// The GPC of each SM; if empty, one GPC contains all SMs.
    pub gpcs: Vec<u16>,
    /// Core cycles between the launches of two clusters.
    pub interval: u32,
    /// Latency of the links between an SM and the cluster network, each way, in core cycles.
    pub link_latency: u64,
    /// Core cycles that a packet spends in the network to an SM.
    pub hop: u32,
    /// Core cycles per KiB requested: the rate at which requests leave an SM.
    pub request: u32,
    /// Core cycles per KiB of replies that leave an SM.
    pub reply: u32,
    /// Core cycles per KiB of replies that an SM receives.
    pub receive: u32,
    /// Core cycles per KiB of stores that leave an SM.
    pub store: u32,
    /// Core cycles per KiB of stores that an SM receives.
    pub accept: u32,
    /// Maximum number of an SM's outstanding instructions on the shared memory of other SMs.
    pub in_flight: u32,
}
