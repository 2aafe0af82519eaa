//! Settings of an SM that controllers change.

use warpshard_base::{CtaIndex, KernelIndex};
use warpshard_protocol::{PowerState, Preemption};

/// Decisions of a controller about an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub enum SmDecision {
    /// Limits the number of resident CTAs; at least 1.
    CtaLimit(u32),
    /// Limits issue to this number of the oldest warps; at least 1.
    WarpLimit(u32),
    /// Sets the power state: active, paused or off.
    Power(PowerState),
    /// Preempts all CTAs that are resident on the SM or bound to it.
    Preempt(Preemption),
    /// Lets CTAs of a kernel start with L1 bypass while fewer than `ctas` resident CTAs of the kernel bypass the L1.
    Bypass {
        /// The kernel.
        kernel: KernelIndex,
        /// Maximum number of CTAs that bypass the L1.
        ctas: u32,
    },
    /// Preempts one CTA on the SM, and returns the bound CTAs that have not started.
    PreemptCta(KernelIndex, CtaIndex, Preemption),
}
