//! Policies: controllers that set limits from observations, and the registry of the policies of several packages. A paper's policies are in
//! its folder of the package `warpshard-papers`.
//!
//! A policy depends on `base`, `control` and `stats` but not on the models: it reads counters and sets knobs.
#![forbid(unsafe_code)]

pub mod common;
mod policy;
pub mod registry;
pub mod sharing;
pub mod testing;
