//! An arbiter that serves the oldest packet first: each output grants the input whose packet has waited longest, and the lowest input of equal ones.
//!
//! Age-based arbitration is the one by which Abts and Weisser (SC 2007) keep packets that come from far from starving.

use warpshard_seam::{Arbiter, Asking};

/// The arbiter, which keeps nothing.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Age;

impl Arbiter for Age {
    fn name(&self) -> &str {
        "age"
    }

    fn grant(&mut self, _: usize, asking: &[Asking]) -> usize {
        let oldest = asking.iter().enumerate().min_by_key(|(_, asking)| asking.since);
        oldest.map_or(0, |(place, _)| place)
    }
}
