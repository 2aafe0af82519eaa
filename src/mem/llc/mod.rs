//! An LLC slice: arrival queue, cache, queues to and from DRAM, queue to the network.
//!
//! `slice` is the block with its cycle; `sets` tells where addresses belong; `pending` keeps the requests that wait for data; `counters` what is counted.

mod counters;
mod pending;
mod sets;
mod slice;

pub use counters::LlcCounters;
pub use sets::Sets;
pub use slice::{Acted, Fetched, Slice, ToDram};
