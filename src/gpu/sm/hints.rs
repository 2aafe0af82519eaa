//! Hints to the host's caches: what the next span of an SM's cycles will read.

use crate::base::prefetch;

use super::Sm;

/// Prefetches an SM's state: its own lines, or (`deep`) what these point to.
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
