//! Controllers that divide the GPU among several applications.

mod cd_search;
mod static_partition;

pub use cd_search::CdSearch;
pub use static_partition::StaticPartition;
