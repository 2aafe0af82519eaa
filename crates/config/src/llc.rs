//! Parameters of the LLC around its slices: the read coalescer, the two halves, the prefetcher.

use super::choices::Prefetch;

/// The read coalescer in front of an LLC slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// Maximum number of requesters that share a read; 1 without a coalescer.
    pub requesters: u32,
    /// Number of neighbouring SMs, in dispatch order, whose reads can be merged.
    pub sms: u32,
    /// Maximum number of reads that are open for merging at the same time.
    pub reads: u32,
    /// Cycles (LLC clock) from the coalescer to the slice, in addition to [`Mem::rop_latency`](super::machine::Mem::rop_latency).
    pub latency: u64,
}

/// The division of an LLC into two halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Halves {
    /// Additional cycles (LLC clock) for data from the other half; 0 for an undivided LLC.
    pub latency: u64,
}

/// Prefetching into an LLC slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefetching {
    /// The prefetching policy.
    pub policy: Prefetch,
    /// Prefetch distance in lines, strides or misses.
    pub distance: u32,
    /// Prefetch degree: sectors prefetched per read.
    pub degree: u32,
}
