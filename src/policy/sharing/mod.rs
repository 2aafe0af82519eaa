//! Controllers that divide the GPU among several applications.

mod cd_search;
mod dual_kernel;
mod kernel_mgmt;
mod smart_even;
mod smc;
mod smk;
mod static_partition;

pub use cd_search::CdSearch;
pub use dual_kernel::{CTA_NUMBERS, CtaTimes, DualKernel};
pub use kernel_mgmt::KernelMgmt;
pub use smart_even::SmartEven;
pub use smc::Smc;
pub use smk::Smk;
pub use static_partition::StaticPartition;
