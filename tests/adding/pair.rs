//! Prefetcher of the other line of an aligned pair.

use warpshard_base::LINE_BYTES;

use super::{LoadAt, Policy};

/// Prefetcher of the pair's other line.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Pair;

impl Policy for Pair {
    fn new(_: u32) -> Self {
        Self
    }

    fn ahead(&mut self, load: LoadAt) -> i64 {
        let line = LINE_BYTES as i64;
        if load.addr.0 & LINE_BYTES == 0 { line } else { -line }
    }
}
