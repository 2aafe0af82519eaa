//! Prefetcher of the other line of an aligned pair.

use warpshard_base::LINE_BYTES;

use super::{LoadAccess, PrefetchPolicy};

/// Prefetcher of the pair's other line.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Pair;

impl PrefetchPolicy for Pair {
    fn new(_: u32) -> Self {
        Self
    }

    fn ahead(&mut self, load: LoadAccess) -> i64 {
        let line = LINE_BYTES as i64;
        if load.addr.0 & LINE_BYTES == 0 { line } else { -line }
    }
}
