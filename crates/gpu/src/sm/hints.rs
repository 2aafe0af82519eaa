//! Prefetch hints for the host's caches: the data that the next span of cycles of an SM reads.

use warpshard_base::prefetch;

use super::Sm;

/// Prefetches the state of an SM: the `Sm` itself, or with `deep` the data to which it points.
#[inline]
pub(super) fn prefetch_sm(sm: &Sm, deep: bool) {
    if deep {
        sm.lsu.prefetch();
        sm.completions.prefetch(sm.core.now);
        if sm.lively {
            sm.core.warps.prefetch_arrays();
            sm.core.scoreboard.prefetch(sm.core.warps.live);
            sm.operands.issued.prefetch();
        }
    } else {
        prefetch(&sm.core.now);
        prefetch(&sm.lsu);
        prefetch(&sm.lsu.net);
        prefetch(&sm.completions);
        prefetch(&sm.fetch);
        prefetch(&sm.core.ctas);
        prefetch(&sm.units);
        prefetch(&sm.core.counters);
        prefetch(&sm.power);
        sm.core.warps.prefetch();
        sm.operands.prefetch();
    }
}

impl Sm {
    /// Returns the bytes of the SM and of the arrays that its cycles may touch, without structures that grow with the outstanding loads.
    pub fn hot_bytes(&self) -> usize {
        let warps = self.core.warps.hot_bytes() + self.core.scoreboard.hot_bytes();
        let pipeline = self.operands.hot_bytes() + self.units.hot_bytes() + self.completions.hot_bytes();
        size_of::<Self>() + warps + pipeline + self.lsu.hot_bytes()
    }
}
