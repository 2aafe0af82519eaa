//! An LLC slice: arrival queue, cache, queues to and from DRAM, queue to the network.
//!
//! `slice` is the block with its cycle; `pending` keeps the requests that wait for data; `counters` what is counted.

mod counters;
mod pending;
mod slice;

pub use counters::{LlcCounters, LlcKernelCounters};
pub use slice::{Acted, Fetched, Slice, ToDram};
