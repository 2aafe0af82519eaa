//! What stands around the slices of the LLC: the coalescer of reads, the two halves, the prefetcher.

use super::choices::Prefetch;

/// The coalescer of reads in front of an LLC slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// Maximum number of requesters that share a read; 1 where there is no coalescer.
    pub requesters: u32,
    /// Neighbouring SMs, in the order of dispatch, whose reads can be one.
    pub sms: u32,
    /// Reads that others may join at the same time.
    pub reads: u32,
    /// Cycles (LLC clock) from the coalescer to the slice, after those of [`Mem::rop_latency`](super::machine::Mem::rop_latency).
    pub latency: u64,
}

/// The halves of an LLC, where it has two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Halves {
    /// Cycles (LLC clock) that data takes more to the other half; 0 where the LLC is one.
    pub latency: u64,
}

/// Prefetching into an LLC slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefetching {
    /// What is fetched.
    pub policy: Prefetch,
    /// How many lines, strides or misses ahead of a read.
    pub distance: u32,
    /// How many sectors for one read.
    pub degree: u32,
}
