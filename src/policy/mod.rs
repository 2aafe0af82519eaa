//! Policies: controllers that set limits from observations. One folder per publication, and the registry of all.
//!
//! A policy knows `base`, `control` and `stats` but not the models: it reads counters and sets knobs.
#![forbid(unsafe_code)]

extern crate self as policy;
use warpshard_base as base;
use warpshard_control as control;
#[cfg(test)]
use warpshard_stats as stats;

pub mod common;
pub mod hetero;
pub mod registry;
pub mod sharing;
#[cfg(test)]
mod testing;
pub mod wa_sched;
