//! An LLC slice: arrival queue, cache, queues to and from DRAM, queue to the network.
//!
//! `slice` has its cycle; `sets` the set index of addresses; `pending` the requests that wait for data; `counters` the counters.

mod counters;
mod pending;
mod sets;
mod slice;

pub use counters::LlcCounters;
pub use sets::Sets;
pub use slice::{Acted, Fetched, Slice, ToDram};
