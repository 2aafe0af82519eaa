//! Kernel models: kernels described as small programs in TOML, generated CTA by CTA from a seed.
//!
//! A model is loaded from its text (`docs/models.md` describes the format), values of its parameters, and a seed, as a
//! [`Workload`](warpshard_workload::Workload). Its kernels generate each CTA from (seed, kernel, CTA) alone, so the order in which CTAs are
//! requested does not matter.
//!
//! Stages:
//!
//! 1. `text` walks the TOML with locations and rejects keys that `keys` does not list.
//! 2. `schema` converts the TOML to steps, and `expr` parses formulas.
//! 3. `compile` translates the steps to static instructions (`operation`, `ops`, `registers`) and binds formulas to frame slots (`scope`,
//!    `value`,
//!    `address`).
//! 4. `generate` executes the resulting `program` once per warp.
//!
//! `write` emits any model as an Accel-Sim trace.
#![forbid(unsafe_code)]

mod address;
mod builtin;
mod compile;
mod error;
mod expr;
mod generate;
mod json_schema;
mod kernel;
mod keys;
mod load;
mod operation;
mod ops;
mod program;
mod registers;
mod schema;
mod scope;
mod step;
mod text;
mod value;
mod write;

pub use builtin::{builtin, builtin_model, builtin_names};
pub use error::{ModelError, Problem};
pub use error::{nearest, suggest};
pub use json_schema::json_schema;
pub use load::{Model, ModelKernel, load};
pub use write::write_trace;
