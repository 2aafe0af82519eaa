//! Memory: cache building blocks, LLC slices, DRAM channels, and the partition that combines them into one unit.
#![forbid(unsafe_code)]

pub mod cache;
pub mod dram;
mod dram_arbiter;
pub mod llc;
mod partition;
mod ports;
mod slice_port;
mod slices;
mod warm;

pub use partition::{Partition, PartitionDecision, PartitionStallCounts, WarmLine};
pub use ports::{PartitionPorts, arrival_capacity};
