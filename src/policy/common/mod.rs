//! Policies that belong to no paper: fixed limits, and reactions to events that are simple enough to predict by hand.

mod alternate;
mod dyncta;
mod halve_on_kernel_end;
mod static_limit;

pub use alternate::Alternate;
pub use dyncta::DynCta;
pub use halve_on_kernel_end::HalveOnKernelEnd;
pub use static_limit::StaticLimit;
