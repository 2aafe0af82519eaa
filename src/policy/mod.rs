//! Policies: what decides limits from observations. One folder per source of policies, and the registry of all.
//!
//! A policy knows `base`, `control` and `stats` and nothing of the models: it turns knobs and reads numbers.

pub mod common;
pub mod hetero;
pub mod registry;
#[cfg(test)]
mod testing;
pub mod wa_sched;
