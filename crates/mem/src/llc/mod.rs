//! An LLC slice: coalescer of reads, arrival queue, cache, queues to and from DRAM, queue to the network.
//!
//! `coalescer` is in front of it; `slice` has its cycle, `waits` what its oldest request waits for; `sets` the set index of addresses; `ahead` what is fetched in advance; `halves` the other half of the LLC; `pending` the requests that wait for data; `counters` the counters.

mod ahead;
mod coalescer;
mod counters;
mod from_dram;
mod halves;
mod pending;
mod sets;
mod slice;
mod waits;

pub use coalescer::{Coalescer, CoalescerCounters, Taken};
pub use counters::{LlcApplicationCounters, LlcCounters, LlcKernelCounters};
pub use from_dram::FromDram;
pub use halves::OtherHalf;
pub use sets::Sets;
pub use slice::{Acted, Slice};
