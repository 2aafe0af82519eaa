//! Conversion of counters to joules.
//!
//! Input: the counters of a run, an interval or real hardware ([`Counts`]), a machine, and a set of published event energies
//! ([`EnergySet`]). Output: a [`Breakdown`] by component, with the events of each component. The result is a pure function of the input and
//! linear in the counts: intervals add up to the run. Models do not depend on this package.
#![forbid(unsafe_code)]

mod breakdown;
mod component;
mod counts;
mod error;
mod event;
mod model;
mod owners;
mod set;
#[cfg(test)]
mod tests;

pub use breakdown::Breakdown;
pub use component::Component;
pub use counts::{Counts, SmTime};
pub use error::EnergyError;
pub use event::{Event, EventTerm, TERMS};
pub use model::Model;
pub use set::{EnergySet, builtin_sets};
