//! The counters of the grid scheduler.

use warpshard_stats::counters;

counters! {
    /// Counters of the grid scheduler.
    pub struct GridCounters {
        kernels_launched: "kernels", "Kernels that started to occupy the chip after their predecessors in the stream had ended.";
        kernels_ended: "kernels", "Kernels whose last CTA ended.";
        ctas_bound: "CTAs", "CTAs bound to an SM.";
        ctas_bound_ahead: "CTAs", "CTAs bound to an SM beyond those that fit it at that time.";
        ctas_started: "CTAs", "CTAs whose start an SM reported.";
        ctas_preempted: "CTAs", "CTAs that an SM gave back after their start, to go on or start again.";
        ctas_done: "CTAs", "CTAs whose end an SM reported.";
        binding_cycles: "cycles", "Core cycles in which at least one CTA was bound.";
    }
}
