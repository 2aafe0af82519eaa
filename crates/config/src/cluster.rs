//! Clusters of CTAs, as a machine has them.

/// Clusters of CTAs, and the network between their SMs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// The GPC of each SM; one GPC has all where it is empty.
    pub gpcs: Vec<u16>,
    /// Core cycles from the launch of one cluster to that of the next.
    pub interval: u32,
    /// Latency of the links between an SM and the network, each way, in core cycles.
    pub link_latency: u64,
    /// Core cycles in the network to an SM.
    pub hop: u32,
    /// Core cycles in which requests for 1 KiB leave an SM.
    pub request: u32,
    /// The same for 1 KiB of answers.
    pub reply: u32,
    /// Core cycles in which 1 KiB of answers come to an SM.
    pub receive: u32,
    /// Core cycles in which 1 KiB of stores leave an SM.
    pub store: u32,
    /// Core cycles in which 1 KiB of stores come to an SM.
    pub accept: u32,
    /// Instructions of an SM on the memory of others that are not done.
    pub in_flight: u32,
}
