//! Elastic refresh (after Stuecheli, Kaseridis, Hunter and John, "Elastic Refresh: Techniques to Mitigate Refresh Penalties in High Density
//! Memory", MICRO 2010): a refresh waits until no request is queued for its banks, while the standard allows it to be postponed. The
//! paper's predicted delay for idle ranks is not modelled.

use warpshard_seam::{DueRefreshes, Refresh};

/// A refresh policy that postpones refreshes of busy pseudo channels.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
pub(in crate::dram) struct Elastic;

impl Refresh for Elastic {
    fn name(&self) -> &str {
        "elastic"
    }

    fn starts(&self, due: &DueRefreshes) -> bool {
        due.requested == 0
    }
}
