//! The counters of the grid scheduler.

use warpshard_stats::counters;

counters! {
    /// Counters of the grid scheduler.
    pub struct GridCounters {
        kernels_launched: "kernels", "Kernels launched, after their predecessors in the stream had ended.";
        kernels_ended: "kernels", "Kernels whose last CTA ended.";
        ctas_bound: "CTAs", "CTAs bound to an SM.";
        ctas_bound_ahead: "CTAs", "CTAs bound to an SM ahead of time, when they did not fit.";
        ctas_started: "CTAs", "CTAs whose start an SM reported.";
        ctas_preempted: "CTAs", "CTAs that an SM returned after their start, to resume or restart.";
        ctas_done: "CTAs", "CTAs whose end an SM reported.";
        binding_cycles: "cycles", "Core cycles in which at least one CTA was bound.";
    }
}
