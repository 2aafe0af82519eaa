//! An age-based arbiter: each output grants the input whose packet has waited longest, and the lowest input among equals.
//!
//! Abts and Weisser (SC 2007) use age-based arbitration to keep packets from distant nodes from starving.

use warpshard_seam::{Arbiter, ArbiterRequest};

/// The age-based arbiter, which has no state.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Age;

impl Arbiter for Age {
    fn name(&self) -> &str {
        "age"
    }

    fn grant(&mut self, _: usize, requests: &[ArbiterRequest]) -> usize {
        let oldest = requests.iter().enumerate().min_by_key(|(_, requests)| requests.since);
        oldest.map_or(0, |(place, _)| place)
    }
}
