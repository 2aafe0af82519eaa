//! An LLC slice: coalescer of reads, arrival queue, cache, queues to and from DRAM, queue to the network.
//!
//! `coalescer` is in front of the slice. `slice` simulates a cycle, and `waits` counts the wait reasons of the oldest request. `sets`
//! computes the set index of an address, `ahead` contains the prefetches, `halves` the other half of the LLC, `pending` the requests that
//! wait for data, and `counters` the counters.

mod coalescer;
mod counters;
mod dram_reply;
mod halves;
mod pending;
mod sets;
mod slice;
mod slice_prefetcher;
mod waits;

pub use coalescer::{Coalescer, CoalescerCounters, CoalescerOutcome};
pub use counters::{LlcApplicationCounters, LlcCounters, LlcKernelCounters};
pub use dram_reply::DramReply;
pub use halves::OtherHalf;
pub use sets::SetIndexTables;
pub use slice::{LlcSlice, SliceProgress};
