//! What the grid scheduler counts.

use crate::stats::counters;

counters! {
    /// Counters of the grid scheduler.
    pub struct GridCounters {
        kernels_launched: "kernels", "Kernels that got a place on the chip, their predecessors having ended.";
        kernels_ended: "kernels", "Kernels whose last CTA ended.";
        ctas_bound: "CTAs", "CTAs bound to an SM.";
        ctas_bound_ahead: "CTAs", "CTAs bound to an SM beyond those that fit it at that time.";
        ctas_started: "CTAs", "CTAs that an SM said it started.";
        ctas_done: "CTAs", "CTAs that an SM said it finished.";
        binding_cycles: "cycles", "Core cycles in which at least one CTA was bound.";
    }
}
