//! Policies that belong to no publication's study: fixed limits, and reactions to events whose results can be derived by hand.

mod alternate;
mod dyncta;
mod halve_on_kernel_end;
mod instruction_limit;
mod probe;
mod static_limit;

pub use alternate::Alternate;
pub use dyncta::DynCta;
pub use halve_on_kernel_end::HalveOnKernelEnd;
pub use instruction_limit::InstructionLimit;
pub use probe::Probe;
pub use static_limit::StaticLimit;
