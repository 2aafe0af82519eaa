//! Elastic refresh (after Stuecheli, Kaseridis, Hunter and John, "Elastic Refresh: Techniques to Mitigate Refresh Penalties in High Density
//! Memory", MICRO 2010): a refresh waits until no request is queued for its banks, while the standard allows it to be postponed. The paper's delay
//! of idle ranks, which it predicts from their past, is left out.

use warpshard_seam::{Due, Refresh};

/// Postpones refreshes of busy pseudo channels.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(in crate::dram) struct Elastic;

impl Refresh for Elastic {
    fn name(&self) -> &str {
        "elastic"
    }

    fn starts(&self, due: &Due) -> bool {
        due.requested == 0
    }
}
