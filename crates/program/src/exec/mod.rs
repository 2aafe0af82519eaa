//! Executor of a kernel's CTAs that records the instructions of their warps.
//!
//! Inputs are a [`Kernel`] (decoded instructions with the constants of a launch), device memory and the index of a CTA. Outputs are memory
//! after the CTA's execution, one instruction stream per warp, and a [`Tally`]. The warps of a CTA take turns in ascending order, each up
//! to the next barrier.

mod access;
mod block_access;
mod bulk;
mod control;
mod convert;
mod copies;
mod cross;
mod cta;
mod float;
mod footprint;
pub(super) mod half;
mod heap;
mod image;
mod integer;
mod lanes;
mod mbarrier;
mod mufu;
mod mufu_log_tables;
mod mufu_tables;
#[cfg(test)]
mod operand_list_tests;
mod overwrites;
#[cfg(test)]
mod partial_register_tests;
mod plain;
mod pool;
mod products;
mod races;
#[cfg(test)]
mod random_tests;
mod runtime_calls;
mod shadow;
mod tally;
mod tensor;
#[cfg(test)]
mod tests;
mod texture;
mod turn;
mod warp;

pub(super) use cta::{
    CONSTANT_WINDOW, COOPERATIVE_COUNTER, ExecFault, Executor, Kernel, KernelCode, LOCAL_WINDOW, MAX_CTAS_TOGETHER, SHARED_WINDOW,
    STACK_TOP, Streams, WINDOWS,
};
pub(super) use runtime_calls::{RUNTIME_BASE, RUNTIME_FUNCTIONS};
pub(super) use shadow::Shadow;
pub(super) use tally::{Count, Tally};
pub(super) use texture::Texture;
