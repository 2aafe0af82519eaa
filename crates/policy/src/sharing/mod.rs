//! Controllers that divide the GPU among several applications.

mod smart_even;
mod smc;
mod smk;
mod static_partition;

pub use smart_even::SmartEven;
pub use smc::Smc;
pub use smk::Smk;
pub use static_partition::StaticPartition;
