//! Executes the CTAs of a kernel and writes down what their warps did.
//!
//! Input: a [`Kernel`] (decoded instructions with the constants of a launch), device memory and the index of a CTA. Output: memory as the CTA
//! left it, one stream of instructions per warp, and a [`Tally`]. A CTA's warps take turns, each up to the next barrier, in ascending order.

mod access;
mod at_once;
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
mod outside;
mod overwrites;
mod plain;
mod pool;
mod products;
mod races;
#[cfg(test)]
mod random_tests;
mod shadow;
mod tally;
mod tensor;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_parts;
#[cfg(test)]
mod tests_of_uses;
mod texture;
mod turn;
mod warp;

pub(super) use cta::{
    CONSTANT_WINDOW, Executor, Kernel, KernelCode, LOCAL_WINDOW, MEETING, MOST_TOGETHER, SHARED_WINDOW, STACK_TOP, Streams, Trouble,
    WINDOWS,
};
pub(super) use outside::{OUTSIDE, OUTSIDE_FUNCTIONS};
pub(super) use shadow::Shadow;
pub(super) use tally::{Count, Tally};
pub(super) use texture::Texture;
