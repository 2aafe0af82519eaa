//! Memory: cache building blocks, LLC slices, DRAM channels, and the partition that joins them into one unit.

pub mod cache;
