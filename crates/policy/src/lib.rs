//! Policies: controllers that set limits from observations, and what holds the policies of several packages. A paper's own policies are in its folder
//! of the package `warpshard-papers`.
//!
//! A policy knows `base`, `control` and `stats` but not the models: it reads counters and sets knobs.
#![forbid(unsafe_code)]

pub mod common;
mod policy;
pub mod registry;
pub mod sharing;
pub mod testing;
