//! From counters to joules.
//!
//! In: what a run, an interval or a machine outside counted ([`Counts`]), a machine, and a set of published event energies
//! ([`EnergySet`]). Out: a [`Breakdown`] into components, with the events behind it. Everything is a pure function of its
//! inputs, and linear in the counts: intervals add up to the run. Models know nothing of this room.

mod breakdown;
mod counts;
mod event;
mod model;
mod set;
#[cfg(test)]
mod tests;

pub use breakdown::{Breakdown, Component};
pub use counts::{Counts, SmTime};
pub use event::{Event, TERMS, Term};
pub use model::Model;
pub use set::{BUILTIN, EnergySet};
