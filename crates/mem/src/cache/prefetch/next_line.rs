//! Next-line prefetching: each access also fetches the same sectors of a following line (A. J. Smith, IEEE Computer 11(12), 1978:
//! sequential prefetching).

use warpshard_base::LINE_BYTES;

use super::{LoadAccess, PrefetchPolicy};

/// A prefetch policy that fetches a line at a fixed distance.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct NextLine {
    bytes: i64,
}

impl PrefetchPolicy for NextLine {
    fn new(distance: u32) -> Self {
        Self { bytes: i64::from(distance) * LINE_BYTES as i64 }
    }

    fn ahead(&mut self, _: LoadAccess) -> i64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpshard_base::Addr;

    #[test]
    fn every_load_prefetches_the_line_at_the_distance() {
        let load = LoadAccess { warp: 0, inst: 0, addr: Addr(0x1000) };
        assert_eq!([1, 4].map(|distance| NextLine::new(distance).ahead(load)), [128, 512]);
    }
}
